"""Files of `kind: Workflow`, as Tinkerbell on Kubernetes has them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from tinkbox.api.json_values import Document, machine_names
from tinkbox.engine.documents.kubernetes import Object, has_objects, take
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.workflows.workflows import Workflows
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tinkbox.model.hardware import Hardware
from tinkbox.model.kubernetes import identity
from tinkbox.model.text import counted


async def create_workflows(
    machines: Machines, workflows: Workflows, text: str, breakpoints: Change | None, who: str, *, confirm_wipe: bool
) -> Document:
    """Create every `kind: Workflow` of a file, in its order, with these breakpoints by the person `who`; they may wipe disks or not."""
    if not has_objects(text):
        raise Invalid("no Kubernetes documents: give a file with kind: Workflow, or -t and -r")
    taken = await asyncio.to_thread(take, text, "Workflow")
    known = {each.hardware.id: each.hardware for each in await machines.all()}
    problems = [problem for each in taken.objects for problem in _missing(each, known)]
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
            )
        except (Invalid, NotFound, Conflict) as refusal:
            raise _after(refusal, each.name, created) from None
        created.append({"id": workflow_id, "name": each.name})
        notes += await _toggled(machines, each, machine)
    return {"id": created[0]["id"], "created": created, "notes": [asdict(each) for each in notes]}


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
    return named or next((each for each in known.values() if name and name in machine_names(each)), None)


async def _toggled(machines: Machines, workflow: Object, machine: Hardware | None) -> list[Problem]:
    """`toggleAllowNetboot`: the ticket does the rest, but a machine that must not netboot at all gets none."""
    toggle = (workflow.spec.get("bootOptions") or {}).get("toggleAllowNetboot")
    if not toggle or machine is None or all(each.allow_pxe for each in machine.interfaces):
        return []
    await machines.push(machine.allowing_netboot())
    key = "spec.bootOptions.toggleAllowNetboot"
    return [workflow.problem(key, f"{machine.name or machine.id} has allowPXE: true now, and boots the OSIE once")]


def _after(refusal: Refusal, name: str, created: Sequence[Document]) -> Refusal:
    before = "".join(f"; {each['name']} was created before it: {each['id']}" for each in created)
    text = f"Workflow {name}: {refusal}{before}"
    return Invalid(text, refusal.problems) if isinstance(refusal, Invalid) else type(refusal)(text)
