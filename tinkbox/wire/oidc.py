"""What an issuer of OpenID Connect says of itself, and its device flow (RFC 8628), as values.  Pure: time is told.

An issuer is believed within its own documents alone: what it names must be HTTPS.  Plain HTTP is for an issuer on this host.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from tinkbox.model.errors import Forbidden, Invalid, Unavailable
from tinkbox.model.text import can_be_shown, quoted

WELL_KNOWN: Final = "/.well-known/openid-configuration"  # OpenID Connect Discovery 1.0, section 4
DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"  # RFC 8628, section 3.4
INTERVAL: Final = 5.0  # seconds, where the issuer says nothing (section 3.2)
SLOW_DOWN: Final = 5.0  # seconds more (section 3.5)
MAX_INTERVAL: Final = 60.0
MAX_LIFETIME: Final = 3600.0
MAX_TEXT: Final = 2048
MAX_TOKEN: Final = 32 * 1024  # of somebody in two hundred groups it is a third
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
Document = Mapping[str, Any]


def check_url(url: str) -> None:
    """Raises Invalid for what is no URL over HTTPS, or over HTTP on this host."""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and (parts.port or 1) > 0 and parts.username is None and not parts.fragment
    except ValueError:
        whole = False
    if not whole or len(url) > MAX_TEXT or not url.isascii() or any(each <= " " or each == "\x7f" for each in url):
        raise Invalid(f"expected a URL such as https://login.example.com, not {quoted(url)}")
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise Invalid(f"expected a URL that begins with https://, not {quoted(url)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerDocument:
    """What its discovery document says; what it does not have is empty."""

    jwks_uri: str
    device_authorization_endpoint: str
    token_endpoint: str


def discovery_url(issuer: str) -> str:
    """Where an issuer's discovery document is (OpenID Connect Discovery 1.0, section 4.1)."""
    return issuer.rstrip("/") + WELL_KNOWN


def parse_discovery(document: Document, issuer: str) -> IssuerDocument:
    """Raises Invalid for a document of another issuer (section 4.3), and for URLs that are none."""
    said = document.get("issuer")
    if said != issuer:
        raise Invalid(
            f"{discovery_url(issuer)} calls the issuer {quoted(str(said))}: write operator.oidc.issuer exactly so, if that is the right one"
        )
    return IssuerDocument(
        jwks_uri=_url(document, "jwks_uri"),
        device_authorization_endpoint=_url(document, "device_authorization_endpoint"),
        token_endpoint=_url(document, "token_endpoint"),
    )


def _url(document: Document, name: str) -> str:
    found = document.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise Invalid(f"the issuer's {name} is no text")
    try:
        check_url(found)
    except Invalid as error:
        raise Invalid(f"the issuer's {name}: {error}") from None
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCode:
    """What a person types where, and how it goes on (RFC 8628, section 3.2).

    `complete_url` has the code in it, and may be empty.  `lifetime` and `interval` are seconds.
    """

    device_code: str
    user_code: str
    url: str
    complete_url: str
    lifetime: float
    interval: float


def parse_device_code(document: Document) -> DeviceCode:
    """Raises Invalid."""
    has_complete = bool(document.get("verification_uri_complete"))
    return DeviceCode(
        device_code=_text(document, "device_code", MAX_TOKEN),
        user_code=_shown(document, "user_code"),
        url=_place(document, "verification_uri"),
        complete_url=_place(document, "verification_uri_complete") if has_complete else "",
        lifetime=_seconds(document, "expires_in", MAX_LIFETIME, MAX_LIFETIME),
        interval=_seconds(document, "interval", INTERVAL, MAX_INTERVAL),
    )


class Polling:
    """When to ask next whether a person has let somebody in, and what an answer means (RFC 8628, section 3.5).

    `now` is a steady clock in seconds.
    """

    def __init__(self, code: DeviceCode, now: float) -> None:
        self._ends_at = now + code.lifetime
        self._interval = code.interval
        self.next_at = now + code.interval

    def answered(self, status: int, document: Document, now: float) -> str:
        """The id token; empty: ask again at `next_at`.

        Raises Forbidden when the person said no, Unavailable when the code is too old, Invalid for what goes against the protocol.
        """
        if status == 200:
            token = document.get("id_token")
            if not isinstance(token, str) or not 0 < len(token) <= MAX_TOKEN:
                raise Invalid("the issuer gave no id token: operator.oidc.scopes in tinkbox.yaml needs openid")
            return token
        error = document.get("error")
        if error == "slow_down":
            self._interval += SLOW_DOWN
        elif error == "access_denied":
            raise Forbidden("the log-in was refused at the issuer")
        elif error == "expired_token":
            raise self._expired()
        elif error != "authorization_pending":
            if status < 500 and status != 429:
                raise Invalid(f"the issuer refuses: {error_of(document) or f'HTTP {status}'}")
            self._slower()
        self._go_on(now)
        return ""

    def unanswered(self, now: float) -> None:
        """No answer came.  Raises Unavailable when the code is too old."""
        self._slower()
        self._go_on(now)

    def _slower(self) -> None:
        # "An exponential backoff … is RECOMMENDED" (section 3.5).
        self._interval = min(2 * self._interval, MAX_INTERVAL)

    def _go_on(self, now: float) -> None:
        self.next_at = now + self._interval
        if self.next_at > self._ends_at:
            raise self._expired()

    def _expired(self) -> Unavailable:
        return Unavailable("the code is not valid any more: nobody confirmed it in time. Run the command again")


def error_of(document: Document) -> str:
    """An error of OAuth, for people (RFC 6749, section 5.2); empty where it is none."""
    told = [document.get(name) for name in ("error", "error_description")]
    return ": ".join(quoted(each, 200) for each in told if isinstance(each, str) and each)


def _text(document: Document, name: str, limit: int = MAX_TEXT) -> str:
    found = document.get(name)
    if not isinstance(found, str) or not 0 < len(found) <= limit:
        raise Invalid(f"the issuer's answer has no {name}")
    return found


def _place(document: Document, name: str) -> str:
    """Where a person is sent to."""
    _shown(document, name)
    return _url(document, name)


def _shown(document: Document, name: str) -> str:
    found = _text(document, name)
    if not can_be_shown(found):
        raise Invalid(f"the issuer's {name} has letters that cannot be shown")
    return found


def _seconds(document: Document, name: str, default: float, most: float) -> float:
    found = document.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not found > 0:
        return default
    return float(min(found, most))
