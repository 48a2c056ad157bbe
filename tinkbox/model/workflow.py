"""A workflow and its actions: states, outcomes, facts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from tinkbox.model.actions.action import Action
from tinkbox.model.devices import Devices
from tinkbox.model.labels import Labels
from tinkbox.model.reasons import NO_REASON, AnyReason
from tinkbox.model.services import ServiceStatus

# Where a container finds the ephemeral data of its workflow.
DATA_FOLDER: Final = "/workflow"


class State(StrEnum):
    """Of an action and of a workflow, in Tinkerbell's words and a few more."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    HELD = "HELD"  # an action: at a breakpoint, waiting for a verdict
    LEAVING = "LEAVING"  # an action: the machine goes away by intention, and has not come back yet
    STOPPING = "STOPPING"  # a workflow: its running action was told to stop
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"
    CANCELED = "CANCELED"
    SKIPPED = "SKIPPED"  # an action: its `if` is false


# How attempts and workflows end.
FINAL = frozenset({State.SUCCESS, State.FAILED, State.TIMEOUT, State.CANCELED})
# What an action is that a machine has begun and not ended.
BEGUN = frozenset({State.RUNNING, State.HELD, State.LEAVING})
# What an action must be for the next one to begin.
DONE = frozenset({State.SUCCESS, State.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended.

    `exit_code` is None when no process ran to its end; `signal` is the name of the signal that ended it,
    such as SIGKILL.  `reason` is CamelCase, one of ours or the action's own; `message` is for people (seed: Tink Worker Failure Reasons);
    `hint` says what to do: of a reason of ours by `model.reasons`, of the action's own word what the action wrote.
    `tail` holds the last output lines.
    """

    state: State
    exit_code: int | None = None
    signal: str = ""
    reason: AnyReason = NO_REASON
    message: str = ""
    hint: str = ""
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAction:
    """One action of a workflow, bound to the hardware that will run it; never changes.

    `index` counts over the whole workflow from 0.  `worker` is the hardware id, `address` what the
    template named it by.  `spec` is what the template says it does, its volumes and environment merged with the task's.
    """

    index: int
    task: str
    worker: str
    address: str
    spec: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStatus:
    """An action with where it stands, and its newest attempt; times are UTC, None until they happen.

    `left_at` is since when the machine goes away by intention, `held_at` since when it is held, and `resumed_at` since
    when it runs again after that.
    `failures` counts the failed attempts since the action was last made ready by a person.
    `digest` is what its image is pinned to in this workflow, empty until that is known.
    """

    action: PlannedAction
    state: State = State.PENDING
    digest: str = ""
    failures: int = 0
    attempt: str = ""
    started_at: datetime | None = None
    left_at: datetime | None = None
    held_at: datetime | None = None
    resumed_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowHead(ABC):
    """What there is to say of a workflow without its plan.

    `template_name` is what its template is called, or was when the workflow was made if it is gone.
    `devices` is the `-r` map.
    `global_timeout` is in seconds, 0: none; it counts from `started_at`, which is None before.
    `stop_into` is how a workflow that is STOPPING will end, `stopped_at` since when it does.
    `reason` and `message` say why it ended badly where that was no action's doing, but that of `service`.
    `wipe_confirmed` is a person's word that its actions may wipe their disks, whatever is on them.
    `run` grows with each time that it is retried; no two runs of workflows have the same, 0: it was not made yet.
    """

    id: str
    name: str
    template_id: str
    template_name: str
    devices: Devices
    state: State
    created_at: datetime
    updated_at: datetime
    global_timeout: int = 0
    started_at: datetime | None = None
    stop_into: State | None = None
    stopped_at: datetime | None = None
    reason: AnyReason = NO_REASON
    message: str = ""
    service: str = ""
    wipe_confirmed: bool = False
    run: int = 0

    @abstractmethod
    def current(self) -> ActionStatus | None:
        """The action the workflow stands at: the first that is not done, else the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedWorkflow(WorkflowHead):
    """A workflow as lists have it: of its plan, which may be large, the action it stands `at` and how many there are.

    `done` are those that succeeded or were skipped.  `workers` are the ids of its machines, in the order of their actions.
    """

    at: ActionStatus | None
    done: int
    total: int
    workers: tuple[str, ...] = ()
    labels: Labels = field(default_factory=dict)

    def current(self) -> ActionStatus | None:
        return self.at


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCount:
    """How many actions a task has in `total`, and how many of them are `done`, those that were `skipped` among them.

    `worker` and `address` are as in its actions.
    """

    name: str
    worker: str
    address: str
    done: int
    total: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTasks:
    """The tasks of a workflow about the one it stands at, where all of them are too many to show: `before` and `after` these."""

    tasks: Sequence[TaskCount] = ()
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow(WorkflowHead):
    """A rendered template bound to hardware; immutable but for its state.

    `text` is the rendered template as `workflow get` prints it.
    """

    text: str
    actions: tuple[ActionStatus, ...]
    services: tuple[ServiceStatus, ...] = ()

    def current(self) -> ActionStatus | None:
        for status in self.actions:
            if status.state not in DONE:
                return status
        return self.actions[-1] if self.actions else None

    def awaited(self) -> list[ServiceStatus]:
        """The services that must be ready before it begins, and are not yet."""
        return [each for each in self.services if each.ready_at is None] if self.state is State.PENDING else []

    def workers(self) -> list[str]:
        """The machines that have or had something to do in it, in the order of their tasks."""
        return list(dict.fromkeys(each.action.worker for each in self.actions if each.state is not State.SKIPPED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An action of a workflow, with everything that decides how the workflow goes on from there.

    `state` and `stop_into` are the workflow's, `awaits` tells that it may not begin yet because of a service.
    `others_done` tells that every other action is done, `following` is the machine of the next one that is not, or empty.
    """

    workflow_id: str
    state: State
    status: ActionStatus
    stop_into: State | None = None
    awaits: bool = False
    others_done: bool = False
    following: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One past fact of a workflow, numbered from 1 without gaps."""

    workflow_id: str
    number: int
    at: datetime
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


def full_name(action: PlannedAction) -> str:
    """`task/action`, which no other action of the workflow is called."""
    return f"{action.task}/{action.spec.name}"


def progress(index: int, state: State, total: int) -> int:
    """Tinkerbell's percentage: finished actions of all actions, rounded down."""
    done = index + (1 if state is State.SUCCESS else 0)
    return done * 100 // total if total else 0
