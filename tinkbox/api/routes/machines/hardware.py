"""`/v1/hardware`: registered machines.  KEY is an id, a unique beginning of one, a MAC, an address or a hostname."""

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, Literal, NotRequired, Required, TypedDict

from aiohttp import web

from tinkbox.api.access import by_itself, caller, keeping_to_scope, may_look, may_read_secrets, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.auditing import changed, record_reading, recorded_reading
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document, Identity, NamedIdentity, ProblemFields, Time, time
from tinkbox.api.listing import Query, Reads, selected
from tinkbox.api.long_answers import in_turn, json_list
from tinkbox.api.parameters import LIMIT, Parameter, sort_by
from tinkbox.api.requests import MAX_DOCUMENT, TO_CHANGE, key_of, read_object, says_yes, takes, text_field, to_change
from tinkbox.api.routes.machines import discovered
from tinkbox.api.routes.machines.lost_histories import LostDocument, lost_document
from tinkbox.api.scopes import Scopes
from tinkbox.door.requests.bodies import body_of
from tinkbox.engine.discovery.discovery import Discovery
from tinkbox.engine.documents.kubernetes import (
    RemarksOn,
    has_objects,
    is_one_object,
    slips_of_2020,
    take_hardware,
    with_lines,
)
from tinkbox.engine.machines.additions import Additions
from tinkbox.engine.machines.changes import MachineChanges
from tinkbox.engine.machines.hardware_document import Added
from tinkbox.engine.machines.machines import Failure, Machines, MachineStatus
from tinkbox.engine.workflows.departures import Departures
from tinkbox.engine.workflows.journals import LostWork
from tinkbox.engine.workflows.lost_histories import LostHistories
from tinkbox.model.access import Right
from tinkbox.model.boot import Stage
from tinkbox.model.disks.selection import parse_path
from tinkbox.model.documents.hardware import labelled_document, parse_hardware
from tinkbox.model.documents.secret_fields import has_secrets, masked
from tinkbox.model.enrolment import Enrolment, Tls
from tinkbox.model.errors import Invalid, Problem, Remarks, Unavailable
from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot
from tinkbox.model.hardware import Hardware, MacAddress, address_of, mac_of, name_of
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.labels import parse_labels
from tinkbox.model.machine_state import MachineState
from tinkbox.model.notes import Note, Retirement
from tinkbox.model.ssh_keys import public_keys
from tinkbox.model.text import counted, natural
from tinkbox.wire.list_total import HEADER
from tinkbox.wire.messages.json_fields import text, texts
from tinkbox.wire.messages.worker import Credential, TlsDoor

FILTERS: Reads[MachineStatus, Collection[str]] = {"state": lambda status: [status.state]}
# What a list is sorted by.
SORTS: Reads[MachineStatus, Any] = {
    "name": lambda status: natural(name_of(status.hardware)),
    "ip": lambda status: address_of(status.hardware),
    "state": lambda status: status.state,
    "created_at": lambda status: status.created_at,
    "updated_at": lambda status: status.updated_at,
    "stage_at": lambda status: status.stage_at,
    "since": lambda status: status.retired.at if status.retired else status.stage_at or status.created_at,
    "last_contact": lambda status: status.last_contact,
}


class MachineWish(TypedDict, total=False):
    mac: Required[str]
    name: str
    address: str
    gateway: str
    interface_macs: list[str]
    ssh_keys: list[str]
    disks: list[str]
    labels: dict[str, str]


class TpmWish(TypedDict):
    sha256: str


class InterfaceDocument(TypedDict):
    mac: str
    address: str
    netmask: str
    gateway: str
    hostname: str


class TpmDocument(TypedDict):
    accepted: str
    shown: str


class HttpsDocument(TypedDict):
    tls: Tls
    authority: str
    at: Time | None


class RetiredDocument(TypedDict):
    at: Time | None
    who: str
    reason: str


class HardwareKey(NamedIdentity):
    """Which machine it is."""

    mac: str


class HardwareDocument(HardwareKey):
    key: str
    state: MachineState
    failure: Annotated[Document, Failure] | None
    labels: dict[str, str]
    interfaces: list[InterfaceDocument]
    ticket: bool
    installed: bool
    boots: int
    parked: str
    stage: Stage | Literal[""]
    stage_at: Time | None
    stalled: str
    tpm: TpmDocument
    https: HttpsDocument
    last_contact: Time | None
    created_at: Time | None
    updated_at: Time | None
    retired: RetiredDocument | None
    document: Document


# The first for those who may look.
ChangedHardware = HardwareDocument | HardwareKey


class HabitsDocument(TypedDict):
    secure_boot: bool
    local_boot: LocalBoot | Literal[""]
    proven: bool


class NoteDocument(TypedDict):
    number: int
    at: Time | None
    who: str
    text: str


class LostHistoryField(TypedDict, total=False):
    lost_history: LostDocument


class ShownHardware(HardwareDocument, LostHistoryField):
    habits: HabitsDocument
    inventory: Document | None
    notes: list[NoteDocument]


class AddedHardware(HardwareDocument):
    notes: list[ProblemFields]


class PushedDocument(Identity):
    pushed: list[HardwareKey]
    notes: list[ProblemFields]


class CredentialDocument(TypedDict):
    server: str
    registry: str
    worker: str
    token: str
    authority: NotRequired[str]
    http_server: NotRequired[str]


def routes(
    machines: Machines,
    additions: Additions,
    changes: MachineChanges,
    departures: Departures,
    discovery: Discovery,
    habits_of: Callable[[Hardware], FirmwareTraits],
    lost_histories: LostHistories,
    remarks_on: RemarksOn,
    server: str,
    registry: str,
    scopes: Scopes,
    tls: Callable[[], TlsDoor | None],
) -> list[web.RouteDef]:
    """`habits_of` is what was learned of a machine's firmware, `remarks_on` what there is to say of a document.

    `server` and `registry` are how machines reach the node door, `tls` is how they do over TLS.
    """

    @takes(LIMIT, sort_by(SORTS), several=(Parameter("state", MachineState), "label"))
    async def show_list(request: web.Request) -> Json[list[HardwareDocument]]:
        """The machines."""
        query = Query(request)
        # Those out of service are in the list of who asks for them.
        retired = MachineState.RETIRED in query.words("state", MachineState)
        wanted = [
            each
            for each in await machines.listed(query.selector(), caller(request).scope)
            if retired or each.retired is None
        ]
        shown, total = await selected(query, wanted, FILTERS, SORTS)
        whole = may_read_secrets(request)
        return await json_list(shown, lambda each: hardware_document(each, secrets=whole), {HEADER: str(total)})

    @takes(Parameter("strict", bool), body=None)
    async def push(request: web.Request) -> Json[PushedDocument]:
        """Register or change the machines of documents, in the format of 2020 or of Kubernetes; `strict` refuses what would be ignored."""
        strict = says_yes(request, "strict")
        answer = await push_documents(machines, await body_of(request, MAX_DOCUMENT), remarks_on, strict=strict)
        log_change(request, "hardware pushed", *(each["id"] for each in answer["pushed"]))
        return answered(answer)

    @takes(body=MachineWish)
    async def add(request: web.Request) -> Json[AddedHardware]:
        """Register a machine in a person's words."""
        document = await read_object(request)
        hardware = await additions.add(
            added_from_document(document), text(document, "address", ""), text(document, "gateway", "")
        )
        log_change(request, "hardware added", hardware.id)
        made = hardware_document(await machines.get(hardware.id), secrets=may_read_secrets(request))
        notes = [asdict(replace(each, key="")) for each in remarks_on(hardware).notes]
        return answered({**made, "notes": notes}, status=201)

    @takes(TO_CHANGE)
    async def show(request: web.Request) -> Json[ShownHardware]:
        """A machine with its inventory and its notes; `to_change=delete` and `to_change=retire` are refused as these are without force."""
        match to_change(request):
            case ToChange.DELETE:
                await departures.refuse_deletion(key_of(request))
            case ToChange.RETIRE:
                await departures.refuse_retirement(key_of(request))
        status = await machines.standing(key_of(request), caller(request).scope)
        told = discovered.inventory(await discovery.inventory(status.hardware.id))
        learned = habits_document(habits_of(status.hardware))
        lost = (await lost_histories.by_machine()).get(status.hardware.id)
        told_lost = await scopes.lost_for(request, [lost] if lost else [])
        whole = await _reads_secrets(request, status.hardware)
        return answered(
            {
                **hardware_document(status, secrets=whole),
                "habits": learned,
                "inventory": told,
                "notes": notes_document(await changes.notes(status.hardware.id)),
                **_lost_history(told_lost),
            }
        )

    async def show_workflows(request: web.Request) -> Json[list[Identity]]:
        """The workflows that are not over and need the machine."""
        unfinished = await machines.needed_by(key_of(request), caller(request).scope)
        return answered([{"id": each} for each in unfinished])

    @recorded_reading
    async def credential(request: web.Request) -> Json[CredentialDocument]:
        """Make what a worker that is set up by hand needs; it counts until `POST` makes another."""
        person = caller(request)
        made = await machines.credential(key_of(request), server, registry, person.name, person.scope)
        log_change(request, "credential given", made.worker)
        return answered(credential_document(made, tls()))

    async def rotate(request: web.Request) -> Json[CredentialDocument]:
        """The same, and no earlier one counts any more."""
        person = caller(request)
        made = await machines.rotate(key_of(request), server, registry, person.name, person.scope)
        log_change(request, "credential rotated", made.worker)
        return answered(credential_document(made, tls()))

    @takes(body=TpmWish)
    async def accept_tpm(request: web.Request) -> Json[ChangedHardware]:
        """Accept the TPM of this fingerprint."""
        fingerprint, person = text_field(await read_object(request), "sha256"), caller(request)
        before = await machines.standing(key_of(request))
        status = await machines.accept_tpm(key_of(request), fingerprint, person.name, person.scope)
        _tell_tpm(request, before, status)
        log_change(request, "TPM accepted", status.hardware.id)
        return answered(changed_document(request, status))

    async def forget_tpm(request: web.Request) -> Json[ChangedHardware]:
        """Forget the machine's TPM."""
        person = caller(request)
        before = await machines.standing(key_of(request))
        status = await machines.accept_tpm(key_of(request), "", person.name, person.scope)
        _tell_tpm(request, before, status)
        log_change(request, "TPM forgotten", status.hardware.id)
        return answered(changed_document(request, status))

    return [
        *needing(
            Right.LOOK,
            *in_turn(*keeping_to_scope(by_itself, web.get("/v1/hardware", show_list))),
            *keeping_to_scope(
                scopes.machine,
                web.get("/v1/hardware/{key}", show),
                web.get("/v1/hardware/{key}/workflows", show_workflows),
            ),
        ),
        *needing(
            Right.OPERATE,
            web.post("/v1/hardware", push),
            web.post("/v1/hardware/add", add),
            *keeping_to_scope(
                scopes.machine,
                web.get("/v1/hardware/{key}/credential", credential),
                web.post("/v1/hardware/{key}/credential", rotate),
                web.put("/v1/hardware/{key}/tpm", accept_tpm),
                web.delete("/v1/hardware/{key}/tpm", forget_tpm),
            ),
        ),
        *_ways_to_boot(machines, scopes),
    ]


def _ways_to_boot(machines: Machines, scopes: Scopes) -> list[web.RouteDef]:
    async def forget_https(request: web.Request) -> Json[ChangedHardware]:
        """Let the machine boot by plain HTTP again."""
        person = caller(request)
        status = await machines.forget_https(key_of(request), person.name, person.scope)
        log_change(request, "HTTPS forgotten", status.hardware.id)
        return answered(changed_document(request, status))

    forget = web.delete("/v1/hardware/{key}/https", forget_https)
    return needing(Right.OPERATE, *keeping_to_scope(scopes.machine, forget))


def added_from_document(document: Document) -> Added:
    """A machine in a person's words; raises Invalid."""
    cards = [text(document, "mac"), *texts(document, "interface_macs")]
    keys = texts(document, "ssh_keys")
    return Added(
        macs=tuple(dict.fromkeys(map(MacAddress, cards))),
        name=text(document, "name", ""),
        ssh_keys=public_keys("\n".join(keys), "ssh_keys") if keys else (),
        disks=tuple(map(parse_path, texts(document, "disks"))),
        labels=parse_labels(document.get("labels")),
    )


def credential_document(plain: Credential, door: TlsDoor | None) -> CredentialDocument:
    """What was made for the node door, for its TLS where there is that."""
    made = plain if door is None else door.credential(plain)
    document: CredentialDocument = {
        "server": made.server,
        "registry": made.registry,
        "worker": made.worker,
        "token": made.token,
    }
    if made.authority:
        document |= {"authority": made.authority, "http_server": made.http_server}
    return document


def _tell_tpm(request: web.Request, before: MachineStatus, after: MachineStatus) -> None:
    """Tell the audit the fingerprints of the TPM that the machine had to show and has to show."""
    if before.tpm_accepted != after.tpm_accepted:
        changed(request, "tpm", after.hardware.id, before.tpm_accepted, after.tpm_accepted)


async def _reads_secrets(request: web.Request, machine: Hardware) -> bool:
    """Whether who asks is shown the whole document, which is recorded where it has anything secret.

    While nothing can be recorded, as on a full disk, the rest of it is shown: people look at machines then.
    """
    if not may_read_secrets(request):
        return False
    if has_secrets(machine.document):
        try:
            await record_reading(request, "secret fields read", machine.id)
        except Unavailable:
            return False
    return True


def hardware_document(status: MachineStatus, *, secrets: bool) -> HardwareDocument:
    """A machine's record; without `secrets` its document is masked."""
    document = labelled_document(status.hardware)
    interfaces: list[InterfaceDocument] = [
        {
            "mac": each.mac,
            "address": str(each.address or ""),
            "netmask": str(each.netmask or ""),
            "gateway": str(each.gateway or ""),
            "hostname": each.hostname,
        }
        for each in status.hardware.interfaces
    ]
    interfaces += [
        {"mac": "", "address": str(each.address or ""), "netmask": "", "gateway": "", "hostname": each.hostname}
        for each in status.hardware.without_mac
    ]
    return {
        "id": status.hardware.id,
        "name": name_of(status.hardware),
        "key": status.key,
        "state": status.state,
        "failure": asdict(status.failure) if status.failure else None,
        "labels": dict(status.hardware.labels),
        "mac": mac_of(status.hardware),
        "interfaces": interfaces,
        "ticket": status.ticket,
        "installed": status.installed,
        "boots": status.boots,
        "parked": status.kept_from_booting,
        "stage": status.stage or "",
        "stage_at": time(status.stage_at),
        "stalled": status.stalled,
        "tpm": {"accepted": status.tpm_accepted, "shown": status.tpm},
        "https": https_document(status.enrolment),
        "last_contact": time(status.last_contact),
        "created_at": time(status.created_at),
        "updated_at": time(status.updated_at),
        "retired": retired_document(status.retired),
        "document": document if secrets else masked(document),
    }


def https_document(enrolment: Enrolment | None) -> HttpsDocument:
    if enrolment is None:
        return {"tls": Tls.PLAIN, "authority": "", "at": None}
    return {"tls": Tls.ENROLLED, "authority": enrolment.authority, "at": time(enrolment.at)}


def _lost_history(lost: Sequence[LostWork]) -> LostHistoryField:
    return {"lost_history": lost_document(lost[0])} if lost else {}


def changed_document(request: web.Request, status: MachineStatus) -> HardwareKey:
    """What a change of a machine is answered with: its record for those who may look, else which one it is."""
    if may_look(request):
        return hardware_document(status, secrets=may_read_secrets(request))
    return {"id": status.hardware.id, "name": name_of(status.hardware), "mac": mac_of(status.hardware)}


def habits_document(learned: FirmwareTraits) -> HabitsDocument:
    return {
        "secure_boot": learned.secure_boot,
        "local_boot": learned.local_boot or "",
        "proven": learned.proven,
    }


async def push_documents(
    machines: Machines, body: bytes, remarks_on: RemarksOn, *, strict: bool = False
) -> PushedDocument:
    """Store every machine of a file."""
    pushed, notes = await read_hardware(body, remarks_on, strict=strict)
    await machines.push(*pushed)
    return {
        "id": pushed[0].id,
        "pushed": [{"id": each.id, "name": name_of(each), "mac": mac_of(each)} for each in pushed],
        "notes": [asdict(each) for each in notes],
    }


async def read_hardware(
    body: bytes, remarks_on: RemarksOn, *, strict: bool = False
) -> tuple[Sequence[Hardware], Sequence[Problem]]:
    """Every machine of a file, of 2020's form or a `kind: Hardware`, and what there is to say.

    Raises Invalid, `strict` also for what would be ignored.
    """
    return await asyncio.to_thread(partial(_read, strict=strict), body, remarks_on)


def _read(body: bytes, remarks_on: RemarksOn, *, strict: bool) -> tuple[Sequence[Hardware], Sequence[Problem]]:
    written = body.decode(json.detect_encoding(body), errors="replace")
    if is_one_object(written) and not has_objects(written):
        return _read_2020(body, written, remarks_on, strict=strict)
    return take_hardware(written, remarks_on, strict=strict)


def _read_2020(
    body: bytes, written: str, remarks_on: RemarksOn, *, strict: bool
) -> tuple[Sequence[Hardware], Sequence[Problem]]:
    hardware = parse_hardware(body)
    try:
        told = Remarks(ignored=tuple(slips_of_2020(hardware.document))) + remarks_on(hardware)
    except Invalid as error:
        raise Invalid(str(error), with_lines(written, error.problems)) from None
    if strict and told.ignored:
        found = with_lines(written, told.ignored)
        raise Invalid(f"invalid Hardware: {counted(len(found), 'problem')}", found)
    return [hardware], with_lines(written, told.all) if told.all else []


def retired_document(retired: Retirement | None) -> RetiredDocument | None:
    return {"at": time(retired.at), "who": retired.who, "reason": retired.reason} if retired else None


def notes_document(notes: Sequence[Note]) -> list[NoteDocument]:
    return [{"number": each.number, "at": time(each.at), "who": each.who, "text": each.text} for each in notes]
