"""The appliance at a glance: what `/v1/status` answers and the terminal view draws.

Without a query the answer is the whole snapshot, with its workflows, as every release understood it.  With `?after=PLACE`,
empty at first, it is what changed behind that place: machines with the work on each, and the appliance's health.  What
equals its default is left out there, and what is unknown is ignored, so that either end may be newer.
"""

import json
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from tinkbox.model.actions.progress import Progress
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.errors import Invalid
from tinkbox.model.labels import Labels
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLine:
    """What is done with a machine: the workflow under way on it, else the next in its queue, else its newest.

    `action` is the one it stands at, the `number`th of `total`, of which `done` are over well; `since` is when that began, or
    when the workflow ended.
    `template` is a name, or the id of a template that is gone.  `reason`, `message` and `hint` say why it ended badly, is
    held, or waits for a person; `lost` tells that its machine did what the store does not know.
    `held` is where the action is held, until `deadline`, when `on_expiry` becomes of it; `decided` tells that a verdict is
    about to be carried out.  `attempt` counts the tries at the action, of `attempts` that there may be.  `leaving` tells
    that the machine goes away by intention, `elsewhere` is the other machine that the action is for, `awaited` are
    services that must be ready before it begins.  `run` and `hold` tell this run of the workflow and this hold from all others,
    `service` is the one that kept the workflow from beginning, `template_changed` tells of one that ended badly that its template was
    changed or deleted since, so that a retry runs an older text; appliances of before do not tell these four.  Work outside of
    the scope of who asks has no `id`, and `message` says that alone.
    """

    id: str
    name: str
    state: State
    since: datetime
    template: str = ""
    action: str = ""
    number: int = 0
    done: int = 0
    total: int = 0
    progress: Progress | None = None
    reason: str = ""
    message: str = ""
    hint: str = ""
    lost: bool = False
    held: Kind | None = None
    deadline: datetime | None = None
    on_expiry: Verb | None = None
    decided: bool = False
    attempt: int = 1
    attempts: int = 1
    leaving: bool = False
    elsewhere: str = ""
    awaited: tuple[str, ...] = ()
    run: int = 0
    hold: str = ""
    service: str = ""
    template_changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineLine:
    """One machine: `stage` in words (`model.boot.Stage`), `parked` the reason or empty.

    `stalled` says for how long it got no further, or nothing; `lost` what it did that the store does not know, where no
    unfinished workflow waits for a decision about that, and `lost_hint` what to do then.  `name` is that of its document,
    `work` what is done with it, `rollout` the id of one in which it waits for its turn, `rollout_paused` whether that is
    paused, which appliances of before do not tell, `state` its word in lists of machines
    (`model.machine_state`); these for those who ask for changes, as `diagnosis`, the cause of the gravest that the doctor's
    rounds found, `is_fault` whether that is a fault, and `silent_since`: when its worker was heard of last, of one that works and is silent.
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
    name: str = ""
    labels: Labels = field(default_factory=dict)
    work: WorkLine | None = None
    rollout: str = ""
    rollout_paused: bool = False
    state: str = ""
    diagnosis: str = ""
    is_fault: bool = False
    silent_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionLine:
    """What is wrong with the appliance `since` then, by the doctor's `rule`: its cause in one sentence, and what to do."""

    rule: str
    gravity: Gravity
    since: datetime
    cause: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLine:
    """How the appliance is: bytes a second that it sends to machines, None while that is not known; its `faults`.

    The faults are the doctor's rules by which the appliance itself has one; its `conditions` are these and what is suspect,
    the gravest first, which appliances of before do not tell.  One that has just begun has not `examined` all of itself yet.
    """

    sent: float | None = None
    faults: tuple[str, ...] = ()
    conditions: tuple[ConditionLine, ...] = ()
    examined: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StrangerLine:
    """A machine that boots and that nobody knows: `stage` and `stalled` are as for those that are known.

    `diagnosis` and `remedy` are those of the gravest that the doctor found of it, beside that nobody knows it.
    """

    mac: str
    stage: str
    stage_at: datetime
    detail: str = ""
    stalled: str = ""
    diagnosis: str = ""
    remedy: str = ""


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
    that what machines send is refused.  `remedy` is what to do where room is short; appliances of before do not tell it.
    """

    free: int
    nearly_full: bool
    database: int
    stored: tuple[StoredLine, ...]
    deleted: DeletedLine | None = None
    full: bool = False
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What there is, at the appliance's time `now`.

    Of changes, `place` is where the next ones are asked after, and `gone` are the ids of machines that were deleted; it is
    only a `part` where other machines are as they were before.  Workflows are told without a place alone.  With a `scope`, a
    selector, it is of the machines with these labels, and tells nothing of the appliance and of unknown machines.
    """

    now: datetime
    version: str
    machines: tuple[MachineLine, ...]
    workflows: tuple[WorkflowLine, ...] = ()
    strangers: tuple[StrangerLine, ...] = ()
    limits: tuple[LimitLine, ...] = ()
    disk: DiskLine | None = None
    place: str = ""
    part: bool = False
    gone: tuple[str, ...] = ()
    health: HealthLine = field(default_factory=HealthLine)
    scope: str = ""


# What a view of an earlier release does not know, and would refuse.
_NEW_OF_DISK: Final = ("remedy",)
_NEW_OF_STRANGER: Final = ("diagnosis", "remedy")
_NEW_OF_SNAPSHOT: Final = ("place", "part", "gone", "health", "scope")
_NEW_OF_MACHINE: Final = (
    "name", "labels", "work", "rollout", "rollout_paused", "state", "diagnosis", "is_fault", "silent_since",
)  # fmt: skip
T = TypeVar("T")


def encode_snapshot(snapshot: Snapshot, machines: Iterable[str], workflows: Iterable[str]) -> str:
    """The whole of it as JSON, times in ISO 8601, without what only those are told who ask for changes.

    Its machines and workflows come encoded, each by itself: there may be so many that others need their turn in between.
    """
    document = asdict(replace(snapshot, machines=(), workflows=()))
    for name in (*_NEW_OF_SNAPSHOT, "machines", "workflows"):
        del document[name]
    for stranger in document["strangers"]:
        for name in _NEW_OF_STRANGER:
            del stranger[name]
    for name in _NEW_OF_DISK if document["disk"] else ():
        del document["disk"][name]
    return f'{_json(document)[:-1]}, "machines": [{", ".join(machines)}], "workflows": [{", ".join(workflows)}]}}'


def encode_snapshot_machine(machine: MachineLine) -> str:
    """One machine of a snapshot, as JSON."""
    document = asdict(machine)
    for name in _NEW_OF_MACHINE:
        del document[name]
    return _json(document)


def encode_snapshot_workflow(workflow: WorkflowLine) -> str:
    """One workflow of a snapshot, as JSON."""
    document = asdict(workflow)
    if document["running"] is not None and document["running"]["progress"] is None:
        del document["running"]["progress"]  # a view of before there was progress knows no such field
    return _json(document)


def encode_machine(machine: MachineLine) -> str:
    """One machine of changes, as JSON."""
    return _json(_told(machine))


def encode_changes(snapshot: Snapshot, machines: Iterable[str]) -> str:
    """Changes as JSON; the machines come encoded, for what did not change need not be encoded again."""
    document = _told(replace(snapshot, machines=()))
    for name in ("strangers", "limits"):
        document[name] = [asdict(each) for each in getattr(snapshot, name)]
    document["disk"] = asdict(snapshot.disk) if snapshot.disk else None
    del document["machines"]
    return f'{_json(document)[:-1]}, "machines": [{", ".join(machines)}]}}'


def decode_snapshot(text: str | bytes) -> Snapshot:
    """A snapshot, or changes.  Raises Invalid when the text is neither."""
    try:
        entry = json.loads(text)
        return Snapshot(
            now=datetime.fromisoformat(entry["now"]),
            version=entry["version"],
            machines=tuple(_machine(machine) for machine in entry["machines"]),
            workflows=tuple(_workflow(workflow) for workflow in entry.get("workflows", ())),
            place=entry.get("place", ""),
            part=entry.get("part", False),
            gone=tuple(entry.get("gone", ())),
            health=_health(entry.get("health", {})),
            scope=entry.get("scope", ""),
            strangers=tuple(_stranger(each) for each in entry["strangers"]),
            limits=tuple(_limit(each) for each in entry.get("limits", ())),
            disk=_disk(entry["disk"]) if entry.get("disk") else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Invalid(f"status: not a snapshot: {error}") from None


def progress_of(entry: dict[str, Any] | None) -> Progress | None:
    """How far an action is, as documents tell it; None where they do not."""
    return Progress(**_known(Progress, entry)) if entry else None


def merged(before: Snapshot, change: Snapshot) -> Snapshot:
    """What there is now: a change made to what was there before."""
    if not change.part:
        return change
    if not change.machines and not change.gone:
        return replace(change, machines=before.machines, part=False)
    machines = {each.id: each for each in before.machines}
    for gone in change.gone:
        machines.pop(gone, None)
    machines.update((each.id, each) for each in change.machines)
    return replace(change, machines=tuple(machines.values()), part=False, gone=())


def _json(value: object) -> str:
    return json.dumps(value, default=lambda value: value.isoformat())


def _told(line: Any) -> dict[str, Any]:
    """The fields of a line that differ from their defaults."""
    told = {}
    for each in fields(line):
        value = getattr(line, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if value != default:
            told[each.name] = _told_value(value)
    return told


def _told_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_told_value(each) for each in value]
    return _told(value) if hasattr(value, "__dataclass_fields__") else value


def _known(kind: type[T], entry: dict[str, Any], *times: str) -> dict[str, Any]:
    """The fields of a line that are known here, the named ones as times."""
    names = {each.name for each in fields(kind)}  # type: ignore[arg-type]  # every line is a dataclass
    known = {name: value for name, value in entry.items() if name in names}
    return _with_times(known, *(each for each in times if each in known))


def _machine(entry: dict[str, Any]) -> MachineLine:
    known = _known(MachineLine, entry, "stage_at", "last_contact", "silent_since")
    if known.get("work") is not None:
        known["work"] = _work(known["work"])
    return MachineLine(**known)


def _work(entry: dict[str, Any]) -> WorkLine:
    known = _known(WorkLine, entry, "since", "deadline")
    known["state"] = State(known["state"])
    for name, kind in (("held", Kind), ("on_expiry", Verb)):
        known[name] = kind(known[name]) if known.get(name) else None
    known["progress"] = progress_of(known.get("progress"))
    known["awaited"] = tuple(known.get("awaited", ()))
    return WorkLine(**known)


def _health(entry: dict[str, Any]) -> HealthLine:
    known = _known(HealthLine, entry)
    conditions = tuple(map(_condition, known.get("conditions", ())))
    return HealthLine(**{**known, "faults": tuple(known.get("faults", ())), "conditions": conditions})


def _condition(entry: dict[str, Any]) -> ConditionLine:
    known = _known(ConditionLine, entry, "since")
    return ConditionLine(**{**known, "gravity": Gravity(known["gravity"])})


def _stranger(entry: dict[str, Any]) -> StrangerLine:
    return StrangerLine(**_known(StrangerLine, entry, "stage_at"))


def _limit(entry: dict[str, Any]) -> LimitLine:
    known = _known(LimitLine, entry)
    held_back = tuple(HeldBackLine(**_known(HeldBackLine, each)) for each in known["held_back"])
    return LimitLine(**{**known, "held_back": held_back})


def _disk(entry: dict[str, Any]) -> DiskLine:
    known = _known(DiskLine, entry)
    deleted = DeletedLine(**_known(DeletedLine, known["deleted"], "since", "until")) if known["deleted"] else None
    stored = tuple(StoredLine(**_known(StoredLine, each)) for each in known["stored"])
    return DiskLine(**{**known, "stored": stored, "deleted": deleted})


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
    return RunningLine(**{**_with_times(entry, "started_at"), "progress": progress_of(entry.get("progress"))})


def _held(entry: dict[str, Any]) -> HeldLine:
    fields = _with_times(entry, "held_at", "deadline")
    return HeldLine(**{**fields, "kind": Kind(entry["kind"]), "on_expiry": Verb(entry["on_expiry"])})


def _with_times(entry: dict[str, Any], *names: str) -> dict[str, Any]:
    times = {name: datetime.fromisoformat(entry[name]) if entry[name] else None for name in names}
    return {**entry, **times}
