"""An action's process on this machine: started once, waited for, stopped, its words and its data.

What a step returns says what happened; `worker.transitions` says what state follows.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from tinkbox.model.breakpoint import Kind
from tinkbox.model.errors import Conflict, Invalid, NotFound, TooLarge
from tinkbox.model.reasons import Reason
from tinkbox.model.text import counted
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ContainerFailed, Ended, EngineAway
from tinkbox.runtime.container_image import ContainerImage, RegistryAway
from tinkbox.runtime.output import OutputPump
from tinkbox.runtime.output_carrier import Carrier
from tinkbox.runtime.seeing_through import seen_through
from tinkbox.wire.kernel_log import group_ran_out, machine_ran_out
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.worker import Leaving, Offer, Order, Pulled
from tinkbox.worker import outcome as verdict
from tinkbox.worker.attempts.arming import Arming
from tinkbox.worker.attempts.order_listener import OrderListener
from tinkbox.worker.attempts.retrying import EngineGone, Patience
from tinkbox.worker.containers.action_containers import ACTION, Containers
from tinkbox.worker.containers.helped_container import Helped, Stopped
from tinkbox.worker.files.failure_files import Told
from tinkbox.worker.machine import Machine
from tinkbox.worker.transitions import AttemptEvent, Step

GRACE = 10
MAX_HOOK_SECONDS = 600.0
# So long an engine that is away is waited for when a container is to be stopped.
ENGINE_SECONDS = GRACE + 10.0
# A registry that said nothing for so long is not answering.
SILENCE_SECONDS = 5
_log = logging.getLogger(__name__)
T = TypeVar("T")


class Pulling:
    """An image is being pulled, and `str()` says of that what to know when it takes too long; `now` is in seconds."""

    def __init__(self, image: str, registry: str, now: Callable[[], float]) -> None:
        self._what = f"pulling {image} from {registry}"
        self._now = now
        self._heard_at = now()
        self._answered = False

    def hear(self) -> None:
        """Something came from the registry."""
        self._heard_at = self._now()
        self._answered = True

    def __str__(self) -> str:
        silence = round(self._now() - self._heard_at)
        if self._answered and silence < SILENCE_SECONDS:
            return f"{self._what}, which was under way"
        return f"{self._what}, no answer for {counted(silence, 'second')}"


class NothingToBegin(Exception):
    """The machine is about to go away, and no container is left to start."""


class ActionProcess:
    """Of one attempt; without `helped` nothing holds it where it ends."""

    def __init__(
        self,
        machine: Machine,
        offer: Offer,
        listener: OrderListener,
        containers: Containers,
        helped: Helped | None,
        arming: Arming,
        patience: Patience,
        group: asyncio.TaskGroup,
    ) -> None:
        self._machine = machine
        self._offer = offer
        self._action = offer.action
        self._listener = listener
        self._containers = containers
        self._helped = helped
        self._arming = arming
        self._patience = patience
        self._sent_data = False
        self._pulling: Pulling | None = None
        self._container_id = ""
        self._begun_at = asyncio.get_running_loop().time()
        self.carrier = Carrier(machine.runtime, OutputPump(machine.door, offer.attempt), group)

    def carry(self, container: Container) -> None:
        """Carry the container's output from now on, if it is not already."""
        self._container_id = container.id
        if not self.carrier.carries:
            self.carrier.begin(container)

    async def tried(self, seconds: float) -> Step:
        """RUNNING: have the action's process run, for the first time or again, and see what comes of it."""
        try:
            async with self._listener.within(seconds):
                ended = await self.run(ACTION, self._action.spec.command, self._prepare)
        except NothingToBegin:
            return Step(event=AttemptEvent.MACHINE_LEAVES)
        except TimeoutError:
            return await self._cut_short()
        except ContainerFailed as error:
            await self.carrier.end_if_it_ends()
            return self.failed(verdict.refused(error, self.told(), self.carrier.tail))
        except EngineGone as error:
            return self._held_or(AttemptEvent.ENGINE_STAYS_AWAY, verdict.no_engine(str(error)), None)
        return await self._ended(ended)

    async def run(self, role: str, command: tuple[str, ...], prepare: Callable[[], Awaitable[None]]) -> Ended | Stopped:
        """Have the container of this role started, and wait for its end, or until its helper holds it."""
        container = await self._patience.until_answered(lambda: self._started(role, command, prepare))
        if role == ACTION:
            self.carry(container)
        else:
            self.carrier.begin(container)
        helped = self._helped if role == ACTION else None
        wait = helped.wait if helped is not None else self._machine.runtime.wait
        return await self._patience.until_answered(lambda: wait(container.id))

    async def _started(self, role: str, command: tuple[str, ...], prepare: Callable[[], Awaitable[None]]) -> Container:
        """Find or make the container, and start it if it never was.

        Asked again it looks again: behind an answer that was lost the container may be made, or run,
        or be at its end, and to start it then would run the action twice.
        """
        notes, attempt = self._machine.folder.notes, self._offer.attempt
        container = await self._containers.found(role)
        if container is None and notes.start(attempt, role) and not self._offer.left:
            raise ContainerFailed(Reason.CONTAINER_LOST, "its container was removed, and is not started a second time")
        if container is None:
            await prepare()
            container = await self._containers.made(role, command, lambda: self._arming.policy)
        if not container.started:
            if notes.start(attempt, role) and (role != ACTION or self._helped is None):
                await self._check_that_it_never_began(container)
            if self._action.spec.reboot and role == ACTION:
                leaving = Leaving(workflow_id=self._offer.workflow_id, boot_id=self._machine.boot_id)
                await self._patience.until_answered(lambda: self._machine.door.leaving(attempt, leaving))
            notes.keep_start(attempt, role, asyncio.get_running_loop().time())
            try:
                await seen_through(lambda: self._machine.runtime.start(container.id))
            except ContainerFailed as error:
                if error.reason is Reason.ENGINE_RESTARTED and role == ACTION and self._helped is not None:
                    await self._helped.end_forgotten()
                raise
        return container

    async def _check_that_it_never_began(self, container: Container) -> None:
        """Of one that was to be started before, and has no helper that would know; raises ContainerFailed: EngineRestarted.

        An engine that was killed before it had written down that it started a container takes it for one that never was.
        """
        if "create" not in await self._machine.runtime.remembered(container.id):
            raise ContainerFailed(
                Reason.ENGINE_RESTARTED,
                "the Docker engine ended while it started the container: whether its command began is not known,"
                " and it is not begun a second time; if it did, it may still run",
            )

    async def _prepare(self) -> None:
        if self._offer.left:
            raise NothingToBegin
        self._containers.check_volumes()
        await self._patience.until_answered(self._containers.check_network)
        await self._ask_to_wipe(await self._containers.choose_disk())
        await self._gather()
        archive = await self._data()
        await self._patience.until_answered(lambda: self._containers.unpack_data(archive))
        await self._patience.until_answered(self._pull)

    async def _data(self) -> bytes:
        """The workflow's data, as the appliance has it."""
        if self._offer.no_data and not self._sent_data:
            return b""
        return await self._patience.until_answered(lambda: self._machine.door.data(self._offer.attempt))

    async def _ask_to_wipe(self, chosen: str) -> None:
        """Have the appliance decide whether the action's disks may be overwritten; `chosen` is the one it is told of."""
        if not self._action.spec.wipes:
            return
        disks = await self._machine.look(self._action.spec.wipes)
        for disk in disks:
            device = disk.device or disk.path
            if disk.path == self._action.spec.disk and not disk.problem and device != chosen:
                raise ContainerFailed(
                    Reason.DISK_AMBIGUOUS,
                    f"`{disk.path}` meant {chosen}, and a moment later {device}: disks come and go",
                )
        looked = Looked(workflow_id=self._offer.workflow_id, boot_id=self._machine.boot_id, disks=disks)
        refused = await self._patience.until_answered(lambda: self._machine.door.may_wipe(self._offer.attempt, looked))
        if refused is not None:
            raise ContainerFailed(refused.reason, refused.message)

    async def _gather(self) -> None:
        """Have what services on this machine wrote in the data that comes."""
        try:
            await self._patience.until_answered(lambda: self._machine.gather(self._offer.workflow_id))
        except (NotFound, Conflict, Invalid, TooLarge) as error:
            _log.warning("what services wrote is not kept: %s", error, extra={"action": "services.not-kept"})

    async def _pull(self) -> None:
        """Have the image here that the workflow is pinned to; what it is not pinned to yet, it is pinned to now."""
        image, runtime = self._containers.image, self._machine.runtime
        self._pulling = None
        if image.digest and await image.find(runtime):
            return
        digest = await image.pull(runtime, self._asking)
        self._pulling = None
        if digest and not image.digest:
            await self._pin(digest)

    def _asking(self, image: ContainerImage) -> Callable[[], None]:
        """Of a pull that is cut short, what is noted here tells what it waited for."""
        _log.info("fetching image %s", image.name, extra={"action": "attempt.pull"})
        self._pulling = Pulling(image.name, image.registry, asyncio.get_running_loop().time)
        return self._pulling.hear

    async def _pin(self, digest: str) -> None:
        pulled = Pulled(workflow_id=self._offer.workflow_id, boot_id=self._machine.boot_id, digest=digest)
        try:
            meant = await self._machine.door.pulled(self._offer.attempt, pulled)
        except (NotFound, Conflict) as error:
            _log.info(
                "image %s is not pinned: %s", self._containers.image.name, error, extra={"action": "attempt.unpinned"}
            )
            return
        self._containers.image.pin(meant)
        if meant != digest:
            await self._pull()

    async def _ended(self, come: Ended | Stopped) -> Step:
        """The action's process ended by itself, or its helper holds it."""
        kind = come.kind if isinstance(come, Stopped) else None
        if kind is Kind.BEFORE:
            return Step(event=AttemptEvent.REACHES_BREAKPOINT, kind=kind)
        await (self.carrier.end() if kind is None else self.carrier.settle())
        told, tail = self.told(), self.carrier.tail
        refusal = self._helped.refusal() if self._helped is not None else None
        if refusal is not None:
            if isinstance(refusal, verdict.NotExecutable) and (foreign := await self._foreign()):
                refusal = verdict.wrong_platform(foreign)
            return self.failed(verdict.refused(refusal, told, tail), kind)
        ended = await self._told_apart(come) if isinstance(come, Stopped) else come
        away = self._patience.engine_was_away
        if self._action.spec.reboot and verdict.went_with_the_machine(ended, engine_was_away=away):
            return Step(event=AttemptEvent.MACHINE_LEAVES)
        if ended.exit_code != 0:
            foreign = await self._foreign() if verdict.not_executable(ended.exit_code, tail) else ""
            is_over = isinstance(come, Ended)
            remembered = await self._remembered() if is_over else ()
            unseen = self._helped is not None and self._helped.end_unseen
            outcome = verdict.failed(
                ended,
                told,
                tail,
                with_engine=is_over and verdict.engine_ended_it(remembered, engine_was_away=away, end_unseen=unseen),
                told_to_kill=verdict.engine_was_told_to_kill(remembered),
                foreign=foreign,
            )
            if outcome.reason not in _OF_OTHER_CAUSE:
                outcome = verdict.noted(outcome, await self._little_room())
            return self.failed(outcome, kind)
        try:
            await self.keep_data()
        except (Invalid, TooLarge) as error:
            refused = verdict.data_refused(error, told, tail)
            return self._held_or(AttemptEvent.FAILS_KEPT, refused, kind and Kind.FAILURE)
        except (NotFound, Conflict) as error:
            _log.warning("the data is not wanted: %s", error, extra={"action": "data.stale"})
        return self._held_or(AttemptEvent.SUCCEEDS, verdict.succeeded(told, tail), kind)

    async def _remembered(self) -> tuple[str, ...] | None:
        """What the engine remembers of the container, which is over; None where no engine answers."""

        async def ask() -> tuple[str, ...]:
            container = await self._containers.found(ACTION)
            return await self._machine.runtime.remembered(container.id) if container is not None else ()

        return await self.if_engine_answers(ask)

    async def _foreign(self) -> str:
        """That the image is for another processor than this machine's, if it is and the engine says so."""
        with suppress(ContainerFailed):  # the image may be gone by now
            return await self.if_engine_answers(lambda: self._containers.foreign()) or ""
        return ""

    async def _little_room(self) -> str:
        """What there is to say of the engine's disk, where it is full and the engine tells."""
        with suppress(ContainerFailed):
            return await self.if_engine_answers(self._machine.little_room) or ""
        return ""

    async def _told_apart(self, stopped: Stopped) -> Ended:
        """How a process ended whose container goes on: only the engine knows of memory that ran out."""
        container = await self.if_engine_answers(lambda: self._containers.found(ACTION))
        memory = False
        if container is not None and stopped.exit_code:
            memory = bool(await self.if_engine_answers(lambda: self._machine.runtime.ran_out_of_memory(container.id)))
        return Ended(exit_code=stopped.exit_code or 0, out_of_memory=memory, killed=stopped.killed)

    async def _cut_short(self) -> Step:
        """Time is up, or an order came; but the action may have ended by itself meanwhile."""
        runtime, missing = self._machine.runtime, self._patience.missing
        container = await self.if_engine_answers(lambda: self._containers.found(ACTION))
        order = self._listener.order
        if container is None and self._offer.left and order is None:
            return Step(event=AttemptEvent.MACHINE_LEAVES)
        held = self._helped.held() if self._helped is not None and container is not None else None
        if container is not None and (container.ended or held is not None):
            self.carry(container)
            try:
                if held is None:
                    ended = await self._patience.until_answered(lambda: runtime.wait(container.id))
                    return await self._ended(ended if self._helped is None else self._helped.known_end(ended))
                return await self._ended(held)
            except ContainerFailed as error:
                return self.failed(verdict.refused(error, self.told(), self.carrier.tail))
        waited_for = missing or self._pulling
        waiting = f", waiting for: {waited_for}" if waited_for else ""
        late = f"the action did not end within {counted(self._action.spec.timeout, 'second')}{waiting}"
        late_order = Order(state=State.TIMEOUT, message=late)
        reason = _MISSING.get(type(missing))
        if order is not None and order.state is State.TIMEOUT:
            order = replace(order, message=f"{order.message}{waiting}")
        if order is None and self._arming.kind(Outcome(state=State.TIMEOUT)) is not None:
            return await self._late(container, late_order, reason)
        return self.to_stop(order or late_order, reason)

    async def _late(self, container: Container | None, order: Order, missing: Reason | None) -> Step:
        """Have what took too long run no more, but leave its container to be held."""
        _log.info("stopping the action: %s", order.message, extra={"action": "attempt.stop"})
        held = None
        if self._helped is not None and container is not None and container.started:
            held = await self._helped.stop_process(container.id, GRACE)
        if held is None:
            await self.halted(ACTION)
        else:
            await self.carrier.settle()
        outcome = verdict.stopped(order, missing, self.told(), self.carrier.tail)
        return self.failed(outcome, held.kind if held is not None else None)

    def failed(self, outcome: Outcome, kind: Kind | None = None) -> Step:
        """It did not succeed; `kind` is where its helper holds it, if it does."""
        return self._held_or(AttemptEvent.FAILS, self._or_for_memory(outcome), kind)

    def _or_for_memory(self, outcome: Outcome) -> Outcome:
        """How it ended, by what the kernel said of memory since the action began, or since a worker before this one began it."""
        began = min(self._machine.folder.notes.started_at(self._offer.attempt, ACTION), self._begun_at)
        log = self._machine.kernel_log()
        outcome = verdict.for_lack_of_memory(outcome, machine_ran_out(log, began))
        return verdict.for_lack_of_limited_memory(
            outcome, group_ran_out(log, began, self._container_id), self._container_id
        )

    def _held_or(self, event: AttemptEvent, outcome: Outcome, kind: Kind | None) -> Step:
        """It ended so, unless its helper holds it there, or the worker is to."""
        where = kind or self._arming.kind(outcome)
        if where is None:
            return Step(event=event, outcome=outcome)
        return Step(event=AttemptEvent.REACHES_BREAKPOINT, outcome=outcome, kind=where)

    def to_stop(self, order: Order, missing: Reason | None = None, event: AttemptEvent = AttemptEvent.STOPS) -> Step:
        """It is to be stopped, which is noted before it is done."""
        _log.info("stopping the action: %s", order.message, extra={"action": "attempt.stop"})
        self._machine.folder.notes.keep_stop(self._offer.attempt, order)
        return Step(event=event, order=order, missing=missing)

    async def stopped(self, order: Order, missing: Reason | None = None) -> Step:
        """STOPPING: have its container run no more."""
        if not await self.halted(ACTION):
            outcome = verdict.stopped(order, missing or Reason.ENGINE_GONE, self.told(), self.carrier.tail)
            if self._machine.folder.notes.start(self._offer.attempt, ACTION):
                outcome = verdict.noted(outcome, "whether its container still runs is not known")
            return Step(event=AttemptEvent.ENGINE_STAYS_AWAY, outcome=outcome)
        outcome = verdict.stopped(order, missing, self.told(), self.carrier.tail)
        return Step(event=AttemptEvent.STOPPED, outcome=self._or_for_memory(outcome))

    async def kept(self, outcome: Outcome) -> Step:
        """KEEPING: send the data of what did not succeed, where that is possible."""
        note = await self.data_kept_if_possible()
        return Step(event=AttemptEvent.KEPT, outcome=verdict.noted(outcome, note))

    async def hooked(self, outcome: Outcome) -> Step:
        """HOOK: run its on-failure or on-timeout; none follows a cancellation."""
        if outcome.state is not State.CANCELED:
            outcome = await self._with_hook(outcome)
        return Step(event=AttemptEvent.HOOK_ENDS, outcome=outcome)

    async def going(self) -> Step:
        """LEAVING: the machine goes away by intention, unless an order comes first."""
        if self._machine.folder.reboot_wanted and self._listener.order is None:
            return Step(event=AttemptEvent.MACHINE_GOES)
        _log.info("waiting for the machine to go away", extra={"action": "attempt.leaving"})
        return self.to_stop(await self._listener.ordered())

    async def halted(self, role: str) -> bool:
        """Have the container of this role run no more, and all of its output; False when the engine stays away."""
        try:
            container = await self._patience.within(ENGINE_SECONDS, lambda: self._containers.halted(role, GRACE))
        except EngineGone:
            self.carrier.drop()
            return False
        if container is not None and container.started:
            self.carry(container)
        await self.carrier.end()
        return True

    async def _with_hook(self, outcome: Outcome) -> Outcome:
        """2020's on-timeout and on-failure: the command in a new container of the same image, which changes nothing."""
        late = outcome.state is State.TIMEOUT and self._action.spec.on_timeout
        role, command = ("on-timeout", late) if late else ("on-failure", self._action.spec.on_failure)
        if not command or self._listener.canceled:
            return outcome
        _log.info("running %s", role, extra={"action": "attempt.hook"})
        limit = min(float(self._action.spec.timeout), MAX_HOOK_SECONDS)
        note = ""
        try:
            async with self._listener.within(limit):
                ended = await self.run(role, command, _prepared)
            note = f"{role} ended with exit code {ended.exit_code}" if ended.exit_code else ""
            await self.carrier.end()
        except TimeoutError:
            why = self._listener.order.message if self._listener.order else f"it did not end within {limit:.0f} seconds"
            note = f"{role} was stopped: {why}"
            await self.halted(role)
        except ContainerFailed as error:
            # Without its image the action failed, and so must the hook: that is said already.
            note = "" if error.reason == Reason.IMAGE_NOT_FOUND else f"{role} did not run: {error}"
            await self.carrier.end_if_it_ends()
        except EngineGone as error:
            note = f"{role} did not run: {error}"
        return verdict.noted(outcome, note)

    async def keep_data(self) -> None:
        archive = self._machine.folder.data.pack(self._offer.workflow_id)
        if not archive and not await self._data():
            return
        self._sent_data = True  # also when the answer is lost
        await self._patience.until_answered(lambda: self._machine.door.keep_data(self._offer.attempt, archive))

    async def data_kept_if_possible(self) -> str:
        """Send the data after a failure, when the action had a chance to change it; returns what there is to say."""
        container = await self.if_engine_answers(lambda: self._containers.found(ACTION))
        if container is None or not container.started:
            return ""
        try:
            await self.keep_data()
        except (Invalid, TooLarge) as error:
            return f"its data was not kept: {error}"
        except (NotFound, Conflict) as error:
            _log.warning("the data is not wanted: %s", error, extra={"action": "data.stale"})
        return ""

    def told(self) -> Told:
        return self._machine.folder.words.told(self._offer.attempt, ACTION)

    async def if_engine_answers(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        """The answer, None when the engine stays away."""
        with suppress(EngineGone):
            return await self._patience.within(ENGINE_SECONDS, ask)
        return None


async def _prepared() -> None:
    """A hook runs from the image that is there already."""


# Of these the cause is known, and it is not the engine's disk.
_OF_OTHER_CAUSE = frozenset({Reason.OUT_OF_MEMORY, Reason.ENGINE_RESTARTED, Reason.BAD_COMMAND, Reason.WRONG_PLATFORM})

_MISSING: dict[type, Reason] = {EngineAway: Reason.ENGINE_GONE, RegistryAway: Reason.REGISTRY_UNREACHABLE}
