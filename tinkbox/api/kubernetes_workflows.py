"""Files of `kind: Workflow`, as Tinkerbell on Kubernetes has them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict

from tinkbox.api.json_values import Document
from tinkbox.engine.documents.kubernetes import Object, has_objects, take
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.references import References, runs_elsewhere
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.declaration import Declaration
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tinkbox.model.hardware import Hardware
from tinkbox.model.labels import NO_LABELS, Labels
from tinkbox.model.rollout import labels_given
from tinkbox.model.text import counted


async def create_workflows(
    machines: Machines,
    workflows: Workflows,
    text: str,
    breakpoints: Change | None,
    who: str,
    *,
    confirm_wipe: bool,
    labels: Labels = NO_LABELS,
) -> Document:
    """Create every `kind: Workflow` of a file, in its order, with these breakpoints by the person `who`; they may wipe disks or not."""
    if not has_objects(text):
        raise Invalid("no Kubernetes documents: give a file with kind: Workflow, or -t and -r")
    taken = await asyncio.to_thread(take, text, "Workflow")
    known = References(each.hardware for each in await machines.all())
    problems = [problem for each in taken.objects for problem in (*_missing(each, known), *_wrong_labels(each))]
    if problems:
        raise Invalid(f"invalid Workflow: {counted(len(problems), 'problem')}", problems)
    notes = list(taken.notes)
    created: list[Document] = []
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
                labels={**each.labels, **labels},
                declared=_declaration(each, machine),
            )
        except (Invalid, NotFound, Conflict) as refusal:
            raise _after(refusal, each.name, created) from None
        created.append({"id": workflow_id, "name": each.name})
        notes += await _toggled(machines, each, machine)
        if machine is not None and (told := await _elsewhere(workflows, workflow_id, machine, known)):
            notes.append(each.problem("spec.hardwareRef", told))
    return {"id": created[0]["id"], "created": created, "notes": [asdict(each) for each in notes]}


async def _elsewhere(workflows: Workflows, workflow_id: str, referred: Hardware, known: References) -> str:
    """As `runs_elsewhere`, of a workflow that was just made."""
    with suppress(NotFound):  # it was deleted meanwhile
        workers = (await workflows.get(workflow_id)).workers()
        return runs_elsewhere(referred, [found for each in workers if (found := known.of(each)) is not None])
    return ""


def _missing(workflow: Object, known: References) -> list[Problem]:
    """What a Workflow lacks before it can be created."""
    problems = []
    if not workflow.spec.get("templateRef"):
        problems.append(workflow.problem("spec.templateRef", "the name of a template is required"))
    reference = workflow.spec.get("hardwareRef")
    if reference and _referred(workflow, known) is None:
        text = f"hardware {reference} not found: push its document first"
        problems.append(workflow.problem("spec.hardwareRef", text))
    return problems


def _wrong_labels(workflow: Object) -> list[Problem]:
    try:
        labels_given(workflow.labels)
    except Invalid as refusal:
        return [workflow.problem(each.key, each.text) for each in refusal.problems or [_own_label(refusal)]]
    return []


def _own_label(refusal: Invalid) -> Problem:
    return Problem(key="metadata.labels", text=str(refusal))


def _referred(workflow: Object, known: References) -> Hardware | None:
    """The machine that a Workflow names."""
    name = workflow.spec.get("hardwareRef") or ""
    return known.named(workflow.namespace, name) if name else None


def _declaration(workflow: Object, machine: Hardware | None) -> Declaration:
    """What it is known by when `apply` meets its document."""
    return Declaration(
        namespace=workflow.namespace,
        template_ref=workflow.spec["templateRef"],
        hardware_ref=workflow.spec.get("hardwareRef") or "",
        let_netboot=machine.id if machine and _toggles(workflow) else "",
    )


def _toggles(workflow: Object) -> bool:
    return bool((workflow.spec.get("bootOptions") or {}).get("toggleAllowNetboot"))


async def _toggled(machines: Machines, workflow: Object, machine: Hardware | None) -> list[Problem]:
    """`toggleAllowNetboot`: the ticket does the rest, but a machine that must not netboot at all gets none."""
    if not _toggles(workflow) or machine is None or all(each.allow_pxe for each in machine.interfaces):
        return []
    await machines.push(machine.allowing_netboot())
    key = "spec.bootOptions.toggleAllowNetboot"
    return [workflow.problem(key, f"{machine.name or machine.id} has allowPXE: true now, and boots the OSIE once")]


def _after(refusal: Refusal, name: str, created: Sequence[Document]) -> Refusal:
    before = "".join(f"; {each['name']} was created before it: {each['id']}" for each in created)
    text = f"Workflow {name}: {refusal}{before}"
    return Invalid(text, refusal.problems) if isinstance(refusal, Invalid) else type(refusal)(text)
