"""Use-cases of a machine that people change: its document, a few values of it, and what they note about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from tinkbox.engine.machines.additions import Additions
from tinkbox.engine.machines.editing import Edit, edited
from tinkbox.engine.machines.machines import Machines, MachineStatus, refuse_deleted
from tinkbox.engine.machines.replacement import workflow_in_the_way
from tinkbox.model.documents.hardware import (
    ID_ANNOTATION,
    declared_labels,
    declares_labels,
    hardware_from_document,
    labelled_document,
)
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.hardware import Hardware, MacAddress, called
from tinkbox.model.labels import LabelChange, LabelKind, Labels
from tinkbox.model.notes import MAX_NOTES, Note, note_text
from tinkbox.store.database import Store, Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a person wants changed; what is empty or None stays.  `address` may have a prefix."""

    name: str = ""
    address: str = ""
    gateway: IPv4Address | None = None
    added_macs: tuple[MacAddress, ...] = ()
    removed_macs: tuple[MacAddress, ...] = ()
    disks: tuple[str, ...] | None = None
    ssh_keys: tuple[str, ...] | None = None
    labels: LabelChange = field(default_factory=LabelChange)


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What a person began with who wrote a whole document."""

    updated_at: datetime
    labels: Labels


class MachineChanges:
    """Changes known machines; raises as `Machines.get` for a key, and Conflict as `Machines.push`.

    What would confuse a workflow that is not over is refused with Conflict, unless it is forced: another MAC, address or agent id.
    """

    def __init__(self, store: Store, machines: Machines, additions: Additions, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._machines = machines
        self._additions = additions
        self._clock = clock

    async def change(self, key: str, change: Change, *, force: bool = False) -> MachineStatus:
        """Change some values; raises Invalid for what cannot be."""
        hardware = self._machines.known.find(key).hardware
        reserved, gateway = None, change.gateway
        if change.address:
            reserved = self._additions.reserved(change.address, str(gateway or ""), _networks(hardware))
            gateway = None
        wanted = Edit(
            name=change.name,
            reservation=reserved,
            gateway=gateway,
            added_macs=change.added_macs,
            removed_macs=change.removed_macs,
            disks=change.disks,
            ssh_keys=change.ssh_keys,
            labels=change.labels,
        )
        return await self._store_changed(hardware.id, lambda stored: edited(stored, wanted), None, force=force)

    async def replace(self, key: str, written: Hardware, base: Base, *, force: bool = False) -> MachineStatus:
        """Store a whole document in place of what `base` was of; another name in it renames the machine.

        Raises Invalid for the document of another machine, and Conflict when the machine was changed since.
        """
        hardware_id = self._machines.known.find(key).hardware.id

        def changed(stored: Hardware) -> Hardware:
            document, wanted = written.document, written
            if wanted.id != hardware_id and wanted.name and ID_ANNOTATION not in _annotations(document):
                wanted = hardware_from_document(_keeping(document, hardware_id))
            if wanted.id != hardware_id:
                raise Invalid(
                    f"this is the document of another machine: the id of {called(stored)} stays {hardware_id}"
                )
            declared = declared_labels(document)
            # Who was shown them and left them out wants none; a document of 2020 may never have shown them.
            untold = {} if declares_labels(labelled_document(stored)) else stored.labels
            return replace(wanted, labels=untold if declared is None else declared)

        return await self._store_changed(hardware_id, changed, base, force=force)

    async def _store_changed(
        self, hardware_id: str, changed: Callable[[Hardware], Hardware], base: Base | None, *, force: bool
    ) -> MachineStatus:
        macs: set[MacAddress] = set()

        def use_case(tables: Tables) -> bool:
            refuse_deleted(tables, hardware_id)
            (record,) = tables.hardware.some([hardware_id])
            stored = record.hardware
            if base is not None and (record.updated_at, dict(stored.labels)) != (
                base.updated_at,
                dict(base.labels),
            ):
                raise Conflict(
                    f"machine {called(stored)} was changed meanwhile: look at it again, and make your changes there"
                )
            wanted = changed(stored)
            if wanted == stored:
                return False
            if not force and (workflow := workflow_in_the_way(stored, wanted, tables.workflows.needing)):
                raise Conflict(
                    f"workflow {workflow} is not over and knows machine {called(stored)} by its MACs, addresses and agent "
                    "id: wait for it, cancel it, or say --force"
                )
            for claim, holder in tables.hardware.holders(wanted):
                (other,) = tables.hardware.some([holder])
                name = called(other.hardware)
                raise Conflict(f"{claim} belongs to machine {name} already: `tinkbox hardware get {name}` shows it")
            others = set(tables.hardware.named(called(wanted))) - {hardware_id}
            if others and called(wanted) != called(stored):
                raise Conflict(f"there is a machine called {called(wanted)} already: choose another name")
            self._machines.take_in(tables, [wanted])
            tables.labels.replace(LabelKind.MACHINE, hardware_id, wanted.labels)
            macs.update(each.mac for machine in (stored, wanted) for each in machine.interfaces)
            return True

        if await self._store.write(use_case):
            await self._machines.taken_in([hardware_id], macs)
        return await self._machines.standing(hardware_id)

    async def notes(self, key: str) -> list[Note]:
        """What people noted about a machine, oldest first."""
        hardware_id = self._machines.known.find(key).hardware.id
        return await self._store.read(lambda tables: tables.notes.of(hardware_id))

    async def note(self, key: str, text: str, who: str) -> list[Note]:
        """Note something about a machine; returns all its notes.  Raises Conflict for one too many."""
        hardware_id, line = self._machines.known.find(key).hardware.id, note_text(text)

        def use_case(tables: Tables) -> list[Note]:
            refuse_deleted(tables, hardware_id)
            if len(tables.notes.of(hardware_id)) >= MAX_NOTES:
                raise Conflict(
                    f"the machine has {MAX_NOTES} notes already: remove one with `tinkbox hardware note KEY --remove N`"
                )
            tables.notes.add(hardware_id, self._clock(), who, line)
            return tables.notes.of(hardware_id)

        return await self._store.write(use_case)

    async def remove_note(self, key: str, number: int) -> list[Note]:
        """Returns the notes that are left; raises NotFound for a number that none has."""
        hardware = self._machines.known.find(key).hardware

        def use_case(tables: Tables) -> list[Note]:
            if not tables.notes.remove(hardware.id, number):
                name = called(hardware)
                raise NotFound(f"machine {name} has no note {number}: `tinkbox hardware note {name}` lists them")
            return tables.notes.of(hardware.id)

        return await self._store.write(use_case)


def _networks(hardware: Hardware) -> list[IPv4Network]:
    """Those that it has addresses of."""
    return [
        IPv4Network((each.address, str(each.netmask)), strict=False)
        for each in hardware.interfaces
        if each.address and each.netmask
    ]


def _annotations(document: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = document.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _keeping(document: Mapping[str, Any], hardware_id: str) -> Mapping[str, Any]:
    """A `kind: Hardware` of another name, which keeps the id."""
    annotations = {**_annotations(document), ID_ANNOTATION: hardware_id}
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}
