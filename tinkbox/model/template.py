"""A rendered template: what a workflow will do, in Tinkerbell's words (`version: "0.1"`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkbox.model.actions.action import Action
from tinkbox.model.breakpoint import Breakpoints
from tinkbox.model.errors import Problem
from tinkbox.model.metadata import Metadata
from tinkbox.model.secret import NamedSecret
from tinkbox.model.services import Service

MAX_TEXT = 256 * 1024  # bytes of UTF-8: a template, and what comes out when it is rendered
MAX_PLAN = 1024 * 1024  # about the bytes of all actions and services of a workflow, each with everything it needs
MAX_NAME = 200
MAX_RETRIES = 100
MAX_SECONDS = 999_999_999
MAX_READY_SECONDS = 604_800
MAX_CHECKS = 10_000

# Every key of a template, level by level; docs/templates.md has a row for each.
ROOT_KEYS = ("version", "name", "id", "global_timeout", "breakpoint", "metadata", "services", "tasks")
SERVICE_KEYS = (
    "name", "worker", "image", "command", "environment", "volumes", "labels", "urls", "healthcheck", "restart", "ports",
    "timeout", "mem_limit", "cpus", "pids_limit", "secrets",
)  # fmt: skip
HEALTHCHECK_KEYS = ("test", "interval", "timeout", "start_period", "retries", "disable")
TASK_KEYS = ("name", "worker", "volumes", "environment", "actions")
ACTION_KEYS = (
    "name", "image", "timeout", "command", "on-timeout", "on-failure", "volumes", "environment", "pid", "namespaces",
    "retries", "if", "reboot", "until", "helper", "disk", "wipes", "secrets",
)  # fmt: skip
NAMESPACE_KEYS = ("network", "pid")
METADATA_KEYS = ("hostname", "ssh_keys", "user_data", "vendor_data", "network")
SECRET_KEYS = ("name", "env", "file")
BREAKPOINT_KEYS = ("onFailure", "before", "after", "timeout", "onExpiry")

# Of the keys that Tinkerbell has as well, level by level: those that are tinkbox's own.  Other keys of these levels are
# anybody's, and Tinkerbell takes no notice of them; what stands below a key of our own is strict.
OWN_KEYS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ROOT_KEYS: ("breakpoint", "metadata", "services"),
    TASK_KEYS: (),
    ACTION_KEYS: ("retries", "if", "reboot", "until", "helper", "disk", "wipes", "secrets"),
    NAMESPACE_KEYS: (),
}
# Before the names of keys that are there to be named by aliases, as in Docker Compose.
EXTENSION = "x-"

# What other forms of Tinkerbell's actions call the same thing.
OTHER_WORDS: Mapping[str, str] = {
    "args": "command",
    "cmd": "command",
    "env": "environment",
    "timeoutSeconds": "timeout",
    "background": "reboot",
    "agentID": "worker",
    "url": "urls",
    "memory": "mem_limit",
    "pids": "pids_limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Ordered actions for one worker; `worker` is the MAC, IPv4 address, agent id or id of known hardware.

    `skipped` are the names of the actions whose `if` is false: they do not apply.
    """

    name: str
    worker: str
    actions: tuple[Action, ...]
    volumes: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A template after rendering and validation.  `global_timeout` in seconds, 0: none.

    `breakpoints` are armed when a workflow is made of it, `metadata` is for the systems that it installs.  `ignored` is what
    was not taken as it stands in the text: it is told, and no part of the plan.  `secrets` are all places that ask for one.
    """

    name: str
    tasks: tuple[Task, ...]
    services: tuple[Service, ...] = ()
    version: str = "0.1"
    global_timeout: int = 0
    breakpoints: Breakpoints = field(default_factory=Breakpoints)
    metadata: Metadata = field(default_factory=Metadata)
    ignored: tuple[Problem, ...] = field(default=(), compare=False)
    secrets: tuple[NamedSecret, ...] = field(default=(), compare=False)


def merged_volumes(task: Task, action: Action) -> tuple[str, ...]:
    """The task's volumes with the action's over them, keyed by the text before the first colon."""
    merged = {volume.partition(":")[0]: volume for volume in (*task.volumes, *action.volumes)}
    return tuple(merged.values())


def merged_environment(task: Task, action: Action) -> dict[str, str]:
    """The task's environment with the action's over it."""
    return {**task.environment, **action.environment}
