"""TFTP, reading only: RFC 1350 with options (2347), blksize (2348), timeout and tsize (2349), windowsize (7440).

A transfer is an object that is told what happened and says what to send; it knows no socket and no
clock.  Block numbers wrap from 65,535 to 0.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Final, Protocol

from tinkbox.model.text import one_line, quoted

DEFAULT_BLOCK: Final = 512
MAX_BLOCK: Final = 65_464  # RFC 2348
# The largest block that crosses Ethernet unfragmented; boot ROMs cannot put fragments together.
MAX_UNFRAGMENTED: Final = 1_468
MAX_WINDOW: Final = 64
DEFAULT_TIMEOUT: Final = 1.0
# As with TCP (RFC 1123 §4.2.3.2): so many times the slowest of the last rounds, and never less than this.
ROUNDS: Final = 4
LEAST_PATIENCE: Final = 0.2
# No client waits less before it asks again, and no network takes so long to deliver a datagram twice.
DOUBLED: Final = 0.5
# A line that loses every fifth datagram lets a third of all rounds fail: with these, one of a million blocks.
RETRIES: Final = 14
# A client that never acknowledged may be spoofed: retry less.
RETRIES_UNHEARD: Final = 3
MAX_PATIENCE: Final = 30.0
_GROWTH: Final = 4
_MOST_DOUBLINGS: Final = 8
_FORGOTTEN: Final = 0.9  # of a slow round, with each that is quicker
ACKNOWLEDGEMENT_LENGTH: Final = 4
_LONGEST_MESSAGE: Final = 100
_WRAP: Final = 65_536
_HEADERS: Final = 32  # of a block: IPv4's, UDP's and TFTP's
_HEAD = struct.Struct("!HH")


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
        message = one_line(datagram[4:].partition(b"\0")[0].decode("ascii", "replace"), _LONGEST_MESSAGE)
        return Abort(int.from_bytes(datagram[2:4], "big"), message)
    if op == Op.WRQ:
        return WriteRequest()
    if op == Op.RRQ:
        return _read_request(datagram)
    raise MalformedDatagram(f"opcode {op}")


def acknowledged_block(datagram: bytes | bytearray) -> int | None:
    """What `decode` tells of an acknowledgement, without making an object of it; None for anything else."""
    op, block = _HEAD.unpack_from(datagram)
    return block if op == Op.ACK else None


def encode_error(code: ErrorCode, message: str) -> bytes:
    """An ERROR packet."""
    return struct.pack("!HH", Op.ERROR, code) + message.encode() + b"\0"


def file_name(request: ReadRequest) -> str:
    """The bare name: firmware asks for it with and without a leading slash or backslash."""
    return request.name.replace("\\", "/").lstrip("/")


def unfragmented(request: ReadRequest, mtu: int) -> ReadRequest:
    """The request as if it asked for blocks that cross a path of this MTU in one piece: RFC 2348 lets us agree to less."""
    most = max(mtu - _HEADERS, 8)
    block = _number(request.options.get("blksize"), 8, MAX_BLOCK)
    if block is None or block <= most:
        return request
    return replace(request, options={**request.options, "blksize": str(most)})


class Content(Protocol):
    """A file as a transfer reads it: piece by piece, each piece once or again.  `bytes` is one."""

    def __len__(self) -> int: ...
    def __getitem__(self, piece: slice, /) -> bytes: ...


class Blocks:
    """A file as the DATA packets of one block size, which are made as they are wanted.

    Blocks count from 1; a final one that is shorter than the others, maybe empty, ends the file.
    """

    def __init__(self, content: Content, block_size: int) -> None:
        self._content = content
        self._block_size = block_size

    def packets(self, after: int, last: int) -> Sequence[bytes]:
        """Those of the blocks that follow `after`, up to `last`.  What reading the content raises comes through."""
        size = self._block_size
        piece = self._content[after * size : last * size]
        return [
            _HEAD.pack(Op.DATA, (after + at + 1) % _WRAP) + piece[at * size : (at + 1) * size]
            for at in range(last - after)
        ]


class End(StrEnum):
    """Why a transfer ended without the whole file."""

    SILENCE = "silence"
    GAVE_UP = "gave up"
    GAVE_WAY = "gave way"  # to another transfer, where there was no room for both
    PROBE = "probe"  # it only wanted to know the size, which is a normal end


class ReadTransfer:
    """One file on its way to one client.

    `start`, `acknowledged` and `timeout` return the datagrams to send now.  `done` tells that there is
    nothing more to do; then either it is `complete`, or `end` says why not and `failure` the same for
    people, empty for a normal end.  The owner calls `timeout` when nothing was heard for `patience`
    seconds.  What reading `content` raises comes through; the transfer is of no use any more then.
    `cut` makes blocks of the content.  `retransmissions` counts the datagrams that were sent again, `recovered` how often the
    transfer went on after that.
    """

    def __init__(self, content: Content, request: ReadRequest, cut: Callable[[Content, int], Blocks] = Blocks) -> None:
        self.size = len(content)
        self._negotiated = _negotiate(request.options, self.size)
        self.block_size = int(self._negotiated.get("blksize", DEFAULT_BLOCK))
        self.window = int(self._negotiated.get("windowsize", 1))
        self._agreed = "timeout" in self._negotiated  # RFC 2349: then it is the client's
        self._base = float(self._negotiated.get("timeout", DEFAULT_TIMEOUT))
        self._slowest = DEFAULT_TIMEOUT
        self._packets = cut(content, self.block_size).packets
        self.blocks = self.size // self.block_size + 1
        self.block = 0
        self._sent = 0
        self._greeting = bool(self._negotiated)
        self._heard = False
        self._tries = 0
        self._doublings = 0
        self.retransmissions = 0
        self.recovered = 0
        self.done = False
        self.end: End | None = None
        self.failure = ""

    @property
    def patience(self) -> float:
        """Seconds to wait for the client before `timeout`: what its rounds take, doubled with each silence up to a bound."""
        wait = self._base if self._agreed else min(max(LEAST_PATIENCE, ROUNDS * self._slowest), self._base)
        return min(wait * (1 << self._doublings), self._base * _GROWTH, MAX_PATIENCE)

    @property
    def moving(self) -> bool:
        """Whether the client has acknowledged anything yet."""
        return self._heard

    @property
    def complete(self) -> bool:
        """Whether the client has the whole file."""
        return self.block == self.blocks

    def start(self) -> Sequence[bytes]:
        """The first datagrams: the option acknowledgement, or data when no option was agreed."""
        if self._greeting:
            parts = [struct.pack("!H", Op.OACK)]
            parts += [f"{name}\0{value}\0".encode() for name, value in self._negotiated.items()]
            return [b"".join(parts)]
        return self._next_window()

    def asked_again(self, after: float) -> Sequence[bytes]:
        """What to send to a client that asks for the same once more, `after` seconds of what it was sent last.

        A network may have doubled its request: then it hears us already, and another transfer in place of this one would
        leave it without an answer (RFC 1350 §4); there are clients that give up when they get the first datagrams twice.
        One that has heard nothing for DOUBLED seconds gets them again.
        """
        if self.done or self._heard or after < DOUBLED:
            return ()
        self.retransmissions += 1
        self._sent = 0
        return self.start()

    def acknowledged(self, block: int, after: float = DEFAULT_TIMEOUT) -> Sequence[bytes]:
        """What to send when the client has all blocks up to this one (modulo 65,536), `after` seconds of its last."""
        if self.done:
            return ()
        if self._greeting:
            # Only ACK 0 answers an OACK (RFC 2347); anything else is an old echo.
            if block != 0:
                return ()
            self._greeting = False
            self._round_took(after)
            return self._next_window()
        ahead = (block - self.block) % _WRAP
        if ahead == 0 or ahead > self._sent - self.block:
            # A duplicate: answering it would double every packet from here on (Sorcerer's Apprentice,
            # RFC 1123 §4.2.3.1).  The time-out repairs what is really lost.
            return ()
        self.block += ahead
        self._round_took(after)
        if self.block == self.blocks:
            self.done = True
            return ()
        if self.block < self._sent:
            # RFC 7440 §4: an acknowledgement inside the window asks for the rest of it again.
            self.recovered += 1
            self._rewind()
        return self._next_window()

    def aborted(self, abort: Abort) -> None:
        """The client ended it."""
        if self.done:
            return
        self.done = True
        # Firmware that only wants to know the size asks with tsize and aborts what follows: a normal end.
        if self._greeting or (self.block == 0 and "tsize" in self._negotiated):
            self.end = End.PROBE
            return
        self.end = End.GAVE_UP
        self.failure = (
            f"the client gave up at block {self.block} of {self.blocks}: {abort.code} {quoted(abort.message)}"
        )

    def give_way(self) -> None:
        """End it, because another transfer needs its room."""
        self.done = True
        self.end = End.GAVE_WAY
        self.failure = f"it gave way to another transfer after block {self.block} of {self.blocks}: all room was taken"

    def timeout(self) -> Sequence[bytes]:
        """What to send after `patience` seconds of silence."""
        if self.done:
            return ()
        if self._tries >= (RETRIES if self._heard else RETRIES_UNHEARD):
            self.done = True
            self.end = End.SILENCE
            self.failure = f"nothing heard after block {self.block} of {self.blocks}"
            return ()
        self._tries += 1
        self._doublings = min(self._doublings + 1, _MOST_DOUBLINGS)
        if self._greeting:
            self.retransmissions += 1
            return self.start()
        if not self._heard:
            # Unlike an option acknowledgement a block is much more than what was asked: a client that lost it asks again.
            return ()
        self._rewind()
        return self._next_window()

    def _round_took(self, seconds: float) -> None:
        if self._tries:
            # Nobody knows which sending this answers, so the wait stays doubled until a round tells (Karn's algorithm).
            self._tries = 0
            self.recovered += 1
        else:
            self._doublings = 0
            self._slowest = max(seconds, self._slowest * _FORGOTTEN) if self._heard else seconds
        self._heard = True

    def _rewind(self) -> None:
        self.retransmissions += self._sent - self.block
        self._sent = self.block

    def _next_window(self) -> Sequence[bytes]:
        after, self._sent = self._sent, min(self.block + self.window, self.blocks)
        return self._packets(after, self._sent)


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
    if len(fields) < 2:
        raise MalformedDatagram("a request has a name and a mode")
    pairs = fields[2:]
    options: dict[str, str] = {}
    for name, value in zip(pairs[::2], pairs[1::2], strict=False):
        options.setdefault(name.lower(), value)
    return ReadRequest(name=fields[0], mode=fields[1].lower(), options=options)
