"""One attempt at one action: from the offer to the outcome.

Exactly once: a container carries its attempt's token as a label, is looked for before one is made,
and is removed only after the report was answered.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tinkbox.model.breakpoint import Kind, Verb, Verdict
from tinkbox.model.errors import Invalid, Refusal, TooLarge
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ContainerFailed
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker import outcome as verdict
from tinkbox.worker.attempts.action_process import ActionProcess, NothingToBegin, Stand
from tinkbox.worker.attempts.arming import Arming
from tinkbox.worker.attempts.holding import Holding
from tinkbox.worker.attempts.order_listener import OrderListener, unwanted
from tinkbox.worker.attempts.patience import Patience
from tinkbox.worker.containers.action_containers import ACTION, Containers
from tinkbox.worker.containers.helped_container import Helped
from tinkbox.worker.machine import Machine
from tinkbox.worker.shells.shells import ShellHost

_log = logging.getLogger(__name__)


class AttemptRun:
    """Runs one offer."""

    def __init__(self, machine: Machine, offer: Offer) -> None:
        self._machine = machine
        self._offer = offer
        self._action = offer.action
        self._files = machine.folder.helper(offer.attempt)
        self._arming = Arming(offer.action, offer.armed, debug=machine.debug)
        self._helper = Helped(machine.runtime, self._files, self._arming.policy)
        self._containers = Containers(machine, offer, self._files if self._arming.helped else None)
        self._listener = OrderListener(machine.door, offer.attempt, offer.armed, self._hear)
        self._holding = Holding(machine.door, self._listener, machine.folder.notes, self._files, offer, machine.boot_id)
        self._shells = ShellHost(machine.runtime, machine.door, offer.attempt, machine.folder.notes)
        self._patience = Patience()
        self._process: ActionProcess

    async def outcome(self) -> Outcome | None:
        """Do what the offer says, or go on with it, and tell how it ended.  Takes as long as the action.

        None when there is nothing to tell, for the machine goes away: the worker must end.
        """
        notes, attempt = self._machine.folder.notes, self._offer.attempt
        notes.begin(attempt)
        outcome = notes.outcome(attempt)
        if outcome is None:
            async with asyncio.TaskGroup() as group:
                helped = self._helper if self._arming.helped else None
                self._process = ActionProcess(
                    self._machine,
                    self._offer,
                    self._listener,
                    self._containers,
                    helped,
                    self._arming,
                    self._patience,
                    group,
                )
                listening = group.create_task(self._listener.listen())
                async with self._shells:
                    outcome = await self._carried_out()
                listening.cancel()
            if outcome is not None:
                notes.keep_outcome(attempt, outcome)
        return outcome

    async def clean_up(self) -> None:
        """Remove the attempt's containers and files, once nobody needs them any more."""
        folder, attempt = self._machine.folder, self._offer.attempt
        try:
            await self._patience.until_answered(self._containers.remove_all)
        except ContainerFailed as error:
            _log.warning("a container stays behind: %s", error, extra={"action": "attempt.stray"})
        folder.words.forget(attempt, self._action.volumes)
        self._files.forget()
        folder.notes.forget(attempt)

    async def _carried_out(self) -> Outcome | None:
        unfinished = self._holding.unfinished
        begun = self._machine.folder.notes.stop(self._offer.attempt)
        try:
            if unfinished is not None and unfinished.command is not None:
                return await self._held_through(await self._resumed(*unfinished.command))
            if unfinished is not None:
                held = unfinished.held
                return await self._held_through(Stand(outcome=held.outcome, kind=held.kind))
            if begun is not None:
                return await self._process.stopped(begun)
            return await self._held_through(await self._begun())
        except NothingToBegin:
            return (await self._process.going()).outcome
        except Refusal as error:
            return await self._process.stop(unwanted(error))

    async def _begun(self) -> Stand:
        """The action runs, or the worker holds before it has a container."""
        begun = self._offer.left or self._machine.folder.notes.start(self._offer.attempt, ACTION)
        if self._arming.worker_holds_before and not begun and not self._holding.was_before:
            return Stand(outcome=None, kind=Kind.BEFORE)
        return await self._process.tried(self._offer.remaining)

    async def _held_through(self, stand: Stand) -> Outcome | None:
        """From hold to hold and run to run, until there is an outcome."""
        while not stand.final:
            kind = stand.kind or (None if stand.outcome is None else self._arming.kind(stand.outcome))
            if kind is None or stand.decided:
                return await self._settled(stand)
            ruling = await self._ruled(kind, stand.outcome)
            if ruling is None:
                return await self._process.stop(await self._listener.ordered())
            stand = await self._decided(ruling.verdict, stand.outcome)
        return stand.outcome

    async def _ruled(self, kind: Kind, outcome: Outcome | None) -> Ruling | None:
        """Hold the action, and wait for the verdict; None when an order to stop comes first."""
        container, in_place, note = await self._container_to_hold()
        outcome = outcome and verdict.noted(outcome, note)
        keep = None
        if container is not None:
            if in_place:  # what holds a copy prints nothing, and would never end
                self._process.carry(container)
            self._shells.enter(container)
            keep = partial(self._helper.keep, container.id)
            with _unwritten("what is held is not described"):
                self._files.describe(self._offer, kind, outcome)
        return await self._holding.ruled(kind, outcome, in_place=in_place, keep=keep)

    async def _container_to_hold(self) -> tuple[Container | None, bool, str]:
        """What there is to look into, whether the action can run again in it, and why there is nothing."""
        ask = self._process.if_engine_answers
        found = await ask(lambda: self._containers.found(ACTION))
        if found is None or not found.started:
            return None, False, ""
        if not self._arming.helped:
            try:
                return await self._patience.until_answered(lambda: self._containers.salvaged(found)), False, ""
            except ContainerFailed as error:
                return None, False, f"nobody can look into it: {error}"
        if found.ended:
            await ask(lambda: self._helper.hold_again(found.id))
        return found, True, ""

    async def _decided(self, ruled: Verdict, outcome: Outcome | None) -> Stand:
        """Carry out the verdict."""
        _log.info("%s decided: %s %s", ruled.who, ruled.verb, ruled.why, extra={"action": "attempt.verdict"})
        if ruled.verb is Verb.ABORT:
            return Stand(outcome=await self._process.stop(await self._listener.ordered()), final=True)
        if ruled.verb is Verb.CONTINUE and outcome is None:
            return await self._resumed(self._files.next_command(), "run" if self._helper.held() else "")
        if ruled.verb is Verb.RETRY and not ruled.fresh:
            return await self._again(ruled)
        await self._shells.leave()
        await self._process.halted(ACTION)
        if outcome is None:
            return Stand(outcome=verdict.not_run(ruled), kept=True, decided=True)
        if ruled.verb is Verb.RETRY:
            note = await self._process.data_kept_if_possible()
            return Stand(outcome=verdict.noted(outcome, note), final=True)
        if ruled.verb is Verb.FAIL:
            return Stand(outcome=verdict.given_up(outcome, ruled), decided=True)
        try:
            await self._process.keep_data()
        except (Invalid, TooLarge) as error:
            refused = verdict.data_refused(error, self._process.told(), outcome.tail)
            return Stand(outcome=refused, kept=True, decided=True)
        return Stand(outcome=verdict.continued(outcome, ruled), decided=True)

    async def _again(self, ruled: Verdict) -> Stand:
        """Run the action once more in its container as it is."""
        self._machine.folder.words.clear(self._offer.attempt, ACTION)
        self._files.change_command_line(ruled.command, ruled.environment)
        self._process.carrier.begin_run()
        return await self._resumed(self._files.next_command(), "retry")

    async def _resumed(self, number: int, verb: str) -> Stand:
        """Have the helper carry out this command, unless it did, and the action run."""
        if verb and self._files.status().command < number:
            try:
                await self._patience.until_answered(self._held_again_if_it_ended)
            except ContainerFailed as error:
                return Stand(outcome=verdict.refused(error, self._process.told(), ()))
        await self._holding.resume(number, verb)
        return await self._process.tried(self._action.timeout)

    async def _held_again_if_it_ended(self) -> None:
        """With the engine the container may have ended: what it is told it hears only when it runs."""
        container = await self._containers.found(ACTION)
        if container is not None:
            self._shells.enter(container)
        if container is not None and container.ended:
            await self._helper.hold_again(container.id)

    async def _settled(self, stand: Stand) -> Outcome | None:
        """What there is still to do where nothing holds it: keep the data of a failure, and run its hook."""
        outcome = stand.outcome
        if outcome is None or outcome.state is State.SUCCESS:
            return outcome
        note = "" if stand.kept else await self._process.data_kept_if_possible()
        return await self._process.with_hook(verdict.noted(outcome, note))

    def _hear(self, orders: Orders) -> None:
        self._arming.armed = orders.armed
        if self._arming.helped:
            with _unwritten("the helper does not know what is armed"):
                self._helper.arm(self._arming.policy)
        self._shells.wanted(orders.shells)


@contextmanager
def _unwritten(what: str) -> Iterator[None]:
    """Do without what cannot be written: a full disk must end no action."""
    try:
        yield
    except OSError as error:
        _log.warning("%s: %s", what, error, extra={"action": "helper.unwritten"})
