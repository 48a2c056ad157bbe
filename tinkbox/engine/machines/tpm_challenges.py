"""Challenges that only one TPM can open: TPM2_MakeCredential (TCG TPM 2.0 Library, part 1, §24 and annexes B and C).

The secret of a challenge is made from the ticket and from what the worker showed, by the appliance's own key: nothing is
kept between a challenge and its proof, and a proof counts for one session of one ticket.
"""

import hashlib
import hmac
import secrets
import struct

from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tinkbox.engine.machines.boot_tickets import BootTicket, Seal
from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.session import Challenge, Opening, ShownTpm
from tinkbox.wire.tpm import EndorsementKey

_CURVE = ec.SECP256R1()
_EXPONENT = 65537
_COORDINATE = 32
_LABEL = b"IDENTITY\0"
_SEED, _SYMMETRIC, _BLOCK = 32, 16, 16


def fingerprint(key: EndorsementKey) -> str:
    """SHA-256, in hex, of the key's SubjectPublicKeyInfo in DER (RFC 5280 §4.1.2.7): `tpm2_createek -f der | sha256sum`.

    Raises Invalid for a point that is not on the curve.
    """
    encoded = _public_key(key).public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(encoded).hexdigest()


def challenge(seal: Seal, ticket: BootTicket, opening: Opening, tpm: ShownTpm) -> Challenge:
    """What the worker has to have opened by the TPM that it shows.  Raises Invalid where its key is none."""
    return sealed_for(tpm.endorsement_key, tpm.name, _secret(seal, ticket, opening, tpm))


def is_proof(seal: Seal, ticket: BootTicket, opening: Opening, tpm: ShownTpm) -> bool:
    """Whether what is shown was opened by the TPM that it was for."""
    return hmac.compare_digest(_secret(seal, ticket, opening, tpm), tpm.proof)


def sealed_for(key: EndorsementKey, name: bytes, secret: bytes) -> Challenge:
    """A secret that the TPM with this key opens, if it has a key of this name as well."""
    seed, wrapped = _shared(_public_key(key))
    encryptor = Cipher(AES(_kdfa(seed, b"STORAGE", name, _SYMMETRIC)), CFB(bytes(_BLOCK))).encryptor()
    identity = encryptor.update(_sized(secret)) + encryptor.finalize()
    integrity = hmac.digest(_kdfa(seed, b"INTEGRITY", b"", _SEED), identity + name, hashlib.sha256)
    return Challenge(credential=_sized(integrity) + identity, secret=wrapped)


def _secret(seal: Seal, ticket: BootTicket, opening: Opening, tpm: ShownTpm) -> bytes:
    serial = str(ticket.serial)
    return seal.derived("tpm", ticket.holder, serial, opening.secret, tpm.endorsement_key.public.hex(), tpm.name.hex())


def _public_key(key: EndorsementKey) -> rsa.RSAPublicKey | ec.EllipticCurvePublicKey:
    try:
        if key.modulus:
            return rsa.RSAPublicNumbers(_EXPONENT, key.modulus).public_key()
        return ec.EllipticCurvePublicNumbers(*key.point, _CURVE).public_key()
    except ValueError as error:
        raise Invalid(f"this is no endorsement key: {error}") from None


def _shared(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> tuple[bytes, bytes]:
    """A seed that nobody else knows, and how it is told to the TPM (TPM2B_ENCRYPTED_SECRET without its size)."""
    if isinstance(key, rsa.RSAPublicKey):
        seed = secrets.token_bytes(_SEED)
        try:
            return seed, key.encrypt(seed, padding.OAEP(padding.MGF1(SHA256()), SHA256(), _LABEL))
        except ValueError as error:  # a number that is no product of primes
            raise Invalid(f"this is no endorsement key: {error}") from None
    own = ec.generate_private_key(_CURVE)
    numbers, theirs = own.public_key().public_numbers(), key.public_numbers()
    x, y = (each.to_bytes(_COORDINATE) for each in (numbers.x, numbers.y))
    agreed = own.exchange(ec.ECDH(), key)
    # KDFe: one block is all of it.
    seed = hashlib.sha256(struct.pack(">I", 1) + agreed + _LABEL + x + theirs.x.to_bytes(_COORDINATE)).digest()
    return seed, _sized(x) + _sized(y)


def _kdfa(key: bytes, label: bytes, context: bytes, length: int) -> bytes:
    """So many octets, at most a block of SHA-256 (part 1, §11.4.10.2)."""
    counted = struct.pack(">I", 1) + label + b"\0" + context + struct.pack(">I", length * 8)
    return hmac.digest(key, counted, hashlib.sha256)[:length]


def _sized(content: bytes) -> bytes:
    return struct.pack(">H", len(content)) + content
