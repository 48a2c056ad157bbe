"""The little of OpenPGP (RFC 4880) that has to be read here: where signatures are in a file, and old keys with their signatures.

Some publishers sign with RSA keys that they certified themselves with SHA-1, long ago; pysequoia takes no such key.  Ours are
pinned by their fingerprint, so a key's word about itself is needed for one thing only: when it ends.  What counts is that this key
signed, with a hash that is sound today.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.catalogue.public_keys import rsa_verifies
from tinkbox.model.errors import Invalid

SIGNATURE: Final = 2
PUBLIC_KEY: Final = 6
USER_ID: Final = 13
# Each costs reading the whole image once.
MAX_SIGNATURES: Final = 16
LEAST_BITS: Final = 2048
_ARMOUR: Final = re.compile(rb"-----BEGIN PGP SIGNATURE-----\r?\n(.*?)-----END PGP SIGNATURE-----", re.DOTALL)
_RSA: Final = (1, 3)  # the second is for signatures only
_SOUND: Final[Mapping[int, str]] = {8: "sha256", 9: "sha384", 10: "sha512"}
_WEAK: Final[Mapping[int, str]] = {2: "sha1"}
_BINARY_DOCUMENT: Final = 0
_CERTIFICATIONS: Final = range(0x10, 0x14)
_CRITICAL: Final = 0x80
_CREATED, _EXPIRES, _KEY_EXPIRES, _ISSUER, _KEY_FLAGS, _SIGNER, _ISSUER_FINGERPRINT = 2, 3, 9, 16, 27, 28, 33
# Of others that are marked as critical, a reader has to know what they mean for the signature.
_KNOWN: Final = (_CREATED, _EXPIRES, _KEY_EXPIRES, _KEY_FLAGS, _ISSUER, _SIGNER, _ISSUER_FINGERPRINT)


@dataclass(frozen=True, slots=True)
class Packet:
    tag: int
    whole: bytes
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RsaSignature:
    """A signature of version 4.

    `expires` counts seconds after `created`, and `key_expires` after the creation of the key that it certifies, 0 for never.
    """

    algorithm: str
    hashed: bytes
    number: bytes
    created: int
    expires: int
    key_expires: int

    def made_by(self, key: bytes, document: "hashlib._Hash") -> bool:
        """Whether the key with this packet's body signed what `document`, of our algorithm, took in so far.

        Raises Invalid for what is no key for that.
        """
        modulus, exponent = rsa_key(key)
        digest = document.copy()
        digest.update(self.hashed + b"\x04\xff" + len(self.hashed).to_bytes(4, "big"))
        size = (modulus.bit_length() + 7) // 8
        return rsa_verifies(modulus, exponent, self.number.rjust(size, b"\0"), self.algorithm, digest.digest())


def signatures(content: bytes) -> tuple[Packet, ...]:
    """The signatures of a detached signature's file, armoured or not; raises Invalid when there is something else in it."""
    armoured = _ARMOUR.search(content)
    if armoured:
        lines = armoured[1].replace(b"\r", b"").partition(b"\n\n")[2] or armoured[1]
        try:
            content = base64.b64decode(b"".join(each for each in lines.split() if not each.startswith(b"=")))
        except binascii.Error:
            raise Invalid("this is no signature: its armour is damaged") from None
    found = tuple(packets(content))
    if not found or any(each.tag != SIGNATURE for each in found):
        raise Invalid("this is no file of OpenPGP signatures")
    if len(found) > MAX_SIGNATURES:
        raise Invalid(f"there are {len(found)} signatures, and {MAX_SIGNATURES} are the most")
    return found


def packets(content: bytes) -> Iterator[Packet]:
    """Packets of definite length, one after the other; raises Invalid."""
    place = 0
    while place < len(content):
        start, first = place, content[place]
        try:
            if not first & 0x80:
                raise ValueError
            if first & 0x40:
                tag, (length, place) = first & 0x3F, _new_length(content, place + 1)
            else:
                octets = (1, 2, 4, 0)[first & 3]
                if not octets:
                    raise ValueError
                tag, length = first >> 2 & 0x0F, int.from_bytes(content[place + 1 : place + 1 + octets], "big")
                place += 1 + octets
            if place + length > len(content):
                raise ValueError
        except (ValueError, IndexError):
            raise Invalid("this is no OpenPGP data") from None
        yield Packet(tag, content[start : place + length], content[place : place + length])
        place += length


def rsa_key(body: bytes) -> tuple[int, int]:
    """Modulus and exponent of a public key's body; raises Invalid for another kind of key, or a short one."""
    if len(body) < 6 or body[0] != 4 or body[5] not in _RSA:
        raise Invalid("the key is no RSA key of version 4")
    digits, rest = _number(body[6:])
    modulus, exponent = int.from_bytes(digits, "big"), int.from_bytes(_number(rest)[0], "big")
    if modulus.bit_length() < LEAST_BITS:
        raise Invalid(f"the key has less than {LEAST_BITS} bits")
    return modulus, exponent


def weakly_certified(certificate: bytes) -> tuple[str, int]:
    """Whose an RSA key is, and when it ends (seconds since 1970, 0 for never), by the newest certification of itself.

    Raises Invalid unless that is really its own, and with SHA-1: any other key is for pysequoia to judge.
    """
    key, user = b"", b""
    newest: tuple[RsaSignature, bytes] | None = None
    for packet in packets(certificate):
        if packet.tag == PUBLIC_KEY:
            key = packet.body
        elif packet.tag != SIGNATURE:
            user = packet.body if packet.tag == USER_ID else b""
        elif user and (signature := rsa_signature(packet.body, _CERTIFICATIONS, {**_SOUND, **_WEAK})) is not None:
            told = b"\x99" + len(key).to_bytes(2, "big") + key + b"\xb4" + len(user).to_bytes(4, "big") + user
            later = newest is None or signature.created >= newest[0].created
            if later and signature.made_by(key, hashlib.new(signature.algorithm, told)):
                newest = signature, user
    if newest is None or newest[0].algorithm not in _WEAK.values() or newest[0].expires:
        raise Invalid("the key does not certify itself")
    lasts = newest[0].key_expires
    return newest[1].decode("utf-8", "replace"), int.from_bytes(key[1:5], "big") + lasts if lasts else 0


def rsa_signature(
    body: bytes, kinds: Collection[int] = (_BINARY_DOCUMENT,), hashes: Mapping[int, str] = _SOUND
) -> RsaSignature | None:
    """None for a signature of any other kind; raises Invalid for a damaged one."""
    if len(body) < 6 or body[0] != 4 or body[1] not in kinds or body[2] not in _RSA or body[3] not in hashes:
        return None
    end = 6 + int.from_bytes(body[4:6], "big")
    unhashed = int.from_bytes(body[end : end + 2], "big")
    number, _ = _number(body[end + 2 + unhashed + 2 :])
    subpackets = tuple(_subpackets(body[6:end]))
    told = {kind & ~_CRITICAL: value for kind, value in subpackets}
    if _CREATED not in told:
        raise Invalid("the signature does not say when it was made")
    if any(len(told.get(kind, bytes(4))) != 4 for kind in (_CREATED, _EXPIRES, _KEY_EXPIRES)):
        raise Invalid("the signature is damaged")
    if any(kind & _CRITICAL and kind & ~_CRITICAL not in _KNOWN for kind, _ in subpackets):
        raise Invalid("the signature has a condition that is not known here")
    return RsaSignature(
        algorithm=hashes[body[3]],
        hashed=body[:end],
        number=number,
        created=int.from_bytes(told[_CREATED], "big"),
        expires=int.from_bytes(told.get(_EXPIRES, b""), "big"),
        key_expires=int.from_bytes(told.get(_KEY_EXPIRES, b""), "big"),
    )


def _subpackets(content: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(content):
        try:
            length, place = _new_length(content, place)
        except (ValueError, IndexError):
            length = 0
        if not length or place + length > len(content):
            raise Invalid("the signature is damaged")
        yield content[place], content[place + 1 : place + length]
        place += length


def _new_length(content: bytes, place: int) -> tuple[int, int]:
    first = content[place]
    if first < 192:
        return first, place + 1
    if first < 224:
        return ((first - 192) << 8) + content[place + 1] + 192, place + 2
    if first < 255:
        raise ValueError  # a length in parts
    return int.from_bytes(content[place + 1 : place + 5], "big"), place + 5


def _number(content: bytes) -> tuple[bytes, bytes]:
    """A number in front, and what is behind it."""
    size = (int.from_bytes(content[:2], "big") + 7) // 8
    if not size or len(content) < 2 + size:
        raise Invalid("the signature or key is damaged")
    return content[2 : 2 + size], content[2 + size :]
