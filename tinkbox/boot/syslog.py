"""The syslog receiver for machines' first minutes, over UDP.  Nothing is answered; what no machine of ours says is dropped."""

import asyncio
import socket
from collections.abc import Callable
from typing import NoReturn, Protocol

from tinkbox.boot.network.datagrams import DRAIN, reading, received
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.syslog import MAX_DATAGRAM, Message, parse

# Whose an address is that we did not give, the kernel's table has to tell each time.
STRANGERS = 4


class Listener(Protocol):
    """Whoever keeps what machines say; `admits` tells, for little, whether one may say more now.

    `said` hears of every message, and with None of a datagram that held none, so that this is no way to say too much.
    """

    def admits(self, mac: MacAddress) -> bool: ...
    def said(self, mac: MacAddress, message: Message | None) -> None: ...


class SyslogServer:
    """Listens on a socket made by `sockets.bind_udp`; `at` knows whose IPv4 address it is."""

    def __init__(self, listening: socket.socket, at: Callable[[str], MacAddress | None], listener: Listener) -> None:
        self._socket = listening
        self._at = at
        self._listener = listener

    async def serve(self) -> NoReturn:
        """Listen until cancelled."""
        with reading(self._socket, self._drain):
            while True:
                await asyncio.Event().wait()

    def _drain(self) -> None:
        strangers = 0
        for datagram, peer in received(DRAIN, self._socket.recvfrom, MAX_DATAGRAM):
            mac = self._at(peer[0])
            if mac is not None:
                self._hear(datagram, mac)
                continue
            strangers += 1
            if strangers == STRANGERS:
                return  # others have their turn first

    def _hear(self, datagram: bytes, mac: MacAddress) -> None:
        if not self._listener.admits(mac):
            return
        for message in parse(datagram) or (None,):
            self._listener.said(mac, message)
