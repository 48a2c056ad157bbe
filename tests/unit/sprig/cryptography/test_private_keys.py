"""Private keys have the formats of Sprig's, and can be read by others."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tests.unit.sprig.around import around
from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.cryptography import private_keys
from tinkbox.sprig.cryptography.private_keys import MAX_PEM, functions
from tinkbox.sprig.surroundings import MAX_SLOW

EC = ec.derive_private_key(7, ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@pytest.mark.parametrize(
    ("kind", "block", "made"),
    [
        ("", "RSA PRIVATE KEY", rsa.RSAPrivateKey),
        ("dsa", "DSA PRIVATE KEY", dsa.DSAPrivateKey),
        ("ecdsa", "EC PRIVATE KEY", ec.EllipticCurvePrivateKey),
        ("ed25519", "PRIVATE KEY", ed25519.Ed25519PrivateKey),
    ],
)
def test_a_key_has_the_format_of_its_kind(kind: str, block: str, made: type[object]) -> None:
    text = str(functions(around())["genPrivateKey"](kind))
    assert text.startswith(f"-----BEGIN {block}-----\n")
    assert text.endswith(f"-----END {block}-----\n")
    key = load_pem_private_key(text.encode(), None)
    assert isinstance(key, made)
    if isinstance(key, rsa.RSAPrivateKey):
        assert (key.key_size, key.private_numbers().public_numbers.e) == (4096, 65_537)
    if isinstance(key, dsa.DSAPrivateKey):
        assert (key.key_size, key.private_numbers().public_numbers.parameter_numbers.q.bit_length()) == (2048, 256)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        assert key.curve.name == "secp256r1"


def test_an_unknown_kind_is_told_as_in_sprig() -> None:
    assert functions(around())["genPrivateKey"]("rot13") == "Unknown type rot13"


def test_large_keys_are_paid_for_and_those_of_curves_are_not() -> None:
    given = around()
    make = functions(given)["genPrivateKey"]
    given.pay(MAX_SLOW - 1)
    assert len({make("ed25519") for _ in range(50)}) == 50
    with pytest.raises(GoError, match="too many keys"):
        make("rsa")


def test_a_key_in_pkcs_8_is_written_in_its_own_format() -> None:
    key = private_keys.read(f"text before\n{EC}", around())
    assert private_keys.pem(key).startswith("-----BEGIN EC PRIVATE KEY-----\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no key", "no PEM data in input"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "no private key data in PEM block of type"),
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", "RSA PRIVATE KEY cannot be read"),
        ("-----BEGIN PRIVATE KEY-----", "PRIVATE KEY cannot be read"),
        (EC + " " * MAX_PEM, f"may have {MAX_PEM} characters"),
        (
            x25519.X25519PrivateKey.generate()
            .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            .decode(),
            "signs nothing",
        ),
    ],
    ids=["none", "certificate", "damaged", "cut off", "too long", "x25519"],
)
def test_what_is_no_key_is_refused(text: str, problem: str) -> None:
    with pytest.raises(GoError, match=problem):
        private_keys.read(text, around())


def of_numbers(p: int, q: int, **other: int) -> str:
    """An RSA key in PEM (RFC 8017 appendix A.1.2), with other numbers than belong to its factors."""
    exponent = pow(65_537, -1, (p - 1) * (q - 1))
    told = {"n": p * q, "e": 65_537, "d": exponent, "p": p, "q": q, "dp": 1, "dq": 1, "inverse": 1} | other
    body = b"".join(map(_integer, (0, *told.values())))
    lines = base64.encodebytes(_measured(b"\x30", body)).decode()
    return f"-----BEGIN RSA PRIVATE KEY-----\n{lines}-----END RSA PRIVATE KEY-----\n"


def _integer(number: int) -> bytes:
    return _measured(b"\x02", number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _measured(tag: bytes, body: bytes) -> bytes:
    length = len(body)
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return tag + (bytes([length]) if length < 128 else bytes([0x80 | len(octets)]) + octets) + body


P, Q = 2**521 - 1, 2**607 - 1
PRODUCT = 3 * (2**600 - 95)  # of two odd numbers


def test_whether_the_factors_of_a_key_are_primes_is_not_looked_at_which_would_hold_everything_up() -> None:
    for text in (of_numbers(P, Q), of_numbers(PRODUCT, Q)):
        assert isinstance(private_keys.read(text, around()), rsa.RSAPrivateKey)


@pytest.mark.parametrize(
    "text", [of_numbers(P, Q, n=P * Q + 2), of_numbers(P, Q, d=3), of_numbers(P, Q, e=1, d=1), of_numbers(P, 2, d=1)]
)
def test_a_key_of_numbers_that_do_not_belong_together_is_refused(text: str) -> None:
    with pytest.raises(GoError, match="do not belong together"):
        private_keys.read(text, around())
