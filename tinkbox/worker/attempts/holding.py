"""Where an action is held: it is announced until somebody listens, and waits for the verdict.

A hold is noted before it is announced, and the helper's command before it is given, so that a worker that is
killed at any moment goes on where it was and no verdict takes effect twice.

The appliance's store may be put back to an earlier day at any moment.  Its orders name the hold that it knows: where
that is not how it is here, it is told so once more, and the verdict that it lost is not asked for again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Protocol

from tinkbox.model.breakpoint import Kind
from tinkbox.model.errors import Denied, Invalid, Refusal, TooLarge, Unavailable
from tinkbox.model.workflow import Outcome
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.breakpoints import Asked, Held, Resumed, Ruling
from tinkbox.wire.messages.worker import Offer
from tinkbox.worker.attempts.order_listener import OrderListener
from tinkbox.worker.files.helper_files import HelperFiles, Request
from tinkbox.worker.files.notes import HoldNote, Notes
from tinkbox.worker.host.inotify import Watch

LOOK_EVERY = 2.0
ANSWER_SECONDS = 5.0
_log = logging.getLogger(__name__)


class Door(Protocol):
    """What a hold needs of the appliance."""

    async def held(self, attempt: str, held: Held) -> None: ...
    async def resumed(self, attempt: str, resumed: Resumed) -> None: ...
    async def verdict(self, attempt: str, asked: Asked) -> None: ...


class Holding:
    """The holds of one attempt, one after the other."""

    def __init__(
        self, door: Door, listener: OrderListener, notes: Notes, files: HelperFiles, offer: Offer, boot_id: str
    ) -> None:
        self._door = door
        self._listener = listener
        self._notes = notes
        self._files = files
        self._offer = offer
        self._boot_id = boot_id
        self._note = notes.hold(offer.attempt)
        self._waits = False  # for a verdict
        self._answering = asyncio.Lock()

    @property
    def unfinished(self) -> HoldNote | None:
        """The hold that a worker before this one was in; its `command` was given if it is there."""
        return self._note if self._note is not None and not self._note.over else None

    @property
    def was_before(self) -> bool:
        """Whether it was held before it began."""
        return self._note is not None and self._note.held.kind is Kind.BEFORE

    async def ruled(
        self, kind: Kind, outcome: Outcome | None, *, in_place: bool, keep: Callable[[], Awaitable[None]] | None
    ) -> Ruling | None:
        """Hold, and wait for the verdict; None when an order to stop comes first.

        `keep` sees to it that the container stays, and ends when there is none any more; None: there is no container.
        Raises NotFound or Conflict when the appliance does not want the attempt any more.
        """
        held = Held(
            workflow_id=self._offer.workflow_id,
            boot_id=self._boot_id,
            sequence=self._sequence(),
            kind=kind,
            outcome=outcome,
            container=keep is not None,
            in_place=in_place,
        )
        self._keep(HoldNote(held=held))
        _log.warning(
            "BREAKPOINT in %s/%s (%s): tinkbox breakpoint shell %s",
            self._offer.action.task, self._offer.action.spec.name, kind, self._offer.workflow_id,
            extra={"action": "attempt.held"},
        )  # fmt: skip
        earlier = self._files.requests_so_far()  # of a hold before: nobody waits for their answers any more
        await self._announce(held)
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(self._answer_requests(held.sequence, earlier))]
            if keep is not None:
                beside.append(group.create_task(self._kept(held, keep)))
            self._waits = True
            ruling = await self._listener.ruling(held.sequence)
            self._waits = False
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWER_SECONDS), self._answering:
                    pass  # whoever asked for it inside is told before it is carried out
            for task in beside:
                task.cancel()
        return ruling

    async def resume(self, number: int, verb: str) -> None:
        """Say that the action runs, and give the helper this command, `run` or `retry`; no verb: there is no helper.

        Given once more with the same number it changes nothing.
        """
        assert self._note is not None, "nothing is held"
        self._keep(replace(self._note, command=(number, verb)))
        await patiently(partial(self._say_resumed, self._note.held.sequence), *_PASSING)
        # Only now: what the appliance has given up meanwhile must not run, and a machine may go away with it.
        if verb:
            await patiently(partial(self._command, number, verb), OSError)
        self._keep(replace(self._note, over=True))

    async def agree(self) -> None:
        """Whenever orders name another hold than there is here, say how it is; whoever started it cancels it.

        What is not settled here, for a verdict is being carried out, is said by who does that.
        """
        seen = self._listener.orders
        while True:
            seen = await self._listener.news(seen)
            try:
                await patiently(self._correct, *_PASSING)
            except Refusal as error:
                _log.warning("how it is held is not wanted: %s", error, extra={"action": "attempt.held"})

    async def _correct(self) -> None:
        orders, note = self._listener.orders, self._note
        if note is None or self._listener.order is not None:
            return
        # An appliance of an earlier release names no hold but in a verdict.
        named = orders.hold if orders.ruling is None else orders.ruling.sequence
        if self._waits and named != note.held.sequence:
            await self._door.held(self._offer.attempt, note.held)
        elif note.over and named is not None and named <= note.held.sequence:
            await self._say_resumed(named)

    async def _say_resumed(self, sequence: int) -> None:
        resumed = Resumed(workflow_id=self._offer.workflow_id, boot_id=self._boot_id, sequence=sequence)
        await self._door.resumed(self._offer.attempt, resumed)

    async def _command(self, number: int, verb: str) -> None:
        self._files.command(verb, sequence=number)

    def _sequence(self) -> int:
        if self._note is None:
            return 1
        return self._note.held.sequence + (1 if self._note.over else 0)

    def _keep(self, note: HoldNote) -> None:
        self._note = note
        self._notes.keep_hold(self._offer.attempt, note)

    async def _announce(self, held: Held) -> None:
        await patiently(lambda: self._door.held(self._offer.attempt, held), *_PASSING)

    async def _kept(self, held: Held, keep: Callable[[], Awaitable[None]]) -> None:
        await keep()
        # The container is gone; what was in it cannot be looked into, but the action can be tried anew.
        gone = replace(held, container=False, in_place=False)
        self._keep(HoldNote(held=gone))
        try:
            await self._announce(gone)
        except Refusal as error:
            _log.warning("the hold is not wanted: %s", error, extra={"action": "attempt.held"})

    async def _answer_requests(self, sequence: int, answered: int) -> None:
        """Hand on the verdicts that are asked for inside the container, behind so many that are answered."""
        with Watch(self._files.run) as watch:
            while True:
                for request in self._files.requests(answered):
                    answered += 1
                    async with self._answering:
                        self._files.answer(request.id, *await self._asked(sequence, request))
                await watch.changed(LOOK_EVERY)

    async def _asked(self, sequence: int, request: Request) -> tuple[bool, str]:
        asked = Asked(
            workflow_id=self._offer.workflow_id,
            boot_id=self._boot_id,
            sequence=sequence,
            verb=request.verb,
            why=request.why,
            fresh=request.fresh,
            shell=request.shell,
        )
        try:
            await patiently(partial(self._door.verdict, self._offer.attempt, asked), Unavailable, Denied)
        except Refusal as error:
            return False, str(error)
        return True, f"the verdict is: {request.verb}"


_PASSING = (Unavailable, Denied, Invalid, TooLarge)
