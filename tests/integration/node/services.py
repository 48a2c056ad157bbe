"""An engine that wants one service of every machine, and remembers what it was told."""

import asyncio
from dataclasses import dataclass, field

from tinkbox.model.errors import Refusal
from tinkbox.model.services import PlannedService, Service, Standing
from tinkbox.wire.messages.hosting import Wanted, WantedService

SERVICE = PlannedService(
    index=0,
    host="m1",
    spec=Service(
        name="boot", worker="08:00:27:00:00:01", image="boot:v1", labels=(("a", "1"), ("a", "2")), ports=(80,)
    ),
)
WANTED = Wanted(
    services=(WantedService(run="r1", workflow_id="w1", service=SERVICE, restarts=2, hosts={"w1.lab": "172.30.0.1"}),)
)


@dataclass
class FakeServices:
    """`refusal` is raised by everything instead; `changed` is set when something else is wanted."""

    refusal: Refusal | None = None
    now: Wanted = WANTED
    private: bool | None = None
    told: list[tuple[object, ...]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    waits: asyncio.Event = field(default_factory=asyncio.Event)

    def _tell(self, *words: object) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.told.append(words)

    async def wanted(self, host: str, seen: str, *, private: bool) -> Wanted | None:
        self._tell("wanted", host, seen)
        self.private = private
        return None if seen == self.now.mark else self.now

    async def wait(self, host: str, timeout: float) -> None:
        self.waits.set()
        await self.changed.wait()

    async def observed(self, host: str, standings: tuple[Standing, ...]) -> None:
        self._tell("observed", host, standings)

    async def output(self, host: str, run: str, offset: int, chunk: bytes) -> int:
        self._tell("output", host, run, offset, chunk)
        return offset + len(chunk)

    async def keep_data(self, host: str, run: str, archive: bytes) -> int:
        self._tell("keep_data", host, run, archive)
        return 3
