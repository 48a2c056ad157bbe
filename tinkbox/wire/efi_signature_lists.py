"""The certificates that UEFI firmware keeps in a variable: EFI_SIGNATURE_LIST (UEFI 2.10, section 32.4.1).

The variable `TlsCaCertificate` has the authorities that the firmware's HTTPS trusts, and iPXE's with it.  Each list has
entries of one kind and one size, and an entry says who put it there.
"""

import base64
import binascii
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tinkbox.model.errors import Invalid
from tinkbox.wire.authority import fingerprint

# EFI_CERT_X509_GUID.
X509: Final = UUID("a5c059a1-94e4-4aa7-87b5-ab155c2bf072")
# Who put an entry there that is tinkbox's, of whichever appliance.
OWNER: Final = UUID("6f4f3e5c-0a0f-4a3b-9d0e-74696e6b626f")
# Firmware has 64 KiB for all variables, or little more.
MOST_BYTES: Final = 32 * 1024
_HEAD: Final = struct.Struct("<16sIII")
_OWNER_BYTES: Final = 16
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----\s*([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignatureList:
    """One list: what kind its entries are of, its own header, and each entry with its owner."""

    kind: UUID
    header: bytes
    entries: tuple[tuple[UUID, bytes], ...]


def read_lists(content: bytes) -> tuple[SignatureList, ...]:
    """The lists of a variable, without its attributes.  Raises Invalid for what is none."""
    return tuple(_lists(content))


def write_lists(lists: tuple[SignatureList, ...]) -> bytes:
    """The inverse of `read_lists`; the entries of one list are of one size."""
    written = b""
    for each in lists:
        entries = b"".join(owner.bytes_le + data for owner, data in each.entries)
        size = _OWNER_BYTES + len(each.entries[0][1]) if each.entries else _OWNER_BYTES
        whole = _HEAD.size + len(each.header) + len(entries)
        written += _HEAD.pack(each.kind.bytes_le, whole, len(each.header), size) + each.header + entries
    return written


def with_authorities(content: bytes, authorities: tuple[bytes, ...]) -> bytes:
    """A variable's lists, with these certificates (DER) as all that is tinkbox's; what others put there stays as it is.

    The content itself where that is so already.  Raises Invalid where it is no list, or would become too long.
    """
    lists = read_lists(content)
    ours = [data for each in lists for owner, data in each.entries if owner == OWNER]
    others = {data for each in lists for owner, data in each.entries if owner != OWNER and each.kind == X509}
    wanted = [each for each in authorities if each not in others]
    if sorted(ours) == sorted(wanted):
        return content
    kept = tuple(found for each in lists if (found := _without_ours(each)).entries or not each.entries)
    added = tuple(SignatureList(kind=X509, header=b"", entries=((OWNER, each),)) for each in wanted)
    made = write_lists(kept + added)
    if len(made) > MOST_BYTES:
        raise Invalid(f"the authorities that this firmware keeps would take {len(made)} bytes, more than {MOST_BYTES}")
    return made


def certificates(pem: str) -> tuple[bytes, ...]:
    """The certificates in a text of PEM (RFC 7468), as DER.  Raises Invalid where there are none."""
    try:
        found = tuple(base64.b64decode("".join(each.split()), validate=True) for each in _CERTIFICATE.findall(pem))
    except binascii.Error:
        raise Invalid("the authority is no certificate in PEM") from None
    if not found:
        raise Invalid("the authority is no certificate in PEM")
    return found


def authority_fingerprint(pem: str) -> str:
    """The fingerprint of the authority's certificate (`wire.authority`), of several together; empty: of none.

    Raises Invalid as `certificates`.
    """
    return fingerprint(b"".join(certificates(pem))) if pem.strip() else ""


def _without_ours(found: SignatureList) -> SignatureList:
    entries = tuple(each for each in found.entries if each[0] != OWNER)
    return SignatureList(kind=found.kind, header=found.header, entries=entries)


def _lists(content: bytes) -> Iterator[SignatureList]:
    at = 0
    while at < len(content):
        if len(content) - at < _HEAD.size:
            raise Invalid("this is no list of signatures: it ends in a header")
        kind, whole, header, size = _HEAD.unpack_from(content, at)
        begin, end = at + _HEAD.size + header, at + whole
        if whole < _HEAD.size or end > len(content) or begin > end or size < _OWNER_BYTES:
            raise Invalid("this is no list of signatures: its sizes contradict each other")
        if (end - begin) % size:
            raise Invalid("this is no list of signatures: its entries are of several sizes")
        entries = tuple(
            (UUID(bytes_le=content[each : each + _OWNER_BYTES]), content[each + _OWNER_BYTES : each + size])
            for each in range(begin, end, size)
        )
        yield SignatureList(kind=UUID(bytes_le=kind), header=content[begin - header : begin], entries=entries)
        at = end
