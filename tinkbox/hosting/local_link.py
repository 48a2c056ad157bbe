"""The appliance's own host link: what its host of services asks and says goes straight to the engine."""

from typing import Protocol

from tinkbox.model.services import APPLIANCE, Standing
from tinkbox.wire.messages.hosting import Wanted

LOOK_EVERY = 5.0


class Services(Protocol):
    """What the host link asks of the engine, on behalf of a host."""

    async def wanted(self, host: str, seen: str) -> Wanted | None: ...
    async def wait(self, host: str, timeout: float) -> None: ...
    async def observed(self, host: str, standings: tuple[Standing, ...]) -> None: ...
    async def output(self, host: str, run: str, offset: int, chunk: bytes) -> int: ...
    async def keep_data(self, host: str, run: str, archive: bytes) -> int: ...


class LocalHostLink:
    """A `hosting.HostLink` without any network between; `look_every` is in seconds."""

    def __init__(self, services: Services, look_every: float = LOOK_EVERY) -> None:
        self._services = services
        self._look_every = look_every

    async def wanted(self, seen: str) -> Wanted | None:
        found = await self._services.wanted(APPLIANCE, seen)
        if found is None:
            await self._services.wait(APPLIANCE, self._look_every)
            found = await self._services.wanted(APPLIANCE, seen)
        return found

    async def observed(self, standings: tuple[Standing, ...]) -> None:
        await self._services.observed(APPLIANCE, standings)

    async def output(self, run: str, offset: int, chunk: bytes) -> int:
        return await self._services.output(APPLIANCE, run, offset, chunk)

    async def keep_data(self, run: str, archive: bytes) -> None:
        await self._services.keep_data(APPLIANCE, run, archive)
