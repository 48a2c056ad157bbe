"""One run of a service on its host, from when it is wanted until nothing is left of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from tinkbox.hosting import HostLink, Pace, Place, restarts
from tinkbox.hosting.containers import ServiceContainer, StartRefused, found_container
from tinkbox.hosting.ephemeral_data import DataKeeper
from tinkbox.hosting.folder import RunFolder
from tinkbox.hosting.networks import Networks
from tinkbox.model.errors import Invalid, Refusal, Unavailable
from tinkbox.model.limits import Ledger
from tinkbox.model.masking import Masks, masked_standing
from tinkbox.model.reasons import NO_REASON, AnyReason, Reason
from tinkbox.model.services import Phase, PlannedService, Standing
from tinkbox.runtime import Container, ContainerFailed, EngineAway
from tinkbox.runtime.container_image import RegistryAway
from tinkbox.runtime.hosting import Look, ServiceRuntime
from tinkbox.runtime.output import OutputPump
from tinkbox.runtime.output_carrier import Carrier
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.hosting import WantedService

TELL_SECONDS = 1.0  # between two looks at the last lines of one that is not ready
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """What all runs on a host share; `changed` is called when there is something new to say of one.

    `room` is how many containers there may be, by workflow; None: as many as are wanted.
    """

    runtime: ServiceRuntime
    host_link: HostLink
    place: Place
    pace: Pace
    clock: Callable[[], float]
    networks: Networks
    changed: Callable[[], None]
    room: Ledger | None = None


class HostFull(Unavailable):
    """There are as many services as there may be."""

    reason = Reason.HOST_FULL


class Keeper:
    """Every step begins with a look and does one thing, so that it may be cut off, or begun again, anywhere.

    Without `wanted` it is a run that is only to be ended.
    """

    def __init__(self, premises: Premises, run: str, wanted: WantedService | None) -> None:
        self._premises = premises
        self._runtime = premises.runtime
        self._pace = premises.pace
        self._run = run
        self._wanted = wanted
        self._folder = RunFolder(premises.place.folder, run)
        self._data = DataKeeper(premises.host_link, run, self._folder.workflow)
        already = 0 if wanted is None else wanted.restarts
        begun = restarts.Note(standing=Standing(run=run, phase=Phase.STARTING, restarts=already), row=already)
        self._note = self._folder.note() or begun
        self._container: Container | None = None
        self._carrier: Carrier
        self._start = ""  # the newest that was seen, since when, and when its last lines were told
        self._since = self._told = 0.0
        self._trouble: tuple[AnyReason, str] | None = None
        self._masks = Masks() if wanted is None else Masks.of(wanted.given.values())
        self._unwanted = asyncio.Event()
        self._has_room = False
        if wanted is None:
            self._note = restarts.stopping(self._note)
            self.end()

    @property
    def workflow_id(self) -> str:
        """Whose it is; empty of one that is only to be ended."""
        return "" if self._wanted is None else self._wanted.workflow_id

    @property
    def standing(self) -> Standing:
        """Where it stands, with what there is to say of trouble on the way."""
        standing, trouble = self._note.standing, self._trouble or self._data.trouble
        if trouble is None or standing.phase is Phase.FAILED:
            return standing
        return replace(standing, reason=trouble[0], message=trouble[1])

    def end(self) -> None:
        """It is not wanted any more."""
        self._unwanted.set()

    async def keep_data(self) -> None:
        """Have the host link keep what it wrote by now; raises Unavailable or Denied."""
        before = self._data.trouble
        await self._data.keep()
        if self._data.trouble != before:
            self._premises.changed()

    async def run(self) -> None:
        """Until it was ended, and nothing is left of it."""
        async with asyncio.TaskGroup() as group:
            pump = OutputPump(self._premises.host_link, self._run)
            self._carrier = Carrier(self._runtime, pump, group, whole=False)
            if self._wanted is not None:
                place, networks = self._premises.place, self._premises.networks
                own = ServiceContainer(self._runtime, place, networks, self._wanted, self._folder)
                tasks = {group.create_task(self._live(own)), group.create_task(self._watch_data())}
                await self._unwanted.wait()
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            await self._end()

    async def _live(self, own: ServiceContainer) -> None:
        while not self._note.over:
            try:
                await self._answered(partial(self._step, own))
            except ContainerFailed as error:
                if error.reason != Reason.CONTAINER_LOST:
                    self._settle(restarts.refused(self._note, error.reason, str(error)))
                _log.warning("service %s: %s", own.service.spec.name, error, extra={"action": "service.refused"})
                self._container = None
                await asyncio.sleep(self._pace.settled)  # one that is lost again and again is not to be run against
            except Invalid as error:
                self._settle(restarts.refused(self._note, Reason.CREATE_FAILED, str(error)))

    async def _step(self, own: ServiceContainer) -> None:
        if self._container is None:
            await self._arrive(own)
        assert self._container is not None
        look = await self._runtime.look(self._container.id)
        if look.running:
            await self._watch(look)
        elif look.started_at and look.ended_at != self._note.decided:
            await self._decide(own.service, look)
        else:
            self._carrier.begin_run()
            await own.start(self._container, again=bool(look.started_at))

    async def _arrive(self, own: ServiceContainer) -> None:
        """Find the container, or make one."""
        container = await own.found()
        has_room = self._take_room()
        if container is None:
            if not has_room:
                raise HostFull(
                    "the appliance, or this workflow, runs as many services as it may (limits.services, all and each): this one waits"
                )
            own.volumes()
            own.make_folder()
            self._settle(restarts.beginning(self._note, f"fetching image {own.image}"))
            self._settle(restarts.pulled(self._note, await own.pull()))
            container = await own.create()
        look = await self._runtime.look(container.id)
        self._settle(restarts.listening(self._note, own.ports(look.ports)))
        self._container = container

    async def _watch(self, look: Look) -> None:
        self._carry()
        now = self._premises.clock()
        if look.started_at != self._start:
            self._start, self._since = look.started_at, now
        tail = self._note.standing.tail
        if now >= self._told + TELL_SECONDS:
            tail, self._told = self._carrier.tail, now
        address = look.address or self._premises.place.address
        note = restarts.running(self._note, replace(look, address=address), now - self._since, tail)
        self._settle(note)
        await asyncio.sleep(self._pace.starting if note.standing.phase is Phase.STARTING else self._pace.settled)

    async def _decide(self, service: PlannedService, look: Look) -> None:
        assert self._container is not None
        alone = await self._runtime.ended_alone(self._container.id)
        if alone:
            self._carry()
            await self._carrier.end_soon()
        tail = self._carrier.tail
        self._carrier.drop()
        note, delay = restarts.ended(self._note, look, service, tail, alone=alone)
        self._settle(note)
        if delay is not None:
            await asyncio.sleep(delay * self._pace.restart)

    async def _watch_data(self) -> None:
        while True:
            with suppress(Refusal):
                await self.keep_data()
            await asyncio.sleep(self._pace.data)

    async def _end(self) -> None:
        self._tell(restarts.stopping(self._note))
        look = await self._answered(self._halt, ContainerFailed)
        await self._answered(self._remove, ContainerFailed)
        self._carrier.drop()
        await self._answered(self.keep_data, Refusal)
        await self._answered(partial(asyncio.to_thread, self._folder.remove), OSError)
        self._tell(restarts.stopped(self._note, look))

    async def _halt(self) -> Look | None:
        self._container = await found_container(self._runtime, self._premises.place, self._run)
        if self._container is None:
            return None
        if self._container.started:
            await self._runtime.stop(self._container.id, self._pace.grace)
            self._carry()
            await self._carrier.end_soon()
        return await self._runtime.look(self._container.id)

    async def _remove(self) -> None:
        if self._container is not None:
            await self._runtime.remove(self._container.id)
        self._give_room_back()

    def _take_room(self) -> bool:
        """Whether it may have a container; one that has one already keeps it, also beyond a limit that was lowered."""
        room = self._premises.room
        self._has_room = self._has_room or room is None or room.take(self.workflow_id)
        return self._has_room

    def _give_room_back(self) -> None:
        room = self._premises.room
        if room is not None and self._has_room:
            room.give_back(self.workflow_id)
        self._has_room = False

    def _carry(self) -> None:
        if self._container is not None and not self._carrier.carries:
            self._carrier.begin(self._container)

    def _settle(self, note: restarts.Note) -> None:
        """Note what is known of it now, also for the next host, without the secrets that it was given."""
        note = replace(note, standing=masked_standing(self._masks, note.standing))
        if note != self._note:
            self._folder.keep(note)
        self._tell(note)

    def _tell(self, note: restarts.Note) -> None:
        before = self.standing
        self._note, self._trouble = note, None
        if self.standing != before:
            self._premises.changed()

    async def _answered(self, ask: Callable[[], Awaitable[T]], *more: type[Exception]) -> T:
        """Ask again for as long as the engine or the appliance is away, and say so meanwhile."""
        passing: tuple[type[Exception], ...] = (EngineAway, Unavailable, *more)

        async def noting() -> T:
            try:
                answer = await ask()
            except passing as error:
                self._trouble = (_reason(error), str(error))
                self._premises.changed()
                raise
            self._tell(self._note)
            return answer

        return await patiently(noting, *passing)


def _reason(error: Exception) -> AnyReason:
    if isinstance(error, EngineAway):
        return Reason.ENGINE_GONE
    return error.reason if isinstance(error, HostFull | RegistryAway | StartRefused | ContainerFailed) else NO_REASON
