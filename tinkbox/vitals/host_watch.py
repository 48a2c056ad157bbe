"""What is measured of this host and of its neighbours on our networks."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from tinkbox.model.host_vitals import HostVitals, LostDatabase, OtherAppliance, RefusedReplies, TakenAddress
from tinkbox.vitals.background import Background
from tinkbox.vitals.link_settings import link_settings

# Seconds from one question for our own addresses to the next.
_ASKED_EVERY: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSources:
    """What is asked of the rest of the appliance: who has our addresses, which takes half a second, and what was noted since."""

    taken: Callable[[], Awaitable[tuple[TakenAddress, ...]]]
    refused_replies: Callable[[], Sequence[RefusedReplies]]
    appliances: Callable[[], Sequence[OtherAppliance]]
    database: Callable[[], LostDatabase | None]


class HostWatch:
    """`names` are the provisioning interfaces."""

    def __init__(self, names: Sequence[str], sources: HostSources, every: float = _ASKED_EVERY) -> None:
        self._names = names
        self._sources = sources
        nothing: tuple[TakenAddress, ...] = ()
        self._taken = Background(sources.taken, nothing, every)

    async def run(self) -> NoReturn:
        """Ask who has our addresses, for ever."""
        await self._taken.run()

    def look(self) -> HostVitals:
        """As it is now."""
        return HostVitals(
            links=link_settings(self._names),
            taken=self._taken.last,
            refused_replies=tuple(self._sources.refused_replies()),
            appliances=tuple(self._sources.appliances()),
            database=self._sources.database(),
        )
