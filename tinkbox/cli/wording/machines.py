"""Where machines stand, in words that fit into a column.  Pure."""

from collections.abc import Mapping, Sequence
from functools import cache

from tinkbox.cli.called_as import told
from tinkbox.cli.output.formats import Document

_NO_INTERFACE: Document = {"mac": "", "address": "", "hostname": ""}


@cache
def short_stages() -> Mapping[str, str]:
    """Every stage of a boot in at most 13 letters."""
    # Only lists of machines need it, and it takes long to import.
    from tinkbox.model.boot import Stage

    return {
        Stage.DISCOVER: "asks address",
        Stage.OFFERED: "asks address",
        Stage.REQUESTED: "asks address",
        Stage.LEASED: "has address",
        Stage.BOOT_SERVER: "boot server",
        Stage.LOADER_REQUESTED: "boot loader",
        Stage.LOADER: "boot loader",
        Stage.SCRIPT: "boot script",
        Stage.KERNEL: "kernel",
        Stage.RAMDISK: "osie",
        Stage.FIRMWARE: "osie firmware",
        Stage.TICKET: "boot ticket",
        Stage.SESSION: "worker begins",
        Stage.WORKER: "worker",
        Stage.LOCAL_DISK: "boots disk",
        Stage.DISK_BOOTED: "disk booted",
        Stage.METADATA: "disk booted",
        Stage.CLOUD_INIT: "cloud-init",
        Stage.PHONED_HOME: "phoned home",
        Stage.PARKED: "parked",
        Stage.SERVICES: "wants service",
        Stage.SUPPLIED: "own script",
        Stage.OWN_BOOT: "own boot",
        Stage.DISCOVERY: "discovery",
        Stage.INVENTORY: "discovered",
        Stage.IGNORED: "not answered",
        Stage.REFUSED: "no address",
        Stage.OTHER_SERVER: "other DHCP",
        Stage.DECLINED: "IP conflict",
        Stage.ADDRESS_KEPT: "IP conflict",
        Stage.LOADER_FAILED: "no loader",
        Stage.STEP_FAILED: "step failed",
        Stage.SCRIPT_REFUSED: "no script",
        Stage.TICKET_REFUSED: "no ticket",
        Stage.METADATA_REFUSED: "no metadata",
        Stage.METADATA_STOLEN: "metadata leak",
        Stage.STILL_THERE: "boots twice",
        Stage.REVOKED: "revoked",
        Stage.CREDENTIAL: "credential",
        Stage.TPM_DECIDED: "TPM decided",
        Stage.ENROLLED: "enrolled",
        Stage.NOT_ENROLLED: "not enrolled",
        Stage.HTTPS_WANTED: "sent to HTTPS",
        Stage.HTTPS_DECIDED: "HTTPS decided",
        Stage.CLOCK: "clock",
        Stage.OSIE_TROUBLE: "OSIE trouble",
        Stage.DOWNLOAD_TROUBLE: "bad download",
        Stage.ACTION: "action",
        Stage.SYSLOG: "log",
    }


def standing(machine: Document) -> str:
    """A machine's state in a few letters, with the stage of a boot that is not over: `booting: kernel`."""
    from tinkbox.model.machine_state import MachineState

    state, stage = machine["state"], machine["stage"]
    on_the_way = stage and state in (MachineState.STALLED, MachineState.BOOTING)
    return f"{state}: {short_stages().get(stage, stage)}" if on_the_way else str(state)


def seen_standing(seen: Document) -> str:
    """The same of a machine that may be unknown: its stage."""
    stage = short_stages().get(seen["stage"], seen["stage"])
    return f"stalled: {stage}" if seen["stalled"] else stage


def shown_by(machine: Document) -> Document:
    """The interface by which lists show a machine; the first one of an earlier release, which does not tell it; or an empty one."""
    cards: Sequence[Document] = machine["interfaces"] or [_NO_INTERFACE]
    return next((each for each in cards if each["mac"] == machine.get("mac")), cards[0])


def why(machine: Document) -> str:
    """Why a machine goes no further, if it does not."""
    failure = machine.get("failure")
    failed = ": ".join(each for each in (failure["reason"], failure["message"]) if each) if failure else ""
    return told(str(machine.get("parked") or "")) or str(failed or machine["stalled"])
