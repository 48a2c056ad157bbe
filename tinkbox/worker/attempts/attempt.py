"""One attempt at one action: from the offer to the outcome, by the table in `worker.transitions`.

Exactly once: a container carries its attempt's token as a label, is looked for before one is made,
and is removed only after the report was answered.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from tinkbox.model.breakpoint import Kind, Verb, Verdict
from tinkbox.model.errors import Invalid, Refusal, TooLarge
from tinkbox.model.workflow import Outcome, State
from tinkbox.runtime import Container, ContainerFailed
from tinkbox.wire.messages.breakpoints import Orders
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker import outcome as verdict
from tinkbox.worker.attempts.action_process import ActionProcess
from tinkbox.worker.attempts.arming import Arming
from tinkbox.worker.attempts.engine_watch import EngineWatch
from tinkbox.worker.attempts.holding import Holding
from tinkbox.worker.attempts.order_listener import OrderListener, unwanted
from tinkbox.worker.attempts.progress_telling import ProgressTelling
from tinkbox.worker.attempts.retrying import EngineGone, Patience
from tinkbox.worker.containers.action_containers import ACTION, Containers
from tinkbox.worker.containers.helped_container import Helped
from tinkbox.worker.machine import Machine
from tinkbox.worker.shells.shells import ShellHost
from tinkbox.worker.transitions import TABLE, AttemptEvent, AttemptState, NoSuchStep, Step, advance

# What there is nothing left to do for but to tell, or not even that.
_DONE = frozenset({AttemptState.ENDED, AttemptState.AWAY})
_log = logging.getLogger(__name__)


class AttemptRun:
    """Runs one offer, which came at this moment of the loop's time; 0: it came long ago."""

    def __init__(self, machine: Machine, offer: Offer, offered_at: float = 0.0) -> None:
        self._machine = machine
        self._offered_at = offered_at
        self._offer = offer
        self._action = offer.action
        self._files = machine.folder.helper(offer.attempt)
        self._arming = Arming(offer.action, offer.armed, debug=machine.debug)
        self._helper = Helped(machine.runtime, self._files, self._arming.policy)
        self._containers = Containers(machine, offer, self._files if self._arming.helped else None)
        self._engine = EngineWatch(machine.runtime.version)
        self._listener = OrderListener(machine.door, offer.attempt, offer.armed, self._hear, self._engine.away)
        self._holding = Holding(machine.door, self._listener, machine.folder.notes, self._files, offer, machine.boot_id)
        self._shells = ShellHost(machine.runtime, machine.door, offer.attempt, machine.folder.notes)
        said = partial(machine.folder.words.progress, offer.attempt, ACTION)
        self._telling = ProgressTelling(machine.door, offer, machine.boot_id, said)
        self._patience = Patience(lambda: machine.folder.notes.start(offer.attempt, ACTION))
        self._process: ActionProcess
        self._state = AttemptState.OFFERED

    async def outcome(self) -> Outcome | None:
        """Do what the offer says, or go on with it, and tell how it ended.  Takes as long as the action.

        None when there is nothing to tell, for the machine goes away: the worker must end.
        """
        notes, attempt = self._machine.folder.notes, self._offer.attempt
        taken_up = attempt in notes.unfinished()
        notes.begin(attempt)
        outcome = notes.outcome(attempt)
        if outcome is not None:
            self._state = advance(self._state, AttemptEvent.HAD_ENDED)
            return outcome
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
            # What a worker before this one began may have been told to stop long ago.
            listening = group.create_task(self._listener.listen(0.0 if taken_up else self._offered_at))
            agreeing = group.create_task(self._holding.agree())
            telling = group.create_task(self._telling.run())
            watching = group.create_task(self._engine.run())
            async with self._shells:
                outcome = await self._carried_out()
            listening.cancel()
            agreeing.cancel()
            telling.cancel()
            watching.cancel()
        if outcome is not None:
            notes.keep_outcome(attempt, outcome)
        return outcome

    def without_engine(self, why: str) -> Outcome:
        """It was not begun, and is not any more, for no engine answered that could clear what others left: `why` is what was seen of one."""
        notes, attempt = self._machine.folder.notes, self._offer.attempt
        notes.begin(attempt)
        outcome = verdict.no_engine(why)
        notes.keep_outcome(attempt, outcome)
        self._patience.given_up = True
        self._state = advance(self._state, AttemptEvent.ENGINE_STAYS_AWAY)
        return outcome

    async def clean_up(self) -> bool:
        """Remove the attempt's containers and files, once nobody needs them any more; whether no container stays."""
        folder, attempt = self._machine.folder, self._offer.attempt
        self._state = advance(self._state, AttemptEvent.ANSWERED)
        gone = False
        try:
            await self._patience.until_answered(self._containers.remove_all)
            gone = True
        except (ContainerFailed, EngineGone) as error:
            _log.warning("a container stays behind: %s", error, extra={"action": "attempt.stray"})
        folder.words.forget(attempt)
        self._files.forget()
        folder.notes.forget(attempt)
        return gone

    async def _carried_out(self) -> Outcome | None:
        """From state to state, until there is nothing more to do but to tell how it ended."""
        step = self._taken_up()
        self._state = advance(self._state, step.event)
        while self._state not in _DONE:
            try:
                step = await self._go_on(step)
            except Refusal as error:
                if (self._state, AttemptEvent.UNWANTED) not in TABLE:
                    raise
                step = self._process.to_stop(unwanted(error), event=AttemptEvent.UNWANTED)
            self._state = advance(self._state, step.event)
        return step.outcome

    def _taken_up(self) -> Step:
        """What is to be done, by the notes of a worker before this one if there are any."""
        notes, attempt, unfinished = self._machine.folder.notes, self._offer.attempt, self._holding.unfinished
        if unfinished is not None and unfinished.command is not None:
            return Step(event=AttemptEvent.RESUMES, command=unfinished.command)
        if unfinished is not None:
            return _held(unfinished.held.kind, unfinished.held.outcome)
        order = notes.stop(attempt)
        if order is not None:
            return Step(event=AttemptEvent.STOPS, order=order)
        begun = self._offer.left or notes.start(attempt, ACTION)
        if self._arming.worker_holds_before and not begun and not self._holding.was_before:
            return _held(Kind.BEFORE)
        return Step(event=AttemptEvent.BEGINS, seconds=self._offer.remaining)

    async def _go_on(self, step: Step) -> Step:
        """Do what there is to do in the state that `step` led to; returns what happened next."""
        process, outcome = self._process, step.outcome
        match self._state:
            case AttemptState.RUNNING:
                return await process.tried(step.seconds)
            case AttemptState.LEAVING:
                return await process.going()
            case AttemptState.HELD if step.kind is not None:
                return await self._ruled(step.kind, outcome)
            case AttemptState.RESUMING:
                return await self._resumed(*step.command)
            case AttemptState.CLOSING if step.verdict is not None:
                return await self._closed(step.verdict, outcome)
            case AttemptState.STOPPING if step.order is not None:
                return await process.stopped(step.order, step.missing)
            case AttemptState.KEEPING if outcome is not None:
                return await process.kept(outcome)
            case AttemptState.HOOK if outcome is not None:
                return await process.hooked(outcome)
        raise NoSuchStep(f"nothing is known to do for an attempt that is {self._state} after: {step.event}")

    async def _ruled(self, kind: Kind, outcome: Outcome | None) -> Step:
        """HELD: hold the action, and wait for the verdict, or for an order to stop."""
        container, in_place, note = await self._container_to_hold()
        told = outcome and verdict.noted(outcome, note)
        keep = None
        if container is not None:
            if in_place:  # what holds a copy prints nothing, and would never end
                self._process.carry(container)
            self._shells.enter(container)
            keep = partial(self._helper.keep, container.id)
            with _unwritten("what is held is not described"):
                self._files.describe(self._offer, kind, told)
        ruling = await self._holding.ruled(kind, told, in_place=in_place, keep=keep)
        if ruling is None:
            return self._process.to_stop(await self._listener.ordered())
        return await self._decided(ruling.verdict, outcome)

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

    async def _decided(self, ruled: Verdict, outcome: Outcome | None) -> Step:
        """What a verdict has happen next."""
        _log.info("%s decided: %s %s", ruled.who, ruled.verb, ruled.why, extra={"action": "attempt.verdict"})
        if ruled.verb is Verb.ABORT:
            return self._process.to_stop(await self._listener.ordered())
        if ruled.verb is Verb.CONTINUE and outcome is None:
            return self._to_resume("run" if self._helper.held() else "")
        if ruled.verb is Verb.RETRY and not ruled.fresh:
            self._machine.folder.words.clear(self._offer.attempt, ACTION)
            self._files.change_command_line(ruled.command, ruled.environment)
            self._process.carrier.begin_run()
            return self._to_resume("retry")
        return Step(event=AttemptEvent.CLOSES, outcome=outcome, verdict=ruled)

    def _to_resume(self, verb: str) -> Step:
        return Step(event=AttemptEvent.RESUMES, command=(self._files.next_command(), verb))

    async def _closed(self, ruled: Verdict, outcome: Outcome | None) -> Step:
        """CLOSING: end what was held as the verdict says."""
        await self._shells.leave()
        await self._process.halted(ACTION)
        if outcome is None:
            skipped = verdict.not_run(ruled)
            event = AttemptEvent.SUCCEEDS if skipped.state is State.SUCCESS else AttemptEvent.FAILS_KEPT
            return Step(event=event, outcome=skipped)
        # The engine keeps a last line without an end for itself until the container ends.
        outcome = replace(outcome, tail=self._process.carrier.tail or outcome.tail)
        if ruled.verb is Verb.RETRY:
            note = await self._process.data_kept_if_possible()
            return Step(event=AttemptEvent.TRIED_ANEW, outcome=verdict.noted(outcome, note))
        if ruled.verb is Verb.FAIL:
            return Step(event=AttemptEvent.FAILS, outcome=verdict.given_up(outcome, ruled))
        try:
            await self._process.keep_data()
        except (Invalid, TooLarge) as error:
            refused = verdict.data_refused(error, self._process.told(), outcome.tail)
            return Step(event=AttemptEvent.FAILS_KEPT, outcome=refused)
        return Step(event=AttemptEvent.SUCCEEDS, outcome=verdict.continued(outcome, ruled))

    async def _resumed(self, number: int, verb: str) -> Step:
        """RESUMING: have the helper carry out this command, unless it did, and the action run."""
        if verb and self._files.status().command < number:
            try:
                await self._patience.until_answered(self._held_again_if_it_ended)
            except ContainerFailed as error:
                return self._process.failed(verdict.refused(error, self._process.told(), ()))
        await self._holding.resume(number, verb)
        return Step(event=AttemptEvent.RUNS, seconds=self._action.spec.timeout)

    async def _held_again_if_it_ended(self) -> None:
        """With the engine the container may have ended: what it is told it hears only when it runs."""
        container = await self._containers.found(ACTION)
        if container is not None:
            self._shells.enter(container)
        if container is not None and container.ended:
            await self._helper.hold_again(container.id)

    def _hear(self, orders: Orders) -> None:
        self._arming.armed = orders.armed
        if self._arming.helped:
            with _unwritten("the helper does not know what is armed"):
                self._helper.arm(self._arming.policy)
        self._shells.wanted(orders.shells)


def _held(kind: Kind, outcome: Outcome | None = None) -> Step:
    return Step(event=AttemptEvent.REACHES_BREAKPOINT, outcome=outcome, kind=kind)


@contextmanager
def _unwritten(what: str) -> Iterator[None]:
    """Do without what cannot be written: a full disk must end no action."""
    try:
        yield
    except OSError as error:
        _log.warning("%s: %s", what, error, extra={"action": "helper.unwritten"})
