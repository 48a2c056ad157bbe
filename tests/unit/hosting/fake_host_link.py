"""The appliance in memory, as a host of services knows it."""

import asyncio
from contextlib import suppress

from tests.unit.worker.fakes import Faults
from tinkbox.model.errors import Refusal
from tinkbox.model.services import Standing
from tinkbox.wire.messages.hosting import Wanted, WantedService
from tinkbox.wire.polling import POLL_SECONDS


class FakeHostLink:
    """What is wanted is what was last told with `want`; `away` while nobody answers, and then it is refused so."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self.now = Wanted()
        self.told: list[tuple[Standing, ...]] = []
        self.printed: dict[str, bytes] = {}
        self.data: dict[str, list[bytes]] = {}
        self.away: Refusal | None = None
        self._turned = asyncio.Event()

    def want(self, *services: WantedService) -> None:
        self.now = Wanted(services=services)
        self._turned.set()

    def of(self, run: str) -> list[Standing]:
        """What was told of one run, one after the other."""
        told = [standing for each in self.told for standing in each if standing.run == run]
        return [each for number, each in enumerate(told) if not number or each != told[number - 1]]

    async def wanted(self, seen: str) -> Wanted | None:
        number = self._call("wanted")
        if self.now.mark == seen:
            self._turned.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._turned.wait()
        self.faults.behind(number)
        return None if self.now.mark == seen else self.now

    async def observed(self, standings: tuple[Standing, ...]) -> None:
        number = self._call("observed")
        self.told.append(standings)
        self.faults.behind(number)

    async def output(self, run: str, offset: int, chunk: bytes) -> int:
        number = self._call("output")
        printed = self.printed.get(run, b"")
        if offset <= len(printed):
            self.printed[run] = printed + chunk[len(printed) - offset :]
        self.faults.behind(number)
        return len(self.printed.get(run, b""))

    async def keep_data(self, run: str, archive: bytes) -> None:
        number = self._call("keep_data")
        self.data.setdefault(run, []).append(archive)
        self.faults.behind(number)

    def _call(self, name: str) -> int:
        number = len(self.faults.calls)
        self.faults.before(name)
        if self.away is not None:
            raise self.away
        return number
