"""Reads a disk image in a process of its own, which is killed when it takes too long; `reading` is its side of it."""

import fcntl
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from typing import BinaryIO, Final, cast
from uuid import UUID

from tinkbox.confinement.giving_up import CONFINED, REFUSED
from tinkbox.confinement.programs import folder, program
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.images.system_image import Compression, Format
from tinkbox.model.text import one_line
from tinkbox.system_images.found import MAX_TOLD, Found, decode_found
from tinkbox.system_images.qcow2 import PIECE, Piece
from tinkbox.system_images.reading import CPU_SECONDS, DATA, END, FOUND, MAX_TEXT, RECORD, SIZE, WRONG, ZEROS

WORD: Final = "--read-image"
# Until something must have come of the file.
STALL_SECONDS: Final = 300.0
_LAST_SECONDS: Final = 10.0
_PIPE: Final = 1 << 20
_MOST: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds: `size` is 0 while it is not known.  Of a tar it is a file system, `found` says for what disk."""

    size: int
    pieces: Iterator[Piece]
    found: Found | None = None


@contextmanager
def opened(file: BinaryIO, kind: Format | Compression, name: str, *, identity: UUID | None = None) -> Iterator[Content]:
    """What is in an open file, taken apart by a confined process.

    `name` is the file's in refusals; a tar needs an `identity`, of which its disk's are made.  Raises Invalid for a file that is damaged, also while its pieces are taken, and Unavailable
    where the process cannot be confined or takes too long.
    """
    process = subprocess.Popen(
        _program(f"{kind}:{identity}" if identity else kind),
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder(),
        env={},
        bufsize=0,
        process_group=0,
    )
    try:
        pipe = _Pipe(cast("FileIO", process.stdout), name)
        pipe.begin()
        letter, size = pipe.record()
        if letter != SIZE or size > _MOST:
            raise _strange(name)
        found = pipe.found() if kind is Format.TAR else None
        yield Content(size, _pieces(pipe, name), found)
    except _Ended:
        raise _why(process, name) from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _program(kind: str) -> Sequence[str]:
    return program(WORD, kind)


def _pieces(pipe: "_Pipe", name: str) -> Iterator[Piece]:
    while True:
        letter, number = pipe.record()
        if letter == DATA and number <= PIECE:
            yield pipe.exactly(number)
        elif letter == ZEROS and number <= _MOST:
            yield number
        elif letter == END:
            return
        else:
            raise _strange(name)


class _Ended(Exception):
    """The process is gone before it said all."""


class _Pipe:
    """What the process writes, in order; nothing of it is believed."""

    def __init__(self, file: FileIO, name: str) -> None:
        self._file = file
        self._name = name
        self._poll = select.poll()
        self._poll.register(file, select.POLLIN)
        with suppress(OSError):  # a user may have no more of large pipes: it is slower then
            fcntl.fcntl(file, fcntl.F_SETPIPE_SZ, _PIPE)

    def begin(self) -> None:
        """Read that it is confined."""
        said = self.exactly(len(REFUSED))
        if said == REFUSED:
            why = one_line(self._rest(MAX_TEXT).decode(errors="replace"), 300)
            raise Unavailable(f"{self._name} is not read: the process that reads it cannot be confined: {why}")
        if said + self.exactly(len(CONFINED) - len(REFUSED)) != CONFINED:
            raise _strange(self._name)

    def record(self) -> tuple[bytes, int]:
        """The next letter and its number; raises Invalid for what is wrong with the file."""
        letter, number = RECORD.unpack(self.exactly(RECORD.size))
        if letter == WRONG:
            said = self.exactly(min(number, MAX_TEXT)).decode(errors="replace")
            raise Invalid(f"{self._name}: {one_line(said, MAX_TEXT)}")
        return letter, number

    def found(self) -> Found:
        letter, number = self.record()
        if letter != FOUND or number > MAX_TOLD:
            raise _strange(self._name)
        try:
            return decode_found(self.exactly(number))
        except ValueError:
            raise _strange(self._name) from None

    def exactly(self, number: int) -> bytes:
        found = self._rest(number)
        if len(found) < number:
            raise _Ended
        return found

    def _rest(self, number: int) -> bytes:
        """So many bytes, or as many as still come."""
        found = bytearray(number)
        view, place = memoryview(found), 0
        while place < number:
            if not self._poll.poll(STALL_SECONDS * 1000):
                raise Unavailable(
                    f"{self._name}: nothing came of it for {STALL_SECONDS:.0f} seconds: it is not read on"
                )
            taken = self._file.readinto(view[place:])
            if not taken:
                break
            place += taken
        return bytes(view[:place])


def _strange(name: str) -> Invalid:
    return Invalid(
        f"{name} brought the process that reads it to say what it never says: the image is hostile or damaged"
    )


def _why(process: "subprocess.Popen[bytes]", name: str) -> Unavailable | Invalid:
    """Why the process is gone."""
    try:
        status = process.wait(_LAST_SECONDS)
    except subprocess.TimeoutExpired:
        return _strange(name)
    if -status in (signal.SIGXCPU, signal.SIGKILL):
        return Unavailable(
            f"{name} is not read on: its process was ended by the kernel, after {CPU_SECONDS} seconds of a processor "
            "or for want of memory"
        )
    return Unavailable(f"{name} is not read: the process for it does not start, or failed (status {status})")
