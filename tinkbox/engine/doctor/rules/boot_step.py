"""The doctor's rules about what boot scripts tell of themselves, and about disks that do not boot."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from tinkbox.engine.doctor.case import FETCHED_BY_HTTP, Case, Finding, line, moment, of, text
from tinkbox.engine.machines.firmware_rules import BACK_WITHIN, SIGNED
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.model.boot import OWN_SYSTEM, Stage, Step, StepError
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.documents.field_names import spelled
from tinkbox.model.sightings import Sighting

# From the moment that a machine is told to boot its disk until its system asks for an address: slow servers check their
# memory and their controllers once more.
DISK_BOOTS_WITHIN: Final = timedelta(seconds=180)
_SCRIPTS: Final = (Stage.SCRIPT, Stage.DISCOVERY, Stage.SUPPLIED, Stage.OWN_BOOT)
_WORKED: Final = (Stage.WORKER, Stage.ACTION)
_RUNS_OSIE: Final = (*_WORKED, Stage.CLOCK, Stage.SESSION, Stage.INVENTORY)
RUNS: Final = (*OWN_SYSTEM, *_RUNS_OSIE)
_SENT: Final = (Stage.TICKET, *_RUNS_OSIE)
_SUPPLIED: Final = (Stage.KERNEL, Stage.RAMDISK, *_SENT)
# What shows that a step was passed after all.
PASSED: Final[Mapping[Step, tuple[Stage, ...]]] = {
    Step.KERNEL: (Stage.RAMDISK, Stage.FIRMWARE, *_SENT),
    Step.RAMDISK: (Stage.FIRMWARE, *_SENT),
    Step.FIRMWARE: _SENT,
    Step.CREDENTIAL: _RUNS_OSIE,
    Step.BOOT: _RUNS_OSIE,
    Step.SCRIPT: _SUPPLIED,
    Step.DISK: RUNS,
    Step.LOADER: RUNS,
    Step.HTTPS: (*_SCRIPTS, Stage.LOCAL_DISK, Stage.PARKED, Stage.SERVICES),
}
# What was sent after all, though nothing of it was acknowledged for long.
TAKEN: Final[Mapping[Step, tuple[Stage, ...]]] = {
    Step.KERNEL: (Stage.KERNEL,),
    Step.RAMDISK: (Stage.RAMDISK,),
    Step.FIRMWARE: (Stage.FIRMWARE,),
}
_MOST_SHOWN: Final = 3
_TO_DISK: Final = (Step.DISK, Step.LOADER)
_OF_THE_OSIE: Final = (Step.KERNEL, Step.RAMDISK, Step.FIRMWARE)
_NETWORK: Final = (
    "The machine reached the appliance a moment before: look at the error counters of its switch port, at a firewall that ends "
    "connections, and, where its document or its workflow names another server, whether that answers machines."
)
_REMEDIES: Final[Mapping[StepError, str]] = {
    StepError.TIMED_OUT: _NETWORK,
    StepError.CLOSED: _NETWORK,
    StepError.UNREACHABLE: _NETWORK,
    StepError.NO_SUCH_NAME: "The name server of its network does not know the name: open UDP port 53 to the appliance, or "
    "see `services.names`, or correct the name in the document.",
    StepError.NOT_TAKEN: "Its question came, and not even the first whole packet of the answer was acknowledged: something on the way "
    "carries less than 1500 bytes in a packet (a tunnel, a VLAN, a wrong MTU), and says nothing of it. Find it with `ping -M do -s 1472 "
    "ADDRESS` and `ip link`, and set its MTU to 1500 or more. A firewall that drops what is large, and a machine that was switched off "
    "at that moment, look the same.",
    StepError.NO_ROOM: "Give the machine 2 GB of memory or more: kernel and ramdisk have to fit in at once.",
    StepError.NOT_EXECUTABLE: "The kernel is for another processor, or damaged: compare arch in its hardware document with "
    "`tinkbox osie list`, or run `tinkbox osie build` again.",
    StepError.REFUSED: "Its firmware refuses the kernel: switch Secure Boot off, or boot it once more, so that it gets shim and GRUB; "
    "or arch in its hardware document names another processor.",
    StepError.READ_ERROR: "The server answered with an error: `tinkbox doctor` and the appliance's log say which file cannot be "
    "read.",
    StepError.NO_PERMISSION: "The server refused the file: the appliance's log says why.",
    StepError.UNTOLD: "Its screen shows the error. See whether the OSIE is there (`tinkbox osie list`) and fits the machine's "
    "processor, and whether the machine has 2 GB of memory.",
}
_ELSE: Final = "Its screen shows the error; the address beside it explains that."
_OF_FAULTS: Final = ("OsieDamaged", "NoOsie")
_SAID_ONLY: Final = (
    "The appliance lacks no file of its OSIE now, as far as it knows: `tinkbox osie list` shows what there is. Boot the machine again, and "
    "see whether it says so once more. Another host may have said so in its name."
)
_NO_OSIE: Final = "Files of the OSIE are missing on the appliance: `tinkbox osie list` shows what is there, `tinkbox osie build` makes it anew."


def boot_step_failed(case: Case) -> Iterator[Finding]:
    """A kernel, a ramdisk or a script that could not be loaded or started, as the boot loader says."""
    for seen, step, error in _failed(case):
        if step not in _TO_DISK:
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The machine could not {step}: {error}.",
                evidence=(*_how_far(case, seen, step), line(seen), *_often(seen), *case.asked_again),
                remedy=_remedy(case, step, error),
            )


def disk_does_not_boot(case: Case) -> Iterator[Finding]:
    """A way to the disk that failed, as the boot loader says."""
    for seen, step, error in _failed(case):
        if step in _TO_DISK:
            told = of(case.furthest, Stage.LOCAL_DISK)
            why = _untold(case) if error is StepError.UNTOLD else error
            yield Finding(
                gravity=Gravity.FAULT,
                cause=f"The machine's disk does not boot: {why}.",
                evidence=(*map(line, told[-1:]), line(seen), *case.asked_again),
                remedy="See whether the workflow wrote a boot loader for this firmware (BIOS or UEFI) to the disk that boots, and "
                "whether that disk comes first among the disks. Another way to the disk is tried at its next boot by itself. To install "
                "it anew: `tinkbox install IMAGE MACHINE`, or a new workflow of your template (`tinkbox workflow create --help`).",
            )


def silent_disk(case: Case) -> Iterator[Finding]:
    """A machine that was told to boot its disk for the first time after its workflow, and is silent since."""
    told = _told_first(case)
    if told is None or (case.heard_at is not None and case.heard_at > ended_at(told)):
        return
    waited = case.now - ended_at(told)
    if waited > DISK_BOOTS_WITHIN:
        yield Finding(
            gravity=Gravity.SUSPECT,
            cause="The machine was told to boot its disk after its workflow, and nothing was heard of it since.",
            evidence=(
                line(told),
                f"{moment(case.now)} {waited.total_seconds():.0f} s later: no DHCP, no metadata and no phone-home of it",
            ),
            remedy="Look at its console: firmware that finds nothing to boot stands at a menu or at `No bootable device`. Then see whether "
            "the workflow wrote a boot loader for this firmware (BIOS or UEFI). A system with a static address that tells nothing "
            "looks the same: then all is well.",
        )


def _failed(case: Case) -> Iterator[tuple[Sighting, Step, StepError]]:
    """The step that failed last and was not passed since."""
    # A boot that any host can make up hides none that came further.
    boots = case.boots
    telling = max((number for number, boot in enumerate(boots) if boot == case.furthest), default=0)
    recent = [each for boot in boots[max(0, telling - 1) :] for each in boot]
    for seen in [each for each in of(recent, Stage.STEP_FAILED) if not _of_no_grub(recent, each)][-1:]:
        step, error = Step.__members__.get(text(seen, "step")), StepError.__members__.get(text(seen, "error"))
        if step is None or error is None:
            continue
        since = recent[recent.index(seen) + 1 :]
        # Where it was sent to its disk and came back, that says more.
        came_back = step in _TO_DISK and seen not in case.last and since[0].at - seen.at <= BACK_WITHIN
        taken = TAKEN.get(step, ()) if error is StepError.NOT_TAKEN else ()
        if not of(since, *PASSED[step], *taken) and not came_back and not booted_since(since):
            yield seen, step, error


def _of_no_grub(boot: Sequence[Sighting], seen: Sighting) -> bool:
    """Whether it came as GRUB tells it, by a name that it asks for by TFTP, while the machine's boot loader has its script by HTTP.

    Any host can ask for such a name with the machine's address.
    """
    scripts = of(boot[: boot.index(seen)], *_SCRIPTS)
    return text(seen, "over") == "tftp" and bool(scripts) and "file" not in scripts[-1].facts


def booted_since(since: Sequence[Sighting]) -> bool:
    """Whether it was told anew what to boot, and a system asked for an address behind that.

    One that asks without that is the disk's, which firmware boots where the network fails, or another host in its name.
    """
    told = next((number for number, each in enumerate(since) if each.stage in FETCHED_BY_HTTP), len(since))
    return bool(of(since[told:], *OWN_SYSTEM))


def _how_far(case: Case, failed: Sighting, step: Step) -> list[str]:
    """How far the downloads of what could not be loaded came in that boot, as evidence."""
    boot = next(each for each in case.boots if failed in each)
    before = of(boot[: boot.index(failed)], Stage.DOWNLOAD_TROUBLE)
    return [line(each) for each in before if text(each, "step") == step.name][-_MOST_SHOWN:]


def _untold(case: Case) -> str:
    """What a loader that cannot tell why found out, by which loader it was as far as that was seen."""
    loaded = of([each for boot in case.boots for each in boot], Stage.LOADER)
    signed = bool(loaded) and text(loaded[-1], "name") in SIGNED
    return (
        "GRUB found no boot loader that starts"
        if signed
        else "its boot loader could not start it, and does not say why"
    )


def _often(seen: Sighting) -> Iterator[str]:
    count = int(seen.facts.get("count", 1))
    if count > 1:
        yield f"it told so {count} times, for the last time at {moment(ended_at(seen))}"


def _remedy(case: Case, step: Step, error: StepError) -> str:
    if step is Step.HTTPS:
        return _by_https(case, error)
    if step is Step.SCRIPT:
        names = case.interface is not None and case.interface.netboot.has_script
        where = "netboot.ipxe.url in its hardware document" if names else "`tinkbox service logs` of its workflow"
        return f"Look at {where}. {_REMEDIES.get(error, '')}".strip()
    if error is StepError.NOT_FOUND:
        if step in _OF_THE_OSIE and case.interface is not None and case.interface.netboot.osie:
            return f"Correct {spelled(case.interface, 'netboot.osie')} in its hardware document: what it names is not there."
        if step is Step.CREDENTIAL:
            return "Its workflow ended, or was canceled, while the machine booted: boot it once more."
        return _NO_OSIE if _lacks_osie(case) else _SAID_ONLY
    return _REMEDIES.get(error, _ELSE)


def _by_https(case: Case, error: StepError) -> str:
    """What to do about a machine that boots by HTTPS alone and cannot."""
    mac = case.mac or "MAC"
    if error is StepError.NOT_SUPPORTED:
        return (
            "Its boot loader has no HTTPS, such as one from another boot server: have it load iPXE from the appliance. To let it boot by "
            f"HTTP again: `tinkbox hardware https {mac} --forget`."
        )
    if error not in (StepError.NO_PERMISSION, StepError.OTHER):
        return _REMEDIES.get(error, _ELSE)
    return (
        "Its boot loader does not believe the certificate: its firmware was reset, or was given the authority of another appliance; or the "
        "certificate of the appliance changed or is over; or another host answers at the appliance's address: `ip neigh` on a host beside "
        f"it shows that. `tinkbox hardware https {mac}` shows the two authorities. To let it boot by HTTP once, and be enrolled anew: "
        f"`tinkbox hardware https {mac} --forget`."
    )


def _lacks_osie(case: Case) -> bool:
    """Whether the appliance itself knows that it has no OSIE for the machine, or not all of its files."""
    built = {each.architecture for each in case.osie}
    wanted = case.interface.architecture if case.interface is not None else ""
    faulty = [each for each in case.faults if each.rule in _OF_FAULTS]
    known = any(each.stops.architecture in ("", wanted) or not wanted for each in faulty)
    return known or not built or bool(wanted and wanted not in built)


def _told_first(case: Case) -> Sighting | None:
    """When the machine was told to boot its disk, and was not heard of since, if it has worked on a workflow shortly before."""
    if not (case.installed or case.left):
        return None
    known = [each for each in case.sightings if each.stage in (*OWN_SYSTEM, *_WORKED, Stage.LOCAL_DISK)]
    last = case.sightings[-1] if case.sightings else None
    if last is None or last.stage is not Stage.LOCAL_DISK:
        return None
    for earlier in reversed(known[:-1]):
        if earlier.stage is Stage.LOCAL_DISK:
            # Firmware that goes on from one way to boot to the next asks once more.
            if ended_at(last) - earlier.at > BACK_WITHIN:
                return None
            continue
        if earlier.stage is Stage.DISK_BOOTED and _is_of_boot(case, earlier, last):
            continue
        return last if earlier.stage in _WORKED else None
    return None


def _is_of_boot(case: Case, asked: Sighting, told: Sighting) -> bool:
    """Whether what asked for an address like an installed system then fetched the script: firmware that does not say what it is."""
    between = [each for each in case.sightings if ended_at(asked) < each.at <= told.at]
    return told.at - ended_at(asked) <= BACK_WITHIN and not of(between, Stage.DISCOVER)
