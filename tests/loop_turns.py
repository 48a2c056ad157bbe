"""What happens in the event loop at once, as tests count it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class AtOnce:
    """Work that takes some turns of the loop; `running` is how much of it does, and `seen` how much did each time it began."""

    def __init__(self) -> None:
        self.running = 0
        self.seen: list[int] = []

    async def work(self) -> None:
        self.running += 1
        self.seen.append(self.running)
        for _ in range(50):
            await asyncio.sleep(0)
        self.running -= 1


class Turns:
    """How often something was done in each turn of the loop."""

    def __init__(self) -> None:
        self._turn = 0
        self._done = Counter[int]()

    def note(self) -> None:
        """It is done once."""
        self._done[self._turn] += 1

    @property
    def each(self) -> list[int]:
        """How often in each turn in which it was done."""
        return list(self._done.values())

    async def count(self) -> None:
        while True:
            self._turn += 1
            await asyncio.sleep(0)


@asynccontextmanager
async def turns() -> AsyncIterator[Turns]:
    """Turns of the loop, counted beside what is done meanwhile."""
    counted = Turns()
    async with asyncio.TaskGroup() as group:
        beside = group.create_task(counted.count())
        yield counted
        beside.cancel()
