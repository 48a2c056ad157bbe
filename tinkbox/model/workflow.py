"""A workflow and its actions: states, outcomes, facts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """Of an action and of a workflow, in Tinkerbell's words; the last three are final."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"
    TIMEOUT = "TIMEOUT"


FINAL = frozenset({State.SUCCESS, State.FAILED, State.TIMEOUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an attempt ended.

    `exit_code` is None when no process ran to its end; `reason` is CamelCase, `message` is for people
    (seed: Tink Worker Failure Reasons); `tail` holds the last output lines.
    """

    state: State
    exit_code: int | None = None
    reason: str = ""
    message: str = ""
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAction:
    """One action of a workflow, bound to the hardware that will run it; never changes.

    `index` counts over the whole workflow from 0.  `worker` is the hardware id, `address` what the
    template named it by.  Volumes and environment are merged with the task's.
    """

    index: int
    task: str
    name: str
    worker: str
    address: str
    image: str
    timeout: int
    command: tuple[str, ...] = ()
    on_timeout: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    pid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionStatus:
    """An action with where it stands; times are UTC, None until they happen."""

    action: PlannedAction
    state: State = State.PENDING
    attempt: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A rendered template bound to hardware; immutable but for its state.

    `text` is the rendered template as `workflow get` prints it, `devices` the `-r` map.
    """

    id: str
    name: str
    template_id: str
    devices: Mapping[str, str]
    text: str
    state: State
    actions: tuple[ActionStatus, ...]
    created_at: datetime
    updated_at: datetime

    def current(self) -> ActionStatus | None:
        """The action the workflow stands at: the first that has not succeeded, else the last."""
        for status in self.actions:
            if status.state is not State.SUCCESS:
                return status
        return self.actions[-1] if self.actions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One past fact of a workflow, numbered from 1 without gaps."""

    workflow_id: str
    number: int
    at: datetime
    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)


def progress(index: int, state: State, total: int) -> int:
    """Tinkerbell's percentage: finished actions of all actions, rounded down."""
    done = index + (1 if state is State.SUCCESS else 0)
    return done * 100 // total if total else 0
