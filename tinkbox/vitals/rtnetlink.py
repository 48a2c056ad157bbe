"""Questions to the kernel about its routes, interfaces and what is attached to these (rtnetlink(7)); none of them needs a right."""

import os
import socket
import struct
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

_REQUEST, _DUMP = 0x1, 0x300  # <linux/netlink.h>
_ERROR, _DONE = 2, 3
_HEADER: Final = struct.Struct("=IHHII")
_STATUS: Final = struct.Struct("=i")
_ATTRIBUTE: Final = struct.Struct("=HH")
_KIND_ONLY: Final = 0x3FFF  # without what tells that an attribute holds others
GET_LINK: Final = 18  # <linux/rtnetlink.h>: RTM_GETLINK
LINK: Final = struct.Struct("=BxHiII")  # struct ifinfomsg
_EXTENDED, _STATISTICS_LEFT_OUT = 29, struct.pack("=I", 8)  # IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS
_ROOM: Final = 1 << 16
MOST_ANSWERS: Final = 4096  # messages that are read of one answer
# The kernel answers at once; only memory that it lacks makes it drop one.
_SECONDS: Final = 2.0


class Rtnetlink:
    """A socket for such questions, or for those of another `protocol` of netlink, for as long as the context lasts."""

    def __init__(self, protocol: int = socket.NETLINK_ROUTE) -> None:
        self._protocol = protocol

    def __enter__(self) -> Self:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, self._protocol)
        self._socket.settimeout(_SECONDS)
        self._asked = 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._socket.close()

    def one(self, kind: int, body: bytes) -> bytes:
        """The answer to a question for one thing, without its header.  Raises OSError, with the kernel's own number."""
        return next(self._answers(kind, _REQUEST, body))

    def all(self, kind: int, body: bytes) -> list[bytes]:
        """The answers to a question for everything.  Raises OSError, with the kernel's own number."""
        return list(self._answers(kind, _REQUEST | _DUMP, body))

    def _answers(self, kind: int, flags: int, body: bytes) -> Iterator[bytes]:
        self._asked += 1
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), kind, flags, self._asked, 0) + body)
        count = 0
        while count < MOST_ANSWERS:
            told, at = self._socket.recv(_ROOM), 0
            while at + _HEADER.size <= len(told):
                length, what, _, number, _ = _HEADER.unpack_from(told, at)
                content, at = told[at + _HEADER.size : at + length], at + (max(length, _HEADER.size) + 3 & ~3)
                if number != self._asked:  # of a question whose answers were not all read
                    continue
                if what == _ERROR and (error := -_STATUS.unpack_from(content)[0]):
                    raise OSError(error, os.strerror(error))
                if what in (_DONE, _ERROR):
                    return
                count += 1
                yield content


def link_question(name: str) -> bytes:
    """The question of GET_LINK for one interface, without its statistics.  Raises OSError where there is none."""
    return LINK.pack(socket.AF_UNSPEC, 0, socket.if_nametoindex(name), 0, 0) + attribute(
        _EXTENDED, _STATISTICS_LEFT_OUT
    )


def attribute(kind: int, value: bytes) -> bytes:
    """An attribute of a question."""
    padding = bytes(-len(value) % 4)
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + padding


def attributes(told: bytes) -> dict[int, bytes]:
    """The attributes that follow an answer's fixed part, or stand in an attribute; of several of a kind the last."""
    found: dict[int, bytes] = {}
    at = 0
    while at + _ATTRIBUTE.size <= len(told):
        length, kind = _ATTRIBUTE.unpack_from(told, at)
        if length < _ATTRIBUTE.size:
            break
        found[kind & _KIND_ONLY] = told[at + _ATTRIBUTE.size : at + length]
        at += length + 3 & ~3
    return found
