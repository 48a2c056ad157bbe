"""The rules of a boot's timeline, pure: what is kept of a sighting, where a boot begins, and what only repeats."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tinkbox.engine.timeline.stalls import MOVED
from tinkbox.model.boot import DECISIONS, FETCHED, Asker, Stage
from tinkbox.model.command_lines import not_ours
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import OTHER_HOST, SENT_ALONE, Fact, Note, Sighting
from tinkbox.model.text import one_line

MAX_DETAIL = 500
MAX_NAME = 40
MAX_FACT = 160
MAX_FACTS = 24
MAX_NUMBER = 2**53  # what JSON readers keep exactly
PAUSE = timedelta(minutes=10)
# A boot that asks again within that time repeats itself: firmware waits up to 32 s between two DISCOVERs.
REPEATED_WITHIN = timedelta(minutes=2)
# What goes round while a boot gets no further: DISCOVER, OFFERED, REQUESTED, REFUSED is the longest round.
LOOKED_BACK = 4
# Tuples, which find a member of an enumeration in a third of the time that a set takes to hash it.
_ROUNDS = (
    Stage.DISCOVER,
    Stage.OFFERED,
    Stage.REQUESTED,
    Stage.LEASED,
    Stage.BOOT_SERVER,
    Stage.LOADER_REQUESTED,
    Stage.IGNORED,
    Stage.REFUSED,
    Stage.OTHER_SERVER,
    Stage.DECLINED,
    Stage.ADDRESS_KEPT,
    Stage.LOADER_FAILED,
    Stage.STEP_FAILED,
    Stage.SCRIPT_REFUSED,
    Stage.HTTPS_WANTED,
    Stage.NOT_ENROLLED,
    Stage.TICKET_REFUSED,
    Stage.METADATA_REFUSED,
    Stage.METADATA_STOLEN,
    Stage.STILL_THERE,
    Stage.CLOCK,
    Stage.OSIE_TROUBLE,
    Stage.DOWNLOAD_TROUBLE,
    Stage.DISK_BOOTED,
)
# What only repeats says the same of these: two machines with one MAC are told apart by them, and what was sent to all from what was sent to one alone.
_TOLD_APART_BY: Mapping[Stage, tuple[str, ...]] = {
    Stage.DISCOVER: ("uuid", "relay", "circuit"),
    Stage.OFFERED: (SENT_ALONE,),
}
# So many of a boot; whoever invents more is noted as one of these.
MOST_TOLD_APART = 6
# Where a machine was told to ask again and again, for hours maybe.
_WAITING = (Stage.SERVICES, Stage.PARKED)
_FIRST = frozenset({Stage.DISCOVER, Stage.DISK_BOOTED})
_RENEWED = (Stage.REQUESTED, Stage.LEASED, Stage.CLOCK)  # for as long as the machine runs
_PROGRESS = frozenset(
    {Stage.SCRIPT, Stage.DISCOVERY, Stage.SUPPLIED, Stage.OWN_BOOT, Stage.WORKER, Stage.LOCAL_DISK, Stage.PARKED}
)


# What another host at the machine's address can do as often as it likes: of each stage one of a host is kept, of so many hosts.
MOST_IN_ITS_NAME = 3
_IN_ITS_NAME = FETCHED | {Stage.SCRIPT, Stage.HTTPS_WANTED, Stage.DISCOVERY, Stage.SUPPLIED, Stage.OWN_BOOT}


def is_its_own(stage: Stage, facts: Mapping[str, Fact]) -> bool:
    """Whether it was the machine that did something, and nobody in its name or about it."""
    return OTHER_HOST not in facts and stage not in DECISIONS


def is_in_its_name(stage: Stage, facts: Mapping[str, Fact]) -> bool:
    """Whether another host did something of a boot at the machine's address: it says nothing of how far that came."""
    return OTHER_HOST in facts and stage in _IN_ITS_NAME


def cleaned_facts(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Facts as they may be kept: few, short, without control characters and commands of ours; numbers that JSON can say."""
    return {one_line(name, MAX_NAME): _fact(value) for name, value in list(facts.items())[:MAX_FACTS]}


def _fact(value: Fact) -> Fact:
    if isinstance(value, str):
        return not_ours(one_line(value, MAX_FACT))
    if isinstance(value, float) and not math.isfinite(value):
        return 0
    return max(-MAX_NUMBER, min(value, MAX_NUMBER))


def begins(boot: Sequence[Sighting], seen: Sighting) -> bool:
    """Whether a boot begins with this sighting; `boot` is what was seen since the last one began."""
    if not boot:
        return True
    if seen.stage not in _FIRST:
        return False
    if seen.at - ended_at(boot[-1]) > PAUSE and boot[-1].stage is not Stage.LOCAL_DISK:
        return True
    asker = seen.facts.get("asker", "")
    if asker == "":
        return False
    # iPXE asks after the firmware that fetched it, and first of all where it is the firmware.
    if asker == Asker.IPXE:
        return any(each.stage in _PROGRESS for each in boot)
    return any(each.facts.get("asker") != asker for each in boot)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unnoted:
    """Unknown machines that were not noted, or were forgotten, for lack of room: `times` it was so, from `since` to `newest`.

    A machine that asks again counts again.  `relay` is what the newest of them came by, empty where that is not known or it
    is on a network of ours; `mac` is the newest one.
    """

    since: datetime
    newest: datetime
    times: int
    mac: MacAddress
    relay: str = ""


def one_more(known: Unnoted | None, mac: MacAddress, relay: str, at: datetime) -> Unnoted:
    """With one more that was not noted; it begins anew where the newest is long ago."""
    if known is None or at - known.newest > PAUSE:
        return Unnoted(since=at, newest=at, times=1, mac=mac, relay=relay)
    return replace(known, newest=at, times=known.times + 1, mac=mac, relay=relay)


class Entry:
    """A sighting under its number, and how often it was repeated since: that costs no more than a count."""

    __slots__ = ("_again", "_last", "_told", "detail", "first", "number", "stage")

    def __init__(self, number: int, first: Sighting) -> None:
        self.number = number
        self.first = first
        self.stage, self.detail = first.stage, first.detail
        self._again = 0
        self._last: datetime | None = None
        self._told = first

    @property
    def ended(self) -> datetime:
        """When it was made for the last time."""
        return ended_at(self.first) if self._last is None else self._last

    def repeat(self, at: datetime) -> None:
        """It was made once more."""
        self._again += 1
        self._last = at

    def move(self, at: datetime) -> None:
        """What the machine asked for still flows to it."""
        moved = round((at - self.first.at).total_seconds(), 3)
        self._told = replace(self.sighting, facts={**self.sighting.facts, MOVED: moved})

    @property
    def sighting(self) -> Sighting:
        """As it was first, with its `count` and the seconds that it `lasted` when it was repeated, and those until which it `moved`.

        The same object for as long as it is not repeated once more, and nothing moves.
        """
        if self._last is not None and self._told.facts.get("count") != self._count:
            lasted = round((self._last - self.first.at).total_seconds(), 3)
            self._told = replace(self.first, facts={**self._told.facts, "count": self._count, "lasted": lasted})
        return self._told

    @property
    def _count(self) -> int:
        return int(self.first.facts.get("count", 1)) + self._again


@dataclass(frozen=True, slots=True)
class Round:
    """What a machine was seen at once to repeat, while `newest` is the newest of its boot: it may do so again and again.

    `passing` are those that are not repeated any more after a while.
    """

    mac: MacAddress
    entries: tuple[Entry, ...]
    passing: tuple[Entry, ...]
    newest: Entry

    def goes_on(self, boot: Sequence[Entry], now: datetime) -> bool:
        """Whether the same that is seen now repeats the same; not when it is long ago."""
        if not boot or boot[-1] is not self.newest:
            return False
        return not self.passing or all(now - each.ended <= REPEATED_WITHIN for each in self.passing)


def round_of(mac: MacAddress, boot: Sequence[Entry], repeats: Sequence[Entry], now: datetime) -> Round | None:
    """What was seen at once to repeat these; None: it would not repeat them when it is seen again."""
    if any(repeated(boot, each.first, now) is not each for each in repeats):
        return None
    passing = tuple(each for each in repeats if each.stage not in _RENEWED)
    return Round(mac, tuple(repeats), passing, boot[-1])


def repeated(boot: Sequence[Entry], seen: Note | Sighting, at: datetime) -> Entry | None:
    """The one that a sighting, made at this time with its text as it is kept, repeats; None when it says something new."""
    stage, detail, another = seen.stage, seen.detail, None
    if is_in_its_name(stage, seen.facts):
        others = [each for each in boot if each.stage is stage and is_in_its_name(stage, each.first.facts)]
        same = [each for each in others if each.first.facts[OTHER_HOST] == seen.facts[OTHER_HOST]]
        return (same or others)[-1] if same or len(others) >= MOST_IN_ITS_NAME else None
    if stage in _WAITING:
        return boot[-1] if boot and boot[-1].stage is stage else None
    for index in range(len(boot) - 1, max(-1, len(boot) - 1 - LOOKED_BACK), -1):
        known = boot[index]
        if known.stage not in _ROUNDS:
            break
        if known.stage is stage and known.detail == detail:
            if not _is_of_one(stage, known.first.facts, seen.facts):
                another = another or known
                continue
            lately = at - known.ended <= REPEATED_WITHIN
            return known if lately or stage in _RENEWED else None
    if another is None or at - another.ended > REPEATED_WITHIN:
        return None
    return another if sum(each.stage is stage for each in boot) >= MOST_TOLD_APART else None


def _is_of_one(stage: Stage, known: Mapping[str, Fact], facts: Mapping[str, Fact]) -> bool:
    """Whether one machine, at one switch port, told both, or both were sent in the same way."""
    return all(_fact(facts.get(each, "")) == known.get(each, "") for each in _TOLD_APART_BY.get(stage, ()))


def ended_at(sighting: Sighting) -> datetime:
    """When it was made for the last time."""
    return sighting.at + timedelta(seconds=float(sighting.facts.get("lasted", 0)))
