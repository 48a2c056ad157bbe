"""Containers: what is asked of an engine.

Only the files named `docker` know aiodocker.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tinkbox.model.actions.namespaces import MACHINE
from tinkbox.model.engine_trouble import EngineFault
from tinkbox.model.reasons import AnyReason
from tinkbox.model.services import HealthCheck, Resources


class EngineAway(Exception):
    """The engine does not answer now; it may be back soon."""

    def __init__(self, message: str, fault: EngineFault = EngineFault.SILENT) -> None:
        super().__init__(message)
        self.fault = fault


class ContainerFailed(Exception):
    """The engine refuses, and would refuse again; `str()` is for people."""

    def __init__(self, reason: AnyReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container to be made; `labels` are how it is found again after a restart.

    `binds` are volumes as a person writes them (`/source:/target:ro`): a source that is not there is made,
    as a folder.  `mounts` are our own, source by target: a source that is not there is refused; those of
    `read_only` targets cannot be written from inside.  `volumes_from` is a container whose volumes it gets as well.
    With an `entrypoint` the image's own is not used, nor its command.  A `name` may be given to one only.  `network` is
    the id of one, or the machine's own; `hosts` are names with addresses that the container is to know.  `ports` are
    those that it declares, `health` overrides the image's check.  Unless `elevates`, no program in it gets more rights
    than the first had.  Of its log about `log_bytes` are kept, 0: all of it.  It takes `resources` of its
    machine at most, and has these of root's `capabilities` (capabilities(7), without CAP_); None: the engine's usual ones.
    """

    image: str
    labels: Mapping[str, str]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    read_only: frozenset[str] = frozenset()
    volumes_from: str = ""
    pid: str = ""
    privileged: bool = True
    name: str = ""
    network: str = MACHINE
    hosts: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    health: HealthCheck | None = None
    elevates: bool = True
    log_bytes: int = 0
    resources: Resources = field(default_factory=Resources)
    capabilities: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One that is there; `started` tells whether its process ever began, `ended` whether it is over."""

    id: str
    started: bool
    ended: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a container's process ended; `out_of_memory` tells that the kernel killed one of its processes for that.

    `killed` tells whether a signal ended it, None where only its exit code is known: 143 is that of one that SIGTERM ended,
    and of one that exits with 143.
    """

    exit_code: int
    out_of_memory: bool = False
    killed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCommand:
    """What an image runs by itself, each word by word; either may be empty.  `user` is who runs it, as `USER` of its Dockerfile has it; empty: root."""

    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecSpec:
    """Another process in a running container; empty `user` and `folder` are the container's own."""

    command: tuple[str, ...]
    tty: bool = False
    rows: int = 24
    columns: int = 80
    user: str = ""
    folder: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


def nobody_listens() -> None:
    """Nobody wants to know."""


class Exec(Protocol):
    """One that was started.  Every method may raise EngineAway or ContainerFailed."""

    async def read(self) -> tuple[int, bytes] | None:
        """What it printed next and where: 1 standard output (or the terminal), 2 standard error; None at the end."""

    async def write(self, content: bytes) -> None:
        """Give it input."""

    async def close_input(self) -> None:
        """It gets no more input."""

    async def resize(self, rows: int, columns: int) -> None:
        """Its terminal has this size now."""

    async def exit_code(self) -> int | None:
        """How it ended, None while it runs."""

    async def close(self) -> None:
        """Let go of it; this does not end it."""


class Containers(Protocol):
    """An engine.  Every method may raise EngineAway; those that say so raise ContainerFailed."""

    async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
        """Fetch an image by its full name; returns its digest, empty when the engine does not tell.

        `heard` is called whenever something of it came from its registry.
        Raises ContainerFailed: ImageNotFound, ImageNotAllowed, ImageCorrupt, WrongPlatform,
        RegistryUnreachable, NoSpace or ImagePullFailed.
        """

    async def find(self, labels: Mapping[str, str]) -> list[Container]:
        """The containers that carry all these labels."""

    async def create(self, spec: ContainerSpec) -> Container:
        """Make a container without starting it.

        Raises ContainerFailed: ImageNotFound, BadCommand, MountFailed, NoSpace or CreateFailed.
        """

    async def start(self, container_id: str) -> None:
        """Start it; raises ContainerFailed: BadCommand, MountFailed, NotPrivileged, NoSpace or StartFailed."""

    async def stop(self, container_id: str, grace: int) -> None:
        """SIGTERM, `grace` seconds, SIGKILL; nothing when it never began, or is gone already.

        One that the engine is starting just then is stopped once it runs.
        """

    async def remove(self, container_id: str) -> None:
        """Remove it with its volumes, killing it when it runs; nothing when it is gone already."""

    async def image_command(self, image: str) -> ImageCommand:
        """What an image that was pulled runs by itself; raises ContainerFailed: ImageNotFound."""

    def output(self, container_id: str, *, follow: bool = True) -> AsyncIterator[bytes]:
        """Everything it printed from the beginning, both streams in order; to `follow`, then what it prints until it ends."""


class Runtime(Containers, Protocol):
    """An engine that runs actions."""

    async def version(self) -> str:
        """The engine's version."""

    async def shares_mounts(self) -> bool:
        """Whether the engine sees what is mounted on this machine: it may live in a mount namespace of its own."""

    async def process(self) -> int:
        """The engine's process, as this machine numbers it; 0 for one on another machine."""

    async def wait(self, container_id: str) -> Ended:
        """Wait for its end; raises ContainerFailed when it is gone, or never really began."""

    async def has(self, image: str) -> bool:
        """Whether an image is here, by its full name with a digest."""

    async def has_network(self, name: str) -> bool:
        """Whether the engine has a network so called."""

    async def foreign(self, image: str) -> str:
        """For which processor an image that was pulled is, and which this machine has, in words; empty where they agree."""

    async def ran_out_of_memory(self, container_id: str) -> bool:
        """Whether the kernel killed a process of it for that, though the container may go on."""

    async def remembered(self, container_id: str) -> tuple[str, ...]:
        """What the engine, since it began, saw happen to a container, oldest first, in Docker's words such as start, kill and die.

        Of all containers together it keeps its newest 256 events, and from one life to the next none.
        """

    async def exec(self, container_id: str, spec: ExecSpec) -> Exec:
        """Start another process in it; raises ContainerFailed: ExecFailed."""

    async def changed_bytes(self, container_id: str) -> int:
        """How many bytes the container's own layer has."""

    async def commit(self, container_id: str, image: str) -> None:
        """Make an image, by its full name, of the container's files; raises ContainerFailed: NoSpace or CommitFailed."""

    async def remove_image(self, image: str) -> None:
        """Remove it; nothing when it is gone already."""
