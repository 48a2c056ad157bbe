"""Which id tokens are believed: those of the issuer, for us, from just now, and none of many others."""

import contextlib
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.issuer import CLIENT, EC, KEYS, OTHER_RSA, RSA, ec_jwk, ed25519_jwk, encoded, rsa_jwk, token
from tinkbox.model.errors import Denied
from tinkbox.oidc.id_tokens import ALLOWED, LEEWAY, MAX_AGE, IdToken, parse_keys, verify

ISSUER = "https://login.example.com"
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256 (FIPS 186-4, D.1.2.3)


def claims(**more: Any) -> dict[str, Any]:
    at = NOW.timestamp()
    usual = {"iss": ISSUER, "aud": CLIENT, "sub": "4711", "iat": at, "exp": at + 300}
    return {name: value for name, value in {**usual, **more}.items() if value is not None}


def checked(text: str, keys: Mapping[str, Any] = KEYS, now: datetime = NOW) -> IdToken:
    return verify(text, parse_keys(keys), issuer=ISSUER, client_id=CLIENT, now=now)


@pytest.mark.parametrize("algorithm", ALLOWED)
def test_a_token_of_the_issuer_is_believed(algorithm: str) -> None:
    found = checked(token(claims(groups=["lab"]), algorithm))
    assert (found.subject, found.claims["groups"]) == ("4711", ["lab"])
    assert (found.issued_at, found.expires_at) == (NOW, NOW + timedelta(minutes=5))


def test_a_token_without_a_key_id_is_believed_by_whichever_key_fits() -> None:
    keys = {"keys": [rsa_jwk(OTHER_RSA, "a"), rsa_jwk(RSA, "b"), ec_jwk()]}
    assert checked(token(claims(), head={"kid": None}), keys).subject == "4711"


def test_of_two_keys_with_one_id_either_may_have_signed() -> None:
    keys = {"keys": [rsa_jwk(OTHER_RSA), rsa_jwk(RSA)]}
    assert checked(token(claims()), keys).subject == "4711"


@pytest.mark.parametrize("azp", [None, CLIENT])
def test_the_audience_may_be_a_list(azp: str | None) -> None:
    assert checked(token(claims(aud=[CLIENT], azp=azp))).subject == "4711"
    assert checked(token(claims(aud=["other", CLIENT], azp=CLIENT))).subject == "4711"


def pem() -> bytes:
    return RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def by_public_key(text: bytes) -> bytes:
    """What takes an RSA key for a secret of HMAC: the public one, which everybody has."""
    return hmac.digest(pem(), text, hashlib.sha256)


def by_other_key(text: bytes) -> bytes:
    return OTHER_RSA.sign(text, padding.PKCS1v15(), hashes.SHA256())


HEADS: Mapping[str, str] = {
    "no signature": token(claims(), "none"),
    "no signature, in other letters": token(claims(), "nOnE"),
    "an empty signature": token(claims(), sign=lambda _: b""),
    "the public key as a secret": token(claims(), "HS256", sign=by_public_key),
    "HS256 under the name of a good algorithm": token(claims(), "RS256", sign=by_public_key),
    "an algorithm that the key is not for": token(claims(), "ES256", head={"kid": "rsa"}),
    "another algorithm than that of the signature": token(claims(), "RS256", head={"alg": "PS256"}),
    "RS1": token(claims(), "RS1", sign=lambda text: RSA.sign(text, padding.PKCS1v15(), hashes.SHA1())),
    "no algorithm": token(claims(), head={"alg": None}),
    "an algorithm that is no text": token(claims(), head={"alg": ["RS256"]}),
    "an unknown key": token(claims(), head={"kid": "other"}),
    "a key id that is no text": token(claims(), head={"kid": 7}),
    "a path as a key id": token(claims(), head={"kid": "../../dev/null"}),
    "another key under its name": token(claims(), sign=by_other_key),
    "a key of its own": token(claims(), head={"jwk": rsa_jwk(OTHER_RSA), "kid": "own"}, sign=by_other_key),
    "a key of its own under a good name": token(claims(), head={"jwk": rsa_jwk(OTHER_RSA)}, sign=by_other_key),
    "keys from elsewhere": token(claims(), head={"jku": "https://evil.example/keys"}, sign=by_other_key),
    "an access token": token(claims(), head={"typ": "at+jwt"}),
    "a log-out token": token(claims(), head={"typ": "logout+jwt"}),
    "a type that is no text": token(claims(), head={"typ": 7}),
    "something critical": token(claims(), head={"crit": ["exp"], "exp": 1}),
    "a detached payload": token(claims(), head={"crit": ["b64"], "b64": False}),
    "no claims": token(b"[]"),
    "claims that are no JSON": token(b"{"),
    "claims that are no text": token(b"\xff"),
    "numbers that are none": token(json.dumps(claims()).replace(str(NOW.timestamp() + 300), "Infinity").encode()),
}


@pytest.mark.parametrize("text", HEADS.values(), ids=HEADS)
def test_a_token_that_is_not_signed_by_the_issuer_is_refused(text: str) -> None:
    with pytest.raises(Denied):
        checked(text)


AT = NOW.timestamp()
CLAIMS: Mapping[str, tuple[dict[str, Any], str]] = {
    "another issuer": ({"iss": "https://evil.example"}, "is of the issuer 'https://evil.example'"),
    "nearly the issuer": ({"iss": f"{ISSUER}/"}, "is of the issuer"),
    "no issuer": ({"iss": None}, "is of the issuer"),
    "another client": ({"aud": "wiki"}, "is for 'wiki', not for the client tinkbox"),
    "no client": ({"aud": None}, "is for"),
    "a part of the client": ({"aud": "tink"}, "is for 'tink'"),
    "a map of clients": ({"aud": {CLIENT: 1}}, "is for"),
    "several clients": ({"aud": ["wiki", CLIENT]}, "was given to 'None'"),
    "several clients, given to another": ({"aud": ["wiki", CLIENT], "azp": "wiki"}, "was given to 'wiki'"),
    "given to another": ({"azp": "wiki"}, "was given to 'wiki'"),
    "nobody": ({"sub": None}, "who it is about"),
    "an empty somebody": ({"sub": ""}, "who it is about"),
    "a number": ({"sub": 7}, "who it is about"),
    "a long somebody": ({"sub": "x" * 256}, "who it is about"),
    "expired": ({"exp": AT - LEEWAY.total_seconds()}, "was good until 2026-11-30 11:59:30 UTC"),
    "never expiring": ({"exp": None}, "its exp"),
    "expiring at no time": ({"exp": "tomorrow"}, "its exp"),
    "expiring at true": ({"exp": True}, "its exp"),
    "expiring when the sun is gone": ({"exp": 1e300}, "exp is no time"),
    "of no time": ({"iat": None}, "its iat"),
    "of tomorrow": ({"iat": AT + 86400, "exp": AT + 90000}, "compare the appliance's clock"),
    "of long ago": ({"iat": AT - MAX_AGE.total_seconds() - 31}, "log in again"),
    "not good yet": ({"nbf": AT + 60}, "is not good before"),
    "good from no time on": ({"nbf": "x"}, "its nbf"),
    "an access token of Keycloak": ({"typ": "Bearer"}, "of the type 'Bearer', and no id token"),
    "of no kind": ({"typ": 7}, "of the type '7'"),
}


@pytest.mark.parametrize(("more", "why"), CLAIMS.values(), ids=CLAIMS)
def test_a_token_that_is_not_for_us_and_now_is_refused_with_the_reason(more: dict[str, Any], why: str) -> None:
    with pytest.raises(Denied, match=why):
        checked(token(claims(**more)))


def test_an_id_token_of_keycloak_says_that_it_is_one() -> None:
    assert checked(token(claims(typ="ID", azp=CLIENT))).subject == "4711"


def test_clocks_may_differ_a_little() -> None:
    early, late = NOW - timedelta(seconds=29), NOW + timedelta(minutes=5, seconds=29)
    for at in (early, late):
        assert checked(token(claims(nbf=AT)), now=at).subject == "4711"


@pytest.mark.parametrize("text", ["", ".", "..", "...", "a.b", "a.b.c", "a.b.c.d.e", "täglich", "\n" * 3, "x" * 70_000])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(Denied, match="no id token"):
        checked(text)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_each_changed_letter_breaks_the_signature(part: int) -> None:
    text = token(claims())
    parts = text.split(".")
    for at in range(0, len(parts[part]) - 2, 7):  # in the last letter there are bits that mean nothing
        other = "A" if parts[part][at] != "A" else "B"
        changed = [each if number != part else each[:at] + other + each[at + 1 :] for number, each in enumerate(parts)]
        with pytest.raises(Denied):
            checked(".".join(changed))


def test_other_spellings_of_one_signature_are_the_same_token() -> None:
    """Whoever saw one could make another one of it, that was never used."""
    text = token(claims(), "ES256")
    signed, _, signature = text.rpartition(".")
    raw = EC.sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
    r, s = decode_dss_signature(raw)
    other = f"{signed}.{encoded(r.to_bytes(32) + (ORDER - s).to_bytes(32))}"
    assert encode_dss_signature(r, s) != signature
    assert checked(text).fingerprint == checked(other).fingerprint


NO_KEYS: Mapping[str, dict[str, Any]] = {
    "for encryption": rsa_jwk(use="enc"),
    "for signing by others": rsa_jwk(key_ops=["sign"]),
    "for another algorithm": rsa_jwk(alg="RS512"),
    "a secret": {"kty": "oct", "kid": "rsa", "k": encoded(b"x" * 32)},
    "another curve": {**ec_jwk(), "kid": "rsa", "crv": "P-384"},
    "X25519": {**ed25519_jwk(), "kid": "rsa", "crv": "X25519"},
    "a small one": rsa_jwk(rsa.generate_private_key(65537, 1024)),
    "without its number": {"kty": "RSA", "kid": "rsa", "e": "AQAB"},
    "a number that is none": rsa_jwk(n="%%%"),
    "an exponent of one": rsa_jwk(e="AQ"),
    "an id that is no text": rsa_jwk(kid=7),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("key", NO_KEYS.values(), ids=NO_KEYS)
def test_a_key_that_cannot_have_signed_proves_nothing(key: dict[str, Any]) -> None:
    with pytest.raises(Denied):
        checked(token(claims()), {"keys": [key]})
    assert checked(token(claims()), {"keys": [key, rsa_jwk()]}).subject == "4711"


def test_a_small_key_is_refused_though_it_signed() -> None:
    small = rsa.generate_private_key(65537, 1024)
    sign: Callable[[bytes], bytes] = lambda text: small.sign(text, padding.PKCS1v15(), hashes.SHA256())  # noqa: E731
    with pytest.raises(Denied, match="'rsa' cannot be used"):
        checked(token(claims(), sign=sign), {"keys": [rsa_jwk(small)]})


@pytest.mark.parametrize("document", [{}, {"keys": None}, {"keys": {}}, {"keys": [None, 1, "x", [], {}]}])
def test_a_set_without_keys_has_none(document: dict[str, Any]) -> None:
    assert parse_keys(document) == ()


def test_a_set_of_very_many_keys_is_refused() -> None:
    with pytest.raises(Denied, match="101 keys"):
        parse_keys({"keys": [rsa_jwk()] * 101})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["iss", "aud", "azp", "sub", "exp", "iat", "nbf", "typ"])


@given(more=st.dictionaries(NAMES, JSON, max_size=3))
def test_whatever_an_issuer_signs_is_taken_or_refused(more: dict[str, Any]) -> None:
    with contextlib.suppress(Denied):
        checked(token({**claims(), **more}))


@given(
    head=st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk"]), JSON),
    text=st.binary(max_size=60),
)
def test_whatever_a_stranger_sends_is_refused(head: dict[str, Any], text: bytes) -> None:
    for given_ in (
        token(text, head=head, sign=lambda _: b"x"),
        text.decode("latin-1"),
        f"{encoded(text)}.{encoded(text)}.AA",
    ):
        with pytest.raises(Denied):
            checked(given_)


@given(
    keys=st.lists(
        st.dictionaries(
            st.sampled_from(["kty", "crv", "n", "e", "x", "y", "kid", "alg", "use", "key_ops"]),
            JSON | st.sampled_from(["RSA", "EC", "OKP", "P-256", "Ed25519", "AQAB", "rsa"]),
        ),
        max_size=3,
    )
)
def test_whatever_an_issuer_publishes_lets_nobody_in_but_whom_it_signed_for(keys: list[dict[str, Any]]) -> None:
    with pytest.raises(Denied):
        checked(token(claims()), {"keys": keys})
