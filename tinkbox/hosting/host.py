"""The host of services: keeps what is wanted on one Docker engine, and nothing else that is its own."""

import asyncio
import logging
from collections.abc import Callable
from typing import NoReturn

from tinkbox.hosting import HostLink, Pace, Place
from tinkbox.hosting.folder import is_run, runs
from tinkbox.hosting.keeper import Keeper, Premises
from tinkbox.hosting.networks import Networks
from tinkbox.model.errors import Refusal
from tinkbox.model.limits import Ledger
from tinkbox.model.services import Standing
from tinkbox.runtime import ContainerFailed, EngineAway
from tinkbox.runtime.hosting import ServiceRuntime
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.hosting import Wanted, WantedService

_log = logging.getLogger(__name__)


class ServiceHost:
    """Level-triggered: killed at any moment, the next one goes on where it was on the same engine and folder."""

    def __init__(
        self,
        runtime: ServiceRuntime,
        host_link: HostLink,
        place: Place,
        clock: Callable[[], float],
        pace: Pace | None = None,
        room: Ledger | None = None,
    ) -> None:
        """`clock` is monotonic, in seconds.  `room` is how many there may be, by workflow; None: as many as are wanted."""
        self._runtime = runtime
        self._host_link = host_link
        self._place = place
        self._pace = pace or Pace()
        self._networks = Networks(runtime, place)
        self._premises = Premises(
            runtime=runtime, host_link=host_link, place=place, pace=self._pace, clock=clock, networks=self._networks,
            changed=self._news, room=room,
        )  # fmt: skip
        self._wanted: Wanted | None = None
        self._keepers: dict[str, Keeper] = {}
        self._over: dict[str, Standing] = {}  # what nothing is left of, until the host link knows
        self._turned = asyncio.Event()
        self._left = asyncio.Event()
        self._changed = asyncio.Event()

    async def run(self) -> NoReturn:
        """Make wanted services real and end others, for ever; neither an engine nor a host link that is away ends it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._learn())
            await self._turned.wait()
            self._follow(group)
            # Before it is known what is wanted nothing is a stray, and not all is there to be told.
            group.create_task(self._report())
            group.create_task(self._tidy(group))
            while True:
                await self._turned.wait()
                self._turned.clear()
                self._follow(group)
        raise AssertionError("a group that never ends has ended")

    @property
    def is_needed(self) -> bool:
        """Whether a service is wanted here; one that is only to be ended waits for an engine that is away, and nothing waits for it."""
        return self._wanted is not None and bool(self._wanted.services)

    async def gather(self, workflow_id: str) -> bool:
        """Have the host link keep what this workflow's services have in their /workflow by now; whether it has any here.

        Raises Unavailable.
        """
        keepers = [each for each in self._keepers.values() if each.workflow_id == workflow_id]
        for keeper in keepers:
            await keeper.keep_data()
        return bool(keepers)

    async def _learn(self) -> NoReturn:
        while True:
            seen = "" if self._wanted is None else self._wanted.mark
            wanted = await patiently(lambda: self._host_link.wanted(seen), Refusal)  # noqa: B023
            if wanted is not None:
                self._wanted = wanted
                self._turned.set()

    async def _report(self) -> NoReturn:
        while True:
            await patiently(self._tell, Refusal)
            await _within(self._pace.sweep, self._changed)

    async def _tell(self) -> None:
        over = dict(self._over)
        await self._host_link.observed((*(each.standing for each in self._keepers.values()), *over.values()))
        for run, standing in over.items():
            if self._over.get(run) is standing:
                del self._over[run]

    def _follow(self, group: asyncio.TaskGroup) -> None:
        """Begin with what is wanted, end what is not: as far as it is known without asking the engine."""
        wanted = {} if self._wanted is None else {each.run: each for each in self._wanted.services if is_run(each.run)}
        for run in {*wanted, *runs(self._place.folder)}:
            if run not in self._keepers:
                self._keep(group, run, wanted.get(run))
        for run, keeper in self._keepers.items():
            if run not in wanted:
                keeper.end()

    async def _tidy(self, group: asyncio.TaskGroup) -> NoReturn:
        while True:
            await patiently(lambda: self._sweep(group), EngineAway, ContainerFailed)
            await _within(self._pace.sweep, self._left)

    async def _sweep(self, group: asyncio.TaskGroup) -> None:
        """End containers and networks that nobody wants, whoever left them."""
        for container in await self._runtime.find({"tinkbox.host": self._place.host}):
            run = container.labels.get("tinkbox.run", "")
            if run not in self._keepers and is_run(run):
                self._keep(group, run, None)
        await self._networks.sweep(self._needs)

    def _needs(self, workflow_id: str) -> bool:
        return any(keeper.workflow_id == workflow_id for keeper in self._keepers.values())

    def _keep(self, group: asyncio.TaskGroup, run: str, wanted: WantedService | None) -> None:
        what = "is begun" if wanted else "is ended: nobody wants it"
        _log.info("service run %s %s", run, what, extra={"action": "service.kept"})
        self._over.pop(run, None)
        self._keepers[run] = Keeper(self._premises, run, wanted)
        group.create_task(self._kept(run, self._keepers[run]))
        self._news()

    async def _kept(self, run: str, keeper: Keeper) -> None:
        await keeper.run()
        del self._keepers[run]
        self._over[run] = keeper.standing
        self._news()
        self._turned.set()
        self._left.set()

    def _news(self) -> None:
        self._changed.set()


async def _within(seconds: float, event: asyncio.Event) -> None:
    """Return when the event is set, and clear it, or after so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
    event.clear()
