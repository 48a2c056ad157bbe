"""Use-cases of machines that are taken out of service, or forgotten, and what is unfinished on them.

A retired machine stays on record: no other machine gets its MACs, its name or its address, and its workflows and its timeline stay.
It is told nothing when it boots, not even its address, and no workflow is created for it.  A worker that runs on it may end
what it has begun.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial

from tinkbox.engine.machines.machines import Machines, MachineStatus, refuse_deleted
from tinkbox.engine.workflows.stopping import way_out
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.errors import Conflict
from tinkbox.model.hardware import Hardware, called
from tinkbox.model.notes import MAX_NOTE, Retirement, note_text
from tinkbox.model.text import shortened
from tinkbox.store.database import Store, Tables

FORCE = "--force cancels it first"


class Departures:
    """Retires machines, takes them back, deletes them.

    Without `force` a machine that an unfinished workflow needs, or that waits in a rollout, is refused with Conflict; with it,
    its workflows are cancelled first, on whatever other machines they have as well, and the rollout goes on without it.
    """

    def __init__(self, store: Store, machines: Machines, workflows: Workflows, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._machines = machines
        self._workflows = workflows
        self._clock = clock

    async def retire(
        self, key: str, who: str, reason: str = "", *, force: bool = False
    ) -> tuple[MachineStatus, list[str]]:
        """Take a machine out of service; returns it and the ids of the workflows that were cancelled.

        Raises Conflict for one that is retired already.
        """
        hardware = self._machines.known.find(key).hardware
        said = note_text(reason, "the reason") if reason.strip() else ""
        canceled = await self._cancel(hardware, who) if force else []

        def use_case(tables: Tables) -> None:
            refuse_deleted(tables, hardware.id)
            before = tables.retirements.of(hardware.id)
            if before is not None:
                raise Conflict(
                    f"machine {called(hardware)} is retired already, since {before.at:%Y-%m-%d} by {before.who}"
                )
            needing = tables.workflows.needing(hardware.id)
            # What was told to stop with force ends by itself; what came meanwhile is decided about by a person.
            if set(needing) - set(canceled):
                raise self._needed(hardware, needing, FORCE)
            if not force:
                _refuse_awaited(tables, hardware)
            tables.retirements.put(hardware.id, Retirement(at=self._clock(), who=who, reason=said))
            self._machines.sessions.void(tables, hardware.id)

        await self._store.write(use_case)
        await self._machines.taken_in([hardware.id], ())
        return await self._machines.get(hardware.id), canceled

    async def give_back(self, key: str, who: str) -> MachineStatus:
        """Take a retired machine back into service; a note keeps that it was retired.  Raises Conflict for one that is not."""
        hardware = self._machines.known.find(key).hardware

        def use_case(tables: Tables) -> None:
            before = tables.retirements.of(hardware.id)
            if before is None:
                raise Conflict(f"machine {called(hardware)} is not retired")
            tables.retirements.remove(hardware.id)
            reason = f": {before.reason}" if before.reason else ""
            text = f"returned to service; was retired from {before.at:%Y-%m-%d} by {before.who}{reason}"
            tables.notes.add(hardware.id, self._clock(), who, shortened(text, MAX_NOTE))

        await self._store.write(use_case)
        await self._machines.taken_in([hardware.id], ())
        return await self._machines.get(hardware.id)

    async def delete(self, key: str, who: str, *, force: bool = False) -> tuple[Hardware, list[str]]:
        """Forget a machine; returns what it was and the ids of the workflows that were cancelled.

        Raises Conflict also with `force` while a workflow of it is still being stopped.
        """
        hardware = self._machines.known.find(key).hardware
        needing = [] if force else await self._machines.needed_by(hardware.id)
        if needing:
            raise self._needed(hardware, needing, FORCE)
        if not force:
            await self._store.read(partial(_refuse_awaited, hardware=hardware))
        canceled = await self._cancel(hardware, who) if force else []
        for each in await self._machines.needed_by(hardware.id):
            raise self._needed(hardware, [each], await self._store.read(partial(self._way_out, each)))
        await self._machines.delete(hardware.id)
        return hardware, canceled

    async def _cancel(self, hardware: Hardware, who: str) -> list[str]:
        canceled = []
        for workflow_id in await self._machines.needed_by(hardware.id):
            with suppress(Conflict):  # it ended meanwhile
                canceled.append(await self._workflows.cancel(workflow_id, who))
        return canceled

    def _way_out(self, workflow_id: str, tables: Tables) -> str:
        return way_out(tables, tables.workflows.get(workflow_id), self._clock())

    @staticmethod
    def _needed(hardware: Hardware, needing: list[str], then: str) -> Conflict:
        return Conflict(f"workflow {needing[0]} is not over and needs machine {called(hardware)}: {then}")


def _refuse_awaited(tables: Tables, hardware: Hardware) -> None:
    """Raise Conflict for a machine that waits in a rollout."""
    for rollout in tables.rollouts.waiting_in([hardware.id]).values():
        raise Conflict(
            f"machine {called(hardware)} waits in rollout {rollout[:8]}: `tinkbox rollout get {rollout[:8]}` shows that; with "
            "--force the rollout goes on without it"
        )
