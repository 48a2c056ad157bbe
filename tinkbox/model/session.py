"""Sessions of workers: what one boot of a machine works with, once it has exchanged its boot ticket."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

ENDED: Final = ""  # the secret of a session that nobody has any more
BOOTED: Final = "booted"  # the same, since its machine was seen booting again


class TicketRefusal(StrEnum):
    """Why a boot ticket, or the session that it was exchanged for, counts for nothing."""

    USED = "it was exchanged already"
    VOID = "it is void: its credentials were revoked since, the hardware was pushed, or a newer credential was used"
    ELSEWHERE = "it came from another machine"
    OTHER_BOOT = "it was exchanged in an earlier boot"
    BOOT_OVER = "its machine was seen booting again since"
    KNOWN_NOW = "the machine was unknown when it booted, and is known now"
    OLD_WORKER = "its worker is of an earlier release"
    NO_TPM = "it showed no TPM, and the machine has to show one"
    OTHER_TPM = "its TPM is not the one that was accepted"
    NEW_TPM = "its TPM was not accepted yet"
    UNREADABLE = "it is no boot ticket of this appliance"
    UNPROVEN_TPM = "it could not prove that it has the TPM that it showed"


class TpmRule(StrEnum):
    """What a machine's TPM counts for when its worker begins."""

    FIRST = "first"  # that of a machine's first boot is accepted, and from then on no other
    ACCEPTED = "accepted"  # none that a person, or a rule of discovery, did not accept
    OFF = "off"


def new_instance(boottime: int, chance: str) -> str:
    """The name of a worker's process that was started so many nanoseconds after its machine."""
    return f"{boottime}-{chance}"


def is_later(instance: str, other: str) -> bool:
    """Whether a process was started later in the same boot than another."""
    return _started(instance) > _started(other)


def _started(instance: str) -> int:
    number = instance.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session of `holder`: a machine, by its id, or one that nobody knows, by its MAC.

    `secret` is the SHA-256, in hex, of what the worker shows, or ENDED, or BOOTED.  `serial` is that of the boot ticket that was
    exchanged for it; tickets up to `voided` that were not exchanged are void.  It belongs to a boot and to an address,
    and to one process of the worker, its `instance`.  What a worker of before there were sessions works with has the
    serial 0, no instance, and the address from which it asks first.  `tpm` is the fingerprint of the TPM that was proven
    when it began, `tpm_accepted` that of the one that the machine has to show; empty: none.  `without_tpm`: a boot of the
    machine said that it has none.  `neighbour` is the MAC of the host that exchanged the ticket, as the kernel had it; empty:
    not known, as behind a router: then it is that of the host that is seen first at the address.
    """

    holder: str
    secret: str
    serial: int
    voided: int
    boot_id: str
    address: str
    instance: str
    begun_at: datetime
    tpm: str = ""
    tpm_accepted: str = ""
    without_tpm: bool = False
    neighbour: str = ""

    @property
    def over(self) -> bool:
        """Whether nobody works with it any more."""
        return self.secret in (ENDED, BOOTED)

    @property
    def was_voided(self) -> bool:
        """Whether a worker had it that is refused now.  A machine that never had one is stored as ENDED too, of no boot."""
        return self.secret == ENDED and bool(self.boot_id)
