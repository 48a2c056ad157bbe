"""What `cryptography` does for the catalogue: signatures of a catalogue file, and of OpenPGP keys that are too old for pysequoia.

Only this file of the catalogue imports it.
"""

from collections.abc import Mapping
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_HASHES: Final[Mapping[str, hashes.HashAlgorithm]] = {
    "sha1": hashes.SHA1(),  # noqa: S303  how old keys certified themselves
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}


def ed25519_verifies(key: bytes, signature: bytes, content: bytes) -> bool:
    """Whether the holder of a key made a signature of some bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


def rsa_verifies(modulus: int, exponent: int, signature: bytes, algorithm: str, digest: bytes) -> bool:
    """The same for an RSA key (PKCS #1 v1.5) and the digest of what was signed."""
    try:
        key = rsa.RSAPublicNumbers(exponent, modulus).public_key()
        key.verify(signature, digest, padding.PKCS1v15(), utils.Prehashed(_HASHES[algorithm]))
    except (InvalidSignature, ValueError):
        return False
    return True
