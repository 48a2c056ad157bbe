"""`/v1/hardware/…`: machines that are imported, edited, retired, deleted, and the notes about them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, Required, TypedDict

from aiohttp import web

from tinkbox.api.access import caller, keeping_to_scope, may_look, needing, needing_either, require_for
from tinkbox.api.answers import Json, answered
from tinkbox.api.auditing import explain, note_rehearsal
from tinkbox.api.changes import CANCELED, log_change
from tinkbox.api.json_values import NamedIdentity, ProblemFields
from tinkbox.api.long_answers import encoded, json_object, turn
from tinkbox.api.parameters import Parameter
from tinkbox.api.requests import (
    LabelsWish,
    declared_only,
    is_number,
    key_of,
    known_only,
    label_change_of,
    large_object_of,
    made_at,
    read_object,
    says_yes,
    takes,
    text_field,
)
from tinkbox.api.routes.machines.hardware import (
    ChangedHardware,
    HardwareKey,
    NoteDocument,
    changed_document,
    notes_document,
    read_hardware,
)
from tinkbox.api.scopes import Scopes
from tinkbox.door.connections.client_presence import WhileThere
from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.documents.kubernetes import RemarksOn
from tinkbox.engine.machines.changes import Base, Change, MachineChanges
from tinkbox.engine.machines.imports import Imported, Imports
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.workflows.departures import Departures
from tinkbox.model.access import Right
from tinkbox.model.disks.selection import parse_path
from tinkbox.model.errors import Invalid, Problem, TooLarge
from tinkbox.model.hardware import Hardware, MacAddress, address_of, called, mac_of
from tinkbox.model.labels import LabelChange, parse_labels
from tinkbox.model.machine_lists import (
    MAX_LIST,
    MAX_LIST_VALUES,
    MOST_LISTED,
    ImportOutcome,
    ListedMachine,
    listed_machine,
    parse_address,
)
from tinkbox.model.ssh_keys import public_keys
from tinkbox.model.text import quoted
from tinkbox.wire.messages.json_fields import flag, number, text, texts


class ListedWish(TypedDict, total=False):
    macs: list[str]
    name: str
    address: str
    gateway: str
    routers: list[str]
    labels: dict[str, str] | None
    notes: list[str]
    line: int
    key: str


class ImportWish(TypedDict, total=False):
    machines: Required[list[ListedWish]]
    update: bool
    skip_invalid: bool
    dry_run: bool


class ChangeWish(TypedDict, total=False):
    name: str
    address: str
    gateway: str
    add_macs: list[str]
    remove_macs: list[str]
    disks: list[str] | None
    ssh_keys: list[str] | None
    labels: LabelsWish | None
    force: bool


class BaseWish(TypedDict, total=False):
    """`updated_at` and labels of the machine that was edited."""

    updated_at: str
    labels: dict[str, str]


class ReplacementWish(TypedDict, total=False):
    text: Required[str]
    base: Required[BaseWish]
    force: bool


class RetirementWish(TypedDict, total=False):
    reason: str
    force: bool
    created_at: str


class NoteWish(TypedDict):
    text: str


LISTED = tuple(ListedWish.__annotations__)
CHANGED = tuple(ChangeWish.__annotations__)


class EditedHardware(HardwareKey):
    """All of its record is with it for those who may look."""

    changed: bool
    notes: list[ProblemFields]


class DeletedHardware(HardwareKey):
    canceled: list[str]


class RetiredHardware(DeletedHardware):
    """All of its record is with it for those who may look."""

    stopping: list[str]


class NotesDocument(TypedDict):
    notes: list[NoteDocument]


class ImportedMachine(NamedIdentity):
    outcome: ImportOutcome
    mac: str
    address: str
    labels: dict[str, str]
    means: str
    changes: list[str]
    why: str
    line: int
    key: str
    notes: list[str]


class ImportDocument(TypedDict):
    machines: list[ImportedMachine]


def routes(
    machines: Machines,
    imports: Imports,
    changes: MachineChanges,
    departures: Departures,
    remarks_on: RemarksOn,
    scopes: Scopes,
) -> list[web.RouteDef]:
    return [
        *_changing(machines, imports, changes, remarks_on),
        *_leaving(departures),
        *_noting(machines, changes, scopes),
    ]


def _changing(
    machines: Machines, imports: Imports, changes: MachineChanges, remarks_on: RemarksOn
) -> list[web.RouteDef]:
    @takes(body=ImportWish)
    async def import_list(request: web.Request) -> Json[ImportDocument]:
        """Register the machines of a list; with `dry_run` only what would become of each."""
        found, body = None, await body_of(request, MAX_LIST)
        async with WhileThere(request), imports.turn(caller(request).name):
            document = await asyncio.to_thread(large_object_of, body, MAX_LIST_VALUES)
            del body
            declared_only(request, document)
            rehearsal = flag(document, "dry_run")
            require_for(request, changes=not rehearsal)
            listed = await asyncio.to_thread(_listed, document.get("machines"))
            update, skip_invalid = flag(document, "update"), flag(document, "skip_invalid")
            del document
            note_rehearsal(request, rehearsal)
            if rehearsal:
                async with turn(request):
                    found = await imports.preview(listed, update=update)
        if found is None:
            found = await imports.store(listed, caller(request).name, update=update, skip_invalid=skip_invalid)
            for outcome in (ImportOutcome.MADE, ImportOutcome.UPDATED):
                ids = [each.hardware.id for each in found if each.hardware and each.outcome is outcome]
                log_change(request, f"hardware {outcome} by import", *ids)
        known, whole = machines.known, may_look(request)
        told = await encoded(found, lambda each: _imported_document(each, known, remarks_on, whole=whole))
        return json_object({}, {"machines": told})

    @takes(body=ChangeWish)
    async def change(request: web.Request) -> Json[EditedHardware]:
        """Change some values of a machine."""
        document = await read_object(request)
        wanted, before = _change(document), machines.known.find(key_of(request)).hardware
        status = await changes.change(key_of(request), wanted, force=flag(document, "force"))
        log_change(request, "hardware edited", status.hardware.id)
        changed = status.hardware != before
        notes = [asdict(Problem(text=each.text)) for each in _notes(status.hardware, remarks_on)]
        return answered({**changed_document(request, status), "changed": changed, "notes": notes})

    @takes(body=ReplacementWish)
    async def replace(request: web.Request) -> Json[EditedHardware]:
        """Replace a machine's document, unless it changed since `base`."""
        document = await read_object(request)
        base = _base(document.get("base"))
        read, notes = await read_hardware(text_field(document, "text").encode(), remarks_on)
        if len(read) != 1:
            raise Invalid(f"expected the document of one machine, not of {len(read)}")
        before = machines.known.find(key_of(request)).hardware
        status = await changes.replace(key_of(request), read[0], base, force=flag(document, "force"))
        log_change(request, "hardware edited", status.hardware.id)
        told = [asdict(each) for each in notes]
        changed = status.hardware != before
        return answered({**changed_document(request, status), "changed": changed, "notes": told})

    return [
        *needing_either(web.post("/v1/hardware/import", import_list)),
        *needing(Right.OPERATE, web.patch("/v1/hardware/{key}", change), web.put("/v1/hardware/{key}", replace)),
    ]


def _leaving(departures: Departures) -> list[web.RouteDef]:
    @takes(body=RetirementWish)
    async def retire(request: web.Request) -> Json[RetiredHardware]:
        """Take a machine out of service; with `created_at` only the one that was registered then."""
        document = await read_object(request)
        reason = text(document, "reason", "")
        explain(request, reason)
        status, canceled = await departures.retire(
            key_of(request),
            caller(request).name,
            reason,
            force=flag(document, "force"),
            told=partial(log_change, request, CANCELED),
            created_at=made_at(text(document, "created_at", "")) if "created_at" in document else None,
        )
        log_change(request, "hardware retired", status.hardware.id)
        stopping = await departures.stopping(canceled)
        return answered({**changed_document(request, status), "canceled": canceled, "stopping": stopping})

    async def give_back(request: web.Request) -> Json[ChangedHardware]:
        """Take a machine back into service."""
        status = await departures.give_back(key_of(request), caller(request).name)
        log_change(request, "hardware returned to service", status.hardware.id)
        return answered(changed_document(request, status))

    @takes(Parameter("force", bool), Parameter("created_at", datetime))
    async def delete(request: web.Request) -> Json[DeletedHardware]:
        """Forget a machine; with `force` its workflows are canceled, with `created_at` only the one that was registered then."""
        registered = request.query.get("created_at")
        hardware, canceled = await departures.delete(
            key_of(request),
            caller(request).name,
            force=says_yes(request, "force"),
            told=partial(log_change, request, CANCELED),
            created_at=None if registered is None else made_at(registered),
        )
        log_change(request, "hardware deleted", hardware.id)
        return answered({"id": hardware.id, "name": called(hardware), "mac": mac_of(hardware), "canceled": canceled})

    return needing(
        Right.OPERATE,
        web.post("/v1/hardware/{key}/retire", retire),
        web.post("/v1/hardware/{key}/return", give_back),
        web.delete("/v1/hardware/{key}", delete),
    )


def _noting(machines: Machines, changes: MachineChanges, scopes: Scopes) -> list[web.RouteDef]:
    async def show_notes(request: web.Request) -> Json[NotesDocument]:
        """The notes about a machine."""
        return answered({"notes": notes_document(await changes.notes(key_of(request)))})

    @takes(body=NoteWish)
    async def note(request: web.Request) -> Json[NotesDocument]:
        """Add a note."""
        said = text_field(await read_object(request), "text")
        machine = machines.known.find(key_of(request)).hardware.id
        notes = await changes.note(machine, said, caller(request).name)
        log_change(request, "hardware noted", machine)
        told = notes if may_look(request) else notes[-1:]
        return answered({"notes": notes_document(told)}, status=201)

    async def remove_note(request: web.Request) -> Json[NotesDocument]:
        """Remove a note."""
        given = request.match_info["id"]
        if not is_number(given):
            raise Invalid(f"{quoted(given)} is no number of a note: `tinkbox hardware note MACHINE` shows these")
        machine = machines.known.find(key_of(request)).hardware.id
        notes = await changes.remove_note(machine, int(given))
        log_change(request, f"note {given} removed", machine)
        return answered({"notes": notes_document(notes) if may_look(request) else []})

    return [
        *needing(Right.LOOK, *keeping_to_scope(scopes.machine, web.get("/v1/hardware/{key}/notes", show_notes))),
        *needing(
            Right.OPERATE,
            *keeping_to_scope(
                scopes.machine,
                web.post("/v1/hardware/{key}/notes", note),
                web.delete("/v1/hardware/{key}/notes/{id}", remove_note),
            ),
        ),
    ]


def _listed(entries: object) -> list[ListedMachine]:
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise Invalid('machines is a list of objects such as {"macs": ["08:00:27:00:00:01"], "name": "node7"}')
    if len(entries) > MOST_LISTED:
        raise TooLarge(f"{len(entries)} machines at once: at most {MOST_LISTED}")
    problems: list[Problem] = []
    found: list[ListedMachine] = []
    for entry in entries:
        known_only(entry, LISTED)
        try:
            found.append(
                listed_machine(
                    macs=texts(entry, "macs"),
                    name=text(entry, "name", ""),
                    address=text(entry, "address", ""),
                    gateway=text(entry, "gateway", ""),
                    routers=texts(entry, "routers"),
                    labels=parse_labels(entry.get("labels")),
                    notes=texts(entry, "notes"),
                    line=number(entry, "line", 0),
                    key=text(entry, "key", ""),
                )
            )
        except Invalid as error:
            problems += error.problems or [Problem(text=str(error))]
    if problems:
        raise Invalid("the list is wrong, so nothing was stored", problems)
    return found


def _notes(hardware: Hardware, remarks_on: RemarksOn) -> Sequence[Problem]:
    """What there is to say of a machine as it is stored."""
    try:
        return remarks_on(hardware).notes
    except Invalid:  # of a part that was stored before, and is not what was asked for
        return ()


def _imported_document(
    imported: Imported, known: KnownMachines, remarks_on: RemarksOn, *, whole: bool
) -> ImportedMachine:
    """Without the `whole` of it nothing is told of a machine that was there but what differs, and not from what.

    `means` is what means the machine and no other, empty: it is not there.
    """
    listed, hardware = imported.listed, imported.hardware
    identity = imported.hardware.id if imported.hardware else ""
    if not whole and imported.outcome is not ImportOutcome.MADE:
        hardware = None
    return {
        "outcome": imported.outcome,
        "mac": listed.macs[0],
        "name": called(hardware) if hardware else listed.name,
        "address": str((address_of(hardware) if hardware else listed.address) or ""),
        "labels": dict(hardware.labels if hardware else listed.labels),
        "id": identity,
        "means": (known.key(hardware) if hardware else identity) if known.has(identity) else "",
        "changes": list(imported.changes) if whole else [each.split(" ", 1)[0] for each in imported.changes],
        "why": imported.why,
        "line": listed.line,
        "key": listed.key,
        "notes": [each.text for each in _notes(hardware, remarks_on)]
        if hardware and imported.outcome in (ImportOutcome.MADE, ImportOutcome.UPDATED)
        else [],
    }


def _change(document: Mapping[str, Any]) -> Change:
    gateway = text(document, "gateway", "")
    keys = texts(document, "ssh_keys")
    labels = document.get("labels")
    if labels is not None and not isinstance(labels, dict):
        raise Invalid('labels is an object such as {"set": {"rack": "r1"}, "remove": ["gpu"]}')
    change = Change(
        name=text(document, "name", ""),
        address=text(document, "address", ""),
        gateway=parse_address(gateway)[0] if gateway else None,
        added_macs=tuple(map(MacAddress, texts(document, "add_macs"))),
        removed_macs=tuple(map(MacAddress, texts(document, "remove_macs"))),
        disks=tuple(map(parse_path, texts(document, "disks"))) if "disks" in document else None,
        ssh_keys=(public_keys("\n".join(keys), "ssh_keys") if keys else ()) if "ssh_keys" in document else None,
        labels=label_change_of(labels) if labels else LabelChange(),
    )
    if change == Change():
        raise Invalid(f"nothing to change: give one of {', '.join(CHANGED[:-1])}")
    return change


def _base(document: object) -> Base:
    if not isinstance(document, dict):
        raise Invalid("base is the updated_at and the labels of the machine that was edited")
    try:
        updated_at = datetime.fromisoformat(text(document, "updated_at"))
    except ValueError:
        raise Invalid("base.updated_at is no time") from None
    return Base(updated_at=updated_at, labels=parse_labels(document.get("labels"), "base.labels"))
