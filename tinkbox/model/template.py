"""A rendered template: what a workflow will do, in Tinkerbell's words (`version: "0.1"`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkbox.model.breakpoint import Breakpoints
from tinkbox.model.services import Service

DEFAULT_ACTION_SECONDS = 3_600
MAX_NAME = 200
MAX_RETRIES = 100
MAX_SECONDS = 999_999_999
MAX_READY_SECONDS = 604_800
MAX_CHECKS = 10_000

# Every key of a template, level by level; docs/templates.md has a row for each.
ROOT_KEYS = ("version", "name", "id", "global_timeout", "breakpoint", "services", "tasks")
SERVICE_KEYS = (
    "name", "worker", "image", "command", "environment", "volumes", "labels", "urls", "healthcheck", "restart", "ports",
    "timeout",
)  # fmt: skip
HEALTHCHECK_KEYS = ("test", "interval", "timeout", "start_period", "retries", "disable")
TASK_KEYS = ("name", "worker", "volumes", "environment", "actions")
ACTION_KEYS = (
    "name", "image", "timeout", "command", "on-timeout", "on-failure", "volumes", "environment", "pid", "namespaces",
    "retries", "if", "reboot", "helper", "wipes",
)  # fmt: skip
NAMESPACE_KEYS = ("network", "pid")
BREAKPOINT_KEYS = ("onFailure", "before", "after", "timeout", "onExpiry")

# What other forms of Tinkerbell's actions call the same thing.
OTHER_WORDS: Mapping[str, str] = {
    "args": "command",
    "cmd": "command",
    "env": "environment",
    "timeoutSeconds": "timeout",
    "background": "reboot",
    "agentID": "worker",
    "url": "urls",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One container run.

    `timeout` is in seconds; 0 or absent in the text means one hour.  `retries` counts the attempts that a
    failure may be followed by.  An action whose `if` is false does not apply: it is skipped.
    Without `helper` its command is process 1 of its container.  `wipes` are the disks that it overwrites: one that holds
    what no workflow put there is not touched unless a person confirmed it.
    """

    name: str
    image: str
    timeout: int = DEFAULT_ACTION_SECONDS
    command: tuple[str, ...] = ()
    on_timeout: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    pid: str = ""
    retries: int = 0
    applies: bool = True
    reboot: bool = False
    helper: bool = True
    wipes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Ordered actions for one worker; `worker` is the MAC or IPv4 address of known hardware."""

    name: str
    worker: str
    actions: tuple[Action, ...]
    volumes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A template after rendering and validation.  `global_timeout` in seconds, 0: none.

    `breakpoints` are armed when a workflow is made of it.
    """

    name: str
    tasks: tuple[Task, ...]
    services: tuple[Service, ...] = ()
    version: str = "0.1"
    global_timeout: int = 0
    breakpoints: Breakpoints = field(default_factory=Breakpoints)


def merged_volumes(task: Task, action: Action) -> tuple[str, ...]:
    """The task's volumes with the action's over them, keyed by the text before the first colon."""
    merged = {volume.partition(":")[0]: volume for volume in (*task.volumes, *action.volumes)}
    return tuple(merged.values())


def merged_environment(task: Task, action: Action) -> dict[str, str]:
    """The task's environment with the action's over it."""
    return {**task.environment, **action.environment}
