"""One attempt at one action: from the offer to the outcome.

Exactly once: a container carries its attempt's token as a label, is looked for before one is made,
and is removed only after the report was answered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tinkbox.model.errors import Conflict, Denied, Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.model.image import parse_reference
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ContainerFailed, Ended, EngineAway, Runtime
from tinkbox.wire.worker import Credential, Leaving, Offer, Order
from tinkbox.worker import verdict
from tinkbox.worker.containers import ACTION, Containers
from tinkbox.worker.folder import WorkerFolder
from tinkbox.worker.leash import Leash, unwanted
from tinkbox.worker.output import OutputPump
from tinkbox.worker.patience import patiently
from tinkbox.worker.words import Told

GRACE = 10
MAX_HOOK_SECONDS = 600.0
# So long an engine that is away is waited for when a container is to be stopped.
ENGINE_SECONDS = GRACE + 10.0
LOST_SECONDS = 5.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


class Door(Protocol):
    """What an attempt needs of the appliance."""

    async def output(self, attempt: str, offset: int, chunk: bytes) -> int: ...
    async def data(self, attempt: str) -> bytes: ...
    async def keep_data(self, attempt: str, archive: bytes) -> None: ...
    async def order(self, attempt: str) -> Order | None: ...
    async def leaving(self, attempt: str, leaving: Leaving) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where attempts run; `boot_id` is the kernel's, new whenever the machine has booted."""

    runtime: Runtime
    door: Door
    folder: WorkerFolder
    credential: Credential
    boot_id: str
    privileged: bool


class RegistryAway(Unavailable):
    """The appliance's registry does not answer now."""


class NothingToBegin(Exception):
    """The machine is about to go away, and no container is left to start."""


class AttemptRun:
    """Runs one offer."""

    def __init__(self, machine: Machine, offer: Offer) -> None:
        self._machine = machine
        self._offer = offer
        self._action = offer.action
        self._containers = Containers(machine.runtime, machine.folder, machine.credential, offer, machine.privileged)
        self._pump = OutputPump(machine.door, offer.attempt)
        self._leash = Leash(machine.door, offer.attempt)
        self._group: asyncio.TaskGroup
        self._carrying: asyncio.Task[None] | None = None
        self._missing: Exception | None = None  # what is being waited for besides the action itself
        self._engine_was_away = False
        self._engine_gone = False

    async def outcome(self) -> Outcome | None:
        """Do what the offer says, or go on with it, and tell how it ended.  Takes as long as the action.

        None when there is nothing to tell, for the machine goes away: the worker must end.
        """
        notes, attempt = self._machine.folder.notes, self._offer.attempt
        notes.begin(attempt)
        outcome = notes.outcome(attempt)
        if outcome is None:
            async with asyncio.TaskGroup() as self._group:
                listening = self._group.create_task(self._leash.listen())
                outcome = await self._carried_out()
                listening.cancel()
            if outcome is not None:
                notes.keep_outcome(attempt, outcome)
        return outcome

    async def clean_up(self) -> None:
        """Remove the attempt's containers and files, once nobody needs them any more."""
        folder, attempt = self._machine.folder, self._offer.attempt
        try:
            await self._patiently(self._containers.remove_all)
        except ContainerFailed as error:
            _log.warning("a container stays behind: %s", error, extra={"action": "attempt.stray"})
        folder.words.forget(attempt, self._action.volumes)
        folder.notes.forget(attempt)

    async def _carried_out(self) -> Outcome | None:
        begun = self._machine.folder.notes.stop(self._offer.attempt)
        if begun is not None:
            return await self._stopped(begun)
        try:
            async with self._leash.within(self._offer.remaining):
                ended = await self._run(ACTION, self._action.command, self._prepare)
        except TimeoutError:
            return await self._cut_short()
        except NothingToBegin:
            return await self._going()
        except ContainerFailed as error:
            await self._output_carried_if_it_ends()
            return await self._failed(verdict.refused(error, self._told(), self._pump.tail))
        except Refusal as error:
            return await self._stop(unwanted(error))
        return await self._ended(ended)

    async def _run(self, role: str, command: tuple[str, ...], prepare: Callable[[], Awaitable[None]]) -> Ended:
        """Have the container of this role started, and wait for its end."""
        container = await self._patiently(lambda: self._started(role, command, prepare))
        self._carry(container)
        return await self._patiently(lambda: self._machine.runtime.wait(container.id))

    async def _started(self, role: str, command: tuple[str, ...], prepare: Callable[[], Awaitable[None]]) -> Container:
        """Find or make the container, and start it if it never was.

        Asked again it looks again: behind an answer that was lost the container may be made, or run,
        or be at its end, and to start it then would run the action twice.
        """
        notes, attempt = self._machine.folder.notes, self._offer.attempt
        container = await self._containers.found(role)
        if container is None and notes.start(attempt, role) and not self._offer.left:
            raise ContainerFailed("ContainerLost", "its container was removed, and is not started a second time")
        if container is None:
            await prepare()
            container = await self._containers.made(role, command)
        if not container.started:
            if self._action.reboot and role == ACTION:
                leaving = Leaving(workflow_id=self._offer.workflow_id, boot_id=self._machine.boot_id)
                await self._patiently(lambda: self._machine.door.leaving(attempt, leaving))
            notes.keep_start(attempt, role)
            await self._machine.runtime.start(container.id)
        return container

    async def _prepare(self) -> None:
        if self._offer.left:
            raise NothingToBegin
        self._containers.check_volumes()
        archive = await self._patiently(lambda: self._machine.door.data(self._offer.attempt))
        self._containers.unpack_data(archive)
        _log.info("fetching image %s", self._containers.image, extra={"action": "attempt.pull"})
        await self._patiently(self._pull)

    async def _pull(self) -> None:
        try:
            await self._machine.runtime.pull(self._containers.image)
        except ContainerFailed as error:
            ours = not parse_reference(self._action.image).host
            if ours and error.reason == "RegistryUnreachable":
                raise RegistryAway(str(error)) from None
            raise

    async def _prepared(self) -> None:
        """A hook runs from the image that is there already."""

    def _carry(self, container: Container) -> None:
        """Carry the container's output from now on, beside everything else."""
        self._pump.next_container()
        output = self._machine.runtime.output
        self._carrying = self._group.create_task(self._pump.carry(lambda: output(container.id)))

    async def _output_carried(self) -> None:
        if self._carrying is not None:
            await self._carrying
            self._carrying = None

    async def _output_carried_if_it_ends(self) -> None:
        """Of a container that is gone: what is on its way still arrives, but nothing ends the output for sure."""
        if self._carrying is not None:
            await asyncio.wait({self._carrying}, timeout=LOST_SECONDS)
            self._carrying.cancel()
            self._carrying = None

    async def _ended(self, ended: Ended) -> Outcome | None:
        """The action ended by itself."""
        await self._output_carried()
        told, tail = self._told(), self._pump.tail
        if self._action.reboot and verdict.went_with_the_machine(ended, engine_was_away=self._engine_was_away):
            return await self._going()
        if ended.exit_code != 0:
            return await self._failed(verdict.failed(ended, told, tail, engine_was_away=self._engine_was_away))
        try:
            await self._keep_data()
        except (Invalid, TooLarge) as error:
            return await self._with_hook(verdict.data_refused(error, told, tail))
        except (NotFound, Conflict) as error:
            _log.warning("the data is not wanted: %s", error, extra={"action": "data.stale"})
        return verdict.succeeded(told, tail)

    async def _failed(self, outcome: Outcome) -> Outcome:
        return await self._with_hook(verdict.noted(outcome, await self._data_kept_if_possible()))

    async def _cut_short(self) -> Outcome | None:
        """Time is up, or an order came; but the action may have ended by itself meanwhile."""
        runtime, missing = self._machine.runtime, self._missing
        container = await self._if_engine_answers(lambda: self._containers.found(ACTION))
        order = self._leash.order
        if container is None and self._offer.left and order is None:
            return await self._going()
        if container is not None and container.ended:
            if self._carrying is None:
                self._carry(container)
            try:
                return await self._ended(await self._patiently(lambda: runtime.wait(container.id)))
            except ContainerFailed as error:
                return await self._failed(verdict.refused(error, self._told(), self._pump.tail))
        waiting = f", waiting for: {missing}" if missing else ""
        late = f"the action did not end within {self._action.timeout} seconds{waiting}"
        late_order = Order(state=State.TIMEOUT, message=late)
        return await self._stop(order or late_order, _MISSING.get(type(missing), ""))

    async def _stop(self, order: Order, missing: str = "") -> Outcome:
        _log.info("stopping the action: %s", order.message, extra={"action": "attempt.stop"})
        self._machine.folder.notes.keep_stop(self._offer.attempt, order)
        return await self._stopped(order, missing)

    async def _stopped(self, order: Order, missing: str = "") -> Outcome:
        if not await self._halted(ACTION):
            outcome = verdict.stopped(order, missing or "EngineGone", self._told(), self._pump.tail)
            return verdict.noted(outcome, "whether its container still runs is not known")
        outcome = verdict.stopped(order, missing, self._told(), self._pump.tail)
        outcome = verdict.noted(outcome, await self._data_kept_if_possible())
        return await self._with_hook(outcome) if outcome.state is State.TIMEOUT else outcome

    async def _halted(self, role: str) -> bool:
        """Have the container of this role run no more, and all of its output; False when the engine stays away."""
        container = await self._if_engine_answers(lambda: self._containers.halted(role, GRACE))
        if self._engine_gone:
            if self._carrying is not None:
                self._carrying.cancel()
            self._carrying = None
            return False
        if container is not None and container.started and self._carrying is None:
            self._carry(container)
        await self._output_carried()
        return True

    async def _going(self) -> Outcome | None:
        """The machine goes away by intention: nothing is told, unless an order comes first."""
        if self._machine.folder.reboot_wanted and self._leash.order is None:
            return None
        _log.info("waiting for the machine to go away", extra={"action": "attempt.leaving"})
        return await self._stop(await self._leash.ordered())

    async def _with_hook(self, outcome: Outcome) -> Outcome:
        """2020's on-timeout and on-failure: the command in a new container of the same image, which changes nothing."""
        late = outcome.state is State.TIMEOUT and self._action.on_timeout
        role, command = ("on-timeout", late) if late else ("on-failure", self._action.on_failure)
        if not command or self._leash.canceled:
            return outcome
        _log.info("running %s", role, extra={"action": "attempt.hook"})
        limit = min(float(self._action.timeout), MAX_HOOK_SECONDS)
        note = ""
        try:
            async with self._leash.within(limit):
                ended = await self._run(role, command, self._prepared)
            note = f"{role} ended with exit code {ended.exit_code}" if ended.exit_code else ""
            await self._output_carried()
        except TimeoutError:
            why = self._leash.order.message if self._leash.order else f"it did not end within {limit:.0f} seconds"
            note = f"{role} was stopped: {why}"
            await self._halted(role)
        except ContainerFailed as error:
            # Without its image the action failed, and so must the hook: that is said already.
            note = "" if error.reason == "ImageNotFound" else f"{role} did not run: {error}"
            await self._output_carried_if_it_ends()
        return verdict.noted(outcome, note)

    async def _keep_data(self) -> None:
        archive = self._machine.folder.data.pack(self._offer.workflow_id)
        if not archive and not await self._patiently(lambda: self._machine.door.data(self._offer.attempt)):
            return
        await self._patiently(lambda: self._machine.door.keep_data(self._offer.attempt, archive))

    async def _data_kept_if_possible(self) -> str:
        """Send the data after a failure, when the action had a chance to change it; returns what there is to say."""
        container = await self._if_engine_answers(lambda: self._containers.found(ACTION))
        if container is None or not container.started:
            return ""
        try:
            await self._keep_data()
        except (Invalid, TooLarge) as error:
            return f"its data was not kept: {error}"
        except (NotFound, Conflict) as error:
            _log.warning("the data is not wanted: %s", error, extra={"action": "data.stale"})
        return ""

    def _told(self) -> Told:
        return self._machine.folder.words.told(self._offer.attempt, ACTION)

    async def _if_engine_answers(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        """The answer, or None and `_engine_gone` when the engine stays away, or cannot do it."""
        self._engine_gone = True
        try:
            async with asyncio.timeout(ENGINE_SECONDS):
                answer = await self._patiently(ask)
        except (TimeoutError, ContainerFailed) as error:
            _log.warning("the engine does not help: %s", error or "no answer", extra={"action": "engine.gone"})
            return None
        self._engine_gone = False
        return answer

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again for as long as the engine or the appliance is away; the leash ends it."""

        async def noting() -> T:
            try:
                answer = await ask()
            except (EngineAway, Unavailable, Denied) as error:
                self._missing = error
                self._engine_was_away |= isinstance(error, EngineAway)
                raise
            self._missing = None
            return answer

        return await patiently(noting, EngineAway, Unavailable, Denied)


_MISSING: dict[type, str] = {EngineAway: "EngineGone", RegistryAway: "RegistryUnreachable"}
