"""Deleting workflows and rollouts that have been over for long, so that an appliance that is left alone has room.

A few in each transaction, and of a large one a few megabytes: machines that boot wait for none of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, NoReturn

from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.clock_trust import ClockTrust
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.deletion import OCTETS_AT_ONCE, begin_deletion, delete_piece
from tinkbox.engine.workflows.endings import tell
from tinkbox.model.disk_usage import EarlyDeletion
from tinkbox.model.errors import Unavailable
from tinkbox.model.retention import Retention
from tinkbox.model.workflow import Workflow
from tinkbox.store.database import Store, Tables

LOOK_EVERY: Final = 60.0
AT_ONCE: Final = 10  # workflows in a transaction
ALWAYS_KEPT: Final = 20  # however little room there is
IN_VAIN: Final = timedelta(hours=1)  # when nothing more is deleted early, after that gave no room
PAGES: Final = 1_000  # the same, of the file
SPARE_PAGES: Final = 4_000  # so many may be free, for what comes next: 16 MiB mostly
_NEVER: Final = datetime.min.replace(tzinfo=UTC)  # before it nothing ended: only what was half deleted goes
PAUSE: Final = 0.1  # between two, for those who wait
_log = logging.getLogger(__name__)


class Retainer:
    """A part; `forgotten` is called at each look, for people delete workflows as well, `free` gives the bytes that are free on the disk.

    Each of `surplus` deletes some rows of a kind of which too many are stored, and tells whether there may be more.  What goes is
    recorded in the `audit`.  Nothing goes for its age while `clock_trust` says no.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        clock: Callable[[], datetime],
        retention: Retention,
        forgotten: Callable[[], Awaitable[None]],
        free: Callable[[], int],
        surplus: Sequence[Callable[[], Awaitable[bool]]] = (),
        audit: Audit | None = None,
        clock_trust: ClockTrust | None = None,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._retention = retention
        self._forgotten = forgotten
        self._free = free
        self._surplus = surplus
        self._audit = audit
        self._clock_trust = clock_trust
        self._early_from = _NEVER
        self._free_before: int | None = None  # the last deletion before their time

    async def run(self) -> NoReturn:
        """Look every so often, for ever."""
        while True:
            try:
                await self.look()
            except Unavailable as error:
                _log.warning("old workflows are not deleted yet: %s", error, extra={"action": "retention.refused"})
            await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> int:
        """Delete what is too old by now, and some more when the disk is nearly full; returns how many there were.

        Raises Unavailable.
        """
        now = self._clock()
        may_delete = self._clock_trust is None or await self._clock_trust.may_delete()
        before = now - self._retention.workflows if may_delete else _NEVER
        deleted = await self._delete(before, self._retention.newest)
        await self._forget_rollouts(before)
        early = await self._delete(now, ALWAYS_KEPT, early=True) if self._is_to_be_early(now) else 0
        for forget in self._surplus:
            more = True
            while more:
                more = await forget()
                await asyncio.sleep(PAUSE)
        await self._forgotten()
        # People delete as well: what is free in the file is of no use to anything else.
        spare = 0 if deleted + early or self._free() < self._retention.keep_free else SPARE_PAGES
        await self._give_room_back(spare)
        await self._store.empty_log()
        if deleted:
            _log.info("%d workflows deleted that ended long ago", deleted, extra={"action": "retention.deleted"})
        if early:
            _log.warning(
                "the disk is nearly full: the %d oldest finished workflows are deleted before their time; free room where the "
                "data folder is, or lower retention.keep_free",
                early,
                extra={"action": "retention.early"},
            )
        return deleted + early

    def _is_to_be_early(self, now: datetime) -> bool:
        """Whether some more are to go: a few each time, for the file shrinks only some time after they are gone."""
        before, free = self._free_before, self._free()
        self._free_before = None
        if free >= self._retention.keep_free or now < self._early_from:
            return False
        if before is not None and free <= before:
            # Something else fills the disk: all that people want to read would be gone, and nothing won.
            self._early_from = now + IN_VAIN
            return False
        self._free_before = free
        return True

    async def _delete(self, before: datetime, kept: int, *, early: bool = False) -> int:
        """Those that nothing happened to since then, but for the newest; returns how many.

        Of those that go `early`, AT_ONCE are enough.
        """
        deleted = 0
        while True:
            most = AT_ONCE - deleted if early else AT_ONCE
            piece = await self._store.write(
                partial(_delete_some, before=before, kept=kept, most=most, early=early, audit=self._audit)
            )
            if piece.gone and self._audit is not None:
                self._audit.told()
            await tell(self._machines, self._wakeups, piece.workers)
            deleted += len(piece.gone)
            if piece.gone:
                told = ", ".join(f"{each.id} ({each.name!r}, {each.state})" for each in piece.gone)
                _log.info("workflows deleted: %s", told, extra={"action": "retention.workflows"})
            if piece.is_last or (early and deleted == AT_ONCE):
                return deleted
            await asyncio.sleep(PAUSE)

    async def _forget_rollouts(self, before: datetime) -> None:
        """Those that are too old by now and of which no workflow is left."""

        def use_case(tables: Tables, rollout_id: str) -> bool:
            if rollout_id not in tables.rollouts.outlived(before):
                return False  # a person has it go on
            tables.rollouts.delete(rollout_id)
            return True

        for each in await self._store.read(lambda tables: tables.rollouts.outlived(before)):
            if await self._store.write(partial(use_case, rollout_id=each)):
                _log.info("rollout %s is deleted, which ended long ago", each, extra={"action": "retention.rollouts"})
            await asyncio.sleep(PAUSE)

    async def _give_room_back(self, spare: int) -> None:
        """Where more than `spare` pages are free, until nothing is, or the file gives nothing back."""
        free = await self._store.read(lambda tables: tables.room.free())
        if free <= spare:
            return
        while free:
            await self._store.write(lambda tables: tables.room.give_back(PAGES))
            left = await self._store.read(lambda tables: tables.room.free())
            if left >= free:
                return
            free = left
            await asyncio.sleep(PAUSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """What one transaction deleted: workflows, and of which machines they were; after the last, nothing is left to delete."""

    gone: Sequence[Workflow]
    workers: Collection[str]
    is_last: bool


def _delete_some(tables: Tables, *, before: datetime, kept: int, most: int, early: bool, audit: Audit | None) -> _Piece:
    """Delete as much as a transaction may: `most` workflows, OCTETS_AT_ONCE bytes."""
    workers: set[str] = set()
    gone, left, taken = [], OCTETS_AT_ONCE, tables.room.taken()
    half_deleted, old = tables.workflows.half_deleted(), tables.workflows.finished_before(before, kept, most)
    found = [*half_deleted, *old][:most]
    for workflow in map(tables.workflows.get, found):
        if workflow.id in old:
            tables.declarations.outlive(workflow.id)
        begin_deletion(tables, workflow)
        workers |= set(workflow.workers())
        left = delete_piece(tables, workflow.id, left)
        if not left:
            break
        gone.append(workflow)
    if found and early:
        _note_early(tables, len(gone), taken - tables.room.taken(), before)
    if audit is not None:
        why = "the disk was nearly full" if early else f"over since before {before.isoformat(timespec='seconds')}"
        audit.own(tables, "workflow deleted", [each.id for each in gone], why)
    return _Piece(gone=gone, workers=workers, is_last=not found)


def _note_early(tables: Tables, workflows: int, octets: int, now: datetime) -> None:
    """Remember what was deleted early, together with what went before as long as people are told of that."""
    earlier = tables.room.early_deletion()
    if earlier is None or not earlier.is_news(now):
        earlier = EarlyDeletion(workflows=0, octets=0, since=now, until=now)
    tables.room.note_early_deletion(
        EarlyDeletion(
            workflows=earlier.workflows + workflows, octets=earlier.octets + octets, since=earlier.since, until=now
        )
    )
