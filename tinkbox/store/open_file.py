"""Whether the database's path still leads to the file that is open."""

import os
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.model.host_vitals import LostDatabase

_DESCRIPTORS: Final = Path("/proc/self/fd")
_DELETED: Final = " (deleted)"
_LOG: Final = "-wal"
_Identity = tuple[int, int] | None


class DatabaseFile:
    """The file at `path`, as it is when this is made: that one is open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = _identity(path)

    def lost(self) -> LostDatabase | None:
        """What became of it; None: it is where it belongs, or cannot be looked at."""
        now = self._now()
        if now == self._opened:
            return None
        return LostDatabase(path=str(self._path), replaced=now is not None, open_files=_open_files(self._path.name))

    def refuse_lost(self) -> None:
        """Raise Unavailable where it is there no more."""
        now = self._now()
        if now != self._opened:
            what = "deleted" if now is None else "replaced by another file"
            raise Unavailable(
                f"nothing is written: the database {self._path} was {what} while tinkbox runs: `tinkbox doctor` says how to rescue it"
            )

    def _now(self) -> _Identity:
        try:
            return _identity(self._path)
        except OSError:  # it cannot be looked at
            return self._opened


def _identity(path: Path) -> _Identity:
    """None: there is no such file.  Raises OSError where that cannot be seen."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _open_files(name: str) -> tuple[tuple[str, str], ...]:
    """The open database and its log, each once."""
    found: dict[str, str] = {}
    for each in sorted(_DESCRIPTORS.iterdir(), key=lambda each: int(each.name)):
        try:
            target = os.readlink(each)  # noqa: PTH115 - what it names is no path
        except OSError:  # closed meanwhile
            continue
        for ending in ("", _LOG):
            if Path(target.removesuffix(_DELETED)).name == name + ending:
                found.setdefault(ending, f"/proc/{os.getpid()}/fd/{each.name}")
    return tuple(sorted(found.items()))
