"""`/v1/templates`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any, NamedTuple

from aiohttp import web

from tinkbox.api.access import caller, needing
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import Document, machine_names, time
from tinkbox.api.listing import listed
from tinkbox.api.long_answers import encoded, in_turn, json_object, turn
from tinkbox.api.requests import devices_of, key_of, read_object, takes, text_field
from tinkbox.door.client_presence import WhileThere
from tinkbox.engine.documents.kubernetes import has_objects, take
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.templates import Templates, own_name
from tinkbox.engine.templates.validation import Verdict
from tinkbox.engine.turns import in_slices
from tinkbox.model.access import Right
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware, called, primary
from tinkbox.model.labels import NO_LABELS, Labels, parse_labels
from tinkbox.model.text import counted, natural
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import ListedTemplate, Template


def routes(templates: Templates, machines: Machines) -> list[web.RouteDef]:
    @takes("limit", "sort", several=("label",))
    async def show_list(request: web.Request) -> web.Response:
        """The templates, without their texts."""
        documents = map(listed_document, await templates.all())
        return await listed(request, documents, filters={}, sorts=("name", "created_at", "updated_at"), labels=True)

    async def show_catalogue(_: web.Request) -> web.Response:
        """The templates of the program."""
        return web.json_response([built_in_document(*each) for each in await templates.catalogue()])

    @takes(body=("name", "data", "labels"))
    async def create(request: web.Request) -> web.Response:
        """Store a template, or every `kind: Template` of a file."""
        document = await read_object(request)
        name = text_field(document, "name") if document.get("name") else ""
        given = parse_labels(document.get("labels"))
        answer = await create_documents(templates, name, text_field(document, "data"), caller(request).name, given)
        log_change(request, "template created", *(f"{each['id']}, {each['name']}" for each in answer["created"]))
        return web.json_response(answer, status=201)

    @takes(body=("template", "data", "hardware"))
    async def check(request: web.Request) -> web.Response:
        """Render a template for every machine, or for `hardware`; nothing is stored."""
        document = await read_object(request)
        asked = {name: text_field(document, name) for name in ("template", "data") if document.get(name) is not None}
        if len(asked) != 1:
            raise Invalid("give the data of a template, or the key of a stored template")
        devices = devices_of(document) if document.get("hardware") is not None else None
        async with turn(request):
            known = await _in_order(machines)
        async with WhileThere(request):
            verdicts, notes = await _validated(templates, known, asked, devices, caller(request).name)
        async with turn(request):
            told = await encoded(verdicts, lambda each: _verdict(*each))
        return json_object({}, {"verdicts": told, "notes": await encoded(notes, asdict)})

    async def show(request: web.Request) -> web.Response:
        """A template with its text."""
        return web.json_response(template_document(await templates.get(key_of(request))))

    @takes(body=("name", "data"))
    async def update(request: web.Request) -> web.Response:
        """Change a template's name or its text."""
        document = await read_object(request)
        given = {name: text_field(document, name) for name in ("name", "data") if document.get(name) is not None}
        if not given:
            raise Invalid("nothing to update: give a name, data, or both")
        if "data" in given:
            given["data"] = await template_text(templates, given["data"], caller(request).name)
        template_id = await templates.update(key_of(request), **given, who=caller(request).name)
        log_change(request, "template changed", template_id)
        return web.json_response({"id": template_id})

    async def delete(request: web.Request) -> web.Response:
        """Forget a template."""
        template_id = await templates.delete(key_of(request))
        log_change(request, "template deleted", template_id)
        return web.json_response({"id": template_id})

    return [
        *needing(
            Right.LOOK,
            *in_turn(web.get("/v1/templates", show_list)),
            web.get("/v1/template-catalogue", show_catalogue),
            web.post("/v1/templates/validate", check),
            web.get("/v1/templates/{key}", show),
        ),
        *needing(
            Right.OPERATE,
            web.post("/v1/templates", create),
            web.put("/v1/templates/{key}", update),
            web.delete("/v1/templates/{key}", delete),
        ),
    ]


def listed_document(stored: ListedTemplate) -> Document:
    """A template in the list of all, without its text."""
    return {
        "id": stored.id,
        "name": stored.name,
        "labels": dict(stored.labels),
        "created_at": time(stored.created_at),
        "updated_at": time(stored.updated_at),
    }


def template_document(found: Template | BuiltIn) -> Document:
    """A template of the program has no dates."""
    if isinstance(found, BuiltIn):
        dates = {"created_at": None, "updated_at": None}
        return {"id": found.id, "name": found.name, "labels": {}, **dates, "data": found.data}
    return {**listed_document(found), "data": found.data}


def built_in_document(found: BuiltIn, stored: str) -> Document:
    """A template of the program; `stored` is the id of one that is used in its place."""
    return {"name": found.name, "about": found.about, "stored": stored, "data": found.data}


async def create_documents(templates: Templates, name: str, text: str, who: str, given: Labels = NO_LABELS) -> Document:
    """Store a template under a name, its own where that is empty, or every `kind: Template` of a file under its own, with its labels and those `given`."""
    notes: Sequence[Problem] = ()
    labels: Mapping[str, Labels] = {}
    if has_objects(text):
        read, notes = await templates.read(text, _read_templates, who)
        if name and len(read) > 1:
            raise Invalid(f"{len(read)} templates cannot have one name: leave -n out")
        texts = {name or each.name: each.text for each in read}
        labels = {name or each.name: each.labels for each in read}
    else:
        texts = {name or own_name(text): text}
    labels = {each: {**labels.get(each, {}), **given} for each in texts}
    created = await templates.create_all(texts, who, labels)
    listed = [{"id": template_id, "name": each} for each, template_id in zip(texts, created, strict=True)]
    return {"id": created[0], "created": listed, "notes": [asdict(each) for each in notes]}


async def template_text(templates: Templates, text: str, who: str) -> str:
    """The text of the one template that is meant, out of a `kind: Template` when it is in one."""
    if not has_objects(text):
        return text
    read, _ = await templates.read(text, _read_templates, who)
    if len(read) > 1:
        names = ", ".join(each.name for each in read)
        raise Invalid(f"there are {len(read)} templates in it, and one is asked for: {names}")
    return read[0].text


async def _in_order(machines: Machines) -> list[Hardware]:
    """The machines in the order in which people sort what they are called."""

    def place(record: MachineRecord) -> tuple[Any, Hardware]:
        return natural(called(record.hardware)), record.hardware

    return [each for _, each in sorted(await in_slices(place, machines.known.all()), key=itemgetter(0))]


async def _validated(
    templates: Templates,
    known: Sequence[Hardware],
    document: Mapping[str, Any],
    devices: Mapping[str, str] | None,
    who: str,
) -> tuple[list[tuple[str, Verdict]], Sequence[Problem]]:
    """Render templates for machines without storing anything: `data` is a text, `template` the key of a stored one.

    Verdicts are with the names of their templates, empty where a text has none; beside them are notes of what was read.
    """
    notes: Sequence[Problem] = ()
    if document.get("template") is not None:
        stored = await templates.get(str(document["template"]))
        texts = {stored.name: stored.data}
    else:
        text = str(document.get("data") or "")
        texts = {"": text}
        if has_objects(text):
            read, notes = await templates.read(text, _read_templates, who)
            texts = {each.name: each.text for each in read}

    async def judged(name: str, text: str) -> Sequence[Verdict]:
        try:
            return await templates.validate(text, known, devices, who)
        except Invalid as error:
            raise Invalid(f"{name}: {error}" if name else str(error), error.problems) from None

    return [(name, each) for name, text in texts.items() for each in await judged(name, text)], notes


class _ReadTemplate(NamedTuple):
    """A `kind: Template`."""

    name: str
    text: str
    labels: Labels


def _read_templates(text: str) -> tuple[list[_ReadTemplate], tuple[Problem, ...]]:
    taken = take(text, "Template")
    problems = [
        each.problem("spec.data", "the text is required") for each in taken.objects if not each.spec.get("data")
    ]
    names = [each.name for each in taken.objects]
    problems += [
        each.problem("metadata.name", f"a second Template {each.name}")
        for place, each in enumerate(taken.objects)
        if each.name in names[:place]
    ]
    labels: dict[str, Labels] = {}
    for each in taken.objects:
        try:
            labels[each.name] = each.labels
        except Invalid as refusal:
            problems += [each.problem(problem.key, problem.text) for problem in refusal.problems]
    if problems:
        raise Invalid(f"invalid Template: {counted(len(problems), 'problem')}", problems)
    return [_ReadTemplate(each.name, each.spec["data"], labels[each.name]) for each in taken.objects], taken.notes


def _verdict(template: str, verdict: Verdict) -> Document:
    machine = verdict.machine
    names = [each for each in machine_names(machine) if each] if machine else []
    return {
        "template": template,
        "id": machine.id if machine else "",
        "machine": next(iter(names), primary(machine).mac if machine else ""),
        "devices": dict(verdict.devices),
        "problems": [asdict(each) for each in verdict.problems],
    }
