"""The use-case of `export`: what is there as the documents that `apply` takes, in a stable order."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from tinkbox.engine.applying.document_references import exported_template
from tinkbox.engine.applying.manifests import Manifest, flow_manifest, machine_manifest, template_manifest, with_time
from tinkbox.engine.applying.structured_flows import task_key
from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.machines.references import References, told_apart
from tinkbox.engine.templates.built_in import BuiltIn
from tinkbox.engine.templates.templates import check_template_name, find_template, told_namespace
from tinkbox.engine.turns import in_slices
from tinkbox.engine.workflows.workflows import find_workflow
from tinkbox.model.declaration import (
    Declaration,
    DeclaredWorkflow,
    MachineKey,
    SaidMachine,
    task_entries,
    with_machine_names,
    worker_addresses,
)
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.errors import Invalid, NotFound, Problem, Refusal
from tinkbox.model.hardware import Hardware, called, name_of, spelled_address
from tinkbox.model.labels import NO_LABELS, Labels, Selector
from tinkbox.model.spelling import meant
from tinkbox.model.text import counted, natural, quoted, spelled
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import ListedTemplate, Template


class Kind(StrEnum):
    """What documents can be about, beside those that are kept as they are (`KeptKind`)."""

    HARDWARE = "hardware"
    TEMPLATE = "template"
    WORKFLOW = "workflow"


AnyKind = Kind | KeptKind
_KINDS: Final[Sequence[AnyKind]] = (*Kind, *KeptKind)
# As people and kubectl say them: `templates`, `workflowrulesets`, `machines.bmc`, `machine.bmc.tinkerbell.org`.
_SPELLED: Final[Mapping[str, AnyKind]] = {
    spelling: each
    for each in _KINDS
    for first, dot, rest in [each.partition(".")]
    for plural in (first, "policies" if first == "policy" else f"{first}s")
    for spelling in (f"{plural}{dot}{rest}", *([f"{plural}.bmc.tinkerbell.org"] if dot else []))
}

_MOST_NAMED: Final = 5
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asked:
    """A kind, all of it or what `key` means."""

    kind: AnyKind
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A document of one thing; `key` is what means a machine that was left out, and no other."""

    kind: AnyKind
    name: str
    manifest: Manifest
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The documents that are asked for, machines first, then templates, what is kept and workflows.

    Workflows come in the order in which machines do them, all others by name.
    `left_out` are those of machines out of service; `notes` tell of them, and of what is in no document.  `absent` are the things
    asked for by a key of which there is no document, as `notes` tell.
    """

    documents: Sequence[Exported]
    left_out: Sequence[Exported] = ()
    absent: Sequence[Asked] = ()
    notes: Sequence[Problem] = ()


def parse_asked(text: str) -> Asked:
    """`hardware`, `hardware/node7`; raises Invalid."""
    kind, slash, key = text.partition("/")
    found = _SPELLED.get(kind.lower())
    if found is None or (slash and not key):
        raise Invalid(f"{quoted(text)} is nothing to export: {meant(kind, [str(each) for each in _KINDS])}")
    return Asked(found, key)


class Exporting:
    """Exports documents."""

    def __init__(self, store: Store, machines: Machines) -> None:
        self._store = store
        self._machines = machines

    async def export(self, asked: Sequence[Asked], selector: Selector | None) -> Export:
        """The documents that are asked for.

        All workflows are those that are not over; one that is named may be.  Machines that are out of service are left out
        where they are not named.  Raises NotFound or Conflict for a key.
        """
        named = {
            self._machines.known.find(each.key).hardware.id for each in asked if each.kind is Kind.HARDWARE and each.key
        }

        kinds = {each.kind for each in asked if not each.key}
        records = list(self._machines.known.all())
        wanted = [
            each
            for each in records
            if (Kind.HARDWARE in kinds or each.hardware.id in named) and _fits(selector, each.hardware.labels)
        ]
        retired = {each.hardware.id for each in wanted if each.retired is not None} - named
        machines = await self._machine_documents(wanted, retired)
        notes = list(machines.notes)

        known = [each.hardware for each in records]

        def question(tables: Tables) -> Export:
            if Kind.WORKFLOW in kinds:
                notes.extend(_waiting(tables, [each.id for each in known if _fits(selector, each.labels)]))
            templates = _templates(tables, _keys(asked, Kind.TEMPLATE), selector, notes, whole=Kind.TEMPLATE in kinds)
            kept = _kept(tables, asked, selector)
            keys, whole = _keys(asked, Kind.WORKFLOW), Kind.WORKFLOW in kinds
            flows = (
                _workflows(tables, keys, known, retired, selector, notes, whole=whole)
                if keys or whole
                else Export(documents=())
            )
            return replace(flows, documents=[*templates, *kept, *flows.documents])

        others = await self._store.read(question)
        return Export(
            documents=[*machines.documents, *others.documents],
            left_out=machines.left_out,
            absent=others.absent,
            notes=notes,
        )

    async def _machine_documents(self, records: Sequence[MachineRecord], retired: Collection[str]) -> Export:
        """The documents of machines, but for those `retired`."""
        notes: list[Problem] = []
        if retired:
            notes.append(
                Problem(text=f"{counted(len(retired), 'machine')} out of service left out: name what you want of them")
            )
        kept = [each for each in records if each.hardware.id not in retired]
        noted = await self._store.read(lambda tables: len(tables.notes.of_many(each.hardware.id for each in kept)))
        if noted:
            notes.append(Problem(text=f"{counted(noted, 'machine')} with notes: notes are in no document"))
        exported = await in_slices(_machine, kept)
        places = await in_slices(_order, exported)
        return Export(
            documents=[exported[each] for each in sorted(range(len(exported)), key=places.__getitem__)],
            left_out=await in_slices(self._left_out, [each for each in records if each.hardware.id in retired]),
            notes=notes,
        )

    def _left_out(self, record: MachineRecord) -> Exported:
        return replace(_machine(record), key=self._machines.known.key(record.hardware))


def _keys(asked: Iterable[Asked], kind: AnyKind) -> list[str]:
    return [each.key for each in asked if each.kind is kind and each.key]


def _fits(selector: Selector | None, labels: Labels) -> bool:
    return selector is None or selector.matches(labels)


def _machine(record: MachineRecord) -> Exported:
    hardware, retired = record.hardware, record.retired.reason if record.retired else None
    manifest = machine_manifest(hardware, hardware.labels, retired)
    return Exported(kind=Kind.HARDWARE, name=called(hardware), manifest=manifest)


def _templates(
    tables: Tables, keys: Sequence[str], selector: Selector | None, notes: list[Problem], *, whole: bool
) -> list[Exported]:
    found: dict[str, Template | BuiltIn] = {}
    for key in [*keys, *((each.id for each in tables.templates.all()) if whole else ())]:
        template = find_template(tables, key)
        found[template.id] = template
    labelled = [(each, each.labels if isinstance(each, Template) else NO_LABELS) for each in found.values()]
    notes += _named_formerly([each for each, labels in labelled if _fits(selector, labels)])
    exported = [
        Exported(
            kind=Kind.TEMPLATE,
            name=each.name,
            manifest=template_manifest(
                each.namespace if isinstance(each, Template) else "", each.name, each.data, labels
            ),
        )
        for each, labels in labelled
        if _fits(selector, labels)
    ]
    return sorted(exported, key=_order)


def _named_formerly(templates: Iterable[Template | BuiltIn]) -> Iterator[Problem]:
    """That documents of templates have names which only earlier releases took."""
    odd = [each for each in templates if not _may_be_called(each.name)]
    if odd:
        told = _some([f"{spelled(each.name)} ({each.id})" for each in odd])
        yield Problem(
            text=f"{counted(len(odd), 'template')} with a name that `tinkbox apply` refuses, and with it every document that is "
            f"applied together with it: {told}. `tinkbox template update ID -n NAME` gives each another name"
        )


def _may_be_called(name: str) -> bool:
    try:
        check_template_name(name)
    except Invalid:
        return False
    return True


def _kept(tables: Tables, asked: Iterable[Asked], selector: Selector | None) -> list[Exported]:
    found: dict[str, KeptDocument] = {}
    wanted = [(each, each.kind) for each in asked if isinstance(each.kind, KeptKind)]
    there: dict[KeptKind, list[KeptDocument]] = {kind: [] for _, kind in wanted}
    for one in tables.kept_documents.all(there):
        there[one.kind].append(one)
    for each, kind in wanted:
        named = [one for one in there[kind] if each.key in ("", one.name, one.id)]
        if each.key and not named:
            raise NotFound(f"{each.kind} {each.key} not found: `tinkbox export {each.kind}` prints all there are")
        found |= {one.id: one for one in named if _fits(selector, one.labels)}
    exported = [Exported(kind=each.kind, name=each.name, manifest=dict(each.manifest)) for each in found.values()]
    return sorted(exported, key=lambda each: (_KINDS.index(each.kind), *_order(each)))


def _workflows(
    tables: Tables,
    keys: Sequence[str],
    known: Sequence[Hardware],
    retired: Collection[str],
    selector: Selector | None,
    notes: list[Problem],
    *,
    whole: bool,
) -> Export:
    """The documents of workflows; `retired` are machines that are left out of the export."""
    wanted = {key: find_workflow(tables, key) for key in keys}
    namesakes = {each.id: each for each in tables.declarations.named({each.name for each in wanted.values()})}
    named = {each.id for each in wanted.values()}
    flows = {its_id: each for its_id, each in namesakes.items() if its_id in named}  # the newest of a name is the last
    if whole:
        flows |= {each.id: each for each in tables.declarations.unfinished()}
    selected = [each for each in flows.values() if _fits(selector, each.labels)]
    namespaces = {each.id: each.namespace for each in tables.templates.all()}

    def _name_of(flow: DeclaredWorkflow) -> tuple[str, str]:
        """By which a document of it is known."""
        by_hand = namespaces.get(flow.template_id) or DEFAULT_NAMESPACE
        return flow.name, flow.declaration.namespace if flow.declaration else by_hand

    names = Counter(map(_name_of, selected))
    # Of those by hand `apply` finds the one that a document says, unless one of the name was declared, which may be over.
    by_hand = {each.name for each in selected if each.declaration is None}
    declared = {_name_of(each) for each in tables.declarations.named(by_hand) if each.declaration is not None}
    alone = [
        each
        for each in selected
        if each.declaration is not None or (names[_name_of(each)] == 1 and _name_of(each) not in declared)
    ]
    left = len(selected) - len(alone)
    if left:
        notes.append(
            Problem(
                text=f"{counted(left, 'workflow')} left out: made by hand, and others have the same name, by which "
                "`apply` knows a workflow"
            )
        )
    # Of those that were declared twice `apply` means the newest.
    newest = {_name_of(each): each for each in alone}
    older = {
        each.id: each
        for each in (*alone, *(one for one in namesakes.values() if one.id and not one.is_over))
        if each.declaration is not None
        and newest.get(_name_of(each), each).id != each.id
        and _fits(selector, each.labels)
    }
    if older:
        notes.append(
            Problem(
                text=f"{counted(len(older), 'workflow')} left out: another one has the same name and namespace, by which `apply` "
                f"knows a workflow: {_some([f'{each.name} ({each.id[:8]})' for each in older.values()])}"
            )
        )
    newest = _of_their_own_template(tables, newest, notes)
    machines = References(known)
    newest = _of_their_own_machines(tables, machines, _with_said_machines(tables, machines, newest, notes), notes)
    notes += _out_of_service(machines, retired, newest.values())
    notes += _without_tasks(tables, newest)
    notes += _breakpoints(tables, newest.values())
    written = {each.id for each in newest.values()}
    chosen = {each.id for each in selected}
    return Export(
        documents=_exported_flows((each, space) for (_, space), each in newest.items()),
        absent=[Asked(Kind.WORKFLOW, key) for key, each in wanted.items() if each.id in chosen - written],
    )


def _of_their_own_template(
    tables: Tables, flows: Mapping[tuple[str, str], DeclaredWorkflow], notes: list[Problem]
) -> dict[tuple[str, str], DeclaredWorkflow]:
    """Those whose documents mean no other template elsewhere than the one that they have here, or had: it may be gone.

    A template may have got another name since, or its workflow been made by its id.  Of one that is gone another takes the
    place which has its name in the namespace of the workflow, as `apply` takes it here.
    """
    there = {each.id: each for each in tables.templates.all()}
    meant: dict[tuple[str, str], Template | BuiltIn | Refusal] = {}
    found, strange, gone, renamed, changed = {}, [], [], [], []
    for key, each in flows.items():
        if each.declaration is not None and each.declaration.document:  # it has its tasks, and no template
            found[key] = each
            continue
        reference = (key[1], each.declaration.template_ref if each.declaration else each.template_name)
        if reference not in meant:
            meant[reference] = exported_template(tables, *reference)
        template, own = meant[reference], there.get(each.template_id)
        if isinstance(template, NotFound) and own is not None:
            renamed.append(f"{each.name} ({reference[1]} is called {own.name} by now)")
        elif isinstance(template, NotFound):
            gone.append(each.name)
        elif isinstance(template, Refusal) or not (
            template.id == each.template_id
            or (own is None and isinstance(template, Template) and template.namespace == key[1])
        ):
            strange.append(f"{each.name} ({_other_template(template, own, reference[1])})")
            continue
        elif isinstance(template, Template) and _is_newer(template, each):
            changed.append(each.name)
        found[key] = each
    if changed:
        notes.append(
            Problem(
                text=f"{counted(len(changed), 'workflow')} with a template that was changed or made anew after them, so that "
                f"`tinkbox apply` elsewhere fills it as it is now: {_some(changed)}"
            )
        )
    if strange:
        notes.append(
            Problem(
                text=f"{counted(len(strange), 'workflow')} left out, whose documents would mean other templates than theirs: "
                f"{_some(strange)}"
            )
        )
    if renamed:
        notes.append(
            Problem(
                text=f"{counted(len(renamed), 'workflow')} with a template that has another name by now, so that `tinkbox apply` "
                "refuses their documents where they are not known, and with them every document that is applied together with "
                f"them: {_some(renamed)}. Give them its new name as templateRef there"
            )
        )
    if gone:
        notes.append(
            Problem(
                text=f"{counted(len(gone), 'workflow')} without a template, which `tinkbox apply` refuses where they are not "
                f"known, and with them every document that is applied together with them: {_some(gone)}"
            )
        )
    return found


def _other_template(template: Template | BuiltIn | Refusal, own: ListedTemplate | None, name: str) -> str:
    """Which template the document of a workflow would mean in place of its own; that is None where it is gone."""
    which = f"any of several called {name}"
    if isinstance(template, BuiltIn):
        which = f"the built-in {template.name}"
    elif isinstance(template, Template):
        which = f"{template.name} of {told_namespace(template.namespace)}"
    its_own = f"its {own.name} of {told_namespace(own.namespace)}" if own is not None else "its own, which was deleted"
    return f"{which} in place of {its_own}"


def _is_newer(template: Template, flow: DeclaredWorkflow) -> bool:
    """Whether a workflow was made of another text, or of another template of the name."""
    return template.id != flow.template_id or (flow.created_at is not None and template.updated_at > flow.created_at)


def _without_tasks(tables: Tables, flows: Mapping[tuple[str, str], DeclaredWorkflow]) -> Iterator[Problem]:
    """That Tasks are gone to which workflows of v1alpha2 refer."""
    wanted = {
        each.id: {task_key(task, namespace) for task in task_entries(each.declaration.document)}
        for (_, namespace), each in flows.items()
        if each.declaration is not None
    }
    asked = {key for keys in wanted.values() for key in keys}
    there = {each.key for each in tables.kept_documents.some(asked)} if asked else set()
    if lacking := [each.name for each in flows.values() if wanted.get(each.id, set()) - there]:
        yield Problem(
            text=f"{counted(len(lacking), 'workflow')} without a Task to which they refer, which `tinkbox apply` refuses where they "
            f"are not known, and with them every document that is applied together with them: {_some(lacking)}"
        )


def _with_said_machines(
    tables: Tables, known: References, flows: Mapping[tuple[str, str], DeclaredWorkflow], notes: list[Problem]
) -> dict[tuple[str, str], DeclaredWorkflow]:
    """Those that were made by hand as if documents had said their machines; without that no template is filled from these.

    Of a machine that no name means nothing is said where it runs the first task: a template is filled from that.
    """
    unnamed = [
        each.id for (_, space), each in flows.items() if each.said and not _is_named(known, each, each.said, space)
    ]
    first = {each.id: each.workers[:1] for each in tables.workflows.listed(unnamed)} if unnamed else {}
    found, left = dict(flows), []
    for key, each in flows.items():
        said = each.said
        if said is None or first.get(each.id) == (said.id,):
            continue
        if name := _name_now(known, said):
            declared = Declaration(
                template_ref=each.template_name,
                hardware_ref=name,
                namespace=key[1],
                machines={(key[1], name): said.id},
                anew={said.id} if said.is_anew else (),
            )
            found[key] = replace(each, declaration=declared)
        else:
            left.append(f"{each.name} ({each.id[:8]})")
            del found[key]
    if left:
        notes.append(
            Problem(
                text=f"{counted(len(left), 'workflow')} left out, filled from a machine without a name, which no hardwareRef can "
                f"say: {_some(left)}. `tinkbox hardware edit MAC --name NAME` gives a machine a name"
            )
        )
    return found


def _is_named(known: References, flow: DeclaredWorkflow, said: SaidMachine, namespace: str) -> bool:
    """Whether the name of the machine that was said means it in a namespace; of one that is gone, whether it had a name."""
    name = _name_now(known, said)
    if said.is_anew or known.of(said.id) is None:
        return bool(name)
    return [each.id for each in known.meant(namespace, name, worker_addresses(flow.devices, {}))] == [said.id]


def _name_now(known: References, said: SaidMachine) -> str:
    """What a machine is called, or was when it was said where it is gone; empty: it has no name."""
    machine = known.of(said.id)
    return name_of(machine) if machine is not None and not said.is_anew else said.name


def _of_their_own_machines(
    tables: Tables,
    known: References,
    flows: Mapping[tuple[str, str], DeclaredWorkflow],
    notes: list[Problem],
) -> dict[tuple[str, str], DeclaredWorkflow]:
    """Those whose documents mean the machines that they were made with, as these are called now, or that are gone."""
    addressed = tables.workflows.addressed(each.id for each in flows.values())
    found, strange, gone, anew = {}, [], [], []
    for key, each in flows.items():
        beside = worker_addresses(each.devices, each.declaration.document if each.declaration else {})
        bound = _bound_by(beside, addressed.get(each.id, {}))
        names = _machine_names(known, each.declaration, beside) if each.declaration else {}
        other = names if isinstance(names, str) else _other_at(known, bound)
        if isinstance(names, str) or other:
            strange.append(f"{each.name} ({other})")
            continue
        declared = _with_names(each.declaration, names) if each.declaration else None
        found[key] = replace(each, declaration=declared)
        meant = each.declaration.meant if each.declaration else {}
        absent = [one for one, its_id in meant.items() if known.of(its_id) is None]
        if any(known.named(*one, beside) is None for one in absent) or any(known.at(one) is None for one in bound):
            gone.append(each.name)
        elif (each.declaration and any(one in each.declaration.machines for one in absent)) or (
            each.is_over and tables.hardware.left(each.id, bound.values())
        ):
            anew.append(each.name)
    if strange:
        notes.append(
            Problem(
                text=f"{counted(len(strange), 'workflow')} left out, whose documents would mean other machines than theirs: "
                f"{_some(strange)}"
            )
        )
    if anew:
        notes.append(
            Problem(
                text=f"{counted(len(anew), 'workflow')} with a machine that was deleted and registered anew under its name after "
                f"them, so that `tinkbox apply` elsewhere fills their template as it is now: {_some(anew)}"
            )
        )
    if gone:
        notes.append(
            Problem(
                text=f"{counted(len(gone), 'workflow')} without a machine that their documents name, which `tinkbox apply` refuses "
                f"where they are not known, and with them every document that is applied together with them: {_some(gone)}"
            )
        )
    return found


def _out_of_service(
    known: References, retired: Collection[str], flows: Iterable[DeclaredWorkflow]
) -> Iterator[Problem]:
    """That workflows mean machines which are left out, for these are `retired`."""
    told: list[str] = []
    for each in flows if retired else ():
        declared = each.declaration
        at = worker_addresses(each.devices, declared.document if declared else {})
        meant = [*map(known.of, declared.meant.values() if declared else ()), *map(known.at, at)]
        if out := {called(one): None for one in meant if one is not None and one.id in retired}:
            told.append(f"{each.name} ({', '.join(out)})")
    if told:
        yield Problem(
            text=f"{counted(len(told), 'workflow')} of machines that are left out as out of service, so that `tinkbox apply` refuses "
            "their documents where these are not known, and with them every document that is applied together with them: "
            f"{_some(told)}. `tinkbox hardware return MACHINE` has a machine in documents again"
        )


def _machine_names(known: References, declared: Declaration, beside: Sequence[str]) -> dict[MachineKey, str] | str:
    """The names by which a document means its machines that have other ones by now, or which others it would mean, in words.

    `beside` are the addresses that it has.
    """
    names: dict[MachineKey, str] = {}
    for (namespace, name), machine_id in declared.meant.items():
        machine, named = known.of(machine_id), known.meant(namespace, name, beside)
        if machine is None:
            before = declared.machines.get((namespace, name))
            if named and before is not None and [each.id for each in named] != [before]:
                return f"{_any_of(named)} in place of its {name}, which was deleted"
        elif [each.id for each in named] != [machine_id]:
            names[namespace, name] = called(machine)
            again = known.meant(namespace, called(machine), beside)
            if [each.id for each in again] != [machine_id]:
                return f"{_any_of(again)} in place of its {told_apart(machine)}"
    return names


def _bound_by(written: Iterable[str], addressed: Mapping[str, str]) -> dict[str, str]:
    """The ids of the machines that a workflow was made with by what is `written` in its document; a value may have lines of it."""
    there = {spelled_address(one) for each in written for one in (each, *each.splitlines())}
    return {each: its_id for each, its_id in addressed.items() if spelled_address(each) in there}


def _other_at(known: References, bound: Mapping[str, str]) -> str:
    """Which other machine than its own has by now what a document calls one by; empty: none has."""
    for address, its_id in bound.items():
        machine, own = known.at(address), known.of(its_id)
        if machine is not None and machine.id != its_id:
            was = told_apart(own) if own is not None else f"machine at {address}, which was deleted"
            return f"{told_apart(machine)} in place of its {was}"
    return ""


def _any_of(machines: Sequence[Hardware]) -> str:
    more = f" or {len(machines) - 1} more" if len(machines) > 1 else ""
    return f"{told_apart(machines[0])}{more}" if machines else "no machine"


def _with_names(declared: Declaration, names: Mapping[MachineKey, str]) -> Declaration:
    """What a workflow was made from, with other names for its machines."""
    return replace(
        declared,
        hardware_ref=names.get((declared.namespace, declared.hardware_ref), declared.hardware_ref),
        document=with_machine_names(declared.document, declared.namespace, names),
    )


def _some(names: Sequence[str]) -> str:
    """The first of these names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(sorted(names, key=natural)[:_MOST_NAMED])}{more}"


def _breakpoints(tables: Tables, flows: Collection[DeclaredWorkflow]) -> Iterator[Problem]:
    """That documents hold nothing which people want to be held."""
    armed = tables.holds.armed_by_people(each.id for each in flows if not each.is_over)
    names = [each.name for each in flows if each.id in armed]
    if names:
        yield Problem(
            text=f"{counted(len(names), 'workflow')} with breakpoints that are in no document ({_some(names)}): `tinkbox apply` elsewhere holds nothing there. To hold it, run `tinkbox workflow create -f FILE "
            "--breakpoint WHERE` instead"
        )


def _waiting(tables: Tables, machines: Sequence[str]) -> Iterator[Problem]:
    """That machines are to get workflows which are not there yet."""
    if waiting := len(tables.rollouts.waiting_in(machines)):
        yield Problem(
            text=f"{counted(waiting, 'machine')} waiting in a rollout: they have no workflow yet, and rollouts are in no "
            "document: `tinkbox rollout list` shows them"
        )


def _exported_flows(flows: Iterable[tuple[DeclaredWorkflow, str]]) -> list[Exported]:
    """Workflows, each with its namespace, in the order in which machines do them: each document has a later time than those before it."""
    found: list[Exported] = []
    last = _LONG_AGO
    for flow, namespace in sorted(flows, key=lambda each: each[0].place):
        last = max(flow.created_at or last, last + timedelta.resolution)
        manifest = flow_manifest(flow, flow.template_name, namespace, flow.labels)
        found.append(Exported(kind=Kind.WORKFLOW, name=flow.name, manifest=with_time(manifest, last)))
    return found


def _order(exported: Exported) -> tuple[object, ...]:
    namespace = str((exported.manifest.get("metadata") or {}).get("namespace", ""))
    return (natural(exported.name), exported.name, namespace, str(exported.manifest.get("id", "")))
