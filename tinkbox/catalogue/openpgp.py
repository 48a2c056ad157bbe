"""OpenPGP signatures by pinned keys; only this file knows pysequoia."""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from pysequoia import Cert, Sig, verify
from pysequoia.packet import Packet, PacketPile, SignatureType, Tag

from tinkbox.catalogue.openpgp_packets import (
    PUBLIC_KEY,
    RsaSignature,
    packets,
    rsa_signature,
    signatures,
    weakly_certified,
)
from tinkbox.model.errors import Invalid, Unavailable

FOLDER: Final = resources.files("tinkbox.catalogue") / "keys"
MAX_SIGNATURE: Final = 64 << 10
MAX_KEY: Final = 256 << 10
CLOCK_SKEW: Final = timedelta(minutes=30)
_CLEAR: Final = b"-----BEGIN PGP SIGNED MESSAGE-----"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A public key; `expires` is None for never, `modern` whether pysequoia takes signatures by it."""

    fingerprint: str
    user: str
    expires: datetime | None
    revoked: bool
    modern: bool
    certificate: Cert = field(compare=False)

    def __str__(self) -> str:
        return f"{self.fingerprint} ({self.user})" if self.user else self.fingerprint


def load_keys(fingerprints: Iterable[str], folders: Sequence[Traversable | Path] = ()) -> tuple[Key, ...]:
    """The keys of these fingerprints, from the program or one of the folders (as FINGERPRINT.asc); raises Unavailable."""
    found = []
    for fingerprint in fingerprints:
        for folder in (*folders, FOLDER):
            with suppress(FileNotFoundError, NotADirectoryError):
                found.append(read_key((folder / f"{fingerprint}.asc").read_bytes(), fingerprint))
                break
        else:
            raise Unavailable(
                f"there is no key {fingerprint}: put it as {fingerprint}.asc beside the entries in "
                "/etc/tinkbox/catalogue.d; in a checkout `make keys` gathers those of the built-in catalogue"
            )
    return tuple(found)


def read_key(content: bytes, fingerprint: str) -> Key:
    """Raises Invalid for what is not the public key of this fingerprint."""
    try:
        if len(content) > MAX_KEY:
            raise ValueError
        certificate = Cert.from_bytes(content)
    except (RuntimeError, ValueError):
        raise Invalid(f"the file of key {fingerprint} holds no OpenPGP key") from None
    if certificate.fingerprint.upper() != fingerprint:
        raise Invalid(f"the file of key {fingerprint} holds another key: {certificate.fingerprint.upper()}")
    try:
        expires, modern = certificate.expiration, True
        user = str(certificate.user_ids[0]) if certificate.user_ids else ""
    except RuntimeError:
        expires, user, modern = *_weakly_certified(certificate, fingerprint), False
    revoked = certificate.is_revoked
    return Key(
        fingerprint=fingerprint, user=user, expires=expires, revoked=revoked, modern=modern, certificate=certificate
    )


def signed_document(content: bytes, keys: Sequence[Key], now: datetime) -> tuple[bytes, Key]:
    """What a clear-signed document says, and who signed it; raises Invalid with the reason when nobody of `keys` did."""
    if not content.lstrip().startswith(_CLEAR):
        raise Invalid("it is not signed")
    usable = [key for key in _usable(keys, now) if key.modern]
    try:
        told = verify(bytes=content, store=lambda _: [key.certificate for key in usable])
        signer = _signer(told, usable, now)
    except RuntimeError:
        raise Invalid("no trusted key signed it, or it was changed since") from None
    if told.bytes is None or signer is None:
        raise Invalid("no trusted key signed it")
    return told.bytes, signer


def signer_of(content: bytes | Path, signature: bytes, keys: Sequence[Key], now: datetime) -> Key:
    """Who of `keys` made a detached signature of some bytes or a file; raises Invalid with the reason when nobody did."""
    if len(signature) > MAX_SIGNATURE:
        raise Invalid("its signature is too large for one")
    usable = _usable(keys, now)
    claimed = _made_by(signature)
    why = f"no trusted key signed it, but {claimed or 'an unknown one'}"
    if any(key.fingerprint.endswith(claimed) for key in usable if claimed):
        why = f"it is not what {claimed} signed"
    for packet in signatures(signature):
        for key in usable:
            check = _modern if key.modern else _old
            try:
                if check(content, packet.whole, packet.body, key, now):
                    return key
            except Invalid as refusal:
                why = str(refusal)
    raise Invalid(why)


def _usable(keys: Sequence[Key], now: datetime) -> Sequence[Key]:
    """Those that are neither revoked nor expired; raises Invalid when there is none."""
    usable = [key for key in keys if not key.revoked and (key.expires is None or key.expires > now)]
    if usable:
        return usable
    states = (f"{key} was revoked" if key.revoked else f"{key} expired on {key.expires:%Y-%m-%d}" for key in keys)
    raise Invalid(f"the key that signs it is not valid any more: {'; '.join(states)}")


def _modern(content: bytes | Path, whole: bytes, _: bytes, key: Key, now: datetime) -> bool:
    try:
        signature = Sig.from_bytes(whole)
        if signature.expiration is not None and signature.expiration <= now:
            raise Invalid(f"its signature expired on {signature.expiration:%Y-%m-%d}")
        known: dict[str, Any] = {"bytes": content} if isinstance(content, bytes) else {"file": str(content)}
        told = verify(**known, store=lambda _: [key.certificate], signature=signature)
        return _signer(told, [key], now) is not None
    except RuntimeError:
        return False


def _old(content: bytes | Path, _: bytes, body: bytes, key: Key, now: datetime) -> bool:
    """The same for a key that pysequoia does not take."""
    signature = rsa_signature(body)
    if signature is None:
        return False
    made = datetime.fromtimestamp(signature.created, UTC)
    ends = made + timedelta(seconds=signature.expires)
    if signature.expires and ends <= now:
        raise Invalid(f"its signature expired on {ends:%Y-%m-%d}")
    if made > now + CLOCK_SKEW:
        raise Invalid(f"its signature was made on {made:%Y-%m-%d}, which is still to come: check this host's clock")
    public = next(each.body for each in packets(bytes(key.certificate)) if each.tag == PUBLIC_KEY)
    return signature.made_by(public, _hashed(content, signature))


def _hashed(content: bytes | Path, signature: RsaSignature) -> "hashlib._Hash":
    if isinstance(content, bytes):
        return hashlib.new(signature.algorithm, content)
    with content.open("rb") as file:
        return hashlib.file_digest(file, signature.algorithm)


def _signer(told: Any, keys: Sequence[Key], now: datetime) -> Key | None:
    """Who of `keys` made a signature that pysequoia found valid; raises Invalid when that was a subkey that ended since."""
    for signature in told.valid_sigs:
        for key in keys:
            if key.fingerprint == signature.certificate.upper():
                _refuse_ended(key, signature.signing_key.upper(), now)
                return key
    return None


def _refuse_ended(key: Key, signing_key: str, now: datetime) -> None:
    """Raise Invalid for a subkey that ended: pysequoia asks only whether it was valid when it signed.

    It believes the key's file, of which pysequoia has verified what made the subkey valid then.
    """
    subkey: Packet | None = None
    ends: datetime | None = None
    bound = False
    for packet in PacketPile.from_bytes(bytes(key.certificate)):
        if packet.tag == Tag.PublicSubkey:
            subkey = packet if str(packet.fingerprint).upper() == signing_key else None
        elif subkey is None or packet.tag != Tag.Signature:
            continue
        elif packet.signature_type == SignatureType.SubkeyRevocation:
            raise Invalid(f"the subkey {signing_key} of {key}, which signed it, was revoked")
        elif not bound and packet.signature_type == SignatureType.SubkeyBinding:  # the newest comes first
            bound, lasts = True, packet.key_validity_period
            ends = subkey.key_created + lasts if subkey.key_created and lasts else None
    if ends is not None and ends <= now:
        raise Invalid(f"the subkey {signing_key} of {key}, which signed it, expired on {ends:%Y-%m-%d}")


def _made_by(signature: bytes) -> str:
    """The key of which the signature says itself that it is."""
    with suppress(RuntimeError):
        found = Sig.from_bytes(signatures(signature)[0].whole)
        if claimed := (found.issuer_fingerprint or found.issuer_key_id or "").upper():
            return claimed
    return ""


def _weakly_certified(certificate: Cert, fingerprint: str) -> tuple[datetime | None, str]:
    """When a key that pysequoia does not take expires, and whose it is; raises Invalid."""
    try:
        user, ends = weakly_certified(bytes(certificate))
    except (Invalid, RuntimeError) as refusal:  # pysequoia writes no packet of a key that it does not know
        raise Invalid(
            f"the file of key {fingerprint} holds no key to believe: {str(refusal).splitlines()[0]}"
        ) from None
    return (datetime.fromtimestamp(ends, UTC) if ends else None), user
