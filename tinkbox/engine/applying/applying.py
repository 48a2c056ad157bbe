"""The use-case of `apply`: what files declare becomes what is there.

Rule 1: everything is checked before anything is stored, and all that is stored is stored in one transaction.
Rule 2: what is there is compared within that transaction, so that of two that apply the same at once one changes nothing.
Rule 3: a rehearsal is the same transaction, undone at its end.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from tinkbox.engine.applying.comparison import Decision, Decisions, Outcome, Stored, decide
from tinkbox.engine.applying.manifests import Manifest, machine_manifest, template_manifest
from tinkbox.engine.applying.reading import (
    DeclaredFlow,
    DeclaredMachine,
    DeclaredTemplate,
    Documents,
    SourceFile,
    documents_of,
)
from tinkbox.engine.documents.kubernetes import Everything, read_all
from tinkbox.engine.machines.machines import Machines, claims
from tinkbox.engine.machines.references import References
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.rendering import Rendered, check, render_each, rendering_data
from tinkbox.engine.templates.templates import Templates, find_template
from tinkbox.engine.turns import Turn, Turns, in_thread
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.engine.workflows.workflows import Prepared, Workflows
from tinkbox.model.declaration import Declaration
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal, TooLarge, Unavailable
from tinkbox.model.hardware import Hardware, MacAddress, called
from tinkbox.model.labels import NO_LABELS, LabelKind, Selector
from tinkbox.model.text import counted
from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import ListedTemplate, Template

MAX_NEW: Final = 1000  # workflows of which the rendered templates are in memory
AT_ONCE: Final = 200  # workflows that are rendered in one go
TRIES: Final = 5
NOTHING: Final = "nothing was applied"


CheckTexts = Callable[[Iterable[Hardware]], Sequence[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How documents are to be applied.

    With `rehearsal` nothing is stored.  `prune` deletes machines and templates with these labels that no document
    declares; with `agreed` only those ids may be deleted.  `confirm_wipe` is as in `Workflows.create`.
    """

    rehearsal: bool = False
    prune: Selector | None = None
    agreed: Collection[str] | None = None
    confirm_wipe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one thing; `old` and `new` are its manifests, None: it was not there, or is not any more."""

    kind: str
    name: str
    id: str
    outcome: Outcome
    why: str = ""
    old: Manifest | None = None
    new: Manifest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of every document, machines first, then templates, workflows and what was pruned."""

    results: Sequence[Result]
    notes: Sequence[Problem] = ()


@dataclass(slots=True)
class _Followed:
    """What memory has to follow, once it is committed."""

    machines: list[str] = field(default_factory=list)
    macs: set[MacAddress] = field(default_factory=set)
    relabelled: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    flows: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surplus:
    """What is to be pruned; beside a machine stands why it is kept, or nothing."""

    machines: Sequence[tuple[Hardware, str]] = ()
    templates: Sequence[ListedTemplate] = ()


class _Rehearsed(Exception):
    """No fault: it undoes a transaction."""

    def __init__(self, applied: Applied) -> None:
        super().__init__()
        self.applied = applied


class _ChangedMeanwhile(Exception):
    """A workflow is new after all, and nothing was rendered for it."""


class Applying:
    """Applies documents.  `check_texts` says what of a machine's user-data and the like is odd, and raises Invalid."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        templates: Templates,
        workflows: Workflows,
        new_id: Callable[[], str],
        renderings: Turns,
        check_texts: CheckTexts,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._templates = templates
        self._workflows = workflows
        self._new_id = new_id
        self._renderings = renderings
        self._check_texts = check_texts

    async def apply(self, files: Sequence[SourceFile], wish: Wish, who: str) -> Applied:
        """Have what is there become what the files declare, as `wish` says.

        Raises Invalid with every problem, each with its file and line, and Conflict where more would be pruned than was
        agreed to; nothing is stored then.
        """
        with self._renderings.place(who) as turn:
            read = [(each, await in_thread(turn, read_all, each.text)) for each in files]
            documents = await in_thread(turn, self._read, read)
            texts = {each.name: each.text for each in files}
            if documents.problems:
                others = [each for one in documents.templates for each in await _text_problems(one, texts, turn)]
                refuse([*documents.problems, *others])
            if not len(documents):
                raise Invalid("there are no documents of kind Hardware, Template or Workflow in it", documents.notes)
            for _ in range(TRIES):
                prepared = await self._prepared(documents, texts, wish, who, turn)
                try:
                    return await self._carry_out(documents, prepared, wish)
                except _ChangedMeanwhile:
                    continue
        raise Unavailable(f"{NOTHING}: others change the same things at the same time: try again later")

    def _read(self, read: Iterable[tuple[SourceFile, Everything]]) -> Documents:
        documents = documents_of(read)
        problems, notes = list(documents.problems), list(documents.notes)
        for each in documents.machines:
            try:
                found, kept = self._check_texts([each.hardware]), notes
            except Invalid as refusal:
                found, kept = refusal.problems, problems
            kept += [each.problem(str(one), "spec") for one in found]
        return replace(documents, problems=problems, notes=notes)

    async def _prepared(
        self, documents: Documents, texts: Mapping[str, str], wish: Wish, who: str, turn: Turn
    ) -> dict[int, Prepared]:
        """Check what is to change, and fill the templates of new workflows, by the places of these in the documents."""

        def question(tables: Tables) -> tuple[Decisions, dict[str, Template | BuiltIn | Refusal]]:
            surplus = _surplus_of(tables, documents, wish.prune)
            decisions = self._decide(tables, documents, {each.id for each, why in surplus.machines if not why})
            wanted = {each.declared.template_ref for each in decisions.flows if each.outcome is Outcome.CREATED}
            return decisions, _templates_of(tables, wanted, documents)

        decisions, templates = await self._store.read(question)
        problems = list(decisions.problems)
        for each in decisions.templates:
            if each.content_changes:
                problems += await _text_problems(each.declared, texts, turn)
        refuse(problems)
        new = sum(each.outcome is Outcome.CREATED for each in decisions.flows)
        if new > MAX_NEW:
            raise TooLarge(f"{NOTHING}: {new} new workflows, and {MAX_NEW} are made at once: apply them in parts")
        return await self._filled_flows(decisions, templates, wish, who, turn) if new else {}

    async def _filled_flows(
        self,
        decisions: Decisions,
        templates: Mapping[str, Template | BuiltIn | Refusal],
        wish: Wish,
        who: str,
        turn: Turn,
    ) -> dict[int, Prepared]:
        """New workflows by their places, those of one template together: it is read once."""
        machines = self._references(decisions)
        problems: list[Problem] = []
        prepared: dict[int, Prepared] = {}
        groups: dict[str, list[int]] = defaultdict(list)
        for place, one in enumerate(decisions.flows):
            if one.outcome is Outcome.CREATED:
                groups[one.declared.template_ref].append(place)
        for reference, places in groups.items():
            template = templates[reference]
            flows = [decisions.flows[place].declared for place in places]
            if isinstance(template, Refusal):
                problems += [each.problem(f"template {reference} not found", "spec.templateRef") for each in flows]
                continue
            problems += [problem for each in flows for problem in _reference_problems(each, machines)]
            for begin in range(0, len(places), AT_ONCE):
                piece = places[begin : begin + AT_ONCE]
                declared = flows[begin : begin + AT_ONCE]
                filled = await self._filled(template, declared, machines, turn)
                for place, flow, (workflow_id, rendered) in zip(piece, declared, filled, strict=True):
                    if isinstance(rendered, Refusal):
                        problems += _told(flow, rendered)
                    else:
                        prepared[place] = _ready(flow, template, workflow_id, rendered, machines, wish, who)
        refuse(problems)
        return prepared

    async def _filled(
        self, template: Template | BuiltIn, flows: Sequence[DeclaredFlow], machines: References, turn: Turn
    ) -> list[tuple[str, Rendered | Refusal]]:
        """The template filled for each of these workflows, with the id that the workflow is to have."""
        ids = [self._new_id() for _ in flows]
        found: list[Rendered | Refusal | None] = [None] * len(flows)
        data = {}
        for place, (each, workflow_id) in enumerate(zip(flows, ids, strict=True)):
            seen = machines.named(each.namespace, each.hardware_ref) if each.hardware_ref else None
            known = (machines.at(address) for address in each.devices.values())
            try:
                data[place] = rendering_data(each.devices, seen or next(filter(None, known), None), workflow_id)
            except Refusal as refusal:
                found[place] = refusal
        try:
            rendered: Sequence[Rendered | Invalid] = await render_each(template.data, list(data.values()), turn)
        except Invalid as refusal:  # whatever the machine
            rendered = [refusal] * len(data)
        for place, result in zip(data, rendered, strict=True):
            found[place] = result
        return [(workflow_id, each) for workflow_id, each in zip(ids, found, strict=True) if each is not None]

    async def _carry_out(self, documents: Documents, prepared: Mapping[int, Prepared], wish: Wish) -> Applied:
        followed = _Followed()

        def use_case(tables: Tables) -> Applied:
            pruned = list(self._prune(tables, documents, wish, followed))
            decisions = self._decide(tables, documents)
            refuse(decisions.problems)
            results = [
                *pruned,
                *self._take_in(tables, decisions, prepared, followed),
            ]
            order = ("hardware", "template", "workflow")
            applied = Applied(
                results=sorted(results, key=lambda each: (each.outcome in _PRUNING, order.index(each.kind))),
                notes=documents.notes,
            )
            if wish.rehearsal:
                raise _Rehearsed(applied)
            return applied

        try:
            applied = await self._store.write(use_case)
        except _Rehearsed as rehearsed:
            return rehearsed.applied
        await self._follow(followed)
        return applied

    def _decide(self, tables: Tables, documents: Documents, leaving: Collection[str] = ()) -> Decisions:
        """Compare with what is stored, within a transaction or a question; nothing counts that those have which are `leaving`."""
        wanted = {each.hardware.id: each for each in documents.machines}
        records = {each.hardware.id: each for each in tables.hardware.some(wanted)}
        holders: dict[str, list[tuple[str, Hardware]]] = {}
        for each in documents.machines:
            if (record := records.get(each.hardware.id)) and record.hardware.interfaces == each.hardware.interfaces:
                continue  # it has its own, and no other can
            claimed = [one for one in tables.hardware.holders(each.hardware) if one[1] not in leaving]
            if claimed:
                holding = tables.hardware.some(holder for _, holder in claimed)
                others = {one.hardware.id: one.hardware for one in holding}
                holders[each.hardware.id] = [(claim, others[holder]) for claim, holder in claimed]
        flows = defaultdict(list)
        for flow in tables.declarations.named({each.name for each in documents.flows}):
            flows[flow.name].append(flow)
        referred = self._referred(documents)
        by_hand = {each.name for each in documents.flows if any(one.declaration is None for one in flows[each.name])}
        references = {each.template_ref for each in documents.flows if each.name in by_hand}
        stored = Stored(
            machines=records,
            templates={
                each.name: found for each in documents.templates if (found := _template_called(tables, each.name))
            },
            flows=flows,
            holders=holders,
            needing={
                each.hardware.id: tables.workflows.needing(each.hardware.id)
                for each in documents.machines
                if (record := records.get(each.hardware.id)) and claims(record.hardware) != claims(each.hardware)
            },
            let_netboot=tables.declarations.letting_netboot(wanted),
            template_ids={
                name: found.id
                for name, found in _templates_of(tables, references, Documents()).items()
                if not isinstance(found, Refusal)
            },
        )
        return decide(documents, stored, referred)

    def _referred(self, documents: Documents) -> dict[tuple[str, str], str]:
        wanted = {(each.namespace, each.hardware_ref) for each in documents.flows if each.hardware_ref}
        if not wanted:
            return {}
        known = [each.hardware for each in list(self._machines.known.all())]  # at once: others change it meanwhile
        machines = References([*known, *(each.hardware for each in documents.machines)])
        found = {key: machines.named(*key) for key in wanted}
        return {key: each.id for key, each in found.items() if each is not None}

    def _references(self, decisions: Decisions) -> References:
        """The machines as they will be."""
        return References([*(each.hardware for each in self._machines.known.all()), *decisions.hardware.values()])

    def _take_in(
        self, tables: Tables, decisions: Decisions, prepared: Mapping[int, Prepared], followed: _Followed
    ) -> Iterator[Result]:
        changed = [each for each in decisions.machines if each.content_changes]
        hardware = [decisions.hardware[each.declared.hardware.id] for each in changed]
        before = tables.hardware.some(each.id for each in hardware)
        tables.hardware.release([each.id for each in hardware])  # they may have exchanged cards
        self._machines.take_in(tables, hardware)
        followed.machines += [each.id for each in hardware]
        followed.macs |= {
            one.mac for each in (*hardware, *(record.hardware for record in before)) for one in each.interfaces
        }
        for machine in decisions.machines:
            if machine.outcome is Outcome.CONFIGURED and not machine.content_changes:
                tables.labels.replace(LabelKind.MACHINE, machine.id, machine.labels or NO_LABELS)
                followed.relabelled.append(machine.id)
            yield _result("hardware", machine.declared.name, machine, machine.declared.hardware.id)
        template_ids: dict[str, str] = {}
        for template in decisions.templates:
            template_id = template.id
            if template.content_changes:
                template_id = self._templates.take_in(tables, template.declared.name, template.declared.text).id
            template_ids[template.declared.name] = template_id
            if template.outcome is not Outcome.UNCHANGED and template.labels is not None:
                tables.labels.replace(LabelKind.TEMPLATE, template_id, template.labels)
            yield _result("template", template.declared.name, template, template_id)
        ready = {
            place: replace(each, template=replace(each.template, id=template_ids[each.template.name]))
            if isinstance(each.template, Template) and each.template.name in template_ids
            else each
            for place, each in prepared.items()
        }
        yield from self._take_flows_in(tables, decisions, ready, followed)

    def _take_flows_in(
        self, tables: Tables, decisions: Decisions, prepared: Mapping[int, Prepared], followed: _Followed
    ) -> Iterator[Result]:
        problems: list[Problem] = []
        for place, flow in enumerate(decisions.flows):
            workflow_id = flow.id
            if flow.outcome is Outcome.CREATED:
                if place not in prepared:
                    raise _ChangedMeanwhile
                ready = prepared[place]
                try:
                    workers = self._workflows.take_in(tables, ready)
                except Refusal as refusal:
                    problems += _told(flow.declared, refusal)
                    continue
                self._let_netboot(tables, ready, followed)
                followed.flows.append((ready.name, workers))
                workflow_id = ready.id
            elif flow.outcome is Outcome.CONFIGURED:
                tables.labels.replace(LabelKind.WORKFLOW, flow.id, flow.labels or NO_LABELS)
            yield _result("workflow", flow.declared.name, flow, workflow_id)
        refuse(problems)

    def _let_netboot(self, tables: Tables, ready: Prepared, followed: _Followed) -> None:
        """`toggleAllowNetboot` of a machine that is not among the documents: one that is was stored with it."""
        machine_id = ready.declared.let_netboot if ready.declared else ""
        for record in tables.hardware.some([machine_id] if machine_id else ()):
            if not all(each.allow_pxe for each in record.hardware.interfaces):
                self._machines.take_in(tables, [record.hardware.allowing_netboot()])
                followed.machines.append(machine_id)
                followed.macs |= {each.mac for each in record.hardware.interfaces}

    def _prune(self, tables: Tables, documents: Documents, wish: Wish, followed: _Followed) -> Iterator[Result]:
        surplus = _surplus_of(tables, documents, wish.prune)
        _refuse_more(surplus, wish.agreed)
        for machine, why in surplus.machines:
            old = machine_manifest(machine, machine.labels)
            if not why:
                self._machines.leave_out(tables, machine.id)
                followed.left_out.append(machine.id)
            outcome, new = (Outcome.KEPT, old) if why else (Outcome.PRUNED, None)
            yield Result(
                kind="hardware", name=called(machine), id=machine.id, outcome=outcome, why=why, old=old, new=new
            )
        for listed in surplus.templates:
            (template,) = tables.templates.matching(listed.id)
            old = template_manifest(template.name, template.data, template.labels)
            tables.templates.delete(template.id)
            yield Result(kind="template", name=template.name, id=template.id, outcome=Outcome.PRUNED, old=old)

    async def _follow(self, followed: _Followed) -> None:
        if followed.left_out:
            await self._machines.left_out(followed.left_out)
        if followed.machines:
            await self._machines.taken_in(followed.machines, followed.macs)
        if followed.relabelled:
            await self._machines.refresh(followed.relabelled)
        for name, workers in followed.flows:
            await self._workflows.taken_in(name, workers)
        self._wakeups.wake(CHANGES)


_NEVER: Final = datetime.min.replace(tzinfo=UTC)  # of a template that is not stored yet
_PRUNING: Final = (Outcome.PRUNED, Outcome.KEPT)


def refuse(problems: Sequence[Problem]) -> None:
    """Raise Invalid where there are problems."""
    if problems:
        raise Invalid(
            f"{NOTHING}, there {'is' if len(problems) == 1 else 'are'} {counted(len(problems), 'problem')}", problems
        )


def _result(
    kind: str,
    name: str,
    decision: Decision[DeclaredMachine] | Decision[DeclaredTemplate] | Decision[DeclaredFlow],
    id_: str,
) -> Result:
    return Result(
        kind=kind,
        name=name,
        id=id_,
        outcome=decision.outcome,
        why=decision.why,
        old=decision.old,
        new=decision.new,
    )


def _template_called(tables: Tables, name: str) -> Template | None:
    return next((each for each in tables.templates.matching(name) if each.name == name), None)


def _templates_of(
    tables: Tables, references: Collection[str], documents: Documents
) -> dict[str, Template | BuiltIn | Refusal]:
    """What Workflows mean by their templateRef: a template of the documents, one that is stored, or one of the program."""
    found: dict[str, Template | BuiltIn | Refusal] = {
        each.name: Template(id="", name=each.name, data=each.text, created_at=_NEVER, updated_at=_NEVER)
        for each in documents.templates
    }
    for each in set(references) - set(found):
        try:
            found[each] = find_template(tables, each)
        except (NotFound, Conflict) as refusal:
            found[each] = refusal
    return found


async def _text_problems(declared: DeclaredTemplate, texts: Mapping[str, str], turn: Turn) -> list[Problem]:
    """What is wrong with the text of a template."""
    try:
        await check(declared.text, turn)
    except Invalid as refusal:
        return [declared.text_problem(each, texts[declared.file]) for each in refusal.problems] or [
            declared.problem(str(refusal), "spec.data")
        ]
    return []


def _reference_problems(declared: DeclaredFlow, machines: References) -> Iterator[Problem]:
    if declared.hardware_ref and machines.named(declared.namespace, declared.hardware_ref) is None:
        yield declared.problem(
            f"hardware {declared.hardware_ref} is neither known nor in these files", "spec.hardwareRef"
        )


def _told(declared: DeclaredFlow, refusal: Refusal) -> list[Problem]:
    """Why a workflow cannot be made; what stands in its template has its line there."""
    listed = refusal.problems if isinstance(refusal, Invalid) else ()
    if not listed:
        return [declared.problem(str(refusal), "spec")]
    return [declared.problem(f"template {declared.template_ref}: {each}", "spec.templateRef") for each in listed]


def _ready(
    declared: DeclaredFlow,
    template: Template | BuiltIn,
    workflow_id: str,
    rendered: Rendered,
    machines: References,
    wish: Wish,
    who: str,
) -> Prepared:
    machine = machines.named(declared.namespace, declared.hardware_ref) if declared.toggles_netboot else None
    return Prepared(
        id=workflow_id,
        name=declared.name,
        template=template,
        devices=declared.devices,
        rendered=rendered,
        labels=declared.labels or {},
        who=who,
        confirm_wipe=wish.confirm_wipe,
        declared=Declaration(
            namespace=declared.namespace,
            template_ref=declared.template_ref,
            hardware_ref=declared.hardware_ref,
            let_netboot=machine.id if machine else "",
        ),
    )


def _surplus_of(tables: Tables, documents: Documents, selector: Selector | None) -> _Surplus:
    """What a selector selects and no document declares; machines that are out of service stay on record."""
    if selector is None:
        return _Surplus()
    declared = {each.hardware.id for each in documents.machines}
    named = {each.name for each in documents.templates}
    machines = [
        each.hardware
        for each in tables.hardware.all()
        if each.hardware.id not in declared and each.retired is None and selector.matches(each.hardware.labels)
    ]
    rollouts = tables.rollouts.waiting_in([each.id for each in machines])
    return _Surplus(
        machines=[(each, _why_kept(tables.workflows.needing(each.id), rollouts.get(each.id, ""))) for each in machines],
        templates=[each for each in tables.templates.all() if each.name not in named and selector.matches(each.labels)],
    )


def _refuse_more(surplus: _Surplus, agreed: Collection[str] | None) -> None:
    """Raise Conflict where something would be deleted that was not agreed to; None: everything may be."""
    deleted = [
        *((each.id, called(each)) for each, why in surplus.machines if not why),
        *((each.id, each.name) for each in surplus.templates),
    ]
    more = [name for deleted_id, name in deleted if agreed is not None and deleted_id not in agreed]
    if more:
        raise Conflict(
            f"{NOTHING}: {', '.join(more[:5])} would be pruned too by now, and that was not agreed to: look at it again with "
            "--dry-run"
        )


def _why_kept(needing: Sequence[str], rollout: str) -> str:
    """Why a machine is not deleted; empty when it is."""
    if needing:
        return (
            f"workflow {needing[0][:8]} is not over and needs it: `tinkbox workflow watch {needing[0][:8]}` follows it, "
            f"`tinkbox workflow cancel {needing[0][:8]}` ends it"
        )
    return f"it waits in rollout {rollout[:8]}: `tinkbox rollout get {rollout[:8]}` shows that" if rollout else ""
