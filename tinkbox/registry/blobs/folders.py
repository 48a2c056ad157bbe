"""The folders of blobs, as far as the disk lets tinkbox into them."""

import errno
import logging
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable

# What the system says of a file when it does not get as far as the file.
_ON_THE_WAY: Final = (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ELOOP)
# What it says of a folder whose names it cannot give.
_OF_A_FOLDER: Final = (*_ON_THE_WAY, errno.ENOENT, errno.EIO, errno.EBADMSG, errno.EUCLEAN)
_log = logging.getLogger(__name__)


class Folders:
    """Tells of a folder below `root` that cannot be read: to each caller, and to the log once until that is over."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._told: set[Path] = set()
        self._turn = threading.Lock()

    @contextmanager
    def entered(self, folder: Path) -> Iterator[None]:
        """Raise Unavailable, with the remedy, where a file of this folder is asked for that cannot be reached."""
        with self._telling(folder, _ON_THE_WAY):
            yield

    @contextmanager
    def listed(self, folder: Path) -> Iterator[None]:
        """The same where the names in a folder are read, or the folder itself is looked at."""
        with self._telling(folder, _OF_A_FOLDER):
            yield

    @contextmanager
    def _telling(self, folder: Path, errors: Collection[int]) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in errors:
                raise
            problem = self._problem(folder, error)
            with self._turn:
                is_news = folder not in self._told
                self._told.add(folder)
            if is_news:
                _log.error("%s", problem, extra={"action": "registry.unreadable"})
            raise Unavailable(problem) from None
        # Of a folder whose files can be reached the names may still be unreadable, and the other way round.
        if folder in self._told and _is_open(folder):
            with self._turn:
                self._told.discard(folder)

    def _problem(self, folder: Path, error: OSError) -> str:
        """What is wrong, and what to type, or what there should be."""
        faulty = next((each for each in self._way_to(folder) if not _is_open(each)), folder)
        if error.errno in (errno.EACCES, errno.EPERM):
            remedy = (
                f"give it back to tinkbox's user with `chown -R --reference={faulty.parent} {faulty}` and "
                f"`chmod u+rwx {faulty}`"
            )
        elif error.errno in (errno.EIO, errno.EBADMSG, errno.EUCLEAN):
            remedy = "look at the disk (`dmesg`)"
        else:
            remedy = "put a folder there that tinkbox's user can read and write"
        return f"the registry cannot read its folder {faulty} ({error.strerror}): {remedy}"

    def _way_to(self, folder: Path) -> Iterator[Path]:
        """The folders from the registry's own down to this one."""
        yield from (each for each in reversed(folder.parents) if each.is_relative_to(self._root))
        yield folder


def _is_open(folder: Path) -> bool:
    """Whether tinkbox's user may read the names in a folder, and reach its files."""
    return os.access(folder, os.R_OK | os.X_OK)
