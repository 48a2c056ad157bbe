"""The use-case of `workflow create -f`: the workflows of a file, each once.

What is there already is found by the same comparison as for `apply`.  A workflow that is forgotten for its age is not there.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from tinkbox.engine.applying.applying import MAX_NEW
from tinkbox.engine.applying.comparison import Stored, changed_fields, differs, meant_workflow, told_of_disabled
from tinkbox.engine.applying.document_references import machines_of, own_machines, runs_anew, told_elsewhere
from tinkbox.engine.applying.reading import DeclaredFlow, TemplateKey, declared_flow, order_of_creation
from tinkbox.engine.documents.kubernetes import Object, has_objects, read_all, take
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.references import References, runs_elsewhere
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.templates.templates import find_template
from tinkbox.engine.workflows.workflows import Prepared, Workflows
from tinkbox.model.declaration import DeclaredWorkflow
from tinkbox.model.documents.hardware import allowing_netboot
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal, TooLarge
from tinkbox.model.hardware import Hardware, MacAddress
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


@dataclass(slots=True)
class _Followed:
    """What memory has to follow, once it is committed."""

    machines: list[str] = field(default_factory=list)
    macs: set[MacAddress] = field(default_factory=set)
    flows: list[tuple[str, list[str]]] = field(default_factory=list)


class _GoneMeanwhile(Exception):
    """A workflow that was there is not any more, and nothing was prepared for it."""


class Creation:
    """Creates the workflows of files.  `new_id` makes the ids of UUIDs, and the names of `generateName`."""

    def __init__(self, store: Store, machines: Machines, workflows: Workflows, new_id: Callable[[], str]) -> None:
        self._store = store
        self._machines = machines
        self._workflows = workflows
        self._new_id = new_id

    async def create(self, text: str, how: Creating) -> Creations:
        """Create every `kind: Workflow` of a file (by `order_of_creation`), but for those that are there with the same content.

        All are made in one transaction, or none.  Raises Invalid with every problem, each with its line, such as a workflow of the
        name that has another content; and TooLarge for more than MAX_NEW that are new.
        """
        if not has_objects(text):
            raise Invalid("no Kubernetes documents: give a file with kind: Workflow, or -t and -r")
        taken = await asyncio.to_thread(partial(take, strict=how.strict, may_wait=True), text, "Workflow")
        flows, problems = _declared(taken.objects)
        known = References(each.hardware for each in await self._machines.all())
        disabled, _ = _declared(taken.left_out)
        problems += await self._store.read(lambda tables: list(_told_of_disabled(tables, disabled, known)))
        if not flows and not problems:
            raise Invalid("nothing is left to make of this file", taken.notes)
        there = await self._there(flows, known, how)
        lacking = [each for each, found in zip(flows, there, strict=True) if not found and _lacks(each, known)]
        others = await asyncio.to_thread(_others, text) if lacking else frozenset[tuple[str, str]]()
        problems += [_missing(each, known, others) for each in lacking]
        problems += [_changed(each, found) for each, found in zip(flows, there, strict=True) if found and found.changed]
        standing = [each for each, found in zip(flows, there, strict=True) if found and not found.changed]
        ignored = await self._ignored_of(standing, known, how)
        problems += ignored if how.strict else ()
        _refuse(problems)
        notes = [*taken.notes, *ignored]
        new = [each for each, found in zip(flows, there, strict=True) if not found]
        notes += [each.source.problem("status", told) for each in new if (told := runs_anew(each))]
        while True:
            prepared = await self._prepared(flows, there, known, how, text)
            with suppress(_GoneMeanwhile):
                made, said = await self._make(flows, prepared, known, how)
                return Creations(made=made, notes=[*notes, *said])
            there = await self._there(flows, known, how)

    async def _there(self, flows: Sequence[DeclaredFlow], known: References, how: Creating) -> list[_There | None]:
        """What is there of each of them."""
        if how.again:
            return [None] * len(flows)
        return await self._store.read(lambda tables: [_found(tables, each, known) for each in flows])

    async def _ignored_of(self, standing: Sequence[DeclaredFlow], known: References, how: Creating) -> list[Problem]:
        """What is ignored of the templates of workflows that are there, as they would be filled now for one of each.

        What cannot be filled any more is no news: nothing is made of it.
        """
        told: list[Problem] = []
        for flow in {each.template_key: each for each in reversed(standing)}.values():
            with suppress(Refusal):
                told += _ignored(flow, await self._prepare(flow, known, how, strict=False))
        return told

    async def _prepared(
        self,
        flows: Sequence[DeclaredFlow],
        there: Sequence[_There | None],
        known: References,
        how: Creating,
        text: str,
    ) -> dict[int, Prepared]:
        """What the workflows that are not there are made of, by their places in the file; raises Invalid with every problem."""
        new = [place for place, found in enumerate(there) if found is None]
        if len(new) > MAX_NEW:
            raise TooLarge(
                f"{len(new)} new workflows, and {MAX_NEW} are made at once: split the file. Nothing was made"
            )
        problems: list[Problem] = []
        prepared: dict[int, Prepared] = {}
        for place in new:
            flow = flows[place]
            try:
                prepared[place] = await self._prepare(flow, known, how, strict=how.strict)
            except NotFound as refusal:
                others = await asyncio.to_thread(_others, text)
                way_out = f": {_IN_FILE}" if ("Template", flow.template_ref) in others else ""
                problems.append(flow.source.problem("spec.templateRef", f"{refusal}{way_out}"))
            except (Invalid, Conflict) as refusal:
                problems += _why_not_made(flow, refusal)
        _refuse(problems)
        return prepared

    async def _make(
        self, flows: Sequence[DeclaredFlow], prepared: Mapping[int, Prepared], known: References, how: Creating
    ) -> tuple[list[Made], list[Problem]]:
        """Make all that are not there, or none; and what there is to say of each.

        Raises Invalid with every problem, and `_GoneMeanwhile`.
        """

        def use_case(tables: Tables) -> tuple[list[Made], list[Problem], _Followed]:
            made: dict[int, Made] = {}
            problems: list[Problem] = []
            notes: list[Problem] = []
            followed = _Followed()
            for place, flow in sorted(enumerate(flows), key=lambda each: order_of_creation(each[1])):
                there = None if how.again else _found(tables, flow, known)
                if there is not None and there.changed:
                    problems.append(_changed(flow, there))
                    continue
                if there is not None:
                    made[place] = Made(id=there.workflow.id, name=there.workflow.name, is_new=False)
                    notes.append(_is_there(flow, there.workflow, how))
                elif place not in prepared:
                    raise _GoneMeanwhile
                else:
                    try:
                        workflow = self._workflows.take_in(tables, prepared[place])
                    except (Invalid, NotFound, Conflict) as refusal:
                        problems += _why_not_made(flow, refusal)
                        continue
                    made[place] = Made(id=workflow.id, name=workflow.name, is_new=True)
                    followed.flows.append((workflow.name, workflow.workers()))
                    notes += _told_of_new(flow, prepared[place], workflow.workers(), known)
                notes += self._let_netboot(tables, flow, known, followed)
            _refuse(problems)
            return [made[place] for place in sorted(made)], notes, followed

        made, notes, followed = await self._store.write(use_case)
        if followed.machines:
            await self._machines.taken_in(followed.machines, followed.macs)
        for name, workers in followed.flows:
            await self._workflows.taken_in(name, workers)
        return made, notes

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
            declared=flow.declaration({flow.key: machines_of(flow, known)}),
            as_id=workflow_id,
            require_images=how.require_images,
            strict=strict,
        )

    def _let_netboot(
        self, tables: Tables, flow: DeclaredFlow, known: References, followed: _Followed
    ) -> Iterator[Problem]:
        """`toggleAllowNetboot`: the ticket does the rest, but a machine that must not netboot at all gets none."""
        referred = _referred(flow, known) if flow.toggles_netboot else None
        for record in tables.hardware.some([referred.id] if referred else ()):
            machine = record.hardware
            if all(each.allow_pxe for each in machine.interfaces):
                continue
            self._machines.take_in(tables, [allowing_netboot(machine)])
            followed.machines.append(machine.id)
            followed.macs |= {each.mac for each in machine.interfaces}
            told = f"{machine.name or machine.id} has allowPXE: true now, and boots the OSIE once"
            yield flow.source.problem("spec.bootOptions.toggleAllowNetboot", told)


def _declared(objects: Sequence[Object]) -> tuple[list[DeclaredFlow], list[Problem]]:
    flows: list[DeclaredFlow] = []
    problems: list[Problem] = []
    for each in objects:
        try:
            flows.append(declared_flow(each))
        except Invalid as refusal:
            problems += [each.problem(found.key, found.text) for found in refusal.problems]
    return flows, problems


def _found(tables: Tables, flow: DeclaredFlow, known: References) -> _There | None:
    """The workflow that a document means; one whose name is made anew each time means none."""
    if not flow.name:
        return None
    stored = _stored(tables, flow, known)
    meant = meant_workflow(flow, stored)
    return None if meant is None else _There(meant, changed_fields(meant, flow, stored))


def _stored(tables: Tables, flow: DeclaredFlow, known: References) -> Stored:
    """What is there of a document's name."""
    template_ids: dict[TemplateKey, str] = {}
    with suppress(NotFound, Conflict):
        template_ids[flow.template_key] = find_template(tables, flow.template_ref, flow.namespace).id
    there = [each for each in tables.declarations.named([flow.name]) if each.id]
    referred = {flow.key: machines_of(flow, known)}
    return Stored(
        flows={flow.name: there},
        template_ids=template_ids,
        referred=referred,
        own_machines=partial(own_machines, tables),
    )


def _told_of_disabled(tables: Tables, disabled: Sequence[DeclaredFlow], known: References) -> Iterator[Problem]:
    for flow in disabled:
        for told in told_of_disabled(flow, _stored(tables, flow, known)):
            yield flow.source.problem(told.key, told.text)


def _referred(flow: DeclaredFlow, known: References) -> Hardware | None:
    """The machine that a Workflow names."""
    return known.named(flow.namespace, flow.hardware_ref, flow.addresses) if flow.hardware_ref else None


def _lacks(flow: DeclaredFlow, known: References) -> bool:
    return bool(flow.hardware_ref) and _referred(flow, known) is None


def _others(text: str) -> frozenset[tuple[str, str]]:
    """What else a file declares, by kind and name."""
    return frozenset((each.kind.removesuffix(" v1alpha2"), each.name) for each in read_all(text).objects if each.name)


def _missing(flow: DeclaredFlow, known: References, others: Collection[tuple[str, str]]) -> Problem:
    told = known.ambiguity(flow.namespace, flow.hardware_ref, flow.addresses, is_structured=False)
    if told:
        return flow.source.problem("spec.hardwareRef", told)
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
    return _of_template(flow, prepared.ignored)


def _of_template(flow: DeclaredFlow, told: Iterable[Problem]) -> list[Problem]:
    return [flow.source.problem("spec.templateRef", f"template {flow.template_ref}: {each}") for each in told]


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


def _told_of_new(
    flow: DeclaredFlow, prepared: Prepared, workers: Sequence[str], known: References
) -> Iterator[Problem]:
    """What there is to say of a workflow that was made for these workers."""
    yield from _ignored(flow, prepared)
    yield from _of_template(flow, prepared.notes)
    if told := told_elsewhere(flow, prepared.template):
        yield flow.source.problem("spec.templateRef", told)
    machine = _referred(flow, known)
    others = [found for each in workers if (found := known.of(each)) is not None]
    if machine is not None and (told := runs_elsewhere(machine, others)):
        yield flow.source.problem("spec.hardwareRef", told)


def _why_not_made(flow: DeclaredFlow, refusal: Refusal) -> list[Problem]:
    """Why a workflow cannot be made, with the lines of its document."""
    listed = refusal.problems if isinstance(refusal, Invalid) else ()
    if not listed:
        return [flow.source.problem("spec", str(refusal))]
    return [flow.source.problem("spec.templateRef", f"template {flow.template_ref}: {each}") for each in listed]


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise Invalid(f"invalid Workflow: {counted(len(problems), 'problem')}", problems)
