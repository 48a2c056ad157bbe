"""Whether a machine that boots has stopped on its way, decided from what was last seen of it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from tinkbox.model.boot import Boot, Stage
from tinkbox.model.sightings import Sighting

FORGOTTEN_AFTER = 86_400.0
# A fact: seconds from a sighting until what the machine asked for was last seen to flow to it.
MOVED = "moved"
# Seconds that a boot may stay at a stage.  Those that are missing may last: nothing has to follow them.
# Firmware waits up to 32 s between two questions, and iPXE 15 s for a router of IPv6.  docs/booting.md has what was measured.
PATIENCE: Final[Mapping[Stage, float]] = {
    Stage.DISCOVER: 40.0,
    Stage.OFFERED: 40.0,
    Stage.REQUESTED: 40.0,
    Stage.LEASED: 45.0,
    Stage.BOOT_SERVER: 40.0,
    Stage.LOADER_REQUESTED: 45.0,
    Stage.LOADER: 45.0,
    Stage.LOADER_FAILED: 20.0,
    Stage.STEP_FAILED: 60.0,
    Stage.SCRIPT: 60.0,
    Stage.SCRIPT_REFUSED: 20.0,
    Stage.HTTPS_WANTED: 60.0,
    Stage.DISCOVERY: 60.0,
    Stage.KERNEL: 90.0,
    Stage.RAMDISK: 120.0,
    Stage.FIRMWARE: 120.0,
    Stage.TICKET: 120.0,
    Stage.SESSION: 60.0,
    Stage.CLOCK: 120.0,
    Stage.OSIE_TROUBLE: 60.0,
    Stage.DOWNLOAD_TROUBLE: 60.0,
    Stage.REFUSED: 20.0,
    Stage.DECLINED: 20.0,
    Stage.OTHER_SERVER: 30.0,
}
_ANSWER: Final = (
    "Our answer did not reach the machine, or it waits for another DHCP server's: look at its cable, the VLAN of its switch "
    "port, and spanning tree there. A switch with DHCP snooping drops answers unless the appliance's port is a trusted one; UDP port 68 must "
    "be open towards the machine."
)
_LOADING: Final = (
    "No question for its boot loader came since. TFTP is probably blocked on the way: open UDP port 69 and our answers from other "
    "ports, or set `node.tftp_single_port: on`. A switch that inspects ARP must trust the appliance's port. iPXE in the card, and HTTP boot, need TCP port 80. If its screen shows another "
    "error, that says more."
)
# iPXE asks for an address as firmware does, and then for its script by HTTP.
LOOK_AT_IPXE: Final = (
    "iPXE runs and has its address, and no question for its boot script came since. HTTP is probably blocked between the machine and "
    "the appliance: TCP port 80 must be open on the way and here, no other program of this host may take it over (such as `docker run "
    "-p 80:80`), and `ip route get ADDRESS` must name the interface that the machine is behind. If its screen shows another error, that "
    "says more."
)
LOOK_AT_HTTPS: Final = (
    "It boots by HTTPS alone, and did not fetch its boot script. `Permission denied` on its screen means that it does not believe the "
    "certificate: its firmware was reset or has the authority of another appliance, the appliance's authority is a new one, or another host "
    "answers at its address. `tinkbox hardware https MACHINE` shows the authority that the firmware was given, `tinkbox authority` that of "
    "the appliance. Otherwise TCP port 443 (`node.https_port`) is closed on the way or here. To let it boot by HTTP, and be enrolled anew: "
    "`tinkbox hardware https MACHINE --forget`."
)
_FETCHING: Final = (
    "After its boot script no whole kernel was sent: its screen shows the boot loader's error. If its document or its workflow "
    "names another server for the kernel, see whether that answers machines; a firewall on the way may end connections to TCP port 80."
)
_STARTING: Final = (
    "The OSIE did not come up: the machine has less than 2 GB of memory, or its kernel lacks a driver for the network card. Look "
    "at its console."
)
_WORKER: Final = (
    "The OSIE runs, and its worker is silent: `tinkbox hardware get MACHINE` shows what it said last, such as a Docker engine that "
    "does not start."
)
# What to look at when a boot stays at a stage; docs/operating.md has the same table.
LOOK_AT: Final[Mapping[Stage, str]] = {
    Stage.DISCOVER: _ANSWER,
    Stage.OFFERED: _ANSWER,
    Stage.REQUESTED: _ANSWER,
    Stage.LEASED: _LOADING,
    Stage.BOOT_SERVER: _LOADING,
    Stage.LOADER_REQUESTED: "The transfer of the file does not go on: look at the error counters of its switch port, and for "
    "a smaller MTU or a firewall on the way.",
    Stage.LOADER: "The loader does not run on this firmware, or its network driver fails: look at its screen. Try "
    "the other of `ipxe.efi` and `snponly.efi` (`netboot.ipxe.binary` in its hardware document).",
    Stage.LOADER_FAILED: "The reason stands beside it (`tinkbox hardware get MACHINE`); docs/booting.md says what each means.",
    Stage.STEP_FAILED: "The step and its error stand beside it; `tinkbox doctor MACHINE` says what to do.",
    Stage.SCRIPT: _FETCHING,
    Stage.DISCOVERY: _FETCHING,
    Stage.SCRIPT_REFUSED: "The reason stands beside it: no ticket, no hardware document, or another address than its document has.",
    Stage.HTTPS_WANTED: LOOK_AT_HTTPS,
    Stage.KERNEL: "The transfer of the OSIE stopped, or the OSIE does not fit into the machine's memory (give it 2 GB): look at "
    "its screen.",
    Stage.RAMDISK: _STARTING,
    Stage.FIRMWARE: _STARTING,
    Stage.TICKET: _STARTING,
    Stage.SESSION: _WORKER,
    Stage.CLOCK: _WORKER,
    Stage.OSIE_TROUBLE: _WORKER,
    Stage.DOWNLOAD_TROUBLE: "How far it came stands beside it; `tinkbox doctor MACHINE` says what to do.",
    Stage.REFUSED: "It wanted an address that it may not have here, was told so, and did not ask again: boot it once more.",
    Stage.DECLINED: "Another host uses its address: find that host (`ip neigh`), or give the machine another address.",
    Stage.OTHER_SERVER: "It took the offer of another server: `tinkbox doctor MACHINE` names that, and says what to do. If it is "
    "gone, boot the machine again.",
}


def stalled(sighting: Sighting, now: datetime) -> str:
    """`stalled here for 40 s`, or nothing for a machine that is on its way, done, or long gone."""
    patience = PATIENCE.get(sighting.stage)
    seconds = (now - sighting.at).total_seconds() - float(sighting.facts.get(MOVED, 0))
    # What boots from another server is not seen to go on.
    if sighting.facts.get("boot") == Boot.ELSEWHERE:
        return ""
    if patience is None or not patience < seconds < FORGOTTEN_AFTER:
        return ""
    return f"stalled here for {_duration(int(seconds))}"


def _duration(seconds: int) -> str:
    """In two units at most: `40 s`, `2 min 5 s`, `1 h 3 min`."""
    minutes, hours = seconds // 60, seconds // 3600
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {seconds % 60} s" if minutes else f"{seconds} s"
