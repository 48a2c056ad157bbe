"""What is measured of this host and of its neighbours on our networks."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final, NoReturn

from tinkbox.model.host_vitals import (
    HostVitals,
    JoinedInterfaces,
    LostDatabase,
    OtherAppliance,
    RefusedReplies,
    StrayRoute,
    TakenAddress,
    UnroutedNetwork,
)
from tinkbox.model.leases import Subnet
from tinkbox.vitals.background import Background
from tinkbox.vitals.ipsec_policies import unread_policies
from tinkbox.vitals.link_settings import held_addresses, link_settings
from tinkbox.vitals.packet_programs import unread_programs
from tinkbox.vitals.routes import stray_routes, unrouted

# Seconds from one question for our own addresses to the next.
_ASKED_EVERY: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSources:
    """What is asked of the rest of the appliance: who has our addresses, which takes half a second, and what was noted since.

    `reserved` are addresses of machines beside the pools.
    """

    taken: Callable[[], Awaitable[tuple[TakenAddress, ...]]]
    refused_replies: Callable[[], Sequence[RefusedReplies]]
    appliances: Callable[[], Sequence[OtherAppliance]]
    database: Callable[[], LostDatabase | None]
    reserved: Callable[[], Iterable[IPv4Address]]
    joined: Callable[[], Sequence[JoinedInterfaces]] = tuple


class HostWatch:
    """`ours` are our addresses, by provisioning interface; `subnets` the networks that machines are on."""

    def __init__(
        self,
        ours: Mapping[str, IPv4Address],
        subnets: Sequence[Subnet],
        sources: HostSources,
        every: float = _ASKED_EVERY,
    ) -> None:
        self._ours = ours
        self._subnets = subnets
        self._sources = sources
        nothing: tuple[TakenAddress, ...] = ()
        self._taken = Background(sources.taken, nothing, every)

    async def run(self) -> NoReturn:
        """Ask who has our addresses, for ever."""
        await self._taken.run()

    def look(self) -> HostVitals:
        """As it is now."""
        strays, ways, unexamined = tuple[StrayRoute, ...](), tuple[UnroutedNetwork, ...](), unread_programs(self._ours)
        unexamined |= unread_policies(self._ours, [each.network for each in self._subnets])
        reserved = frozenset(self._sources.reserved())
        try:
            strays = stray_routes(self._subnets, self._ours, reserved)
            ways = unrouted(self._subnets, self._ours, reserved)
        except OSError as error:
            unexamined["routes"] = f"the kernel does not tell them: {error.strerror}"
        return HostVitals(
            links=link_settings(self._ours),
            taken=self._taken.last,
            refused_replies=tuple(self._sources.refused_replies()),
            appliances=tuple(self._sources.appliances()),
            database=self._sources.database(),
            stray_routes=strays,
            joined=tuple(self._sources.joined()),
            unrouted=ways,
            held=held_addresses(reserved - {*self._ours.values()}),
            unexamined=unexamined,
        )
