"""The words of a machine's first minutes: who asks, how far it got, what we decided to tell it."""

from dataclasses import dataclass
from enum import StrEnum

from tinkbox.model.hardware import Interface, MacAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A machine as its DHCP packet shows it.

    `architecture` is option 93's first value (RFC 4578 §2.1) or None.  `netboots` is true for
    PXE and HTTP boot clients and for iPXE; an installed system asking for its address is not one.
    """

    mac: MacAddress
    architecture: int | None = None
    netboots: bool = False
    ipxe: bool = False
    http: bool = False


class Boot(StrEnum):
    """What a booting machine is told."""

    NOTHING = "nothing"  # addresses only: an installed system, not a boot
    OSIE = "osie"  # it holds a ticket
    LOCAL_DISK = "local disk"  # no ticket, and a workflow once succeeded on it
    PARKED = "parked"  # three boots without progress
    WORKFLOW = "workflow"  # it holds a ticket, and its workflow supplies the boot script
    WAITING = "waiting"  # the same, but the service that supplies it is not ready yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """The boot script that a service of its workflow supplies to a machine (proposal 0013).

    `url` is where it is; before the service is `ready` nobody answers there, and `standing` says for people why.
    """

    workflow_id: str
    service: str
    url: str
    ready: bool
    standing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What we decided to tell one machine.  No plan at all means silence.

    `workflow` and `reason` are shown on the machine's console: on whose behalf, and why it is parked or waits.
    `script` is the URL of what the workflow supplies.
    """

    boot: Boot
    hardware_id: str
    interface: Interface
    workflow: str = ""
    reason: str = ""
    script: str = ""


class Stage(StrEnum):
    """How far a machine's boot has come, in the order in which it happens."""

    DISCOVER = "asked for an address"
    LEASED = "has its address"
    LOADER = "fetched its boot loader"
    SCRIPT = "fetched its boot script"
    KERNEL = "fetched the kernel"
    RAMDISK = "fetched the OSIE"
    WORKER = "the worker is in touch"
    LOCAL_DISK = "told to boot its disk"
    PARKED = "parked"
    SERVICES = "waits for its workflow's services"
    SUPPLIED = "boots what its workflow supplies"
