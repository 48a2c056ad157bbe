"""The boot timeline: what was seen of every machine's first minutes, known or not.

It is noted in memory while machines are answered, and saved in batches.  Machines that nobody knows have room of their
own, so that a flood of invented MACs costs a known machine nothing.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NoReturn

from tinkbox.engine.batch_saving import keep_saving
from tinkbox.engine.timeline.sighting_rules import (
    MAX_DETAIL,
    MAX_FACT,
    PAUSE,
    Entry,
    Round,
    Unnoted,
    begins,
    cleaned_facts,
    is_in_its_name,
    one_more,
    repeated,
    round_of,
)
from tinkbox.engine.timeline.stalls import PATIENCE
from tinkbox.model.boot import ASKED, EVIDENCE, INSTALLED, Stage
from tinkbox.model.command_lines import not_ours
from tinkbox.model.hardware import MacAddress
from tinkbox.model.rates import Buckets, Rate
from tinkbox.model.sightings import Fact, Note, Sighting
from tinkbox.model.text import one_line
from tinkbox.store.database import Store, Tables

STRANGERS = 1_000
NEW_STRANGERS = Rate(burst=STRANGERS, a_second=10)
KEPT_OF_BOOT = 64
EVIDENCE_OF_BOOT = 16
INSTALLED_OF_BOOT = 24
MAX_UNSAVED = 10_000
ROWS_AT_ONCE = 1_000  # that one transaction deletes


class Timeline:
    """Sightings by MAC: of the newest boot in memory, of earlier ones in the store.

    `kernel_fetched` is the last time that a machine fetched the kernel of an OSIE from here before `load`, of what was taken up then.
    `wake` is called when something was noted.  `known` tells whether hardware was pushed with a MAC: of the others a
    thousand are kept, those that were seen last.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        wake: Callable[[], None],
        known: Callable[[MacAddress], bool] = lambda _: False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._wake = wake
        self._known = known
        self._boots: dict[MacAddress, list[Entry]] = {}
        self._strangers: dict[MacAddress, None] = {}  # those seen last at the end
        self._new_strangers = Buckets(NEW_STRANGERS, 1)
        self._next = 1
        self._unsaved: dict[int, Entry] = {}
        self._forgotten: set[MacAddress] = set()
        self._looked_behind: str | None = ""  # for strangers that are stored and were not taken up
        self._unnoted: Unnoted | None = None
        self._noted = asyncio.Event()
        self.kernel_fetched: Sighting | None = None

    async def load(self) -> None:
        """Take up what is stored; once, before anything is served."""
        stored = await self._store.read(self._loaded)
        for number, sighting in stored.items():
            self._place(Entry(number, sighting))
            self._next = number + 1
            if sighting.stage is Stage.KERNEL:
                self.kernel_fetched = sighting
        by_age = sorted(self._boots, key=lambda mac: self._boots[mac][-1].number)
        self._strangers = {mac: None for mac in by_age if not self._known(mac)}
        self._bound_strangers()

    def _loaded(self, tables: Tables) -> dict[int, Sighting]:
        """What is taken up: of all known machines, and of no more strangers than are kept, however many are stored."""
        macs, strangers = [], 0
        for mac in tables.sightings.newest_first():
            known = self._known(mac)
            strangers += not known
            if known or strangers <= STRANGERS:
                macs.append(mac)
        return tables.sightings.recent(macs, KEPT_OF_BOOT)

    async def forget_surplus(self) -> bool:
        """Delete what is stored of some of the strangers that were not taken up; whether there may be more of them."""
        if self._looked_behind is None:
            return False
        behind = self._looked_behind
        macs = await self._store.read(lambda tables: tables.sightings.behind(behind, ROWS_AT_ONCE))
        if any(self._is_surplus(each) for each in macs):
            # Asked again there: one may have come and been saved meanwhile.
            await self._store.write(lambda tables: _save(tables, [each for each in macs if self._is_surplus(each)], {}))
        self._looked_behind = macs[-1] if macs else None
        return bool(macs)

    def _is_surplus(self, mac: MacAddress) -> bool:
        return mac not in self._boots and not self._known(mac)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> bool:
        """Note that a machine was seen; whether it was (a flood of new strangers is cut off)."""
        return self.note(mac, [Note(stage=stage, detail=detail, facts=facts)]) is not None

    def note(self, mac: MacAddress, notes: Sequence[Note]) -> tuple[Entry, Round | None] | None:
        """The same of several at once.

        Returns what is the newest of this machine by now, and the round that it goes when all were repetitions of what
        is known of a known machine; None: it was not noted.
        """
        if not self._admitted(mac, notes):
            return None
        before = self._next
        entries = [self._note(mac, each) for each in notes]
        self._noted.set()
        self._wake()
        boot = self._boots[mac]
        goes_round = self._next == before and mac not in self._strangers
        return boot[-1], round_of(mac, boot, entries, self._clock()) if goes_round else None

    def moves(self, mac: MacAddress) -> None:
        """What a machine asked for last still flows to it, though nothing new is to be noted; nothing of that is saved."""
        boot = self._boots.get(mac)
        if boot and boot[-1].stage in PATIENCE:
            boot[-1].move(self._clock())
            self._wake()

    def again(self, turn: Round) -> bool:
        """Note the same as when the machine went this round; whether that is all, else it is still to be noted."""
        now = self._clock()
        if not self._known(turn.mac) or not turn.goes_on(self._boots.get(turn.mac, ()), now):
            return False
        for each in turn.entries:
            each.repeat(now)
            self._unsaved[each.number] = each
        self._noted.set()
        self._wake()
        return True

    def follows(self, mac: MacAddress) -> bool:
        """Whether there is a machine with this MAC: a known one, or one that was seen."""
        return mac in self._boots or self._known(mac)

    def unnoted(self) -> Unnoted | None:
        """Unknown machines that were not noted in the last ten minutes, or were forgotten, for lack of room; None: there were none."""
        told = self._unnoted
        return told if told is not None and self._clock() - told.newest <= PAUSE else None

    def newest(self, mac: MacAddress) -> Sighting | None:
        """What was last seen of a machine, and of no other host at its address."""
        boot = self._boots.get(mac)
        newest = _newest_of(boot) if boot else None
        return newest.sighting if newest is not None else None

    def last(self, mac: MacAddress, is_meant: Callable[[Sighting], bool]) -> datetime | None:
        """When a machine was last seen at what is meant, in its newest boot; None: it was not."""
        boot = self._boots.get(mac, ())
        return next((each.ended for each in reversed(boot) if is_meant(each.first)), None)

    def machines(self) -> list[Sighting]:
        """What was last seen of every machine, those seen last first."""
        newest = [found for boot in self._boots.values() if (found := _newest_of(boot)) is not None]
        return [each.sighting for each in sorted(newest, key=lambda each: each.number, reverse=True)]

    async def of(self, *macs: MacAddress) -> list[Sighting]:
        """Everything that is kept of a machine with these MACs, oldest first."""
        unsaved = {number: each.sighting for number, each in self._unsaved.items() if each.first.mac in macs}
        stored = await self._store.read(lambda tables: tables.sightings.of(macs))
        # What flows since is in memory only.
        newest = {each.number: each.sighting for mac in macs for each in self._boots.get(mac, ())[-1:]}
        stored |= {number: sighting for number, sighting in newest.items() if number in stored}
        return [sighting for _, sighting in sorted({**stored, **unsaved}.items())]

    def forget(self, macs: Iterable[MacAddress]) -> None:
        """These belong to no machine any more."""
        gone = set(macs)
        if not gone:
            return
        for mac in gone:
            self._boots.pop(mac, None)
            self._strangers.pop(mac, None)
        self._unsaved = {number: each for number, each in self._unsaved.items() if each.first.mac not in gone}
        self._forgotten |= gone
        self._noted.set()

    async def run(self) -> NoReturn:
        """Save what was noted, in batches, for ever."""
        await keep_saving(self._noted, self.save, "the boot timeline")

    async def save(self) -> None:
        """Save what was noted up to now; what a full disk refuses waits, the newest of it."""
        sightings = {number: each.sighting for number, each in self._unsaved.items()}
        forgotten, self._forgotten = self._forgotten, set()
        try:
            await self._store.write(lambda tables: _save(tables, forgotten, sightings))
        except BaseException:
            self._bound_unsaved()
            self._forgotten |= forgotten
            raise
        # What was repeated meanwhile is newer than what was saved.
        self._unsaved = {
            number: each for number, each in self._unsaved.items() if each.sighting is not sightings.get(number)
        }

    def _admitted(self, mac: MacAddress, notes: Sequence[Note]) -> bool:
        """Whether there is room for sightings of this machine; the stranger seen longest ago makes room for a new one."""
        if self._known(mac):
            return True
        if mac not in self._strangers and not self._new_strangers.take(None, self._clock().timestamp()):
            # That a question was not answered is noted apart, and is no other question.
            if any(each.stage is not Stage.IGNORED for each in notes):
                self._unnoted = one_more(self._unnoted, mac, _relay(notes), self._clock())
            return False
        self._strangers.pop(mac, None)
        self._strangers[mac] = None
        self._bound_strangers()
        return True

    def _bound_strangers(self) -> None:
        while len(self._strangers) > STRANGERS:
            mac = next(iter(self._strangers))
            if self._known(mac):
                del self._strangers[mac]
            else:
                if self._is_recent(mac):
                    relay = _relay(each.first for each in self._boots[mac])
                    self._unnoted = one_more(self._unnoted, mac, relay, self._clock())
                self.forget([mac])

    def _is_recent(self, mac: MacAddress) -> bool:
        """Whether it was seen in the last ten minutes: only such a machine is missed when it makes room for another."""
        boot: Sequence[Entry] = self._boots.get(mac, ())
        return bool(boot) and self._clock() - boot[-1].ended <= PAUSE

    def _note(self, mac: MacAddress, note: Note) -> Entry:
        now = self._clock()
        note = replace(note, detail=not_ours(one_line(note.detail, MAX_DETAIL)))
        repeats = repeated(self._boots.get(mac, ()), note, now)
        if repeats is not None:
            repeats.repeat(now)
            self._unsaved[repeats.number] = repeats
            return repeats
        facts = cleaned_facts(note.facts)
        seen = Sighting(mac=mac, at=now, stage=note.stage, detail=note.detail, facts=facts)
        entry, self._next = Entry(self._next, seen), self._next + 1
        self._place(entry)
        self._unsaved[entry.number] = entry
        # Seldom: it takes a moment, and only a disk that refuses for long lets so many wait.
        if len(self._unsaved) > 2 * MAX_UNSAVED:
            self._bound_unsaved()
        return entry

    def _bound_unsaved(self) -> None:
        self._unsaved = {number: self._unsaved[number] for number in sorted(self._unsaved)[-MAX_UNSAVED:]}

    def _place(self, entry: Entry) -> None:
        boot = self._boots.setdefault(entry.first.mac, [])
        if begins([each.sighting for each in boot], entry.first):
            boot.clear()
        boot.append(entry)
        if len(boot) > KEPT_OF_BOOT:
            del boot[_dispensable(boot)]


def _newest_of(boot: Sequence[Entry]) -> Entry | None:
    return next((each for each in reversed(boot) if not is_in_its_name(each.stage, each.first.facts)), None)


def _dispensable(boot: Sequence[Entry]) -> int:
    """Which of them to forget: how it began stays, the newest of the evidence, and the newest of what its system told; of the rest how it asked goes first."""
    told = [index for index, each in enumerate(boot) if index and each.stage in INSTALLED]
    if len(told) > INSTALLED_OF_BOOT:
        return told[0]
    evidence = [index for index, each in enumerate(boot) if index and each.stage in EVIDENCE]
    if len(evidence) > EVIDENCE_OF_BOOT:
        return evidence[0]
    rest = [index for index, each in enumerate(boot) if index and each.stage not in EVIDENCE | INSTALLED]
    return next((index for index in rest if boot[index].stage in ASKED), rest[0])


def _relay(told: Iterable[Note | Sighting]) -> str:
    """The relay that a machine's questions came by; empty: none is told."""
    return next((one_line(str(each.facts["relay"]), MAX_FACT) for each in told if "relay" in each.facts), "")


def _save(tables: Tables, forgotten: Iterable[MacAddress], sightings: dict[int, Sighting]) -> None:
    tables.sightings.forget(forgotten)
    tables.syslog.forget(forgotten)
    tables.sightings.save(sightings)
