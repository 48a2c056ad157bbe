"""Workflow services (proposal 0014): containers that run in the background for as long as their workflow is not over."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from tinkbox.model.reasons import NO_REASON, AnyReason
from tinkbox.model.secret import SecretUse

DEFAULT_READY_SECONDS: Final = 300
DEFAULT_RESTARTS: Final = 5
MAX_RESTARTS: Final = 1_000
UP_SECONDS: Final = 1.0
LONGEST_DELAY: Final = 60.0
SETTLED_SECONDS: Final = 60.0
TOLD_RESTARTS: Final = 16  # the newest, of which a host tells how each came
APPLIANCE: Final = ""  # the host of services that is the appliance itself; any other is a machine's id


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a container may take of its host: bytes of memory, processors, and processes with their threads; 0: all there are."""

    memory: int = 0
    cpus: float = 0.0
    pids: int = 0

    def or_else(self, other: "Resources") -> "Resources":
        """These, and of what they leave open the other's."""
        return Resources(memory=self.memory or other.memory, cpus=self.cpus or other.cpus, pids=self.pids or other.pids)

    def at_most(self, most: "Resources") -> "Resources":
        """These, none of them above the other's."""
        return Resources(
            memory=min(self.memory, most.memory), cpus=min(self.cpus, most.cpus), pids=min(self.pids, most.pids)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one service on the appliance has when its template asks for nothing, and the most that one may ask for."""

    usual: Resources
    most: Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFolder:
    """A folder of the appliance that services may mount, whole, by its volume's name."""

    path: str
    read_only: bool = False


class Phase(StrEnum):
    """How far a service has come, as whoever hosts it sees it."""

    PENDING = "PENDING"  # its host has not begun with it
    STARTING = "STARTING"  # its image is fetched, its container made, or it is not healthy yet
    READY = "READY"  # up, and healthy where it has a health check
    UNHEALTHY = "UNHEALTHY"  # it was ready once, and its health check fails
    RESTARTING = "RESTARTING"  # it ended and is started again after a while
    EXITED = "EXITED"  # it ended well, and is not started again
    FAILED = "FAILED"  # it ended badly, and is not started again
    STOPPING = "STOPPING"  # its workflow is over: it was told to end
    STOPPED = "STOPPED"  # it was ended because its workflow is over


# What has nothing behind it any more but the end of the workflow.
ENDED = frozenset({Phase.EXITED, Phase.FAILED, Phase.STOPPED})
# Where requests may be sent to it.
SERVING = frozenset({Phase.READY, Phase.UNHEALTHY})


class RestartPolicy(StrEnum):
    """When a service that ended is started again, in Docker's words."""

    NO = "no"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """`limit` counts the starts after the first in a row; one that was up for SETTLED_SECONDS begins a new row."""

    policy: RestartPolicy = RestartPolicy.ON_FAILURE
    limit: int = DEFAULT_RESTARTS

    def delay(self, exit_code: int, restarts: int) -> float | None:
        """Seconds from an end to the next start, when there were `restarts` in a row; None: it stays down.

        One second, doubled each time, at most LONGEST_DELAY.
        """
        wanted = self.policy is RestartPolicy.ALWAYS or (self.policy is RestartPolicy.ON_FAILURE and exit_code != 0)
        if not wanted or restarts >= self.limit:
            return None
        return min(LONGEST_DELAY, float(2 ** min(restarts, 10)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """What overrides the image's HEALTHCHECK, in Docker's words; times in seconds, 0 is Docker's own default.

    `test` is `("CMD", word, ...)`, `("CMD-SHELL", text)`, or `("NONE",)`: no health check at all; empty: the image's own.
    """

    test: tuple[str, ...] = ()
    interval: float = 0.0
    timeout: float = 0.0
    start_period: float = 0.0
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service as a template words it; `worker` is what the template calls its host by.

    `labels` are (name, value) in the template's order, and a name may come more than once.  `ports` are those the
    container listens on, the one that routes lead to first; none: those that the image exposes.  `timeout` is in
    seconds, from when its host begins with it until it must be ready.  `resources` are those that it asks for, and
    `secrets` as an action has them.
    """

    name: str
    worker: str
    image: str
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    urls: tuple[str, ...] = ()
    health: HealthCheck | None = None
    restart: Restart = field(default_factory=Restart)
    ports: tuple[int, ...] = ()
    timeout: int = DEFAULT_READY_SECONDS
    resources: Resources = field(default_factory=Resources)
    secrets: tuple[SecretUse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedService:
    """A service of a workflow, bound to its host; never changes.

    `index` counts over the workflow's services from 0.  `host` is APPLIANCE or the id of a machine, `spec` what the
    template says; its routes and what it supplies for booting are read from its `labels` and `urls` (`wire.routing.labels`).
    """

    index: int
    host: str
    spec: Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """An end of a run after which it was started again; `number` counts these from 1."""

    number: int
    exit_code: int | None = None
    signal: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a host sees of one run of a service.

    `run` names the run: every retry of a workflow is another one.  `restarts` counts in all, `exit_code`, `signal` and
    `tail` tell of its newest end.  Of a service that FAILED, or has trouble on its way, `reason` is CamelCase and
    `message` for people.  `address` is the IPv4 address at which the appliance reaches `ports`; empty: not yet.
    `digest` is that of its image, where its host had to find it out.  `restarted` are its newest restarts, for whoever missed
    what was said of them: they are counted in `restarts`, and tell of nothing else that is new.
    """

    run: str
    phase: Phase
    restarts: int = 0
    exit_code: int | None = None
    signal: str = ""
    reason: AnyReason = NO_REASON
    message: str = ""
    tail: tuple[str, ...] = ()
    address: str = ""
    ports: tuple[int, ...] = ()
    digest: str = ""
    restarted: tuple[Restarted, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """A service with where its newest run stands; times are UTC, None until they happen.

    `begun_at` is since when its host was told of it, `ready_at` when it was first ready in this run, `changed_at` when
    its phase last changed.  `output_length` counts every byte the run printed, kept or not.
    `digest` is what its image is pinned to in its workflow, empty until that is known.
    """

    service: PlannedService
    standing: Standing
    digest: str = ""
    begun_at: datetime | None = None
    ready_at: datetime | None = None
    changed_at: datetime | None = None
    output_length: int = 0
