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
    """A container to be made; `labels` are how it is found again after a restart."""

    image: str
    labels: Mapping[str, str]
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    pid: str = ""
    privileged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """One that is there; `started` tells whether its process ever began."""

    id: str
    started: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a container's process ended.  `error` is the engine's own words when it never really began."""

    exit_code: int
    out_of_memory: bool = False
    error: str = ""


class Runtime(Protocol):
    """An engine.  Every method may raise EngineAway; those that say so raise ContainerFailed."""

    async def pull(self, image: str) -> None:
        """Fetch an image by its full name.

        Raises ContainerFailed: ImageNotFound, ImageCorrupt, RegistryUnreachable, NoSpace or ImagePullFailed.
        """

    async def find(self, labels: Mapping[str, str]) -> list[Container]:
        """The containers that carry all these labels."""

    async def create(self, spec: ContainerSpec) -> Container:
        """Make a container without starting it; raises ContainerFailed."""

    async def start(self, container_id: str) -> None:
        """Start it; raises ContainerFailed."""

    async def wait(self, container_id: str) -> Ended:
        """Wait for its end; raises ContainerFailed when it is gone."""

    async def stop(self, container_id: str, grace: int) -> None:
        """SIGTERM, `grace` seconds, SIGKILL; nothing when it is gone already."""

    async def remove(self, container_id: str) -> None:
        """Remove it with its volumes, killing it when it runs; nothing when it is gone already."""

    def output(self, container_id: str) -> AsyncIterator[bytes]:
        """Everything it printed from the beginning, both streams in order, then what it prints until it ends."""
