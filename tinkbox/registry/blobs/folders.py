"""The folders of the registry, as far as the disk lets tinkbox into them."""

import errno
import logging
import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.unwritable import why_read_only

# How the kernel says that a disk or file system cannot give what it holds.
UNREADABLE: Final = (errno.EIO, errno.EBADMSG, errno.EUCLEAN, errno.EILSEQ, errno.ENODATA, errno.EREMOTEIO)
# What the system says of a file when it does not get as far as the file.
_ON_THE_WAY: Final = (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ELOOP)
_READ, _WRITE = "read", "write to"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """What is done with a folder: the `errors` that are of the folder itself, and the uses whose problems are over with it."""

    errors: Collection[int]
    proves: Collection[str]
    writes: bool = False


_USES: Final = {
    "entered": _Use(errors=_ON_THE_WAY, proves=("entered",)),
    # Of a folder whose files can be reached the names may still be unreadable, and the other way round.
    "listed": _Use(errors=(*_ON_THE_WAY, errno.ENOENT, *UNREADABLE), proves=("entered", "listed")),
    "changed": _Use(errors=(*_ON_THE_WAY, errno.EROFS), proves=("entered", "changed"), writes=True),
}


class Folders:
    """Tells of a folder below `root` that cannot be used: to each caller, and to the log once until that is over."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # By folder, and what cannot be done with it: the use that found it out.
        self._told: dict[tuple[Path, str], str] = {}
        self._turn = threading.Lock()

    @contextmanager
    def entered(self, folder: Path) -> Iterator[None]:
        """Raise Unavailable, with the remedy, where a file of this folder is asked for that cannot be reached."""
        with self._telling("entered", folder):
            yield

    @contextmanager
    def listed(self, folder: Path) -> Iterator[None]:
        """The same where the names in a folder are read, or the folder itself is looked at."""
        with self._telling("listed", folder):
            yield

    @contextmanager
    def changed(self, *folders: Path) -> Iterator[None]:
        """The same where files or folders come into one of these, or leave it."""
        with self._telling("changed", *folders):
            yield

    @contextmanager
    def _telling(self, name: str, *folders: Path) -> Iterator[None]:
        use = _USES[name]
        try:
            yield
        except OSError as error:
            if error.errno not in use.errors:
                raise
            faulty, verb = self._faulty(folders, use)
            problem = f"the registry cannot {verb} its folder {faulty} ({error.strerror}): {_remedy(faulty, self._root, error)}"
            with self._turn:
                is_news = (faulty, verb) not in self._told
                self._told.setdefault((faulty, verb), name)
            if is_news:
                _log.error("%s", problem, extra={"action": "registry.unreadable"})
            raise Unavailable(problem) from None
        if self._told:
            self._end(use, folders)

    def _end(self, use: _Use, folders: Sequence[Path]) -> None:
        ways = {each for folder in folders for each in self._way_to(folder)}
        with self._turn:
            for faulty, verb in [key for key, told_by in self._told.items() if told_by in use.proves]:
                if faulty in ways and (verb == _WRITE or _is_open(faulty)):
                    del self._told[faulty, verb]

    def _faulty(self, folders: Sequence[Path], use: _Use) -> tuple[Path, str]:
        """The first folder that cannot be used, and what cannot be done with it."""
        for folder in folders:
            for each in self._way_to(folder):
                if use.writes and not os.path.lexists(each):  # it would be made
                    return each.parent, _WRITE
                if not _is_open(each):
                    return each, _READ
        if not use.writes:
            return folders[-1], _READ
        return next((each for each in folders if not os.access(each, os.W_OK)), folders[0]), _WRITE

    def _way_to(self, folder: Path) -> Iterator[Path]:
        """The folders from the registry's own down to this one."""
        yield from (each for each in reversed(folder.parents) if each.is_relative_to(self._root))
        yield folder


def _remedy(faulty: Path, root: Path, error: OSError) -> str:
    """What to type, or what there should be; a unit is to let us write to all that is below `root`."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return (
            f"give it back to tinkbox's user with `chown -R --reference={faulty.parent} {faulty}` and "
            f"`chmod u+rwx {faulty}`"
        )
    if error.errno == errno.EROFS:
        return why_read_only(root.resolve())
    if error.errno in UNREADABLE:
        return "look at the disk (`dmesg`)"
    return "put back the folder that was there, such as from a backup, so that tinkbox's user can read and write it"


def _is_open(folder: Path) -> bool:
    """Whether tinkbox's user may read the names in a folder, and reach its files."""
    return os.access(folder, os.R_OK | os.X_OK)
