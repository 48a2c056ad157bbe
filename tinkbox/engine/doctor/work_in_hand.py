"""The workflows that are under way or wait, as the doctor looks at them: what each stands at, and what it waits for.

Those that are not over are kept in memory, and read again when events tell of them: of a thousand machines that work
well a round costs one question to the store and a look at each machine's record.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from tinkbox import __version__
from tinkbox.engine.doctor.case import ON_APPLIANCE, AwaitedService, Printed, Work
from tinkbox.engine.doctor.waiting import waits_for
from tinkbox.engine.machines.machines import Machines, MachineStatus
from tinkbox.engine.templates.wanted_images import wanted_images
from tinkbox.engine.timeline.syslog import Syslog
from tinkbox.engine.workflows.missing_images import missing_images
from tinkbox.engine.workflows.retries import changed_since, create_command, overtaken_on
from tinkbox.engine.workflows.workflows import find_workflow
from tinkbox.model import keys
from tinkbox.model.boot import Stage
from tinkbox.model.conditions import explanation
from tinkbox.model.hardware import MacAddress, called
from tinkbox.model.images.standing import StandingOf
from tinkbox.model.reasons import hint
from tinkbox.model.services import APPLIANCE, Phase, PlannedService, ServiceStatus
from tinkbox.model.telling import Telling
from tinkbox.model.text import named, one_line, quoted
from tinkbox.model.workflow import FINAL, ActionStatus, ListedWorkflow, PlannedAction, State, WorkflowHead, full_name
from tinkbox.store.database import Store, Tables
from tinkbox.wire.polling import POLL_SECONDS

AT_ONCE: Final = 50  # workflows that are read in one question, and machines between two turns of the loop
TAIL: Final = 2
ENDED_TAIL: Final = 4
LONGEST_NAME: Final = 60
LONGEST_LINE: Final = 300
_BAD: Final = (State.FAILED, State.TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the store says now: how far its events go, which workflows are not over, and which of these are read anew."""

    sequence: int
    unfinished: Sequence[str]
    anew: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patient:
    """A workflow that is looked at by itself: `work` where it stands, `machines` the ids of those that it needs now."""

    work: Work
    machines: tuple[str, ...]


class WorkInHand:
    """`standing_of` tells where an image comes from, `printed_at` when a machine's attempt printed last (`Attempts`)."""

    def __init__(
        self,
        store: Store,
        machines: Machines,
        syslog: Syslog,
        standing_of: StandingOf,
        clock: Callable[[], datetime],
        printed_at: Callable[[str, str], datetime | None] = lambda _, __: None,
    ) -> None:
        self._store = store
        self._printed_at = printed_at
        self._machines = machines
        self._syslog = syslog
        self._standing_of = standing_of
        self._clock = clock
        self._sequence = -1
        self._kept: dict[str, ListedWorkflow] = {}

    async def under_way(self) -> list[Work]:
        """Every workflow that is not over, oldest first, without the lines of kernels."""
        flows = await self._unfinished()
        ids = [each.id for each in flows]
        shared = [each for each, number in Counter(map(_worker, flows)).items() if number > 1 and each]

        def question(tables: Tables) -> tuple[Mapping[str, Sequence[ServiceStatus]], dict[str, str | None]]:
            return tables.services.of(ids), {each: tables.queues.next_for(each) for each in shared}

        services, first = await self._store.read(question)
        found: list[Work] = []
        images: dict[str, tuple[str, ...]] = {}
        for number, flow in enumerate(flows):
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
            work = await self._work(flow, services.get(flow.id, ()), self._before(flow, first.get(_worker(flow))))
            if flow.at is not None and flow.at.state is State.PENDING:
                image = flow.at.action.spec.image
                if image not in images:
                    images[image] = self._missing([flow.at])
                work = replace(work, images=images[image])
            found.append(work)
        return found

    async def of_machines(self, ids: Collection[str]) -> dict[str, Work]:
        """By machine, the workflow that it works on or is next to, or that it did last, where that stands at this machine."""
        shown = await self._store.read(lambda tables: tables.machine_work.shown(ids))
        told = {each.id: each for each in await self._with_chain(await self._some([*dict.fromkeys(shown.values())]))}
        return {
            machine: work
            for machine, workflow in shown.items()
            if (work := told.get(workflow)) is not None and work.hardware_id == machine
        }

    async def failed_since(self, moment: datetime) -> list[str]:
        """The ids of the machines of which the newest workflow failed since then."""

        def question(tables: Tables) -> list[str]:
            notable = tables.machine_work.notable()
            failed = {worker: each for worker, (each, state) in notable.items() if state in _BAD}
            lately = {each.id for each in tables.workflows.listed([*failed.values()]) if each.updated_at > moment}
            return [worker for worker, each in failed.items() if each in lately]

        return await self._store.read(question)

    async def named(self, key: str) -> list[str]:
        """The ids of the workflows that have a key as their id or their name."""
        return [each.id for each in await self._store.read(lambda tables: keys.exactly(tables.workflows, key))]

    async def others_called(self, name: str, but: str) -> list[tuple[str, State]]:
        """The ids of the other workflows of this name with their states, the newest first."""
        so_called = await self._store.read(lambda tables: tables.workflows.called(name))
        return [each for each in reversed(so_called) if each[0] != but]

    async def beginning(self, key: str) -> list[str]:
        """The ids of the workflows that begin with a key."""
        return [each.id for each in await self._store.read(lambda tables: keys.beginning(tables.workflows, key))]

    async def patient(self, key: str) -> Patient:
        """The workflow that a key means (`Workflows`), with all that is known of its images and its machine's kernel."""
        flow = await self._store.read(lambda tables: find_workflow(tables, key))
        (work,) = await self._with_chain(await self._some([flow.id]))
        if flow.state not in FINAL:
            # What is running has its image already.
            left = [each for each in flow.actions if each.state is State.PENDING]
            awaited = [each.service for each in flow.awaited()]
            work = replace(work, images=self._missing(left, awaited))
        hosts = [each.service.host for each in flow.awaited() if each.service.host != APPLIANCE]
        return Patient(
            work=await self.with_output(await self.with_kernel(work)),
            machines=tuple(dict.fromkeys(each for each in (work.hardware_id, *hosts) if each)),
        )

    async def waits(self, workflow_id: str) -> Telling:
        """What a workflow waits for now, empty where it waits for nothing."""
        for work in await self._with_chain(await self._some([workflow_id])):
            return Telling(text=work.waits, of=work.waits_of)
        return Telling()

    async def with_kernel(self, work: Work) -> Work:
        """The same with what the kernel of its machine said since the action began."""
        if work.since is None or not work.machine or work.action_state is State.PENDING:
            return work
        macs = self._macs(work.hardware_id) or [work.machine]
        return replace(work, kernel=tuple(await self._syslog.of_kernel(macs, work.since, work.ended_at)))

    async def with_output(self, work: Work) -> Work:
        """The same with what its running action printed."""
        if work.action_state is not State.RUNNING or work.state is not State.RUNNING:
            return work

        def question(tables: Tables) -> tuple[str, Printed] | None:
            running = [each for each in tables.workflows.attempts(work.id) if each.state is State.RUNNING]
            if not running:
                return None
            attempt = running[-1]
            printed = tables.output.last(attempt.token).decode(errors="replace")
            lines = [told for each in printed.splitlines() if (told := one_line(each, LONGEST_LINE))]
            return attempt.token, Printed(last=lines[-1] if lines else "", anything=attempt.output_length > 0)

        found = await self._store.read(question)
        if found is None:
            return work
        token, told = found
        return replace(work, printed=replace(told, at=self._printed_at(work.hardware_id, token)))

    def warned(self, work: Work) -> bool:
        """Whether the kernel of the machine said anything grave since the action began, as far as that is in memory."""
        began = work.since
        return began is not None and any(
            at is not None and at >= began for at in map(self._syslog.warned, self._macs(work.hardware_id))
        )

    async def _unfinished(self) -> list[ListedWorkflow]:
        before = self._sequence

        def question(tables: Tables) -> _Found:
            ids = tables.workflows.unfinished_and_newest(0)
            changed = set(ids if before < 0 else tables.machine_work.changed(before))
            return _Found(
                sequence=tables.events.newest(),
                unfinished=ids,
                anew=[each for each in ids if each in changed or each not in self._kept],
            )

        found = await self._store.read(question)
        for begin in range(0, len(found.anew), AT_ONCE):
            page = found.anew[begin : begin + AT_ONCE]
            self._kept |= {each.id: each for each in await self._store.read(partial(_listed, ids=page))}
        there = set(found.unfinished)
        self._kept = {each: flow for each, flow in self._kept.items() if each in there}
        self._sequence = found.sequence
        return [flow for each in found.unfinished if (flow := self._kept.get(each)) and flow.state not in FINAL]

    async def _some(self, ids: Sequence[str]) -> list[Work]:
        """These workflows, oldest first."""

        def question(
            tables: Tables,
        ) -> tuple[
            list[ListedWorkflow],
            Mapping[str, Sequence[ServiceStatus]],
            dict[str, str | None],
            dict[str, str],
            dict[str, tuple[Telling, str]],
        ]:
            flows = tables.workflows.listed(ids)
            left = [each for each in flows if each.state not in FINAL]
            first = {worker: tables.queues.next_for(worker) for worker in {*map(_worker, left)} - {""}}
            others = [each for each in first.values() if each and each not in {one.id for one in left}]
            names = {each.id: _told(each) for each in (*left, *tables.workflows.listed(others))}
            late = {each.id: self._not_as_before(tables, each) for each in flows if each.state in _BAD}
            lacking = [each.id for each in flows if each.state not in FINAL or each.service]
            return flows, tables.services.of(lacking), first, names, late

        flows, services, first, names, late = await self._store.read(question)
        found = []
        for flow in flows:
            ahead = first.get(_worker(flow)) or ""
            before = (ahead, names[ahead]) if ahead in names and ahead != flow.id else None
            work = await self._work(flow, services.get(flow.id, ()), before)
            if flow.at is not None and flow.at.state is State.PENDING and flow.state not in FINAL:
                work = replace(work, images=self._missing([flow.at]))
            overtaken, changed = late.get(flow.id, (Telling(), ""))
            found.append(replace(work, overtaken=overtaken.text, overtaken_of=overtaken.of, changed=changed))
        return found

    async def _with_chain(self, works: Sequence[Work]) -> list[Work]:
        """The same with what those wait for that are done first."""
        ahead = {each.id: each for each in await self._some([*{first for each in works for first in each.before}])}
        return [
            replace(
                each,
                waits=f"{each.waits}; that one waits for {ahead[each.before[0]].waits}",
                waits_of=(*each.waits_of, *ahead[each.before[0]].waits_of),
            )
            if each.waits and each.before and each.before[0] in ahead and ahead[each.before[0]].waits
            else each
            for each in works
        ]

    def _not_as_before(self, tables: Tables, flow: ListedWorkflow) -> tuple[Telling, str]:
        """(why a workflow that is over is not retried, as its machine is another one's by now; that its template was changed), or empty."""
        worker = _worker(flow)
        record = self._machines.known.get(worker)
        machine = record.hardware if record is not None else None
        again = create_command(flow.template_name, flow.devices, machine)
        why = overtaken_on(tables, flow.id, worker, again) if worker else Telling()
        return why, changed_since(tables, flow, machine)

    def _before(self, flow: ListedWorkflow, first: str | None) -> tuple[str, str] | None:
        other = self._kept.get(first or "")
        return (other.id, _told(other)) if other is not None and other.id != flow.id else None

    async def _work(
        self, flow: ListedWorkflow, services: Sequence[ServiceStatus], before: tuple[str, str] | None
    ) -> Work:
        """A workflow as the doctor looks at it; `before` is the one that its machine does first, with its words."""
        at, now = flow.at, self._clock()
        machine = await self._machine(_worker(flow))
        awaited = [self._awaited(each) for each in services if each.ready_at is None and flow.state is State.PENDING]
        gone = [self._awaited(each) for each in services if _is_gone(each) and flow.state not in FINAL]
        work = Work(
            id=flow.id,
            name=flow.name,
            template=flow.template_name,
            state=flow.state,
            created_at=flow.created_at,
            before=(before[0],) if before else (),
            awaited=tuple(each.name for each in awaited),
            services=tuple(awaited),
            gone=tuple(gone),
            ended_at=flow.updated_at if flow.state in FINAL else None,
        )
        if at is not None:
            since = at.left_at or at.resumed_at or at.started_at
            work = replace(
                work,
                action=_named(at.action),
                action_state=at.state,
                since=since,
                timeout=_timeout(flow, at.action.spec.timeout, since),
                hardware_id=at.action.worker,
                image=at.action.spec.image,
            )
        if machine is not None:
            work = replace(
                work,
                machine=self._machines.progress.seen_last(machine.hardware),
                called=called(machine.hardware),
                parked=machine.parked,
                contact=machine.last_contact,
                idle=self._is_idle(machine),
                polls=timedelta(seconds=POLL_SECONDS) if work.action_state is State.PENDING else work.polls,
                engine_away=self._machines.progress.engine_away_since(machine.hardware.id),
                other_version=version
                if (version := self._machines.progress.worker_version(machine.hardware.id)) != __version__
                else "",
            )
        if flow.state in FINAL:
            host = next((self._awaited(each).host for each in services if each.service.spec.name == flow.service), "")
            return replace(_ended(work, flow), service_host=host)
        held = at is not None and at.held_at is not None
        if at is not None and (at.state is State.PENDING or held) and flow.state is not State.STOPPING:
            waits = waits_for(
                now,
                flow.created_at,
                machine,
                before=before[1] if before else "",
                services=awaited,
                held=work.action if held else "",
                begun=flow.state is State.RUNNING,
            )
            work = replace(work, waits=waits, waits_of=work.before)
        return work

    def _is_idle(self, machine: MachineStatus) -> bool:
        """Whether a machine was seen last with its worker in touch, and nothing keeps or sent it away from that since."""
        record = self._machines.known.get(machine.hardware.id)
        goes = record is None or bool(record.leaving)
        return machine.stage is Stage.WORKER and not (goes or machine.retired or machine.parked)

    async def _machine(self, hardware_id: str) -> MachineStatus | None:
        return await self._machines.get(hardware_id) if self._machines.known.has(hardware_id) else None

    def _macs(self, hardware_id: str) -> list[MacAddress]:
        record = self._machines.known.get(hardware_id)
        return [each.mac for each in record.hardware.interfaces] if record else []

    def _missing(self, actions: Iterable[ActionStatus], services: Iterable[PlannedService] = ()) -> tuple[str, ...]:
        return tuple(missing_images(wanted_images(actions, services), self._standing_of))

    def _awaited(self, status: ServiceStatus) -> AwaitedService:
        service, standing = status.service, status.standing
        host = ON_APPLIANCE if service.host == APPLIANCE else self._machines.known.name(service.host)
        return AwaitedService(
            name=service.spec.name,
            host=host or service.spec.worker,
            phase=standing.phase,
            begun_at=status.begun_at,
            timeout=timedelta(seconds=service.spec.timeout),
            restarts=standing.restarts,
            reason=standing.reason,
            message=standing.message,
            tail=tuple(standing.tail[-TAIL:]),
        )


def _timeout(flow: WorkflowHead, seconds: int, since: datetime | None) -> timedelta | None:
    """How long an action may take that began then and has so many seconds: the whole workflow has a time as well, which may end first."""
    own = timedelta(seconds=seconds) if seconds else None
    if not flow.global_timeout or flow.started_at is None or since is None:
        return own
    left = flow.started_at + timedelta(seconds=flow.global_timeout) - since
    return min(own, left) if own is not None else left


def _is_gone(status: ServiceStatus) -> bool:
    """Whether a service that was ready is not there any more; one that ended by itself and well is no loss."""
    standing = status.standing
    down = standing.phase in (Phase.STARTING, Phase.UNHEALTHY, Phase.RESTARTING, Phase.FAILED)
    return status.ready_at is not None and (down or (standing.phase is Phase.READY and bool(standing.reason)))


def _listed(tables: Tables, ids: Sequence[str]) -> list[ListedWorkflow]:
    return tables.workflows.listed(ids)


def _worker(flow: ListedWorkflow) -> str:
    """The machine of the action that a workflow stands at."""
    return flow.at.action.worker if flow.at is not None else ""


def _named(action: PlannedAction) -> str:
    return named(full_name(action), 2 * LONGEST_NAME)


def _told(flow: WorkflowHead) -> str:
    """A workflow that is done first, in words."""
    at = flow.current()
    doing = f", at {_named(at.action)}" if at is not None and flow.state is not State.PENDING else ""
    return f"workflow {quoted(flow.name)} ({flow.id[:8]}, {flow.state}{doing})"


def _ended(work: Work, flow: ListedWorkflow) -> Work:
    """A workflow that is over, with why."""
    if flow.state not in _BAD:
        return work
    at = flow.at
    outcome = at.outcome if at is not None and at.state in _BAD and not flow.service else None
    reason, message = (outcome.reason, outcome.message) if outcome else explanation(flow)
    return replace(
        work,
        reason=reason,
        message=message,
        hint=outcome.hint if outcome else hint(reason, message),
        tail=tuple(outcome.tail[-ENDED_TAIL:]) if outcome else (),
        service=flow.service,
    )
