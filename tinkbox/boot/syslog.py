"""The syslog receiver for machines' first minutes, over UDP.  Nothing is answered; what no machine of ours says is dropped."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import NoReturn, Protocol

from tinkbox.boot.network.datagrams import drained, reading
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.syslog import MAX_DATAGRAM, Message, parse

# Whose an address is that we did not give, the kernel's table has to tell: of so many in one turn, and of a stranger's not
# again for a while.
STRANGERS = 4
STRANGER_SECONDS = 1.0
REMEMBERED = 4096


class Listener(Protocol):
    """Whoever keeps what machines say; `admits` tells, for little, whether one may say more now.

    `said` hears of every message, and with None of a datagram that held none, so that this is no way to say too much.
    """

    def admits(self, mac: MacAddress) -> bool: ...
    def said(self, mac: MacAddress, message: Message | None) -> None: ...


class SyslogServer:
    """Listens on a socket made by `sockets.bind_udp`; `at` knows whose IPv4 address it is, `monotonic` is a clock in seconds."""

    def __init__(
        self,
        listening: socket.socket,
        at: Callable[[str], MacAddress | None],
        listener: Listener,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._socket = listening
        self._at = at
        self._listener = listener
        self._monotonic = monotonic
        # Until when nobody is taken to have the address.
        self._strangers: dict[str, float] = {}

    async def serve(self) -> NoReturn:
        """Listen until cancelled."""
        with reading(self._socket, self._drain):
            while True:
                await asyncio.Event().wait()

    def _drain(self) -> None:
        strangers, now = 0, self._monotonic()
        for datagram, (address, _) in drained(self._socket.recvfrom, MAX_DATAGRAM):
            if self._strangers.get(address, now) > now:
                continue
            mac = self._at(address)
            if mac is not None:
                self._hear(datagram, mac)
                continue
            self._remember(address, now + STRANGER_SECONDS)
            strangers += 1
            if strangers == STRANGERS:
                return  # others have their turn first

    def _remember(self, stranger: str, until: float) -> None:
        if len(self._strangers) == REMEMBERED:
            self._strangers.clear()
        self._strangers[stranger] = until

    def _hear(self, datagram: bytes, mac: MacAddress) -> None:
        if not self._listener.admits(mac):
            return
        for message in parse(datagram) or (None,):
            self._listener.said(mac, message)
