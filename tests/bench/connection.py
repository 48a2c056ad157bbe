"""A connection over which requests are written as bytes, so that a load costs its own side as little as possible."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class HungUp(Exception):
    """The server closed the connection where an answer was due."""


class Connection(asyncio.Protocol):
    """Made by `to`; one request at a time, each answered with a Content-Length or with no body at all."""

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._received = bytearray()
        self._answered: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def to(
        cls, url: str, headers: Mapping[str, str], source: str = "", trusting: ssl.SSLContext | None = None
    ) -> Self:
        """A connection to the server of this URL, from the address `source`; the headers go with every request.

        With `trusting` it is encrypted.
        """
        place = urlsplit(url)
        lines = (f"{name}: {value}\r\n" for name, value in {"Host": place.netloc, **headers}.items())
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: cls("".join(lines).encode()),
            place.hostname,
            place.port,
            local_addr=(source, 0) if source else None,
            ssl=trusting,
        )
        return connection

    def ask(self, method: str, path: str, body: bytes = b"") -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; status and body of its answer, or HungUp."""
        if self._transport is None:
            raise HungUp
        content = b"Content-Length: %d\r\n\r\n%b" % (len(body), body) if body else b"\r\n"
        self._transport.write(b"%b %b HTTP/1.1\r\n%b%b" % (method.encode(), path.encode(), self._head, content))
        self._answered = asyncio.get_running_loop().create_future()
        return self._answered

    def close(self) -> None:
        """Hang up, whatever was asked."""
        if self._answered is not None:
            self._answered.cancel()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(_END)
        if end < 0:
            return
        head = bytes(self._received[:end]).lower()
        _, found, rest = head.partition(_LENGTH)
        whole = end + len(_END) + (int(rest.partition(b"\r\n")[0]) if found else 0)
        if len(self._received) < whole:
            return
        body = bytes(self._received[end + len(_END) : whole])
        del self._received[:whole]
        if self._answered is not None and not self._answered.done():
            self._answered.set_result((int(head.split(b" ", 2)[1]), body))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(HungUp())
