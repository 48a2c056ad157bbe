"""Recordings of shells on the appliance's disk: DATA/recordings/WORKFLOW/SESSION.cast, for its owner only.

What was recorded when a method returns survives the end of the process, not that of the host.
"""

import codecs
import hashlib
import logging
import math
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Self

from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.wire.terminal.asciicast import Happened, Header, Kind, decode, decode_header, encode, encode_header

LIMIT = 16 * 1024 * 1024
_ROOM = 512 * 1024  # for one more line of the longest, and the one that says that it was the last
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """A recording's SHA-256, and its size in bytes."""

    digest: str
    size: int


class Recordings:
    """The folder of all of them."""

    def __init__(self, folder: Path, clock: Callable[[], datetime], limit: int = LIMIT) -> None:
        self._folder = folder
        self._clock = clock
        self._limit = limit

    def path(self, workflow_id: str, session_id: str) -> Path:
        return self._folder / workflow_id / f"{session_id}.cast"

    def record(self, workflow_id: str, session_id: str, header: Header) -> "Recording":
        """Begin a recording, or go on with it; raises Unavailable when it cannot be written."""
        path = self.path(workflow_id, session_id)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            return Recording.open(path, header, self._clock, self._limit)
        except OSError as error:
            raise Unavailable(f"cannot record to {path}: {error.strerror}; no shell is opened without") from None

    def output(self, workflow_id: str, session_id: str) -> Iterator[bytes]:
        """Everything that was printed so far, nothing when there is no recording."""
        try:
            with self.path(workflow_id, session_id).open("rb") as lines:
                decode_header(lines.readline())
                for happened in decode(lines):
                    if happened.kind is Kind.OUTPUT:
                        yield happened.text.encode()
        except (OSError, Invalid):
            return

    def read(self, workflow_id: str, session_id: str) -> BinaryIO:
        """The file of a recording, also of one that goes on; raises NotFound."""
        try:
            return self.path(workflow_id, session_id).open("rb")
        except OSError as error:
            raise NotFound(
                f"there is no recording of session {session_id}: {error.strerror}. `tinkbox workflow events WORKFLOW` lists its shells"
            ) from None

    def kept(self, workflow_id: str, session_id: str) -> Kept:
        """What there is of a recording that is over."""
        try:
            with self.path(workflow_id, session_id).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                return Kept(digest, file.tell())
        except OSError:
            return Kept("", 0)

    def forget(self, known: set[str]) -> None:
        """Delete the recordings of all workflows but these."""
        try:
            folders = [path for path in self._folder.iterdir() if path.is_dir() and path.name not in known]
        except OSError:
            return
        for folder in folders:
            with suppress(OSError):  # moved away meanwhile: what is left goes the next time
                for path in folder.iterdir():
                    path.unlink()
                folder.rmdir()

    def matching(self, key: str) -> list[tuple[str, str]]:
        """The workflow and session of each recording whose session has this id, or one that begins so."""
        found = [(path.parent.name, path.stem) for path in self._all() if path.stem.startswith(key)]
        return [each for each in found if each[1] == key] or found

    def older(self, moment: datetime) -> list[str]:
        """The sessions of recordings to which nothing was added since then."""
        return [path.stem for path in self._all() if _changed_at(path) < moment.timestamp()]

    def delete(self, sessions: Collection[str]) -> None:
        """Delete the recordings of these sessions, and folders that are empty then."""
        for path in [each for each in self._all() if each.stem in sessions]:
            with suppress(OSError):
                path.unlink()
                path.parent.rmdir()

    def _all(self) -> list[Path]:
        return sorted(self._folder.glob("*/*.cast"))


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # it went meanwhile
        return math.inf


class Recording:
    """One that is being made."""

    def __init__(self, file: BinaryIO, began: int, clock: Callable[[], datetime], limit: int) -> None:
        self._file = file
        self._began = began
        self._clock = clock
        self._limit = limit
        self._seconds = 0.0
        self._over = self._is_full()
        self._output, self._input = (codecs.getincrementaldecoder("utf-8")(errors="replace") for _ in range(2))

    @classmethod
    def open(cls, path: Path, header: Header, clock: Callable[[], datetime], limit: int = LIMIT) -> Self:
        """Raises OSError."""
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b", buffering=0)
        try:
            content = file.read()
            # A line that was cut off would hide all that follow.
            whole = content[: content.rfind(b"\n") + 1]
            if not whole:
                whole = encode_header(header).encode()
                file.seek(0)
                file.write(whole)
            file.seek(len(whole))
            file.truncate()
            return cls(file, decode_header(whole.split(b"\n", 1)[0]).timestamp, clock, limit)
        except BaseException:
            file.close()
            raise

    def output(self, content: bytes) -> None:
        self._add(Kind.OUTPUT, self._output.decode(content))

    def input(self, content: bytes) -> None:
        self._add(Kind.INPUT, self._input.decode(content))

    def resize(self, rows: int, columns: int) -> None:
        self._add(Kind.RESIZE, f"{columns}x{rows}")

    def close(self) -> None:
        """Nothing more happens."""
        self._add(Kind.OUTPUT, self._output.decode(b"", final=True))
        self._add(Kind.INPUT, self._input.decode(b"", final=True))
        self._over = True
        self._file.close()

    def _add(self, kind: Kind, text: str) -> None:
        if not text or self._over:
            return
        self._write(kind, text)
        if not self._over and self._is_full():
            self._write(Kind.OUTPUT, f"\r\n[the recording ends here, at {self._limit // 1024 // 1024} MiB]\r\n")
            self._over = True

    def _write(self, kind: Kind, text: str) -> None:
        self._seconds = max(self._seconds, self._clock().timestamp() - self._began)
        line = encode(Happened(self._seconds, kind, text)).encode()
        try:
            self._over = self._file.write(line) < len(line)
        except OSError:
            self._over = True
        if self._over:
            _log.warning("the disk takes no more of a recording", extra={"action": "shell.unrecorded"})

    def _is_full(self) -> bool:
        return self._file.tell() > self._limit - _ROOM
