"""The use-case of `workflow create -f`: the workflows of a file, each once.

What is there already is found by the same comparison as for `apply`.  A workflow that is forgotten for its age is not there.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from tinkbox.engine.applying.comparison import Stored, changed_fields, differs, meant_workflow
from tinkbox.engine.applying.document_references import runs_anew, told_elsewhere
from tinkbox.engine.applying.reading import DeclaredFlow, TemplateKey, declared_flow
from tinkbox.engine.documents.kubernetes import Object, has_objects, read_all, take
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.references import References, runs_elsewhere
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.templates.templates import find_template
from tinkbox.engine.workflows.workflows import Prepared, Workflows
from tinkbox.model.declaration import Declaration, DeclaredWorkflow
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tinkbox.model.hardware import Hardware
from tinkbox.model.labels import NO_LABELS, Labels
from tinkbox.model.names import generated_name
from tinkbox.model.text import counted
from tinkbox.store.database import Store, Tables

_IN_FILE: Final = "it is in the same file, and `tinkbox apply -f` takes all kinds at once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Creating:
    """How the workflows of a file are to be made, by the person `who`.

    `again` makes another one also where one of the name is there.  The rest is as in `Workflows.create`; the labels come on top of
    a document's.  `strict` refuses what would be ignored of documents and templates.
    """

    who: str = ""
    again: bool = False
    breakpoints: Change | None = None
    confirm_wipe: bool = False
    labels: Labels = field(default_factory=lambda: NO_LABELS)
    require_images: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of a document: a workflow that is new, or one that was there."""

    id: str
    name: str
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Creations:
    """What became of every document of a file, in its order, and what there is to say."""

    made: Sequence[Made]
    notes: Sequence[Problem]


@dataclass(frozen=True, slots=True)
class _There:
    """The workflow that a document means, and the fields in which it differs."""

    workflow: DeclaredWorkflow
    changed: Sequence[str]


class _ThereMeanwhile(Exception):
    """Somebody else made the workflow since it was looked for."""


class Creation:
    """Creates the workflows of files.  `new_id` makes the ids of UUIDs, and the names of `generateName`."""

    def __init__(self, store: Store, machines: Machines, workflows: Workflows, new_id: Callable[[], str]) -> None:
        self._store = store
        self._machines = machines
        self._workflows = workflows
        self._new_id = new_id

    async def create(self, text: str, how: Creating) -> Creations:
        """Create every `kind: Workflow` of a file, in its order, but for those that are there with the same content.

        Raises Invalid with every problem before any is made, such as a workflow of the name that has another content.  Where one is
        refused that seemed right, the refusal tells those that were made before it.
        """
        if not has_objects(text):
            raise Invalid("no Kubernetes documents: give a file with kind: Workflow, or -t and -r")
        taken = await asyncio.to_thread(partial(take, strict=how.strict), text, "Workflow")
        flows, problems = _declared(taken.objects)
        known = References(each.hardware for each in await self._machines.all())
        there = await self._there(flows, how)
        lacking = [each for each, found in zip(flows, there, strict=True) if not found and _lacks(each, known)]
        others = await asyncio.to_thread(_others, text) if lacking else frozenset[tuple[str, str]]()
        problems += [_missing(each, others) for each in lacking]
        problems += [_changed(each, found) for each, found in zip(flows, there, strict=True) if found and found.changed]
        standing = [each for each, found in zip(flows, there, strict=True) if found and not found.changed]
        ignored = await self._ignored_of(standing, known, how)
        problems += ignored if how.strict else ()
        if problems:
            raise Invalid(f"invalid Workflow: {counted(len(problems), 'problem')}", problems)
        made: list[Made] = []
        notes = [*taken.notes, *ignored]
        new = [each for each, found in zip(flows, there, strict=True) if not found]
        notes += [each.source.problem("status", told) for each in new if (told := runs_anew(each))]
        for each in flows:
            try:
                one, said = await self._create(each, known, how)
            except (Invalid, NotFound, Conflict) as refusal:
                others = await asyncio.to_thread(_others, text)
                raise _after(refusal, each, others, made) from None
            made.append(one)
            notes += said
        return Creations(made=made, notes=notes)

    async def _there(self, flows: Sequence[DeclaredFlow], how: Creating) -> list[_There | None]:
        """What is there of each of them."""
        if how.again:
            return [None] * len(flows)
        return await self._store.read(lambda tables: [_found(tables, each) for each in flows])

    async def _ignored_of(self, standing: Sequence[DeclaredFlow], known: References, how: Creating) -> list[Problem]:
        """What is ignored of the templates of workflows that are there, as they would be filled now for one of each.

        What cannot be filled any more is no news: nothing is made of it.
        """
        told: list[Problem] = []
        for flow in {each.template_key: each for each in reversed(standing)}.values():
            with suppress(Refusal):
                told += _ignored(flow, await self._prepare(flow, known, how, strict=False))
        return told

    async def _create(self, flow: DeclaredFlow, known: References, how: Creating) -> tuple[Made, list[Problem]]:
        """Make a workflow, or find the one that is there; and what there is to say of it."""
        while True:
            (there,) = await self._there([flow], how)
            if there is not None and there.changed:
                raise Conflict(_changed(flow, there).text)
            if there is not None:
                found = there.workflow
                notes = [_is_there(flow, found, how), *await self._let_netboot(flow, _referred(flow, known))]
                return Made(id=found.id, name=found.name, is_new=False), notes
            with suppress(_ThereMeanwhile):
                return await self._make(flow, known, how)

    async def _make(self, flow: DeclaredFlow, known: References, how: Creating) -> tuple[Made, list[Problem]]:
        machine = _referred(flow, known)

        def first(tables: Tables) -> None:
            if not how.again and _found(tables, flow) is not None:
                raise _ThereMeanwhile

        prepared = await self._prepare(flow, known, how, strict=how.strict)
        await self._workflows.create_prepared(prepared, first)
        notes = [*_ignored(flow, prepared), *await self._let_netboot(flow, machine)]
        if told := told_elsewhere(flow, prepared.template):
            notes.append(flow.source.problem("spec.templateRef", told))
        if machine is not None and (told := await self._elsewhere(prepared.id, machine, known)):
            notes.append(flow.source.problem("spec.hardwareRef", told))
        return Made(id=prepared.id, name=prepared.name, is_new=True), notes

    async def _prepare(self, flow: DeclaredFlow, known: References, how: Creating, *, strict: bool) -> Prepared:
        """A workflow of this document, of which nothing is stored yet."""
        machine = _referred(flow, known)
        workflow_id = self._new_id()
        return await self._workflows.prepare(
            flow.template_ref,
            flow.devices,
            machine=machine,
            name=flow.name or generated_name(flow.source.generate_name, UUID(workflow_id).int),
            breakpoints=how.breakpoints,
            who=how.who,
            confirm_wipe=how.confirm_wipe,
            labels={**(flow.labels or NO_LABELS), **how.labels},
            declared=_declaration(flow, machine),
            as_id=workflow_id,
            require_images=how.require_images,
            strict=strict,
        )

    async def _let_netboot(self, flow: DeclaredFlow, machine: Hardware | None) -> list[Problem]:
        """`toggleAllowNetboot`: the ticket does the rest, but a machine that must not netboot at all gets none."""
        if not flow.toggles_netboot or machine is None or all(each.allow_pxe for each in machine.interfaces):
            return []
        await self._machines.push(machine.allowing_netboot())
        told = f"{machine.name or machine.id} has allowPXE: true now, and boots the OSIE once"
        return [flow.source.problem("spec.bootOptions.toggleAllowNetboot", told)]

    async def _elsewhere(self, workflow_id: str, referred: Hardware, known: References) -> str:
        """As `runs_elsewhere`, of a workflow that was just made."""
        with suppress(NotFound):  # it was deleted meanwhile
            workers = (await self._workflows.get(workflow_id)).workers()
            return runs_elsewhere(referred, [found for each in workers if (found := known.of(each)) is not None])
        return ""


def _declared(objects: Sequence[Object]) -> tuple[list[DeclaredFlow], list[Problem]]:
    flows: list[DeclaredFlow] = []
    problems: list[Problem] = []
    for each in objects:
        try:
            flows.append(declared_flow(each))
        except Invalid as refusal:
            problems += [each.problem(found.key, found.text) for found in refusal.problems]
    return flows, problems


def _found(tables: Tables, flow: DeclaredFlow) -> _There | None:
    """The workflow that a document means; one whose name is made anew each time means none."""
    if not flow.name:
        return None
    template_ids: dict[TemplateKey, str] = {}
    with suppress(NotFound, Conflict):
        template_ids[flow.template_key] = find_template(tables, flow.template_ref, flow.namespace).id
    there = [each for each in tables.declarations.named([flow.name]) if each.id]
    stored = Stored(flows={flow.name: there}, template_ids=template_ids)
    meant = meant_workflow(flow, stored)
    return None if meant is None else _There(meant, changed_fields(meant, flow, stored))


def _referred(flow: DeclaredFlow, known: References) -> Hardware | None:
    """The machine that a Workflow names."""
    return known.named(flow.namespace, flow.hardware_ref) if flow.hardware_ref else None


def _lacks(flow: DeclaredFlow, known: References) -> bool:
    return bool(flow.hardware_ref) and _referred(flow, known) is None


def _others(text: str) -> frozenset[tuple[str, str]]:
    """What else a file declares, by kind and name."""
    return frozenset((each.kind.removesuffix(" v1alpha2"), each.name) for each in read_all(text).objects if each.name)


def _missing(flow: DeclaredFlow, others: Collection[tuple[str, str]]) -> Problem:
    in_file = ("Hardware", flow.hardware_ref) in others
    way_out = _IN_FILE if in_file else "push its document first"
    return flow.source.problem("spec.hardwareRef", f"hardware {flow.hardware_ref} not found: {way_out}")


def _changed(flow: DeclaredFlow, there: _There) -> Problem:
    """That a workflow of the name is there, and is another one."""
    return flow.source.problem(
        "metadata.name",
        f"workflow {flow.name} is there already, {there.workflow.id}, and {differs(there.changed)}: a workflow never changes. Give "
        "the document another name, or have another one of this name made with --again",
    )


def _ignored(flow: DeclaredFlow, prepared: Prepared) -> list[Problem]:
    """What of its template is not taken as it stands."""
    told = (f"template {flow.template_ref}: {each}" for each in prepared.ignored)
    return [flow.source.problem("spec.templateRef", each) for each in told]


def _is_there(flow: DeclaredFlow, workflow: DeclaredWorkflow, how: Creating) -> Problem:
    wanted = {**(flow.labels or NO_LABELS), **how.labels}
    kept = {
        "labels": any(workflow.labels.get(name) != value for name, value in wanted.items()),
        "breakpoints": how.breakpoints is not None,
        "permission to wipe disks": how.confirm_wipe,
    }
    words = [word for word, is_asked in kept.items() if is_asked]
    stays = f". It keeps the {' and '.join(words)} that it has" if words else ""
    standing = "is over" if workflow.is_over else "is not over"
    return flow.source.problem(
        "metadata.name",
        f"workflow {flow.name} is there already with the same content, and {standing}: nothing was made{stays}. --again makes another "
        "one",
    )


def _declaration(flow: DeclaredFlow, machine: Hardware | None) -> Declaration:
    """What it is known by when `apply` meets its document."""
    return Declaration(
        namespace=flow.namespace,
        template_ref=flow.template_ref,
        hardware_ref=flow.hardware_ref,
        let_netboot=machine.id if machine and flow.toggles_netboot else "",
    )


def _after(refusal: Refusal, flow: DeclaredFlow, others: Collection[tuple[str, str]], made: Sequence[Made]) -> Refusal:
    """The refusal of one, with the way out, and those that were made before it."""
    in_file = isinstance(refusal, NotFound) and ("Template", flow.template_ref) in others
    way_out = f": {_IN_FILE}" if in_file else ""
    before = "".join(f"; {each.name} was created before it: {each.id}" for each in made if each.is_new)
    name = flow.name or flow.source.generate_name
    text = f"Workflow {name}: {refusal}{way_out}{before}"
    return Invalid(text, refusal.problems) if isinstance(refusal, Invalid) else type(refusal)(text)
