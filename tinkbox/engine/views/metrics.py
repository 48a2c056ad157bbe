"""Figures about the appliance, for those who watch it: what there is now, and what happened since it began to count.

What there is comes from the store, what happened from the events, which every end of an attempt leaves
behind whoever brought it about.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.workflows.attempts import Attempts
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.disk_usage import DiskUsage
from tinkbox.model.history import ENDED
from tinkbox.model.services import Phase
from tinkbox.model.workflow import Event, State
from tinkbox.store.counts import Standing
from tinkbox.store.database import Store, Tables

# Seconds; from a file that is written to an image that is streamed for hours.
BOUNDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 14400.0)
AT_ONCE = 500
_ENDS = {word: state for state, word in ENDED.items()}


@dataclass(slots=True)
class Durations:
    """How long things took: `counts[i]` of them at most BOUNDS[i] and more than the bound before, the last any longer."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


@dataclass(slots=True)
class Tally:
    """What the events say that happened: attempts begun, attempts ended by state and reason, and how long it took.

    Holds are counted when they begin, their seconds when they are over; no time that was held counts elsewhere.
    """

    begun: int = 0
    ended: Counter[tuple[State, str]] = field(default_factory=Counter)
    actions: dict[State, Durations] = field(default_factory=dict)
    workflows: dict[State, Durations] = field(default_factory=dict)
    holds: Counter[Kind] = field(default_factory=Counter)
    verdicts: Counter[Verb] = field(default_factory=Counter)
    held_seconds: float = 0.0
    _running: dict[str, datetime] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        """Count one more event; they come in their order."""
        what, _, happened = event.kind.partition(".")
        state = _ENDS.get(happened)
        self._note_hold(event)
        if event.kind == "action.started":
            self.begun += 1
        elif event.kind == "workflow.started":
            self._running[event.workflow_id] = event.at
        elif what == "action" and state is not None:
            self.ended[state, str(event.data.get("reason", ""))] += 1
            self.actions.setdefault(state, Durations()).add(float(event.data.get("seconds", 0)))
        elif what == "workflow" and state is not None:
            began = self._running.pop(event.workflow_id, None)
            if began is not None:
                self.workflows.setdefault(state, Durations()).add((event.at - began).total_seconds())

    def _note_hold(self, event: Event) -> None:
        if event.kind == "action.held":
            self.holds[Kind(event.data["breakpoint"])] += 1
        elif event.kind in ("breakpoint.verdict", "breakpoint.expired"):
            self.verdicts[Verb(event.data["verb"])] += 1
        held = float(event.data.get("held", 0)) if event.kind.startswith("action.") else 0.0
        self.held_seconds += held
        if held and event.workflow_id in self._running:
            self._running[event.workflow_id] += timedelta(seconds=held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One machine's queue: unfinished workflows in which it still has something to do.

    `seconds` is how long one of them waits for its first action, 0 when none does.
    """

    hardware_id: str
    length: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything there is to measure at one moment; `stages` counts machines, "" those that were never seen.

    `held` counts the actions that are held, `services` those of unfinished workflows; `offers` since the appliance began.
    """

    workflows: Sequence[Standing]
    actions: Sequence[Standing]
    queues: Sequence[Waiting]
    stages: Mapping[Stage | str, int]
    parked: int
    held: Mapping[Kind, int]
    services: Mapping[Phase, int]
    disk: DiskUsage
    tally: Tally
    offers: int


class Meter:
    """Takes the figures.  What is deleted before it was ever counted is not."""

    def __init__(
        self,
        store: Store,
        machines: Machines,
        attempts: Attempts,
        disk: Callable[[], Awaitable[DiskUsage]],
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._machines = machines
        self._attempts = attempts
        self._disk = disk
        self._clock = clock
        self._tally = Tally()
        self._counted = 0

    async def begin(self) -> None:
        """Count from now on; once, before anything is served."""
        self._counted = await self._store.read(lambda tables: tables.events.newest())

    async def figures(self) -> Figures:
        """The figures of this moment."""
        await self._count()
        machines, disk = await self._machines.all(), await self._disk()
        now = self._clock()

        def question(tables: Tables) -> Figures:
            queues = [
                Waiting(
                    hardware_id=each.worker,
                    length=each.length,
                    seconds=(now - (each.since or now)).total_seconds(),
                )
                for each in tables.figures.queues()
            ]
            return Figures(
                workflows=tables.figures.workflows(),
                actions=tables.figures.actions(),
                queues=queues,
                stages=Counter(each.stage or "" for each in machines),
                parked=sum(bool(each.parked) for each in machines),
                held=tables.figures.holds(),
                services=tables.figures.services(),
                disk=disk,
                tally=self._tally,
                offers=self._attempts.offered,
            )

        return await self._store.read(question)

    async def _count(self) -> None:
        while True:
            found = await self._store.read(lambda tables: tables.events.after(self._counted, AT_ONCE))
            for sequence, event in found:
                # Two who ask at once count nothing twice.
                if sequence > self._counted:
                    self._counted = sequence
                    self._tally.note(event)
            if len(found) < AT_ONCE:
                return
