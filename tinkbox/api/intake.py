"""What the operator door takes in: documents of 2020, and Tinkerbell's Kubernetes documents.

Every function returns what the door answers.  `notes` are what is to be said of a document that was taken all the same.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tinkbox.engine.documents.kubernetes import Object, has_objects, take, take_hardware
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.templates.validation import Verdict, validate
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tinkbox.model.hardware import Hardware, parse_hardware
from tinkbox.model.kubernetes import identity

Answer = dict[str, Any]


async def push_hardware(machines: Machines, body: bytes) -> Answer:
    """Store one machine of 2020's form, or every `kind: Hardware` of a file."""
    text = body.decode(errors="replace")
    notes: Sequence[Problem] = ()
    if has_objects(text):
        pushed, notes = await asyncio.to_thread(take_hardware, text)
    else:
        pushed = [parse_hardware(body)]
    await machines.push(*pushed)
    return {"id": pushed[0].id, "pushed": [_named(each.id, each.name) for each in pushed], "notes": _documents(notes)}


async def create_templates(templates: Templates, name: str, text: str) -> Answer:
    """Store a template under a name, or every `kind: Template` of a file under its own."""
    notes: Sequence[Problem] = ()
    if has_objects(text):
        texts, notes = await asyncio.to_thread(_template_texts, text)
        if name and len(texts) > 1:
            raise Invalid(f"{len(texts)} templates cannot have one name: leave -n out")
        texts = {name: next(iter(texts.values()))} if name else texts
    elif name:
        texts = {name: text}
    else:
        raise Invalid("a template needs a name: give it with -n")
    created = await templates.create_all(texts)
    listed = [_named(template_id, each) for each, template_id in zip(texts, created, strict=True)]
    return {"id": created[0], "created": listed, "notes": _documents(notes)}


async def template_text(text: str) -> str:
    """The text of the one template that is meant, out of a `kind: Template` when it is in one."""
    if not has_objects(text):
        return text
    texts, _ = await asyncio.to_thread(_template_texts, text)
    if len(texts) > 1:
        raise Invalid(f"there are {len(texts)} templates in it, and one is asked for: {', '.join(texts)}")
    return next(iter(texts.values()))


async def validate_templates(
    templates: Templates, machines: Machines, document: Mapping[str, Any], devices: Mapping[str, str] | None
) -> Answer:
    """Render templates for machines without storing anything: `data` is a text, `template` the key of a stored one."""
    notes: Sequence[Problem] = ()
    if document.get("template") is not None:
        stored = await templates.get(str(document["template"]))
        texts = {stored.name: stored.data}
    else:
        text = str(document.get("data") or "")
        texts = {"": text}
        if has_objects(text):
            texts, notes = await asyncio.to_thread(_template_texts, text)
    known = [each.hardware for each in await machines.all()]
    verdicts = [
        _verdict(name, each) for name, text in texts.items() for each in await _judged(name, text, known, devices)
    ]
    return {"verdicts": verdicts, "notes": _documents(notes)}


async def create_workflows(
    machines: Machines, workflows: Workflows, text: str, breakpoints: Change | None, who: str, *, confirm_wipe: bool
) -> Answer:
    """Create every `kind: Workflow` of a file, in its order, with these breakpoints by the person `who`; they may wipe disks or not."""
    if not has_objects(text):
        raise Invalid("no Kubernetes documents: give a file with kind: Workflow, or -t and -r")
    taken = await asyncio.to_thread(take, text, "Workflow")
    known = {each.hardware.id: each.hardware for each in await machines.all()}
    problems = [problem for each in taken.objects for problem in _missing(each, known)]
    if problems:
        raise Invalid(f"invalid Workflow: {len(problems)} problem(s)", problems)
    notes = list(taken.notes)
    created: list[Answer] = []
    for each in taken.objects:
        machine = _referred(each, known)
        try:
            workflow_id = await workflows.create(
                each.spec["templateRef"],
                each.spec.get("hardwareMap") or {},
                machine=machine,
                name=each.name,
                breakpoints=breakpoints,
                who=who,
                confirm_wipe=confirm_wipe,
            )
        except (Invalid, NotFound, Conflict) as refusal:
            raise _after(refusal, each.name, created) from None
        created.append(_named(workflow_id, each.name))
        notes += await _toggled(machines, each, machine)
    return {"id": created[0]["id"], "created": created, "notes": _documents(notes)}


def _template_texts(text: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
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
    if problems:
        raise Invalid(f"invalid Template: {len(problems)} problem(s)", problems)
    return {each.name: each.spec["data"] for each in taken.objects}, taken.notes


async def _judged(
    name: str, text: str, known: Sequence[Hardware], devices: Mapping[str, str] | None
) -> Sequence[Verdict]:
    try:
        return await validate(text, known, devices)
    except Invalid as error:
        raise Invalid(f"{name}: {error}" if name else str(error), error.problems) from None


def _missing(workflow: Object, known: Mapping[str, Hardware]) -> list[Problem]:
    """What a Workflow lacks before it can be created."""
    problems = []
    if not workflow.spec.get("templateRef"):
        problems.append(workflow.problem("spec.templateRef", "the name of a template is required"))
    reference = workflow.spec.get("hardwareRef")
    if reference and _referred(workflow, known) is None:
        text = f"hardware {reference} not found: push its document first"
        problems.append(workflow.problem("spec.hardwareRef", text))
    return problems


def _referred(workflow: Object, known: Mapping[str, Hardware]) -> Hardware | None:
    """The machine that a Workflow names: of its namespace, else any of that name or hostname."""
    name = workflow.spec.get("hardwareRef") or ""
    named = known.get(identity(workflow.namespace, name))
    return named or next((each for each in known.values() if name and name in _names(each)), None)


def _names(machine: Hardware) -> list[str]:
    return [machine.name, *(each.hostname for each in machine.interfaces)]


async def _toggled(machines: Machines, workflow: Object, machine: Hardware | None) -> list[Problem]:
    """`toggleAllowNetboot`: the ticket does the rest, but a machine that must not netboot at all gets none."""
    toggle = (workflow.spec.get("bootOptions") or {}).get("toggleAllowNetboot")
    if not toggle or machine is None or all(each.allow_pxe for each in machine.interfaces):
        return []
    await machines.push(machine.allowing_netboot())
    key = "spec.bootOptions.toggleAllowNetboot"
    return [workflow.problem(key, f"{machine.name or machine.id} has allowPXE: true now, and boots the OSIE once")]


def _after(refusal: Refusal, name: str, created: Sequence[Answer]) -> Refusal:
    before = "".join(f"; {each['name']} was created before it: {each['id']}" for each in created)
    text = f"Workflow {name}: {refusal}{before}"
    return Invalid(text, refusal.problems) if isinstance(refusal, Invalid) else type(refusal)(text)


def _verdict(template: str, verdict: Verdict) -> Answer:
    machine = verdict.machine
    names = [each for each in _names(machine) if each] if machine else []
    return {
        "template": template,
        "id": machine.id if machine else "",
        "machine": next(iter(names), machine.interfaces[0].mac if machine else ""),
        "devices": dict(verdict.devices),
        "problems": _documents(verdict.problems),
    }


def _named(identity: str, name: str) -> Answer:
    return {"id": identity, "name": name}


def _documents(problems: Sequence[Problem]) -> list[Answer]:
    return [asdict(each) for each in problems]
