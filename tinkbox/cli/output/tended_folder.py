"""A folder that is written again and again, such as one that Git keeps: a file for each thing, nothing removed.

Rule 1: nothing is written through a link, and none is replaced: only DIR itself may be one.
Rule 2: a file is whole at every moment, and one that says the same already is not touched.
Rule 3: what a file is called depends on its thing alone, so that no export of some things writes over the file of another.
"""

import hashlib
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.model.text import quoted

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY: Final = ".tinkbox-export-"  # begins with a dot: `apply` does not read what a killed export leaves
_MAX_NAME: Final = 180
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
# `apply` does not read a file of kustomize.
_PLAIN: Final = re.compile(rf"(?!kustomization\Z)[A-Za-z0-9_][A-Za-z0-9._-]{{0,{_MAX_NAME - 1}}}")
_PLAIN_NAMESPACE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,62}")


class TendedFolder:
    """A context manager; raises Conflict for a link, Unavailable when the disk refuses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._below: dict[str, int] = {}
        self._known: set[Path] = set()

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._top = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Unavailable(f"cannot write to {self._folder}: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (*self._below.values(), self._top):
            os.close(each)

    def write(self, kind: str, name: str, apart: str, suffix: str, text: str) -> tuple[Path, bool]:
        """Have the file of a thing say `text`; returns its path, and whether it was written.

        `apart` tells things of this kind and name apart, such as a namespace; empty: the name alone says which it is.
        """
        called = file_name(name, apart) + suffix
        path, content = self._folder / kind / called, text.encode()
        self._known.add(path)
        try:
            below = self._open(kind)
            if self._says(below, called, path) == content:
                return path, False
            self._put(below, called, content)
        except OSError as error:
            raise Unavailable(f"cannot write {path}: {error.strerror}") from None
        return path, True

    def know(self, kind: str, name: str, apart: str, suffixes: tuple[str, ...]) -> list[Path]:
        """The files of a thing, as `write` calls them, are none of the `others`, though this run does not write them.

        Returns those that are there.
        """
        paths = [self._folder / kind / (file_name(name, apart) + each) for each in suffixes]
        self._known |= set(paths)
        return [each for each in paths if os.path.lexists(each)]

    def others(self, kind: str, suffixes: tuple[str, ...]) -> list[Path]:
        """The files of a kind that end so, of nothing that was written or is known, by their names; raises Unavailable."""
        try:
            with os.scandir(self._folder / kind) as listing:
                names = [
                    each.name for each in listing if each.name.endswith(suffixes) and not each.name.startswith(".")
                ]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Unavailable(f"cannot read {self._folder / kind}: {error.strerror}") from None
        return sorted({self._folder / kind / each for each in names} - self._known)

    @staticmethod
    def _put(below: int, called: str, content: bytes) -> None:
        """Replace a file by another, which is of this run alone until it is whole."""
        temporary = _TEMPORARY + secrets.token_hex(8)
        new = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=below
        )
        try:
            with os.fdopen(new, "wb") as file:
                file.write(content)
            os.replace(temporary, called, src_dir_fd=below, dst_dir_fd=below)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=below)
            raise

    def _open(self, kind: str) -> int:
        if kind not in self._below:
            try:
                os.mkdir(kind, dir_fd=self._top)
            except FileExistsError:
                if stat.S_ISLNK(os.stat(kind, dir_fd=self._top, follow_symlinks=False).st_mode):
                    raise Conflict(f"{self._folder / kind} is a link, and nothing is written through one") from None
            self._below[kind] = os.open(kind, _FOLDER, dir_fd=self._top)
        return self._below[kind]

    @staticmethod
    def _says(below: int, called: str, path: Path) -> bytes | None:
        """What a file says; None when there is none.  Raises Conflict for what is no file."""
        try:
            held = os.stat(called, dir_fd=below, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(held.st_mode):
            raise Conflict(f"{path} is a link, or no file, and is not replaced: take {quoted(called)} away first")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(called, flags, dir_fd=below), "rb") as file:
            return file.read()


def file_name(name: str, apart: str) -> str:
    """A name that no file system takes for something else, another for each thing: `node7`, `node7@lab`, `a-b~1f0c…`."""
    if _PLAIN.fullmatch(name) and not apart:
        return name
    if _PLAIN.fullmatch(name) and _PLAIN_NAMESPACE.fullmatch(apart):
        return f"{name}@{apart}"
    begin = _ODD.sub("-", name)[:_MAX_NAME].lstrip(".-") or "unnamed"
    said = f"{len(name)}\0{name}\0{apart}".encode(errors="surrogatepass")
    return f"{begin}~{hashlib.sha256(said).hexdigest()[:16]}"
