"""The words of a machine's first minutes: who asks, how far it got, what we decided to tell it."""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Final

from tinkbox.model.card_firmware import Need
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.leases import Lease

_NOWHERE = IPv4Address(0)


class Asker(StrEnum):
    """What on a machine speaks DHCP."""

    SYSTEM = "an installed system"
    PXE = "PXE"
    HTTP = "HTTP boot"
    IPXE = "iPXE"
    U_BOOT = "U-Boot"
    RASPBERRY_PI = "Raspberry Pi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A machine as its DHCP packet shows it.

    `https` tells that it is an iPXE that has HTTPS.  `architecture` is option 93's first value that we know (RFC 4578 §2.1) or None.  `relay` is where the machine's
    network begins when a relay passed the packet on: giaddr, or the link that its option 82 selects (RFC 3527), else
    0.0.0.0.  `circuit` is what option 82 says of the port, for people, and `port` the relay and its port, to be compared; both are
    empty when it says nothing.  `wanted` is the address it asks for or has;
    `uuid` is what option 97 tells of the machine (RFC 4578 §2.3), empty: nothing.
    `held` is the one it has, at which it can be reached, else 0.0.0.0: it is on the network of that address, whether a
    relay passed this packet on or not.  Text is bounded, and without control characters.
    """

    mac: MacAddress
    asker: Asker = Asker.SYSTEM
    https: bool = False
    architecture: int | None = None
    vendor_class: str = ""
    hostname: str = ""
    uuid: str = ""
    relay: IPv4Address = _NOWHERE
    circuit: str = ""
    port: bytes = b""
    client_id: bytes = b""
    wanted: IPv4Address | None = None
    held: IPv4Address = _NOWHERE

    @property
    def netboots(self) -> bool:
        """Whether it wants a program, and not only its address."""
        return self.asker is not Asker.SYSTEM


class Boot(StrEnum):
    """What a booting machine is told."""

    NOTHING = "nothing"  # addresses only: an installed system, not a boot
    OSIE = "osie"  # it holds a ticket
    DISCOVERY = "discovery"  # nobody knows it: it boots the OSIE to tell what it is
    LOCAL_DISK = "local disk"  # no ticket, and a workflow once succeeded on it
    PARKED = "parked"  # three boots without progress
    WORKFLOW = "workflow"  # it holds a ticket, and its workflow supplies the boot script
    WAITING = "waiting"  # the same, but the service that supplies it is not ready yet
    OWN_SCRIPT = "own script"  # its hardware document has its boot script
    OWN_OSIE = "own OSIE"  # it holds a ticket, and its hardware document names another OSIE
    ELSEWHERE = "elsewhere"  # its hardware document names another boot server


class ConsoleAccess(StrEnum):
    """What the consoles of the OSIE offer: the setting `boot.console`, which the OSIE reads on its kernel's command line."""

    SHELL = "shell"  # of root, to whoever presses Enter
    NONE = "none"  # nothing but what it tells


class Loader(StrEnum):
    """The program that follows the firmware."""

    IPXE = "iPXE"
    GRUB = "shim and GRUB"  # signed: what firmware with Secure Boot takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """The boot script that a service of its workflow supplies to a machine (proposal 0013).

    `url` is where it is; before the service is `ready` nobody answers there, and `standing` says for people why.
    """

    service: str
    url: str
    ready: bool
    standing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What we decided to tell one machine.  No plan at all means silence.

    `workflow` and `reason` are shown on the machine's console: on whose behalf, and why it is parked or waits.
    `script` is the URL of what the workflow supplies.  `ticket` tells that a worker is to work on it.  `hardware_id` is empty for a
    machine that nobody knows.
    `interface` has the address to give: the reserved one, or that of `lease`; None: another server gives it.
    `firmware` is whether its cards need some.  With `https` it loads by HTTPS alone: its firmware trusts our authority.
    """

    boot: Boot
    hardware_id: str
    interface: Interface
    workflow: str = ""
    reason: str = ""
    script: str = ""
    ticket: bool = False
    loader: Loader = Loader.IPXE
    local_boot: LocalBoot | None = None
    lease: Lease | None = None
    firmware: Need = Need.UNKNOWN
    https: bool = False


class Stage(StrEnum):
    """How far a machine's boot has come, in the order in which it happens; then what can come at any time."""

    DISCOVER = "asked for an address"
    OFFERED = "was offered an address"
    REQUESTED = "accepted an address"
    LEASED = "has its address"
    BOOT_SERVER = "asked for its boot file on port 4011"
    LOADER_REQUESTED = "asked for its boot loader"
    LOADER = "fetched its boot loader"
    SCRIPT = "fetched its boot script"
    KERNEL = "fetched the kernel"
    RAMDISK = "fetched the OSIE"
    FIRMWARE = "fetched firmware for its cards"
    TICKET = "was given its boot ticket"
    SESSION = "exchanged its boot ticket"
    WORKER = "the worker is in touch"
    LOCAL_DISK = "told to boot its disk"
    DISK_BOOTED = "its disk's system asked for an address"
    METADATA = "asked for its metadata"
    CLOUD_INIT = "told what its cloud-init does"
    PHONED_HOME = "phoned home"
    PARKED = "parked"
    SERVICES = "waits for its workflow's services"
    SUPPLIED = "boots what its workflow supplies"
    OWN_BOOT = "boots what its hardware document names"
    DISCOVERY = "boots to tell what it is"
    INVENTORY = "told what it is"
    IGNORED = "was not answered"
    REFUSED = "was refused its address"
    OTHER_SERVER = "accepted an address of another server"
    DECLINED = "found its address in use"
    ADDRESS_KEPT = "uses the address that was given back in its name"
    LOADER_FAILED = "did not get its boot loader"
    STEP_FAILED = "a step of its boot failed"
    SCRIPT_REFUSED = "was refused its boot script"
    TICKET_REFUSED = "its boot ticket was refused"
    METADATA_REFUSED = "was refused another machine's metadata"
    METADATA_STOLEN = "its metadata was asked for by another machine"
    STILL_THERE = "was seen booting while its worker was there"
    REVOKED = "its credentials were revoked"
    CREDENTIAL = "a credential was made by hand"
    TPM_DECIDED = "a person decided which TPM it has to show"
    ENROLLED = "its firmware trusts the appliance's authority"
    NOT_ENROLLED = "its firmware was not given the appliance's authority"
    HTTPS_WANTED = "was told to come by HTTPS"
    HTTPS_DECIDED = "a person decided how it boots"
    CLOCK = "told its clock"
    OSIE_TROUBLE = "its OSIE has trouble"
    DOWNLOAD_TROUBLE = "its download has trouble"
    ACTION = "action"
    SYSLOG = "said"


# What tells who worked as a machine: kept apart, for anybody could have a machine be seen with so much else that it is gone.
EVIDENCE: Final = frozenset(
    {
        Stage.TICKET,
        Stage.SESSION,
        Stage.TICKET_REFUSED,
        Stage.METADATA_REFUSED,
        Stage.METADATA_STOLEN,
        Stage.STILL_THERE,
        Stage.REVOKED,
        Stage.CREDENTIAL,
        Stage.TPM_DECIDED,
        Stage.ENROLLED,
        Stage.HTTPS_DECIDED,
    }
)
# Of these, what any host can cause as often as it likes: it takes no room from the others.
REFUSALS: Final = frozenset({Stage.TICKET_REFUSED, Stage.METADATA_REFUSED, Stage.METADATA_STOLEN, Stage.STILL_THERE})
# What a host that only sends in a machine's name, and hears nothing that is sent to it, can have noted as well.
FORGEABLE: Final = frozenset(
    {
        Stage.DISCOVER,
        Stage.IGNORED,
        Stage.OFFERED,
        Stage.REQUESTED,
        Stage.LEASED,
        Stage.REFUSED,
        Stage.OTHER_SERVER,
        Stage.DECLINED,
        Stage.ADDRESS_KEPT,
        Stage.BOOT_SERVER,
        Stage.LOADER_REQUESTED,
        Stage.LOADER_FAILED,
        Stage.STILL_THERE,
    }
)
# What comes by DHCP and TFTP, or of downloads that break off, as often as any host likes: it takes no room from what came further.
ASKED: Final = FORGEABLE - REFUSALS | {Stage.LOADER, Stage.DOWNLOAD_TROUBLE}
# What whoever has its address asks for and gets, or does not: by another host it shows nothing of the machine's boot.
FETCHED: Final = frozenset(
    {
        Stage.LOADER_REQUESTED,
        Stage.LOADER,
        Stage.LOADER_FAILED,
        Stage.KERNEL,
        Stage.RAMDISK,
        Stage.FIRMWARE,
        Stage.TICKET,
        Stage.CLOCK,
        Stage.DOWNLOAD_TROUBLE,
    }
)
# What an installed system tells and asks as often as it likes: it takes no room from the others either.
INSTALLED: Final = frozenset({Stage.METADATA, Stage.CLOUD_INIT, Stage.PHONED_HOME})
# By which an installed system is known to run.
OWN_SYSTEM: Final = (Stage.DISK_BOOTED, *INSTALLED)
# What people did about a machine, wherever its boot is.
DECISIONS: Final = frozenset({Stage.REVOKED, Stage.CREDENTIAL, Stage.TPM_DECIDED, Stage.HTTPS_DECIDED})


class Step(StrEnum):
    """A step of a boot script that can fail, and what it was to do."""

    KERNEL = "load the kernel"
    RAMDISK = "load the ramdisk"
    FIRMWARE = "load the firmware of its cards"
    CREDENTIAL = "load its credential"
    BOOT = "start the kernel"
    SCRIPT = "load the boot script of its workflow or its hardware document"
    DISK = "boot its disk"
    LOADER = "load or start grubx64.efi, which boots its disk"
    HTTPS = "come to the appliance by HTTPS"


class StepError(StrEnum):
    """Why a step failed, as far as the boot loader told."""

    NOT_FOUND = "not found"
    NO_PERMISSION = "permission denied"
    TIMED_OUT = "connection timed out"
    CLOSED = "connection refused or reset"
    UNREACHABLE = "network unreachable"
    NO_SUCH_NAME = "no such name in DNS"
    NO_ROOM = "not enough memory"
    NOT_EXECUTABLE = "exec format error"
    NOT_BOOTABLE = "not bootable"
    READ_ERROR = "input/output error"
    NOT_SUPPORTED = "operation not supported"
    REFUSED = "refused by the firmware"
    NOT_TAKEN = "no packet with it got there"  # which the appliance sees by itself
    OTHER = "another error"
    UNTOLD = "its boot loader cannot tell why"


class DownloadTrouble(StrEnum):
    """What is wrong with a download over HTTP that had begun, as the appliance sees it."""

    HUNG_UP = "the machine ended the connection"
    SILENCE = "nothing was acknowledged any more, and the connection was given up"
    UNREACHABLE = "no way led to the machine any more"
    STILL = "nothing more was acknowledged"
    SLOW = "it is slow"


class Silence(StrEnum):
    """Why a machine that asked by DHCP was not answered, or one that asked for its boot script has none."""

    UNKNOWN = "no hardware document names it"
    DISCOVERY_FULL = "no more unknown machines are let in (discovery.quota)"
    PORT_FULL = "no more unknown machines are let in at its port (discovery.port_quota)"
    NOT_PERMITTED = "it may not boot over the network now"
    RETIRED = "it is retired"
    NO_ADDRESS = "there is no address for it"
    UNFIT_ADDRESS = "the address in its hardware document is none that a machine can have"
    NO_PROGRAM = "there is no boot loader for its architecture"
    OTHER_SERVER = "it chose another server"
    TOO_OFTEN = "it asks too often"
    NOTHING_TO_SAY = "nothing is to be answered"
    ELSEWHERE = "it asks from another address than its own"


# Why a machine that no hardware document names is not answered.
OF_STRANGERS: Final = frozenset({Silence.UNKNOWN, Silence.DISCOVERY_FULL, Silence.PORT_FULL})
