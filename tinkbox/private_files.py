"""Files that no other user of this host may read: a folder of ours is made so, or set so where it was wider.

The mode of the folder itself keeps others out of all that is below; what is below is tightened as well, for a folder
may be moved, copied or shared later.
"""

import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from pwd import getpwuid
from typing import Final

from tinkbox.model.errors import Unavailable

UMASK: Final = 0o077
_OTHERS: Final = 0o077


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What is in such a folder, by patterns of names: `private`, and `shared`, whose modes are left as they are.

    `shared` may name what lies deeper in something private: `services/*/workflow`.
    """

    private: Collection[str]
    shared: Collection[str]

    def knows(self, name: str) -> bool:
        return any(PurePath(name).match(each) for each in (*self.private, *self.shared))


def make_private(folder: Path, layout: Layout) -> None:
    """Make a folder and what is private in it ours alone (0700, 0600); what is made later is by UMASK.

    Raises Unavailable, with the remedy, where the folder is another user's, cannot be set, or is for other things.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = folder.resolve()
        names = [each.name for each in folder.iterdir()]
        if folder.stat().st_mode & _OTHERS and names and not any(map(layout.knows, names)):
            raise Unavailable(f"{folder} is for other things, such as {names[0]}: name a folder of its own with --data")
        _own(folder, folder)
        for name in names:
            if any(PurePath(name).match(each) for each in layout.private):
                for path in _below(folder, name, layout.shared):
                    _own(path, folder)
    except OSError as error:
        raise Unavailable(f"cannot use the data directory {folder}: {error.strerror}: {_remedy(folder)}") from None


def kept_secret(path: Path) -> str:
    """What the file holds; when there is none it is made, readable by its owner only, of 256 random bits.

    Raises Unavailable when it is empty.
    """
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(32) + "\n")
        fresh.replace(path)  # so that no power cut leaves an empty one behind
    secret = path.read_text().strip()
    if not secret:
        raise Unavailable(
            f"{path} is empty, which would let everybody in: delete it, and the next start makes a new one"
        )
    return secret


def _own(path: Path, folder: Path) -> None:
    """Take others' rights away; raises Unavailable where that is not ours to do."""
    with suppress(FileNotFoundError):
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            return
        if found.st_uid != os.geteuid():
            raise Unavailable(f"{path} belongs to user {_name(found.st_uid)}: {_remedy(folder)}")
        if found.st_mode & _OTHERS:
            path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def _below(folder: Path, name: str, shared: Collection[str]) -> Iterator[Path]:
    yield folder / name
    for here, folders, files in os.walk(folder / name):
        paths = [Path(here) / each for each in (*folders, *files)]
        left = {each.name for each in paths if any(each.relative_to(folder).match(one) for one in shared)}
        folders[:] = [each for each in folders if each not in left]
        yield from (each for each in paths if each.name not in left)


def _remedy(folder: Path) -> str:
    me = _name(os.geteuid())
    return f"`chown -R {me} {folder}` gives it to {me}, who runs this; or run as its owner, or name another with --data"


def _name(uid: int) -> str:
    try:
        return getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
