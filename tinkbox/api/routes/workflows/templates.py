"""`/v1/templates`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import chain
from operator import itemgetter
from typing import Any, NotRequired, Required, TypedDict

from aiohttp import web

from tinkbox.api.access import by_itself, caller, keeping_to_scope, may_read_secrets, needing
from tinkbox.api.answers import Json, answered
from tinkbox.api.changes import log_change
from tinkbox.api.json_values import (
    CreationResult,
    Identity,
    NamedIdentity,
    ProblemFields,
    Time,
    creation_result,
    machine_names,
    time,
)
from tinkbox.api.listing import listed
from tinkbox.api.long_answers import encoded, in_turn, json_object, turn
from tinkbox.api.parameters import LIMIT, sort_by
from tinkbox.api.requests import DevicesWish, devices_of, key_of, read_object, takes, text_field
from tinkbox.door.connections.client_presence import WhileThere
from tinkbox.engine.applying.reading import TemplateKey
from tinkbox.engine.documents.definitions import refuse_ignored
from tinkbox.engine.documents.kubernetes import has_objects, take
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.templates import (
    NewTemplate,
    Placing,
    StoredTemplate,
    Templates,
    as_it_is,
    of_template,
    own_name,
    placed_refusal,
    refuse_each,
    titles,
    told_namespace,
)
from tinkbox.engine.templates.validation import Verdict
from tinkbox.engine.turns import in_slices
from tinkbox.engine.workflows.missing_images import told_elsewhere
from tinkbox.engine.workflows.shortages import Shortages
from tinkbox.model.access import Right
from tinkbox.model.devices import Devices
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.documents.secret_fields import masked_machine
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.hardware import Hardware, called, mac_of
from tinkbox.model.images.standing import WantedImage
from tinkbox.model.labels import NO_LABELS, Labels, parse_labels
from tinkbox.model.text import counted, natural
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import ListedTemplate, Template
from tinkbox.wire.messages.json_fields import flag


class TemplateWish(TypedDict, total=False):
    data: Required[str]
    name: str | None
    labels: dict[str, str] | None
    strict: bool


class ValidationWish(TypedDict, total=False):
    """`template` is a stored one, `data` the text of one."""

    template: str | None
    data: str | None
    hardware: DevicesWish | None
    require_images: bool
    strict: bool


class TemplateChange(TypedDict, total=False):
    name: str | None
    data: str | None
    strict: bool


class ListedTemplateDocument(NamedIdentity):
    """`namespace` is that of its document, empty: it was made by hand, or by an earlier release."""

    namespace: str
    labels: dict[str, str]
    created_at: Time | None
    updated_at: Time | None


class TemplateDocument(ListedTemplateDocument):
    data: str


class BuiltInDocument(TypedDict):
    name: str
    about: str
    stored: str
    data: str


class StoredDocument(Identity):
    """`results` are of every template that was given, in their order, `created` those that are new."""

    results: list[CreationResult]
    created: list[NamedIdentity]
    notes: list[ProblemFields]


class ChangedTemplate(Identity):
    notes: NotRequired[list[ProblemFields]]


class VerdictOnTemplate(TypedDict):
    """Without problems `devices` are what the template was rendered with.

    `namespace` is that of the template's document, empty: it has none.
    """

    template: str
    namespace: str
    id: str
    machine: str
    devices: dict[str, Any]
    problems: list[ProblemFields]


class VerdictsDocument(TypedDict):
    verdicts: list[VerdictOnTemplate]
    notes: list[ProblemFields]


def routes(templates: Templates, machines: Machines, shortages: Shortages) -> list[web.RouteDef]:
    @takes(LIMIT, sort_by(("name", "created_at", "updated_at")), several=("label",))
    async def show_list(request: web.Request) -> Json[list[ListedTemplateDocument]]:
        """The templates, without their texts."""
        documents = map(listed_document, await templates.all())
        return await listed(request, documents, filters={}, labels=True)

    async def show_catalogue(_: web.Request) -> Json[list[BuiltInDocument]]:
        """The templates of the program."""
        return answered([built_in_document(*each) for each in await templates.catalogue()])

    @takes(body=TemplateWish)
    async def create(request: web.Request) -> Json[StoredDocument]:
        """Store a template, or every `kind: Template` of a file; `strict` refuses what would be ignored."""
        document = await read_object(request)
        name = text_field(document, "name") if document.get("name") else ""
        given = parse_labels(document.get("labels"))
        text, who = text_field(document, "data"), caller(request).name
        answer = await create_documents(templates, name, text, who, given, strict=flag(document, "strict"))
        log_change(request, "template created", *(f"{each['id']}, {each['name']}" for each in answer["created"]))
        return answered(answer, status=201 if answer["created"] else 200)

    @takes(body=ValidationWish)
    async def check(request: web.Request) -> Json[VerdictsDocument]:
        """Render a template for every machine, or for `hardware`; nothing is stored.

        An image that is missing or damaged is a note, or with `require_images` a problem.  So is what is ignored,
        with `strict`.
        """
        document = await read_object(request)
        asked = {name: text_field(document, name) for name in ("template", "data") if document.get(name) is not None}
        if len(asked) != 1:
            raise Invalid("give the data of a template, or the key of a stored template")
        devices = devices_of(document) if document.get("hardware") is not None else None
        async with turn(request):
            known = await _in_order(machines, secrets=may_read_secrets(request))
        async with WhileThere(request):
            verdicts, notes = await _validated(
                templates, known, asked, devices, caller(request).name, strict=flag(document, "strict")
            )
        async with turn(request):
            images = dict.fromkeys(image for _, verdict in verdicts for image in verdict.images)
            findings = await in_slices(shortages.image, images)
            missing = {
                image: Problem(text=found.problem)
                for image, found in zip(images, findings, strict=True)
                if found.problem
            }
            notes = [*notes, *(Problem(text=each) for each in told_elsewhere(findings))]
            if flag(document, "require_images"):
                verdicts = await in_slices(lambda each: (each[0], _lacking(each[1], missing)), verdicts)
            else:
                notes = [*notes, *missing.values()]
            told = await encoded(verdicts, lambda each: _verdict(*each))
        return json_object({}, {"verdicts": told, "notes": await encoded(notes, asdict)})

    async def show(request: web.Request) -> Json[TemplateDocument]:
        """A template with its text."""
        return answered(template_document(await templates.get(key_of(request))))

    @takes(body=TemplateChange)
    async def update(request: web.Request) -> Json[ChangedTemplate]:
        """Change a template's name or its text; `strict` refuses what would be ignored."""
        document = await read_object(request)
        given = {name: text_field(document, name) for name in ("name", "data") if document.get(name) is not None}
        if not given:
            raise Invalid("nothing to update: give a name, data, or both")
        who, strict = caller(request).name, flag(document, "strict")
        notes: Sequence[Problem] = ()
        placed: Placing = as_it_is
        if "data" in given:
            template = await templates.get(key_of(request))
            name = given.get("name", template.name)
            new, notes = await template_text(templates, given["data"], who, template, name, strict=strict)
            given["data"], placed = new.data, new.placed
        stored = await templates.update(key_of(request), **given, who=who, placed=placed, strict=strict)
        log_change(request, "template changed", stored.id)
        return answered(_changed(stored.id, (*notes, *stored.ignored, *stored.notes)))

    async def delete(request: web.Request) -> Json[ChangedTemplate]:
        """Forget a template."""
        deleted = await templates.delete(key_of(request))
        log_change(request, "template deleted", deleted.id)
        return answered(_changed(deleted.id, deleted.notes))

    return [
        *needing(
            Right.LOOK,
            *in_turn(*keeping_to_scope(by_itself, web.get("/v1/templates", show_list))),
            *keeping_to_scope(
                by_itself,
                web.get("/v1/template-catalogue", show_catalogue),
                web.get("/v1/templates/{key}", show),
            ),
            web.post("/v1/templates/validate", check),
        ),
        *needing(
            Right.OPERATE,
            web.post("/v1/templates", create),
            web.put("/v1/templates/{key}", update),
            web.delete("/v1/templates/{key}", delete),
        ),
    ]


def _changed(template_id: str, notes: Sequence[Problem]) -> ChangedTemplate:
    return {"id": template_id, "notes": [asdict(each) for each in notes]} if notes else {"id": template_id}


def listed_document(stored: ListedTemplate) -> ListedTemplateDocument:
    """A template in the list of all, without its text."""
    return {
        "id": stored.id,
        "name": stored.name,
        "namespace": stored.namespace,
        "labels": dict(stored.labels),
        "created_at": time(stored.created_at),
        "updated_at": time(stored.updated_at),
    }


def template_document(found: Template | BuiltIn) -> TemplateDocument:
    """A template of the program has no dates."""
    if isinstance(found, BuiltIn):
        head: ListedTemplateDocument = {
            "id": found.id,
            "name": found.name,
            "namespace": "",
            "labels": {},
            "created_at": None,
            "updated_at": None,
        }
        return {**head, "data": found.data}
    return {**listed_document(found), "data": found.data}


def built_in_document(found: BuiltIn, stored: str) -> BuiltInDocument:
    """A template of the program; `stored` is the id of one that is used in its place."""
    return {"name": found.name, "about": found.about, "stored": stored, "data": found.data}


async def create_documents(
    templates: Templates, name: str, text: str, who: str, given: Labels = NO_LABELS, *, strict: bool = False
) -> StoredDocument:
    """Store a template under a name, its own where that is empty, or every `kind: Template` of a file under its own, with its labels and those `given`.

    `strict` refuses what would be ignored.
    """
    notes: Sequence[Problem] = ()
    if has_objects(text):
        read, notes = await templates.read(text, partial(_read_templates, strict=strict), who)
        if name and len(read) > 1:
            raise Invalid(f"{len(read)} templates cannot have one name: leave -n out")
        new = [replace(each, name=name or each.name, labels={**each.labels, **given}) for each in read]
    else:
        new = [NewTemplate(name=name or own_name(text), data=text, labels=given)]
    stored = await templates.create_all(new, who, strict=strict)
    there = [(each, one.labels) for each, one in zip(stored, new, strict=True) if not each.is_new]
    told = [*notes, *(_is_there(each, wanted) for each, wanted in there)]
    named = titles([(each.namespace, each.name) for each in new])
    told += [of_template(title, one) for title, each in zip(named, stored, strict=True) for one in each.ignored]
    return {
        "id": stored[0].id,
        "results": [creation_result(each.id, each.name, is_new=each.is_new) for each in stored],
        "created": [{"id": each.id, "name": each.name} for each in stored if each.is_new],
        "notes": [asdict(each) for each in told],
    }


def _is_there(stored: StoredTemplate, wanted: Labels) -> Problem:
    """That a template was stored before, with the same text."""
    keeps = any(stored.labels.get(name) != value for name, value in wanted.items())
    labels = f", and its labels stay as they are: `tinkbox template label {stored.id}` changes them" if keeps else ""
    return Problem(text=f"template {stored.name} is there already with the same text: nothing was made{labels}")


async def template_text(
    templates: Templates, text: str, who: str, template: Template | BuiltIn, name: str, *, strict: bool = False
) -> tuple[NewTemplate, Sequence[Problem]]:
    """The text for a template that is called `name` then, out of a `kind: Template` when it is in one, and what there is to say of that.

    Of several it is that of its name and namespace.
    """
    if not has_objects(text):
        return NewTemplate(name=name, data=text), ()
    read, notes = await templates.read(text, partial(_read_templates, strict=strict), who)
    namespace = template.namespace if isinstance(template, Template) else ""
    own = [each for each in read if (each.namespace, each.name) == (namespace or DEFAULT_NAMESPACE, name)]
    if len(read) > 1 and not own:
        names = ", ".join(titles([(each.namespace, each.name) for each in read]))
        raise Invalid(f"there are {len(read)} templates in it, and one is asked for: {names}")
    if own:
        others = len(read) - 1
        left = [Problem(text=f"{counted(others, 'other template')} in it left out")] if others else ()
        return own[0], (*notes, *left)
    (one,) = read
    told = (
        f"the document is of template {one.name} of namespace {one.namespace}, and template {name} of "
        f"{told_namespace(namespace)} was changed: it stays of that name and namespace"
    )
    return one, (*notes, Problem(key="metadata.name", text=told))


async def _in_order(machines: Machines, *, secrets: bool) -> list[Hardware]:
    """The machines in the order in which people sort what they are called; without `secrets` their documents are masked."""

    def place(record: MachineRecord) -> tuple[Any, Hardware]:
        machine = record.hardware if secrets else masked_machine(record.hardware)
        return natural(called(machine)), machine

    return [each for _, each in sorted(await in_slices(place, machines.known.all()), key=itemgetter(0))]


async def _validated(
    templates: Templates,
    known: Sequence[Hardware],
    document: Mapping[str, Any],
    devices: Devices | None,
    who: str,
    *,
    strict: bool,
) -> tuple[list[tuple[TemplateKey, Verdict]], Sequence[Problem]]:
    """Render templates for machines without storing anything: `data` is a text, `template` the key of a stored one.

    Verdicts are with the namespaces and names of their templates, empty where a text has none; beside them are notes of what
    was read.  What is ignored is a problem where they are `strict`, else a note.
    """
    notes: Sequence[Problem] = ()
    if document.get("template") is not None:
        stored = await templates.get(str(document["template"]))
        namespace = stored.namespace if isinstance(stored, Template) else ""
        asked: Sequence[NewTemplate] = [NewTemplate(name=stored.name, data=stored.data, namespace=namespace)]
    else:
        text = str(document.get("data") or "")
        asked = [NewTemplate(name="", data=text)]
        if has_objects(text):
            asked, notes = await templates.read(text, partial(_read_templates, strict=strict), who)

    told: dict[Problem, None] = dict.fromkeys(notes)

    async def judged(title: str, one: NewTemplate) -> list[Verdict]:
        found = await templates.validate(one.data, known, devices, who)
        for note in found.remarks.notes:
            told.setdefault(of_template(title, note))
        if strict:
            refuse_ignored(found.remarks.ignored)
        verdicts = await in_slices(partial(_placed, one.placed, {}), found)
        if strict:
            return [replace(each, problems=(*each.problems, *each.ignored)) for each in verdicts]
        ignored = (one.placed(found.remarks.ignored), *(each.ignored for each in verdicts))
        for note in chain(*ignored):
            told.setdefault(of_template(title, note))
        return verdicts

    found: list[tuple[TemplateKey, Verdict]] = []
    refused: list[tuple[str, Invalid]] = []
    named = [(each.namespace, each.name) for each in asked]
    for title, key, one in zip(titles(named), named, asked, strict=True):
        try:
            found += [(key, each) for each in await judged(title, one)]
        except Invalid as refusal:
            refused.append((title, placed_refusal(refusal, one.placed)))
    refuse_each(refused)
    return found, list(told)


def _placed(placed: Placing, known: dict[Problem, Problem], verdict: Verdict) -> Verdict:
    """The verdict with the places in the file of what is told of the text; `known` are those that were found before."""
    told = (*verdict.problems, *verdict.ignored)
    new = [each for each in dict.fromkeys(told) if each not in known]
    known.update(zip(new, placed(new), strict=True))
    in_file = [known[each] for each in told]
    number = len(verdict.problems)
    return replace(verdict, problems=tuple(in_file[:number]), ignored=tuple(in_file[number:]))


def _lacking(verdict: Verdict, missing: Mapping[WantedImage, Problem]) -> Verdict:
    """The verdict with those of the `missing` images that it needs."""
    return replace(
        verdict, problems=(*verdict.problems, *(missing[each] for each in verdict.images if each in missing))
    )


def _read_templates(text: str, *, strict: bool) -> tuple[list[NewTemplate], tuple[Problem, ...]]:
    """Every `kind: Template` of a text; raises Invalid with every problem."""
    taken = take(text, "Template", strict=strict)
    there: set[TemplateKey] = set()
    problems: list[Problem] = []
    labels: dict[TemplateKey, Labels] = {}
    for each in taken.objects:
        key = (each.namespace, each.name)
        if key in there:
            problems.append(
                each.problem("metadata.name", f"a second Template {each.name} of namespace {each.namespace}")
            )
        there.add(key)
        try:
            labels[key] = each.labels
        except Invalid as refusal:
            problems += [each.problem(problem.key, problem.text) for problem in refusal.problems]
    if problems:
        raise Invalid(f"invalid Template: {counted(len(problems), 'problem')}", problems)
    lines_of = cache(text.splitlines)
    read = [
        NewTemplate(
            name=each.name,
            data=each.spec["data"],
            namespace=each.namespace,
            labels=labels[each.namespace, each.name],
            placed=partial(each.problems_in_text, lines_of=lines_of),
        )
        for each in taken.objects
    ]
    return read, taken.notes


def _verdict(key: TemplateKey, verdict: Verdict) -> VerdictOnTemplate:
    namespace, template = key
    machine = verdict.machine
    names = [each for each in machine_names(machine) if each] if machine else []
    return {
        "template": template,
        "namespace": namespace,
        "id": machine.id if machine else "",
        "machine": next(iter(names), (mac_of(machine) or machine.id) if machine else ""),
        "devices": dict(verdict.devices),
        "problems": [asdict(each) for each in verdict.problems],
    }
