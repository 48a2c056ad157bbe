"""`/v1/doctor`: what the doctor says.

Of everything there is, or with `?machine=KEY` of one machine (a MAC, known or not, or a key of known hardware), with
`?workflow=KEY` of one workflow, and with `?key=KEY` of whichever of both the key means.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from aiohttp import web

from tinkbox.api.access import by_itself, caller, keeping_to_scope, needing
from tinkbox.api.answers import Json
from tinkbox.api.json_values import Time, time
from tinkbox.api.long_answers import encoded, json_object, turn, unless_gone
from tinkbox.api.parameters import DOCTOR_KEYS, LISTEN
from tinkbox.api.requests import choice, takes
from tinkbox.api.scopes import Scopes
from tinkbox.engine.doctor.examiner import Examination, Examiner
from tinkbox.engine.doctor.rounds import identified
from tinkbox.model.access import Caller, Right
from tinkbox.model.condition_events import Identity
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.errors import Invalid
from tinkbox.model.labels import Selector
from tinkbox.wire.dhcp.other_server_config import ForeignLines


class DiagnosisDocument(TypedDict):
    """`machine` is a MAC, or empty for the appliance or a workflow; `workflow` is an id, or empty.

    `name` is what people call the machine, empty where it has no name.  `since` is when it was found first, null where it was found just now.  `subject` tells several of one rule and machine apart.
    """

    rule: str
    gravity: Gravity
    machine: str
    name: str
    workflow: str
    subject: str
    since: Time | None
    cause: str
    evidence: list[str]
    remedy: str


class ServerDocument(TypedDict):
    server: str
    where: str
    lines: list[str]


class UnexaminedDocument(TypedDict):
    what: str
    why: str


class ExaminationDocument(TypedDict):
    """`machine` is the key that was asked for, empty where it means none; `workflow` the id of the workflow that was asked for.

    `appliance` are the faults of the appliance itself, where one of both was asked for.
    """

    at: Time
    mode: str
    machine: str
    workflow: str
    machines: int
    workflows: int
    unasked: str
    examined: list[str]
    unexamined: list[UnexaminedDocument]
    diagnoses: list[DiagnosisDocument]
    appliance: list[DiagnosisDocument]
    servers: list[ServerDocument]


def routes(
    examiner: Examiner,
    foreign: Sequence[ForeignLines],
    scopes: Scopes,
    conditions: Callable[[], Sequence[Diagnosis]] = tuple,
    unconfirmed: Callable[[], Mapping[Identity, Diagnosis]] = dict,
) -> list[web.RouteDef]:
    """`foreign` are the lines for other DHCP servers, empty where the addresses come from here.

    `conditions` are what the doctor's rounds found, with since when it lasts; those that are `unconfirmed` lasted when the
    appliance stopped, and could not be examined yet.
    """

    @takes(*DOCTOR_KEYS, LISTEN)
    async def doctor(request: web.Request) -> Json[ExaminationDocument]:
        """What the doctor says of everything there is, or of one `machine`, one `workflow`, or whichever of both a `key` means."""
        given = {each.name: key for each in DOCTOR_KEYS if (key := request.query.get(each.name, ""))}
        if len(given) > 1:
            raise Invalid(f"{' and '.join(given)} are both there: name one patient")
        (what, key), *_ = [*given.items(), ("", "")]
        listens = choice(request, LISTEN, "1") == "1"
        person = caller(request)
        async with unless_gone(request, changes=False):
            if person.scope is not None:
                found = await _examined_within(examiner, scopes, person, person.scope, what, key)
            else:
                found = await _examined(examiner, what, key, person.name, listens=listens)
        before = {} if key or person.scope is not None else unconfirmed()
        since = {identity: each.since for identity, each in identified(conditions()).items()}

        def made(one: tuple[Identity, Diagnosis]) -> DiagnosisDocument:
            identity, each = one
            return {**diagnosis(each), "name": examiner.name_of(each.machine), "since": time(since.get(identity))}

        async with turn(request):
            both = {**before, **identified(found.diagnoses)}
            diagnoses = await encoded(sorted(both.items(), key=lambda each: each[1].gravity.rank), made)
        return json_object(
            {
                "at": found.at.isoformat(),
                "mode": found.mode,
                "machine": "" if found.workflow else key,
                "workflow": found.workflow,
                "machines": found.machines,
                "workflows": found.workflows,
                "unasked": found.unasked,
                "examined": list(found.examined),
                "unexamined": [{"what": what, "why": why} for what, why in found.unexamined],
                "appliance": [made(each) for each in identified(found.appliance).items()],
                "servers": [] if key or person.scope is not None else [server(each) for each in foreign],
            },
            {"diagnoses": diagnoses},
        )

    return needing(Right.LOOK, *keeping_to_scope(by_itself, web.get("/v1/doctor", doctor)))


async def _examined_within(
    examiner: Examiner, scopes: Scopes, person: Caller, scope: Selector, what: str, key: str
) -> Examination:
    machine, workflow = "", ""
    if what == "machine":
        machine = scopes.machine_of(person, key)
    elif what == "workflow":
        workflow = await scopes.workflow_of(person, key)
    elif key:
        machine, workflow = await scopes.either_of(person, key)
    return await examiner.examine_within(scope, person.name, machine=machine, workflow=workflow)


async def _examined(examiner: Examiner, what: str, key: str, who: str, *, listens: bool) -> Examination:
    if what == "workflow":
        return await examiner.examine_workflow(key, who, listens=listens)
    if what == "key":
        return await examiner.examine_either(key, who, listens=listens)
    return await examiner.examine(key, who, listens=listens)


def diagnosis(found: Diagnosis) -> DiagnosisDocument:
    return {
        "rule": found.rule,
        "gravity": found.gravity,
        "machine": found.machine,
        "name": "",
        "workflow": found.workflow,
        "subject": found.subject,
        "since": time(found.since),
        "cause": found.cause,
        "evidence": list(found.evidence),
        "remedy": found.remedy,
    }


def server(foreign: ForeignLines) -> ServerDocument:
    return {"server": foreign.server, "where": foreign.where, "lines": list(foreign.lines)}
