"""What hosting services needs of an engine besides containers: networks of their own, and how a service is now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Network
from typing import Protocol

from tinkbox.runtime import Containers


class Health(StrEnum):
    """What a container's health check says, in Docker's words."""

    STARTING = "starting"
    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A container as the engine sees it now.

    `started_at` and `ended_at` name its newest start and end, and are nothing to calculate with; `seconds` is how long
    it was up between them.  `health` is None without a health check; `probe` is what its newest check printed.
    `address` is its own in a network that is not the machine's, while it runs.  `ports` are the TCP ports that it or
    its image declares, lowest first.
    """

    running: bool
    started_at: str = ""
    ended_at: str = ""
    seconds: float = 0.0
    exit_code: int = 0
    out_of_memory: bool = False
    health: Health | None = None
    probe: str = ""
    address: str = ""
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network of containers on one machine; without a `subnet` of IPv4 it has none that concerns us."""

    id: str
    subnets: tuple[IPv4Network, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


class ServiceRuntime(Containers, Protocol):
    """An engine that hosts services.  Every method may raise EngineAway; those that say so raise ContainerFailed."""

    async def look(self, container_id: str) -> Look:
        """How a container is now; raises ContainerFailed when it is gone."""

    async def ended_alone(self, container_id: str) -> bool:
        """Whether the engine, in this life, saw the newest end of a container that is over, and nobody had asked for it.

        Not so: the engine ended it when it went away itself, or somebody sent it a signal through the engine.
        """

    async def networks(self) -> list[Network]:
        """Every network there is."""

    async def create_network(self, name: str, subnet: IPv4Network, labels: Mapping[str, str]) -> Network | None:
        """Make a bridge for containers; None when the subnet overlaps with another's.  Raises ContainerFailed."""

    async def remove_network(self, network_id: str) -> None:
        """Remove it; nothing when it is gone already.  Raises ContainerFailed while a container is in it."""
