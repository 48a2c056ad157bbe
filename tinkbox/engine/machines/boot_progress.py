"""What is noted of machines' boots: how far they come, who returned, which worker is in touch.

It is noted in memory while machines are answered, and saved in batches.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NoReturn

from tinkbox.engine.batch_saving import keep_saving
from tinkbox.engine.machines.absences import Absences
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.timeline.sighting_rules import Entry, Round, is_its_own
from tinkbox.engine.timeline.stalls import PATIENCE
from tinkbox.engine.timeline.timeline import Timeline
from tinkbox.engine.wakeups import CHANGES, RETURNS, Wakeups
from tinkbox.model.boot import Stage
from tinkbox.model.errors import Conflict, Denied
from tinkbox.model.hardware import Hardware, MacAddress, primary
from tinkbox.model.sightings import OTHER_HOST, UNSEEN, Fact, Note, Sighting
from tinkbox.store.database import Store

_BOOT_PROGRESS = (Stage.SCRIPT, Stage.SUPPLIED, Stage.OWN_BOOT, Stage.KERNEL, Stage.RAMDISK)
BOOTS = frozenset({Stage.SCRIPT, Stage.SUPPLIED, Stage.OWN_BOOT, Stage.DISCOVERY})  # with these a boot begins

SAME_ABSENCE = timedelta(seconds=8)


class BootProgress:
    """A part: notes the boots of the machines in `known`; `timeline` is what was seen of every machine, known or not."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
        known: KnownMachines,
        timeline: Timeline,
        absences: Absences,
        boots: Callable[[str], None],
        boot_of: Callable[[str], str],
    ) -> None:
        """`boots` is told whenever a machine, by its id, or by its MAC when nobody knows it, begins to boot.

        `boot_of` gives the boot id of the session of a machine's worker; empty: it has none.
        """
        self._absences = absences
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._known = known
        self._timeline = timeline
        self._boots = boots
        self._boot_of = boot_of
        self._heard: dict[str, datetime] = {}
        self._engine_away: dict[str, datetime] = {}
        self._versions: dict[str, str] = {}
        self._changed: set[str] = set()
        self._noted = asyncio.Event()

    def saw(self, mac: MacAddress | None, stage: Stage, detail: str = "", **facts: Fact) -> None:
        """Note that a machine, known or not, was seen at a stage of its boot: `detail` for people, `facts` for rules.

        Of one whose MAC nobody told (None) nothing is noted: a timeline is a MAC's.
        """
        if mac is not None:
            self.note(mac, [Note(stage=stage, detail=detail, facts=facts)])

    def note(self, mac: MacAddress, notes: Sequence[Note]) -> Round | None:
        """The same of several at once; returns the round that a known machine goes when all of it only repeats."""
        if any(_is_boot(each) for each in notes):
            self._boots(self._known.holder(mac) or mac)
        noted = self._timeline.note(mac, notes)
        if noted is None:
            return None
        newest, turn = noted
        if hardware_id := self._known.holder(mac):
            for each in notes:
                if is_its_own(each.stage, each.facts):
                    self._note(hardware_id, each.stage, newest, counts=each.stage in BOOTS)
        return turn

    def again(self, turn: Round) -> bool:
        """Note the same as when the machine went this round; whether that is all, else it is still to be noted."""
        if not self._timeline.again(turn):
            return False
        hardware_id = self._known.holder(turn.mac)
        for each in turn.entries:
            self._note(hardware_id, each.stage, turn.newest, counts=each.stage in BOOTS)
        return True

    def booted(self, mac: MacAddress) -> None:
        """Note that a machine is in its first minutes: one that went away by intention is back."""
        record = self._known.having(mac)
        if record is not None and record.leaving:
            self._absences.seen(record.hardware.id, record.leaving)
            self._wakeups.wake(RETURNS)

    def heard(self, hardware_id: str) -> None:
        """Note that a machine's worker asks: one that was seen booting did not boot, when it is the worker of before."""
        record = self._known.get(hardware_id)
        if record is None:
            self._heard.pop(hardware_id, None)
            self._versions.pop(hardware_id, None)
            return
        self._heard[hardware_id] = self._clock()
        if self._boot_of(hardware_id) != record.boot_id or not self._absences.heard(hardware_id):
            return
        self.saw(self.seen_last(record.hardware), Stage.STILL_THERE, **{OTHER_HOST: UNSEEN})

    def last_contact(self, hardware_id: str) -> datetime | None:
        """When a machine's worker asked or told anything last, whatever it was; None: never.

        Of before the appliance began only what was saved is known, which may be earlier.
        """
        record = self._known.get(hardware_id)
        told = (record.last_contact if record else None, self._heard.get(hardware_id))
        return max(filter(None, told), default=None)

    def engine_is_away(self, hardware_id: str, seconds: float) -> None:
        """Note for how many seconds the engine on a machine does not answer, as its worker tells; 0: it answers."""
        if not seconds or self._known.get(hardware_id) is None:
            self._engine_away.pop(hardware_id, None)
        else:
            since, before = self._clock() - timedelta(seconds=seconds), self._engine_away.get(hardware_id)
            # The moment stays the same from word to word, however long each is on its way.
            if before is None or abs(since - before) > SAME_ABSENCE:
                self._engine_away[hardware_id] = since

    def engine_away_since(self, hardware_id: str) -> datetime | None:
        """Since when the engine on a machine does not answer, by its worker's last word; None: it does."""
        return self._engine_away.get(hardware_id)

    def worker_version(self, hardware_id: str) -> str:
        """The version of a machine's worker, as that told when it asked for work; empty: it did not since the appliance began."""
        return self._versions.get(hardware_id, "")

    def heard_since(self, hardware_id: str, moment: datetime) -> bool:
        """Whether a machine's worker asked anything since then."""
        last = self._heard.get(hardware_id)
        return last is not None and last >= moment

    def in_touch(self, hardware_id: str, boot_id: str) -> bool:
        """Whether the worker that was in touch last is that of this boot."""
        record = self._known.get(hardware_id)
        return record is not None and record.boot_id == boot_id

    def contact(self, hardware_id: str, boot_id: str, version: str = "") -> None:
        """Note that the worker is in touch: progress, so the boots are counted anew.  `version` is the worker's, empty: it told none.

        Raises Conflict for a worker of an earlier boot: it is gone, only its question was still under way.
        """
        record = self._known.get(hardware_id)
        if record is None:
            raise Denied("this machine was deleted meanwhile")
        if self._boot_of(hardware_id) not in ("", boot_id):
            raise Conflict("this worker's session is of another boot of its machine: it gets nothing any more")
        # A machine may get another session in the same boot, and whoever asks in its name is no boot of it.
        first = record.boot_id != boot_id or record.stage in PATIENCE
        now = self._clock()
        if record.boot_id != boot_id:
            self._engine_away.pop(hardware_id, None)
            self._versions.pop(hardware_id, None)
        if version:
            self._versions[hardware_id] = version
        self._known.note(replace(record, boot_id=boot_id, last_contact=now, boots=0, furthest=None))
        if first:
            self.saw(self.seen_last(record.hardware), Stage.WORKER, boot_id=boot_id)
        elif record.boots:
            self._remember(hardware_id)

    def began_to_boot(self, holder: str) -> datetime | None:
        """When the newest boot began of a machine, by its id, or by its MAC when nobody knows it; None: not known."""
        record = self._known.get(holder)
        macs = [each.mac for each in record.hardware.interfaces] if record else [MacAddress(holder)]
        return max((at for each in macs if (at := self._timeline.last(each, _is_boot))), default=None)

    def begin_anew(self, ids: Iterable[str]) -> None:
        """The boots of these machines are counted anew."""
        for hardware_id in ids:
            record = self._known.get(hardware_id)
            if record is not None:
                self._known.note(replace(record, boots=0, furthest=None))
                self._remember(hardware_id)

    def seen_last(self, hardware: Hardware) -> MacAddress | None:
        """The interface that it boots from: the one that was seen last, else the one it is shown by; None: it has no MAC."""
        seen = [each for each in map(self._timeline.newest, (each.mac for each in hardware.interfaces)) if each]
        shown = primary(hardware)
        return max(seen, key=lambda each: each.at).mac if seen else shown.mac if shown else None

    async def run(self) -> NoReturn:
        """Save how far boots have come, in batches, for ever; `timeline` saves what was seen."""
        await keep_saving(self._noted, self._save, "the progress of boots")

    async def save(self) -> None:
        """Save what was noted up to now, also what was seen."""
        try:
            await self._save()
        finally:
            await self._timeline.save()

    async def _save(self) -> None:
        changed, self._changed = self._changed, set()
        records = [record for each in changed if (record := self._known.get(each))]
        try:
            await self._store.write(lambda tables: tables.hardware.save_progress(records))
        except BaseException:
            self._changed |= changed
            raise

    def _note(self, hardware_id: str, stage: Stage, newest: Entry, *, counts: bool) -> None:
        record = before = self._known.get(hardware_id)
        if record is None:
            return
        if counts and record.ticket:
            record = replace(record, boots=record.boots + 1)
        if stage in _BOOT_PROGRESS:
            record = replace(record, furthest=max(record.furthest or stage, stage, key=_BOOT_PROGRESS.index))
        if record.stage is not newest.stage or record.stage_at != newest.first.at:
            record = replace(record, stage=newest.stage, stage_at=newest.first.at)
        if record is not before and record != before:
            self._known.note(record)
            self._remember(hardware_id)

    def _remember(self, hardware_id: str) -> None:
        self._changed.add(hardware_id)
        self._noted.set()
        self._wakeups.wake(CHANGES)


def _is_boot(note: Note | Sighting) -> bool:
    """Whether a machine begins to boot.  What another host did in its name does not park it."""
    return note.stage in BOOTS and is_its_own(note.stage, note.facts)
