"""Secrets as files for containers, on no disk: in memory, for the user of their container, and gone with it.

They lie in a folder that no other user of the host may enter.
"""

import hashlib
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.reasons import Reason
from tinkbox.model.secret import SecretUse, as_text, marks_in, revealed
from tinkbox.runtime import ContainerFailed, Containers
from tinkbox.runtime.folders import remove

MEMORY: Final = Path("/dev/shm")  # noqa: S108  a file system in memory, where a folder of our own is private
_IN_MEMORY: Final = frozenset({"tmpfs", "ramfs", "rootfs"})
_MOUNTS: Final = Path("/proc/self/mounts")


class SecretFiles:
    """Those of all containers of a worker, or of a host of services, that keeps its own files in `folder`."""

    def __init__(self, folder: Path, memory: Path = MEMORY) -> None:
        self._folder = folder
        self._memory = memory

    async def for_container(
        self, holder: str, uses: Sequence[SecretUse], given: Mapping[str, bytes], engine: Containers, image: str
    ) -> dict[str, str]:
        """The same for the user of an image that was pulled; raises EngineAway as well."""
        has_files = any(each.file for each in uses)
        return self.make(holder, uses, given, (await engine.image_command(image)).user if has_files else "")

    def make(
        self, holder: str, uses: Sequence[SecretUse], given: Mapping[str, bytes], user: str = ""
    ) -> dict[str, str]:
        """Make the files of a container for its `user` (`ImageCommand`); returns their mounts, sources by target.

        They are that user's, and for it alone, where it is told as a number and we may give files away; else every user of the
        container may read them, as Docker's own secrets.  Raises OSError, and ContainerFailed.
        """
        wanted = {each.file: _value(given, each.name) for each in uses if each.file}
        if not wanted:
            return {}
        top = self._root()
        top.mkdir(mode=0o700, parents=True, exist_ok=True)
        if top.is_symlink() or top.stat().st_uid != os.geteuid():  # anybody may make folders in /dev/shm
            raise PermissionError(f"{top} is another user's")
        top.chmod(0o700)
        folder = top / holder
        remove(folder)
        folder.mkdir(mode=0o700)
        owner = _number_of(user)
        is_owned = owner is not None and os.geteuid() in (0, owner)
        mounts = {}
        for number, (target, value) in enumerate(wanted.items()):
            path = folder / str(number)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o400), "wb") as file:
                file.write(value)
                if is_owned and owner:
                    os.fchown(file.fileno(), owner, -1)
                elif not is_owned:
                    os.fchmod(file.fileno(), 0o444)
            mounts[target] = str(path)
        return mounts

    def forget(self, holder: str) -> None:
        """Remove those of a container; raises OSError."""
        top = self._root()
        remove(top / holder)
        with suppress(OSError):  # there are others
            top.rmdir()

    def forget_others(self, holders: Collection[str]) -> None:
        """Remove those of all containers but these; raises OSError."""
        top = self._root()
        if top.is_dir() and not top.is_symlink():
            for each in top.iterdir():
                if each.name not in holders:
                    remove(each)

    def _root(self) -> Path:
        own = self._folder / "secrets"
        if _file_system(self._folder) in _IN_MEMORY or not self._memory.is_dir():
            return own
        mark = hashlib.sha256(os.fsencode(self._folder.absolute())).hexdigest()[:16]
        return self._memory / f"tinkbox-{os.geteuid()}-{mark}"


def variables(uses: Sequence[SecretUse], given: Mapping[str, bytes]) -> dict[str, str]:
    """The environment variables that are secrets; raises ContainerFailed."""
    try:
        return {each.env: as_text(each.name, _value(given, each.name)) for each in uses if each.env}
    except Invalid as error:
        raise ContainerFailed(Reason.BAD_COMMAND, str(error)) from None


def with_values(text: str, given: Mapping[str, bytes]) -> str:
    """A word or a variable with the values of its secrets; raises ContainerFailed."""
    for mark in marks_in([text]):
        if mark.text not in given:
            raise _not_given(mark.name)
    try:
        return revealed(text, given)
    except Invalid as error:
        raise ContainerFailed(Reason.BAD_COMMAND, str(error)) from None


def _number_of(user: str) -> int | None:
    """The number of a user of an image, which may have a group behind it; None: only the image knows it."""
    name = user.partition(":")[0]
    return 0 if name in ("", "root") else int(name) if name.isascii() and name.isdigit() else None


def _value(given: Mapping[str, bytes], name: str) -> bytes:
    if name not in given:
        raise _not_given(name)
    return given[name]


def _not_given(name: str) -> ContainerFailed:
    return ContainerFailed(
        Reason.SECRET_UNREADABLE, f'the appliance did not hand over the secret "{name}": its log tells why'
    )


def _file_system(folder: Path) -> str:
    """The kind of file system on which a folder is, as the kernel calls it (proc(5)); empty: that is not known."""
    place = folder.resolve()
    found, longest = "", -1
    try:
        lines = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        fields = line.split(" ")
        point = Path(fields[1].replace("\\040", " "))
        if place.is_relative_to(point) and len(point.parts) >= longest:
            found, longest = fields[2], len(point.parts)
    return found
