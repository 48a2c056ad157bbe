"""Another registry, asked for what it has by the OCI distribution protocol: manifests, blobs, and the tokens for both.

A redirect is followed without a credential, and never from HTTPS to HTTP; what its target asks for is not given.  Whatever comes
has a limit in bytes and time.
"""

import asyncio
import base64
import errno
import json
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode, urljoin, urlsplit

import aiohttp
from yarl import URL

from tinkbox import __version__
from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.model.images.mirrors import Mirror, MirrorFault
from tinkbox.model.reasons import NOT_ASKED
from tinkbox.model.text import one_line
from tinkbox.registry.manifests.manifests import INDEXES, MANIFESTS, MAX_MANIFEST, parse_object
from tinkbox.registry.mirrors.via import Via, via_header
from tinkbox.trusted_authorities import trusted_authorities

MAX_REDIRECTS: Final = 5
MAX_TOLD: Final = 64 << 10  # of an error or a token
MAX_TOKENS: Final = 256
CONNECT_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 30.0
DOCUMENT_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 60.0
BLOB_SECONDS: Final = 4 * 3600.0
TOKEN_SECONDS: Final = 60  # that a token is good for when nothing says so (the distribution project's token protocol)
_MANIFEST_HEADERS: Final = {"Accept": ", ".join((*MANIFESTS, *INDEXES))}
_MOVED: Final = (301, 302, 303, 307, 308)
_SPEAKS_NO_TLS: Final = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")  # as OpenSSL has it
# An image that no registry has; a server that gives one for it gives the same for everything.
_NOWHERE: Final = "tinkbox/looks-whether-this-is-a-registry"
_PARAMETER: Final = re.compile(r'([a-zA-Z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


class UpstreamFailed(Unavailable):
    """Another registry, which the appliance asked, does not answer, or not as it should.

    Its status is one of those whose error document Docker shows to people; of a 502 it tells the number alone.  `fault` is what keeps
    everything of that registry away, None where the failure may be that of the one thing that was asked for.
    """

    def __init__(self, message: str, fault: MirrorFault | None = None) -> None:
        super().__init__(message)
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstreamed:
    """A manifest as another registry sent it; `digest` is what that says of it, empty where it says nothing."""

    content: bytes
    media_type: str
    digest: str


@dataclass(frozen=True, slots=True)
class _Token:
    value: str
    ends_at: float


class UpstreamClient:
    """The registry of one mirror, an async context manager.  All but NotFound is raised as UpstreamFailed.

    `monotonic` is a steady clock in seconds.
    """

    def __init__(
        self,
        mirror: Mirror,
        monotonic: Callable[[], float],
        tls: ssl.SSLContext | None = None,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self._mirror = mirror
        self._monotonic = monotonic
        self._tls = tls
        self._silence = silence
        parts = urlsplit(mirror.url)
        self._root = f"{parts.scheme}://{parts.netloc}"
        self._prefix = f"{parts.path.removeprefix('/')}/".removeprefix("/")
        self.host = parts.netloc
        self._tokens: dict[str, _Token] = {}  # by scope
        self._basic = False  # whether it wants the password itself
        self._turn = asyncio.Lock()  # one token for many who ask at once

    async def __aenter__(self) -> Self:
        if self._root.startswith("https:") and self._tls is None:
            self._tls = await asyncio.to_thread(trusted_authorities)
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._silence),
            trust_env=True,
            auto_decompress=False,
            headers={"User-Agent": f"tinkbox/{__version__}", "Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def manifest(self, repository: str, selector: str, via: Via = ()) -> Upstreamed:
        """The manifest that a tag or digest picks in a repository; `via` are the appliances that ask for it."""
        name = f"{self._prefix}{repository}"
        headers = {**_MANIFEST_HEADERS, **via_header(via)}
        async with (
            self._within(DOCUMENT_SECONDS, f"manifest {name}, {selector}"),
            self._answer(name, f"manifests/{selector}", headers) as answer,
        ):
            content = await _read(answer, MAX_MANIFEST, self.host)
            media_type = answer.headers.get("Content-Type", "")
            self._refuse_no_manifest(content, media_type, f"{name}, {selector}")
            return Upstreamed(
                content=content,
                media_type=media_type,
                digest=answer.headers.get("Docker-Content-Digest", ""),
            )
        raise AssertionError  # mypy: no context manager here suppresses

    @asynccontextmanager
    async def blob(self, repository: str, digest: str, via: Via = ()) -> AsyncIterator[AsyncIterator[bytes]]:
        """A blob's bytes, which nobody has checked; `via` is as in `manifest`."""
        name = f"{self._prefix}{repository}"
        async with (
            self._within(BLOB_SECONDS, f"blob {digest}"),
            self._answer(name, f"blobs/{digest}", via_header(via)) as answer,
        ):
            yield answer.content.iter_any()

    async def look(self) -> None:
        """Ask whether it answers, and takes our login if we have one (distribution-spec, "Determining Support"); raises UpstreamFailed."""
        async with self._within(LOOK_SECONDS, f"{self._root}/v2/"):
            for attempt in range(2):
                credential = await self._credential("")
                async with self._sent(f"{self._root}/v2/", credential) as answer:
                    if answer.status >= 500:
                        raise UpstreamFailed(f"{self.host} answers HTTP {answer.status}", MirrorFault.ANSWER)
                    if answer.status == 200 and "Docker-Distribution-API-Version" not in answer.headers:
                        break
                    # What it gives to those without a login it says for each image.
                    if answer.status != 401 or not self._mirror.username or not self._is_own(answer.url):
                        return
                    challenge = _challenge(answer)
                if attempt == 0:
                    await self._take(challenge, "", credential)
            else:
                raise UpstreamFailed(f"{self.host} does not take the login of registry.mirrors", MirrorFault.LOGIN)
            await self._look_closer(credential)

    async def _look_closer(self, credential: Mapping[str, str]) -> None:
        """Raise UpstreamFailed for a web server that answers everything.

        Folders of files are registries too, and some leave out the header, so that a 200 for `/v2/` proves nothing.
        """
        what = f"{self._prefix}{_NOWHERE}/manifests/latest"
        async with self._sent(f"{self._root}/v2/{what}", {**_MANIFEST_HEADERS, **credential}) as answer:
            if answer.status == 200:
                content = await _read(answer, MAX_MANIFEST, self.host, cut=True)
                self._refuse_no_manifest(content, answer.headers.get("Content-Type", ""), what)

    def _refuse_no_manifest(self, content: bytes, media_type: str, what: str) -> None:
        """Raise UpstreamFailed for what no registry gives as a manifest, whatever the image; `media_type` is what it is said to be."""
        try:
            document = parse_object(content, "manifest")
        except Invalid:
            document = {}
        if "schemaVersion" not in document:
            told = one_line(media_type.partition(";")[0], 80) or "of no type"
            raise UpstreamFailed(
                f"{self.host} answers, but not as a registry ({told}): it sent no manifest for {what}",
                MirrorFault.NO_REGISTRY,
            )

    @asynccontextmanager
    async def _within(self, seconds: float, what: str) -> AsyncIterator[None]:
        """Turn what goes wrong on the way into UpstreamFailed."""
        try:
            async with asyncio.timeout(seconds) as limit:
                yield
        except TimeoutError:
            waited = f"took more than {seconds:g}" if limit.expired() else f"said nothing for {self._silence:g}"
            raise UpstreamFailed(f"{self.host} {waited} seconds: {what}", MirrorFault.SILENT) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            told = f"{self.host} {NOT_ASKED} {what}: {_reason(error)}"
            raise UpstreamFailed(told, _fault(error)) from None

    @asynccontextmanager
    async def _answer(self, name: str, path: str, headers: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer with 200 to a question about a repository, behind challenge and redirects."""
        scope = f"repository:{name}:pull"
        url = f"{self._root}/v2/{name}/{path}"
        for attempt in range(2):
            credential = await self._credential(scope)
            async with self._sent(url, {**headers, **credential}) as answer:
                if answer.status == 401 and not self._is_own(answer.url):
                    # It could name any place as the one that takes the login (CVE-2020-15157).
                    raise UpstreamFailed(
                        f"{self.host} redirects to {answer.url.authority}, which wants a login; that of registry.mirrors is "
                        f"for {self.host} alone: {name}, {path}"
                    )
                if answer.status == 401 and attempt == 0:
                    challenge = _challenge(answer)
                else:
                    await self._refuse(answer, f"{name}, {path}")
                    yield answer
                    return
            await self._take(challenge, scope, credential)

    @asynccontextmanager
    async def _sent(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer behind all redirects, on which no credential is sent."""
        for _ in range(MAX_REDIRECTS + 1):
            request = self._session.get(url, headers=headers, allow_redirects=False, ssl=self._tls or True)
            async with request as answer:
                if answer.status not in _MOVED or "Location" not in answer.headers:
                    yield answer
                    return
                url = self._moved(url, answer.headers["Location"])
                headers = {name: value for name, value in headers.items() if name != "Authorization"}
        raise UpstreamFailed(f"{self.host} redirects more than {MAX_REDIRECTS} times")

    def _is_own(self, url: URL) -> bool:
        """Whether this is the registry itself, if only by HTTPS where it was asked without."""
        own = URL(self._root)
        return url.origin() == own.origin() or (url.host == own.host and (own.scheme, url.scheme) == ("http", "https"))

    def _moved(self, url: str, location: str) -> str:
        target = urljoin(url, location)
        parts = urlsplit(target)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise UpstreamFailed(f"{self.host} redirects to {location[:200]!r}, which is no URL of HTTP")
        if parts.scheme == "http" and url.startswith("https:"):
            raise UpstreamFailed(f"{self.host} redirects from HTTPS to {parts.scheme}://{parts.netloc}")
        return target

    async def _refuse(self, answer: aiohttp.ClientResponse, what: str) -> None:
        if answer.status == 200:
            return
        told = _told(await _read(answer, MAX_TOLD, self.host, cut=True))
        if answer.status == 404:
            raise NotFound(f"{self.host} has not got {what}: {told or 'HTTP 404'}")
        if answer.status in (401, 403):
            way = "" if self._mirror.username else ", and registry.mirrors has no user for it"
            raise UpstreamFailed(f"{self.host} does not give {what}{way}: {told or f'HTTP {answer.status}'}")
        fault = MirrorFault.LIMIT if answer.status == 429 else MirrorFault.ANSWER if answer.status >= 500 else None
        raise UpstreamFailed(
            f"{self.host} answers HTTP {answer.status} for {what}: {told or answer.reason or ''}", fault
        )

    async def _credential(self, scope: str) -> Mapping[str, str]:
        if self._basic:
            return await self._password()
        token = self._tokens.get(scope)
        if token is None or token.ends_at <= self._monotonic():
            return {}
        return {"Authorization": f"Bearer {token.value}"}

    async def _take(self, challenge: "_Challenge", scope: str, refused: Mapping[str, str]) -> None:
        """Get what a challenge asks for (RFC 7617, and the distribution project's token protocol)."""
        if challenge.scheme == "basic" and self._mirror.username and not self._basic:
            self._basic = True
            return
        if challenge.scheme != "bearer":
            raise UpstreamFailed(
                f"{self.host} wants a login: {'it does not take that of registry.mirrors' if self._mirror.username else 'give registry.mirrors a username and a password_file for it'}",
                MirrorFault.LOGIN,
            )
        async with self._turn:
            if await self._credential(scope) == refused:  # nobody got one meanwhile
                self._tokens[scope] = await self._token(challenge, scope)
                while len(self._tokens) > MAX_TOKENS:
                    del self._tokens[next(iter(self._tokens))]

    async def _token(self, challenge: "_Challenge", scope: str) -> _Token:
        realm = challenge.parameters.get("realm", "")
        parts = urlsplit(realm)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            told = f"{self.host} names no place to fetch a token from: {realm[:200]!r}"
            raise UpstreamFailed(told, MirrorFault.ANSWER)
        if parts.scheme == "http" and self._root.startswith("https:"):
            told = f"{self.host} has its tokens fetched without HTTPS, from {parts.netloc}"
            raise UpstreamFailed(told, MirrorFault.ANSWER)
        query = {"service": challenge.parameters["service"]} if "service" in challenge.parameters else {}
        query |= {"scope": scope} if scope else {}
        separator = "&" if parts.query else "?"
        url = f"{realm}{separator}{urlencode(query)}"
        password = await self._password() if self._mirror.username else {}
        async with self._sent(url, password) as answer:
            content = await _read(answer, MAX_TOLD, parts.netloc, cut=answer.status != 200)
            if answer.status != 200:
                told = _told(content) or f"HTTP {answer.status}"
                fault = MirrorFault.LOGIN if password and answer.status in (401, 403) else None
                raise UpstreamFailed(f"{parts.netloc} gives no token for {self.host}: {told}", fault)
        try:
            document = read_json(content)
            value = document.get("token") or document.get("access_token")
            seconds = document.get("expires_in", TOKEN_SECONDS)
            lasts = float(seconds) if isinstance(seconds, int | float) and seconds > 0 else TOKEN_SECONDS
        except (ValueError, AttributeError, RecursionError):
            value, lasts = None, 0.0
        if not isinstance(value, str) or not value.isascii() or not value.isprintable():
            raise UpstreamFailed(f"{parts.netloc} gives no token for {self.host}", MirrorFault.ANSWER)
        # The last tenth is for the way.
        return _Token(value, self._monotonic() + lasts * 0.9)

    async def _password(self) -> Mapping[str, str]:
        """The mirror's login; the file is read anew each time, for it may change."""
        file = Path(self._mirror.password_file)
        try:
            lines = (await asyncio.to_thread(file.read_text)).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            told = f"the password for {self.host} cannot be read, {file}: {error}"
            raise UpstreamFailed(told, MirrorFault.LOGIN) from None
        pair = f"{self._mirror.username}:{lines[0] if lines else ''}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


@dataclass(frozen=True, slots=True)
class _Challenge:
    """`scheme` is in small letters."""

    scheme: str
    parameters: Mapping[str, str]


def _challenge(answer: aiohttp.ClientResponse) -> _Challenge:
    """What to do to be let in: Bearer before Basic; an empty scheme for none of both (RFC 9110, section 11.6.1)."""
    found = {}
    for header in answer.headers.getall("WWW-Authenticate", []):
        scheme, _, rest = header.strip().partition(" ")
        matched = _PARAMETER.findall(rest[:4096])
        found[scheme.lower()] = {name.lower(): quoted or plain for name, quoted, plain in matched}
    for scheme in ("bearer", "basic"):
        if scheme in found:
            return _Challenge(scheme, found[scheme])
    return _Challenge("", {})


async def _read(answer: aiohttp.ClientResponse, limit: int, host: str, *, cut: bool = False) -> bytes:
    """A body; of one beyond the limit the beginning where it may be `cut`."""
    content = bytearray()
    async for chunk in answer.content.iter_any():
        content += chunk
        if len(content) > limit:
            if cut:
                return bytes(content[:limit])
            raise UpstreamFailed(f"{host} sends more than the {limit} bytes that this may have")
    return bytes(content)


def _told(content: bytes) -> str:
    """What an error says (distribution-spec, "Error Codes"), for people; empty where it says nothing."""
    try:
        document = json.loads(content)
        first = document["errors"][0] if "errors" in document else document
        told = first.get("message") or first.get("details") or first.get("code") or ""
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""
    text = " ".join(str(told).split())[:200]
    return "".join(each for each in text if each.isprintable())


def _reason(error: Exception) -> str:
    # What these say of themselves has a Python object in it.
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    elif isinstance(error, aiohttp.ClientPayloadError):
        return "it broke off in the middle"
    told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(told.split())[:200] or type(error).__name__


def _fault(error: Exception) -> MirrorFault | None:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return MirrorFault.CERTIFICATE
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, ssl.SSLError):
        return _tls_fault(cause)
    if isinstance(cause, socket.gaierror):
        return MirrorFault.NAME
    number = cause.errno if isinstance(cause, OSError) else None
    if number == errno.ECONNREFUSED:
        return MirrorFault.REFUSED
    if number in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN):
        return MirrorFault.UNREACHABLE
    if isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError | ConnectionError):
        return MirrorFault.SILENT
    # What the disk refuses while a blob comes is none of the mirror's.
    return None if isinstance(error, OSError) else MirrorFault.ANSWER


def _tls_fault(error: ssl.SSLError) -> MirrorFault:
    if isinstance(error, ssl.SSLCertVerificationError):
        return MirrorFault.CERTIFICATE
    # A proxy in front of a registry that is down breaks off so.
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return MirrorFault.SILENT
    return MirrorFault.NO_TLS if error.reason in _SPEAKS_NO_TLS else MirrorFault.OTHER_TLS
