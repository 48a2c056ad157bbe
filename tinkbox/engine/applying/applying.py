"""The use-case of `apply`: what files declare becomes what is there.

Rule 1: everything is checked before anything is stored, and all that is stored is stored in one transaction.
Rule 2: what is there is compared within that transaction, so that of two that apply the same at once one changes nothing.
Rule 3: what changes nothing, as a rehearsal, is answered of one committed state: nothing is written, and no writer waits for it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Final

from tinkbox.engine.applying.comparison import Decision, Decisions, Outcome, Stored, decide, uncompared
from tinkbox.engine.applying.document_references import (
    MeantTask,
    about_template,
    elsewhere,
    entries_of,
    lacked_by_rules,
    machines_of,
    made_with_others,
    own_machines,
    pruned_away,
    reference_problems,
    run_anew,
    stored_templates,
    tasks_of,
    templates_beside,
    templates_elsewhere,
    templates_of,
    why_not_made,
)
from tinkbox.engine.applying.kept_documents import beyond_room
from tinkbox.engine.applying.pruning import (
    RuleTemplate,
    Surplus,
    going,
    needed,
    pruned_results,
    refuse_unagreed,
    surplus_of,
    templates_of_rules,
)
from tinkbox.engine.applying.reading import (
    DeclaredFlow,
    DeclaredKept,
    DeclaredTemplate,
    Documents,
    Reading,
    Referred,
    SourceFile,
    TemplateKey,
    Unread,
)
from tinkbox.engine.applying.results import NOTHING, Applied, Result, applied_of, refuse, results_of
from tinkbox.engine.documents.definitions import invalid_template, refuse_ignored
from tinkbox.engine.documents.kubernetes import Part, RemarksOn, parts_of
from tinkbox.engine.machines.machines import Machines, refuse_retired
from tinkbox.engine.machines.references import References
from tinkbox.engine.machines.replacement import known_by, new_names
from tinkbox.engine.secrets.secrets import Secrets
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.filling import Wanted, fill_each
from tinkbox.engine.templates.references import Referents, referents_in
from tinkbox.engine.templates.rendering import (
    DECLARED_IN,
    Rendered,
    check,
    fill_from_sample,
    render_each,
    told_of_stored,
)
from tinkbox.engine.templates.sample_machine import SAMPLE
from tinkbox.engine.templates.structured_tasks import check_task, composed
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.turns import Rehearsals, Turns, seldom_collected
from tinkbox.engine.wakeups import CHANGES, Wakeups
from tinkbox.engine.workflows.obstacles import boot_obstacles, started_by_hand
from tinkbox.engine.workflows.shortages import New, Shortages
from tinkbox.engine.workflows.workflows import Prepared, Workflows
from tinkbox.model.documents.hardware import allowing_netboot
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKey, KeptKind
from tinkbox.model.documents.kubernetes import BMC_GROUP, CORE_GROUP, CORE_VERSION, GROUP, kinds_of
from tinkbox.model.documents.secret_fields import masked_machine
from tinkbox.model.errors import Conflict, Invalid, Problem, Refusal, TooLarge, Unavailable
from tinkbox.model.hardware import Hardware, MacAddress, addressed_by, called, names_of
from tinkbox.model.labels import NO_LABELS, LabelKind, Selector
from tinkbox.model.machine_keys import typed
from tinkbox.model.notes import Retirement
from tinkbox.model.template import Definition
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import Template
from tinkbox.thread_turns import Turn, in_thread

MAX_NEW: Final = 1000  # workflows of which the rendered templates are in memory
AT_ONCE: Final = 200  # workflows that are rendered, machines that are followed, in one go
PIECE: Final = 64 * 1024  # letters that are read in one go
# What 16 MiB of machines have, written closely; of nothing but empty lists that are a hundred megabytes of memory.
MAX_VALUES: Final = 1_500_000
MOST_PROBLEMS: Final = 1000  # with more of them no further file is read
TRIES: Final = 5
_NO_RIGHT: Final = (
    "a Secret is taken from who has the right to secrets, which you have not: leave it out, or log in with a token that has it "
    "(`tinkbox token create NAME --right operate --right secrets`)"
)
_NOTHING_TO_APPLY: Final = (
    "there are no documents in it that can be applied: kind "
    f"{', '.join(kinds_of(GROUP))}, of {BMC_GROUP} {', '.join(kinds_of(BMC_GROUP))}, of {CORE_VERSION} {', '.join(kinds_of(CORE_GROUP))}, "
    "or hardware of 2020"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How documents are to be applied.

    With `rehearsal` nothing is stored.  `prune` deletes machines, templates and kept documents with these labels that no
    document declares; with `agreed` only what has those ids may be deleted, and of an id with a time only what was made then: a machine
    that is registered anew has the id of its name.  `confirm_wipe` is as in `Workflows.create`.  `apart`: templates are of a
    person who may not operate, and are rendered as in `render_each`.  Without `reasons` it is not told why a workflow cannot
    be made, or where it would run, where that may have what the template made of a machine's document.  `require_images` is as
    in `Workflows.create`, and `strict` refuses what would be ignored.  `looks`: the person may look, and is told what new
    workflows will lack; `sets_secrets`: the person has the right to secrets, without which a `kind: Secret` is refused; without `secrets`, which a rehearsal alone may lack, templates are filled from masked documents; with `osie`, the architectures of the OSIEs that there are, also what keeps machines from booting.
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
    secrets: bool = True
    sets_secrets: bool = True
    osie: Collection[str] | None = None


@dataclass(slots=True)
class _Followed:
    """What memory has to follow, once it is committed."""

    machines: list[str] = field(default_factory=list)
    macs: set[MacAddress] = field(default_factory=set)
    relabelled: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    flows: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prospect:
    """What would become of documents, by one committed state.

    `pruned` are the results of `surplus`, `needed` the problems with it, `templates` what workflows mean by their
    references, `tasks` what those of v1alpha2 do, `notes` what there is to say of rules, `rule_templates` those that may name
    machines which would be pruned.
    """

    decisions: Decisions
    surplus: Surplus
    pruned: Sequence[Result]
    needed: Sequence[Problem]
    templates: Mapping[TemplateKey, Template | BuiltIn | Refusal]
    tasks: Mapping[KeptKey, MeantTask]
    notes: Sequence[Problem] = ()
    rule_templates: Sequence[RuleTemplate] = ()

    @property
    def changes(self) -> bool:
        """Whether anything would be stored."""
        outcomes = {each.outcome for each in (*self.pruned, *results_of(self.decisions))}
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
    """Applies documents.  `shortages` says what new workflows will lack.

    Unless the appliance `discovers`, rules for unknown machines are kept and not followed.
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
        remarks_on: RemarksOn,
        shortages: Shortages,
        secrets: Secrets,
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
        self._shortages = shortages
        self._secrets = secrets
        self._remarks_on = remarks_on
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
                for kept in documents.kept:
                    others += (await _judged_task(kept, wish, turn)).problems
                prospect = await ask(lambda tables: self._prospect(tables, documents, None, secrets=wish.secrets))
                refuse([*documents.problems, *others, *self._unknown(prospect, documents.unread)])
            if not len(documents):
                refuse(
                    (
                        await ask(lambda tables: self._prospect(tables, documents, None, secrets=wish.secrets))
                    ).decisions.problems
                )
                raise Invalid(_NOTHING_TO_APPLY, documents.notes)
            if documents.secrets and not wish.rehearsal:
                await self._store.read(self._secrets.make_ready)
            for _ in range(TRIES):
                prospect = await ask(lambda tables: self._prospect(tables, documents, wish.prune, secrets=wish.secrets))
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
        reading = Reading(self._remarks_on, discovers=self._discovers, strict=wish.strict)
        for piece in _pieces(files):
            if reading.problems > MOST_PROBLEMS:
                reading.end_early()
                break
            if reading.values > MAX_VALUES:
                raise TooLarge(f"{NOTHING}: more than {MAX_VALUES} values in these documents: apply them in parts")
            await in_thread(turn, _take_parts, piece, reading)
        documents = await in_thread(turn, reading.documents)
        if wish.sets_secrets or not documents.secrets:
            return documents
        refused = dict.fromkeys(each.problem(_NO_RIGHT) for each in documents.secrets)
        return replace(documents, secrets=(), problems=[*documents.problems, *refused])

    def _prospect(
        self, tables: Tables, documents: Documents, prune: Selector | None, *, secrets: bool = True
    ) -> _Prospect:
        surplus = surplus_of(tables, documents, prune)
        decisions = self._decide(tables, documents, surplus.leaving, secrets=secrets)
        new = [each.declared for each in decisions.flows if each.outcome is Outcome.CREATED]
        templates = templates_of(
            tables, {each.template_key for each in (*new, *_standing(decisions).values())}, documents
        )
        tasks = tasks_of(tables, documents)
        return _Prospect(
            decisions=decisions,
            surplus=surplus,
            pruned=list(pruned_results(tables, surplus)),
            needed=[
                *needed(tables, documents, surplus, self._referred),
                *_beyond_room(tables, decisions, surplus.kept),
                *self._too_many_secrets(tables, decisions),
            ],
            templates=templates,
            tasks=tasks,
            notes=[
                *lacked_by_rules(tables, documents),
                *templates_beside(tables, decisions, {each.id for each in surplus.templates}),
                *templates_elsewhere(new, templates),
                *run_anew(new),
                *made_with_others(decisions, tasks),
                *([] if secrets else uncompared(decisions)),
            ],
            rule_templates=templates_of_rules(tables, documents, surplus),
        )

    async def _prepared(
        self, prospect: _Prospect, texts: _Lines, wish: Wish, who: str, turn: Turn
    ) -> tuple[dict[int, Prepared], list[Problem]]:
        """Check what is to change, and fill the templates of new workflows, by the places of these in the documents.

        Beside them is what is ignored of templates and Tasks, and of others that workflows are made of, whether or not they change.
        """
        decisions = prospect.decisions
        problems = [*decisions.problems, *prospect.needed]
        told: dict[TemplateKey, Sequence[Problem]] = {}
        for each in decisions.templates:
            judged = await _judged_text(each.declared, texts, wish, turn, is_stored=not each.content_changes)
            problems += judged.problems
            if judged.ignored:
                told[each.declared.key] = judged.ignored
        of_tasks: list[Problem] = []
        for kept in decisions.kept:
            is_stored = kept.old is not None and kept.old.get("spec") == kept.new.get("spec")
            judged = await _judged_task(kept.declared, wish, turn, is_stored=is_stored)
            problems += judged.problems
            of_tasks += judged.ignored
        problems += await self._named_by_rules(prospect, wish, turn)
        if problems:
            refuse([*problems, *self._unknown(prospect, Unread())])
        refuse_unagreed(prospect.surplus, wish.agreed)
        new = sum(each.outcome is Outcome.CREATED for each in decisions.flows)
        if new > MAX_NEW:
            raise TooLarge(f"{NOTHING}: {new} new workflows, and {MAX_NEW} are made at once: apply them in parts")
        prepared = await self._filled_flows(prospect, wish, who, turn) if new else {}
        for place, ready in prepared.items() if wish.reasons else ():
            flow = decisions.flows[place].declared
            if ready.ignored:
                told.setdefault(_key_of(ready.template), about_template(flow, ready.ignored))
        told |= await self._told_of_standing(prospect, told, wish, turn)
        return prepared, [*of_tasks, *(each for ignored in told.values() for each in ignored)]

    async def _foretell(
        self, documents: Documents, prospect: _Prospect, prepared: Mapping[int, Prepared], wish: Wish
    ) -> Applied:
        """What would become of the documents; raises Invalid as `_carry_out`."""

        def foretold(tables: Tables) -> Applied:
            notes = self._try_flows(tables, prospect, prepared, wish) if prepared else ()
            told = notes if wish.reasons else ()
            return applied_of(tables, documents, [*prospect.pruned, *results_of(prospect.decisions)], told)

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
        coming = {each.declared.name for each in decisions.secrets}

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
                gone = [pruned_away(declared, f"machine {each}", "spec") for each in wanted]
                problems += gone or why_not_made(declared, refusal, reasons=wish.reasons)
                continue
            try:
                self._workflows.refuse_unfit_secrets(tables, ready.id, ready.rendered, coming)
                refuse_retired(tables, workers)
                if retiring := [each for each in workers if each in leaving_service]:
                    name = called(decisions.hardware[retiring[0]])
                    raise Conflict(f"machine {name} is retired by its document: leave it out, or the workflow")
            except Refusal as refusal:
                problems += why_not_made(declared, refusal)
            notes += elsewhere(tables, declared, decisions, workers)
            notes += about_template(declared, ready.notes)
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
        workers = dict.fromkeys(worker for each in new for worker in each.workflow.workers())
        toggling = (each.declared for each in decisions.flows if each.declared.toggles_netboot)
        allowed = {each.machine(decisions.referred) for each in toggling}
        machines = [
            allowing_netboot(each) if each.id in allowed else each
            for worker in workers
            if (each := hardware_of(worker)) is not None
        ]
        for each in (
            *(boot_obstacles(machines, wish.osie, self._key) if wish.osie is not None else ()),
            *started_by_hand(machines, self._key),
            *shortages.images(new),
            *shortages.elsewhere(new),
            *shortages.metadata(new, hardware_of),
            *shortages.names(new),
        ):
            yield Problem(text=each)

    def _key(self, hardware: Hardware) -> str:
        """What means a machine and no other; of one that is not stored yet, what it is called."""
        return self._machines.known.key(hardware) if self._machines.known.has(hardware.id) else called(hardware)

    async def _filled_flows(
        self,
        prospect: _Prospect,
        wish: Wish,
        who: str,
        turn: Turn,
    ) -> dict[int, Prepared]:
        """New workflows by their places, those of one template together: it is read once."""
        decisions, templates = prospect.decisions, prospect.templates
        machines, referents = self._references(decisions, secrets=wish.secrets), self._referents(prospect)
        problems: list[Problem] = []
        prepared: dict[int, Prepared] = {}
        groups: dict[TemplateKey, list[int]] = defaultdict(list)
        for place, one in enumerate(decisions.flows):
            if one.outcome is Outcome.CREATED:
                groups[one.declared.template_key].append(place)
        for reference, places in groups.items():
            template = templates[reference]
            found = {
                place: list(reference_problems(decisions.flows[place].declared, template, machines)) for place in places
            }
            problems += [problem for each in found.values() for problem in each]
            if isinstance(template, Refusal):
                continue
            # What a template makes of a machine that is not there is no news.
            places = [place for place in places if not found[place]]
            flows = [decisions.flows[place].declared for place in places]
            for begin in range(0, len(places), AT_ONCE):
                piece = places[begin : begin + AT_ONCE]
                declared = flows[begin : begin + AT_ONCE]
                if declared[0].structured:
                    filled = await self._filled_tasks(declared, prospect.tasks, machines, referents, wish, turn)
                else:
                    filled = await self._filled(template, declared, machines, referents, wish, turn)
                for place, flow, (workflow_id, rendered) in zip(piece, declared, filled, strict=True):
                    if isinstance(rendered, Rendered) and wish.strict and rendered.definition.ignored:
                        rendered = invalid_template(rendered.definition.ignored)
                    if isinstance(rendered, Refusal):
                        problems += why_not_made(flow, rendered, reasons=wish.reasons)
                    else:
                        prepared[place] = _ready(flow, template, workflow_id, rendered, decisions.referred, wish, who)
        refuse(problems)
        return prepared

    async def _told_of_standing(
        self, prospect: _Prospect, already: Collection[TemplateKey], wish: Wish, turn: Turn
    ) -> dict[TemplateKey, Sequence[Problem]]:
        """What is ignored of templates that workflows without a change are of, but for those of which it is told `already`.

        One workflow of each template is filled as it would be now.  Raises Invalid with what is ignored where that is to be
        refused, and where a template itself names a machine that would be deleted.  What cannot be filled any more is no news:
        nothing is made of it.
        """
        machines, referents = self._references(prospect.decisions, secrets=wish.secrets), self._referents(prospect)
        leaving = prospect.surplus.leaving
        meant_by = going(prospect.surplus, References(prospect.decisions.hardware.values()))
        problems: list[Problem] = []
        told: dict[TemplateKey, Sequence[Problem]] = {}
        for key, flow in _standing(prospect.decisions).items():
            template = prospect.templates[key]
            is_told = not isinstance(template, Refusal) and _key_of(template) in already
            if isinstance(template, Refusal) or (is_told and not leaving):
                continue
            if flow.structured:
                ((_, filled),) = await self._filled_tasks([flow], prospect.tasks, machines, referents, wish, turn)
            else:
                ((_, filled),) = await self._filled(template, [flow], machines, referents, wish, turn)
            if isinstance(filled, Refusal):
                continue
            definition = filled.definition
            named = meant_by(_workers_of(definition))
            problems += [pruned_away(flow, f"machine {leaving[each]}", "spec") for each in named]
            if is_told or not definition.ignored:
                continue
            if wish.strict:
                problems += why_not_made(flow, invalid_template(definition.ignored), reasons=wish.reasons)
            elif wish.reasons:
                told[_key_of(template)] = about_template(flow, definition.ignored)
        refuse(problems)
        return told

    async def _named_by_rules(self, prospect: _Prospect, wish: Wish, turn: Turn) -> list[Problem]:
        """That the template of a rule set names a machine that would be deleted, as far as it can be filled.

        It is filled with the values of the rule set, for a machine that has everything, and where it lacks another value, from
        a sample.  Of a machine that is one of these values the rule set itself says it.
        """
        leaving = prospect.surplus.leaving
        meant_by = going(prospect.surplus, References(prospect.decisions.hardware.values()))
        lookup = self._workflows.lookup(self._references(prospect.decisions, secrets=wish.secrets).at)
        problems: list[Problem] = []
        for each in prospect.rule_templates:
            wanted = Wanted(devices=each.devices, machine=SAMPLE)
            with suppress(Invalid):
                filled: Rendered | Invalid | None
                ((_, filled),) = await fill_each(each.text, [wanted], lookup, turn, apart=wish.apart)
                if not isinstance(filled, Rendered):
                    filled = await fill_from_sample(each.text, turn, apart=wish.apart)
                if isinstance(filled, Rendered):
                    values = each.devices.values()
                    named = meant_by(one for one in _workers_of(filled.definition) if one not in values)
                    problems += [each.told(f"machine {leaving[machine]}") for machine in named]
        return problems

    async def _filled(
        self,
        template: Template | BuiltIn,
        flows: Sequence[DeclaredFlow],
        machines: References,
        referents: Referents,
        wish: Wish,
        turn: Turn,
    ) -> list[tuple[str, Rendered | Refusal]]:
        """The template filled for each of these workflows, with the id that the workflow is to have."""
        ids = [self._new_id() for _ in flows]
        wanted = [
            Wanted(
                devices=each.devices,
                machine=machines.named(each.namespace, each.hardware_ref, each.addresses)
                if each.hardware_ref
                else None,
                workflow_id=workflow_id,
                marks_key=self._workflows.marks_key(workflow_id),
            )
            for each, workflow_id in zip(flows, ids, strict=True)
        ]
        lookup = self._workflows.lookup(machines.at, referents)
        try:
            filled = await fill_each(template.data, wanted, lookup, turn, apart=wish.apart, way_out=DECLARED_IN)
        except Invalid as refusal:  # whatever the machine
            return [(workflow_id, refusal) for workflow_id in ids]
        return [(workflow_id, rendered) for workflow_id, (_, rendered) in zip(ids, filled, strict=True)]

    async def _filled_tasks(
        self,
        flows: Sequence[DeclaredFlow],
        tasks: Mapping[KeptKey, MeantTask],
        machines: References,
        referents: Referents,
        wish: Wish,
        turn: Turn,
    ) -> list[tuple[str, Rendered | Refusal]]:
        """As `_filled`, of workflows of v1alpha2."""
        filled: list[tuple[str, Rendered | Refusal]] = []
        for flow in flows:
            workflow_id = self._new_id()
            try:
                entries = entries_of(flow, tasks, machines)
                text = await composed(
                    flow.structured,
                    entries,
                    turn,
                    flow.at,
                    marks_key=self._workflows.marks_key(workflow_id),
                    referents=referents,
                    apart=wish.apart,
                )
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
            return applied_of(tables, documents, [*pruned, *results_of(decisions, ids, prepared)], notes)

        applied = await self._store.write(use_case)
        await self._follow(followed)
        return applied

    def _decide(
        self, tables: Tables, documents: Documents, leaving: Collection[str] = (), *, secrets: bool = True
    ) -> Decisions:
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
        flows, declared = defaultdict(list), [*documents.flows, *documents.disabled]
        for flow in tables.declarations.named({each.name for each in declared}):
            flows[flow.name].append(flow)
        by_hand = {each.name for each in declared if any(one.declaration is None for one in flows[each.name])}
        references = {each.template_key for each in declared if each.name in by_hand}
        stored = Stored(
            machines=records,
            templates=stored_templates(tables, documents),
            flows=flows,
            holders=holders,
            needing={
                each.hardware.id: tables.workflows.needing(each.hardware.id)
                for each in documents.machines
                if (record := records.get(each.hardware.id))
                and (each.retired is not None or known_by(record.hardware) != known_by(each.hardware))
            },
            so_called=self._so_called(tables, documents, records, leaving),
            typed=partial(typed, tables.hardware),
            named=tables.hardware.named,
            waiting=tables.rollouts.waiting_in(
                [each.hardware.id for each in documents.machines if each.retired is not None]
            ),
            kept={each.key: each for each in tables.kept_documents.some(one.document.key for one in documents.kept)},
            let_netboot=tables.declarations.letting_netboot(wanted),
            template_ids={
                key: found.id
                for key, found in templates_of(tables, references, Documents()).items()
                if not isinstance(found, Refusal)
            },
            referred=self._referred(documents),
            own_machines=partial(own_machines, tables),
            reserved=self._machines.reserved,
            same_secrets=self._secrets.compared(tables, {each.name: each.value for each in documents.secrets}),
            secrets_beside=tables.secrets.beside([each.entry for each in documents.secrets]),
        )
        return decide(documents, stored, secrets=secrets)

    def _so_called(
        self, tables: Tables, documents: Documents, records: Mapping[str, MachineRecord], leaving: Collection[str]
    ) -> list[Hardware]:
        """The machines of today's format that have the names which documents give others."""
        stored = {each: record.hardware for each, record in records.items()}
        names = new_names([each.hardware for each in documents.machines], stored)
        found = tables.hardware.some(tables.hardware.so_called(names)) if names else ()
        return [each.hardware for each in found if each.hardware.id not in leaving]

    def _referred(self, documents: Documents) -> Referred:
        wanted = [each for each in (*documents.disabled, *documents.flows) if each.machine_keys]
        if not wanted:
            return {}
        known = [each.hardware for each in list(self._machines.known.all())]  # at once: others change it meanwhile
        machines = References([*known, *(each.hardware for each in documents.machines)])
        return {each.key: machines_of(each, machines) for each in wanted}

    def _references(self, decisions: Decisions, *, secrets: bool = True) -> References:
        """The machines as they will be; without `secrets` their documents are masked."""
        machines = [*(each.hardware for each in self._machines.known.all()), *decisions.hardware.values()]
        return References(machines if secrets else map(masked_machine, machines))

    def _too_many_secrets(self, tables: Tables, decisions: Decisions) -> list[Problem]:
        try:
            self._secrets.refuse_beyond_room(tables, sum(each.outcome is Outcome.CREATED for each in decisions.secrets))
        except Conflict as refusal:
            return [Problem(text=str(refusal))]
        return []

    def _referents(self, prospect: _Prospect) -> Referents:
        """The Secrets and ConfigMaps as they will be."""
        declared = (replace(each.declared.document, manifest=each.new) for each in prospect.decisions.kept)
        entries = [each.declared.entry for each in prospect.decisions.secrets]
        return referents_in(self._store, declared, prospect.surplus.kept, entries)

    def _unknown(self, prospect: _Prospect, unread: Unread) -> list[Problem]:
        """What new workflows refer to that is neither known nor declared, nor what a document that is wrong may declare."""
        machines = self._references(prospect.decisions)
        flows = [each.declared for each in prospect.decisions.flows if each.outcome is Outcome.CREATED and unread.whole]
        return [
            problem
            for each in flows
            for problem in reference_problems(each, prospect.templates[each.template_key], machines, unread)
        ]

    def _take_in(
        self,
        tables: Tables,
        decisions: Decisions,
        prepared: Mapping[int, Prepared],
        followed: _Followed,
        wish: Wish,
        who: str,
    ) -> tuple[Mapping[TemplateKey | KeptKey, str], list[Problem]]:
        """Store everything; returns the ids of templates and kept documents, and what there is to say of the workflows."""
        for secret in decisions.secrets:
            if secret.outcome is not Outcome.UNCHANGED:
                declared = secret.declared
                self._secrets.take_in(tables, declared.name, declared.value, who, declared.entry.document)
        changed = [each for each in decisions.machines if each.content_changes]
        hardware = [decisions.hardware[each.declared.hardware.id] for each in changed]
        before = tables.hardware.some(each.id for each in hardware)
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
        template_ids: dict[TemplateKey, str] = {}
        for template in decisions.templates:
            template_id = template.id
            if template.content_changes:
                template_id = self._templates.take_in(
                    tables, template.id, *template.declared.key, template.declared.text
                ).id
            template_ids[template.declared.key] = template_id
            if template.outcome is not Outcome.UNCHANGED and template.labels is not None:
                tables.labels.replace(LabelKind.TEMPLATE, template_id, template.labels)
        ids: dict[TemplateKey | KeptKey, str] = dict(template_ids.items())
        for kept in decisions.kept:
            ids[kept.declared.document.key] = self._keep(tables, kept, who)
        ready = {
            place: replace(each, template=replace(each.template, id=template_ids[_key_of(each.template)]))
            if isinstance(each.template, Template) and _key_of(each.template) in template_ids
            else each
            for place, each in prepared.items()
        }
        return ids, self._take_flows_in(tables, decisions, ready, followed, wish)

    def _keep(self, tables: Tables, decision: Decision[DeclaredKept], who: str) -> str:
        """Keep a document, unless nothing changes; returns its id."""
        document = replace(decision.declared.document, id=decision.id or self._new_id(), manifest=decision.new, who=who)
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
                    problems += why_not_made(flow.declared, refusal)
                    continue
                workers = workflow.workers()
                new.append(New(workflow, ready.rendered.definition.metadata))
                notes += elsewhere(tables, flow.declared, decisions, workers)
                notes += about_template(flow.declared, ready.notes)
                self._let_netboot(tables, ready, followed)
                followed.flows.append((ready.name, workers))
            elif flow.outcome is Outcome.CONFIGURED:
                tables.labels.replace(LabelKind.WORKFLOW, flow.id, flow.labels or NO_LABELS)
                if flow.declared.structured:
                    tables.declarations.rewrite(flow.id, flow.new)
        refuse(problems)
        return [*notes, *self._lacking(new, decisions, wish)]

    def _let_netboot(self, tables: Tables, ready: Prepared, followed: _Followed) -> None:
        """`toggleAllowNetboot` of a machine that is not among the documents: one that is was stored with it."""
        machine_id = ready.declared.let_netboot if ready.declared else ""
        for record in tables.hardware.some([machine_id] if machine_id else ()):
            if not all(each.allow_pxe for each in record.hardware.interfaces):
                self._machines.take_in(tables, [allowing_netboot(record.hardware)])
                followed.machines.append(machine_id)
                followed.macs |= {each.mac for each in record.hardware.interfaces}

    def _prune(self, tables: Tables, documents: Documents, wish: Wish, followed: _Followed) -> Sequence[Result]:
        surplus = surplus_of(tables, documents, wish.prune)
        refuse_unagreed(surplus, wish.agreed)
        refuse(list(needed(tables, documents, surplus, self._referred)))
        pruned = list(pruned_results(tables, surplus))
        for leaving in surplus.leaving:
            self._machines.leave_out(tables, leaving)
            followed.left_out.append(leaving)
        for template in surplus.templates:
            tables.templates.delete(template.id)
        for kept in surplus.kept:
            tables.kept_documents.delete(kept.id)
        return pruned

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


def _take_parts(parts: Iterable[tuple[SourceFile, Part]], reading: Reading) -> None:
    for file, part in parts:
        reading.take(file, part)


def _beyond_room(tables: Tables, decisions: Decisions, leaving: Iterable[KeptDocument] = ()) -> Iterator[Problem]:
    """That more would be kept than may be; `leaving` are deleted at the same time."""
    changed = [each for each in decisions.kept if each.outcome is not Outcome.UNCHANGED]
    if changed:
        going = [*(each.old for each in changed if each.old is not None), *(each.manifest for each in leaving)]
        yield from beyond_room(tables, [each.new for each in changed], going)


@dataclass(frozen=True, slots=True)
class _JudgedText:
    """What is wrong with the text of a template, or with a Task, and what of it is ignored."""

    problems: Sequence[Problem] = ()
    ignored: Sequence[Problem] = ()


async def _judged_text(
    declared: DeclaredTemplate, texts: _Lines, wish: Wish, turn: Turn, *, is_stored: bool = False
) -> _JudgedText:
    """Of a text that is stored nothing is refused but what `strict` refuses."""
    lines = partial(texts.of, declared.file)
    try:
        if is_stored:
            ignored = await told_of_stored(declared.text, turn, apart=wish.apart)
        else:
            ignored = await check(declared.text, turn, apart=wish.apart)
        if wish.strict:
            refuse_ignored(ignored)
    except Invalid as refusal:
        problems = declared.problems_in_text(refusal.problems, lines)
        return _JudgedText(problems or [declared.problem(str(refusal), "spec.data")])
    return _JudgedText(ignored=declared.problems_in_text(ignored, lines))


async def _judged_task(declared: DeclaredKept, wish: Wish, turn: Turn, *, is_stored: bool = False) -> _JudgedText:
    """As `_judged_text`, of a Task; other documents that are kept are not looked at."""
    if declared.document.kind is not KeptKind.TASK:
        return _JudgedText()
    told: Sequence[Problem]
    try:
        told, refuses = await check_task(declared.document.manifest, turn), wish.strict
    except Invalid as refusal:
        told, refuses = refusal.problems, wish.strict or not is_stored
    placed = [declared.problem(each.text, each.key) for each in told]
    return _JudgedText(problems=placed) if refuses else _JudgedText(ignored=placed)


def _workers_of(definition: Definition) -> Iterator[str]:
    """What a template calls the machines of its tasks and services."""
    yield from (each.worker for each in definition.tasks)
    yield from (each.worker for each in definition.services)


def _ready(
    declared: DeclaredFlow,
    template: Template | BuiltIn,
    workflow_id: str,
    rendered: Rendered,
    referred: Referred,
    wish: Wish,
    who: str,
) -> Prepared:
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
        declared=declared.declaration(referred),
    )


def _standing(decisions: Decisions) -> dict[TemplateKey, DeclaredFlow]:
    """A workflow of each template, by what it calls that, of those that are there and stay as they are but for labels."""
    found: dict[TemplateKey, DeclaredFlow] = {}
    for each in decisions.flows:
        if each.id and each.outcome in (Outcome.UNCHANGED, Outcome.CONFIGURED):
            found.setdefault(each.declared.template_key, each.declared)
    return found


def _key_of(template: Template | BuiltIn) -> TemplateKey:
    return template.namespace if isinstance(template, Template) else "", template.name


def _claimed_of(hardware: Hardware) -> tuple[object, ...]:
    """What no other machine may have."""
    return addressed_by(hardware), names_of(hardware)
