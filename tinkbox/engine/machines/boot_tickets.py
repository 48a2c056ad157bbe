"""Boot tickets: what a boot hands to a machine, so that its worker can prove once which machine it is on.

A ticket is made without a word to the store: the appliance knows its own by their seal (HMAC-SHA-256, RFC 2104), and by
their serials which of them are older than what was exchanged.  So no boot waits for a disk, and a restart between a
ticket and its exchange breaks none.
"""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_MARK: Final = "boot-ticket"


class Kind(StrEnum):
    """How a ticket came to whoever has it."""

    BOOT = "boot"  # a boot of the machine fetched it
    DISCOVERY = "discovery"  # the same of a machine that nobody knows
    BY_HAND = "by hand"  # a person asked for it, for a worker that is started by hand


@dataclass(frozen=True, slots=True, kw_only=True)
class BootTicket:
    """One ticket: `holder` is the machine's id, or the MAC of one that nobody knows, `address` the one it was given to.

    `serial` is greater than that of every earlier ticket of the holder.
    """

    kind: Kind
    holder: str
    address: str
    serial: int


def is_ticket(text: str) -> bool:
    """Whether a text means to be a boot ticket, genuine or not."""
    return text.startswith(f"{_MARK}.")


class Seal:
    """Makes tickets that nobody else can make, by a `key` that nobody else has."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sealed(self, ticket: BootTicket) -> str:
        """The ticket as text, of letters that a bearer token may have (RFC 6750 §2.1)."""
        content = _text(json.dumps([ticket.kind, ticket.holder, ticket.address, ticket.serial]).encode())
        return f"{_MARK}.{content}.{self._mac(content)}"

    def opened(self, text: str) -> BootTicket | None:
        """The ticket that was sealed so; None: it is none of ours."""
        mark, _, rest = text.partition(".")
        content, _, mac = rest.partition(".")
        if mark != _MARK or not hmac.compare_digest(self._mac(content).encode(), mac.encode(errors="replace")):
            return None
        try:
            kind, holder, address, serial = json.loads(base64.urlsafe_b64decode(content + "=="))
            return BootTicket(kind=Kind(kind), holder=holder, address=address, serial=serial)
        except (binascii.Error, ValueError):
            return None

    def derived(self, purpose: str, *of: str) -> bytes:
        """A secret of 32 octets for a purpose, the same for the same texts, that nobody else can make."""
        return hmac.digest(self._key, json.dumps([purpose, *of]).encode(), hashlib.sha256)

    def _mac(self, content: str) -> str:
        return _text(hmac.digest(self._key, content.encode(errors="replace"), hashlib.sha256))


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
