"""HTTP as the catalogue needs it: small documents and large files, redirects that do not leave HTTPS, bounds on everything."""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self
from urllib.parse import urljoin, urlsplit
from weakref import WeakSet

import aiohttp
from aiohttp import connector
from aiohttp.tracing import Trace

from tinkbox import __version__
from tinkbox.model.errors import Invalid, NotFound, TooLarge, Unavailable
from tinkbox.model.sizes import show_size
from tinkbox.trusted_authorities import trusted_authorities

MAX_REDIRECTS: Final = 8
MAX_DOCUMENT: Final = 8 << 20
CONNECT_SECONDS: Final = 20.0
DOCUMENT_SECONDS: Final = 120.0
SILENCE_SECONDS: Final = 60.0
# How it ends that a host broke off: what goes on by itself need not say so.
AGAIN: Final = ": run the command again"
_MOVED: Final = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`secure` says whether it came over HTTPS all the way."""

    content: bytes
    secure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a server says of a file before it sends it; a `size` of 0 is not known."""

    size: int


class Web:
    """An async context manager.  `plain` in its methods allows a redirect from HTTPS to HTTP, for what is proven otherwise."""

    def __init__(self, tls: ssl.SSLContext | None = None, silence: float = SILENCE_SECONDS) -> None:
        self._tls = tls or trusted_authorities()
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence)
        self._silence = silence

    async def __aenter__(self) -> Self:
        self._connector = _Connector()
        # What stands compressed at a publisher's stays so: a digest is of the file as it is.
        self._session = aiohttp.ClientSession(
            connector=self._connector,
            timeout=self._timeout,
            trust_env=True,
            auto_decompress=False,
            headers={"User-Agent": f"tinkbox/{__version__}"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()
        self._connector.abort()
        await asyncio.sleep(0)  # what was aborted is closed in the loop's next turn

    async def document(self, url: str, *, limit: int = MAX_DOCUMENT, plain: bool = False) -> Document:
        """A small document; raises NotFound, TooLarge, Unavailable or Invalid."""
        try:
            async with asyncio.timeout(DOCUMENT_SECONDS), self.answer("GET", url, plain=plain) as (response, secure):
                _refuse(response, url)
                content = bytearray()
                async for chunk in response.content.iter_any():
                    content += chunk
                    if len(content) > limit:
                        raise TooLarge(f"{url} has more than {show_size(limit)}: that is not what it should be")
                return Document(content=_plain(response, bytes(content), limit, url), secure=secure)
        except TimeoutError:
            raise Unavailable(f"{url} took more than {DOCUMENT_SECONDS:.0f} seconds: try again later") from None

    async def head(self, url: str, *, plain: bool = False) -> Head:
        """What is told of a file; raises NotFound for one that is not there.  A server need not answer this rightly."""
        async with self.answer("HEAD", url, plain=plain) as (response, _):
            if response.status in (404, 410):
                raise NotFound(f"{url} is not there (HTTP {response.status})")
            known = response.status == 200 and "Content-Encoding" not in response.headers
            return Head(size=(response.content_length or 0) if known else 0)

    @asynccontextmanager
    async def answer(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, *, plain: bool = False
    ) -> AsyncIterator[tuple[aiohttp.ClientResponse, bool]]:
        """The answer behind all redirects, and whether it came over HTTPS all the way.  Raises Unavailable or Invalid."""
        secure, place, begun = True, url, False
        try:
            for _ in range(MAX_REDIRECTS):
                scheme = urlsplit(place).scheme
                secure = secure and scheme == "https"
                request = self._session.request(
                    method, place, headers=headers, allow_redirects=False, ssl=self._tls if scheme == "https" else True
                )
                async with request as response:
                    if response.status not in _MOVED or "Location" not in response.headers:
                        begun = True
                        with _cut_off(response):
                            yield response, secure
                        return
                    place = _moved(place, response.headers["Location"], plain=plain)
        except TimeoutError:
            silence = f"{self._silence:g} seconds"
            raise Unavailable(f"{urlsplit(place).netloc} said nothing for {silence}{AGAIN}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if begun and isinstance(error, aiohttp.ClientError | ConnectionError):
                host = urlsplit(place).netloc
                raise Unavailable(f"{host} cut the connection off in the middle of {url}{AGAIN}") from None
            raise Unavailable(
                f"{url} cannot be reached: {_reason(error)}: check the network and the proxy. "
                "Without internet: fetch it on another host with `tinkbox image fetch ID --save FILE`, and `tinkbox image load FILE` here"
            ) from None
        raise Invalid(f"{url} redirects more than {MAX_REDIRECTS} times")


class _Connector(aiohttp.TCPConnector):
    """Knows its connections over TLS: one that is not kept is closed, and not gone before the other end says that it is."""

    def __init__(self) -> None:
        super().__init__()
        self._secured = WeakSet[asyncio.WriteTransport]()

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> connector.Connection:
        made = await super().connect(req, traces, timeout)
        if isinstance(made.transport, asyncio.WriteTransport) and made.transport.get_extra_info("ssl_object"):
            self._secured.add(made.transport)
        return made

    def abort(self) -> None:
        """Wait for no other end."""
        for each in list(self._secured):
            with suppress(AttributeError):  # Python 3.11 cannot abort what was closed twice
                each.abort()


@contextmanager
def _cut_off(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Do not wait until the other end closes a connection that still has something to say."""
    transport = response.connection.transport if response.connection is not None else None
    try:
        yield
    finally:
        if transport is not None and not response.content.at_eof() and not transport.is_closing():
            transport.abort()


def _moved(place: str, location: str, *, plain: bool) -> str:
    try:
        target = urljoin(place, location)
        parts = urlsplit(target)
        scheme, host = parts.scheme, parts.hostname
    except ValueError:
        scheme, host, target = "", "", ""
    if scheme not in ("http", "https") or not host:
        raise Invalid(f"{place} redirects to {location[:200]!r}, which is no URL of HTTP")
    if scheme == "http" and urlsplit(place).scheme == "https" and not plain:
        raise Invalid(
            f"{place} redirects from HTTPS to {target[:200]}, where anybody on the way can change it: "
            "give both the image's URL and its digest, with `image fetch --source URL --digest sha256:…`"
        )
    return target


def _refuse(response: aiohttp.ClientResponse, url: str) -> None:
    if response.status in (404, 410):
        raise NotFound(f"{url} is not there (HTTP {response.status})")
    if response.status != 200:
        raise Unavailable(f"{url} answers HTTP {response.status} {response.reason or ''}".rstrip())


def _plain(response: aiohttp.ClientResponse, content: bytes, limit: int, url: str) -> bytes:
    """A document as it was before its server compressed it: some keep them so, whatever a client takes."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        return content
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise Invalid(f"{url} is compressed in a way that was not asked for: {encoding[:40]}")
    try:
        unpacked = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(content, limit + 1)
    except zlib.error:
        raise Invalid(f"{url} is damaged: it cannot be decompressed") from None
    if len(unpacked) > limit:
        raise TooLarge(f"{url} has more than {show_size(limit)}: that is not what it should be")
    return unpacked


def _reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientResponseError):
        return "what comes from there is not HTTP"
    # What these say of themselves has a Python object in it.
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(told.split())[:200] or type(error).__name__
