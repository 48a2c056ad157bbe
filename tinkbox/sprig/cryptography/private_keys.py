"""Private keys: made, read, and written as Sprig writes them."""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from tinkbox.gotemplate.values import GoError, to_bytes
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.surroundings import Surroundings

PrivateKey: TypeAlias = rsa.RSAPrivateKey | dsa.DSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
KINDS: Final = (rsa.RSAPrivateKey, dsa.DSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey)
EXPONENT: Final = 65_537
MAX_PEM: Final = 4096  # characters: RSA keys of 4096 bits have 3300
RSA_2048_TAKES: Final = 150  # milliseconds, of which chance makes more or less
_RSA_4096_TAKES: Final = 600
_DSA_TAKES: Final = 600
_READING_TAKES: Final = 10  # with what is signed by it
_BLOCK: Final = re.compile(r"-----BEGIN ([^\n-]*)-----")


def functions(around: Surroundings) -> Mapping[str, Function]:
    """The functions by name, with what a rendering may still take."""

    def gen_private_key(kind: str) -> str:
        """Make a key of `rsa` (also of ``), `dsa`, `ecdsa` or `ed25519`; of another kind give a text that says so."""
        if kind not in _MADE:
            return f"Unknown type {kind}"
        milliseconds, make = _MADE[kind]
        around.pay(milliseconds)
        return pem(make())

    return {"genPrivateKey": typed(gen_private_key, "string")}


def make_rsa(around: Surroundings) -> rsa.RSAPrivateKey:
    """A key of 2048 bits, as those of Sprig's certificates.  Raises GoError when the rendering made too many."""
    around.pay(RSA_2048_TAKES)
    return rsa.generate_private_key(EXPONENT, 2048)


_RSA: Final[tuple[int, Callable[[], PrivateKey]]] = (_RSA_4096_TAKES, lambda: rsa.generate_private_key(EXPONENT, 4096))
_MADE: Final[Mapping[str, tuple[int, Callable[[], PrivateKey]]]] = {
    "": _RSA,
    "rsa": _RSA,
    "dsa": (_DSA_TAKES, lambda: dsa.generate_private_key(2048)),
    "ecdsa": (0, lambda: ec.generate_private_key(ec.SECP256R1())),
    "ed25519": (0, ed25519.Ed25519PrivateKey.generate),
}


def pem(key: PrivateKey) -> str:
    """Write a key: each kind in its own format, Ed25519 in PKCS #8."""
    own = PrivateFormat.PKCS8 if isinstance(key, ed25519.Ed25519PrivateKey) else PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(Encoding.PEM, own, NoEncryption()).decode("ascii")


def read(text: str, around: Surroundings) -> PrivateKey:
    """Read a key in PEM.  Raises GoError for what is none, and for one that is longer than MAX_PEM."""
    if len(text) > MAX_PEM:
        raise GoError(f"a private key may have {MAX_PEM} characters, and this one has {len(text)}")
    block = _BLOCK.search(text)
    if block is None:
        raise GoError("no PEM data in input")
    if not block[1].endswith("PRIVATE KEY"):
        raise GoError(f"no private key data in PEM block of type {block[1]}")
    around.pay(_READING_TAKES)
    try:
        # Whether its factors are primes Go does not look either: that takes 0.2 s, in which all of Python stands still.
        key = load_pem_private_key(to_bytes(text[block.start() :]), None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise GoError(f"{block[1]} cannot be read: {str(error)[:200]}") from None
    if isinstance(key, rsa.RSAPrivateKey) and not _belong_together(key.private_numbers()):
        raise GoError(f"{block[1]} cannot be read: its numbers do not belong together")
    if not isinstance(key, KINDS):
        raise GoError(f"a key of {type(key).__name__} signs nothing")
    return key


def _belong_together(told: rsa.RSAPrivateNumbers) -> bool:
    """Whether two odd factors make the modulus, and the exponents undo each other (Go, rsa.PrivateKey.Validate)."""
    factors, public = (told.p, told.q), told.public_numbers
    if any(each < 3 or not each & 1 for each in factors) or told.p * told.q != public.n or public.e < 2:
        return False
    return all(told.d * public.e % (each - 1) == 1 for each in factors)
