"""The part that has rollouts go on.

Rule 1: a machine's workflow is made in the transaction that marks the machine as begun, so no death of the process loses or
doubles one.
Rule 2: the same transaction looks whether the machine may begin still: what a person or a failure decided before counts.
Rule 3: what is to be done is read from the store at each look; nothing of a rollout is in memory between two.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final, NoReturn

from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rollouts.planning import told
from tinkbox.engine.rollouts.rules import room
from tinkbox.engine.rollouts.settling import begin, is_unsettled, settle
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.engine.workflows.audited import Told, workflow_digest
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.audit import Changed
from tinkbox.model.breakpoint import DEFAULT_HOLD_SECONDS, Breakpoints
from tinkbox.model.errors import Conflict, Invalid, NotFound, TooMany, Unavailable
from tinkbox.model.hardware import Hardware, addressed_by, names_of, worker_of
from tinkbox.model.rollout import (
    DELETED,
    LABEL,
    REGISTERED_ANEW,
    RETIRED,
    UNDER_WAY,
    Counts,
    Member,
    Place,
    Rollout,
    RolloutState,
    gone_before_its_turn,
)
from tinkbox.model.workflow import Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import Template

LOOK_EVERY: Final = 5.0
PAUSE: Final = 0.2  # between two looks: much may happen in it
AT_ONCE: Final = 20  # machines of a rollout that begin before others have their turn
_log = logging.getLogger(__name__)


class _NotNow(Conflict):
    """A machine may not begin, for what happened since it was looked at."""


class _Departed(Conflict):
    """A machine is not the one that its rollout was made for."""


class Progression:
    """A part."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        workflows: Workflows,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        audit: Audit,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._workflows = workflows
        self._clock = clock
        self._new_id = new_id
        self._audit = audit

    async def run(self) -> NoReturn:
        """Have rollouts go on, for ever."""
        while True:
            async with self._wakeups.listening(CHANGES, LOOK_EVERY):
                try:
                    while await self.look():
                        pass
                except TooMany:
                    pass  # renderings of other people come first
                except Unavailable as error:
                    _log.warning("rollouts wait: %s", error, extra={"action": "rollouts.unsaved"})
            await asyncio.sleep(PAUSE)

    async def look(self) -> bool:
        """Have each rollout go one piece further; returns whether more can be done at once.  Raises Unavailable."""
        concerned = await self._store.read(lambda tables: tables.rollouts.concerned())
        return any([await self._go_on(rollout_id) for rollout_id in concerned])

    async def _go_on(self, rollout_id: str) -> bool:
        now = self._clock()

        def question(tables: Tables) -> tuple[Rollout | None, Counts, bool]:
            found, counts = tables.rollouts.get(rollout_id), tables.rollouts.counts([rollout_id])[rollout_id]
            return found, counts, found is not None and is_unsettled(tables, found, counts)

        rollout, counts, unsettled = await self._store.read(question)
        if unsettled:
            rollout, counts = await self._store.write(lambda tables: settle(tables, rollout_id, now))
        if rollout is None:
            return False
        if rollout.state is RolloutState.STOPPING and rollout.stop_into is RolloutState.CANCELED:
            return await self._cancel_some(rollout)
        more = min(AT_ONCE, room(rollout, counts, failed=False))
        return more > 0 and await self._begin_some(rollout, more)

    async def _cancel_some(self, rollout: Rollout) -> bool:
        """Cancel workflows of a rollout that was canceled, some at a time."""

        def question(tables: Tables) -> list[Member]:
            return tables.rollouts.members(rollout.id, {Place.PENDING, Place.RUNNING}, AT_ONCE)

        some = await self._store.read(question)
        for each in some:
            try:
                await self._workflows.cancel(
                    each.workflow_id, _name(rollout), told=self._telling(rollout, "canceled", each.machine)
                )
            except (Conflict, NotFound):
                continue  # it ended meanwhile, and that was noted with it
            self._say(rollout, "canceled", each.workflow_id)
        return len(some) == AT_ONCE

    async def _begin_some(self, rollout: Rollout, most: int) -> bool:
        """Begin so many machines at most; returns whether it is worth to look again at once."""

        def question(tables: Tables) -> tuple[str, list[Member]]:
            return tables.rollouts.text(rollout.id), tables.rollouts.ready(rollout.id, most)

        text, ready = await self._store.read(question)
        template = Template(
            id=rollout.template_id,
            name=rollout.template_name,
            data=text,
            created_at=rollout.created_at,
            updated_at=rollout.created_at,
        )
        for each in ready:
            try:
                if not await self._begin(rollout, template, each):
                    return True  # that may stop the others
            except _NotNow:
                return False  # whatever it was woke everybody who waits
        return bool(ready)

    async def _begin(self, rollout: Rollout, template: Template, member: Member) -> bool:
        """Make the workflow of a machine that waits, or retry the one it has; returns whether it could be.

        Raises _NotNow, Unavailable.
        """
        record = self._machines.known.get(member.machine)
        if record is None or record.retired is not None or record.created_at != member.registered:
            what = DELETED if record is None else RETIRED if record.retired is not None else REGISTERED_ANEW
            await self._end_unbegun(rollout, member, Place.CANCELED, gone_before_its_turn(what))
            return False
        try:
            if not (member.workflow_id and await self._retried(rollout, member)):
                await self._create(rollout, template, member, record.hardware)
        except (_NotNow, Unavailable):
            raise
        except _Departed as refusal:
            await self._end_unbegun(rollout, member, Place.CANCELED, str(refusal))
            return False
        except (Invalid, NotFound, Conflict) as refusal:
            await self._end_unbegun(rollout, member, Place.FAILED, told(refusal))
            return False
        return True

    async def _create(self, rollout: Rollout, template: Template, member: Member, machine: Hardware) -> None:
        workflow_id = self._new_id()
        await self._workflows.create(
            template,
            {rollout.device: worker_of(machine), **rollout.parameters},
            machine=machine,
            breakpoints=_armed(rollout.breakpoints),
            who=rollout.who,
            confirm_wipe=rollout.wipe_confirmed,
            first=self._mark(rollout, member, workflow_id),
            labels={**rollout.labels, LABEL: rollout.short},
            as_id=workflow_id,
            told=self._telling(rollout, "created", member.machine),
        )
        self._say(rollout, "created", workflow_id)

    async def _retried(self, rollout: Rollout, member: Member) -> bool:
        """Retry the workflow that a machine had before; False when it was deleted.  Raises _Departed."""
        try:
            await self._workflows.retry(
                member.workflow_id,
                confirm_wipe=rollout.wipe_confirmed,
                who=_name(rollout),
                first=self._mark(rollout, member, member.workflow_id),
                told=self._telling(rollout, "retried", member.machine),
            )
        except NotFound:
            return False
        self._say(rollout, "retried", member.workflow_id)
        return True

    def _mark(self, rollout: Rollout, member: Member, workflow_id: str) -> Callable[[Tables], None]:
        """What is done in the transaction of a machine's workflow: it has begun.  Raises _NotNow, _Departed."""
        now = self._clock()

        def use_case(tables: Tables) -> None:
            newest, there = tables.rollouts.get(rollout.id), tables.rollouts.member(rollout.id, member.position)
            if newest is None or there is None or there.place is not Place.WAITING:
                raise _NotNow(f"{member.name} does not wait any more")
            failed = tables.rollouts.has_failed(rollout.id)
            if not _has_room(tables, newest, failed=failed) or tables.workflows.needing(member.machine):
                raise _NotNow(f"{member.name} has to wait")
            if any(each.created_at != member.registered for each in tables.hardware.some([member.machine])):
                raise _Departed(gone_before_its_turn(REGISTERED_ANEW))  # since it was looked at
            begin(tables, newest, now)
            tables.rollouts.begin(rollout.id, member.position, workflow_id)

        return use_case

    def _telling(self, rollout: Rollout, what: str, machine: str) -> Told:
        """What adds a line to the audit in the transaction that does this to a workflow of the rollout."""
        record = self._machines.known.get(machine)
        called = [] if record is None else [*names_of(record.hardware), *addressed_by(record.hardware)]
        why = f"rollout {rollout.id}, which {rollout.who or 'somebody'} made"

        def told(tables: Tables, before: Workflow | None, after: Workflow) -> None:
            old = workflow_digest(before) if before is not None else ""
            names = [after.id, after.name, after.template_id, after.template_name, rollout.id, machine, *called]
            changed = [Changed("workflow", after.id, old, workflow_digest(after))]
            self._audit.own(tables, f"workflow {what}", [after.id], why, changed, names)

        return told

    def _say(self, rollout: Rollout, what: str, workflow_id: str) -> None:
        _log.info("workflow %s by %s: %s", what, _name(rollout), workflow_id, extra={"action": "rollouts.workflow"})
        self._audit.told()

    async def _end_unbegun(self, rollout: Rollout, member: Member, place: Place, message: str) -> None:
        """It is a machine's turn, and it cannot have a workflow."""
        now = self._clock()

        def use_case(tables: Tables) -> None:
            newest = tables.rollouts.get(rollout.id)
            if newest is not None and _has_room(tables, newest, failed=False):
                begin(tables, newest, now)
                tables.rollouts.end_unbegun(rollout.id, member.position, place, message)

        await self._store.write(use_case)
        self._wakeups.wake(CHANGES)


def _name(rollout: Rollout) -> str:
    """Who cancels and retries its workflows: who canceled or retried the rollout may be another person than made it."""
    return f"rollout {rollout.short}"


def _has_room(tables: Tables, rollout: Rollout, *, failed: bool) -> bool:
    """Whether a machine that waits may begin: this holds the writer, so that no more are counted than needed."""
    under_way = tables.rollouts.counts([rollout.id], UNDER_WAY)[rollout.id] if rollout.max_parallel else Counts()
    return bool(room(rollout, Counts(by_place={**under_way.by_place, Place.WAITING: 1}), failed=failed))


def _armed(kept: Breakpoints) -> Change | None:
    """What a rollout has armed in each workflow; what is as nothing was said stays as the template has it."""
    nothing = Breakpoints()
    if kept == nothing:
        return None
    return Change(
        on_failure=kept.on_failure or None,
        before=kept.before,
        after=kept.after,
        timeout=None if kept.timeout == DEFAULT_HOLD_SECONDS else kept.timeout,
        on_expiry=None if kept.on_expiry is nothing.on_expiry else kept.on_expiry,
    )
