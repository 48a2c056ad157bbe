"""Workflow services on one Docker engine: what is wanted is made so, what is there is said.

The appliance hosts services this way, and so does the worker on a machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from typing import Protocol

from tinkbox.model.services import HostFolder, Share, Standing
from tinkbox.wire.messages.hosting import Wanted


class HostLink(Protocol):
    """Where a host learns what is wanted, and says what it has; every method may raise a Refusal.

    Unavailable is worth trying again; after NotFound or Conflict the run is not wanted any more.
    """

    async def wanted(self, seen: str) -> Wanted | None:
        """What is wanted; None after a while in which it was still what has the mark `seen`."""

    async def observed(self, standings: tuple[Standing, ...]) -> None:
        """Every run that there is anything of."""

    async def output(self, run: str, offset: int, chunk: bytes) -> int:
        """What a run printed from byte `offset` on; returns the offset wanted next."""

    async def keep_data(self, run: str, archive: bytes) -> None:
        """Everything that a run has in its /workflow; the same again changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where services run.

    `host` is what containers are labelled with, so that two hosts can share an engine.  `folder` is ours, for what
    services write into /workflow.  Images without a registry's host come from `registry`, which is asked over TLS or not.  `server` is the node door's
    URL.  With `subnets` every workflow gets a network of its own out of them; without, its services have the machine's
    network, and `address`.  Only `volumes` are mounted, by their names; None: whatever folders templates name, as on a
    machine.  With a `share` each may take that of the host, and has few of root's rights; None: what it asks for, and the
    rights that the engine gives.  `https_server` is the node door's URL over TLS, where `authority` (PEM) is what to trust it by; empty: there
    is none.
    """

    host: str
    folder: Path
    registry: str
    server: str
    privileged: bool
    address: str = ""
    subnets: IPv4Network | None = None
    volumes: Mapping[str, HostFolder] | None = field(default_factory=dict)
    share: Share | None = None
    tls: bool = False
    https_server: str = ""
    authority: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a host looks and how long it waits, in seconds.

    It looks at a service every `starting` seconds until it is ready and every `settled` afterwards, at its /workflow
    every `data`, and for what nobody wants every `sweep`, when it also says again what it has.  A service that is to end
    has `grace` before it is killed.  The delay before a restart is as long as the policy says, times `restart`.
    """

    starting: float = 0.25
    settled: float = 1.0
    data: float = 1.0
    sweep: float = 20.0
    grace: int = 10
    restart: float = 1.0
