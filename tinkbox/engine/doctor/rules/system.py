"""The doctor's rules about what comes after the boot loader: the OSIE, the clock, the disk, and boots that go round."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from tinkbox.engine.doctor.blame import blamed, mended_at
from tinkbox.engine.doctor.case import (
    BOOTING,
    SWITCHED_ON_WITHIN,
    Case,
    Duty,
    Finding,
    OsieSize,
    Stops,
    line,
    moment,
    number,
    of,
    sized,
    some,
    text,
)
from tinkbox.engine.doctor.rules.kernel import SENT_BY
from tinkbox.engine.doctor.rules.loader import ARM, IPXE, X86, architecture, asked_for_a_file
from tinkbox.engine.doctor.rules.network import LINES_FOR_IPXE
from tinkbox.engine.machines.boot_plan import MAX_BOOTS, freeing
from tinkbox.engine.machines.firmware_rules import BACK_WITHIN
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.engine.timeline.stalls import LOOK_AT, LOOK_AT_HTTPS, LOOK_AT_IPXE, MOVED, PATIENCE, stalled
from tinkbox.engine.timeline.syslog import OSIE, OSIE_TROUBLE
from tinkbox.model.boot import OWN_SYSTEM, Asker, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.documents.field_names import spelled
from tinkbox.model.hardware import Interface
from tinkbox.model.sightings import Sighting
from tinkbox.model.text import counted, quoted
from tinkbox.model.workflow import FINAL, State

# The kernel unpacks the ramdisk into a file system that may take half of the memory; unpacked it has three and a half
# times the size that it is sent in.
MEMORY_PER_RAMDISK = 7
_MIB = 1 << 20
# From the last byte of the ramdisk until the worker speaks, on slow machines.
OSIE_STARTS_WITHIN = 120.0
_OFF = 300.0
_FAR_OFF = 86_400.0
_BOOTED = (Stage.WORKER, *OWN_SYSTEM, Stage.INVENTORY)
# What ends all that was said of its disk: it boots something else.
_BOOTS_ANEW = (
    Stage.KERNEL,
    Stage.RAMDISK,
    Stage.FIRMWARE,
    Stage.TICKET,
    Stage.SESSION,
    Stage.SUPPLIED,
    Stage.OWN_BOOT,
    Stage.DISCOVERY,
)
_OSIE_REMEDY = "`tinkbox hardware get MACHINE` shows what else its syslog said."
# By the part of the OSIE that has trouble (osie/files).
_OSIE_REMEDIES = {
    "engine": "If it lacks memory or room, give the machine more memory: in the OSIE all lives there. If not, `tinkbox osie build` "
    "makes the OSIE anew. " + _OSIE_REMEDY,
    "worker": "`tinkbox osie build` makes an OSIE of this version, if it has another; then boot the machine again. "
    + _OSIE_REMEDY,
    "credential": "Boot the machine again from the network: each boot gets a credential of its own. Let only one worker run for it.",
    "tls": "If nobody gave the appliance another authority or address since, another host answers in its place: find it with "
    "`tinkbox doctor` and by its MAC. If it was you, boot the machine again from the network: each boot brings the authority along.",
    "network": "See to the cable, the switch port and the VLAN of that card, and whether a firewall lets the machine reach the "
    "appliance's HTTP port.",
}
_REACHING = ("network", "credential")  # the parts that lack the appliance
_OURS = "tinkbox."  # how words of a kernel's command line begin by which the appliance tells an OSIE where it is
# Seconds after which trouble counts that may pass by itself: another credential is asked for, a network comes late.
_OSIE_PASSING = {"credential": 20.0, "network": OSIE_STARTS_WITHIN}
_AFTER_RAMDISK = (Stage.FIRMWARE, Stage.TICKET, Stage.CLOCK, Stage.SESSION)
_COMES_BACK_WITHIN = timedelta(minutes=2)  # a boot that fails at once; later than that a boot is left in peace
_ASKS_WITHIN = timedelta(
    seconds=10
)  # from the address of iPXE to its question for a script, also among a thousand machines
_COMES_FURTHER_WITHIN = timedelta(seconds=60)  # from the first question of a boot until it has its boot loader
_SCRIPTS = (Stage.SCRIPT, Stage.DISCOVERY, Stage.SUPPLIED, Stage.OWN_BOOT)
# What to look at where the worker is silent, by what was heard of last.
_IN_OSIE = "`tinkbox hardware get MACHINE` shows what its syslog said: a Docker engine that does not start, or why its worker ended."
_IN_KERNEL = (
    "Look at its screen or serial console for the last lines: a panic while unpacking means too little memory, "
    "a machine without a network card a driver that is missing, and `This kernel requires an x86-64 CPU` a processor of 32 bits."
)
_IN_IPXE = (
    "Look at its screen: iPXE stands still there, or the machine lost its power or its network after it fetched the OSIE. See to "
    "its cable and its switch port, then boot it again."
)
# What may be seen of a machine before its boot loader runs, and while that asks for an address.
_BEFORE_RUN = (
    Stage.DISCOVER,
    Stage.OFFERED,
    Stage.REQUESTED,
    Stage.LEASED,
    Stage.OTHER_SERVER,
    Stage.BOOT_SERVER,
    Stage.LOADER_REQUESTED,
    Stage.LOADER,
    Stage.LOADER_FAILED,
)
_BLOCKS_OF_IPXE = 1432  # the largest that iPXE asks for (TFTP_MAX_BLKSIZE); firmware asks for others
_NOT_AWAITED = " No workflow waits for the machine."
_NOTHING_TO_DO = "Nothing to do while you have no workflow for it. "
_BEHIND_RELAY = (
    "The relay {} passes its questions by DHCP on, and nothing came that the machine itself sends: see whether its router forwards packets (on Linux: "
    "`sysctl net.ipv4.ip_forward`), both ways, and whether the gateway that the machine is given is that router. "
)
_SCREEN = "Look at its screen when it boots the next time: that shows where it ends."
_NO_OSIE = Stops(duties=frozenset({Duty.OSIE}))
# What an OSIE can be built for.
_OSIES = ("x86_64", "aarch64")
_NAMES = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}


def no_osie(case: Case) -> Iterator[Finding]:
    """Nothing was built that the machine could boot.  One whose worker is in touch has what it needs."""
    if case.mac is not None and case.worker_heard is not None:
        return
    built = [f"{each.architecture}{each.instead_of and f' (in the folder of {each.instead_of})'}" for each in case.osie]
    evidence = f"OSIEs that were built: {', '.join(built) or 'none'}"
    if case.osie_trouble:
        yield from _troubled(case)
        return
    if case.mac is None:
        if not case.osie:
            yield _none_at_all(case, evidence)
        yield from (_misplaced(case, each, evidence) for each in case.osie if each.instead_of)
        return
    if case.surveyed and not case.osie:
        return  # as it is said of the appliance
    if case.interface is None:
        return
    wanted = case.interface.architecture
    ours = case.interface.netboot.needs_our_osie
    if not (case.ticket and ours) or wanted in {each.architecture for each in case.osie if not each.instead_of}:
        return
    if instead := [each for each in case.osie if each.instead_of == wanted]:
        if not case.surveyed:
            yield _misplaced(case, instead[0], evidence)
        return
    was_there, put_back = _gone_osie(case)
    if wanted in _OSIES:
        change = "correct" if case.interface.architecture_told else "set"
        run = f"{put_back}If you have no copy, run" if put_back else "Run"
        remedy = f"{run} `tinkbox osie build --architecture {wanted}` on the appliance, or {change} {spelled(case.interface, 'dhcp.arch')} in its hardware document."
    else:
        asked = next((f" (it asked as {name})" for name in _OSIES if architecture(case.last) in _NAMES[name]), "")
        remedy = f"Set {spelled(case.interface, 'dhcp.arch')} to {' or '.join(_OSIES)} in its hardware document{asked} and push it again."
    yield Finding(
        gravity=Gravity.FAULT,
        cause=f"There is no OSIE for {wanted}, which is the machine's architecture.",
        evidence=(_document(case.interface), *was_there, evidence),
        remedy=remedy,
    )


def _troubled(case: Case) -> Iterator[Finding]:
    """Files of an OSIE that cannot be used, or whose description cannot: machines get them by their names alone."""
    back = (
        f"{_then(case.osie_trouble)}Or copy the folder {case.osie_folder} back from a backup or from another appliance."
    )
    if case.osie_served and case.mac is None:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause=f"{_first(case.osie_trouble)}. Machines that are to boot are sent its files all the same, and whether these are whole, and of "
            "which version, is not known.",
            evidence=(case.osie_trouble,),
            remedy=back,
        )
    elif not case.osie_served and not (case.mac and case.surveyed):
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The OSIE cannot be used, so machines that are to boot get no kernel: {_first(case.osie_trouble)}.",
            evidence=(case.osie_trouble,),
            remedy=back,
            stops=_NO_OSIE,
        )


def _none_at_all(case: Case, evidence: str) -> Finding:
    was_there, put_back = _gone_osie(case)
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"{'The OSIE is gone' if put_back else 'No OSIE was built'}: machines that are to boot find no kernel.",
        evidence=(*was_there, evidence),
        remedy=f"{put_back}If you have no copy, run `tinkbox osie build` on the appliance, which needs the internet."
        if put_back
        else "Run `tinkbox osie build` on the appliance, which needs the internet, or copy the folder "
        f"{case.osie_folder} back from a backup or from another appliance.",
        stops=_NO_OSIE,
    )


def _misplaced(case: Case, osie: OsieSize, evidence: str) -> Finding:
    """An OSIE that machines of another architecture get."""
    wanted, folder = osie.instead_of, f"{case.osie_folder}/{osie.instead_of}"
    return Finding(
        gravity=Gravity.FAULT,
        cause=f"The folder {folder} has an OSIE for {osie.architecture}: machines of {wanted} are sent a kernel that they cannot start.",
        evidence=(evidence,),
        remedy=f"`tinkbox osie build --architecture {wanted}` on the appliance puts one for {wanted} there, or copy that folder from a backup or "
        "from another appliance.",
        subject=folder,
        stops=Stops(duties=frozenset({Duty.OSIE}), architecture=wanted),
    )


def _gone_osie(case: Case) -> tuple[tuple[str, ...], str]:
    """Of an OSIE that the patient lacks and that was there: what tells so, and how to put it back, as sentences; empty where nothing does."""
    wanted = case.interface.architecture if case.interface is not None and case.mac is not None else ""
    gone = {place for each, place in case.osie_gone.items() if wanted in ("", each)}
    if gone:
        then = f"one was there after tinkbox started at {moment(case.since)}"
        evidence = tuple(f"no OSIE is in {each}; {then}" for each in sorted(gone))
    elif fetched := _fetched_before(case, wanted):
        gone = {f"{case.osie_folder}/{wanted}" if case.osie else case.osie_folder}
        evidence = (f"{moment(fetched.at)} {fetched.mac} fetched the kernel of an OSIE from here",)
    else:
        return (), ""
    were, them = ("it was", "it") if len(gone) == 1 else ("they were", "them")
    places = some(sorted(gone))
    back = f"Put {places} back from where {were} moved to, or copy {them} from a backup or from another appliance. "
    return evidence, back


def _fetched_before(case: Case, wanted: str) -> Sighting | None:
    """When the machine fetched the kernel of such an OSIE last, or any machine did where there is none at all."""
    own = [
        kernel
        for boot in case.boots
        if not case.osie or architecture(boot) in _NAMES.get(wanted, frozenset())
        for kernel in of(boot, Stage.KERNEL)
    ]
    return own[-1] if own else case.osie_fetched


def _first(trouble: str) -> str:
    """What is wrong, without the way out behind the last colon."""
    return trouble.rpartition(": ")[0] or trouble


def _then(trouble: str) -> str:
    """The way out, as a sentence."""
    _, colon, way = trouble.rpartition(": ")
    return f"{way[:1].upper()}{way[1:].rstrip('.')}. " if colon and way else "Build it again: `tinkbox osie build`. "


def wrong_architecture(case: Case) -> Iterator[Finding]:
    """A hardware document that names another processor than the machine has."""
    if case.interface is None:
        return
    told = case.interface.architecture
    asked, expected = architecture(case.furthest), _NAMES.get(told)
    if expected is not None and asked in X86 | ARM and asked not in expected:
        says = "says" if case.interface.architecture_told else "without arch means"
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The machine is no {told}, as its hardware document {says}, so it is given a kernel that it cannot start.",
            evidence=(
                f"{moment(case.furthest[0].at)} it asked as architecture {asked}",
                _document(case.interface),
            ),
            remedy=f"Set {spelled(case.interface, 'dhcp.arch')} to {'aarch64' if asked in ARM else 'x86_64'} in its hardware document and push it again.",
        )


def ramdisk_too_large(case: Case) -> Iterator[Finding]:
    """Memory in which the OSIE cannot be unpacked."""
    if case.barred:
        return  # it gets no OSIE now, whatever a boot before came to
    memory, source = _memory(case)
    fetched = of(case.furthest, Stage.KERNEL, Stage.RAMDISK, Stage.FIRMWARE)
    image = next(
        (each for each in case.osie if case.interface and each.architecture == case.interface.architecture), None
    )
    if image is None or not memory or not fetched or of(case.furthest, Stage.WORKER):
        return
    sent, firmware = of(fetched, Stage.RAMDISK), of(fetched, Stage.FIRMWARE)
    ramdisk = (number(sent[-1], "bytes") if sent else None) or image.ramdisk
    ramdisk += (number(firmware[-1], "bytes") if firmware else None) or 0
    needed = MEMORY_PER_RAMDISK * ramdisk
    if memory < needed:
        yield Finding(
            gravity=Gravity.FAULT,
            cause=f"The OSIE does not fit into the machine's memory of {memory // _MIB} MiB.",
            evidence=(
                source,
                f"its ramdisk has {sized(ramdisk)}, and needs {sized(needed)} of memory to be unpacked",
                *map(line, fetched),
                *case.asked_again,
            ),
            remedy=f"Give the machine {-(-needed // (512 * _MIB)) * 512} MiB of memory or more; what actions write without a "
            "disk comes on top of that.",
        )


def plain_osie(case: Case) -> Iterator[Finding]:
    """OSIEs that speak plain HTTP with an appliance that speaks HTTPS."""
    for each in case.osie if case.mac is None else ():
        if each.plain:
            yield Finding(
                gravity=Gravity.SUSPECT,
                cause=f"The OSIE for {each.architecture} cannot speak HTTPS, so its workers ask over plain HTTP: others on their network "
                "can read and change what they say.",
                evidence=(
                    f"{moment(case.now)} the osie.json of the OSIE for {each.architecture} has no `https`: an earlier release made it",
                ),
                remedy="Build the OSIE of this version, `tinkbox osie build`; machines ask over HTTPS from their next boot on.",
                subject=f"the OSIE for {each.architecture}",
            )


def silent_osie(case: Case) -> Iterator[Finding]:
    """An OSIE that was sent, or has begun to run, and whose worker asks for no work.

    Any host gets the files of an OSIE: who was not told to boot it may have fetched them for another reason.
    """
    boot = case.furthest
    sent = of(boot, Stage.RAMDISK)
    if sent and not (case.ticket or case.waited_since or of(boot, *_SCRIPTS, *_AFTER_RAMDISK)):
        return
    if not sent or any(each.at >= sent[-1].at for each in of(boot, *_BOOTED)):
        return
    begun = [each for each in of(boot, *_AFTER_RAMDISK) if each.at >= sent[-1].at]
    runs, session = bool(of(begun, Stage.CLOCK, Stage.SESSION)), bool(of(begun, Stage.SESSION))
    waited = (case.now - [*sent, *begun][-1].at).total_seconds()
    part, why, complaints = _trouble_of_osie(case, sent[-1])
    if why and waited > _OSIE_PASSING.get(part, 0.0):
        by_syslog = SENT_BY in complaints and waited <= OSIE_STARTS_WITHIN
        overridden = [*_overridden(case.interface)] if part in _REACHING else []
        yield Finding(
            gravity=Gravity.SUSPECT if by_syslog else Gravity.FAULT,
            cause=f"The OSIE runs, and its worker {'does not go on' if session else 'cannot start'}: {quoted(why, 240)}"
            f"{_leads_away(overridden)}.",
            evidence=(
                line(sent[-1]),
                *complaints,
                *case.asked_again,
                f"{moment(case.now)} {waited:.0f} s later its worker was not in touch",
                *(told for told, _ in overridden),
            ),
            remedy=" ".join(way for _, way in overridden) or _OSIE_REMEDIES.get(part, _OSIE_REMEDY),
        )
    elif waited > OSIE_STARTS_WITHIN:
        in_loader = not runs and _ended_in_ipxe(boot)
        remedy = _IN_IPXE if in_loader else _IN_OSIE if runs else _IN_KERNEL
        # Once it has spoken, it has a network; in its boot loader no kernel has read what the document adds.
        told_by_document = [] if runs or in_loader else [*_of_document(case.interface)]
        again = [each for each in of(case.sightings, Stage.DISCOVER) if each.at > sent[-1].at]
        # Perhaps it was switched off and on before its worker could speak.
        cut_short = bool(again) and (again[0].at - [*sent, *begun][-1].at).total_seconds() <= OSIE_STARTS_WITHIN
        if session:
            cause = "The OSIE runs, and its worker exchanged its boot ticket, and asked for no work since"
        elif runs:
            cause = "The OSIE runs, and its worker was never in touch"
        elif of(boot, Stage.TICKET):
            cause = f"The machine fetched the OSIE, and its worker was never in touch{_suspicion(case.interface)}"
        else:
            how = ": iPXE does that before it starts the OSIE" if in_loader else _suspicion(case.interface)
            cause = f"The machine fetched the OSIE, and did not ask for its credential{how}"
        yield Finding(
            gravity=Gravity.SUSPECT if cut_short else Gravity.FAULT,
            cause=f"{cause}.",
            evidence=(
                *map(line, of(boot, Stage.KERNEL)),
                *map(line, (sent[-1], *begun)),
                *case.asked_again,
                f"{moment(case.now)} {waited:.0f} s later",
                *(told for told, _ in told_by_document),
            ),
            remedy=" ".join((*(way for _, way in told_by_document), remedy)),
        )


def _ended_in_ipxe(boot: Sequence[Sighting]) -> bool:
    """Whether iPXE, which asks for the credential as the last thing before it starts the OSIE, did not ask for it."""
    script = of(boot, *_SCRIPTS)[-1:]
    # A script that came by TFTP is another loader's; one that is not ours may leave the credential to the OSIE.
    ours = any(each.stage in (Stage.SCRIPT, Stage.DISCOVERY) and not text(each, "file") for each in script)
    return ours and not of(boot, Stage.TICKET)


def _suspicion(interface: Interface | None) -> str:
    """What its document has that is likelier than all else to be the reason."""
    if led_away := _leads_away([*_overridden(interface)]):
        return led_away
    if interface is None or interface.netboot.osie is not None:
        return ""
    if interface.vlan_id is not None:
        return f": its document puts it into VLAN {interface.vlan_id}, of which nothing was heard"
    lists = [each for each in interface.netboot.kernel_parameters if "blacklist=" in each]
    return f": its document keeps the kernel from modules ({quoted(lists[0], 80)})" if lists else ""


def _leads_away(overridden: Sequence[tuple[str, str]]) -> str:
    """What stands in a document in the place of what the appliance tells an OSIE, as the end of a cause; empty: nothing."""
    return ": its document tells its OSIE another thing than the appliance does" if overridden else ""


def _overridden(interface: Interface | None) -> Iterator[tuple[str, str]]:
    """What a hardware document says to its OSIE in the place of the appliance, by what stands last on the kernel's command line."""
    for word in interface.netboot.kernel_parameters if interface is not None else ():
        if word.startswith(_OURS):
            name, key = word.partition("=")[0], spelled(interface, "netboot.osie.kernelParams")
            yield (
                f"its hardware document has {quoted(word, 200)} in {key}, which counts instead of what the appliance says of {quoted(name, 80)}",
                f"Take {quoted(name, 80)} out of {key} in its hardware document (`tinkbox hardware edit MACHINE`), and boot it again.",
            )


def _of_document(interface: Interface | None) -> Iterator[tuple[str, str]]:
    """What a hardware document adds that may keep its OSIE from the network, each with what to do."""
    yield from _overridden(interface)
    if interface is None or interface.netboot.osie is not None:
        return
    if interface.vlan_id is not None:
        yield (
            f"its hardware document has {spelled(interface, 'dhcp.vlan_id')}: {interface.vlan_id}, so its OSIE speaks in that VLAN alone, and its firmware without one",
            (
                f"If its switch port does not carry VLAN {interface.vlan_id}, tagged, with a relay or the appliance in it, take {spelled(interface, 'dhcp.vlan_id')} out of "
                "the document (`tinkbox hardware edit MACHINE`)."
            ),
        )
    if words := [each for each in interface.netboot.kernel_parameters if not each.startswith(_OURS)]:
        told = quoted(" ".join(words), 200)
        yield (
            f"its hardware document adds to the kernel's command line: {told}",
            (
                "See whether what the document adds to the kernel's command line keeps a driver or the network away (module_blacklist, "
                "initcall_blacklist, acpi=off, ip=) or memory (mem=): boot once without."
            ),
        )


def _trouble_of_osie(case: Case, sent: Sighting) -> tuple[str, str, tuple[str, ...]]:
    """(part, what it said last of its trouble, evidence) of an OSIE that was sent then: by HTTP, else by syslog."""
    told = [each for each in of(case.furthest, Stage.OSIE_TROUBLE) if each.at >= sent.at]
    said = [each for each in case.said if each.at >= sent.at]
    lines = tuple(f"{moment(each.at)} {each.program or 'it'} said: {quoted(each.text, 200)}" for each in said[-3:])
    if told:
        return text(told[-1], "part"), told[-1].detail, (*map(line, told[-3:]), *lines)
    for each in reversed(said):
        part, _, why = each.text.partition(OSIE_TROUBLE)[2].partition(": ")
        if each.program == OSIE and why:
            return part, why, (*lines, SENT_BY)
    return "", "", ()


def clock_is_wrong(case: Case) -> Iterator[Finding]:
    """A clock that was far off before the OSIE set it: suspect while nothing shows that the machine works all the same."""
    for seen in of(case.furthest, Stage.CLOCK)[-1:]:
        offset = number(seen, "offset") or 0
        if abs(offset) < _OFF or (case.waited_since is not None and case.waited_since > ended_at(seen)):
            continue
        direction = "behind" if offset < 0 else "ahead"
        yield Finding(
            gravity=Gravity.HARMLESS if _works(case, seen) else Gravity.SUSPECT,
            cause=f"The machine's clock was {_span(abs(offset))} {direction}: certificates are refused until it is set.",
            evidence=(f"{moment(seen.at)} its own clock said {offset:+d} s against the appliance's",),
            remedy="The OSIE has set it for its own time. "
            + (
                "A clock that begins years ago has an empty battery: replace it (often a CR2032)."
                if abs(offset) > _FAR_OFF
                else "Set it in the firmware, in UTC, and let the installed system keep it (NTP)."
            ),
        )


def _works(case: Case, clock: Sighting) -> bool:
    """Whether the machine's worker came after it told its clock, and its workflow did not fail."""
    after = [each for each in of(case.furthest, Stage.WORKER, Stage.ACTION) if each.at >= clock.at]
    failed = case.work is not None and case.work.state in (State.FAILED, State.TIMEOUT)
    return bool(after or case.worker_heard) and not failed


def disk_not_found(case: Case) -> Iterator[Finding]:
    """A machine without a disk that boots, or without the disk that an action names."""
    failed = [each for each in of(case.furthest, Stage.ACTION) if "DiskNotFound" in each.detail]
    if failed:
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The disk that the workflow's action writes to is not in the machine.",
            evidence=(*map(line, failed[-2:]), *_disks(case)),
            remedy="Name the disk that it has (`tinkbox hardware get MACHINE` lists them: /dev/nvme0n1 and /dev/vda are as usual as "
            "/dev/sda) in the template; if it has none, look at the controller's mode (RAID or AHCI) and its cables.",
        )
    elif case.inventory is not None and not case.inventory.disks and not _booted_since_inventory(case):
        # A workflow that goes on, or succeeded, needs none.
        needs_none = case.work is None or case.work.state not in (State.FAILED, State.TIMEOUT)
        yield Finding(
            gravity=Gravity.HARMLESS if needs_none else Gravity.SUSPECT,
            cause="The machine has no disk that the OSIE sees.",
            evidence=(f"{_told_then(case)}its inventory lists no disk",),
            remedy="Switch the controller from RAID or VMD to AHCI or NVMe in the firmware's set-up, or see to its cables.",
        )
    came_back = list(_sent_to_disk(case))
    if came_back and not _is_over(case, came_back[-1][0]):
        told, then = came_back[-1]
        yield Finding(
            gravity=Gravity.FAULT,
            cause="The machine was told to boot its disk, found nothing there that boots, and came back to the network.",
            evidence=(
                line(told),
                f"{moment(then.at)} it asked again, {(then.at - told.at).total_seconds():.0f} s later",
            ),
            remedy="Another way to the disk is tried at its next boot by itself. If all of them fail: see whether its disk "
            "is there and comes after the network in its boot order, and whether the workflow wrote a boot loader for this "
            "firmware (BIOS or UEFI).",
        )


def boot_loop(case: Case) -> Iterator[Finding]:
    """Boots that begin again and again; harmless where the machine has nothing to boot."""
    if (fetched := _fetched_again(case)) and not case.parked:
        yield _gets_itself(case, fetched)
        return
    vain: list[tuple[Sighting, ...]] = []
    boots, anew = _since_left_in_peace(case), _counted_since(case)
    for boot in reversed(boots):
        if anew is not None and boot[0].at < anew:
            break
        if of(boot, *_BOOTED) or (vain and vain[0][0].at - boot[-1].at > BACK_WITHIN):
            break
        if any(each.stage not in (Stage.DISCOVER, Stage.IGNORED, Stage.OFFERED) for each in boot):
            vain.insert(0, boot)
    may_go_on = vain and (_leaves_our_sight(case, vain[-1]) or _is_under_way(vain[-1][-1], case.now))
    if not case.parked and may_go_on and vain[-1] is boots[-1]:
        vain.pop()
    if not case.parked and len(vain) < MAX_BOOTS:
        return
    # One that is parked is told so at every boot from then on: those before tell where it ends.
    ended = [boot for boot in vain if not of(boot, Stage.PARKED)][-MAX_BOOTS:]
    told = ended or vain[-MAX_BOOTS:]
    evidence = [f"{moment(boot[0].at)} a boot that ended with: {line(boot[-1])}" for boot in told]
    if case.parked:
        evidence.append(f"parked: {case.parked.partition('; ')[0]}")  # the rest is what to do
    awaited = _is_awaited(case)
    yield Finding(
        gravity=Gravity.FAULT if awaited else Gravity.HARMLESS,
        cause=f"The machine boots again and again without getting anywhere{_where_it_ends(ended)}.{'' if awaited else _NOT_AWAITED}",
        evidence=tuple(evidence),
        remedy=f"{'' if awaited else _NOTHING_TO_DO}{_look_at(ended[-1]) if ended else _SCREEN} When that is mended, push its hardware "
        f"again ({freeing('MACHINE')}) or create a new workflow: its boots are counted anew then, and a machine that is parked boots.",
    )


def _counted_since(case: Case) -> datetime | None:
    """Since when its boots are counted: a person pushed its hardware or created a workflow for it, or a fault of ours ended.

    None: since ever.  One that is parked was counted already.
    """
    if case.parked:
        return None
    begins = (case.pushed_at, case.waited_since, mended_at(case))
    return max((each for each in begins if each is not None), default=None)


def _leaves_our_sight(case: Case, boot: Sequence[Sighting]) -> bool:
    """Whether a boot went where the hardware document sends it, and no worker has to come of that: it may lead anywhere."""
    return boot[-1].stage is Stage.OWN_BOOT and _boots_its_own(case)


def _boots_its_own(case: Case) -> bool:
    """Whether the machine boots for its own script alone: no workflow waits for it."""
    has_script = case.interface is not None and case.interface.netboot.has_script
    return has_script and not case.ticket and case.waited_since is None


def _since_left_in_peace(case: Case) -> list[tuple[Sighting, ...]]:
    """Its boots that followed each other: one that was left in peace for longer than those before it, or whose system runs, was no failure."""
    boots, since = case.boots, list[tuple[Sighting, ...]]()
    for boot, back in zip(boots, (*(each[0].at for each in boots[1:]), case.now), strict=False):
        since.append(boot)
        begins = [each[0].at for each in since]
        usual = max((after - before for before, after in pairwise(begins)), default=BACK_WITHIN)
        in_peace = _leaves_our_sight(case, boot) and back - ended_at(boot[-1]) > max(usual, _COMES_BACK_WITHIN)
        runs = _boots_its_own(case) and text(boot[0], "asker") == Asker.SYSTEM  # what its script boots
        if in_peace or runs:
            since.clear()
    return since


def _fetched_again(case: Case) -> tuple[Sighting, ...]:
    """The fetches of one iPXE that followed each other, three or more, with no question for a boot script; empty where there are none.

    Where the addresses are ours to give, we tell iPXE its script.  A host that nobody told of and that asks for no address may look
    whether the files are there, as monitoring does: that it does so faster than a boot stands still is a loop.
    """
    if case.gives_addresses:
        return ()
    is_machine = case.interface is not None or asked_for_a_file(case.last)
    within = BACK_WITHIN if is_machine else timedelta(seconds=PATIENCE[Stage.LOADER])
    since: list[Sighting] = []
    for each in reversed(case.last):
        if each.stage not in _BEFORE_RUN:
            break
        if each.stage is Stage.LOADER:
            name = text(each, "name")
            if name not in IPXE or (since and (name != text(since[0], "name") or since[0].at - each.at > within)):
                break
            since.insert(0, each)
    return tuple(since) if len(since) >= MAX_BOOTS else ()


def _gets_itself(case: Case, fetched: Sequence[Sighting]) -> Finding:
    """IPXE that is told to load itself again; or firmware that does not start it."""
    name, awaited = text(fetched[-1], "name"), _is_awaited(case)
    by_ipxe = [each for each in fetched if number(each, "blksize") == _BLOCKS_OF_IPXE]
    sure = len(by_ipxe) >= len(fetched) - 1  # firmware fetched the first one
    unknown = case.interface is None and case.discovers
    told = [*map(line, fetched[-MAX_BOOTS:])]
    if by_ipxe:
        told.append(f"{len(by_ipxe)} of {len(fetched)} were in blocks of {_BLOCKS_OF_IPXE} bytes, for which iPXE asks")
    mend = (
        f"The line for iPXE is missing in the DHCP server's configuration, or is overruled by one that names {name} for every machine. {LINES_FOR_IPXE}"
        if case.mode == "off"
        else "Take the boot file (options 66 and 67; dnsmasq: `dhcp-boot`) out of the other server's configuration: with "
        "`dhcp.mode: proxy` tinkbox names it, to firmware and to iPXE."
    )
    return Finding(
        gravity=Gravity.FAULT if awaited and sure else Gravity.SUSPECT if awaited or unknown else Gravity.HARMLESS,
        cause=f"The machine fetched {name} {counted(len(fetched), 'time')}, and asked for no boot script: most likely the DHCP server gives iPXE "
        f"its own boot loader again.{'' if awaited or unknown else _NOT_AWAITED}",
        evidence=tuple(told),
        remedy=f"{'' if awaited or unknown else _NOTHING_TO_DO}{mend} If its screen shows nothing of iPXE, its firmware does not start "
        f"{name}: switch Secure Boot off, or boot the other way (BIOS or UEFI). If iPXE shows another error there, that says more.",
        subject="loader",
    )


def _is_under_way(newest: Sighting, now: datetime) -> bool:
    """Whether a boot may go on by itself, for all that is known by what was seen of it last."""
    patience = PATIENCE.get(newest.stage)
    moved = number(newest, MOVED) or 0
    return patience is not None and (now - newest.at).total_seconds() - moved <= patience


def _where_it_ends(boots: list[tuple[Sighting, ...]]) -> str:
    """Where all these boots ended; empty where they ended at several stages."""
    stages = {boot[-1].stage for boot in boots}
    return f", and each time the last that was seen of it was: {stages.pop()}" if len(stages) == 1 else ""


def never_seen(case: Case) -> Iterator[Finding]:
    """A machine that is waited for, and of which nothing was heard, or nothing since the workflow was created.

    Not at once: somebody may be on the way to switch it on.  But nothing would be seen of it beside a fault of the appliance that stops it.
    """
    if case.mac is None or not case.ticket or (case.work is not None and case.work.state in FINAL):
        return
    since = case.waited_since
    hidden = any(True for _ in blamed(case, BOOTING))
    if since and case.now - since < SWITCHED_ON_WITHIN and not hidden:
        return
    if not case.boots and not case.heard_at:
        cause = f"A workflow waits for the machine, and nothing was seen of it since tinkbox started at {moment(case.since)} UTC."
        known = f"{moment(case.now)} no question and no transfer of {case.mac} is stored of an earlier time either"
    elif since and case.heard_at and case.heard_at < since:
        cause = "A workflow waits for the machine, and nothing was seen of it since the workflow was created."
        known = f"{moment(since)} the workflow was created; the machine was heard of last at {moment(case.heard_at)}"
    else:
        return
    yield Finding(
        gravity=Gravity.SUSPECT,
        cause=cause,
        evidence=(
            known,
            f"with dhcp.mode: {case.mode} a machine is seen "
            + ("from its boot loader on" if case.mode == "off" else "from its first question for an address on"),
        ),
        remedy="See whether it is on, boots from the network before its disk, and is on this network (cable, VLAN, a switch "
        "port that opens late). `tinkbox hardware list --seen` shows who asks: its document may name another of its cards.",
    )


def stalled_boot(case: Case) -> Iterator[Finding]:
    """A boot that stands still, whatever the reason; harmless where the machine has nothing to boot."""
    if not case.last:
        return
    newest, before = case.last[-1], case.furthest[-1]
    if case.mode == "off" and newest.stage is Stage.OTHER_SERVER:
        return  # where machines have their addresses by now; what follows is seen from the boot loader on
    awaited = _is_awaited(case)
    gravity = Gravity.SUSPECT if awaited else Gravity.HARMLESS
    idle = "" if awaited else _NOT_AWAITED
    nothing = "" if awaited else _NOTHING_TO_DO
    if since := stalled(newest, case.now):
        yield Finding(
            gravity=gravity,
            cause=f"Its boot stands still: the last that was seen of it is that it {newest.stage}.{idle}",
            evidence=(line(newest), since),
            remedy=f"{nothing}{_look_at(case.last)}",
        )
    elif ended := _ended_before_its_script(case):
        yield Finding(
            gravity=gravity,
            cause=f"Its boot before ended where iPXE had its address: it asked for no boot script, and boots again.{idle}",
            evidence=(line(ended), line(case.last[0])),
            remedy=f"{nothing}{_look_at_ipxe(case.boots[-2])}",
        )
    elif (since := stalled(before, case.now)) and not _begins_again(case):
        yield Finding(
            gravity=gravity,
            cause=f"Its boot stood still: the last that was seen of it was that it {before.stage}, and that something asked for an "
            f"address in its name again.{idle}",
            evidence=(line(before), since, *case.asked_again),
            remedy=f"{nothing}{_look_at(case.furthest)}",
        )


def _ended_before_its_script(case: Case) -> Sighting | None:
    """How the boot before this one ended, where that was iPXE with an address: firmware never ends there by itself."""
    if len(case.boots) < 2 or of(case.last, *_SCRIPTS, *_BOOTED):
        return None
    before, asked = case.boots[-2][-1], of(case.boots[-2], Stage.DISCOVER)
    by_ipxe = bool(asked) and text(asked[-1], "asker") == Asker.IPXE
    waited = case.last[0].at - ended_at(before)
    return before if by_ipxe and before.stage is Stage.LEASED and _ASKS_WITHIN < waited <= BACK_WITHIN else None


def _begins_again(case: Case) -> bool:
    """Whether it is early to say of a machine that asks again that it comes no further; one that others ask for cannot be early for long."""
    return case.again_since is not None and case.now - case.again_since <= _COMES_FURTHER_WITHIN


def _is_awaited(case: Case) -> bool:
    """Whether a boot of the machine leads to anything: a workflow, what is installed on it, its own script; an unknown one tells what it is.

    An unknown host that only fetched a file, or asked for one, may be no machine that boots.
    """
    work = case.ticket or case.waited_since is not None or case.work is not None
    if case.interface is None:
        return (
            work
            or asked_for_a_file(case.last)
            or not of(case.last, Stage.LOADER, Stage.LOADER_REQUESTED, Stage.LOADER_FAILED)
        )
    return work or case.installed or case.interface.netboot.has_script


def _by_https(boot: Sequence[Sighting]) -> bool:
    """Whether what asked last for an address was told to load the next thing by HTTPS."""
    told = of(boot, Stage.OFFERED)
    return bool(told) and text(told[-1], "file").startswith("https://")


def _look_at_ipxe(boot: Sequence[Sighting]) -> str:
    """What to look at where iPXE has its address and asks for no boot script."""
    return LOOK_AT_HTTPS if _by_https(boot) else LOOK_AT_IPXE


def _look_at(boot: tuple[Sighting, ...]) -> str:
    """What to look at when a boot stays where it is."""
    asked = of(boot, Stage.DISCOVER)
    is_ipxe = bool(asked) and text(asked[-1], "asker") == Asker.IPXE
    relay = text(asked[-1], "relay") if asked else ""
    if boot[-1].stage is Stage.LEASED and _by_https(boot):
        return (_BEHIND_RELAY.format(relay) if relay else "") + LOOK_AT_HTTPS
    if relay and boot[-1].stage is Stage.LEASED:
        return _BEHIND_RELAY.format(relay) + (_look_at_ipxe(boot) if is_ipxe else LOOK_AT[Stage.LEASED])
    return _look_at_ipxe(boot) if is_ipxe and boot[-1].stage is Stage.LEASED else LOOK_AT.get(boot[-1].stage, _SCREEN)


def _sent_to_disk(case: Case) -> Iterator[tuple[Sighting, Sighting]]:
    """Each time it was told to boot its disk, and what asked again before its disk's system was seen."""
    for boot, following in zip(case.boots, case.boots[1:], strict=False):
        told = of(boot, Stage.LOCAL_DISK)
        if told and not of(boot, *OWN_SYSTEM) and following[0].at - told[-1].at <= BACK_WITHIN:
            yield told[-1], following[0]


def _is_over(case: Case, told: Sighting) -> bool:
    """Whether what its disk did, which it was told to boot, is over: it boots something else, or a newer workflow waits for it."""
    since = case.sightings[case.sightings.index(told) + 1 :]
    wanted = case.waited_since is not None and case.waited_since > ended_at(told)
    return wanted or bool(of(since, *_BOOTED, *_BOOTS_ANEW))


def _document(interface: Interface) -> str:
    """What the hardware document says of the processor."""
    told = interface.architecture
    arch = spelled(interface, "dhcp.arch")
    return f"its hardware document says {f'{arch}: {told}' if interface.architecture_told else f'no {arch}, which means {told}'}"


def _memory(case: Case) -> tuple[int, str]:
    """In bytes, and who said so; 0 when nobody did."""
    told = [memory for each in case.sightings if (memory := number(each, "memory"))]
    # Less than at an earlier boot: memory was taken out since it told what it is.
    less = bool(told) and told[-1] < max(told)
    if case.inventory is not None and case.inventory.memory and not less:
        return case.inventory.memory, f"its inventory says that it has {case.inventory.memory // _MIB} MiB of memory"
    for seen in reversed(case.sightings):
        memory = number(seen, "memory")
        if memory:
            return memory * _MIB, f"{moment(seen.at)} its boot loader said that it has {memory} MiB of memory"
    return 0, ""


def _disks(case: Case) -> Iterator[str]:
    if case.inventory is not None:
        disks = ", ".join(f"{quoted(each.device)} ({sized(each.size)})" for each in case.inventory.disks)
        yield f"{_told_then(case)}its disks: {disks or 'none'}"


def _told_then(case: Case) -> str:
    """When it told its inventory, before what it said; empty where that is not known."""
    return f"{moment(case.inventory_at)} " if case.inventory_at is not None else ""


def _booted_since_inventory(case: Case) -> bool:
    """Whether it began another boot since: somebody may have put in what lacked."""
    return case.inventory_at is not None and any(boot[0].at > case.inventory_at for boot in case.boots)


def _span(seconds: int) -> str:
    for size, unit in ((31_557_600, "years"), (86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} seconds"
