"""The machine as a host of workflow services: what is asked and said of them goes through the node door."""

from typing import Protocol

from tinkbox.model.services import Standing
from tinkbox.wire.messages.hosting import Observed, Wanted


class Door(Protocol):
    """What hosting asks of the appliance; `client.node` tells what each raises."""

    async def settled(self) -> object: ...
    async def wanted_services(self, seen: str) -> Wanted | None: ...
    async def observed_services(self, observed: Observed) -> None: ...
    async def service_output(self, run: str, offset: int, chunk: bytes) -> int: ...
    async def keep_service_data(self, run: str, archive: bytes) -> None: ...


class RemoteHostLink:
    """A `hosting.HostLink` on the appliance, for the machine in the boot `boot_id`."""

    def __init__(self, door: Door, boot_id: str) -> None:
        self._door = door
        self._boot_id = boot_id

    async def wanted(self, seen: str) -> Wanted | None:
        wanted = await self._door.wanted_services(seen)
        if wanted is not None:
            # Before anything is removed: a store that was put back to an earlier day wants no service of later workflows.
            await self._door.settled()
        return wanted

    async def observed(self, standings: tuple[Standing, ...]) -> None:
        await self._door.observed_services(Observed(boot_id=self._boot_id, standings=standings))

    async def output(self, run: str, offset: int, chunk: bytes) -> int:
        return await self._door.service_output(run, offset, chunk)

    async def keep_data(self, run: str, archive: bytes) -> None:
        await self._door.keep_service_data(run, archive)
