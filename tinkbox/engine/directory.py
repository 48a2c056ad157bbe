"""Which services there are, in memory: what the proxy and booting machines ask about them waits for no disk."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinkbox.model.boot import Supply
from tinkbox.model.services import ServiceStatus
from tinkbox.model.workflow import State
from tinkbox.wire.labels import Route
from tinkbox.wire.rules import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """The services of a workflow that is not over, and who they are for.

    `name` is the workflow's, `wanted` whether its services are to run: it is the first in the queue of the machine it
    stands at.  `machines` are the ids of those that have or had something to do in it.
    """

    workflow_id: str
    name: str
    state: State
    wanted: bool
    machines: frozenset[str]
    services: tuple[ServiceStatus, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where a request leads to; the service may not be up."""

    hosted: Hosted
    service: ServiceStatus
    route: Route


class Directory:
    """Replaced as a whole whenever services or their workflows change.

    `domain` is what names of workflows end in, `url` is the node door's.
    """

    def __init__(self, domain: str, url: str) -> None:
        self._domain = domain
        self._url = url
        self._hosted: tuple[Hosted, ...] = ()

    def replace(self, hosted: Sequence[Hosted]) -> None:
        """These are the workflows with services that are not over, oldest first."""
        self._hosted = tuple(hosted)

    def name_of(self, workflow_id: str) -> str:
        """The name under which machines reach the services of a workflow."""
        return f"{workflow_id}.{self._domain}"

    def find(self, request: Request, machine: str) -> Found | None:
        """The route of a request; `machine` is the id of the one that asks, empty when it is not known."""
        raise NotImplementedError

    def supply(self, machine: str) -> Supply | None:
        """What the workflow that a machine is to work on supplies for its boot, if it does."""
        raise NotImplementedError
