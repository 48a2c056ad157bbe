"""What `apply --prune` deletes: what its labels select and no document declares."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from tinkbox.engine.applying.comparison import Outcome, newest_declared, told_of_holder
from tinkbox.engine.applying.document_references import pruned_away, stored_templates, templates_of
from tinkbox.engine.applying.manifests import machine_manifest, template_manifest
from tinkbox.engine.applying.reading import DeclaredFlow, DeclaredKept, Documents, Referred, Wanted, wanted_by
from tinkbox.engine.applying.results import NOTHING, Result
from tinkbox.engine.machines.references import References
from tinkbox.engine.templates.rendering import DUMMY
from tinkbox.model.declaration import MachineKey
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.documents.rule_sets import RULE_SETS, RuleSet, read_rule_sets
from tinkbox.model.errors import Conflict, Problem, Refusal
from tinkbox.model.hardware import called
from tinkbox.model.labels import Selector
from tinkbox.model.machine_keys import typed
from tinkbox.model.text import natural
from tinkbox.store.database import Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import ListedTemplate, Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Surplus:
    """What is to be pruned; beside a machine stands why it is kept, or nothing."""

    machines: Sequence[tuple[MachineRecord, str]] = ()
    templates: Sequence[ListedTemplate] = ()
    kept: Sequence[KeptDocument] = ()

    @property
    def leaving(self) -> dict[str, str]:
        """What people call the machines that are not kept, by their ids."""
        return {each.hardware.id: called(each.hardware) for each, why in self.machines if not why}


def surplus_of(tables: Tables, documents: Documents, selector: Selector | None) -> Surplus:
    """What a selector selects and no document declares, in the order of names.

    Machines that are out of service stay on record, and what a document means that is left out stays as it is.
    """
    if selector is None:
        return Surplus()
    everything = tables.hardware.all()
    declared = {each.hardware.id for each in documents.machines}
    if left_out := [(namespace, name) for kind, namespace, name in documents.left_out if kind == "Hardware"]:
        known = References(each.hardware for each in everything)
        for namespace, name in left_out:
            by_id = known.of(name)
            meant = known.meant(namespace, name) if namespace else [by_id] if by_id else []
            declared |= {each.id for each in meant}
    wanted = {each.id for each in stored_templates(tables, documents).values()}
    kept_keys = {each.document.key for each in documents.kept}
    machines = [
        each
        for each in everything
        if each.hardware.id not in declared and each.retired is None and selector.matches(each.hardware.labels)
    ]
    machines.sort(key=lambda each: natural(called(each.hardware)))
    rollouts = tables.rollouts.waiting_in([each.hardware.id for each in machines])
    templates = [
        each
        for each in tables.templates.all()
        if each.id not in wanted
        and ("Template", each.namespace, each.name) not in documents.left_out
        and selector.matches(each.labels)
    ]
    return Surplus(
        machines=[
            (each, _why_kept(tables.workflows.needing(each.hardware.id), rollouts.get(each.hardware.id, "")))
            for each in machines
        ],
        templates=sorted(templates, key=lambda each: natural(each.name)),
        kept=[
            each
            for each in tables.kept_documents.all()
            if each.key not in kept_keys
            and (each.manifest.get("kind"), each.namespace, each.name) not in documents.left_out
            and selector.matches(each.labels)
        ],
    )


def needed(
    tables: Tables, documents: Documents, surplus: Surplus, referred: Callable[[Documents], Referred]
) -> Iterator[Problem]:
    """That a document needs what would be deleted: without it nobody could apply the same documents to another appliance.

    Or that it may be the new name of a machine that would be.  `referred` says which machines their Workflows mean by the
    names of now.
    """
    yield from _renamed(tables, documents, surplus)
    yield from _needed_by_rules(tables, documents, surplus)
    leaving, templates = surplus.leaving, {each.id: each.name for each in surplus.templates}
    kept = {each.key for each in surplus.kept}
    if not documents.flows or not (leaving or templates or kept):
        return
    found = templates_of(tables, {each.template_key for each in documents.flows}, documents)
    machines = _meant(tables, documents.flows, referred(documents))
    meant_by = going(surplus, References(each.hardware for each in documents.machines))
    for each, meant in zip(documents.flows, machines, strict=True):
        template = found[each.template_key]
        if isinstance(template, Template) and template.id in templates:
            yield pruned_away(each, f"template {templates[template.id]}", "spec.templateRef")
        for _, _, task in sorted(kept & {each.task_key(one) for one in each.tasks}):
            yield pruned_away(each, f"task {task}", "spec.tasks")
        for machine in meant:
            if machine in leaving:
                yield pruned_away(
                    each, f"machine {leaving[machine]}", "spec.tasks" if each.structured else "spec.hardwareRef"
                )
        for other in meant_by(each.addresses):
            if other not in meant:
                yield pruned_away(each, f"machine {leaving[other]}", "spec")


def _renamed(tables: Tables, documents: Documents, surplus: Surplus) -> Iterator[Problem]:
    """That a new machine has a MAC or the agent id of one that would be deleted: notes and id of the same machine would be lost."""
    leaving = References(each.hardware for each, why in surplus.machines if not why)
    known = {each.hardware.id for each in tables.hardware.some(one.hardware.id for one in documents.machines)}
    for each in documents.machines if surplus.leaving else ():
        if (wanted := each.hardware).id in known:
            continue
        claimed: dict[str, list[str]] = defaultdict(list)
        for mark in (*(str(one.mac) for one in wanted.interfaces), wanted.agent_id):
            if mark and (holder := leaving.at(mark)) is not None:
                claimed[holder.id].append(mark)
        for machine, marks in claimed.items():
            if (holder := leaving.of(machine)) is not None:
                yield each.problem(told_of_holder(wanted, holder, marks, typed(tables.hardware, holder), is_new=True))


def going(surplus: Surplus, declared: References) -> Callable[[Iterable[str]], list[str]]:
    """A question: the ids of the machines to be deleted that have one of these MACs, addresses, agent ids or ids.

    What a `declared` machine has means that one.
    """
    leaving = References(each.hardware for each, why in surplus.machines if not why)

    def meant_by(workers: Iterable[str]) -> list[str]:
        found = (leaving.at(each) for each in workers if declared.at(each) is None)
        return list(dict.fromkeys(each.id for each in found if each is not None))

    return meant_by


def _meant(tables: Tables, flows: Sequence[DeclaredFlow], referred: Referred) -> list[Sequence[str]]:
    """The ids of the machines that each of these documents means.

    Of a workflow that is there they are those that it was made with, whatever these are called now, and of a machine that is
    gone the one that has its name.
    """
    stored = defaultdict(list)
    for flow in tables.declarations.named({each.name for each in flows}):
        stored[flow.name].append(flow)
    found = (newest_declared(each, stored.get(each.name, ())) for each in flows)
    before = [each.declaration.meant if each is not None and each.declaration is not None else {} for each in found]
    there = {each.hardware.id for each in tables.hardware.some({one for each in before for one in each.values()})}

    def _machine(flow: DeclaredFlow, key: MachineKey, made_with: Mapping[MachineKey, str]) -> str:
        machine = made_with.get(key, "")
        return machine if machine in there else referred.get(flow.key, {}).get(key, "")

    return [
        list(dict.fromkeys(_machine(each, key, made_with) for key in each.machine_keys))
        for each, made_with in zip(flows, before, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class RuleTemplate:
    """The text of a template that a rule set means, and the devices that it is filled with for a machine of no known MAC.

    `told` says that the rule set needs what would be deleted.
    """

    text: str
    devices: Mapping[str, str]
    told: Callable[[str], Problem]


@dataclass(frozen=True, slots=True)
class _Wanting:
    """The rule sets of a document, what they refer to, and what says of a field of it that it needs something."""

    rule_sets: Sequence[RuleSet]
    wanted: Wanted
    told: Callable[[str, str], Problem]


def templates_of_rules(tables: Tables, documents: Documents, surplus: Surplus) -> list[RuleTemplate]:
    """The templates that rule sets mean, where machines would be deleted that these may name as a worker."""
    if not surplus.leaving:
        return []
    wanting = list(_wanting(tables, documents, surplus))
    found = templates_of(tables, {key for each in wanting for key in each.wanted.templates}, documents)
    return [
        RuleTemplate(meant.data, rule_set.devices(DUMMY), partial(each.told, each.wanted.templates[key]))
        for each in wanting
        for rule_set in each.rule_sets
        if (key := (rule_set.namespace, rule_set.template)) in each.wanted.templates
        if not isinstance(meant := found[key], Refusal)
    ]


def _needed_by_rules(tables: Tables, documents: Documents, surplus: Surplus) -> Iterator[Problem]:
    """That a rule set, of the documents or one that stays, refers to a template, a Task or a machine that would be deleted."""
    templates, leaving = {each.id: each.name for each in surplus.templates}, surplus.leaving
    kept = {each.key for each in surplus.kept}
    if not (templates or kept or leaving):
        return
    wanting = list(_wanting(tables, documents, surplus))
    found = templates_of(tables, {key for each in wanting for key in each.wanted.templates}, documents)
    meant_by = going(surplus, References(each.hardware for each in documents.machines))
    for each in wanting:
        for one, key in each.wanted.templates.items():
            if isinstance(meant := found[one], Template) and meant.id in templates:
                yield each.told(key, f"template {meant.name}")
        for task in sorted(kept & set(each.wanted.tasks)):
            yield each.told(each.wanted.tasks[task], f"task {task[2]}")
        for value, key in each.wanted.values.items():
            for machine in meant_by([value]):
                yield each.told(key, f"machine {leaving[machine]}")


def _wanting(tables: Tables, documents: Documents, surplus: Surplus) -> Iterator[_Wanting]:
    """What the rule sets refer to, of the documents and those that stay."""
    others = {each.key for each in surplus.kept} | {each.document.key for each in documents.kept}
    staying = [each for each in tables.kept_documents.all(RULE_SETS) if each.key not in others]
    given = [(each.document, partial(_told_of, each)) for each in documents.kept]
    for document, told in [*given, *((each, partial(_told_of_staying, each)) for each in staying)]:
        rule_sets = read_rule_sets(document).rule_sets
        yield _Wanting(rule_sets, wanted_by(rule_sets), told)


def _told_of(declared: DeclaredKept, key: str, what: str) -> Problem:
    return declared.problem(
        f"{what} would be pruned, and {_called(declared.document)} needs it: give its document as well, or have --prune select others",
        key,
    )


def _told_of_staying(document: KeptDocument, _: str, what: str) -> Problem:
    space = "" if document.namespace == DEFAULT_NAMESPACE else f" --namespace {document.namespace}"
    return Problem(
        text=f"{what} would be pruned, and {_called(document)}, which was applied before, needs it: give its document as well, "
        f"`tinkbox document delete {document.kind}/{document.name}{space}` first, or have --prune select others"
    )


def _called(document: KeptDocument) -> str:
    return f"{'policy' if document.kind is KeptKind.POLICY else 'rule set'} {document.name}"


def pruned_results(tables: Tables, surplus: Surplus) -> Iterator[Result]:
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
        old = template_manifest(template.namespace, template.name, template.data, template.labels)
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


def refuse_unagreed(surplus: Surplus, agreed: Mapping[str, datetime | None] | None) -> None:
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
