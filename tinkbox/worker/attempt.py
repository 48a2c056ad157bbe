"""One attempt at one action: from the offer to the outcome.

Exactly once: a container carries its attempt's token as a label, is looked for before one is made,
and is removed only after the report was answered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from tinkbox.model.errors import Invalid, Refusal, TooLarge, Unavailable
from tinkbox.model.image import parse_reference
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, Ended, EngineAway, Runtime
from tinkbox.wire.worker import Credential, Offer
from tinkbox.worker.folder import WorkerFolder, failure
from tinkbox.worker.output import OutputPump
from tinkbox.worker.patience import patiently

GRACE = 10
MAX_HOOK_SECONDS = 600.0
_SIGNAL_CODES = range(129, 193)
_UNKNOWN_CODE = 255  # what Docker says of a container that ended while it was not looking
_log = logging.getLogger(__name__)
T = TypeVar("T")


class Door(Protocol):
    """What an attempt needs of the appliance."""

    async def output(self, attempt: str, offset: int, chunk: bytes) -> int: ...
    async def data(self, attempt: str) -> bytes: ...
    async def keep_data(self, attempt: str, archive: bytes) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where attempts run."""

    runtime: Runtime
    door: Door
    folder: WorkerFolder
    credential: Credential
    privileged: bool


class AttemptRun:
    """Runs one offer."""

    def __init__(self, machine: Machine, offer: Offer) -> None:
        self._machine = machine
        self._offer = offer
        self._action = offer.action
        self._pump = OutputPump(machine.door, offer.attempt)
        self._missing = ""  # what is being waited for besides the action itself
        self._engine_was_away = False

    async def outcome(self) -> Outcome:
        """Do what the offer says, or go on with it, and tell how it ended.  Takes as long as the action."""
        try:
            async with asyncio.timeout(self._offer.remaining):
                ended = await self._run("action", self._action.command, self._prepare)
        except TimeoutError:
            return await self._timed_out()
        except ContainerFailed as error:
            return await self._failed(_refused(error))
        except (Invalid, TooLarge) as error:
            return await self._failed(_data_failed(error))
        if ended.exit_code == 0 and not ended.error:
            return await self._succeeded()
        return await self._failed(self._ended_badly(ended))

    async def clean_up(self) -> None:
        """Remove the attempt's containers and files, once nobody needs them any more."""
        for container in await self._patiently(lambda: self._machine.runtime.find(self._labels())):
            await self._patiently(partial(self._machine.runtime.remove, container.id))
        self._machine.folder.forget_attempt(self._offer.attempt)

    async def _run(self, role: str, command: tuple[str, ...], prepare: Callable[[], Awaitable[None]]) -> Ended:
        """Have the container of this role started, and wait for its end."""
        runtime = self._machine.runtime
        container_id = await self._patiently(lambda: self._started(role, command, prepare))
        self._pump.next_container()
        # A TaskGroup would wrap what fails in a group, so it is carried out by hand.
        ended: Ended | ContainerFailed
        async with asyncio.TaskGroup() as group:
            carrying = group.create_task(self._pump.carry(lambda: runtime.output(container_id)))
            try:
                ended = await self._patiently(lambda: runtime.wait(container_id))
            except ContainerFailed as error:
                carrying.cancel()
                ended = error
        if isinstance(ended, ContainerFailed):
            raise ended
        return ended

    async def _started(self, role: str, command: tuple[str, ...], prepare: Callable[[], Awaitable[None]]) -> str:
        """Find or make the container, and start it if it never was; returns its id.

        Asked again it looks again: behind an answer that was lost the container may be made, or run,
        or be at its end, and to start it then would run the action twice.
        """
        runtime = self._machine.runtime
        container = await self._found(role)
        if container is None:
            await prepare()
            container = await runtime.create(self._spec(role, command))
        if not container.started:
            await runtime.start(container.id)
        return container.id

    async def _prepare(self) -> None:
        offer, folder = self._offer, self._machine.folder
        folder.unpack_data(offer.workflow_id, await self._patiently(lambda: self._machine.door.data(offer.attempt)))
        _log.info("fetching image %s", self._image, extra={"action": "attempt.pull"})
        await self._patiently(self._pull)

    async def _pull(self) -> None:
        try:
            await self._machine.runtime.pull(self._image)
        except ContainerFailed as error:
            ours = not parse_reference(self._action.image).host
            if ours and error.reason == "RegistryUnreachable":
                raise Unavailable(str(error)) from None
            raise

    async def _prepared(self) -> None:
        """A hook runs from the image that is there already."""

    async def _succeeded(self) -> Outcome:
        try:
            await self._keep_data()
        except (Invalid, TooLarge) as error:
            return await self._failed(_data_failed(error))
        return Outcome(state=State.SUCCESS, exit_code=0, tail=self._pump.tail)

    async def _failed(self, fallback: Outcome) -> Outcome:
        outcome = failure(self._machine.folder.told(self._offer.attempt), fallback)
        await self._keep_data_if_possible()
        await self._hook("on-failure", self._action.on_failure)
        return outcome

    async def _timed_out(self) -> Outcome:
        _log.info("the action took too long: stopping it", extra={"action": "attempt.timeout"})
        missing = f", waiting for: {self._missing}" if self._missing else ""
        container = await self._patiently(lambda: self._found("action"))
        if container is not None and container.started:
            await self._patiently(lambda: self._machine.runtime.stop(container.id, GRACE))
            await self._pump.carry(lambda: self._machine.runtime.output(container.id))
        told = self._machine.folder.told(self._offer.attempt)
        outcome = Outcome(
            state=State.TIMEOUT,
            reason="Timeout",
            message=f"the action did not end within {self._action.timeout} seconds{missing}. {told.message}".strip(),
            tail=self._pump.tail,
        )
        await self._keep_data_if_possible()
        if self._action.on_timeout:
            await self._hook("on-timeout", self._action.on_timeout)
        else:
            await self._hook("on-failure", self._action.on_failure)
        return outcome

    async def _hook(self, role: str, command: tuple[str, ...]) -> None:
        """2020's on-timeout and on-failure: the command in a new container of the same image; its end changes nothing."""
        if not command:
            return
        _log.info("running %s", role, extra={"action": "attempt.hook"})
        try:
            async with asyncio.timeout(min(self._action.timeout, MAX_HOOK_SECONDS)):
                await self._run(role, command, self._prepared)
        except (TimeoutError, ContainerFailed) as error:
            _log.warning("%s: %s", role, error or "took too long", extra={"action": "attempt.hook-failed"})

    async def _keep_data(self) -> None:
        archive = self._machine.folder.pack_data(self._offer.workflow_id)
        if archive:
            await self._patiently(lambda: self._machine.door.keep_data(self._offer.attempt, archive))

    async def _keep_data_if_possible(self) -> None:
        try:
            await self._keep_data()
        except Refusal as error:
            _log.warning("the data is not kept: %s", error, extra={"action": "attempt.data-lost"})

    async def _found(self, role: str) -> Container | None:
        found = await self._machine.runtime.find(self._labels(role))
        return found[0] if found else None

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask again for as long as the engine or the appliance is away; the attempt's deadline ends it."""

        async def noting() -> T:
            try:
                answer = await ask()
            except (EngineAway, Unavailable) as error:
                self._missing = str(error)
                self._engine_was_away |= isinstance(error, EngineAway)
                raise
            self._missing = ""
            return answer

        return await patiently(noting, EngineAway, Unavailable)

    def _labels(self, role: str = "") -> dict[str, str]:
        labels = {"tinkbox.attempt": self._offer.attempt}
        return {**labels, "tinkbox.role": role} if role else labels

    def _spec(self, role: str, command: tuple[str, ...]) -> ContainerSpec:
        offer, machine = self._offer, self._machine
        data = machine.folder.data_folder(offer.workflow_id)
        own = {
            "TINKBOX_WORKFLOW": offer.workflow_id,
            "TINKBOX_ACTION": self._action.name,
            "TINKBOX_ATTEMPT": offer.attempt,
            "TINKBOX_SERVER": machine.credential.server,
        }
        return ContainerSpec(
            image=self._image,
            labels=self._labels(role),
            command=command,
            environment={**self._action.environment, **own},
            binds=(
                *self._action.volumes,
                f"{data}:/workflow",
                f"{data}:/workflow/{offer.workflow_id}",
                *machine.folder.prepare_attempt(offer.attempt, self._action.volumes),
            ),
            pid=self._action.pid,
            privileged=machine.privileged,
        )

    @property
    def _image(self) -> str:
        reference = parse_reference(self._action.image)
        return reference.at(reference.host or self._machine.credential.registry)

    def _ended_badly(self, ended: Ended) -> Outcome:
        code, reason = ended.exit_code, "NonZeroExit"
        message = f"the action ended with exit code {code}"
        if ended.out_of_memory:
            reason, message = "OutOfMemory", "the kernel killed the action because memory ran out"
        elif ended.error:
            reason, message = "StartFailed", ended.error
        elif code in _SIGNAL_CODES:
            reason, message = "Signal", f"the action was ended by signal {code - _SIGNAL_CODES.start + 1}"
        elif code == _UNKNOWN_CODE and self._engine_was_away:
            reason, message = "EngineRestarted", "the Docker engine ended, and the action with it"
        return Outcome(state=State.FAILED, exit_code=code, reason=reason, message=message, tail=self._pump.tail)


def _refused(error: ContainerFailed) -> Outcome:
    return Outcome(state=State.FAILED, reason=error.reason, message=str(error))


def _data_failed(error: Refusal) -> Outcome:
    reason = "DataTooLarge" if isinstance(error, TooLarge) else "DataInvalid"
    return Outcome(state=State.FAILED, reason=reason, message=str(error))
