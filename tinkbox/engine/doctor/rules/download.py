"""The doctor's rule about kernels and ramdisks that are sent over HTTP, and get there in part or slowly."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from tinkbox.engine.doctor.case import Case, Finding, line, moment, number, of, sized, text
from tinkbox.engine.doctor.rules.boot_step import PASSED, RUNS, TAKEN, booted_since
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.engine.timeline.stalls import MOVED, PATIENCE, stalled
from tinkbox.model.boot import FORGEABLE, Asker, DownloadTrouble, Stage, Step
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.sightings import Sighting

# Until a second try, which a boot loader begins at once, was seen to flow, or to be through.
TRIED_AGAIN_WITHIN: Final = timedelta(seconds=25)
# Until a machine that asks for an address again is through its firmware and its boot loader.
_COMES_BACK_WITHIN: Final = timedelta(minutes=1)
_FLOWS_WITHIN: Final = timedelta(seconds=PATIENCE[Stage.DOWNLOAD_TROUBLE])
# What the machine had acknowledged when it stopped differs by what was on the way.
_SAME_PLACE: Final = 256 << 10
_ONE_DOWNLOAD: Final = timedelta(seconds=2)  # between when it began by one sighting and by another
_MOST_SHOWN: Final = 4
_TOLD: Final = (Stage.SCRIPT, Stage.DISCOVERY, Stage.SUPPLIED, Stage.OWN_BOOT, Stage.LOCAL_DISK)
_WHAT: Final = {Step.KERNEL: "kernel", Step.RAMDISK: "ramdisk", Step.FIRMWARE: "firmware ramdisk"}
_SAME_BYTE: Final = (
    "The same place every time is a rule, and not chance: the machine has no memory for more (give it 2 GB, and test its memory), its firmware "
    "cannot take more (update it, or boot the other way: BIOS or UEFI), or something on the way ends a connection after so many bytes."
)
_CUT_OFF: Final = (
    "The machine was switched off, or hangs, or its way was cut: look at its power and its screen, at its cable, and at the link and the "
    "error counters of its switch port. Then boot it again."
)
_HUNG_UP: Final = (
    "The machine ended the connection itself, or was reset: its screen shows the boot loader's error. Look whether it has 2 GB of memory, and at its "
    "power. A firewall on the way that ends connections looks the same. Then boot it again."
)
_CARDS_DRIVER: Final = (
    "Its card has an iPXE of its own, whose driver goes on under snponly.efi and may crash there: let it boot ipxe.efi, which has drivers of "
    "its own (`netboot.ipxe.binary` in its hardware document). "
)
_SLOW: Final = (
    "Look at the speed and duplex of its switch port (10 Mbit/s, or half duplex, is a wrong one), at the error counters there and of the "
    "appliance's interface (`ip -s link`), at its cable, and at what else is sent on this way."
)


def download_stopped(case: Case) -> Iterator[Finding]:
    """A kernel or ramdisk of the OSIE that came in part, and not to its end since, or comes so slowly that it takes minutes."""
    found = _newest(case)
    if found is None:
        return
    boot, seen, since = found
    step, what = Step.__members__.get(text(seen, "step")), DownloadTrouble.__members__.get(text(seen, "what"))
    if step not in _WHAT or what is None or _is_over(boot, seen, since, step):
        return
    flowed_at = max(ended_at(seen), seen.at + timedelta(seconds=float(seen.facts.get(MOVED, 0))))
    flows = flowed_at > ended_at(seen) and case.now - flowed_at <= _FLOWS_WITHIN
    if what is DownloadTrouble.SLOW:
        if not since and case.now - flowed_at <= _FLOWS_WITHIN:
            yield _slow(seen, step)
        return
    tries = _tries(case, text(seen, "name"))
    is_first = sum(int(each[-1].facts.get("count", 1)) for each in tries) == 1
    stood_still = len(tries[-1]) > 1  # before it broke off: that was told already
    if is_first and (flows or _may_go_on(seen, since, case.now, at_once=stood_still or what is DownloadTrouble.STILL)):
        return
    places = [number(each[-1], "bytes") or 0 for each in tries]
    always = not is_first and max(places) - min(places) <= _SAME_PLACE
    stops = f"{sized(places[-1])} of {sized(number(seen, 'size') or 0)}"
    is_still = what is DownloadTrouble.STILL
    if always:
        cause = f"Each time the machine's download of the {_WHAT[step]} stops at the same place: after {stops}."
    else:
        cause = (
            f"The machine's download of the {_WHAT[step]} {'stands still' if is_still else 'broke off'} after {stops}."
        )
    remedy = _SAME_BYTE if always else _HUNG_UP if what is DownloadTrouble.HUNG_UP else _CUT_OFF
    if _runs_over_cards_ipxe(boot[: boot.index(seen)]):
        remedy = _CARDS_DRIVER + remedy
    quiet = (case.now - flowed_at).total_seconds()
    yield Finding(
        gravity=Gravity.FAULT if _is_awaited(case) and _told_in(boot, seen) else Gravity.SUSPECT,
        cause=cause,
        evidence=(
            *[line(each) for one in tries for each in one][-_MOST_SHOWN:],
            *case.asked_again,
            *([] if since else [f"{moment(case.now)} nothing was heard of it for {quiet:.0f} s"]),
        ),
        remedy=remedy,
        subject=text(seen, "name"),
    )


def _runs_over_cards_ipxe(before: Sequence[Sighting]) -> bool:
    """Whether the machine's own iPXE fetched snponly.efi, which leaves the driver of that in its place."""
    loaders = of(before, Stage.LOADER)
    if not loaders or text(loaders[-1], "name") != "snponly.efi":
        return False
    asked = of(before[: before.index(loaders[-1])], Stage.DISCOVER)
    return any(text(each, "asker") == Asker.IPXE for each in asked)


def _newest(case: Case) -> tuple[Sequence[Sighting], Sighting, Sequence[Sighting]] | None:
    """The boot with the newest trouble, that, and what was seen since; of the last two boots that came further than any host can forge."""
    boots = case.boots
    telling = max((place for place, boot in enumerate(boots) if boot == case.furthest), default=0)
    for place in range(len(boots) - 1, max(-1, telling - 2), -1):
        troubles = of(boots[place], Stage.DOWNLOAD_TROUBLE)
        if troubles:
            index = boots[place].index(troubles[-1])
            later = [each for boot in boots[place + 1 :] for each in boot]
            return boots[place], troubles[-1], (*boots[place][index + 1 :], *later)
    return None


def _is_over(boot: Sequence[Sighting], seen: Sighting, since: Sequence[Sighting], step: Step) -> bool:
    """Whether the boot went on, or its boot loader says itself why it did not, or a system that runs asked, and no boot."""
    if of(since, *PASSED[step], *TAKEN[step], Stage.LOCAL_DISK, Stage.PARKED) or booted_since(since):
        return True
    if any(text(each, "step") == step.name for each in of(since, Stage.STEP_FAILED)):
        return True
    before = boot[: boot.index(seen)]
    told = max((place for place, each in enumerate(before) if each.stage in _TOLD), default=-1)
    return bool(of(before[max(told, 0) :], *RUNS, Stage.LOCAL_DISK))


def _may_go_on(seen: Sighting, since: Sequence[Sighting], now: datetime, *, at_once: bool) -> bool:
    """Whether it is early to say that the machine comes no further; questions that any host can send make it early for a minute.

    `at_once`: no second try is waited for.
    """
    further = [each for each in since if each.stage not in FORGEABLE]
    if further:
        return not stalled(further[-1], now)
    if since:
        return now - since[0].at <= _COMES_BACK_WITHIN
    return not at_once and now - seen.at <= TRIED_AGAIN_WITHIN


def _tries(case: Case, name: str) -> list[list[Sighting]]:
    """What was seen of each download of this file that stopped: one may stand still, and break off after that."""
    found: list[list[Sighting]] = []
    begun: datetime | None = None
    for each in (each for boot in case.boots for each in of(boot, Stage.DOWNLOAD_TROUBLE)):
        if text(each, "name") != name or text(each, "what") == DownloadTrouble.SLOW.name:
            continue
        began = each.at - timedelta(seconds=float(each.facts.get("seconds", 0)))
        if begun is None or abs(began - begun) > _ONE_DOWNLOAD:
            found.append([])
        found[-1].append(each)
        begun = began
    return found


def _slow(seen: Sighting, step: Step) -> Finding:
    rate, to_come = max(number(seen, "rate") or 0, 1), number(seen, "to_come") or 0
    left = (number(seen, "size") or 0) - (number(seen, "bytes") or 0) + to_come
    rest = "the rest and the ramdisk take" if to_come else "the rest takes"
    return Finding(
        gravity=Gravity.SUSPECT,
        cause=f"The machine's download of the {_WHAT[step]} is slow: at {rate / 1024:.1f} KiB/s {rest} {left / rate / 60:.0f} min.",
        evidence=(line(seen),),
        remedy=_SLOW,
        subject=text(seen, "name"),
    )


def _told_in(boot: Sequence[Sighting], seen: Sighting) -> bool:
    """Whether the machine was told what to boot before it asked for the file: any program at its address may ask for that alone."""
    return bool(of(boot[: boot.index(seen)], *_TOLD))


def _is_awaited(case: Case) -> bool:
    return case.ticket or case.waited_since is not None or case.work is not None or case.interface is None
