"""What workflows and rule sets of documents refer to, and what there is to say where it is not there."""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from tinkbox.engine.applying.comparison import Decisions, Outcome
from tinkbox.engine.applying.manifests import Manifest
from tinkbox.engine.applying.reading import DeclaredFlow, Documents, TemplateKey, Unread
from tinkbox.engine.applying.structured_flows import hardware_view, tasks_called
from tinkbox.engine.machines.references import References, runs_elsewhere
from tinkbox.engine.templates.binding import way_out
from tinkbox.engine.templates.built_in import BuiltIn, catalogue
from tinkbox.engine.templates.structured_tasks import At, Entry, in_itself
from tinkbox.engine.templates.templates import find_template, in_namespace, told_namespace
from tinkbox.model.access import NOT_SHOWN
from tinkbox.model.declaration import DeclaredWorkflow, MachineKey
from tinkbox.model.devices import addresses
from tinkbox.model.documents.kept_documents import KeptKey
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.errors import Conflict, Invalid, NotFound, Problem, Refusal
from tinkbox.model.hardware import spelled_address, worker_of
from tinkbox.model.text import shortened
from tinkbox.store.database import Tables
from tinkbox.store.templates import Template

_NEVER: Final = datetime.min.replace(tzinfo=UTC)  # of a template that is not stored yet
# What may read the annotations of a Workflow: it mentions these, the metadata as a whole, or all of the Workflow.
_READS_ANNOTATIONS: Final = re.compile(r"\.workflow\b(?!\.spec\b|\.metadata\.(?!annotations\b)\w)")
_ABSENT: Final = "is neither known nor in these files: give its document, or its new name where it was renamed"


def stored_templates(tables: Tables, documents: Documents) -> dict[TemplateKey, Template]:
    """The stored template that each document means which is not new.

    One of no namespace is that of the default namespace, else of the first whose document has the same text: then only its namespace
    was not known.
    """
    found: dict[TemplateKey, Template] = {}
    by_hand: dict[str, Template] = {}
    for each in documents.templates:
        for there in tables.templates.named(each.name):
            if each.namespace == there.namespace:
                found[each.key] = there
            elif not there.namespace:
                by_hand[each.name] = there
    for each in sorted(documents.templates, key=lambda one: (one.namespace != DEFAULT_NAMESPACE, one.namespace)):
        if each.key in found or each.name not in by_hand:
            continue
        if each.namespace == DEFAULT_NAMESPACE or each.text == by_hand[each.name].data:
            found[each.key] = by_hand.pop(each.name)
    return found


def templates_of(
    tables: Tables, references: Collection[TemplateKey], documents: Documents
) -> dict[TemplateKey, Template | BuiltIn | Refusal]:
    """What Workflows mean by their templateRef, each from a namespace: a template of the documents, stored, or of the program."""
    found: dict[TemplateKey, Template | BuiltIn | Refusal] = {
        each.template_key: Template(
            id=each.template_ref,
            name=tasks_called([each.task_key(one) for one in each.tasks]),
            data="",
            created_at=_NEVER,
            updated_at=_NEVER,
        )
        for each in documents.flows
        if each.structured
    }
    declared: dict[str, list[Template]] = defaultdict(list)
    for one in documents.templates:
        declared[one.name].append(
            Template(
                id="",
                name=one.name,
                namespace=one.namespace,
                data=one.text,
                created_at=_NEVER,
                updated_at=_NEVER,
            )
        )
    replaced = {each.id for each in stored_templates(tables, documents).values()}
    for key in set(references) - set(found):
        namespace, name = key
        there = [*declared[name], *(each for each in tables.templates.named(name) if each.id not in replaced)]
        found[key] = _meant_template(tables, namespace, name, there)
        if isinstance(found[key], NotFound):
            for (_, called), place in documents.textless.items():
                if called == name:
                    found[key] = Invalid(f"template {name} at {place} has no text, and is left out")
    return found


def _meant_template(
    tables: Tables, namespace: str, name: str, there: Sequence[Template]
) -> Template | BuiltIn | Refusal:
    """What a `templateRef` means, of the templates of this name as they will be; it may be an id as well."""
    if nearest := in_namespace(there, namespace):
        return nearest[0]
    if len(there) > 1 and name not in catalogue():
        spaces = " and ".join(sorted(each.namespace for each in there))
        return Conflict(
            f"namespace {namespace} has no template {name}, and namespaces {spaces} have one each: give its document the "
            "namespace of the Workflow, or the Workflow that of the template"
        )
    if there and name not in catalogue():
        return there[0]
    try:
        return find_template(tables, name, namespace)
    except (NotFound, Conflict) as refusal:
        return refusal


def exported_template(tables: Tables, namespace: str, name: str) -> Template | BuiltIn | Refusal:
    """What a `templateRef` means where nothing is but what `export` writes: templates of no namespace are of the default one."""
    there = [replace(each, namespace=each.namespace or DEFAULT_NAMESPACE) for each in tables.templates.named(name)]
    return _meant_template(tables, namespace, name, there)


def templates_elsewhere(
    flows: Iterable[DeclaredFlow], templates: Mapping[TemplateKey, Template | BuiltIn | Refusal]
) -> Iterator[Problem]:
    """What to say of new workflows whose template is of another namespace, as the only one of that name."""
    for each in flows:
        if told := told_elsewhere(each, templates[each.template_key]):
            yield each.problem(told, "spec.templateRef")


def told_elsewhere(flow: DeclaredFlow, template: Template | BuiltIn | Refusal) -> str:
    """What to say of a workflow whose template is of another namespace; empty: it is not, or was named by its id."""
    if not isinstance(template, Template) or template.name != flow.template_ref:
        return ""
    if template.namespace in ("", flow.namespace):
        return ""
    return (
        f"template {template.name} is that of namespace {template.namespace}, for namespace {flow.namespace} has none"
    )


def templates_beside(tables: Tables, decisions: Decisions, leaving: Collection[str]) -> Iterator[Problem]:
    """What to say of new templates whose name others have, but for those `leaving`: on the command line it means none of them."""
    becoming = {each.id: each.declared.namespace for each in decisions.templates if each.content_changes}
    new: dict[str, list[str]] = defaultdict(list)
    for each in decisions.templates:
        declared = each.declared
        if each.outcome is not Outcome.CREATED:
            continue
        there = (one for one in tables.templates.named(declared.name) if one.id not in leaving)
        spaces = [*(becoming.get(one.id, one.namespace) for one in there), *new[declared.name]]
        new[declared.name].append(declared.namespace)
        if others := [told_namespace(one) for one in spaces]:
            yield declared.problem(
                f"template {declared.name} is another one than that of {' and of '.join(others)}: on the command line name each "
                "by its id, which `tinkbox template list` shows",
                "metadata.name",
            )


def run_anew(flows: Iterable[DeclaredFlow]) -> Iterator[Problem]:
    """What to say of new workflows that a cluster ran already, by the `status` of their documents."""
    return (each.problem(told, "status") for each in flows if (told := runs_anew(each)))


def runs_anew(flow: DeclaredFlow) -> str:
    """What to say of a new workflow whose document says that it ran; empty: nothing."""
    status = flow.source.content.get("status")
    state = status.get("state") if isinstance(status, Mapping) else None
    if not isinstance(state, str) or state.removeprefix("STATE_").upper() in ("", "PENDING"):
        return ""
    return (
        f"its status says {shortened(state, 40)}, which is not read: workflow {flow.name} is new here, and runs from its "
        "beginning. Leave its document out if it is not to run"
    )


def lacked_by_rules(tables: Tables, documents: Documents) -> Iterator[Problem]:
    """The templates and Tasks that rule sets mean and that are not there yet."""
    found = templates_of(tables, {one for each in documents.kept for one in each.wanted.templates}, documents)
    tasks = {one for each in documents.kept for one in each.wanted.tasks if one[2]}
    there = {each.document.key for each in documents.kept}
    there |= {each.key for each in tables.kept_documents.some(tasks - there)} if tasks else set()
    for each in documents.kept:
        lacking = [
            (str(told), key) for one, key in each.wanted.templates.items() if isinstance(told := found[one], Refusal)
        ]
        lacking += [
            (f"{kind} {name} of namespace {namespace} is not there", key)
            for (kind, namespace, name), key in each.wanted.tasks.items()
            if (kind, namespace, name) in tasks - there
        ]
        for text, key in lacking:
            yield each.problem(f"{text}. Machines for which a rule holds wait for it", key)


@dataclass(frozen=True, slots=True)
class MeantTask:
    """A Task that workflows mean, and where its fields stand."""

    manifest: Manifest
    at: At


def tasks_of(tables: Tables, documents: Documents) -> dict[KeptKey, MeantTask]:
    """The Tasks that workflows of v1alpha2 mean: of the documents, else those that are kept."""
    wanted = {flow.task_key(each) for flow in documents.flows for each in flow.tasks}
    kept = tables.kept_documents.some(wanted) if wanted else ()
    declared = [each for each in documents.kept if each.document.key in wanted]
    return {each.key: MeantTask(dict(each.manifest), in_itself) for each in kept} | {
        each.document.key: MeantTask(dict(each.document.manifest), each.at) for each in declared
    }


def made_with_others(decisions: Decisions, tasks: Mapping[KeptKey, MeantTask]) -> Iterator[Problem]:
    """What to say of workflows of v1alpha2 whose annotations change, where a text of theirs or of their Tasks may read these.

    Such a text was filled when the workflow was made, and stays as it is.  The Tasks are those of now.
    """
    for each in decisions.flows:
        declared = each.declared
        if each.outcome is not Outcome.CONFIGURED or each.old is None or not declared.structured:
            continue
        if each.old["metadata"].get("annotations") == each.new["metadata"].get("annotations"):
            continue
        meant = (tasks.get(declared.task_key(one)) for one in declared.tasks)
        documents = [declared.structured, *(one.manifest for one in meant if one is not None)]
        if any(_READS_ANNOTATIONS.search(json.dumps(one.get("spec"))) for one in documents):
            yield declared.problem(
                f"the tasks of workflow {declared.name} keep the annotations that they were made with. To run it with the "
                f"changed ones, {each.way_out}, then apply this document again",
                "metadata.annotations",
            )


def entries_of(flow: DeclaredFlow, tasks: Mapping[KeptKey, MeantTask], machines: References) -> list[Entry]:
    """What a workflow of v1alpha2 refers to; raises Invalid with every problem."""
    problems: list[Problem] = []
    entries: list[Entry] = []
    for place, each in enumerate(flow.tasks):
        wanted = (each.get("hardware") or {}).get("hardwareRef") or {}
        named = wanted.get("name") or ""
        agent = each.get("agentID") or ""
        key = (wanted.get("namespace") or flow.namespace, named)
        at_agent = machines.at(agent)
        machine = machines.named(*key, flow.addresses) if named else at_agent
        task = tasks.get(flow.task_key(each))
        if named and machine is None:
            told = machines.ambiguity(*key, flow.addresses, is_structured=True) or f"hardware {named} {_ABSENT}"
            problems.append(Problem(text=f"spec.tasks[{place}]: {told}"))
        if agent and at_agent is None:
            problems.append(Problem(text=f"spec.tasks[{place}].agentID: {_no_agent(agent, flow.namespace, machines)}"))
        if task is None:
            kind, namespace, name = flow.task_key(each)
            problems.append(Problem(text=f"spec.tasks[{place}]: {kind} {name} of namespace {namespace} {_ABSENT}"))
        else:
            worker = agent or (worker_of(machine) if machine else "")
            entries.append(Entry(task=task.manifest, worker=worker, hardware=hardware_view(machine), at=task.at))
    if problems:
        raise Invalid("a document refers to what is not there", problems)
    return entries


def _no_agent(agent: str, namespace: str, machines: References) -> str:
    """What to say of an `agentID` that no machine has."""
    if "{{" in agent:
        return "it takes no placeholders: give an agent id, a MAC or an address"

    def worker_named(name: str) -> str:
        found = machines.named(namespace, name)
        return worker_of(found) if found else ""

    return f"no machine has the agent id, MAC or address {agent}: {way_out(agent, worker_named)}"


def reference_problems(
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
    if not machine or machine in unread.machines:
        return
    if machines.named(declared.namespace, machine, declared.addresses) is None:
        told = machines.ambiguity(declared.namespace, machine, declared.addresses, is_structured=False)
        yield declared.problem(told or f"hardware {machine} {_ABSENT}", "spec.hardwareRef")


def machines_of(flow: DeclaredFlow, machines: References) -> dict[MachineKey, str]:
    """The ids of the machines that a workflow means, as far as these are there and clear."""
    found = {key: machines.named(*key, flow.addresses) for key in flow.machine_keys}
    return {key: each.id for key, each in found.items() if each is not None}


def own_machines(tables: Tables, flow: DeclaredWorkflow) -> set[str]:
    """The ids of the machines that run a stored workflow or stand in its map.

    What a task was bound by means the machine of then, whichever machine has it now.
    """
    bound = tables.workflows.addressed([flow.id]).get(flow.id, {})
    spelled = set(map(spelled_address, bound))
    others = (each for each in addresses(flow.devices) if spelled_address(each) not in spelled)
    return {*bound.values(), *map(tables.hardware.at, others)} - {""}


def elsewhere(
    tables: Tables, declared: DeclaredFlow, decisions: Decisions, workers: Sequence[str]
) -> Iterator[Problem]:
    """What to say of a new workflow whose `hardwareRef` is none of its workers; the machines are as they will be."""
    wanted = declared.machine(decisions.referred)
    if not wanted or wanted in workers:
        return
    machines = {each.hardware.id: each.hardware for each in tables.hardware.some([wanted, *workers])}
    machines |= decisions.hardware
    if wanted in machines and (told := runs_elsewhere(machines[wanted], [machines[each] for each in workers])):
        yield declared.problem(told, "spec.hardwareRef")


def pruned_away(declared: DeclaredFlow, what: str, key: str) -> Problem:
    """That a workflow needs in a field what would be deleted."""
    return declared.problem(
        f"{what} would be pruned, and this workflow needs it: give its document as well, leave this one out, or have --prune "
        "select others",
        key,
    )


def why_not_made(declared: DeclaredFlow, refusal: Refusal, *, reasons: bool = True) -> list[Problem]:
    """Why a workflow cannot be made; what stands in its template has its line there.  `reasons` as in `Wish`."""
    if not reasons:
        return [declared.problem(NOT_SHOWN, "spec.tasks" if declared.structured else "spec.templateRef")]
    listed = refusal.problems if isinstance(refusal, Invalid) else ()
    return about_template(declared, listed) if listed else [declared.problem(str(refusal), "spec")]


def about_template(declared: DeclaredFlow, told: Iterable[Problem]) -> list[Problem]:
    """What there is to say of a workflow's template, or of its tasks."""
    if declared.structured:
        return [declared.problem(str(each), "spec.tasks") for each in told]
    return [declared.problem(f"template {declared.template_ref}: {each}", "spec.templateRef") for each in told]
