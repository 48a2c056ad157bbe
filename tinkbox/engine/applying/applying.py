"""The use-case of `apply`: what files declare becomes what is there.

Rule 1: everything is checked before anything is stored, and all that is stored is stored in one transaction.
Rule 2: what is there is compared within that transaction, so that of two that apply the same at once one changes nothing.
Rule 3: what changes nothing, as a rehearsal, is answered of one committed state: nothing is written, and no writer waits for it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from tinkbox.engine.applying.comparison import Decision, Decisions, Outcome, Stored, decide
from tinkbox.engine.applying.kept_documents import beyond_room
from tinkbox.engine.applying.manifests import Manifest, machine_manifest, template_manifest
from tinkbox.engine.applying.reading import (
    DeclaredFlow,
    DeclaredKept,
    DeclaredMachine,
    DeclaredTemplate,
    Documents,
    Reading,
    SourceFile,
    Unread,
)
from tinkbox.engine.applying.structured_flows import called as called_tasks
from tinkbox.engine.applying.structured_flows import seen
from tinkbox.engine.documents.definitions import invalid_template, refuse_ignored
from tinkbox.engine.documents.kubernetes import Part, parts_of, read_part
from tinkbox.engine.machines.machines import Machines, claims, refuse_retired
from tinkbox.engine.machines.references import References, runs_elsewhere
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.rendering import DECLARED_IN, Rendered, check, render_each, rendering_data
from tinkbox.engine.templates.structured_tasks import Entry, composed
from tinkbox.engine.templates.templates import Templates, find_template
from tinkbox.engine.turns import Rehearsals, Turn, Turns, in_thread, seldom_collected
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.engine.workflows.shortages import New, Shortages
from tinkbox.engine.workflows.workflows import Prepared, Workflows
from tinkbox.model.access import NOT_SHOWN
from tinkbox.model.declaration import Declaration
from tinkbox.model.devices import addresses
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKey, KeptKind
from tinkbox.model.documents.rule_sets import read_rule_sets
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal, TooLarge, Unavailable
from tinkbox.model.hardware import Hardware, MacAddress, called, worker_of
from tinkbox.model.labels import NO_LABELS, LabelKind, Selector
from tinkbox.model.notes import Retirement
from tinkbox.model.text import counted, natural
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import ListedTemplate, Template

MAX_NEW: Final = 1000  # workflows of which the rendered templates are in memory
AT_ONCE: Final = 200  # workflows that are rendered, machines that are followed, in one go
PIECE: Final = 64 * 1024  # letters that are read in one go
# What 16 MiB of machines have, written closely; of nothing but empty lists that are a hundred megabytes of memory.
MAX_VALUES: Final = 1_500_000
MOST_PROBLEMS: Final = 1000  # with more of them no further file is read
TRIES: Final = 5
NOTHING: Final = "nothing was applied"


CheckTexts = Callable[[Hardware], Sequence[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How documents are to be applied.

    With `rehearsal` nothing is stored.  `prune` deletes machines, templates and kept documents with these labels that no
    document declares; with `agreed` only what has those ids may be deleted, and of an id with a time only what was made then: a machine
    that is registered anew has the id of its name.  `confirm_wipe` is as in `Workflows.create`.  `apart`: templates are of a
    person who may not operate, and are rendered as in `render_each`.  Without `reasons` it is not told why a workflow cannot
    be made, or where it would run, where that may have what the template made of a machine's document.  `require_images` is as
    in `Workflows.create`, and `strict` refuses what would be ignored.  `looks`: the person may look, and is told what new
    workflows will lack.
    """

    rehearsal: bool = False
    prune: Selector | None = None
    agreed: Mapping[str, datetime | None] | None = None
    confirm_wipe: bool = False
    apart: bool = False
    reasons: bool = True
    require_images: bool = False
    strict: bool = False
    looks: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of one thing; `old` and `new` are its manifests, None: it was not there, or is not any more.

    `created_at` is that of what is pruned.
    """

    kind: str
    name: str
    id: str
    outcome: Outcome
    why: str = ""
    old: Manifest | None = None
    new: Manifest | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What became of every document, machines first, then templates, workflows and what was pruned.

    `shared` are the names of workflows among them that other workflows have too.
    """

    results: Sequence[Result]
    shared: Collection[str] = ()
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

    machines: Sequence[tuple[MachineRecord, str]] = ()
    templates: Sequence[ListedTemplate] = ()
    kept: Sequence[KeptDocument] = ()

    @property
    def leaving(self) -> dict[str, str]:
        """What people call the machines that are not kept, by their ids."""
        return {each.hardware.id: called(each.hardware) for each, why in self.machines if not why}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prospect:
    """What would become of documents, by one committed state.

    `pruned` are the results of `surplus`, `needed` the problems with it, `templates` what new workflows mean by their
    references, `tasks` what those of v1alpha2 do, `notes` what there is to say of rules.
    """

    decisions: Decisions
    surplus: _Surplus
    pruned: Sequence[Result]
    needed: Sequence[Problem]
    templates: Mapping[str, Template | BuiltIn | Refusal]
    tasks: Mapping[KeptKey, Manifest]
    notes: Sequence[Problem] = ()

    @property
    def changes(self) -> bool:
        """Whether anything would be stored."""
        outcomes = {each.outcome for each in (*self.pruned, *_results(self.decisions))}
        return bool(outcomes & {Outcome.CREATED, Outcome.CONFIGURED, Outcome.PRUNED})


class _Lines:
    """The lines of files, by their names: they are split where a problem is looked for, once."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._texts = {each.name: each.text for each in files}
        self._lines: dict[str, list[str]] = {}

    def of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = self._texts[file].splitlines()
        return self._lines[file]


class _ChangedMeanwhile(Exception):
    """A workflow is new after all, and nothing was rendered for it."""


class Applying:
    """Applies documents.  `check_texts` says what of a machine's user-data and the like is odd, and raises Invalid.

    `notes_on` says what of its document is not honoured, `shortages` what new workflows will lack.  Unless the appliance
    `discovers`, rules for unknown machines are kept and not followed.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        templates: Templates,
        workflows: Workflows,
        new_id: Callable[[], str],
        renderings: Turns,
        rehearsals: Rehearsals,
        check_texts: CheckTexts,
        notes_on: Callable[[Hardware], Iterable[Problem]],
        shortages: Shortages,
        *,
        discovers: bool,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._templates = templates
        self._workflows = workflows
        self._new_id = new_id
        self._renderings = renderings
        self._check_texts = check_texts
        self._shortages = shortages
        self._notes_on = notes_on
        self._rehearsals = rehearsals
        self._discovers = discovers

    async def apply(self, files: Sequence[SourceFile], wish: Wish, who: str) -> Applied:
        """Have what is there become what the files declare, as `wish` says.

        Raises Invalid with every problem, each with its file and line, and Conflict where more would be pruned than was
        agreed to; nothing is stored then.
        """
        with self._renderings.place(who) as turn:
            if not wish.rehearsal:
                return await self._applied(files, wish, who, turn)
            async with self._rehearsals.turn(who):
                return await self._applied(files, wish, who, turn)

    async def _applied(self, files: Sequence[SourceFile], wish: Wish, who: str, turn: Turn) -> Applied:
        with seldom_collected:
            documents = await self._read(files, wish, turn)
            texts = _Lines(files)
            ask = self._store.read_long if wish.rehearsal else self._store.read
            if documents.problems:
                others: list[Problem] = []
                for one in documents.templates:
                    others += (await _judged_text(one, texts, wish, turn)).problems
                prospect = await ask(lambda tables: self._prospect(tables, documents, None))
                refuse([*documents.problems, *others, *self._unknown(prospect, documents.unread)])
            if not len(documents):
                raise Invalid("there are no documents of kind Hardware, Template or Workflow in it", documents.notes)
            for _ in range(TRIES):
                prospect = await ask(lambda tables: self._prospect(tables, documents, wish.prune))
                prepared, ignored = await self._prepared(prospect, texts, wish, who, turn)
                try:
                    if wish.rehearsal or not prospect.changes:
                        applied = await self._foretell(documents, prospect, prepared, wish)
                    else:
                        applied = await self._carry_out(documents, prospect, prepared, wish, who)
                    return replace(applied, notes=[*applied.notes, *prospect.notes, *ignored])
                except _ChangedMeanwhile:
                    continue
        raise Unavailable(f"{NOTHING}: others change the same things at the same time: try again later")

    async def _read(self, files: Sequence[SourceFile], wish: Wish, turn: Turn) -> Documents:
        """What the files declare; where more than MOST_PROBLEMS are wrong, the rest is not read."""
        reading = Reading(self._notes_on, discovers=self._discovers)
        for piece in _pieces(files):
            if reading.problems > MOST_PROBLEMS:
                reading.end_early()
                break
            if reading.values > MAX_VALUES:
                raise TooLarge(f"{NOTHING}: more than {MAX_VALUES} values in these documents: apply them in parts")
            await in_thread(turn, partial(self._read_parts, strict=wish.strict), piece, reading)
        return await in_thread(turn, reading.documents)

    def _read_parts(self, parts: Iterable[tuple[SourceFile, Part]], reading: Reading, *, strict: bool) -> None:
        for file, part in parts:
            for each in reading.take(file, read_part(part, strict=strict)):
                try:
                    reading.note(each.problem(one.text, one.key) for one in self._check_texts(each.hardware))
                except Invalid as refusal:
                    reading.refuse(each.problem(one.text, one.key) for one in refusal.problems)

    def _prospect(self, tables: Tables, documents: Documents, prune: Selector | None) -> _Prospect:
        surplus = _surplus_of(tables, documents, prune)
        decisions = self._decide(tables, documents, surplus.leaving)
        wanted = {each.declared.template_ref for each in decisions.flows if each.outcome is Outcome.CREATED}
        return _Prospect(
            decisions=decisions,
            surplus=surplus,
            pruned=list(_pruned(tables, surplus)),
            needed=[*self._needed(tables, documents, surplus), *_beyond_room(tables, decisions, surplus.kept)],
            templates=_templates_of(tables, wanted, documents),
            tasks=_tasks_of(tables, documents),
            notes=list(_lacked_by_rules(tables, documents)),
        )

    async def _prepared(
        self, prospect: _Prospect, texts: _Lines, wish: Wish, who: str, turn: Turn
    ) -> tuple[dict[int, Prepared], list[Problem]]:
        """Check what is to change, and fill the templates of new workflows, by the places of these in the documents.

        Beside them is what is ignored of templates that change, and of others that new workflows are made of.
        """
        decisions = prospect.decisions
        problems = [*decisions.problems, *prospect.needed]
        told: dict[str, Sequence[Problem]] = {}
        for each in decisions.templates:
            if each.content_changes:
                judged = await _judged_text(each.declared, texts, wish, turn)
                problems += judged.problems
                if judged.ignored:
                    told[each.declared.name] = judged.ignored
        if problems:
            refuse([*problems, *self._unknown(prospect, Unread())])
        _refuse_more(prospect.surplus, wish.agreed)
        new = sum(each.outcome is Outcome.CREATED for each in decisions.flows)
        if new > MAX_NEW:
            raise TooLarge(f"{NOTHING}: {new} new workflows, and {MAX_NEW} are made at once: apply them in parts")
        prepared = await self._filled_flows(prospect, wish, who, turn) if new else {}
        for place, ready in prepared.items() if wish.reasons else ():
            flow = decisions.flows[place].declared
            if ready.ignored:
                told.setdefault(ready.template.name, _of_template(flow, ready.ignored))
        return prepared, [each for ignored in told.values() for each in ignored]

    async def _foretell(
        self, documents: Documents, prospect: _Prospect, prepared: Mapping[int, Prepared], wish: Wish
    ) -> Applied:
        """What would become of the documents; raises Invalid as `_carry_out`."""

        def foretold(tables: Tables) -> Applied:
            notes = self._try_flows(tables, prospect, prepared, wish) if prepared else ()
            told = notes if wish.reasons else ()
            return _applied(tables, documents, [*prospect.pruned, *_results(prospect.decisions)], told)

        ask = self._store.read_long if wish.rehearsal else self._store.read
        return await ask(foretold)

    def _try_flows(
        self, tables: Tables, prospect: _Prospect, prepared: Mapping[int, Prepared], wish: Wish
    ) -> list[Problem]:
        """Raise what stands in the way of new workflows, with the machines as they will be; returns what there is to say of them."""
        decisions = prospect.decisions
        machines, leaving = References(decisions.hardware.values()), prospect.surplus.leaving
        leaving_service = {each.declared.hardware.id for each in decisions.machines if each.retires is not None}
        wanted: dict[str, None] = {}  # of those that are leaving

        def hardware_at(address: str) -> str | None:
            if (declared := machines.at(address)) is not None:
                return declared.id
            held = tables.hardware.by_address(address)
            if held in leaving:
                wanted[leaving[held]] = None
            return None if held in leaving or held in decisions.hardware else held

        problems: list[Problem] = []
        notes: list[Problem] = []
        new: list[New] = []
        for place, ready in prepared.items():
            declared = decisions.flows[place].declared
            wanted.clear()
            try:
                workflow = self._workflows.bound(hardware_at, ready)
                workers = workflow.workers()
            except Refusal as refusal:
                gone = [_pruned_away(declared, f"machine {each}", "spec") for each in wanted]
                problems += gone or _told(declared, refusal, reasons=wish.reasons)
                continue
            try:
                refuse_retired(tables, workers)
                if retiring := [each for each in workers if each in leaving_service]:
                    name = called(decisions.hardware[retiring[0]])
                    raise Conflict(f"machine {name} is retired by its document: leave it out, or the workflow")
            except Refusal as refusal:
                problems += _told(declared, refusal)
            notes += _elsewhere(tables, declared, decisions, workers)
            new.append(New(workflow, ready.rendered.definition.metadata))
        refuse(problems)
        return [*notes, *self._lacking(new, decisions, wish)]

    def _lacking(self, new: Sequence[New], decisions: Decisions, wish: Wish) -> Iterator[Problem]:
        """What new workflows will lack, with the machines as they will be."""

        def hardware_of(worker: str) -> Hardware | None:
            record = self._machines.known.get(worker)
            return decisions.hardware.get(worker) or (record.hardware if record else None)

        if not wish.looks:
            return
        shortages = self._shortages
        for each in (*shortages.images(new), *shortages.metadata(new, hardware_of), *shortages.names(new)):
            yield Problem(text=each)

    async def _filled_flows(
        self,
        prospect: _Prospect,
        wish: Wish,
        who: str,
        turn: Turn,
    ) -> dict[int, Prepared]:
        """New workflows by their places, those of one template together: it is read once."""
        decisions, templates = prospect.decisions, prospect.templates
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
            problems += [problem for each in flows for problem in _reference_problems(each, template, machines)]
            if isinstance(template, Refusal):
                continue
            for begin in range(0, len(places), AT_ONCE):
                piece = places[begin : begin + AT_ONCE]
                declared = flows[begin : begin + AT_ONCE]
                if declared[0].structured:
                    filled = await self._filled_tasks(declared, prospect.tasks, machines, wish, turn)
                else:
                    filled = await self._filled(template, declared, machines, wish, turn)
                for place, flow, (workflow_id, rendered) in zip(piece, declared, filled, strict=True):
                    if isinstance(rendered, Rendered) and wish.strict and rendered.definition.ignored:
                        rendered = invalid_template(rendered.definition.ignored)
                    if isinstance(rendered, Refusal):
                        problems += _told(flow, rendered, reasons=wish.reasons)
                    else:
                        prepared[place] = _ready(flow, template, workflow_id, rendered, machines, wish, who)
        refuse(problems)
        return prepared

    async def _filled(
        self, template: Template | BuiltIn, flows: Sequence[DeclaredFlow], machines: References, wish: Wish, turn: Turn
    ) -> list[tuple[str, Rendered | Refusal]]:
        """The template filled for each of these workflows, with the id that the workflow is to have."""
        ids = [self._new_id() for _ in flows]
        found: list[Rendered | Refusal | None] = [None] * len(flows)
        data = {}
        for place, (each, workflow_id) in enumerate(zip(flows, ids, strict=True)):
            seen = machines.named(each.namespace, each.hardware_ref) if each.hardware_ref else None
            known = (machines.at(address) for address in addresses(each.devices))
            try:
                data[place] = rendering_data(each.devices, seen or next(filter(None, known), None), workflow_id)
            except Refusal as refusal:
                found[place] = refusal
        try:
            rendered: Sequence[Rendered | Invalid] = await render_each(
                template.data, list(data.values()), turn, apart=wish.apart, way_out=DECLARED_IN
            )
        except Invalid as refusal:  # whatever the machine
            rendered = [refusal] * len(data)
        for place, result in zip(data, rendered, strict=True):
            found[place] = result
        return [(workflow_id, each) for workflow_id, each in zip(ids, found, strict=True) if each is not None]

    async def _filled_tasks(
        self,
        flows: Sequence[DeclaredFlow],
        tasks: Mapping[KeptKey, Manifest],
        machines: References,
        wish: Wish,
        turn: Turn,
    ) -> list[tuple[str, Rendered | Refusal]]:
        """As `_filled`, of workflows of v1alpha2."""
        filled: list[tuple[str, Rendered | Refusal]] = []
        for flow in flows:
            workflow_id = self._new_id()
            try:
                entries = _entries_of(flow, tasks, machines)
                text = await composed(flow.structured, entries, turn, apart=wish.apart)
                (rendered,) = await render_each(text, [{}], turn, apart=wish.apart, way_out=DECLARED_IN)
            except Refusal as refusal:
                filled.append((workflow_id, refusal))
            else:
                filled.append((workflow_id, rendered))
        return filled

    async def _carry_out(
        self, documents: Documents, prospect: _Prospect, prepared: Mapping[int, Prepared], wish: Wish, who: str
    ) -> Applied:
        if prepared and prospect.surplus.leaving:
            # Once these are deleted, nothing tells what a workflow wants with them.
            await self._store.read(lambda tables: self._try_flows(tables, prospect, prepared, wish))
        followed = _Followed()

        def use_case(tables: Tables) -> Applied:
            pruned = self._prune(tables, documents, wish, followed)
            decisions = self._decide(tables, documents)
            refuse([*decisions.problems, *_beyond_room(tables, decisions)])
            ids, notes = self._take_in(tables, decisions, prepared, followed, wish, who)
            return _applied(tables, documents, [*pruned, *_results(decisions, ids, prepared)], notes)

        applied = await self._store.write(use_case)
        await self._follow(followed)
        return applied

    def _decide(self, tables: Tables, documents: Documents, leaving: Collection[str] = ()) -> Decisions:
        """Compare with what is stored, within a transaction or a question; nothing counts that those have which are `leaving`."""
        wanted = {each.hardware.id: each for each in documents.machines}
        records = {each.hardware.id: each for each in tables.hardware.some(wanted)}
        holders: dict[str, list[tuple[str, Hardware]]] = {}
        for each in documents.machines:
            record = records.get(each.hardware.id)
            if record and _claimed_of(record.hardware) == _claimed_of(each.hardware):
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
                if (record := records.get(each.hardware.id))
                and (each.retired is not None or claims(record.hardware) != claims(each.hardware))
            },
            waiting=tables.rollouts.waiting_in(
                [each.hardware.id for each in documents.machines if each.retired is not None]
            ),
            kept={each.key: each for each in tables.kept_documents.some(one.document.key for one in documents.kept)},
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

    def _unknown(self, prospect: _Prospect, unread: Unread) -> list[Problem]:
        """What new workflows refer to that is neither known nor declared, nor what a document that is wrong may declare."""
        machines = self._references(prospect.decisions)
        flows = [each.declared for each in prospect.decisions.flows if each.outcome is Outcome.CREATED and unread.whole]
        return [
            problem
            for each in flows
            for problem in _reference_problems(each, prospect.templates[each.template_ref], machines, unread)
        ]

    def _take_in(
        self,
        tables: Tables,
        decisions: Decisions,
        prepared: Mapping[int, Prepared],
        followed: _Followed,
        wish: Wish,
        who: str,
    ) -> tuple[Mapping[str | KeptKey, str], list[Problem]]:
        """Store everything; returns the ids of templates and kept documents, and what there is to say of the workflows."""
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
            labels = machine.labels if machine.outcome is Outcome.CONFIGURED and not machine.content_changes else None
            if labels is not None:
                tables.labels.replace(LabelKind.MACHINE, machine.id, labels)
                followed.relabelled.append(machine.id)
            if machine.retires is not None:
                self._retire(tables, machine.declared.hardware.id, machine.retires, who)
                followed.machines.append(machine.declared.hardware.id)
        template_ids: dict[str, str] = {}
        for template in decisions.templates:
            template_id = template.id
            if template.content_changes:
                template_id = self._templates.take_in(tables, template.declared.name, template.declared.text).id
            template_ids[template.declared.name] = template_id
            if template.outcome is not Outcome.UNCHANGED and template.labels is not None:
                tables.labels.replace(LabelKind.TEMPLATE, template_id, template.labels)
        ids: dict[str | KeptKey, str] = {}
        for kept in decisions.kept:
            ids[kept.declared.document.key] = self._keep(tables, kept)
        ids.update(template_ids)
        ready = {
            place: replace(each, template=replace(each.template, id=template_ids[each.template.name]))
            if isinstance(each.template, Template) and each.template.name in template_ids
            else each
            for place, each in prepared.items()
        }
        return ids, self._take_flows_in(tables, decisions, ready, followed, wish)

    def _keep(self, tables: Tables, decision: Decision[DeclaredKept]) -> str:
        """Keep a document, unless nothing changes; returns its id."""
        document = replace(decision.declared.document, id=decision.id or self._new_id(), manifest=decision.new)
        if decision.outcome is not Outcome.UNCHANGED:
            tables.kept_documents.put(document, self._workflows.now())
        return document.id

    def _retire(self, tables: Tables, machine_id: str, reason: str, who: str) -> None:
        """Take a machine out of service, or give another reason for that it is."""
        before = tables.retirements.of(machine_id)
        tables.retirements.remove(machine_id)
        at = before.at if before else self._workflows.now()
        tables.retirements.put(machine_id, Retirement(at=at, who=who, reason=reason))
        self._machines.sessions.void(tables, machine_id)

    def _take_flows_in(
        self, tables: Tables, decisions: Decisions, prepared: Mapping[int, Prepared], followed: _Followed, wish: Wish
    ) -> list[Problem]:
        """Returns what there is to say of new workflows."""
        problems: list[Problem] = []
        notes: list[Problem] = []
        new: list[New] = []
        for place, flow in enumerate(decisions.flows):
            if flow.outcome is Outcome.CREATED:
                if place not in prepared:
                    raise _ChangedMeanwhile
                ready = prepared[place]
                try:
                    workflow = self._workflows.take_in(tables, ready)
                except Refusal as refusal:
                    problems += _told(flow.declared, refusal)
                    continue
                workers = workflow.workers()
                new.append(New(workflow, ready.rendered.definition.metadata))
                notes += _elsewhere(tables, flow.declared, decisions, workers)
                self._let_netboot(tables, ready, followed)
                followed.flows.append((ready.name, workers))
            elif flow.outcome is Outcome.CONFIGURED:
                tables.labels.replace(LabelKind.WORKFLOW, flow.id, flow.labels or NO_LABELS)
        refuse(problems)
        return [*notes, *self._lacking(new, decisions, wish)]

    def _let_netboot(self, tables: Tables, ready: Prepared, followed: _Followed) -> None:
        """`toggleAllowNetboot` of a machine that is not among the documents: one that is was stored with it."""
        machine_id = ready.declared.let_netboot if ready.declared else ""
        for record in tables.hardware.some([machine_id] if machine_id else ()):
            if not all(each.allow_pxe for each in record.hardware.interfaces):
                self._machines.take_in(tables, [record.hardware.allowing_netboot()])
                followed.machines.append(machine_id)
                followed.macs |= {each.mac for each in record.hardware.interfaces}

    def _prune(self, tables: Tables, documents: Documents, wish: Wish, followed: _Followed) -> Sequence[Result]:
        surplus = _surplus_of(tables, documents, wish.prune)
        _refuse_more(surplus, wish.agreed)
        refuse(list(self._needed(tables, documents, surplus)))
        pruned = list(_pruned(tables, surplus))
        for leaving in surplus.leaving:
            self._machines.leave_out(tables, leaving)
            followed.left_out.append(leaving)
        for template in surplus.templates:
            tables.templates.delete(template.id)
        for kept in surplus.kept:
            tables.kept_documents.delete(kept.id)
        return pruned

    def _needed(self, tables: Tables, documents: Documents, surplus: _Surplus) -> Iterator[Problem]:
        """That a document needs what would be deleted: without it nobody could apply the same documents to another appliance."""
        leaving, templates = surplus.leaving, {each.id: each.name for each in surplus.templates}
        kept = {each.key for each in surplus.kept}
        if not documents.flows or not (leaving or templates or kept):
            return
        found = _templates_of(tables, {each.template_ref for each in documents.flows}, documents)
        referred = self._referred(documents)
        declared = References(each.hardware for each in documents.machines)
        going = References(each.hardware for each, _ in surplus.machines if each.hardware.id in leaving)
        for each in documents.flows:
            template = found[each.template_ref]
            if isinstance(template, Template) and template.id in templates:
                yield _pruned_away(each, f"template {templates[template.id]}", "spec.templateRef")
            for _, _, task in sorted(kept & {each.task_key(one) for one in each.tasks}):
                yield _pruned_away(each, f"task {task}", "spec.tasks")
            machine = referred.get((each.namespace, each.hardware_ref), "")
            if machine in leaving:
                yield _pruned_away(each, f"machine {leaving[machine]}", "spec.hardwareRef")
            at = [going.at(address) for address in addresses(each.devices) if declared.at(address) is None]
            for other in dict.fromkeys(one.id for one in at if one is not None and one.id != machine):
                yield _pruned_away(each, f"machine {leaving[other]}", "spec")

    async def _follow(self, followed: _Followed) -> None:
        if followed.left_out:
            await self._machines.left_out(followed.left_out)
        # Some at a time: booting machines are answered in between.
        for begin in range(0, len(followed.machines), AT_ONCE):
            await self._machines.taken_in(followed.machines[begin : begin + AT_ONCE], ())
        if followed.macs:
            await self._machines.taken_in((), followed.macs)
        if followed.relabelled:
            await self._machines.refresh(followed.relabelled)
        for name, workers in followed.flows:
            await self._workflows.taken_in(name, workers)
        self._wakeups.wake(CHANGES)


_NEVER: Final = datetime.min.replace(tzinfo=UTC)  # of a template that is not stored yet
_PRUNING: Final = (Outcome.PRUNED, Outcome.KEPT)
_ABSENT: Final = "is neither known nor in these files: give its document, or its new name where it was renamed"
_KINDS: Final = ("hardware", "template", *KeptKind, "workflow")


def _pieces(files: Iterable[SourceFile]) -> Iterator[list[tuple[SourceFile, Part]]]:
    """The files in their order, some at a time: a turn of a few tenths of a second reads as many small ones as it can."""
    piece: list[tuple[SourceFile, Part]] = []
    left = PIECE
    for file, part in ((each, part) for each in files for part in parts_of(each.text)):
        if piece and len(part.text) > left:
            yield piece
            piece, left = [], PIECE
        piece.append((file, part))
        left -= len(part.text)
    if piece:
        yield piece


def refuse(problems: Sequence[Problem]) -> None:
    """Raise Invalid where there are problems."""
    if problems:
        raise Invalid(
            f"{NOTHING}, there {'is' if len(problems) == 1 else 'are'} {counted(len(problems), 'problem')}", problems
        )


def _applied(tables: Tables, documents: Documents, results: Iterable[Result], notes: Sequence[Problem] = ()) -> Applied:
    ordered = sorted(results, key=lambda each: (each.outcome in _PRUNING, _KINDS.index(each.kind)))
    shared = tables.workflows.shared_names({each.name for each in documents.flows}) if documents.flows else ()
    return Applied(results=ordered, shared=shared, notes=[*documents.notes, *notes])


def _results(
    decisions: Decisions, ids: Mapping[str | KeptKey, str] | None = None, prepared: Mapping[int, Prepared] | None = None
) -> Iterator[Result]:
    """What becomes of each document; without the ids of what was made what is new has none."""
    for machine in decisions.machines:
        yield _result("hardware", machine.declared.name, machine, machine.declared.hardware.id)
    for template in decisions.templates:
        name = template.declared.name
        yield _result("template", name, template, (ids or {}).get(name, template.id))
    for kept in decisions.kept:
        document = kept.declared.document
        yield _result(document.kind, document.name, kept, (ids or {}).get(document.key, kept.id))
    for place, flow in enumerate(decisions.flows):
        made = (prepared or {}).get(place) if flow.outcome is Outcome.CREATED else None
        yield _result("workflow", flow.declared.name, flow, made.id if made else flow.id)


def _pruned(tables: Tables, surplus: _Surplus) -> Iterator[Result]:
    """What becomes of what no document declares."""
    for record, why in surplus.machines:
        machine = record.hardware
        old = machine_manifest(machine, machine.labels)
        outcome, new, created_at = (Outcome.KEPT, old, None) if why else (Outcome.PRUNED, None, record.created_at)
        yield Result(
            kind="hardware",
            name=called(machine),
            id=machine.id,
            outcome=outcome,
            why=why,
            old=old,
            new=new,
            created_at=created_at,
        )
    for listed in surplus.templates:
        (template,) = tables.templates.having(listed.id)
        old = template_manifest(template.name, template.data, template.labels)
        yield Result(
            kind="template",
            name=template.name,
            id=template.id,
            outcome=Outcome.PRUNED,
            old=old,
            created_at=template.created_at,
        )
    for kept in surplus.kept:
        yield Result(
            kind=kept.kind,
            name=kept.name,
            id=kept.id,
            outcome=Outcome.PRUNED,
            old=dict(kept.manifest),
            created_at=kept.created_at,
        )


def _result(
    kind: str,
    name: str,
    decision: Decision[DeclaredMachine] | Decision[DeclaredTemplate] | Decision[DeclaredFlow] | Decision[DeclaredKept],
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
    return next(iter(tables.templates.named(name)), None)


def _templates_of(
    tables: Tables, references: Collection[str], documents: Documents
) -> dict[str, Template | BuiltIn | Refusal]:
    """What Workflows mean by their templateRef: a template of the documents, one that is stored, or one of the program."""
    found: dict[str, Template | BuiltIn | Refusal] = {
        each.name: Template(id="", name=each.name, data=each.text, created_at=_NEVER, updated_at=_NEVER)
        for each in documents.templates
    }
    found |= {
        each.template_ref: Template(
            id=each.template_ref,
            name=called_tasks([each.task_key(one) for one in each.tasks]),
            data="",
            created_at=_NEVER,
            updated_at=_NEVER,
        )
        for each in documents.flows
        if each.structured
    }
    for each in set(references) - set(found):
        try:
            found[each] = find_template(tables, each)
        except NotFound as refusal:
            place = documents.textless.get(each)
            found[each] = Invalid(f"template {each} at {place} has no text, and is left out") if place else refusal
        except Conflict as refusal:
            found[each] = refusal
    return found


def _lacked_by_rules(tables: Tables, documents: Documents) -> Iterator[Problem]:
    """The templates that rule sets mean and that are not there yet."""
    named = {each.name for each in documents.templates}
    for each in documents.kept:
        for one in read_rule_sets(each.document).rule_sets:
            if not one.template or one.template in named:
                continue
            try:
                find_template(tables, one.template)
            except (NotFound, Conflict) as refusal:
                told = f"{refusal}. Machines for which a rule holds wait for it"
                yield each.problem(told, "spec")


def _beyond_room(tables: Tables, decisions: Decisions, leaving: Iterable[KeptDocument] = ()) -> Iterator[Problem]:
    """That more would be kept than may be; `leaving` are deleted at the same time."""
    changed = [each for each in decisions.kept if each.outcome is not Outcome.UNCHANGED]
    if changed:
        going = [*(each.old for each in changed if each.old is not None), *(each.manifest for each in leaving)]
        yield from beyond_room(tables, [each.new for each in changed], going)


def _tasks_of(tables: Tables, documents: Documents) -> dict[KeptKey, Manifest]:
    """The Tasks that workflows of v1alpha2 mean: of the documents, else those that are kept."""
    wanted = {flow.task_key(each) for flow in documents.flows for each in flow.tasks}
    kept = tables.kept_documents.some(wanted) if wanted else ()
    declared = (each.document for each in documents.kept if each.document.key in wanted)
    return {each.key: dict(each.manifest) for each in (*kept, *declared)}


def _entries_of(flow: DeclaredFlow, tasks: Mapping[KeptKey, Manifest], machines: References) -> list[Entry]:
    """What a workflow of v1alpha2 refers to; raises Invalid with every problem."""
    problems: list[Problem] = []
    entries: list[Entry] = []
    for place, each in enumerate(flow.tasks):
        wanted = (each.get("hardware") or {}).get("hardwareRef") or {}
        named = wanted.get("name") or ""
        agent = each.get("agentID") or ""
        machine = machines.named(wanted.get("namespace") or flow.namespace, named) if named else machines.at(agent)
        task = tasks.get(flow.task_key(each))
        if named and machine is None:
            problems.append(Problem(text=f"spec.tasks[{place}]: hardware {named} {_ABSENT}"))
        if task is None:
            kind, namespace, name = flow.task_key(each)
            problems.append(Problem(text=f"spec.tasks[{place}]: {kind} {name} of namespace {namespace} {_ABSENT}"))
        else:
            worker = agent or (worker_of(machine) if machine else "")
            entries.append(Entry(task=task, worker=worker, hardware=seen(machine)))
    if problems:
        raise Invalid("a document refers to what is not there", problems)
    return entries


@dataclass(frozen=True, slots=True)
class _JudgedText:
    """What is wrong with the text of a template, and what of it is ignored."""

    problems: Sequence[Problem] = ()
    ignored: Sequence[Problem] = ()


async def _judged_text(declared: DeclaredTemplate, texts: _Lines, wish: Wish, turn: Turn) -> _JudgedText:
    try:
        ignored = await check(declared.text, turn, apart=wish.apart)
        if wish.strict:
            refuse_ignored(ignored)
    except Invalid as refusal:
        problems = [declared.text_problem(each, texts.of(declared.file)) for each in refusal.problems]
        return _JudgedText(problems or [declared.problem(str(refusal), "spec.data")])
    return _JudgedText(ignored=[declared.text_problem(each, texts.of(declared.file)) for each in ignored])


def _reference_problems(
    declared: DeclaredFlow, template: Template | BuiltIn | Refusal, machines: References, unread: Unread | None = None
) -> Iterator[Problem]:
    """What a workflow refers to that is not there; `unread` are names of documents that are wrong."""
    unread = unread or Unread()
    if declared.structured:  # what it refers to is looked for when it is filled
        return
    wanted, machine = declared.template_ref, declared.hardware_ref
    if isinstance(template, Refusal) and wanted not in unread.templates:
        is_absent = isinstance(template, NotFound)
        yield declared.problem(f"template {wanted} {_ABSENT}" if is_absent else str(template), "spec.templateRef")
    if machine and machine not in unread.machines and machines.named(declared.namespace, machine) is None:
        yield declared.problem(f"hardware {machine} {_ABSENT}", "spec.hardwareRef")


def _elsewhere(
    tables: Tables, declared: DeclaredFlow, decisions: Decisions, workers: Sequence[str]
) -> Iterator[Problem]:
    """What to say of a new workflow whose `hardwareRef` is none of its workers; the machines are as they will be."""
    wanted = decisions.referred.get((declared.namespace, declared.hardware_ref), "")
    if not wanted or wanted in workers:
        return
    machines = {each.hardware.id: each.hardware for each in tables.hardware.some([wanted, *workers])}
    machines |= decisions.hardware
    if wanted in machines and (told := runs_elsewhere(machines[wanted], [machines[each] for each in workers])):
        yield declared.problem(told, "spec.hardwareRef")


def _pruned_away(declared: DeclaredFlow, what: str, key: str) -> Problem:
    """That a workflow needs in a field what would be deleted."""
    return declared.problem(
        f"{what} would be pruned, and this workflow needs it: give its document as well, leave this one out, or have --prune "
        "select others",
        key,
    )


def _told(declared: DeclaredFlow, refusal: Refusal, *, reasons: bool = True) -> list[Problem]:
    """Why a workflow cannot be made; what stands in its template has its line there.  `reasons` as in `Wish`."""
    if not reasons:
        return [declared.problem(NOT_SHOWN, "spec.tasks" if declared.structured else "spec.templateRef")]
    listed = refusal.problems if isinstance(refusal, Invalid) else ()
    return _of_template(declared, listed) if listed else [declared.problem(str(refusal), "spec")]


def _of_template(declared: DeclaredFlow, told: Iterable[Problem]) -> list[Problem]:
    """What there is to say of a workflow's template, or of its tasks."""
    if declared.structured:
        return [declared.problem(str(each), "spec.tasks") for each in told]
    return [declared.problem(f"template {declared.template_ref}: {each}", "spec.templateRef") for each in told]


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
        require_images=wish.require_images,
        declared=Declaration(
            namespace=declared.namespace,
            template_ref=declared.template_ref,
            hardware_ref=declared.hardware_ref,
            let_netboot=machine.id if machine else "",
            document=declared.structured,
        ),
    )


def _surplus_of(tables: Tables, documents: Documents, selector: Selector | None) -> _Surplus:
    """What a selector selects and no document declares, in the order of names; machines that are out of service stay on record."""
    if selector is None:
        return _Surplus()
    declared = {each.hardware.id for each in documents.machines}
    named = {*documents.textless, *(each.name for each in documents.templates)}
    kept_keys = {each.document.key for each in documents.kept}
    machines = [
        each
        for each in tables.hardware.all()
        if each.hardware.id not in declared and each.retired is None and selector.matches(each.hardware.labels)
    ]
    machines.sort(key=lambda each: natural(called(each.hardware)))
    rollouts = tables.rollouts.waiting_in([each.hardware.id for each in machines])
    templates = [each for each in tables.templates.all() if each.name not in named and selector.matches(each.labels)]
    return _Surplus(
        machines=[
            (each, _why_kept(tables.workflows.needing(each.hardware.id), rollouts.get(each.hardware.id, "")))
            for each in machines
        ],
        templates=sorted(templates, key=lambda each: natural(each.name)),
        kept=[
            each for each in tables.kept_documents.all() if each.key not in kept_keys and selector.matches(each.labels)
        ],
    )


def _refuse_more(surplus: _Surplus, agreed: Mapping[str, datetime | None] | None) -> None:
    """Raise Conflict where something would be deleted that was not agreed to (`Wish`); None: everything may be."""
    if agreed is None:
        return
    deleted = [
        *((each.hardware.id, each.created_at, called(each.hardware)) for each, why in surplus.machines if not why),
        *((each.id, each.created_at, each.name) for each in surplus.templates),
        *((each.id, each.created_at, each.name) for each in surplus.kept),
    ]
    more = [name for known, made, name in deleted if known not in agreed or agreed[known] not in (None, made)]
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


def _claimed_of(hardware: Hardware) -> tuple[object, ...]:
    """What no other machine may have."""
    return hardware.interfaces, hardware.name
