"""Use-cases of machines that are taken out of service, or forgotten, and what is unfinished on them.

A retired machine stays on record: no other machine gets its MACs, its name or its address, and its workflows and its timeline stay.
It is told nothing when it boots, not even its address, and no workflow is created for it.  A worker that runs on it may end
what it has begun.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

from tinkbox.engine.machines.machines import Machines, MachineStatus, refuse_deleted
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.errors import Conflict
from tinkbox.model.hardware import Hardware, called
from tinkbox.model.notes import MAX_NOTE, MAX_NOTES, Retirement, note_text
from tinkbox.model.rollout import gone_before_its_turn
from tinkbox.model.text import shortened
from tinkbox.model.workflow import State
from tinkbox.store.database import Store, Tables

FORCE = "--force cancels it first"
Told = Callable[[str], None]


def _to_no_one(_: str) -> None: ...


class Departures:
    """Retires machines, takes them back, deletes them.

    Without `force` a machine that an unfinished workflow needs, or that waits in a rollout, is refused with Conflict; with it,
    its workflows are cancelled first, on whatever other machines they have as well, and the rollout goes on without it.
    `told` hears of each workflow that is cancelled, also where the machine stays after all.  The machine that is meant is the
    one that was registered at `created_at`; None: whichever the key means now.  Another one is refused with Conflict.
    """

    def __init__(self, store: Store, machines: Machines, workflows: Workflows, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._machines = machines
        self._workflows = workflows
        self._clock = clock

    async def retire(
        self,
        key: str,
        who: str,
        reason: str = "",
        *,
        force: bool = False,
        told: Told = _to_no_one,
        created_at: datetime | None = None,
    ) -> tuple[MachineStatus, list[str]]:
        """Take a machine out of service; returns it and the ids of the workflows that were cancelled.

        Raises Conflict for one that is retired already.
        """
        hardware = self._machines.known.find(key).hardware
        said = note_text(reason, "the reason") if reason.strip() else ""
        await self._store.read(partial(_refuse_registered_anew, hardware=hardware, created_at=created_at))
        canceled = await self._cancel(hardware, who, told) if force else []

        def use_case(tables: Tables) -> None:
            refuse_deleted(tables, hardware.id)
            _refuse_registered_anew(tables, hardware, created_at)
            _refuse_retired(tables, hardware)
            # What was told to stop with force ends by itself; what came meanwhile is decided about by a person.
            _refuse_needed(tables, hardware, canceled)
            (_end_waiting if force else _refuse_awaited)(tables, hardware, "retired")
            tables.retirements.put(hardware.id, Retirement(at=self._clock(), who=who, reason=said))
            self._machines.sessions.void(tables, hardware.id)

        await self._store.write(use_case)
        await self._machines.taken_in([hardware.id], ())
        return await self._machines.standing(hardware.id), canceled

    async def refuse_retirement(self, key: str) -> None:
        """Raise Conflict where `retire` without `force` does."""
        hardware = self._machines.known.find(key).hardware

        def question(tables: Tables) -> None:
            _refuse_retired(tables, hardware)
            _refuse_needed(tables, hardware)
            _refuse_awaited(tables, hardware, "retired")

        await self._store.read(question)

    async def give_back(self, key: str, who: str) -> MachineStatus:
        """Take a retired machine back into service; a note keeps that it was retired.

        Raises Conflict for one that is not, and for one that has MAX_NOTES already: no note of a person is thrown away.
        """
        hardware = self._machines.known.find(key).hardware

        def use_case(tables: Tables) -> None:
            before = tables.retirements.of(hardware.id)
            if before is None:
                raise Conflict(f"machine {called(hardware)} is not retired")
            notes = tables.notes.of(hardware.id)
            if len(notes) >= MAX_NOTES:
                first = notes[0].number
                raise Conflict(
                    f"machine {called(hardware)} has {MAX_NOTES} notes, and its return is noted as well: remove one first, such "
                    f"as with `tinkbox hardware note {called(hardware)} --remove {first}`"
                )
            tables.retirements.remove(hardware.id)
            reason = f": {before.reason}" if before.reason else ""
            text = f"returned to service; was retired from {before.at:%Y-%m-%d} by {before.who}{reason}"
            tables.notes.add(hardware.id, self._clock(), who, shortened(text, MAX_NOTE))

        await self._store.write(use_case)
        await self._machines.taken_in([hardware.id], ())
        return await self._machines.standing(hardware.id)

    async def delete(
        self,
        key: str,
        who: str,
        *,
        force: bool = False,
        told: Told = _to_no_one,
        created_at: datetime | None = None,
    ) -> tuple[Hardware, list[str]]:
        """Forget a machine; returns what it was and the ids of the workflows that were cancelled.

        Raises Conflict also with `force` while a workflow of it is still being stopped.
        """
        hardware = self._machines.known.find(key).hardware
        await self._store.read(partial(_refuse_registered_anew, hardware=hardware, created_at=created_at))
        if not force:
            await self.refuse_deletion(hardware.id)
        canceled = await self._cancel(hardware, who, told) if force else []
        for each in await self._machines.needed_by(hardware.id):
            raise _needed(hardware, each, await self._store.read(partial(self._way_out, each)))

        def first(tables: Tables) -> None:
            _refuse_registered_anew(tables, hardware, created_at)
            (_end_waiting if force else _refuse_awaited)(tables, hardware, "deleted")

        await self._machines.delete(hardware.id, first)
        return hardware, canceled

    async def refuse_deletion(self, key: str) -> None:
        """Raise Conflict where `delete` without `force` does."""
        hardware = self._machines.known.find(key).hardware

        def question(tables: Tables) -> None:
            _refuse_needed(tables, hardware)
            _refuse_awaited(tables, hardware, "deleted")

        await self._store.read(question)

    async def _cancel(self, hardware: Hardware, who: str, told: Told) -> list[str]:
        canceled = []
        for workflow_id in await self._machines.needed_by(hardware.id):
            with suppress(Conflict):  # it ended meanwhile
                canceled.append((await self._workflows.cancel(workflow_id, who)).id)
                told(workflow_id)
        return canceled

    async def stopping(self, workflow_ids: Sequence[str]) -> list[str]:
        """Those of these workflows, which were cancelled, whose machine was told to stop what runs, and has not answered."""
        found = await self._store.read(lambda tables: tables.workflows.listed(workflow_ids))
        return [each.id for each in found if each.state is State.STOPPING]

    def _way_out(self, workflow_id: str, tables: Tables) -> str:
        return self._workflows.way_out(tables, tables.workflows.get(workflow_id))


def _needed(hardware: Hardware, workflow_id: str, then: str) -> Conflict:
    return Conflict(
        f"workflow {workflow_id} is not over and needs machine {called(hardware)}: {then}", of=[workflow_id]
    )


def _refuse_needed(tables: Tables, hardware: Hardware, canceled: Collection[str] = ()) -> None:
    """Raise Conflict for a machine that an unfinished workflow needs, beside those that were `canceled` for it."""
    needing = tables.workflows.needing(hardware.id)
    if set(needing) - set(canceled):
        raise _needed(hardware, needing[0], FORCE)


def _refuse_registered_anew(tables: Tables, hardware: Hardware, created_at: datetime | None) -> None:
    """Raise Conflict where a machine of this id is there, and not the one that was registered at that time; None: it may be."""
    for record in tables.hardware.some([hardware.id]):
        if created_at is not None and record.created_at != created_at:
            raise Conflict(f"machine {called(record.hardware)} was deleted and registered anew since it was looked up")


def _refuse_retired(tables: Tables, hardware: Hardware) -> None:
    """Raise Conflict for a machine that is retired already."""
    before = tables.retirements.of(hardware.id)
    if before is not None:
        raise Conflict(f"machine {called(hardware)} is retired already, since {before.at:%Y-%m-%d} by {before.who}")


def _end_waiting(tables: Tables, hardware: Hardware, what: str) -> None:
    """Have the rollouts in which a machine waits go on without it, also where it comes back before its turn."""
    tables.rollouts.end_waiting(hardware.id, gone_before_its_turn(what))


def _refuse_awaited(tables: Tables, hardware: Hardware, what: str) -> None:
    """Raise Conflict for a machine that waits in a rollout and is not to be `what`."""
    for rollout in tables.rollouts.waiting_in([hardware.id]).values():
        raise Conflict(
            f"machine {called(hardware)} waits in rollout {rollout[:8]}: `tinkbox rollout get {rollout[:8]}` shows that; with "
            f"--force it is {what}, and the rollout goes on without it",
            of=[rollout],
        )
