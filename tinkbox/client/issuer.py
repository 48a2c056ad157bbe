"""An issuer of OpenID Connect, asked for its documents.  Needs an event loop.

Nothing that it sends is followed elsewhere, and whatever comes has a limit in bytes and time.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import aiohttp

from tinkbox import __version__
from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Invalid, TooLarge, Unavailable
from tinkbox.model.text import one_line, quoted
from tinkbox.wire.oidc import IssuerDocument, discovery_url, error_of, parse_discovery

SECONDS: Final = 10.0
MAX_DOCUMENT: Final = 256 * 1024
# X509_V_ERR_… of OpenSSL: no authority that is believed signed it.
_OTHER_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21})


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is a JSON object, whatever its status."""

    status: int
    document: Mapping[str, Any]


class IssuerClient:
    """An async context manager.  Whatever is asked raises Unavailable, Invalid or TooLarge, and names the issuer.

    `tls` says whose certificates are believed; without it they are OpenSSL's default ones.  `by` is who asks, for people: the box and
    the computer at which somebody logs in both do, over networks of their own.
    """

    def __init__(
        self, issuer: str, tls: ssl.SSLContext | None = None, seconds: float = SECONDS, by: str = "this computer"
    ) -> None:
        self.issuer = issuer
        self._by = by
        self._tls = tls
        self._seconds = seconds

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._seconds),
            trust_env=True,
            auto_decompress=False,
            headers={
                "User-Agent": f"tinkbox/{__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def discovery(self) -> IssuerDocument:
        """Its discovery document (OpenID Connect Discovery 1.0, section 4)."""
        return parse_discovery(await self.document(discovery_url(self.issuer)), self.issuer)

    async def document(self, url: str) -> Mapping[str, Any]:
        """One of its documents."""
        reply = await self._asked("GET", url)
        if reply.status != 200:
            raise Unavailable(f"{url} answers HTTP {reply.status}: is operator.oidc.issuer right?")
        return reply.document

    async def post(self, url: str, form: Mapping[str, str]) -> Reply:
        """What it answers to a form (RFC 6749, section 3.2); an error is an answer as well."""
        return await self._asked("POST", url, form)

    async def _asked(self, method: str, url: str, form: Mapping[str, str] | None = None) -> Reply:
        try:
            request = self._session.request(
                method,
                url,
                data=form,
                allow_redirects=False,
                ssl=self._tls if self._tls and url.startswith("https:") else True,
            )
            async with request as answer:
                if 300 <= answer.status < 400:
                    target = quoted(answer.headers.get("Location", ""), 200)
                    raise Invalid(f"{url} redirects to {target}, and is not followed: is operator.oidc.issuer right?")
                return Reply(answer.status, _object(await _read(answer, url), answer.status, url))
        except TimeoutError:
            raise Unavailable(
                f"{url} gave no answer within {self._seconds:g} seconds to {self._by}: is the issuer up, and is there a way to it from there?"
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unavailable(f"{self._by} cannot reach {urlsplit(url).netloc}: {_told(error, self._by)}") from None


async def _read(answer: aiohttp.ClientResponse, url: str) -> bytes:
    content = bytearray()
    async for chunk in answer.content.iter_any():
        content += chunk
        if len(content) > MAX_DOCUMENT:
            # What is still to come is not waited for.
            answer.close()
            raise TooLarge(f"{url} sends more than {MAX_DOCUMENT >> 10} KiB: that is not what it should be")
    return bytes(content)


def _object(content: bytes, status: int, url: str) -> Mapping[str, Any]:
    try:
        found = read_json(content)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    if status >= 400:
        return {}  # of an error its status is enough
    raise Invalid(f"{url} answers no JSON object: is operator.oidc.issuer right?")


def told(reply: Reply) -> str:
    """Why an issuer refused, for people."""
    return error_of(reply.document) or f"HTTP {reply.status}"


def trusting(ca_pem: str) -> ssl.SSLContext:
    """Who believes these authorities alone.  Raises Invalid."""
    try:
        context = ssl.create_default_context(cadata=ca_pem)
        # Of an empty text it would make the host's authorities.
        if ca_pem:
            return context
    except (ssl.SSLError, ValueError):
        pass
    raise Invalid("the issuer's authority is no certificate (PEM)")


def _told(error: Exception, by: str) -> str:
    """Why an issuer was not reached, with the way out."""
    # What these say of themselves has a Python object in it.
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
    elif isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, ssl.SSLCertVerificationError):
        why = one_line(error.verify_message, 200)
        if error.verify_code in _OTHER_AUTHORITY:
            return (
                f"its certificate is not trusted ({why}): set operator.oidc.ca in the box's tinkbox.yaml to the file (PEM) of the authority that "
                "signed it"
            )
        return f"its certificate is refused ({why}): check that certificate, and the clock of {by} (`date`)"
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    why = " ".join(said.split())[:200] or type(error).__name__
    return f"{why}: check the network and the proxy of {by}"
