"""What changed since a view looked last: a line for each machine, with the work on it.

The lines are kept in memory, encoded, each with the number of its last change.  Looking again costs what changed and not
what there is: machines are compared by the identity of what is kept of them, workflows are read again when events tell of
them.  While nothing changes, only actions that run and machines that may stall are looked at.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from tinkbox.engine.doctor.doctor import first_line
from tinkbox.engine.machines.machines import Failure, Machines, MachineStatus
from tinkbox.engine.timeline.stalls import PATIENCE, stalled
from tinkbox.engine.views.overview import disk_line, machine_line, stranger_lines
from tinkbox.engine.views.status_within import line_within
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.journals import LostWork, untold, waiting
from tinkbox.engine.workflows.retries import changed_since
from tinkbox.model.actions.progress import Progress
from tinkbox.model.conditions import explanation
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.disk_usage import DiskUsage, Stored
from tinkbox.model.errors import Refusal
from tinkbox.model.hardware import Hardware, MacAddress, called
from tinkbox.model.journal import summary
from tinkbox.model.labels import Selector
from tinkbox.model.machine_state import Doing
from tinkbox.model.reasons import Reason, hint
from tinkbox.model.services import ServiceStatus
from tinkbox.model.sightings import Sighting
from tinkbox.model.text import shortened
from tinkbox.model.workflow import BEGUN, ActionStatus, ListedWorkflow, Outcome, State
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.machine_work import Reached
from tinkbox.wire.messages.status import (
    ConditionLine,
    HealthLine,
    LimitLine,
    MachineLine,
    Snapshot,
    WorkLine,
    encode_changes,
    encode_machine,
)
from tinkbox.wire.polling import SILENT_SECONDS

MACHINES_AT_ONCE: Final = 250  # booting machines are answered in between
ENCODED_AT_ONCE: Final = 10  # the same, of lines that are all made anew
MANY_CHANGES: Final = 1000
WORKFLOWS_AT_ONCE: Final = 50
KEPT_GONE: Final = 1_000  # machines that were deleted; a view that looked before that is told everything anew
LONGEST_MESSAGE: Final = 400
PLACE_LETTERS: Final = 32
MOST_CONDITIONS: Final = 50  # that a view is told of the appliance
# A line that said for how many seconds would change every second.
STALLED: Final = "stalled"
# Seconds that a rate of what is sent is taken over.
SHORTEST_RATE: Final = 1.0
LONGEST_RATE: Final = 10.0


@dataclass(slots=True, kw_only=True)
class _Kept:
    """What is known of one machine; `newest` is what was last seen of it, `text` its encoded line as of change `number`."""

    record: MachineRecord
    newest: Sighting | None
    status: MachineStatus
    line: MachineLine | None = None
    text: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """A workflow as lines show it, with the id of its template and the action that it stands at; one without actions has `reached` none."""

    line: WorkLine
    template: str
    current: ActionStatus | None
    reached: Reached | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the store says now: of which `machines` (None: of all) which workflow is `shown`, and which of these changed.

    `sequence` is how far the events go, `stored` how many workflows there are, `in_rollouts` in which rollout machines wait and
    whether that is paused, `templates` are as in `MachineWorkTable.templates`.
    """

    sequence: int
    stored: int
    machines: Collection[str] | None
    shown: Mapping[str, str]
    changed: Collection[str]
    untold: Mapping[str, LostWork]
    waiting: Mapping[str, Sequence[LostWork]]
    in_rollouts: Mapping[str, tuple[str, bool]]
    templates: Mapping[str, tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """Bytes that were sent up to a moment of the steady clock, and the rate before that."""

    at: float
    octets: int
    rate: float | None = None


class StatusChanges:
    """Lines of machines by the place that a view has seen.

    `disk` tells what takes room, `progress` how far an action is, `sent` how many bytes were sent to machines since the
    host started, `diagnoses` the gravest that was found of each machine, by MAC (`engine.doctor.rounds`); `steady` is a clock
    in seconds.
    """

    def __init__(
        self,
        store: Store,
        machines: Machines,
        wakeups: Wakeups,
        disk: Callable[[], Awaitable[DiskUsage]],
        progress: Callable[[ActionStatus | None], Progress | None],
        sent: Callable[[], int],
        clock: Callable[[], datetime],
        steady: Callable[[], float],
        diagnoses: Callable[[], Mapping[str, Diagnosis]] = dict,
    ) -> None:
        self._store = store
        self._machines = machines
        self._wakeups = wakeups
        self._disk = disk
        self._progress = progress
        self._octets_sent = sent
        self._clock = clock
        self._steady = steady
        self._diagnoses = diagnoses
        self._diagnosed: Mapping[str, Diagnosis] = {}  # as it was looked at last
        self._began = clock()
        self._life = f"{clock().timestamp():.6f}"
        self._one_at_a_time = asyncio.Lock()
        self._number = 0  # of the last change
        self._woken = -1
        self._kept: dict[str, _Kept] = {}
        self._new: set[str] = set()  # machines of which the work was not looked at yet
        self._touched: set[str] = (
            set()
        )  # and those of which the line is to be made anew, also when looking failed meanwhile
        self._may_stall: set[str] = set()
        self._under_way: set[str] = set()
        self._gone: dict[str, int] = {}
        self._gone_before = 0  # what went up to this change is not known any more
        self._sequence = -1
        self._stored = 0
        self._shown: dict[str, str] = {}
        self._work: dict[str, _Work] = {}
        self._untold: Mapping[str, LostWork] = {}
        self._waiting: Mapping[str, Sequence[LostWork]] = {}
        self._in_rollouts: Mapping[str, tuple[str, bool]] = {}
        self._templates: Mapping[str, tuple[str, str]] = {}
        self._sent: _Sent | None = None

    async def run(self) -> None:
        """Have the lines ready before a view asks first: of thousands of machines that takes seconds."""
        with suppress(Refusal):  # who asks is told
            async with self._one_at_a_time:
                await self._look()
        await asyncio.Event().wait()  # parts of the appliance never end

    async def after(
        self, place: str, version: str, limits: Sequence[LimitLine], conditions: Sequence[Diagnosis], *, examined: bool
    ) -> str:
        """What changed behind a place that was told before, encoded; everything for a place that is unknown or empty.

        `version` is the appliance's; `limits` and `conditions`, its own, and whether it has `examined` itself, are told as they are given.
        """
        disk = disk_line(await self._disk())
        async with self._one_at_a_time:
            await self._look()
            behind = self._behind(place)
            told = [each.text for each in self._kept.values() if each.number > behind]
            change = Snapshot(
                now=self._clock(),
                version=version,
                machines=(),
                strangers=stranger_lines(self._machines, self._clock(), self._diagnoses()),
                limits=tuple(limits),
                disk=disk,
                place=f"{self._life}/{self._number}",
                part=behind > 0,
                gone=tuple(each for each, number in self._gone.items() if number > behind) if behind else (),
                health=health_line(self._rate(), conditions, examined=examined),
            )
        return encode_changes(change, told)

    async def within(self, scope: Selector, place: str, version: str) -> str:
        """The machines of a scope as `after` tells them, all of them wherever one changed; of the appliance itself nothing.

        Its places are made of what it tells, for a number of changes would count those of other machines.
        """
        async with self._one_at_a_time:
            await self._look()
            kept = [each for each in self._kept.values() if scope.matches(each.record.hardware.labels)]
            shown = {self._shown.get(each.record.hardware.id, "") for each in kept}
            rollouts = {self._in_rollouts.get(each.record.hardware.id, ("", False))[0] for each in kept}
            lost = (*self._untold.values(), *(each for several in self._waiting.values() for each in several))
            ids = {*shown, *rollouts, *(one for each in lost for one in each.of)} - {""}
            outside = await self._machines.work_outside(scope, ids)
            within, told = self._machines.within(scope), list[str]()
            for each in kept:
                if within.has(each.record.hardware.id):
                    status = await self._machines.get(each.record.hardware.id, scope)
                    told.append(encode_machine(line_within(self._line(each, status, outside), outside)))
                if len(told) % ENCODED_AT_ONCE == ENCODED_AT_ONCE - 1:
                    await asyncio.sleep(0)
        now_at = hashlib.sha256("\n".join(told).encode()).hexdigest()[:PLACE_LETTERS]
        is_same = place == now_at
        change = Snapshot(now=self._clock(), version=version, machines=(), place=now_at, part=is_same, scope=str(scope))
        return encode_changes(change, [] if is_same else told)

    def tells_much(self, place: str) -> bool:
        """Whether so much changed behind a place that it takes long to tell."""
        return self._number - self._behind(place) > MANY_CHANGES

    def _behind(self, place: str) -> int:
        """The change that a place is behind; 0: everything is to be told."""
        life, _, number = place.partition("/")
        if life != self._life or not (number.isascii() and number.isdigit() and len(number) < 20):
            return 0
        return int(number) if self._gone_before <= int(number) <= self._number else 0

    async def _look(self) -> None:
        """Bring the lines up to now."""
        woken = self._wakeups.changes
        if woken == self._woken:
            await self._tell(self._diagnosed_anew() | self._seen_as_time_goes())
            return
        await self._look_at_machines()
        await self._look_at_work()
        await self._tell(self._touched | self._diagnosed_anew() | self._seen_as_time_goes())
        self._touched.clear()
        self._woken = woken

    async def _look_at_machines(self) -> None:
        """Note which machines changed, and which of them are new; retired ones are as if deleted."""
        records = [each for each in self._machines.known.all() if each.retired is None]
        for index, record in enumerate(records):
            if index % MACHINES_AT_ONCE == MACHINES_AT_ONCE - 1:
                await asyncio.sleep(0)
            machine, newest = record.hardware.id, self._newest(record.hardware)
            kept = self._kept.get(machine)
            if kept is not None and kept.record is record and kept.newest is newest:
                continue
            if self._machines.known.get(machine) is not record:
                continue  # it changed or went meanwhile, and woke us again
            status = await self._machines.get(machine)
            if kept is None:
                self._kept[machine] = _Kept(record=record, newest=newest, status=status)
                self._new.add(machine)
            else:
                if kept.record.created_at != record.created_at:
                    self._new.add(machine)  # it was deleted, and registered again
                kept.record, kept.newest, kept.status = record, newest, status
            if newest is not None and newest.stage in PATIENCE:
                self._may_stall.add(machine)
            else:
                self._may_stall.discard(machine)
            self._touched.add(machine)
        for machine in self._kept.keys() - {each.hardware.id for each in records}:
            self._forget(machine)

    def _newest(self, hardware: Hardware) -> Sighting | None:
        """What was last seen of a machine: the same object until it is seen again."""
        only = hardware.interfaces[0].mac if len(hardware.interfaces) == 1 else None
        mac = only or self._machines.progress.seen_last(hardware)
        return self._machines.timeline.newest(mac) if mac else None

    def _forget(self, machine: str) -> None:
        del self._kept[machine]
        for kept in (self._new, self._touched, self._may_stall, self._under_way):
            kept.discard(machine)
        self._shown.pop(machine, None)
        self._number += 1
        self._gone[machine] = self._number
        while len(self._gone) > KEPT_GONE:
            self._gone_before = self._gone.pop(next(iter(self._gone)))

    async def _look_at_work(self) -> None:
        """Note of which machines the work changed."""
        new = frozenset(self._new)
        found = await self._store.read(partial(self._question, new=new))
        self._touched |= self._take_lost(found) | self._take_rollouts(found)
        for machine in self._kept if found.machines is None else found.machines:
            shown = found.shown.get(machine, "")
            if machine in self._kept and self._shown.get(machine, "") != shown:
                self._shown[machine] = shown
                self._touched.add(machine)
        wanted = set(self._shown.values()) - {""}
        # No event tells of templates.
        other = {template for template, _ in self._templates.items() ^ found.templates.items()}
        of_others = {workflow for workflow, work in self._work.items() if work.template in other}
        again = sorted(wanted & (set(found.changed) | of_others) | wanted - self._work.keys())
        changed = set(again)
        self._touched |= {machine for machine, workflow in self._shown.items() if workflow in changed}
        for workflow in self._work.keys() - wanted:
            del self._work[workflow]
        for begin in range(0, len(again), WORKFLOWS_AT_ONCE):
            page = again[begin : begin + WORKFLOWS_AT_ONCE]
            self._work.update(await self._store.read(partial(_works, workflow_ids=page)))
        # What comes behind is looked at next time, so that nothing is missed of what failed here.
        self._sequence, self._stored, self._templates = found.sequence, found.stored, found.templates
        self._new -= new

    def _question(self, tables: Tables, new: Collection[str]) -> _Found:
        work, sequence = tables.machine_work, tables.events.newest()
        stored = tables.room.shares()[Stored.WORKFLOWS].number
        machines: set[str] | None = None
        changed: list[str] = []
        if self._sequence >= 0:
            changed = work.changed(self._sequence)
            machines = {*new, *work.workers(changed)}
            # Deletions leave no event: there are fewer than were there and came.
            if stored != self._stored + work.created(self._sequence) or tables.workflows.half_deleted():
                there = work.there({*self._shown.values()})
                machines |= {machine for machine, workflow in self._shown.items() if workflow and workflow not in there}
        return _Found(
            sequence=sequence,
            stored=stored,
            machines=machines,
            shown=work.shown(machines),
            changed=changed,
            untold=untold(tables),
            waiting=waiting(tables),
            in_rollouts=_in_rollouts(tables, [*self._kept]),
            templates=work.templates(),
        )

    def _take_lost(self, found: _Found) -> set[str]:
        """Take over which histories are lost; returns the machines of which that changed."""
        touched = {
            machine
            for machine in {*self._untold, *found.untold}
            if self._untold.get(machine) != found.untold.get(machine)
        }
        workflows = {
            workflow
            for workflow in {*self._waiting, *found.waiting}
            if self._waiting.get(workflow) != found.waiting.get(workflow)
        }
        self._untold, self._waiting = found.untold, found.waiting
        return touched | {machine for machine, workflow in self._shown.items() if workflow in workflows}

    def _take_rollouts(self, found: _Found) -> set[str]:
        """Take over which machines wait for their turn; returns those of which that changed."""
        before, self._in_rollouts = self._in_rollouts, found.in_rollouts
        return {machine for machine, _ in before.items() ^ found.in_rollouts.items()}

    def _stalled(self) -> set[str]:
        """The machines that stalled since, or did not stall for ever."""
        now = self._clock()
        return {
            machine
            for machine in self._may_stall
            if (kept := self._kept[machine]).newest is not None
            and kept.line is not None
            and bool(stalled(kept.newest, now)) != bool(kept.line.stalled)
        }

    def _progressed(self) -> set[str]:
        """The machines of which an action is further than was told."""
        return {
            machine
            for machine in self._under_way
            if (work := self._work.get(self._shown.get(machine, ""))) is not None
            and (line := self._kept[machine].line) is not None
            and line.work is not None
            and self._progress(work.current) != line.work.progress
        }

    def _seen_as_time_goes(self) -> set[str]:
        """The machines of which the line changes although nothing happened."""
        return self._stalled() | self._progressed() | self._fell_silent()

    def _fell_silent(self) -> set[str]:
        """The machines whose worker is silent since, or is heard of again."""
        return {
            machine
            for machine in self._under_way
            if (kept := self._kept[machine]).line is not None and self._silent_since(machine) != kept.line.silent_since
        }

    def _silent_since(self, machine: str) -> datetime | None:
        """Since when the worker of a machine is silent that works; None: it is not, or has nothing to tell."""
        work = self._work.get(self._shown.get(machine, ""))
        current = work.current if work is not None else None
        if current is None or current.state not in (State.RUNNING, State.HELD) or current.action.worker != machine:
            return None
        contact = self._machines.progress.last_contact(machine)
        # What was told before the appliance stopped last is not known to the second.
        since = max(contact, self._began) if contact else None
        return since if since and (self._clock() - since).total_seconds() > SILENT_SECONDS else None

    def _diagnosed_anew(self) -> set[str]:
        """The machines of which another cause was found since."""
        before, now = self._diagnosed, self._diagnoses()
        if now is before:
            return set()
        self._diagnosed = now
        macs = {mac for mac in {*before, *now} if _told(before.get(mac)) != _told(now.get(mac))}
        return {self._machines.known.holder(MacAddress(mac)) for mac in macs} - {""}

    def _diagnosis(self, hardware: Hardware) -> Diagnosis | None:
        """What says first why a machine is where it is; None: nothing was found."""
        return first_line(each for mac in hardware.interfaces if (each := self._diagnosed.get(mac.mac)) is not None)

    async def _tell(self, machines: Collection[str]) -> None:
        """Make the lines of these machines anew."""
        for index, machine in enumerate(machines):
            if index % MACHINES_AT_ONCE == MACHINES_AT_ONCE - 1:
                await asyncio.sleep(0)
            kept = self._kept.get(machine)
            if kept is None:
                continue
            line = self._line(kept)
            if line != kept.line:
                self._number += 1
                kept.line, kept.text, kept.number = line, encode_machine(line), self._number

    def _line(
        self, kept: _Kept, status: MachineStatus | None = None, outside: Collection[str] = frozenset()
    ) -> MachineLine:
        """`status` is another one than is kept, for somebody who may not know the work `outside`."""
        status = status or kept.status
        hardware = status.hardware
        work = self._work.get(self._shown.get(hardware.id, ""))
        is_begun = work is not None and work.current is not None and work.current.state in BEGUN
        (self._under_way.add if is_begun else self._under_way.discard)(hardware.id)
        rollout, is_paused = self._in_rollouts.get(hardware.id, ("", False))
        diagnosis, is_fault = _told(self._diagnosis(hardware))
        stuck = STALLED if kept.newest is not None and stalled(kept.newest, self._clock()) else ""
        lost = self._untold.get(hardware.id)
        return replace(
            machine_line(status, lost.within(outside) if lost is not None else None),
            stalled=stuck,
            state=replace(status, stalled=stuck, failure=_failure(work), doing=_doing(hardware.id, work)).state,
            name=hardware.name,
            labels=dict(hardware.labels),
            work=self._work_line(hardware.id, work, outside) if work is not None else None,
            rollout=rollout,
            rollout_paused=is_paused,
            diagnosis=diagnosis,
            is_fault=is_fault,
            silent_since=self._silent_since(hardware.id),
        )

    def _work_line(self, machine: str, work: _Work, outside: Collection[str]) -> WorkLine:
        line, worker = work.line, work.current.action.worker if work.current else machine
        other = self._machines.known.get(worker) if worker != machine else None
        elsewhere = called(other.hardware) if other else ""
        lost = self._waiting.get(line.id, ())
        line = replace(line, progress=self._progress(work.current), elsewhere=elsewhere)
        if not lost:
            return line
        first = lost[0].within(outside)
        message = shortened(summary(first.history.entries), LONGEST_MESSAGE)
        return replace(line, lost=True, reason=Reason.HISTORY_LOST, message=message, hint=first.hint)

    def _rate(self) -> float | None:
        """Bytes a second that were sent lately."""
        now, octets, before = self._steady(), self._octets_sent(), self._sent
        if before is None or not 0 <= now - before.at <= LONGEST_RATE or octets < before.octets:
            self._sent = _Sent(at=now, octets=octets)
        elif now - before.at >= SHORTEST_RATE:
            self._sent = _Sent(at=now, octets=octets, rate=(octets - before.octets) / (now - before.at))
        return self._sent.rate if self._sent else None


def health_line(sent: float | None, conditions: Sequence[Diagnosis], *, examined: bool) -> HealthLine:
    """How the appliance is, for people: so many bytes a second are `sent`, and this is wrong with it, as far as it was `examined`."""
    faults = [each.rule for each in conditions if each.gravity is Gravity.FAULT]
    return HealthLine(
        sent=sent,
        faults=tuple(dict.fromkeys(faults)),
        examined=examined,
        conditions=tuple(
            ConditionLine(
                rule=each.rule,
                gravity=each.gravity,
                since=each.since,
                cause=shortened(each.cause, LONGEST_MESSAGE),
                remedy=shortened(each.remedy, LONGEST_MESSAGE),
            )
            for each in conditions[:MOST_CONDITIONS]
            if each.since is not None
        ),
    )


def _told(found: Diagnosis | None) -> tuple[str, bool]:
    """Its cause, and whether it is a fault; of none an empty one."""
    return (
        (shortened(found.cause, LONGEST_MESSAGE), found.gravity is Gravity.FAULT) if found is not None else ("", False)
    )


def _in_rollouts(tables: Tables, machines: Sequence[str]) -> Mapping[str, tuple[str, bool]]:
    """In which rollout those of these machines wait that do, and whether that is paused."""
    if not tables.rollouts.unfinished():
        return {}
    paused = tables.rollouts.paused()
    return {machine: (rollout, rollout in paused) for machine, rollout in tables.rollouts.waiting_in(machines).items()}


def _failure(work: _Work | None) -> Failure | None:
    """How the work that is shown of a machine failed, if it did."""
    if work is None or work.line.state not in (State.FAILED, State.TIMEOUT):
        return None
    return Failure(workflow_id=work.line.id, reason=work.line.reason, message=work.line.message)


def _doing(machine: str, work: _Work | None) -> Doing | None:
    """What else the work that is shown of a machine tells of where it stands."""
    if work is None or work.reached is None:
        return None
    return work.reached.tells(machine, work.line.state)


def _works(tables: Tables, workflow_ids: Sequence[str]) -> dict[str, _Work]:
    listed = tables.workflows.listed(workflow_ids)
    pending = [each.id for each in listed if each.state is State.PENDING]
    services = tables.services.of(pending) if pending else {}
    reached = tables.machine_work.reached([each.id for each in listed])
    return {
        each.id: _Work(
            line=_work_line(tables, each, services.get(each.id, ())),
            template=each.template_id,
            current=each.current(),
            reached=reached.get(each.id),
        )
        for each in listed
    }


def _work_line(tables: Tables, workflow: ListedWorkflow, services: Sequence[ServiceStatus]) -> WorkLine:
    current = workflow.current()
    line = WorkLine(
        id=workflow.id,
        name=workflow.name,
        template=workflow.template_name,
        state=workflow.state,
        run=workflow.run,
        since=workflow.updated_at,
        awaited=tuple(each.service.spec.name for each in services if each.ready_at is None),
        template_changed=workflow.state in (State.FAILED, State.TIMEOUT)
        and changed_since(tables, workflow, None) != "",
    )
    if current is None:
        return line
    ended = _ended(workflow, current)
    attempt = current.failures + (workflow.state is State.RUNNING or not current.failures)
    line = replace(
        line,
        since=_since(workflow, current),
        action=current.action.spec.name,
        number=current.action.index + 1,
        done=workflow.done,
        total=workflow.total,
        reason=ended.reason,
        message=shortened(ended.message, LONGEST_MESSAGE),
        hint=shortened(ended.hint, LONGEST_MESSAGE),
        attempt=attempt,
        attempts=max(current.action.spec.retries + 1, attempt),
        leaving=current.state is State.LEAVING,
        service=workflow.service,
    )
    hold = tables.holds.open_of(current.attempt) if current.held_at else None
    if hold is None:
        return line
    ended = hold.outcome or ended
    return replace(
        line,
        since=hold.held_at,
        held=hold.kind,
        hold=hold.id,
        deadline=hold.deadline,
        on_expiry=hold.on_expiry,
        decided=hold.verdict is not None,
        reason=ended.reason,
        message=shortened(ended.message, LONGEST_MESSAGE),
        hint=shortened(ended.hint, LONGEST_MESSAGE),
    )


def _since(workflow: ListedWorkflow, current: ActionStatus) -> datetime:
    """When what the workflow is at began."""
    if workflow.state is not State.RUNNING:
        return workflow.updated_at
    return current.left_at or current.resumed_at or current.started_at or workflow.updated_at


def _ended(workflow: ListedWorkflow, current: ActionStatus) -> Outcome:
    """Why a workflow ended badly, or is about to; without a reason where there is nothing to explain."""
    bad = (State.FAILED, State.TIMEOUT)
    if workflow.state in bad and not workflow.service and current.outcome is not None and current.state in bad:
        return current.outcome
    reason, message = explanation(workflow)
    return Outcome(state=workflow.state, reason=reason, message=message, hint=hint(reason, message))
