"""Id tokens: whether an issuer signed one for us, just now (OpenID Connect Core 1.0, section 3.1.3.7).

Only this module knows PyJWT.  It is told which key and which one algorithm a signature must have; what is said in the
token's own head counts for nothing more than to find the key.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import jwt

from tinkbox.model.documents.json_text import read_json
from tinkbox.model.errors import Denied
from tinkbox.model.text import quoted
from tinkbox.wire.oidc import MAX_TOKEN

MAX_KEYS: Final = 100
MAX_SUBJECT: Final = 255
# By which a clock may be wrong.
LEEWAY: Final = timedelta(seconds=30)
# An id token is for logging in at once: who finds an old one gets nothing for it.
MAX_AGE: Final = timedelta(minutes=10)
# Which signatures a key may make, by its type and curve (RFC 7518 and RFC 8037).  None is symmetric, and none is no signature.
_ALGORITHMS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("RSA", ""): ("RS256", "PS256"),
    ("EC", "P-256"): ("ES256",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
ALLOWED: Final = tuple(each for algorithms in _ALGORITHMS.values() for each in algorithms)
_TYPES: Final = ("jwt", "application/jwt")
# Keycloak tells its kinds of tokens apart by a claim alone.
_KEYCLOAKS: Final = "ID"
_JWS: Final = jwt.PyJWS(algorithms=ALLOWED, options={"enforce_minimum_key_length": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A public key of an issuer; `id` may be empty."""

    id: str
    algorithms: tuple[str, ...]
    document: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a token says of its signature, before anything is proven."""

    key_id: str
    algorithm: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdToken:
    """What an issuer says of somebody.  `fingerprint` is the same for all spellings of one token."""

    subject: str
    claims: Mapping[str, Any]
    issued_at: datetime
    expires_at: datetime
    fingerprint: bytes


def parse_keys(document: Mapping[str, Any]) -> tuple[Key, ...]:
    """The keys of a JWK Set that can sign an id token (RFC 7517); others are left out.  Raises Denied for more than MAX_KEYS."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        return ()
    if len(listed) > MAX_KEYS:
        raise Denied(f"the issuer publishes {len(listed)} keys: more than {MAX_KEYS} are not looked at")
    return tuple(key for each in listed if (key := _key(each)) is not None)


def _key(document: object) -> Key | None:
    if not isinstance(document, dict):
        return None
    kind, curve, said = (document.get(name) for name in ("kty", "crv", "alg"))
    algorithms = _ALGORITHMS.get((str(kind), "" if kind == "RSA" else str(curve)), ())
    if said is not None:
        algorithms = tuple(each for each in algorithms if each == said)
    uses = document.get("key_ops")
    is_for_others = document.get("use", "sig") != "sig" or (isinstance(uses, list) and "verify" not in uses)
    key_id = document.get("kid", "")
    if not algorithms or is_for_others or not isinstance(key_id, str):
        return None
    # Of a private key that somebody published by mistake only the public part is looked at.
    public = {name: document[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in document}
    return Key(id=key_id, algorithms=algorithms, document=public)


def head_of(token: str) -> Head:
    """Raises Denied for what cannot be an id token."""
    if not token.isascii() or len(token) > MAX_TOKEN or token.count(".") != 2:
        raise Denied("this is no id token: log in again with `tinkbox login --oidc`")
    try:
        head = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise Denied("this is no id token: log in again with `tinkbox login --oidc`") from None
    algorithm, kind = head.get("alg"), head.get("typ", "JWT")
    if algorithm not in ALLOWED:
        raise Denied(
            f"the id token is signed by {quoted(str(algorithm), 20)}: an issuer has to use one of {', '.join(ALLOWED)}"
        )
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise Denied(f"this is a token of the type {quoted(str(kind), 40)}, and no id token")
    if "crit" in head:
        raise Denied("the id token needs what tinkbox does not know (RFC 7515, section 4.1.11)")
    return Head(key_id=str(head.get("kid", "")), algorithm=str(algorithm))


def fitting(head: Head, keys: Sequence[Key]) -> Sequence[Key]:
    """The keys that may have signed a token: of those without a name all (OpenID Connect Core 1.0, section 10.1)."""
    named = [each for each in keys if not head.key_id or each.id == head.key_id]
    return [each for each in named if head.algorithm in each.algorithms]


def verify(token: str, keys: Sequence[Key], *, issuer: str, client_id: str, now: datetime) -> IdToken:
    """What the token says, when one of these keys signed it; raises Denied."""
    head = head_of(token)
    return _checked(_payload(token, head, fitting(head, keys)), token, issuer, client_id, now)


def _payload(token: str, head: Head, keys: Sequence[Key]) -> Mapping[str, Any]:
    for each in keys:
        try:
            key = jwt.PyJWK(dict(each.document), algorithm=head.algorithm)
            payload = _JWS.decode(token, key, algorithms=[head.algorithm])
        except jwt.InvalidKeyError as error:
            # Beside it the key may have a good one of the same name.
            if each is keys[-1]:
                raise Denied(f"the issuer's key {quoted(each.id)} cannot be used: {error}") from None
            continue
        except (jwt.PyJWTError, ValueError, TypeError):
            continue
        try:
            claims = read_json(payload)
        except (ValueError, RecursionError):
            claims = None
        if isinstance(claims, dict):
            return claims
        raise Denied("the id token has no claims")
    raise Denied(
        f"no key of the issuer signed this id token{f', {quoted(head.key_id)} least of all' if head.key_id else ''}"
    )


def _checked(claims: Mapping[str, Any], token: str, issuer: str, client_id: str, now: datetime) -> IdToken:
    if claims.get("iss") != issuer:
        raise Denied(f"the id token is of the issuer {quoted(str(claims.get('iss')))}, not of {issuer}")
    if str(claims.get("typ", _KEYCLOAKS)).upper() != _KEYCLOAKS:
        raise Denied(f"this is a token of the type {quoted(str(claims.get('typ')), 40)}, and no id token")
    _check_audience(claims, client_id)
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
        raise Denied("the id token does not say who it is about (sub)")
    expires_at, issued_at = _time(claims, "exp"), _time(claims, "iat")
    if now >= expires_at + LEEWAY:
        raise Denied(f"the id token was good until {_shown(expires_at)}, and it is {_shown(now)}: log in again")
    if issued_at > now + LEEWAY:
        raise Denied(
            f"the id token was made at {_shown(issued_at)}, and here it is {_shown(now)}: compare the appliance's clock with the issuer's"
        )
    if now > issued_at + MAX_AGE + LEEWAY:
        raise Denied(f"the id token was made at {_shown(issued_at)}, and it is {_shown(now)}: log in again")
    if "nbf" in claims and _time(claims, "nbf") > now + LEEWAY:
        raise Denied(f"the id token is not good before {_shown(_time(claims, 'nbf'))}, and here it is {_shown(now)}")
    # Of one signature there are several spellings, of what is signed there is one.
    fingerprint = hashlib.sha256(token.rpartition(".")[0].encode()).digest()
    return IdToken(subject=subject, claims=claims, issued_at=issued_at, expires_at=expires_at, fingerprint=fingerprint)


def _check_audience(claims: Mapping[str, Any], client_id: str) -> None:
    said, party = claims.get("aud"), claims.get("azp")
    audience = [said] if isinstance(said, str) else said
    if not isinstance(audience, list) or client_id not in audience:
        raise Denied(f"the id token is for {quoted(str(said))}, not for the client {client_id}")
    if (len(audience) > 1 or party is not None) and party != client_id:
        raise Denied(f"the id token was given to {quoted(str(party))}, not to the client {client_id}")


def _time(claims: Mapping[str, Any], name: str) -> datetime:
    found = claims.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise Denied(f"the id token does not say its {name}, a number of seconds")
    try:
        return datetime.fromtimestamp(found, UTC)
    except (ValueError, OverflowError, OSError):
        raise Denied(f"the id token's {name} is no time") from None


def _shown(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
