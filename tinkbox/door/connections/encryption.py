"""TLS of a door: on its port a connection whose first byte begins a handshake is encrypted, and anything else is told so.

A handshake costs the appliance a millisecond of its processor, and its client nothing: so all that hosts nobody knows
begin has a share of the time, and waits in the order in which it came.
"""

import asyncio
import ssl
from asyncio import sslproto
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from tinkbox.model.limits import REMEMBERED
from tinkbox.model.vitals import HandshakeTrouble, RefusedHandshake
from tinkbox.short_turns import Connection, Encrypted

# The first byte of a record that is part of a handshake (RFC 8446 §5.1).
HANDSHAKE: Final = b"\x16"
# About what one takes, in seconds, and which part of the time those of unknown hosts have together.
HANDSHAKE_SECONDS: Final = 0.0015
SHARE: Final = 0.2
# Octets of an answer that one connection keeps in memory, before and behind the encryption: a stranger has many of them.
KEPT: Final = 64 << 10
# Read at once for any connection; the kernel has the rest.
_READ: Final = 256 << 10
# All connections of a loop read into one: what was read is passed on before anything else is.
_SHARED: Final = memoryview(bytearray(_READ))
# What is private in it is described to nobody, so it is of any type here.
_SslProtocol: Any = sslproto.SSLProtocol


HUNG_UP: Final = "HUNG_UP"
_TROUBLE: Final = {
    "TLSV1_ALERT_UNKNOWN_CA": HandshakeTrouble.AUTHORITY,
    "SSLV3_ALERT_BAD_CERTIFICATE": HandshakeTrouble.AUTHORITY,  # so says Go, of an expired one as well
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": HandshakeTrouble.AUTHORITY,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": HandshakeTrouble.EXPIRED,
    "NO_SHARED_CIPHER": HandshakeTrouble.NOTHING_IN_COMMON,
    "UNSUPPORTED_PROTOCOL": HandshakeTrouble.NOTHING_IN_COMMON,
    "WRONG_VERSION_NUMBER": HandshakeTrouble.NOTHING_IN_COMMON,
    HUNG_UP: HandshakeTrouble.HUNG_UP,
}


class HandshakeTurns:
    """When a handshake may begin: at once for known hosts, in the share that the others have for these."""

    def __init__(self, known: Callable[[str], bool], monotonic: Callable[[], float]) -> None:
        self._known = known
        self._monotonic = monotonic
        self._next = 0.0

    def next(self, host: str) -> float:
        """How many seconds from now on."""
        if self._known(host):
            return 0.0
        now = self._monotonic()
        begins = max(now, self._next)
        self._next = begins + HANDSHAKE_SECONDS / SHARE
        return begins - now


class RefusedHandshakes:
    """Handshakes that came to nothing, by host and door, as that is written; the newest of so many as are remembered."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._refused: OrderedDict[tuple[str, str], RefusedHandshake] = OrderedDict()
        self._came_through: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    def came_through(self, host: str, door: str) -> None:
        """A handshake of a host was well."""
        self._came_through.pop((host, door), None)
        self._came_through[host, door] = self._now()
        if len(self._came_through) > REMEMBERED:
            self._came_through.popitem(last=False)

    def note(self, host: str, door: str, words: str) -> None:
        """One more of a host; `words` are OpenSSL's, or HUNG_UP of one that said nothing."""
        before = self._refused.pop((host, door), None)
        times = before.times + 1 if before is not None else 1
        trouble = _TROUBLE.get(words, HandshakeTrouble.OTHER)
        self._refused[host, door] = RefusedHandshake(
            host=host, door=door, why=trouble, words=words, at=self._now(), times=times
        )
        if len(self._refused) > REMEMBERED:
            self._refused.popitem(last=False)

    def all(self) -> list[RefusedHandshake]:
        """The newest last."""
        return [replace(each, came_through=self._came_through.get(whose)) for whose, each in self._refused.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Encryption:
    """What one door encrypts with.  A handshake has to be over after `seconds`."""

    context: ssl.SSLContext
    turns: HandshakeTurns
    refused: RefusedHandshakes
    seconds: float

    def begin(self, connection: Connection, protocol: asyncio.Protocol, read: bytes) -> None:
        """Encrypt a connection of which so much was read; `protocol` has it again when the handshake is over.

        Then its `connection_made` is called once more.  A handshake that comes to nothing ends in its `connection_lost`.
        """
        records = _Records(asyncio.get_running_loop(), protocol, self.context, self.seconds)
        connection.set_protocol(records)
        records.connection_made(connection)
        connection.set_write_buffer_limits(KEPT)
        if not connection.is_closing():
            records.get_buffer(len(read))[: len(read)] = read
            records.buffer_updated(len(read))


class _Records(_SslProtocol):  # type: ignore[misc]
    """asyncio's own, but for the memory that each connection has for itself: a quarter of a megabyte, read or not."""

    max_size = 1 << 10

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol: asyncio.Protocol, context: ssl.SSLContext, seconds: float
    ) -> None:
        self._app_transport: Any = None
        super().__init__(loop, protocol, context, None, server_side=True, ssl_handshake_timeout=seconds)
        self._ssl_buffer = bytearray()
        self._ssl_buffer_view = _SHARED
        self.max_size = _READ
        self._set_write_buffer_limits(KEPT)

    def _get_app_transport(self) -> Encrypted:
        made: Encrypted | None = self._app_transport
        if made is None:
            made = self._app_transport = Encrypted(self._loop, self)
            self._app_transport_created = True
        return made

    def get_buffer(self, sizehint: int) -> memoryview:
        connection: Any = self._transport
        return _SHARED[: max(sizehint, getattr(connection, "max_size", _READ))]

    def connection_lost(self, exc: Exception | None) -> None:
        began, protocol = self._app_state is sslproto.AppProtocolState.STATE_INIT, self._app_protocol
        super().connection_lost(exc)
        if began and protocol is not None:
            protocol.connection_lost(exc)
