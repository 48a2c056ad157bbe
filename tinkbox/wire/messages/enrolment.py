"""What a worker tells of its machine's firmware and the appliance's authority, as JSON.

    POST /worker/enrolment   Enrolled -> {}

Sent once by a worker whose credential asks for it (`enroll`).  An appliance that answers 404 knows of no enrolment.
"""

from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.text import one_line
from tinkbox.wire.authority import read_fingerprint
from tinkbox.wire.messages.json_fields import read_object, text, write

MAX_WHY: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    """The firmware trusts the authority with this fingerprint (`wire.efi_signature_lists.authority_fingerprint`).

    Empty: it trusts none of ours, and `why` says why, for people.
    """

    authority: str = ""
    why: str = ""


def encode(message: Enrolled) -> str:
    return write(message)


def decode_enrolled(content: str | bytes) -> Enrolled:
    """Raises Invalid when it says neither."""
    entry = read_object(content, "enrolment")
    authority, why = text(entry, "authority", ""), one_line(text(entry, "why", ""), MAX_WHY)
    if authority and read_fingerprint(authority) != authority:
        raise Invalid("enrolment: the fingerprint of an authority is SHA256: and 32 bytes in hex")
    if not authority and not why:
        raise Invalid("enrolment: without an authority it says why")
    return Enrolled(authority=authority, why="" if authority else why)
