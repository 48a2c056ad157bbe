"""Which of the appliance's own faults keep a machine or a workflow from going on.  Pure.

Rule: a fault is blamed for what it stops where the patient needs that, and for nothing else: not that of an interface, or of a bridge's port, behind which
the machine is not, not that of a way to other addresses, not that of a file which it does not load, not that of a mirror which has not its image,
and not one that began when the machine stood still, or was waited for in vain, already.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from typing import Final

from tinkbox.engine.doctor.case import (
    BOOTING,
    ON_APPLIANCE,
    REACHING,
    SWITCHED_ON_WITHIN,
    Case,
    Duty,
    Fault,
    Stops,
    Work,
    number,
    of,
    text,
)
from tinkbox.engine.doctor.rules.loader import ARM, architecture
from tinkbox.engine.doctor.rules.work import failed_for_engine, failed_to_fetch
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.engine.timeline.stalls import MOVED, PATIENCE
from tinkbox.model.boot import Asker, Stage, Step
from tinkbox.model.images.mirrors import host_asked
from tinkbox.model.sightings import Sighting

_ADDRESS: Final = frozenset({Duty.DHCP})
_FILES: Final = _ADDRESS | {Duty.HTTP, Duty.OSIE}
_BEGINS: Final = _FILES | {Duty.HTTPS, Duty.STORE}
_WORKS: Final = frozenset({Duty.HTTP, Duty.HTTPS, Duty.STORE})
# What a boot needs next that was last seen at a stage; iPXE, the kernel and the OSIE ask for an address again.
_NEXT: Final[Mapping[Stage, frozenset[Duty]]] = {
    Stage.DISCOVER: _ADDRESS,
    Stage.OFFERED: _ADDRESS,
    Stage.REQUESTED: _ADDRESS,
    Stage.REFUSED: _ADDRESS,
    Stage.OTHER_SERVER: _ADDRESS | {Duty.PXE, Duty.TFTP, Duty.HTTP},
    Stage.BOOT_SERVER: _ADDRESS | {Duty.PXE, Duty.TFTP, Duty.HTTP},
    Stage.LOADER_REQUESTED: _ADDRESS | {Duty.TFTP},
    Stage.LOADER: _ADDRESS | {Duty.HTTP},
    Stage.SCRIPT: _FILES,
    Stage.DISCOVERY: _FILES,
    Stage.SUPPLIED: _ADDRESS | {Duty.HTTP},
    Stage.OWN_BOOT: _ADDRESS | {Duty.HTTP},
    Stage.KERNEL: _FILES,
    Stage.DOWNLOAD_TROUBLE: _FILES,
    Stage.RAMDISK: _BEGINS,
    Stage.FIRMWARE: _BEGINS,
    Stage.TICKET: _BEGINS,
    Stage.CLOCK: _ADDRESS | _WORKS,
    Stage.SESSION: _WORKS,
}
_OSIE_FILES: Final = ("vmlinuz", "initramfs", "firmware")
_OSIE_STEPS: Final = (Step.KERNEL.name, Step.RAMDISK.name, Step.FIRMWARE.name, Step.BOOT.name)
# What a rule finds that a machine lacks, whether or not it has come so far that it needs it.
_LACKING: Final[Mapping[str, frozenset[Duty]]] = {"NoOsie": frozenset({Duty.OSIE})}
_OSIE_TROUBLE: Final = {"network": _ADDRESS | {Duty.HTTP}, "credential": _WORKS, "tls": frozenset({Duty.HTTPS})}


def blamed(case: Case, symptom_of: frozenset[Duty]) -> Iterator[Fault]:
    """The appliance's faults that explain a symptom of the lack of these duties."""
    wanted = (symptom_of & _needed(case)) if case.faults else frozenset()
    for each in case.faults:
        if each.stops.duties & wanted and _concerns(each.stops, case) and _began_in_time(each.stops, case):
            yield each


def aimed_at(case: Case) -> Iterator[Fault]:
    """The appliance's faults that concern the machine's own address, before it shows a symptom: it is to boot, and they will stop it."""
    if case.mac is None or case.worker_heard is not None or not (case.ticket or case.waited_since):
        return
    for each in case.faults:
        if each.stops.to and each.stops.duties & BOOTING and _concerns(each.stops, case):
            yield each


def mended_at(case: Case) -> datetime | None:
    """When a fault of the appliance that stopped boots of machines like the patient was found last, of those that are over; None: never."""
    of_boots = [at for each, at in case.mended if each.stops.duties & BOOTING and _concerns(each.stops, case)]
    return max(of_boots, default=None)


def may_explain(case: Case, rule: str, symptom_of: frozenset[Duty]) -> bool:
    """Whether what a rule found of the patient can be why it shows a symptom of the lack of these duties.

    Where that is the lack of one of them, the patient needs it next, and lacked it in time.
    """
    lacking = _LACKING.get(rule, frozenset()) & symptom_of
    if not lacking:
        return True
    if Duty.OSIE in lacking and of(case.furthest, Stage.RAMDISK):
        return False  # it had its OSIE
    own = [each for each in case.faults if each.rule == rule]
    return bool(lacking & _needed(case)) and all(_began_in_time(each.stops, case) for each in own)


def _needed(case: Case) -> frozenset[Duty]:
    """The duties without which the patient cannot go on."""
    needed: frozenset[Duty] = frozenset()
    work = case.work
    if work is not None and (work.images or failed_to_fetch(work)):
        needed |= {Duty.REGISTRY}
    if work is not None and (
        _all_on_appliance(work) or (work.service_host == ON_APPLIANCE and failed_for_engine(work))
    ):
        needed |= {Duty.ENGINE}
    if case.mac is None:
        return needed | (REACHING if work is None else frozenset())
    return needed | (_of_boot(case) if case.worker_heard is None else frozenset())


def _all_on_appliance(work: Work) -> bool:
    """Whether every service that is not ready, or not there any more, runs on the appliance, and there is one."""
    lacking = (*work.services, *work.gone)
    return bool(lacking) and all(each.host == ON_APPLIANCE for each in lacking)


def _of_boot(case: Case) -> frozenset[Duty]:
    """What its boot needs next, by what was seen of it last and of the boot that came furthest."""
    if not _is_seen(case):
        return _ADDRESS if case.mode != "off" else frozenset({Duty.TFTP, Duty.HTTP})
    needed = _next(case, case.last) | _next(case, case.furthest)
    if Duty.OSIE in needed and case.interface is not None and not case.interface.netboot.needs_our_osie:
        needed -= {Duty.OSIE}
    if case.mode == "pool" and Duty.DHCP in needed:
        needed |= {Duty.STORE}  # a lease counts when it is on disk
    return needed


def _next(case: Case, boot: tuple[Sighting, ...]) -> frozenset[Duty]:
    seen = boot[-1]
    if seen.stage is Stage.LEASED:
        asked = of(boot, Stage.DISCOVER)
        by_http = bool(asked) and text(asked[-1], "asker") in (Asker.IPXE, Asker.HTTP)
        loading = frozenset({Duty.HTTP} if by_http else {Duty.TFTP})
        return _ADDRESS | loading | (frozenset() if case.gives_addresses else {Duty.PXE})
    if seen.stage is Stage.LOADER_FAILED:
        if text(seen, "why") != "not found":
            return _ADDRESS | {Duty.TFTP}
        is_osie = text(seen, "name").rpartition("/")[2] in _OSIE_FILES
        return frozenset({Duty.OSIE} if is_osie else ())
    if seen.stage is Stage.STEP_FAILED:
        step = text(seen, "step")
        return _FILES if step in _OSIE_STEPS else frozenset({Duty.HTTP} if step == Step.CREDENTIAL.name else ())
    if seen.stage is Stage.OSIE_TROUBLE:
        return _OSIE_TROUBLE.get(text(seen, "part"), frozenset())
    return _NEXT.get(seen.stage, frozenset())


def _concerns(stops: Stops, case: Case) -> bool:
    """Whether a fault is one of where the patient is, of what it boots, and of its images."""
    if Duty.REGISTRY in stops.duties and not _keeps_image(stops, case.work):
        return False
    if stops.interface and not {stops.interface, stops.beside} & _interfaces(case):
        return False
    if stops.behind and stops.behind != case.behind:
        return False
    if stops.unheard and not case.is_unheard(stops):
        return False
    if stops.to and not any(address in network for address in _reached_at(stops, case) for network in stops.to):
        return False
    return not stops.architecture or stops.architecture == _architecture(case)


def _began_in_time(stops: Stops, case: Case) -> bool:
    """Whether it began before the machine had to go on: one that stood still already stands still for another reason."""
    stops_boots = bool(stops.duties & BOOTING)
    if not stops_boots or case.mac is None:
        return True
    # What was there when the appliance began is not known to have been there before.
    since = stops.since or case.since
    if not _is_seen(case):
        return case.waited_since is None or since <= case.waited_since + SWITCHED_ON_WITHIN
    if not case.last:
        return True
    newest, seen = case.last[-1], max(map(ended_at, case.last))
    patience = PATIENCE.get(newest.stage)
    moved = number(newest, MOVED) or 0
    return patience is None or since <= seen + timedelta(seconds=patience + moved)


def _is_seen(case: Case) -> bool:
    """Whether anything was seen of it since it is waited for."""
    since = case.waited_since
    return bool(case.boots) and (since is None or case.heard_at is None or case.heard_at >= since)


def _keeps_image(stops: Stops, work: Work | None) -> bool:
    """Whether it keeps the image away for which a workflow waits or failed: what is away since then only has not made it fail."""
    if work is None or not failed_to_fetch(work):
        return not stops.registry  # what a mirror has is not missing before somebody asked for it
    if stops.registry and stops.registry != host_asked(work.image):
        return False
    return stops.since is not None and work.ended_at is not None and stops.since <= work.ended_at


def _interfaces(case: Case) -> frozenset[str]:
    """The interface behind which a machine is; where that is not known the only one that there is, else none."""
    every = frozenset(each.interface for each in case.subnets if each.interface)
    address = _address(case)
    found = frozenset(
        each.interface for each in case.subnets if each.interface and address is not None and address in each.network
    )
    return found or (every if len(every) == 1 else frozenset())


def _address(case: Case) -> IPv4Address | None:
    if case.interface is not None and case.interface.address is not None:
        return case.interface.address
    leased = next((text(each, "address") for each in reversed(of(case.sightings, Stage.LEASED))), "")
    return IPv4Address(leased) if leased else None


def _reached_at(stops: Stops, case: Case) -> Iterator[IPv4Address]:
    """The addresses to which we send what such a fault stops for the patient, as far as they are known."""
    address = _address(case)
    if address is not None:
        yield address
    if Duty.DHCP in stops.duties and case.relay:
        yield IPv4Address(case.relay)


def _architecture(case: Case) -> str:
    if case.interface is not None:
        return case.interface.architecture
    return "aarch64" if architecture(case.last) in ARM else "x86_64"
