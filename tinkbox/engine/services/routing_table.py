"""Which services there are, in memory: what the proxy and booting machines ask about them waits for no disk.

Of several routes that a request matches, those of the asker's own workflows come before public ones of others, and
services that are to run before those that wait for their turn; then the highest priority wins, then a running workflow,
the oldest one, and the order in the template.  The name of a workflow leads to the services of that one only.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from tinkbox.model.boot import Supply
from tinkbox.model.errors import Invalid
from tinkbox.model.services import APPLIANCE, SERVING, Phase, ServiceStatus
from tinkbox.model.workflow import State
from tinkbox.wire.routing.labels import BOOT_PATH, Labels, Route, read_labels
from tinkbox.wire.routing.rules import Request

HTTP_PORT: Final = 80
_DOING: Final[Mapping[Phase, str]] = {
    Phase.PENDING: "has not begun yet",
    Phase.STARTING: "is starting",
    Phase.READY: "is ready",
    Phase.UNHEALTHY: "is not healthy any more",
    Phase.RESTARTING: "ended and is started again",
    Phase.EXITED: "has ended",
    Phase.FAILED: "failed",
    Phase.STOPPING: "is ending",
    Phase.STOPPED: "was ended",
}
_log = logging.getLogger(__name__)
_Said = tuple[tuple[tuple[str, str], ...], tuple[str, ...]]  # labels and urls of a service


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """The services of a workflow that is not over, and who they are for.

    `wanted` is whether its services are to run: it is the first in the queue of the machine it stands at.  `machines` are
    the ids of those that have or had something to do in it, `next_of` those of them that have something to do in it
    before in any other workflow.
    """

    workflow_id: str
    state: State
    wanted: bool
    machines: frozenset[str]
    services: tuple[ServiceStatus, ...]
    next_of: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where a request leads to; the service may not be up."""

    hosted: Hosted
    service: ServiceStatus
    route: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A route with its rank; the lowest rank wins.  `members` are the ids and addresses of whom it is for."""

    rank: tuple[bool, int, bool, int, int, int]
    public: bool
    members: frozenset[str]
    found: Found


class RoutingTable:
    """Replaced as a whole whenever services or their workflows change.

    `domain` is what names of workflows end in, `url` is the node door's.
    """

    def __init__(self, domain: str, url: str) -> None:
        self._domain = domain
        port = urlsplit(url).port or HTTP_PORT
        self._port = "" if port == HTTP_PORT else f":{port}"
        self._labels: dict[_Said, Labels] = {}
        self._turns: dict[str, Hosted] = {}
        self._by_name: dict[str, tuple[_Entry, ...]] = {}
        self._by_member: dict[str, tuple[_Entry, ...]] = {}
        self._public: tuple[_Entry, ...] = ()

    def replace(self, hosted: Sequence[Hosted]) -> None:
        """These are the workflows with services that are not over, oldest first."""
        said = {_said(service) for each in hosted for service in each.services}
        self._labels = {each: self._read(each) for each in said}
        self._turns = {machine: each for each in hosted if each.wanted for machine in each.next_of}
        by_name: dict[str, tuple[_Entry, ...]] = {}
        by_member: defaultdict[str, list[_Entry]] = defaultdict(list)
        public: list[_Entry] = []
        for age, each in enumerate(hosted):
            entries = self._entries(each, age)
            by_name[self.name_of(each.workflow_id)] = tuple(entries)
            for member in _members(each):
                by_member[member] += entries
            public += [entry for entry in entries if entry.public]
        self._by_name = by_name
        self._by_member = {member: _ranked(entries) for member, entries in by_member.items()}
        self._public = _ranked(public)

    def name_of(self, workflow_id: str) -> str:
        """The name under which machines reach the services of a workflow."""
        return f"{workflow_id}.{self._domain}"

    def url_of(self, workflow_id: str) -> str:
        """The same as a URL without a path."""
        return f"http://{self.name_of(workflow_id)}{self._port}"

    def covers(self, host: str) -> bool:
        """Whether a host, in lower case and without port, is the domain of workflows or below it."""
        return host == self._domain or host.endswith(f".{self._domain}")

    def find(self, request: Request, machine: str) -> Found | None:
        """The route of a request; `machine` is the id of the one that asks, empty when it is not known.

        A workflow's own routes are for its machines, for those that host its services, and for the containers of these.
        """
        asker = frozenset((machine, request.client))
        named = self._by_name.get(request.host)
        if named is not None:
            return _first(request, (each for each in named if each.public or not asker.isdisjoint(each.members)))
        for member in sorted(asker):
            if own := _first(request, self._by_member.get(member, ())):
                return own
        return _first(request, self._public)

    def supply(self, machine: str) -> Supply | None:
        """What the workflow whose turn it is on a machine supplies for its boot, if it does."""
        hosted = self._turns.get(machine)
        if hosted is None:
            return None
        name = self.name_of(hosted.workflow_id)
        for service in hosted.services:
            labels = self._labels[_said(service)]
            if labels.boot and labels.boot_host in ("", name):
                return self._supplied(hosted, service, labels.boot)
        return next(
            (
                self._supplied(hosted, each.found.service, BOOT_PATH)
                for each in self._by_name[name]
                if _names_boot_script(each.found.route, name) and each.found.service.service.host not in hosted.machines
            ),
            None,
        )

    def _supplied(self, hosted: Hosted, service: ServiceStatus, path: str) -> Supply:
        return Supply(
            service=service.service.spec.name,
            url=f"{self.url_of(hosted.workflow_id)}{path}",
            ready=serves(service),
            standing=f"service {service.service.spec.name} {doing(service)}",
        )

    def _entries(self, hosted: Hosted, age: int) -> list[_Entry]:
        """The routes of a workflow, by rank."""
        members = _members(hosted)
        entries = []
        for service in hosted.services:
            labels = self._labels[_said(service)]
            for number, route in enumerate(labels.routes):
                place = (service.service.index, number)
                rank = (not hosted.wanted, -route.priority, hosted.state is State.PENDING, age, *place)
                found = Found(hosted=hosted, service=service, route=route)
                entries.append(_Entry(rank=rank, public=labels.public, members=members, found=found))
        return list(_ranked(entries))

    def _read(self, said: _Said) -> Labels:
        """What the labels of a service say; it has no routes when this release refuses what another took."""
        known = self._labels.get(said)
        if known is not None:
            return known
        try:
            return read_labels(*said)
        except Invalid as refused:
            _log.warning("labels refused: %s", refused, extra={"action": "service.labels"})
            return Labels()


def serves(status: ServiceStatus) -> bool:
    """Whether requests may be sent to a service."""
    return status.standing.phase in SERVING and bool(status.standing.address)


def doing(status: ServiceStatus) -> str:
    """Where a service stands, for people and to follow its name: `is starting: pulling its image`."""
    told, message = _DOING[status.standing.phase], status.standing.message
    return f"{told}: {message}" if message else told


def _said(status: ServiceStatus) -> _Said:
    return status.service.spec.labels, status.service.spec.urls


def _names_boot_script(route: Route, name: str) -> bool:
    """Whether a route names the boot script under the workflow's own name, and not only a prefix that holds it."""
    asked = Request(method="GET", host=name, path=BOOT_PATH)
    return route.rule.matches(asked) and not route.rule.matches(replace(asked, path=f"{BOOT_PATH}.other"))


def _members(hosted: Hosted) -> frozenset[str]:
    """Machines by id; containers by address, but only those that the appliance itself gave theirs."""
    hosts = {each.service.host for each in hosted.services}
    containers = {each.standing.address for each in hosted.services if each.service.host == APPLIANCE}
    # The appliance is the empty host, and an address that is not known yet is empty as well.
    return (hosted.machines | hosts | containers) - {APPLIANCE}


def _ranked(entries: Iterable[_Entry]) -> tuple[_Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.rank))


def _first(request: Request, entries: Iterable[_Entry]) -> Found | None:
    return next((entry.found for entry in entries if entry.found.route.rule.matches(request)), None)
