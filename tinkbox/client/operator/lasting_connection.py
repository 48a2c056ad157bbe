"""A connection for what lasts or happens at once: streams, uploads, shells, and questions beside them.  Needs an event loop."""

from asyncio import WriteTransport, sslproto
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, BinaryIO
from weakref import WeakSet

import aiohttp
from aiohttp import connector
from aiohttp.tracing import Trace

from tinkbox.client.operator.box_certificates import trust_in
from tinkbox.client.operator.connection import MOST_ANSWERED, SECONDS, Connection, Document, Reply
from tinkbox.client.shell import ShellConnection, shell_connection
from tinkbox.model.errors import Refusal
from tinkbox.wire.list_total import HEADER, total_of

# That there is no connection is to be known before no answer is.
QUICK = aiohttp.ClientTimeout(total=SECONDS, connect=SECONDS / 2)
STREAM = aiohttp.ClientTimeout(total=None, connect=10)
CONNECT_SECONDS = 10.0
# With these there was no connection that anything could be sent over.
UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)


_TLS = sslproto._SSLProtocolTransport  # noqa: SLF001  asyncio gives it no public name


class LastingConnection(Connection):
    """See Connection."""

    async def open(self) -> None:
        self._connector = _UnixConnector(str(self.socket)) if self.socket else self._tcp_connector()
        self._session = aiohttp.ClientSession(connector=self._connector, headers=self.headers)

    def _tcp_connector(self) -> "_TCPConnector":
        is_encrypted = self.encrypted_or_here().scheme == "https"
        return _TCPConnector(ssl=trust_in(self.authority)) if is_encrypted else _TCPConnector()

    async def close(self) -> None:
        self._connector.give_up()
        await self._session.close()

    async def exchange(
        self, method: str, path: str, body: bytes | None, *, looks: bool = False, seconds: float | None = None
    ) -> Reply:
        limit = aiohttp.ClientTimeout(total=seconds, connect=QUICK.connect) if seconds else QUICK
        return await self._exchange(method, path, body, limit, looks=looks or method == "GET")

    async def upload(self, path: str, content: BinaryIO | AsyncIterator[bytes]) -> Document:
        broken: list[Exception] = []
        sent = _noting(content, broken) if isinstance(content, AsyncIterator) else content
        try:
            reply = await self._exchange("POST", path, sent, STREAM)
        except Refusal:
            if broken:  # the library tells of a connection alone
                raise broken[0] from None
            raise
        answer = self.object_of(path, reply.content)
        self.changed(path, answer)
        return answer

    async def stream(self, path: str, headers: Mapping[str, str]) -> AsyncGenerator[bytes]:
        try:
            request = self._session.get(self.url + path, headers=headers, timeout=STREAM, allow_redirects=False)
            async with request as response:
                await self._refuse(response)
                async for chunk in response.content.iter_any():
                    yield chunk
        except aiohttp.ClientPayloadError:
            raise self.ended() from None
        except UNSENT as error:
            raise self.unreachable(_of_connection(error)) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self.broken("GET", path, error) from None

    def shell(self, path: str, *, tty: bool) -> AbstractAsyncContextManager[ShellConnection]:
        return shell_connection(self._session, self.url + path, CONNECT_SECONDS, tty=tty)

    async def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | BinaryIO | AsyncIterator[bytes] | None,
        limit: aiohttp.ClientTimeout,
        *,
        looks: bool = False,
    ) -> Reply:
        try:
            request = self._session.request(method, self.url + path, data=body, timeout=limit, allow_redirects=False)
            async with request as response:
                await self._refuse(response)
                return Reply(await self._whole(response), total_of(response.headers.get(HEADER)))
        except UNSENT as error:
            raise self.unreachable(_of_connection(error)) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if looks and isinstance(error, aiohttp.ClientPayloadError):
                raise self.ended() from None
            raise self.broken(method, path, error, looks=looks, seconds=limit.total or SECONDS) from None

    async def _refuse(self, response: aiohttp.ClientResponse) -> None:
        # Of an answer that goes on for ever nothing is read before its status is known.
        if response.status >= 300:
            answer = await self._whole(response)
            self.raise_refusal(response.status, response.reason or "", response.headers, answer)

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        answer = bytearray()
        async for chunk in response.content.iter_any():
            answer += chunk
            if len(answer) > MOST_ANSWERED:
                raise self.too_much(response.url.raw_path_qs)
        return bytes(answer)


class _Connector(aiohttp.BaseConnector):
    """Knows its connections: one whose upload was refused, or came to no end, is not closed before what it holds is sent."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._used = WeakSet[WriteTransport]()

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> connector.Connection:
        made = await super().connect(req, traces, timeout)
        if isinstance(made.transport, WriteTransport):
            self._used.add(made.transport)
        return made

    def give_up(self) -> None:
        """Send nothing more."""
        for each in list(self._used):
            # One that was closed when all was sent is gone, and asyncio cannot abort it any more.  With TLS it does not tell what
            # is not sent, and has no words for one that is gone.
            if isinstance(each, _TLS):
                with suppress(AttributeError):
                    each.abort()
            elif not each.is_closing() or each.get_write_buffer_size():
                each.abort()


class _UnixConnector(_Connector, aiohttp.UnixConnector):
    pass


class _TCPConnector(_Connector, aiohttp.TCPConnector):
    pass


def _of_connection(error: Exception) -> Exception:
    """What an error of the library was made of."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return error.certificate_error
    return error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error


async def _noting(content: AsyncIterator[bytes], broken: list[Exception]) -> AsyncIterator[bytes]:
    """The same, with a note of why it ended early."""
    try:
        async for piece in content:
            yield piece
    except Exception as error:
        broken.append(error)
        raise
