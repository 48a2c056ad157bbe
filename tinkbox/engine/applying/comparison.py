"""What becomes of each document, compared with what is there.  Pure."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Generic, TypeVar

from tinkbox.engine.applying.manifests import (
    Manifest,
    flow_manifest,
    kept_manifest,
    machine_manifest,
    template_manifest,
)
from tinkbox.engine.applying.reading import (
    Declared,
    DeclaredFlow,
    DeclaredKept,
    DeclaredMachine,
    DeclaredSecret,
    DeclaredTemplate,
    Documents,
    Referred,
    TemplateKey,
)
from tinkbox.engine.applying.structured_flows import reference
from tinkbox.engine.machines.replacement import (
    agent_in_the_way,
    id_in_the_way,
    name_in_the_way,
    name_taken,
    namesakes,
    needed,
    workflow_in_the_way,
)
from tinkbox.model.access import Right
from tinkbox.model.declaration import (
    DeclaredWorkflow,
    with_machine_names,
    with_retirement,
)
from tinkbox.model.devices import canonical
from tinkbox.model.documents.hardware import ID_ANNOTATION, allowing_netboot, kept_id
from tinkbox.model.documents.kept_documents import MAX_KEPT, KeptDocument, KeptKey, json_bytes
from tinkbox.model.documents.secret_fields import has_secrets, masked
from tinkbox.model.errors import Problem
from tinkbox.model.hardware import Hardware, called, names_of, namespace_of
from tinkbox.model.labels import NO_LABELS, Labels
from tinkbox.model.rollout import LABEL
from tinkbox.model.secret import Secret, SecretDocument
from tinkbox.store.hardware import MachineRecord
from tinkbox.store.templates import Template

D = TypeVar("D", bound=Declared)


class Outcome(StrEnum):
    """What became of a machine, a template or a workflow, in kubectl's words."""

    CREATED = "created"
    CONFIGURED = "configured"
    UNCHANGED = "unchanged"
    PRUNED = "pruned"
    REFUSED = "refused"  # a workflow that would have to change
    KEPT = "kept"  # what would be pruned, and is in use


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What is there, as far as documents are about it.

    Machines by id, templates by the keys of their documents, workflows by name, newest last, kept documents by their keys;
    `holders` are the other machines that have a MAC, address or agent id of a declared one, `so_called` those that have the
    name of one; `needing` the unfinished workflows of machines.  `let_netboot` are machines that workflows allow to netboot,
    `template_ids` the ids of the templates that workflows refer to, `referred` those of the machines that they mean, `waiting`
    the rollouts in which machines wait; `typed` words a machine for a command, and `named` has the ids of those of a name or
    hostname.  `own_machines` has the ids of the machines that run a workflow or stand in its map.
    What is `reserved` is as in `Machines`; `same_secrets` says whether the secrets that there are have the declared values, and
    `secrets_beside` are those that there are of these names, or of documents of the declared names.
    """

    machines: Mapping[str, MachineRecord] = field(default_factory=dict)
    templates: Mapping[TemplateKey, Template] = field(default_factory=dict)
    flows: Mapping[str, Sequence[DeclaredWorkflow]] = field(default_factory=dict)
    holders: Mapping[str, Sequence[tuple[str, Hardware]]] = field(default_factory=dict)
    needing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    let_netboot: Collection[str] = ()
    template_ids: Mapping[TemplateKey, str] = field(default_factory=dict)
    referred: Referred = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[KeptKey, KeptDocument] = field(default_factory=dict)
    so_called: Sequence[Hardware] = ()
    typed: Callable[[Hardware], str] = called
    named: Callable[[str], Sequence[str]] = lambda _: ()
    own_machines: Callable[[DeclaredWorkflow], Collection[str]] = lambda _: ()
    reserved: Collection[str] = ()
    same_secrets: Mapping[str, bool] = field(default_factory=dict)
    secrets_beside: Sequence[Secret] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[D]):
    """What becomes of one document; `id` is empty for what is new.

    `labels` are those that it has then, None: they stay as they are.  `why` says what is in the way of a refused one.
    `retires` is the new reason for which a machine is out of service, None: nothing changes of that.  `way_out` has the
    commands after which a Workflow is made anew of its document.
    """

    declared: D
    outcome: Outcome
    old: Manifest | None
    new: Manifest
    id: str = ""
    labels: Labels | None = None
    why: str = ""
    retires: str | None = None
    way_out: str = ""

    @property
    def content_changes(self) -> bool:
        """Whether more than labels changes, and whether a machine is in service."""
        if self.outcome is not Outcome.CONFIGURED or self.old is None:
            return self.outcome is Outcome.CREATED
        return _content(self.old) != _content(self.new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What becomes of all documents.

    `hardware` are the declared machines as they are to be, by their ids; `referred` are the ids of those that Workflows refer to,
    by namespace and name.
    """

    machines: Sequence[Decision[DeclaredMachine]]
    templates: Sequence[Decision[DeclaredTemplate]]
    flows: Sequence[Decision[DeclaredFlow]]
    kept: Sequence[Decision[DeclaredKept]]
    secrets: Sequence[Decision[DeclaredSecret]]
    hardware: Mapping[str, Hardware]
    referred: Referred
    problems: Sequence[Problem]


def decide(documents: Documents, stored: Stored, *, secrets: bool = True) -> Decisions:
    """What becomes of each document; without `secrets` what the field calls secret is not compared: nobody learns whether they guess it."""
    referred = stored.referred
    flows = [_told(_flow(each, stored), secrets=secrets) for each in documents.flows]
    netbooting = set(stored.let_netboot) | {
        machine
        for each in flows
        if each.declared.toggles_netboot
        and each.outcome is not Outcome.REFUSED
        and (machine := each.declared.machine(referred))
    }
    machines = [_told(_machine(each, stored, netbooting), secrets=secrets) for each in documents.machines]
    ours = {each.hardware.id: each.hardware for each in documents.machines}
    so_called = namesakes(
        ours.values(),
        {each: record.hardware for each, record in stored.machines.items()},
        [each for each in stored.so_called if each.id not in ours],
    )
    taken = {each.id: holder for each, holder in so_called}
    kept = [_told(_kept(each, stored.kept.get(each.document.key)), secrets=secrets) for each in documents.kept]
    problems = [problem for each in machines for problem in _machine_problems(each, ours, taken, stored)]
    problems += [problem for each in kept for problem in _kept_problems(each)]
    problems += _secret_problems(documents.secrets, stored.secrets_beside)
    problems += [
        each.problem(told.text, told.key) for each in documents.disabled for told in told_of_disabled(each, stored)
    ]
    return Decisions(
        machines=machines,
        templates=[_template(each, stored.templates.get(each.key)) for each in documents.templates],
        flows=flows,
        kept=kept,
        secrets=_secrets(documents.secrets, stored),
        hardware={each.declared.hardware.id: _as_it_will_be(each.declared, stored, netbooting) for each in machines},
        referred=referred,
        problems=problems,
    )


def _told(decision: Decision[D], *, secrets: bool) -> Decision[D]:
    """The same decision; without `secrets` nothing changes where nothing else than secret values differs."""
    if secrets or decision.old is None or decision.old == decision.new:
        return decision
    if masked(decision.old) != masked(decision.new):
        return decision
    return replace(decision, outcome=Outcome.UNCHANGED, why="", way_out="")


def uncompared(decisions: Decisions) -> Iterator[Problem]:
    """That secret values of these documents were not compared."""
    documents = [each.new for kind in (decisions.machines, decisions.flows, decisions.kept) for each in kind]
    if any(map(has_secrets, documents)):
        yield Problem(
            text=f"what the field calls secret, such as user-data, is not compared: that needs the right to {Right.SECRETS}"
        )


def _as_it_will_be(declared: DeclaredMachine, stored: Stored, netbooting: Collection[str]) -> Hardware:
    """The machine with the labels that it will have, and allowed to netboot where a workflow wants it."""
    record = stored.machines.get(declared.hardware.id)
    labels = declared.labels if declared.labels is not None else record.hardware.labels if record else NO_LABELS
    hardware = replace(declared.hardware, labels=labels)
    if hardware.id in netbooting and not all(each.allow_pxe for each in hardware.interfaces):
        return allowing_netboot(hardware)
    return hardware


def _machine(declared: DeclaredMachine, stored: Stored, netbooting: Collection[str]) -> Decision[DeclaredMachine]:
    wanted, record = _as_it_will_be(declared, stored, netbooting), stored.machines.get(declared.hardware.id)
    before = record.retired.reason if record and record.retired else None
    retired = declared.retired if declared.retired is not None else before
    new = machine_manifest(wanted, wanted.labels, retired)
    old = machine_manifest(record.hardware, record.hardware.labels, before) if record else None
    return Decision(
        declared=declared,
        outcome=_outcome(old, new),
        old=old,
        new=new,
        id=record.hardware.id if record else "",
        labels=declared.labels,
        retires=retired if retired != before else None,
    )


def _template(declared: DeclaredTemplate, stored: Template | None) -> Decision[DeclaredTemplate]:
    old = template_manifest(stored.namespace, stored.name, stored.data, stored.labels) if stored else None
    labels = declared.labels if declared.labels is not None else stored.labels if stored else NO_LABELS
    new = template_manifest(declared.namespace, declared.name, declared.text, labels)
    return Decision(
        declared=declared,
        outcome=_outcome(old, new),
        old=old,
        new=new,
        id=stored.id if stored else "",
        labels=declared.labels,
    )


def _kept(declared: DeclaredKept, stored: KeptDocument | None) -> Decision[DeclaredKept]:
    labels = declared.labels if declared.labels is not None else stored.labels if stored else NO_LABELS
    new, old = kept_manifest(declared.document.manifest, labels), dict(stored.manifest) if stored else None
    return Decision(declared=declared, outcome=_outcome(old, new), old=old, new=new, id=stored.id if stored else "")


def _secrets(declared: Iterable[DeclaredSecret], stored: Stored) -> list[Decision[DeclaredSecret]]:
    """Nothing shows what a secret was, or is to be.  One that was set by hand changes: it is the document's from now on."""
    documents = {each.name: each.document for each in stored.secrets_beside}

    def outcome(each: DeclaredSecret) -> Outcome:
        if (is_same := stored.same_secrets.get(each.name)) is None:
            return Outcome.CREATED
        return Outcome.UNCHANGED if is_same and documents.get(each.name) == each.entry.document else Outcome.CONFIGURED

    return [Decision(declared=each, outcome=outcome(each), old=None, new={}, id=each.name) for each in declared]


def _secret_problems(declared: Iterable[DeclaredSecret], beside: Sequence[Secret]) -> Iterator[Problem]:
    """That a Secret would take the place of another one, which has its name in another namespace, or an entry of that name."""
    others = {each.name: each.document for each in beside if each.document is not None}
    named: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, document in others.items():
        named[document.name].append((document.namespace, name))
    told: set[SecretDocument] = set()
    for each in declared:
        document, there = each.entry.document, others.get(each.name)
        if there is not None and there.name != document.name:
            key = each.name.removeprefix(f"{there.name}.")
            text = f"{each.name} is the key {key} of the Secret {there.name} of namespace {there.namespace}: call this key something else"
            yield each.problem(text, each.place)
        apart = [one for one in named[document.name] if one[0] != document.namespace]
        if apart and document not in told:
            told.add(document)
            names = " ".join(name for _, name in apart)
            yield each.problem(
                f"Secret {document.name} was applied in namespace {apart[0][0]}, and templates tell no namespaces of Secrets apart: give "
                f"one of them another name, or delete that one first (`tinkbox secret delete {names}`)",
                "metadata.namespace",
            )


def _kept_problems(decision: Decision[DeclaredKept]) -> Iterable[Problem]:
    """That a document is too large to be kept."""
    if decision.outcome is not Outcome.UNCHANGED and (octets := json_bytes(decision.new)) > MAX_KEPT:
        document = decision.declared.document
        yield decision.declared.problem(
            f"{document.kind} {document.name} has {octets} bytes in JSON, and at most {MAX_KEPT} are kept of one: split it into "
            "several documents"
        )


def _flow(declared: DeclaredFlow, stored: Stored) -> Decision[DeclaredFlow]:
    """What becomes of a document, compared with the workflow that it is about (`meant_workflow`).

    Of one that is forgotten for its age only its declaration is known: the same one is not run again.
    """
    flow = meant_workflow(declared, stored)
    lets = declared.machine(stored.referred) if declared.toggles_netboot else ""
    kept = flow.labels if flow else NO_LABELS
    own = {LABEL: kept[LABEL]} if LABEL in kept else {}  # no document says or changes it
    labels = kept if declared.labels is None else {**declared.labels, **own}
    if flow is None or (not flow.id and changed_fields(flow, declared, stored)):
        new = _flow_as_declared(declared, lets, labels)
        return Decision(declared=declared, outcome=Outcome.CREATED, old=None, new=new, labels=declared.labels)
    new = _flow_as_declared(_in_former_names(declared, flow, stored), lets, labels)
    template_ref, hardware_ref = _template_ref(flow, declared, stored), _by_hand_ref(flow, declared, stored)
    old = flow_manifest(flow, template_ref, declared.namespace, flow.labels, hardware_ref)
    way_out = f"`tinkbox workflow delete {flow.id[:8]}`"
    if not flow.is_over:
        way_out = f"`tinkbox workflow cancel {flow.id[:8]}` and {way_out}"
    if changed := changed_fields(flow, declared, stored):
        why = (
            f"{differs(changed)} from the workflow of that name, and a "
            f"workflow never changes: leave its document as it was, or, to run it again, {way_out} first or give it another name"
        )
        return Decision(declared=declared, outcome=Outcome.REFUSED, old=old, new=new, id=flow.id, why=why)
    # A document of v1alpha2 is kept whole: its annotations may change, as labels may.
    annotated = bool(declared.structured) and old["metadata"] != new["metadata"]
    same = not flow.id or (labels == flow.labels and not annotated)
    outcome = Outcome.UNCHANGED if same else Outcome.CONFIGURED
    return Decision(declared=declared, outcome=outcome, old=old, new=new, id=flow.id, labels=labels, way_out=way_out)


def _flow_as_declared(declared: DeclaredFlow, lets: str, labels: Labels) -> Manifest:
    """The document of the workflow that another document declares, with these labels; `lets` as `Declaration.let_netboot`."""
    wanted = DeclaredWorkflow(
        id="",
        name=declared.name,
        template_id="",
        template_name="",
        devices=declared.devices,
        is_over=False,
        declaration=replace(declared.declaration({}), let_netboot=lets),
    )
    return flow_manifest(wanted, declared.template_ref, declared.namespace, labels)


def _in_former_names(declared: DeclaredFlow, flow: DeclaredWorkflow, stored: Stored) -> DeclaredFlow:
    """The document as it calls the machines that the workflow was made with by the names which they had then."""
    before = flow.declaration
    if before is None or (declared.template_ref, declared.hardware_ref) == (before.template_ref, before.hardware_ref):
        return declared
    former = {(namespace, machine): name for (namespace, name), machine in before.meant.items()}
    names = {
        key: former[key[0], machine]
        for key, machine in stored.referred.get(declared.key, {}).items()
        if before.meant.get(key) != machine and (key[0], machine) in former
    }
    if not names:
        return declared
    if declared.structured:
        written = with_machine_names(declared.structured, declared.namespace, names)
        return replace(declared, structured=written, template_ref=reference(written))
    return replace(declared, hardware_ref=names[declared.namespace, declared.hardware_ref])


def meant_workflow(declared: DeclaredFlow, stored: Stored) -> DeclaredWorkflow | None:
    """The workflow that a document is about: the newest that was declared in its namespace, else one that was made by hand.

    By hand many are made of one name, each for its machine: it is the newest that does not differ, and else the newest.
    """
    there = stored.flows.get(declared.name, ())
    if (ours := newest_declared(declared, there)) is not None:
        return ours
    by_hand = [each for each in there[::-1] if each.declaration is None]
    same = (each for each in by_hand if not changed_fields(each, declared, stored))
    return next(chain(same, by_hand), None)


def newest_declared(declared: DeclaredFlow, there: Sequence[DeclaredWorkflow]) -> DeclaredWorkflow | None:
    """Of the workflows of its name, oldest first, the newest that was made from a document of its namespace."""
    ours = (each for each in there[::-1] if each.declaration and each.declaration.namespace == declared.namespace)
    return next(ours, None)


def told_of_disabled(declared: DeclaredFlow, stored: Stored) -> Iterator[Problem]:
    """That workflows which a document is about are not over, where it says that they are not to run, by the key of that."""
    key, what = declared.held_back
    for each in stored.flows.get(declared.name, ()):
        is_meant = (
            each.declaration.namespace == declared.namespace
            if each.declaration is not None
            else not changed_fields(each, declared, stored)
        )
        if is_meant and not each.is_over:
            text = (
                f"workflow {each.id[:8]} of this name is there and not over, and it cannot be held back: `tinkbox workflow cancel "
                f"{each.id[:8]}` if it is not to run, or give its document without {what}"
            )
            yield Problem(key=key, text=text)


def changed_fields(flow: DeclaredWorkflow, declared: DeclaredFlow, stored: Stored) -> list[str]:
    """The fields that differ; of one that was made by hand the hardwareRef does where it is for another machine (`_is_for`)."""
    before, declared = flow.declaration, _in_former_names(declared, flow, stored)
    if declared.structured:
        return ["spec"] if before is None or before.template_ref != declared.template_ref else []
    known: list[tuple[str, object, object]] = [
        ("templateRef", _template_ref(flow, declared, stored), declared.template_ref),
        ("hardwareMap", canonical(flow.devices), canonical(declared.devices)),
    ]
    if before is not None:
        known.insert(1, ("hardwareRef", before.hardware_ref, declared.hardware_ref))
    elif declared.hardware_ref:
        known.insert(1, ("hardwareRef", True, _is_for(flow, declared, stored)))
    return [name for name, was, wanted in known if was != wanted]


def differs(changed: Sequence[str]) -> str:
    """That these fields of a document do: `its templateRef and hardwareMap differ`."""
    return f"its {' and '.join(changed)} differ{'s' if len(changed) == 1 else ''}"


def _template_ref(flow: DeclaredWorkflow, declared: DeclaredFlow, stored: Stored) -> str:
    """What a workflow calls its template; made by hand, it is the declared one where that is the same template."""
    if flow.declaration is not None:
        return flow.declaration.template_ref
    same = stored.template_ids.get(declared.template_key) == flow.template_id
    return declared.template_ref if same else flow.template_name


def _is_for(flow: DeclaredWorkflow, declared: DeclaredFlow, stored: Stored) -> bool:
    """Whether a hardwareRef fits a workflow that was made by hand.

    It means the machine that was said to it, or is what that was called where it means none by now.  Where none was said, it
    means one of the workflow's own machines, or none; with another map the hardwareRef is not looked at.
    """
    machine, said = declared.machine(stored.referred), flow.said
    if said is not None:
        return machine == said.id if machine else declared.hardware_ref == said.name
    if not machine or canonical(flow.devices) != canonical(declared.devices):
        return True
    return machine in stored.own_machines(flow)


def _by_hand_ref(flow: DeclaredWorkflow, declared: DeclaredFlow, stored: Stored) -> str:
    """What a workflow that was made by hand calls its machine: as a document that fits it or says none, else as it was said."""
    if not declared.hardware_ref or _is_for(flow, declared, stored):
        return declared.hardware_ref
    return flow.said.name if flow.said is not None else ""


def _machine_problems(
    decision: Decision[DeclaredMachine], ours: Collection[str], so_called: Mapping[str, Hardware], stored: Stored
) -> Iterable[Problem]:
    """Why a machine cannot become what its document says.

    `ours` are the ids of all that are declared, and `so_called` the machines that have the names of some of them (`namesakes`).
    """
    if decision.outcome is Outcome.UNCHANGED:
        return
    declared, wanted = decision.declared, decision.declared.hardware
    record = stored.machines.get(wanted.id)
    taken: dict[str, tuple[Hardware, list[str]]] = {}
    for claim, holder in stored.holders.get(wanted.id, ()):
        if holder.id not in ours or claim == holder.id:
            taken.setdefault(holder.id, (holder, []))[1].append(claim)
    for holder, claims_of in taken.values():
        yield declared.problem(told_of_holder(wanted, holder, claims_of, stored.typed(holder), is_new=record is None))
    if why := agent_in_the_way(wanted, stored.reserved):
        yield declared.problem(why, "spec.agentID")
    if record is not None and (why := name_in_the_way(record.hardware, wanted, stored.typed, stored.named)):
        yield declared.problem(why, "metadata.name")
    elif record is not None and (why := id_in_the_way(record.hardware, wanted)):
        yield declared.problem(why, "metadata.annotations" if wanted.name else "id")
        return
    elif wanted.id in so_called:
        yield declared.problem(name_taken(so_called[wanted.id]), "metadata.name")
    needing = stored.needing.get(wanted.id, ())
    if record is not None and (workflow := workflow_in_the_way(record.hardware, wanted, lambda _: needing)):
        yield declared.problem(needed(record.hardware, workflow, stored.typed))
    if record is not None and record.retired is None and decision.retires is not None:
        yield from _still_needed(declared, needing, stored.waiting.get(wanted.id, ""))


def told_of_holder(wanted: Hardware, holder: Hardware, claimed: Collection[str], typed: str, *, is_new: bool) -> str:
    """That another machine, `typed` in a command, has what a document claims; it may be the same one, renamed in the file."""
    macs, namesake = {str(each.mac) for each in wanted.interfaces}, _is_namesake(wanted, holder)
    listed = sorted(claimed, key=lambda each: (each not in macs, each))
    told = (
        f"{' and '.join(listed)} belong{'s' if len(listed) == 1 else ''} to machine {called(holder)} already: "
        f"`tinkbox hardware get {typed}` shows it"
    )
    if holder.id in claimed:
        return f"{told}. Choose another {'agent id' if wanted.agent_id in claimed else 'name'}"
    delete = f"`tinkbox hardware delete {typed}` first"
    if namesake:
        told += (
            f". That machine is in namespace {namespace_of(holder)}, the document in namespace {namespace_of(wanted)}"
        )
    if not is_new or not macs & set(claimed):
        return f"{told}. Leave it to one of the two, or {delete}"
    if namesake:
        same = _same_elsewhere(wanted, holder)
    elif wanted.name:
        meant = "If it is the same machine" if wanted.name in names_of(holder) else "To rename it"
        same = f"{meant}, give the document its id, under metadata: `annotations: {{{ID_ANNOTATION}: {holder.id}}}`"
    else:
        same = f'Where it is the same machine, give the document its id: `"id": "{holder.id}"`'
    return f"{told}. {same}. If it is another machine, {delete}"


def _is_namesake(wanted: Hardware, holder: Hardware) -> bool:
    """Whether a machine has the name of a document, and only the namespace tells them apart."""
    kinds = {wanted.document.get("kind"), holder.document.get("kind")}
    return kinds == {"Hardware"} and wanted.name == holder.name and namespace_of(wanted) != namespace_of(holder)


def _same_elsewhere(wanted: Hardware, holder: Hardware) -> str:
    """What a document says, under metadata, that means the machine of its name in another namespace."""
    moved = f"`annotations: {{{ID_ANNOTATION}: {holder.id}}}`"
    if kept_id(holder.document):  # its namespace and name do not mean it
        return f"If it is the same machine, give the document its id, under metadata: {moved}"
    return (
        f"If it is the same machine, write `namespace: {namespace_of(holder)}` into the document, under metadata, or, to move "
        f"it to namespace {namespace_of(wanted)}, {moved}"
    )


def _still_needed(declared: DeclaredMachine, needing: Sequence[str], rollout: str) -> Iterable[Problem]:
    """Why a machine cannot be taken out of service yet."""
    name = declared.name
    if needing:
        yield declared.problem(
            f"workflow {needing[0][:8]} is not over and needs machine {name}, which is to be retired: wait for it, or "
            f"`tinkbox hardware retire {name} --force` cancels it first"
        )
    elif rollout:
        yield declared.problem(
            f"machine {name} is to be retired and waits in rollout {rollout[:8]}: `tinkbox hardware retire {name} --force` has "
            "the rollout go on without it"
        )


def _outcome(old: Manifest | None, new: Manifest) -> Outcome:
    if old is None:
        return Outcome.CREATED
    return Outcome.UNCHANGED if old == new else Outcome.CONFIGURED


def _content(manifest: Manifest) -> Manifest:
    """Without labels, and what it says of a machine's being out of service."""
    if manifest.get("kind") in (None, "Hardware"):
        manifest = with_retirement(manifest, None)
    metadata = manifest.get("metadata")
    if manifest.get("kind") is None:
        return {name: value for name, value in manifest.items() if name != "labels"}
    kept = {name: value for name, value in (metadata or {}).items() if name != "labels"}
    return {**manifest, "metadata": kept}
