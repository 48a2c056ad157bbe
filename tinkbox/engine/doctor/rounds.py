"""The doctor's rounds: the appliance is examined all the time, and what is wrong is kept for as long as it lasts.

Rule 1: a condition is told when it begins and when it is over, once each, by the log and by an event; never again in between,
and not anew after a restart.
Rule 2: one that comes and goes is told ever more seldom: each time that it comes back it must stay away twice as long.
Rule 3: a round that fails ends nothing.  What was found before is kept, and that the round failed is a condition itself.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NoReturn

from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.model.condition_events import BEGAN, OVER, began, lasting, over
from tinkbox.model.condition_events import Identity as Known
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.errors import Refusal
from tinkbox.model.text import one_line, shortened
from tinkbox.model.workflow import Event
from tinkbox.store.database import Store, Tables

_log = logging.getLogger(__name__)

EVERY: Final = 5.0  # seconds from the end of a round to the next one
LISTEN_AFTER: Final = 60.0  # seconds: what is set up beside the appliance is up by then
LISTEN_EVERY: Final = 300.0  # seconds: others hold an address back for a while for each question
GONE: Final = 2  # rounds without it after which a condition is over
AFTER_START: Final = 6  # rounds until what lasted before is over: files are checked in the background first
LONGEST_GONE: Final = 64  # of one that came back ever again: some five minutes
RELAPSE: Final = timedelta(hours=1)
MOST: Final = 2_000  # conditions that are kept, the gravest first
MOST_OVER: Final = 1_000
MOST_UNSAVED: Final = 200
KEPT_EVENTS: Final = 1_000  # of the appliance's
FAILED: Final = "RoundFailed"
LONGEST_SUBJECT: Final = 200  # letters
# A figure by itself, with its unit: not of a name, an address, a path.
_FIGURE: Final = re.compile(
    r"(?<![\w.:/-])(?:\d+[dhms])*\d+(?:[.,:]\d+){0,2}(?:[kKMGTP]i?B|B|ms|[smhdw])?(?![\w/-]|[.:]\w)"
)

# What tells a condition from all others: its rule, machine and workflow, and what its rule tells several apart by.
Identity = tuple[str, str, str, str]
_Event = tuple[datetime, str, Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A condition, `missing` for so many rounds; it is over after `patience` of them."""

    found: Diagnosis
    since: datetime
    missing: int = 0
    patience: int = GONE


class Rounds:
    """Two parts.  `examine` tells what is wrong now, machines and workflows included; `listen` asks for other DHCP servers."""

    def __init__(
        self,
        examine: Callable[[], Awaitable[Sequence[Diagnosis]]],
        listen: Callable[[], Awaitable[object]],
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
    ) -> None:
        self._examine = examine
        self._listen = listen
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._kept: dict[Identity, _Kept] = {}
        self._told: dict[Known, Event] | None = None  # of the life before; None: not read yet
        self._away: dict[Known, int] = {}  # of these, for how many rounds they were not found again
        self._over: dict[Identity, tuple[datetime, int]] = {}
        self._unsaved: list[_Event] = []
        self._failed = ""
        # Each of these is replaced as a whole: they are read from other threads.
        self._all: tuple[Diagnosis, ...] = ()
        self._appliance: tuple[Diagnosis, ...] = ()
        self._of_machine: Mapping[str, Diagnosis] = {}
        self._of_workflow: Mapping[str, Diagnosis] = {}
        self.made = 0  # rounds since the appliance began

    async def run(self) -> NoReturn:
        """Make a round every EVERY seconds, for ever."""
        while True:
            await self.round()
            await asyncio.sleep(EVERY)

    async def listen(self) -> NoReturn:
        """Ask for other DHCP servers every LISTEN_EVERY seconds, for ever."""
        await asyncio.sleep(LISTEN_AFTER)
        while True:
            try:
                await self._listen()
            except Exception:  # whatever it is, what is known without asking is still told
                _log.exception("asking for other DHCP servers failed", extra={"action": "doctor.listen"})
            await asyncio.sleep(LISTEN_EVERY)

    def all(self) -> tuple[Diagnosis, ...]:
        """Everything that is wrong, the gravest first, then what has lasted longest; each with its `since`."""
        return self._all

    def appliance(self) -> tuple[Diagnosis, ...]:
        """Of these the appliance's own."""
        return self._appliance

    def of_machines(self) -> Mapping[str, Diagnosis]:
        """The gravest of each machine that has one, by MAC; another mapping whenever one of them differs."""
        return self._of_machine

    def of_machine(self, macs: Iterable[str]) -> Diagnosis | None:
        """The gravest of a machine with these MACs."""
        found = [each for each in map(self._of_machine.get, macs) if each is not None]
        return min(found, key=lambda each: each.gravity.rank, default=None)

    def of_workflow(self, workflow: str) -> Diagnosis | None:
        """The gravest of a workflow, by its id."""
        return self._of_workflow.get(workflow)

    def cause(self, workflow: str) -> str:
        """Its cause; empty where there is none."""
        found = self.of_workflow(workflow)
        return found.cause if found is not None else ""

    async def round(self) -> None:
        """Examine once, and tell what began and what is over."""
        await self._recall()
        now = self._clock()
        try:
            found = await self._examine()
        except Exception as error:  # a full disk, a store that is away, a defect: the next round tells
            self._fail(error)
            self._take([self._failure(error, now)], now, failed=True)
        else:
            if self._failed:
                _log.info("the appliance examines itself again", extra={"action": "doctor.round"})
                self._failed = ""
            self._take(found, now)
        self.made += 1
        await self._save()

    def _fail(self, error: Exception) -> None:
        told = type(error).__name__ if not isinstance(error, Refusal) else str(error)
        if told == self._failed:
            return
        self._failed = told
        expected = isinstance(error, Refusal)
        _log.warning(
            "the appliance cannot examine itself: %s",
            one_line(str(error), 300),
            exc_info=None if expected else error,
            extra={"action": "doctor.round"},
        )

    def _failure(self, error: Exception, now: datetime) -> Diagnosis:
        return Diagnosis(
            rule=FAILED,
            gravity=Gravity.SUSPECT,
            cause="The appliance cannot examine itself: what stands here is what it found before.",
            evidence=(f"{now:%Y-%m-%d %H:%M:%S} {type(error).__name__}: {one_line(str(error), 300)}",),
            remedy="Do what the evidence says; `tinkbox doctor` examines at once. The appliance's log has more.",
        )

    def _take(self, found: Iterable[Diagnosis], now: datetime, *, failed: bool = False) -> None:
        """Keep what was found; what is missing is over after some rounds, unless this one `failed`."""
        grave = [each for each in found if each.gravity is not Gravity.HARMLESS]
        grave.sort(key=lambda each: each.gravity.rank)
        seen = identified(grave[:MOST])
        for identity, diagnosis in seen.items():
            before = self._kept.get(identity)
            kept = replace(before, missing=0) if before else self._begun(identity, diagnosis, now)
            self._kept[identity] = replace(kept, found=replace(diagnosis, since=kept.since))
        if not failed:
            for identity in [each for each in self._kept if each not in seen]:
                self._miss(identity, now)
            self._miss_told(now)
        self._show()

    def _begun(self, identity: Identity, found: Diagnosis, now: datetime) -> _Kept:
        is_own = not (found.machine or found.workflow)
        told = (self._told or {}).pop(_known(identity), None) if is_own else None
        relapsed = self._over.pop(identity, None)
        patience = GONE
        if relapsed and now - relapsed[0] < RELAPSE:
            patience = min(LONGEST_GONE, relapsed[1] * 2)
        kept = _Kept(found=found, since=told.at if told else now, patience=patience)
        if is_own and told is None:
            _log.warning(
                "%s %s began: %s What to do: %s", found.gravity, found.rule, found.cause, found.remedy,
                extra={"action": f"doctor.{found.rule}"},
            )  # fmt: skip
            self._event(now, BEGAN, began(found, identity[3]))
        return kept

    def _miss(self, identity: Identity, now: datetime) -> None:
        kept = replace(self._kept[identity], missing=self._kept[identity].missing + 1)
        self._kept[identity] = kept
        if kept.missing < kept.patience:
            return
        del self._kept[identity]
        self._over[identity] = now, kept.patience
        while len(self._over) > MOST_OVER:
            del self._over[next(iter(self._over))]
        if not (kept.found.machine or kept.found.workflow):
            self._end(_known(identity), kept.found.cause, kept.since, now)

    def _miss_told(self, now: datetime) -> None:
        """What lasted when the appliance stopped, and is not found again, is over as well."""
        for known, event in [*(self._told or {}).items()]:
            self._away[known] = self._away.get(known, 0) + 1
            if self._away[known] >= AFTER_START and self._told is not None:
                del self._told[known], self._away[known]
                self._end(known, str(event.data.get("message", "")), event.at, now)

    def _end(self, known: Known, cause: str, since: datetime, now: datetime) -> None:
        rule, subject = known
        lasted = max(0, int((now - since).total_seconds()))
        _log.info(
            "%s is over after %d s%s", rule, lasted, f": {cause}" if cause else "", extra={"action": f"doctor.{rule}"}
        )
        self._event(now, OVER, over(rule, subject, cause, lasted))

    def _event(self, at: datetime, kind: str, data: Mapping[str, object]) -> None:
        self._unsaved = [*self._unsaved, (at, kind, data)][-MOST_UNSAVED:]

    def _show(self) -> None:
        shown = sorted(
            (each.found for each in self._kept.values()),
            key=lambda each: (each.gravity.rank, each.since.timestamp() if each.since else 0.0),
        )
        of_machine: dict[str, Diagnosis] = {}
        of_workflow: dict[str, Diagnosis] = {}
        for each in shown:
            if each.machine:
                of_machine.setdefault(each.machine, each)
            if each.workflow:
                of_workflow.setdefault(each.workflow, each)
        self._all = tuple(shown)
        self._appliance = tuple(each for each in shown if not each.machine and not each.workflow)
        if of_machine != self._of_machine:
            self._of_machine = of_machine
        self._of_workflow = of_workflow

    async def _recall(self) -> None:
        """Read which conditions lasted when the appliance stopped, once; a store that is away is asked again."""
        if self._told is None:
            try:
                self._told = lasting(await self._store.read(lambda tables: tables.events.of("")))
            except Refusal:
                return

    async def _save(self) -> None:
        """Keep the events; those that the store does not take now, for the disk is full, it is given again."""
        waiting = self._unsaved
        if not waiting:
            return

        def use_case(tables: Tables) -> None:
            for at, kind, data in waiting:
                tables.events.add("", at, kind, data)
            tables.events.keep_newest("", KEPT_EVENTS)

        try:
            await self._store.write(use_case)
        except Refusal:
            return
        self._unsaved = self._unsaved[len(waiting) :]
        self._wakeups.wake(CHANGES)


def identified(found: Iterable[Diagnosis]) -> dict[Identity, Diagnosis]:
    """Diagnoses by what tells each from the others, so that a condition is the same one when only figures changed.

    Where a rule names no subject, that is its sentence without figures; of several that are still equal the first, the
    second … of the round.
    """
    identities: dict[Identity, Diagnosis] = {}
    times: Counter[Identity] = Counter()
    for each in found:
        subject = shortened(each.subject or _FIGURE.sub("#", each.cause), LONGEST_SUBJECT)
        identity = each.rule, each.machine, each.workflow, subject
        times[identity] += 1
        if times[identity] > 1:
            identity = *identity[:3], f"{subject} ({times[identity]})"
        identities[identity] = each
    return identities


def _known(identity: Identity) -> Known:
    return identity[0], identity[3]
