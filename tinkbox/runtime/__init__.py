"""Containers: what the worker asks of an engine.

`docker.py` is the only file that knows aiodocker.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class EngineAway(Exception):
    """The engine does not answer now; it may be back soon."""


class ContainerFailed(Exception):
    """The engine refuses, and would refuse again.  `reason` is CamelCase, `str()` is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """A container to be made; `labels` are how it is found again after a restart.

    `binds` are volumes as a person writes them (`/source:/target:ro`): a source that is not there is made,
    as a folder.  `mounts` are our own, source by target: a source that is not there is refused.
    """

    image: str
    labels: Mapping[str, str]
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    mounts: Mapping[str, str] = field(default_factory=dict)
    pid: str = ""
    privileged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One that is there; `started` tells whether its process ever began, `ended` whether it is over."""

    id: str
    started: bool
    ended: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a container's process ended; `out_of_memory` tells that the kernel killed one of its processes for that."""

    exit_code: int
    out_of_memory: bool = False


class Runtime(Protocol):
    """An engine.  Every method may raise EngineAway; those that say so raise ContainerFailed."""

    async def shares_mounts(self) -> bool:
        """Whether the engine sees what is mounted on this machine: it may live in a mount namespace of its own."""

    async def pull(self, image: str) -> None:
        """Fetch an image by its full name.

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
        """Start it; raises ContainerFailed: BadCommand, MountFailed, NoSpace or StartFailed."""

    async def wait(self, container_id: str) -> Ended:
        """Wait for its end; raises ContainerFailed when it is gone, or never really began."""

    async def stop(self, container_id: str, grace: int) -> None:
        """SIGTERM, `grace` seconds, SIGKILL; nothing when it is gone already."""

    async def remove(self, container_id: str) -> None:
        """Remove it with its volumes, killing it when it runs; nothing when it is gone already."""

    def output(self, container_id: str) -> AsyncIterator[bytes]:
        """Everything it printed from the beginning, both streams in order, then what it prints until it ends."""
