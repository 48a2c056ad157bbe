"""Use-cases of workflows: create, show, delete, and the appliance at a glance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tinkbox.engine.bells import CHANGES, Bells, worker_bell
from tinkbox.engine.machines import Machines, MachineStatus, primary
from tinkbox.engine.rendering import render
from tinkbox.engine.templates import find_template, only
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem
from tinkbox.model.template import Definition, merged_environment, merged_volumes
from tinkbox.model.workflow import FINAL, ActionStatus, Event, PlannedAction, State, Workflow
from tinkbox.store.data import DataVersion
from tinkbox.store.database import Store, Tables
from tinkbox.store.output import Piece
from tinkbox.store.workflows import Attempt
from tinkbox.wire.status import FailureLine, MachineLine, RunningLine, Snapshot, TaskLine, WorkflowLine

SHOWN_FINISHED = 50
MAX_DEVICES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What is kept of one attempt's output from some offset on; `length` counts every byte received."""

    attempt: Attempt
    action: PlannedAction
    pieces: Sequence[Piece]


class Workflows:
    """Create, show and delete workflows.

    Wherever a `key` is asked, it is an id, a unique beginning of one, or the name of the newest so called.
    """

    def __init__(
        self, store: Store, bells: Bells, machines: Machines, clock: Callable[[], datetime], new_id: Callable[[], str]
    ) -> None:
        self._store = store
        self._bells = bells
        self._machines = machines
        self._clock = clock
        self._new_id = new_id

    async def create(self, template_key: str, devices: Mapping[str, str]) -> str:
        """Bind a template to machines, give each its ticket, and return the workflow's id.

        What is rendered now is what will run, whatever becomes of template and hardware.  Raises
        NotFound for an unknown template and Invalid with every problem otherwise.
        """
        if len(devices) > MAX_DEVICES:
            raise Invalid(f"{len(devices)} devices: at most {MAX_DEVICES} fit into one workflow")
        async with self._store.read() as tables:
            template = await find_template(tables, template_key)
        text, definition = render(template.data, devices)
        now, workflow_id = self._clock(), self._new_id()

        async def use_case(tables: Tables) -> list[str]:
            actions = await _bind(tables, definition)
            workflow = Workflow(
                id=workflow_id,
                name=definition.name,
                template_id=template.id,
                devices=devices,
                text=text,
                state=State.PENDING,
                actions=tuple(ActionStatus(action=action) for action in actions),
                created_at=now,
                updated_at=now,
            )
            workers = list(dict.fromkeys(action.worker for action in actions))
            await tables.workflows.insert(workflow)
            await tables.hardware.grant_ticket(workers)
            created = {"name": workflow.name, "template": template.id, "devices": dict(devices), "workers": workers}
            await tables.events.add(workflow_id, now, "workflow.created", created)
            return workers

        workers = await self._store.write(use_case)
        await self._machines.refresh(workers)
        self._machines.tickets_granted(workers, definition.name)
        for worker in workers:
            self._bells.ring(worker_bell(worker))
        self._bells.ring(CHANGES)
        return workflow_id

    async def get(self, key: str) -> Workflow:
        """Raises NotFound, or Conflict when the key fits several."""
        async with self._store.read() as tables:
            return await _find(tables, key)

    async def all(self) -> list[Workflow]:
        """Every workflow, oldest first."""
        async with self._store.read() as tables:
            return await tables.workflows.all()

    async def delete(self, key: str) -> str:
        """Forget a workflow that is not running; returns its id.  Raises Conflict while it runs."""

        async def use_case(tables: Tables) -> tuple[str, list[str]]:
            workflow = await _find(tables, key)
            if workflow.state is State.RUNNING:
                raise Conflict(f"workflow {workflow.id} is running: it can be deleted when it is over")
            await tables.workflows.delete(workflow.id)
            workers = list({each.action.worker for each in workflow.actions})
            if workflow.state is State.PENDING:
                await tables.hardware.withdraw_ticket(workers, installed=False)
            return workflow.id, workers

        workflow_id, workers = await self._store.write(use_case)
        await self._machines.refresh(workers)
        self._bells.ring(CHANGES)
        return workflow_id

    async def events(self, key: str) -> list[Event]:
        """What happened to a workflow, in order."""
        async with self._store.read() as tables:
            return await tables.events.of((await _find(tables, key)).id)

    async def events_after(self, sequence: int, limit: int = 500) -> list[tuple[int, Event]]:
        """The next events of any workflow, each with its place in the whole."""
        async with self._store.read() as tables:
            return await tables.events.after(sequence, limit)

    async def newest_event(self) -> int:
        """The place of the newest event in the whole."""
        async with self._store.read() as tables:
            return await tables.events.newest()

    async def changed(self, timeout: float) -> None:
        """Wait until something may have changed, at most `timeout` seconds."""
        await self._bells.wait(CHANGES, timeout)

    async def output(self, key: str, offsets: Mapping[str, int]) -> list[Output]:
        """What the attempts printed, in the order in which they began.

        `offsets` maps attempt tokens to where the reader already is.
        """
        async with self._store.read() as tables:
            workflow = await _find(tables, key)
            return [
                Output(
                    attempt=attempt,
                    action=workflow.actions[attempt.position].action,
                    pieces=await tables.output.after(attempt.token, offsets.get(attempt.token, 0)),
                )
                for attempt in await tables.workflows.attempts(workflow.id)
            ]

    async def data(self, key: str, version: int = 0) -> DataVersion | None:
        """A version of the ephemeral data, 0 the newest; None when nothing was ever written.

        Raises NotFound for a version that never was or is no longer kept.
        """
        async with self._store.read() as tables:
            workflow_id = (await _find(tables, key)).id
            if version == 0:
                return await tables.data.newest(workflow_id)
            versions = await tables.data.versions(workflow_id)
        found = next((each for each in versions if each.version == version), None)
        if found is None or found.archive is None:
            kept = ", ".join(str(each.version) for each in versions if each.archive is not None) or "none"
            raise NotFound(f"version {version} of the data is not there (kept: {kept})")
        return found

    async def snapshot(self, version: str) -> Snapshot:
        """The appliance at a glance."""
        machines = await self._machines.all()
        hostnames = {each.hardware.id: primary(each.hardware).hostname for each in machines}
        async with self._store.read() as tables:
            workflows = await tables.workflows.unfinished_and_newest(SHOWN_FINISHED)
            lines = [await _workflow_line(tables, each, hostnames) for each in workflows]
        return Snapshot(
            now=self._clock(),
            version=version,
            machines=tuple(_machine_line(each) for each in machines),
            workflows=tuple(lines),
        )


async def _find(tables: Tables, key: str) -> Workflow:
    return only(await tables.workflows.matching(key), "workflow", key)


async def _bind(tables: Tables, definition: Definition) -> list[PlannedAction]:
    """The flat list of actions, each with the id of the hardware that its task names."""
    problems: list[Problem] = []
    planned: list[PlannedAction] = []
    for number, task in enumerate(definition.tasks):
        worker = await tables.hardware.by_address(task.worker)
        if worker is None:
            text = f"hardware mentioned with reference {task.worker} not found: push its hardware document first"
            problems.append(Problem(key=f"tasks[{number}].worker", text=text))
            continue
        for action in task.actions:
            planned.append(
                PlannedAction(
                    index=len(planned),
                    task=task.name,
                    name=action.name,
                    worker=worker,
                    address=task.worker,
                    image=action.image,
                    timeout=action.timeout,
                    command=action.command,
                    on_timeout=action.on_timeout,
                    on_failure=action.on_failure,
                    volumes=merged_volumes(task, action),
                    environment=merged_environment(task, action),
                    pid=action.pid,
                )
            )
    if problems:
        raise Invalid("the workflow cannot be bound to its machines", problems)
    if not planned:
        raise Invalid("the workflow has no actions: there is nothing to do")
    return planned


def _machine_line(status: MachineStatus) -> MachineLine:
    interface = primary(status.hardware)
    return MachineLine(
        id=status.hardware.id,
        hostname=interface.hostname,
        mac=interface.mac,
        address=str(interface.address or ""),
        stage=status.stage or "",
        stage_at=status.stage_at,
        ticket=status.ticket,
        boots=status.boots,
        parked=status.parked,
        last_contact=status.last_contact,
    )


async def _workflow_line(tables: Tables, workflow: Workflow, hostnames: Mapping[str, str]) -> WorkflowLine:
    tasks = []
    for task in dict.fromkeys(each.action.task for each in workflow.actions):
        own = [each for each in workflow.actions if each.action.task == task]
        done = sum(each.state is State.SUCCESS for each in own)
        worker = hostnames.get(own[0].action.worker) or own[0].action.address
        tasks.append(TaskLine(name=task, worker=worker, done=done, total=len(own)))
    current = workflow.current()
    last = await _last_line(tables, current) if current and current.state is not State.SUCCESS else ""
    return WorkflowLine(
        id=workflow.id,
        name=workflow.name,
        state=workflow.state,
        created_at=workflow.created_at,
        ended_at=workflow.updated_at if workflow.state in FINAL else None,
        tasks=tuple(tasks),
        running=_running(current, last),
        failure=_failure(current, last),
    )


def _running(current: ActionStatus | None, last: str) -> RunningLine | None:
    if current is None or current.state is not State.RUNNING or current.started_at is None:
        return None
    action = current.action
    return RunningLine(
        task=action.task, name=action.name, started_at=current.started_at, timeout=action.timeout, last_output=last
    )


def _failure(current: ActionStatus | None, last: str) -> FailureLine | None:
    if current is None or current.state not in {State.FAILED, State.TIMEOUT} or current.outcome is None:
        return None
    outcome, action = current.outcome, current.action
    return FailureLine(
        task=action.task, name=action.name, reason=outcome.reason, message=outcome.message, last_output=last
    )


async def _last_line(tables: Tables, current: ActionStatus) -> str:
    if current.outcome is not None and current.outcome.tail:
        return current.outcome.tail[-1]
    last = await tables.output.last(current.attempt)
    # A progress display ends its lines with carriage returns.
    lines = [line.strip() for line in last.decode(errors="replace").replace("\r", "\n").split("\n")]
    return next((line for line in reversed(lines) if line), "")
