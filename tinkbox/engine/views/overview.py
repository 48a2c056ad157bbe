"""The appliance at a glance, put together for those who look at it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from tinkbox.engine.machines.machines import Machines, MachineStatus
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.engine.timeline.stalls import stalled
from tinkbox.engine.turns import in_slices
from tinkbox.engine.views.status_within import lost_within
from tinkbox.engine.workflows.journals import LostWork, untold, waiting
from tinkbox.engine.workflows.workflows import SHOWN_FINISHED
from tinkbox.model.actions.progress import Progress
from tinkbox.model.conditions import explanation
from tinkbox.model.diagnosis import Diagnosis
from tinkbox.model.disk_usage import DiskUsage
from tinkbox.model.hardware import address_of, hostname_of, mac_of, name_of
from tinkbox.model.journal import summary
from tinkbox.model.labels import Selector
from tinkbox.model.leases import Claimant
from tinkbox.model.limits import Standing
from tinkbox.model.listing import Order, WorkflowListing
from tinkbox.model.reasons import Reason, hint
from tinkbox.model.services import Phase, ServiceStatus
from tinkbox.model.workflow import (
    FINAL,
    ActionStatus,
    ListedWorkflow,
    Outcome,
    PlannedAction,
    ShownTasks,
    State,
    TaskCount,
)
from tinkbox.store.database import Store, Tables
from tinkbox.wire.messages.status import (
    DeletedLine,
    DiskLine,
    FailureLine,
    HeldBackLine,
    HeldLine,
    LimitLine,
    MachineLine,
    RunningLine,
    ServiceLine,
    Snapshot,
    StoredLine,
    StrangerLine,
    TaskLine,
    WorkflowLine,
)

LATELY = timedelta(minutes=10)
MAX_STRANGERS = 20
PAGE = 10  # workflows that are read at once: booting machines are answered in between
SHOWN_OF_EACH = 20  # tasks of a workflow, and services: a template may have thousands
_UNFINISHED: Final = tuple(each for each in State if each not in FINAL)
_AS_UNKNOWN: Final = frozenset({"NotKnown"})
NOTHING_FOUND: Final[Mapping[str, Diagnosis]] = MappingProxyType({})


class Overview:
    """What there is now: machines, workflows and what each is at."""

    def __init__(
        self,
        store: Store,
        machines: Machines,
        disk: Callable[[], Awaitable[DiskUsage]],
        progress: Callable[[ActionStatus | None], Progress | None],
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._machines = machines
        self._disk = disk
        self._progress = progress
        self._clock = clock

    async def within(self, scope: Selector, version: str) -> Snapshot:
        """The machines of a scope, and the workflows of these alone that are not over or ended last; of the appliance itself nothing."""
        machines, within = await self._machines.listed(scope=scope), self._machines.within(scope)
        machines = [each for each in machines if each.retired is None]
        hostnames = {each.hardware.id: name_of(each.hardware) for each in machines}

        def question(tables: Tables) -> tuple[list[str], Mapping[str, Sequence[LostWork]], Mapping[str, LostWork]]:
            of_these = WorkflowListing(within=within.ids())
            ids, _ = tables.workflows.listed_ids(replace(of_these, states=_UNFINISHED))
            newest = replace(
                of_these, states=tuple(FINAL), order=Order("created_at", descending=True), limit=SHOWN_FINISHED
            )
            shown = {*ids, *tables.workflows.listed_ids(newest)[0]}
            waits = {workflow: lost for workflow, lost in waiting(tables).items() if workflow in shown}
            gone = {machine: lost for machine, lost in untold(tables).items() if machine in hostnames}
            told = (*gone.values(), *(each for several in waits.values() for each in several))
            outside = within.outside(tables, {one for each in told for one in each.of})
            return (
                tables.workflows.listed_ids(replace(of_these, among=list(shown)))[0],
                {workflow: [each.within(outside) for each in lost] for workflow, lost in waits.items()},
                lost_within(gone, outside),
            )

        ids, undecided, lost = await self._store.read(question)
        return Snapshot(
            now=self._clock(),
            version=version,
            machines=await _machine_lines(machines, lost),
            workflows=await self._workflow_lines(ids, hostnames, undecided),
        )

    async def snapshot(self, version: str) -> Snapshot:
        """Every machine, and the workflows that are not over or ended last; `version` is the appliance's."""
        machines = await self._machines.all()
        hostnames = {each.hardware.id: name_of(each.hardware) for each in machines}

        def question(tables: Tables) -> tuple[list[str], Mapping[str, Sequence[LostWork]], Mapping[str, LostWork]]:
            return tables.workflows.unfinished_and_newest(SHOWN_FINISHED), waiting(tables), untold(tables)

        ids, undecided, lost = await self._store.read(question)
        return Snapshot(
            now=self._clock(),
            version=version,
            machines=await _machine_lines(machines, lost),
            workflows=await self._workflow_lines(ids, hostnames, undecided),
            strangers=stranger_lines(self._machines, self._clock()),
            disk=disk_line(await self._disk()),
        )

    async def _workflow_lines(
        self, ids: Sequence[str], hostnames: Mapping[str, str], lost: Mapping[str, Sequence[LostWork]]
    ) -> tuple[WorkflowLine, ...]:
        lines: list[WorkflowLine] = []
        for begin in range(0, len(ids), PAGE):
            lines += await self._lines(ids[begin : begin + PAGE], hostnames, lost)
        return tuple(lines)

    async def _lines(
        self, ids: Sequence[str], hostnames: Mapping[str, str], lost: Mapping[str, Sequence[LostWork]]
    ) -> list[WorkflowLine]:
        def question(tables: Tables) -> list[tuple[WorkflowLine, ActionStatus | None]]:
            tasks, services = tables.workflows.tasks(ids, SHOWN_OF_EACH), tables.services.of(ids)
            return [
                (
                    workflow_line(
                        tables,
                        each,
                        tasks.get(each.id, ShownTasks()),
                        services.get(each.id, ()),
                        hostnames,
                        lost.get(each.id, ()),
                    ),
                    each.current(),
                )
                for each in tables.workflows.listed(ids)
            ]

        return [self._with_progress(line, current) for line, current in await self._store.read(question)]

    def _with_progress(self, line: WorkflowLine, current: ActionStatus | None) -> WorkflowLine:
        progress = self._progress(current)
        if line.running is None or progress is None:
            return line
        return replace(line, running=replace(line.running, progress=progress))


async def _machine_lines(machines: Sequence[MachineStatus], lost: Mapping[str, LostWork]) -> tuple[MachineLine, ...]:
    return tuple(await in_slices(lambda each: machine_line(each, lost.get(each.hardware.id)), machines))


def machine_line(status: MachineStatus, lost: LostWork | None = None) -> MachineLine:
    """`lost` is what it did while no unfinished workflow waits for it, until a person decides about it."""
    return MachineLine(
        id=status.hardware.id,
        hostname=hostname_of(status.hardware),
        mac=mac_of(status.hardware),
        address=str(address_of(status.hardware) or ""),
        stage=status.stage or "",
        stage_at=status.stage_at,
        ticket=status.ticket,
        boots=status.boots,
        parked=status.kept_from_booting,
        last_contact=status.last_contact,
        stalled=status.stalled,
        lost=f"{Reason.HISTORY_LOST}: {summary(lost.history.entries)}" if lost else "",
        lost_hint=lost.hint if lost else "",
    )


def limit_lines(standings: Iterable[Standing], claimants: Iterable[Claimant] = ()) -> tuple[LimitLine, ...]:
    """The limits that a person wants to read of, and the hosts whose word of a pool's addresses is not taken any more."""
    notable = (
        LimitLine(
            name=each.limit.name,
            used=each.limit.counted(each.used),
            total=each.limit.shown(each.limit.all),
            held_back=tuple(
                HeldBackLine(holder=one.holder, held=each.limit.shown(one.held), refused=one.refused)
                for one in each.held_back
            ),
        )
        for each in standings
        if each.notable
    )
    return (*notable, *map(_claimed, claimants))


def _claimed(claimant: Claimant) -> LimitLine:
    claimed, refused = _addresses(claimant.addresses), claimant.addresses - claimant.believed
    one = HeldBackLine(holder=claimant.mac or "many MACs", held=claimed, refused=refused)
    return LimitLine(name="arp_answers", used=claimed, total=_addresses(claimant.size), held_back=(one,))


def _addresses(number: int) -> str:
    return f"{number} address" if number == 1 else f"{number} addresses"


def disk_line(disk: DiskUsage) -> DiskLine:
    """What takes room, for people."""
    shares = disk.shares
    return DiskLine(
        free=disk.free,
        nearly_full=disk.nearly_full,
        full=disk.full,
        database=disk.database,
        stored=tuple(
            StoredLine(kind=each.title, octets=shares[each].octets, number=shares[each].number, remedy=each.remedy)
            for each in disk.largest
        ),
        deleted=DeletedLine(**asdict(disk.early)) if disk.early else None,
        remedy=disk.remedy() if disk.nearly_full else "",
    )


def stranger_lines(
    machines: Machines, now: datetime, diagnoses: Mapping[str, Diagnosis] = NOTHING_FOUND
) -> tuple[StrangerLine, ...]:
    """Machines that nobody knows and that were seen lately, those seen last first; `diagnoses` by MAC."""
    # That nobody knows it is what the line says already.
    found = {mac: each for mac, each in diagnoses.items() if each.rule not in _AS_UNKNOWN}
    return tuple(
        StrangerLine(
            mac=each.mac,
            stage=each.stage,
            stage_at=each.at,
            detail=each.detail,
            stalled=stalled(each, now),
            diagnosis=found[each.mac].cause if each.mac in found else "",
            remedy=found[each.mac].remedy if each.mac in found else "",
        )
        for each in machines.timeline.machines()
        if not machines.known.knows(each.mac) and now - ended_at(each) < LATELY
    )[:MAX_STRANGERS]


def workflow_line(
    tables: Tables,
    workflow: ListedWorkflow,
    shown: ShownTasks,
    services: Sequence[ServiceStatus],
    hostnames: Mapping[str, str],
    lost: Sequence[LostWork] = (),
) -> WorkflowLine:
    current = workflow.current()
    last = _last_line(tables, current) if current and current.state is not State.SUCCESS else ""
    there = () if workflow.state in FINAL else services
    if len(there) > SHOWN_OF_EACH:
        # Those that one wants to see first.
        there = sorted(there, key=lambda each: each.standing.phase is Phase.READY)
    return WorkflowLine(
        id=workflow.id,
        name=workflow.name,
        state=workflow.state,
        created_at=workflow.created_at,
        ended_at=workflow.updated_at if workflow.state in FINAL else None,
        tasks=tuple(_task(each, hostnames) for each in shown.tasks),
        tasks_before=shown.before,
        tasks_after=shown.after,
        stop_into=workflow.stop_into,
        retried=_retried(tables, workflow, current),
        running=None if lost else _running(current, last),
        held=_held(tables, current, last),
        failure=_lost(lost, current) or _service_failure(workflow, services) or _failure(workflow, current, last),
        services=tuple(_service(each, hostnames) for each in there[:SHOWN_OF_EACH]),
        services_more=max(0, len(there) - SHOWN_OF_EACH),
    )


def _task(task: TaskCount, hostnames: Mapping[str, str]) -> TaskLine:
    worker = hostnames.get(task.worker) or task.address
    return TaskLine(name=task.name, worker=worker, done=task.done, total=task.total, skipped=task.skipped)


def _service(status: ServiceStatus, hostnames: Mapping[str, str]) -> ServiceLine:
    service, standing = status.service, status.standing
    return ServiceLine(
        name=service.spec.name,
        host=hostnames.get(service.host) or service.spec.worker,
        phase=standing.phase,
        restarts=standing.restarts,
        message=standing.message,
        ready=status.ready_at is not None,
    )


def _running(current: ActionStatus | None, last: str) -> RunningLine | None:
    if current is None or current.state not in {State.RUNNING, State.LEAVING}:
        return None
    action, since = current.action, current.left_at or current.resumed_at or current.started_at
    if since is None:
        return None
    return RunningLine(
        task=action.task,
        name=action.spec.name,
        started_at=since,
        timeout=action.spec.timeout,
        attempt=current.failures + 1,
        attempts=max(action.spec.retries, current.failures) + 1,
        leaving=current.state is State.LEAVING,
        last_output=last,
    )


def _held(tables: Tables, current: ActionStatus | None, last: str) -> HeldLine | None:
    hold = tables.holds.open_of(current.attempt) if current and current.held_at else None
    if current is None or hold is None:
        return None
    ended = hold.outcome or Outcome(state=State.HELD)
    return HeldLine(
        task=current.action.task,
        name=current.action.spec.name,
        kind=hold.kind,
        held_at=hold.held_at,
        deadline=hold.deadline,
        on_expiry=hold.on_expiry,
        reason=ended.reason,
        message=ended.message,
        exit_code=ended.exit_code,
        signal=ended.signal,
        decided=f"{hold.verdict.who}: {hold.verdict.verb}" if hold.verdict else "",
        last_output=ended.tail[-1] if ended.tail else last,
    )


def _retried(tables: Tables, workflow: ListedWorkflow, current: ActionStatus | None) -> FailureLine | None:
    """The newest failure of the current action while it is tried again."""
    if current is None or not current.failures or workflow.state is not State.RUNNING:
        return None
    made = tables.workflows.attempts(workflow.id)
    ended = [each.outcome for each in made if each.position == current.action.index and each.outcome]
    return _told(current.action, ended[-1], attempt=current.failures) if ended else None


def _lost(lost: Sequence[LostWork], current: ActionStatus | None) -> FailureLine | None:
    """What a workflow waits for a person with."""
    if not lost or current is None:
        return None
    told = Outcome(state=current.state, reason=Reason.HISTORY_LOST, message=summary(lost[0].history.entries))
    return _told(current.action, replace(told, hint=lost[0].hint), attempt=1)


def _service_failure(workflow: ListedWorkflow, services: Sequence[ServiceStatus]) -> FailureLine | None:
    """Why the workflow could not begin, when a service is to blame."""
    found = next((each.standing for each in services if each.service.spec.name == workflow.service), None)
    if found is None:
        return None
    return FailureLine(
        task="",
        name="",
        reason=workflow.reason,
        message=workflow.message,
        hint=hint(workflow.reason, workflow.message),
        exit_code=found.exit_code,
        signal=found.signal,
        last_output=found.tail[-1] if found.tail else "",
        service=workflow.service,
    )


def _failure(workflow: ListedWorkflow, current: ActionStatus | None, last: str) -> FailureLine | None:
    if current is None or workflow.state not in {State.FAILED, State.TIMEOUT}:
        return None
    outcome = current.outcome
    if outcome is None or current.state not in {State.FAILED, State.TIMEOUT}:
        reason, message = explanation(workflow)
        outcome = Outcome(state=workflow.state, reason=reason, message=message, hint=hint(reason, message))
    return replace(_told(current.action, outcome, attempt=max(1, current.failures)), last_output=last)


def _told(action: PlannedAction, outcome: Outcome, attempt: int) -> FailureLine:
    return FailureLine(
        task=action.task,
        name=action.spec.name,
        reason=outcome.reason,
        message=outcome.message,
        hint=outcome.hint,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        attempt=attempt,
        attempts=max(action.spec.retries + 1, attempt),
        last_output=outcome.tail[-1] if outcome.tail else "",
    )


def _last_line(tables: Tables, current: ActionStatus) -> str:
    if current.outcome is not None and current.outcome.tail:
        return current.outcome.tail[-1]
    last = tables.output.last(current.attempt)
    # A progress display ends its lines with carriage returns.
    lines = [line.strip() for line in last.decode(errors="replace").replace("\r", "\n").split("\n")]
    return next((line for line in reversed(lines) if line), "")
