"""An action's own words: the files by which it says why it failed (seed: Tink Worker Failure Reasons), and how far it is."""

import codecs
import logging
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tinkbox.model.actions.progress import Told as ToldProgress
from tinkbox.model.actions.progress import read_progress
from tinkbox.model.actions.volumes import parse_volume
from tinkbox.model.reasons import MAX_REASON
from tinkbox.worker.files.writable_file import make_writable
from tinkbox.worker.host.mounts import mount_tmpfs, unmount

PLACES: Mapping[str, tuple[str, ...]] = {
    "reason": ("/dev/reason", "/tinkerbell/failure-reason"),
    "message": ("/dev/message", "/tinkerbell/failure-message"),
    "hint": ("/dev/hint", "/tinkerbell/failure-hint"),
    "progress": ("/dev/progress", "/tinkerbell/progress"),
}
# A tmpfs for each, for a runaway message in a shared one would leave no room for the reason.  Whoever appends a line of
# progress to the others, again and again, must not fail for want of room.
_TMPFS = "size={},nr_inodes=16,mode=755"
_SIZES = {"progress": "1m"}
_SIZE = "64k"
# Bytes.  What the worker says itself comes before, and both must fit (`wire.messages.worker.MAX_MESSAGE`).
MAX_SAID = 6 * 1024
_MAX_REASON_FILE = 4_096
_MAX_PROGRESS_LINE = 4_096
# What is written beyond this is replaced by its last line.
_LONG_PROGRESS = 256 * 1024
_UTF8 = codecs.getincrementaldecoder("utf-8")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """What an action said, bounded and without NULs; `reason` is its first line, empty when it said none.

    `hint` says what can be done about it.
    """

    reason: str = ""
    message: str = ""
    hint: str = ""

    @property
    def both(self) -> str:
        """Reason and message as one text."""
        return ": ".join(filter(None, (self.reason, self.message)))


class Words:
    """The files of every attempt, below one folder; `dev` is the machine's own /dev."""

    def __init__(self, root: Path, dev: Path = Path("/dev")) -> None:
        self._root = root
        self._dev = dev

    def prepare(self, attempt: str, role: str, volumes: Iterable[str], *, bounded: bool) -> dict[str, str]:
        """Make the files for a container, or find them; returns sources by target.  Raises OSError, or Invalid for a volume.

        Where the engine sees what the worker mounts (`bounded`), they cannot grow beyond 64 KiB, or 1 MiB for the
        progress; elsewhere only what is read of them is bounded.
        """
        mounts: dict[str, str] = {}
        for name, targets in PLACES.items():
            folder = self._root / name
            folder.mkdir(parents=True, exist_ok=True)
            if bounded:
                _bound(folder, _TMPFS.format(_SIZES.get(name, _SIZE)))
            for old in folder.iterdir():
                if not old.name.startswith(f"{attempt}."):
                    old.unlink()
            path = folder / f"{attempt}.{role}"
            make_writable(path)
            mounts |= dict.fromkeys(targets, str(path))
            if _shares_dev(volumes):
                # The mount point is then looked for in the machine's own /dev, maybe bound read-only.  What is made here is gone
                # when the attempt is; what the engine makes would stay.
                with suppress(OSError):
                    self._come_to_dev(name)
        return mounts

    def told(self, attempt: str, role: str) -> Told:
        """What the container said until now."""
        reason, _ = _head(self._root / "reason" / f"{attempt}.{role}", _MAX_REASON_FILE)
        lines = (line.strip() for line in reason.splitlines())
        message, advice = (_said(self._root / name / f"{attempt}.{role}") for name in ("message", "hint"))
        return Told(next(filter(None, lines), "")[: MAX_REASON + 1], message, advice)

    def progress(self, attempt: str, role: str) -> ToldProgress | None:
        """How far the container said last that it is; a long file is made short, so that there is room for more."""
        path = self._root / "progress" / f"{attempt}.{role}"
        text, taken = _tail(path, _MAX_PROGRESS_LINE)
        told = read_progress(text)
        if told is not None and taken > _LONG_PROGRESS:
            with suppress(OSError):
                path.write_text(f"{told.done} {told.total} {told.unit}\n")
        return told

    def clear(self, attempt: str, role: str) -> None:
        """Make the container's files empty for another run of its process."""
        for name in PLACES:
            with suppress(OSError):
                os.truncate(self._root / name / f"{attempt}.{role}", 0)

    def forget(self, attempt: str) -> None:
        """Remove an attempt's files, and what they left in the machine's /dev."""
        for name in PLACES:
            for path in (self._root / name).glob(f"{attempt}.*"):
                path.unlink(missing_ok=True)
            if not self._has_words(name):
                with suppress(OSError):
                    self._leave_dev(name)

    def release(self) -> None:
        """Take off what is mounted for the files, but where words of an attempt are: its container may run on.

        The machine's /dev is none of its business: another worker's action may share it.
        """
        for name in PLACES:
            folder = self._root / name
            with suppress(OSError):
                if os.path.ismount(folder) and not self._has_words(name):
                    unmount(folder)

    def _has_words(self, name: str) -> bool:
        folder = self._root / name
        return folder.is_dir() and any(folder.iterdir())

    def _come_to_dev(self, name: str) -> None:
        """Make the mount point that a container needs which shares the machine's /dev, and note that it is ours."""
        descriptor = os.open(self._dev / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            self._own(name).write_text(str(os.fstat(descriptor).st_ino))
        finally:
            os.close(descriptor)

    def _leave_dev(self, name: str) -> None:
        """Remove it, unless it is another's: there is but one devtmpfs for all workers, and what one removes has no mounts any more."""
        place, own = self._dev / name, self._own(name)
        if not own.exists():
            return
        # A /dev that is bound shared gives its mounts back to the machine, where they would stay.
        if os.path.ismount(place):
            unmount(place)
        found = place.lstat()
        if own.read_text() == str(found.st_ino) and stat.S_ISREG(found.st_mode) and found.st_size == 0:
            place.unlink()
        own.unlink()

    def _own(self, name: str) -> Path:
        """What says which file of the machine's /dev we made."""
        return self._root / f"{name}.in-dev"


def _bound(folder: Path, options: str) -> None:
    if os.path.ismount(folder) or any(folder.iterdir()):
        return
    try:
        mount_tmpfs(folder, options)
    except OSError as error:
        _log.warning("the size of %s is not bounded: %s", folder, error, extra={"action": "words.unbounded"})


def _shares_dev(volumes: Iterable[str]) -> bool:
    return any((volume.source.rstrip("/"), volume.target) == ("/dev", "/dev") for volume in map(parse_volume, volumes))


def _said(path: Path) -> str:
    words, size = _head(path, MAX_SAID)
    words = words.replace("\r\n", "\n").strip()
    return f"{words} … (cut: it wrote {size} bytes, the first {MAX_SAID} are kept)" if size > MAX_SAID else words


def _head(path: Path, limit: int) -> tuple[str, int]:
    """The beginning of a file as text, and how many bytes the whole has."""
    try:
        # With /worker bound into an action even our own file may have become something else.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            # The character through which the limit goes is left out.
            return _UTF8(errors="replace").decode(file.read(limit).replace(b"\0", b""), final=size <= limit), size
    except OSError:
        return "", 0


def _tail(path: Path, limit: int) -> tuple[str, int]:
    """The end of a file as text, and the room that it takes: one may have holes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            file.seek(max(0, found.st_size - limit))
            return file.read(limit).decode(errors="replace"), found.st_blocks * 512
    except OSError:
        return "", 0
