"""TFTP, reading only: RFC 1350 with options (2347), blksize (2348), timeout and tsize (2349), windowsize (7440).

A transfer is an object that is told what happened and says what to send; it knows no socket and no
clock.  Block numbers wrap from 65,535 to 0.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

DEFAULT_BLOCK: Final = 512
MAX_BLOCK: Final = 65_464  # RFC 2348
# The largest block that crosses Ethernet unfragmented; boot ROMs cannot put fragments together.
MAX_UNFRAGMENTED: Final = 1_468
MAX_WINDOW: Final = 64
DEFAULT_TIMEOUT: Final = 1.0
RETRIES: Final = 6
MAX_PATIENCE: Final = 60.0
_WRAP: Final = 65_536


class MalformedDatagram(Exception):
    """These bytes are no TFTP packet."""


class Op(IntEnum):
    """Opcodes, RFC 1350 §5 and RFC 2347."""

    RRQ = 1
    WRQ = 2
    DATA = 3
    ACK = 4
    ERROR = 5
    OACK = 6


class ErrorCode(IntEnum):
    """RFC 1350 and RFC 2347."""

    NOT_DEFINED = 0
    FILE_NOT_FOUND = 1
    ACCESS_VIOLATION = 2
    ILLEGAL_OPERATION = 4
    OPTIONS_REFUSED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """A client wants a file; option names are lower case, values as sent."""

    name: str
    mode: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A client wants to write, which it may not."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """All blocks up to this number have arrived (modulo 65,536)."""

    block: int


@dataclass(frozen=True, slots=True)
class Abort:
    """The client ends the transfer."""

    code: int
    message: str


def decode(datagram: bytes) -> ReadRequest | WriteRequest | Acknowledgement | Abort:
    """Parse what a client sends; raises MalformedDatagram for anything else."""
    if len(datagram) < 4:
        raise MalformedDatagram(f"{len(datagram)} bytes")
    op = int.from_bytes(datagram[:2], "big")
    if op == Op.ACK:
        return Acknowledgement(int.from_bytes(datagram[2:4], "big"))
    if op == Op.ERROR:
        message = datagram[4:].partition(b"\0")[0][:100].decode("ascii", "replace")
        return Abort(int.from_bytes(datagram[2:4], "big"), message)
    if op == Op.WRQ:
        return WriteRequest()
    if op == Op.RRQ:
        return _read_request(datagram)
    raise MalformedDatagram(f"opcode {op}")


def encode_error(code: ErrorCode, message: str) -> bytes:
    """An ERROR packet."""
    return struct.pack("!HH", Op.ERROR, code) + message.encode() + b"\0"


def file_name(request: ReadRequest) -> str:
    """The bare name: firmware asks for it with and without a leading slash or backslash."""
    return request.name.replace("\\", "/").lstrip("/")


class ReadTransfer:
    """One file on its way to one client.

    `start`, `receive` and `timeout` return the datagrams to send now.  `done` tells that there is
    nothing more to do, `failure` why it ended badly, if it did.  The owner calls `timeout` when
    nothing was heard for `patience` seconds.
    """

    def __init__(self, content: bytes, request: ReadRequest) -> None:
        self._content = content
        self._negotiated = _negotiate(request.options, len(content))
        self._block = int(self._negotiated.get("blksize", DEFAULT_BLOCK))
        self._window = int(self._negotiated.get("windowsize", 1))
        self._base_patience = float(self._negotiated.get("timeout", DEFAULT_TIMEOUT))
        # Blocks count from 1; a final block shorter than the others (maybe empty) ends the file.
        self._blocks = len(content) // self._block + 1
        self._acknowledged = 0
        self._sent = 0
        self._greeting = bool(self._negotiated)
        self._tries = 0
        self.retransmissions = 0
        self.done = False
        self.failure = ""

    @property
    def patience(self) -> float:
        """Seconds to wait for the client before `timeout`; grows with each silence, up to eight times."""
        return min(self._base_patience * min(1 << self._tries, 8), MAX_PATIENCE)

    @property
    def moving(self) -> bool:
        """Whether the client has acknowledged anything yet."""
        return not self._greeting and self._sent > 0 and (bool(self._negotiated) or self._acknowledged > 0)

    @property
    def complete(self) -> bool:
        """Whether the client has the whole file."""
        return self._acknowledged == self._blocks

    def start(self) -> Sequence[bytes]:
        """The first datagrams: the option acknowledgement, or data when no option was agreed."""
        if self._greeting:
            parts = [struct.pack("!H", Op.OACK)]
            parts += [f"{name}\0{value}\0".encode() for name, value in self._negotiated.items()]
            return [b"".join(parts)]
        return self._next_window()

    def receive(self, message: Acknowledgement | Abort) -> Sequence[bytes]:
        """What to send after the client said this."""
        if self.done:
            return ()
        if isinstance(message, Abort):
            self._aborted(message)
            return ()
        if self._greeting:
            # Only ACK 0 answers an OACK (RFC 2347); anything else is an old echo.
            if message.block != 0:
                return ()
            self._greeting = False
            self._tries = 0
            return self._next_window()
        ahead = (message.block - self._acknowledged) % _WRAP
        if ahead == 0 or ahead > self._sent - self._acknowledged:
            # A duplicate: answering it would double every packet from here on (Sorcerer's Apprentice,
            # RFC 1123 §4.2.3.1).  The time-out repairs what is really lost.
            return ()
        missing = self._acknowledged + ahead < self._sent
        self._acknowledged += ahead
        self._tries = 0
        if self.complete:
            self.done = True
            return ()
        if missing:
            # RFC 7440 §4: an acknowledgement inside the window asks for the rest of it again.
            self.retransmissions += self._sent - self._acknowledged
            self._sent = self._acknowledged
        return self._next_window()

    def timeout(self) -> Sequence[bytes]:
        """What to send after `patience` seconds of silence."""
        if self.done:
            return ()
        if self._tries >= RETRIES:
            self.done = True
            self.failure = f"nothing heard after block {self._acknowledged} of {self._blocks}"
            return ()
        self._tries += 1
        if self._greeting:
            self.retransmissions += 1
            return self.start()
        self.retransmissions += self._sent - self._acknowledged
        self._sent = self._acknowledged
        return self._next_window()

    def _next_window(self) -> Sequence[bytes]:
        first, last = self._sent + 1, min(self._acknowledged + self._window, self._blocks)
        self._sent = last
        return [self._data(number) for number in range(first, last + 1)]

    def _data(self, number: int) -> bytes:
        start = (number - 1) * self._block
        return struct.pack("!HH", Op.DATA, number % _WRAP) + self._content[start : start + self._block]

    def _aborted(self, message: Abort) -> None:
        self.done = True
        # Firmware that only wants to know the size asks with tsize and aborts what follows: a normal end.
        if self._greeting or (self._acknowledged == 0 and "tsize" in self._negotiated):
            return
        self.failure = (
            f"the client gave up at block {self._acknowledged} of {self._blocks}: {message.code} {message.message}"
        )


def _negotiate(options: Mapping[str, str], size: int) -> dict[str, str]:
    """The options we agree to, with our values; RFC 2347: the others are left out silently."""
    agreed: dict[str, str] = {}
    block = _number(options.get("blksize"), 8, MAX_BLOCK)
    if block:
        # A smaller value than asked for is allowed by RFC 2348; fragments are lost on boot ROMs.
        agreed["blksize"] = str(min(block, MAX_UNFRAGMENTED))
    if _number(options.get("timeout"), 1, 255):
        agreed["timeout"] = options["timeout"]
    if _number(options.get("tsize"), 0, 1 << 62) is not None:
        agreed["tsize"] = str(size)
    window = _number(options.get("windowsize"), 1, 65_535)
    if window:
        agreed["windowsize"] = str(min(window, MAX_WINDOW))
    return agreed


def _number(text: str | None, least: int, most: int) -> int | None:
    if text is None or not text.isascii() or not text.isdecimal() or len(text) > 20:
        return None
    return int(text) if least <= int(text) <= most else None


def _read_request(datagram: bytes) -> ReadRequest:
    if len(datagram) > 512 or not datagram.endswith(b"\0"):
        raise MalformedDatagram("a request ends with a NUL and fits into 512 bytes")
    fields = [part.decode("ascii", "replace") for part in datagram[2:-1].split(b"\0")]
    if len(fields) < 2 or not fields[0]:
        raise MalformedDatagram("a request has a name and a mode")
    pairs = fields[2:]
    options: dict[str, str] = {}
    for name, value in zip(pairs[::2], pairs[1::2], strict=False):
        options.setdefault(name.lower(), value)
    return ReadRequest(name=fields[0], mode=fields[1].lower(), options=options)
