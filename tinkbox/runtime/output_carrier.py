"""The output of containers, carried beside everything else."""

import asyncio
import math
from contextlib import suppress

from tinkbox.runtime import Container, Containers
from tinkbox.runtime.output import OutputPump

LOST_SECONDS = 5.0
# Seconds that an engine may stay away while the rest of what is over is read; one that restarts is back by then.
REST_SECONDS = 30.0
MOST_READ_AGAIN = 1024 * 1024  # bytes; of a container that printed more the end of what follows it is waited for
# What a process printed before it ended is in the engine's log soon, but nothing tells when all of it is.
QUIET_SECONDS = 0.1
SETTLED_SECONDS = 1.0


class Carrier:
    """One container after the other; `group` must outlive it.

    `whole` tells that their engine keeps all of their logs (`ContainerSpec.log_bytes`).
    """

    def __init__(self, runtime: Containers, pump: OutputPump, group: asyncio.TaskGroup, *, whole: bool = True) -> None:
        self._runtime = runtime
        self._pump = pump
        self._group = group
        self._whole = whole
        self._carrying: asyncio.Task[None] | None = None
        self._container = ""

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines of the current container."""
        return self._pump.tail

    @property
    def carries(self) -> bool:
        """Whether a container's output is being carried."""
        return self._carrying is not None

    def begin(self, container: Container) -> None:
        """Carry this container's output from now on; of one that was carried already, what is there more."""
        if container.id != self._container:
            self._container = container.id
            self._pump.next_container()
        self._carry(follow=True)

    def begin_run(self) -> None:
        """The container's process runs once more: what it prints from now on is the tail."""
        self._pump.next_run()

    async def end(self) -> None:
        """Wait for all the output of a container that ended; an engine that stays away meanwhile keeps what is not read yet."""
        if self._carrying is None:
            return
        if self._pump.read <= MOST_READ_AGAIN:
            # The follow hears of the end up to 20 ms after it: what is missing is there to be read.
            self._carrying.cancel()
        await asyncio.wait({self._carrying})
        # A follow that ends has not told all: Docker 20.10 leaves out what it wrote last, above all a line without an end.
        self._carry(follow=False)
        await self._carrying
        self._carrying = None

    async def end_soon(self) -> None:
        """The same for LOST_SECONDS at most; what did not arrive by then does when the container is carried again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOST_SECONDS):
                await self.end()
        self.drop()

    async def end_if_it_ends(self) -> None:
        """Of a container that is gone: what is on its way still arrives, but nothing ends the output for sure."""
        if self._carrying is not None:
            await asyncio.wait({self._carrying}, timeout=LOST_SECONDS)
            self.drop()

    async def settle(self) -> None:
        """Wait until the process of a container that goes on has nothing more on its way."""
        begun, before = asyncio.get_running_loop().time(), -1
        while self._pump.received != before and asyncio.get_running_loop().time() < begun + SETTLED_SECONDS:
            before = self._pump.received
            await asyncio.sleep(QUIET_SECONDS)

    def _carry(self, *, follow: bool) -> None:
        output, container = self._runtime.output, self._container
        patience = math.inf if follow else REST_SECONDS
        so_far = None if self._whole else lambda: output(container, follow=False)
        carrying = self._pump.carry(lambda: output(container, follow=follow), patience, so_far)
        self._carrying = self._group.create_task(carrying)

    def drop(self) -> None:
        """Carry no more of it."""
        if self._carrying is not None:
            self._carrying.cancel()
            self._carrying = None
