"""The appliance at a glance: what `/v1/status` answers and the terminal view draws."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tinkbox.model.action_progress import Progress
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.errors import Invalid
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLine:
    """One machine: `stage` in words (`model.boot.Stage`), `parked` the reason or empty.

    `stalled` says for how long it got no further, or nothing; `lost` what it did that the store does not know, where no
    unfinished workflow waits for a decision about that, and `lost_hint` what to do then.
    """

    id: str
    hostname: str
    mac: str
    address: str
    stage: str = ""
    stage_at: datetime | None = None
    ticket: bool = False
    boots: int = 0
    parked: str = ""
    last_contact: datetime | None = None
    stalled: str = ""
    lost: str = ""
    lost_hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangerLine:
    """A machine that boots and that nobody knows: `stage` and `stalled` are as for those that are known."""

    mac: str
    stage: str
    stage_at: datetime
    detail: str = ""
    stalled: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One task: `done` of `total` actions succeeded or were skipped, on the machine called `worker`.

    `skipped` is how many of them were skipped.
    """

    name: str
    worker: str
    done: int
    total: int
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningLine:
    """The action that runs now, or whose machine goes away by intention; `timeout` in seconds.

    It is the `attempt`th of `attempts` that there may be.  `progress` is what it says of itself.
    """

    task: str
    name: str
    started_at: datetime
    timeout: int
    attempt: int = 1
    attempts: int = 1
    leaving: bool = False
    last_output: str = ""
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLine:
    """The action that is held at a breakpoint since `held_at`; at `deadline` it ends by itself, as `on_expiry` says.

    Reason, message, exit code and signal say how its process ended, if it did.  `decided` is the verdict that is about
    to be carried out, with who gave it.
    """

    task: str
    name: str
    kind: Kind
    held_at: datetime
    deadline: datetime
    on_expiry: Verb
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    signal: str = ""
    decided: str = ""
    last_output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLine:
    """One service of a workflow that is not over, on the machine or the appliance called `host`.

    `message` tells of its last trouble, empty when there was none.  `ready` says that it was ready once: its workflow
    does not wait for it.
    """

    name: str
    host: str
    phase: Phase
    restarts: int = 0
    message: str = ""
    ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLine:
    """Why an attempt or a workflow ended badly, in the words of the action or of the worker; `hint` says what to do.

    It was the `attempt`th of `attempts` that there may be; `exit_code` and `signal` are those of its process.  Where a
    service kept the workflow from beginning, `service` is its name, and there is no task and no name of an action.
    """

    task: str
    name: str
    reason: str
    message: str
    hint: str = ""
    exit_code: int | None = None
    signal: str = ""
    attempt: int = 1
    attempts: int = 1
    last_output: str = ""
    service: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowLine:
    """One workflow with its tasks and services; `ended_at` is None while it is not over.

    Where there are too many, so many tasks are left out before and after these, and `services_more` services.
    `stop_into` is how one that is STOPPING will end.  `retried` is the newest failure of an action that is tried
    again, `failure` the one that ended the workflow.
    """

    id: str
    name: str
    state: State
    created_at: datetime
    ended_at: datetime | None
    tasks: tuple[TaskLine, ...]
    stop_into: State | None = None
    running: RunningLine | None = None
    held: HeldLine | None = None
    retried: FailureLine | None = None
    failure: FailureLine | None = None
    services: tuple[ServiceLine, ...] = ()
    tasks_before: int = 0
    tasks_after: int = 0
    services_more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBackLine:
    """A holder (an address, a machine, a person) that is close to a limit, or was `refused` so often lately."""

    holder: str
    held: str
    refused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitLine:
    """A limit that holds somebody back, or of which little is left: `used` of `total`, in its unit."""

    name: str
    used: str
    total: str
    held_back: tuple[HeldBackLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLine:
    """What one kind of what is stored takes in bytes, about; `remedy` says how a person makes it smaller."""

    kind: str
    octets: int
    number: int
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedLine:
    """Finished workflows that were deleted before their time, for lack of room, and the bytes of the database they had."""

    workflows: int
    octets: int
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLine:
    """The disk of the data folder: bytes that are free, those of the database, and what each kind takes, the largest first.

    `nearly_full` tells that there is so little room that history is deleted early, `deleted` that it lately was, `full`
    that what machines send is refused.
    """

    free: int
    nearly_full: bool
    database: int
    stored: tuple[StoredLine, ...]
    deleted: DeletedLine | None = None
    full: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything the terminal view needs, at the appliance's time `now`."""

    now: datetime
    version: str
    machines: tuple[MachineLine, ...]
    workflows: tuple[WorkflowLine, ...]
    strangers: tuple[StrangerLine, ...] = ()
    limits: tuple[LimitLine, ...] = ()
    disk: DiskLine | None = None


def encode_snapshot(snapshot: Snapshot) -> str:
    """As JSON, times in ISO 8601."""
    document = asdict(snapshot)
    for running in filter(None, (each["running"] for each in document["workflows"])):
        if running["progress"] is None:
            del running["progress"]  # a view of before there was progress knows no such field
    return json.dumps(document, default=lambda value: value.isoformat())


def decode_snapshot(text: str | bytes) -> Snapshot:
    """Raises Invalid when the text is no snapshot."""
    try:
        entry = json.loads(text)
        return Snapshot(
            now=datetime.fromisoformat(entry["now"]),
            version=entry["version"],
            machines=tuple(
                MachineLine(**_with_times(machine, "stage_at", "last_contact")) for machine in entry["machines"]
            ),
            workflows=tuple(_workflow(workflow) for workflow in entry["workflows"]),
            strangers=tuple(_stranger(each) for each in entry["strangers"]),
            limits=tuple(_limit(each) for each in entry.get("limits", ())),
            disk=_disk(entry["disk"]) if entry.get("disk") else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"status: not a snapshot: {error}") from None


def _stranger(entry: dict[str, Any]) -> StrangerLine:
    return StrangerLine(**{**entry, "stage_at": datetime.fromisoformat(entry["stage_at"])})


def _limit(entry: dict[str, Any]) -> LimitLine:
    return LimitLine(**{**entry, "held_back": tuple(HeldBackLine(**each) for each in entry["held_back"])})


def _disk(entry: dict[str, Any]) -> DiskLine:
    deleted = DeletedLine(**_with_times(entry["deleted"], "since", "until")) if entry["deleted"] else None
    return DiskLine(**{**entry, "stored": tuple(StoredLine(**each) for each in entry["stored"]), "deleted": deleted})


def _workflow(entry: dict[str, Any]) -> WorkflowLine:
    fields = _with_times(entry, "created_at", "ended_at")
    fields["state"] = State(entry["state"])
    fields["tasks"] = tuple(TaskLine(**task) for task in entry["tasks"])
    fields["running"] = _running(entry["running"]) if entry["running"] else None
    fields["held"] = _held(entry["held"]) if entry["held"] else None
    fields["stop_into"] = State(entry["stop_into"]) if entry["stop_into"] else None
    for name in ("retried", "failure"):
        fields[name] = FailureLine(**entry[name]) if entry[name] else None
    fields["services"] = tuple(ServiceLine(**{**each, "phase": Phase(each["phase"])}) for each in entry["services"])
    return WorkflowLine(**fields)


def _running(entry: dict[str, Any]) -> RunningLine:
    progress = Progress(**entry["progress"]) if entry.get("progress") else None
    return RunningLine(**{**_with_times(entry, "started_at"), "progress": progress})


def _held(entry: dict[str, Any]) -> HeldLine:
    fields = _with_times(entry, "held_at", "deadline")
    return HeldLine(**{**fields, "kind": Kind(entry["kind"]), "on_expiry": Verb(entry["on_expiry"])})


def _with_times(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    times = {name: datetime.fromisoformat(entry[name]) if entry[name] else None for name in names}
    return {**entry, **times}
