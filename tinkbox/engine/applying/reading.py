"""The documents of many files as what they are to become: machines, templates, workflows.  Pure.

Every problem says its file and line.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from tinkbox.engine.applying.manifests import CREATION_TIME, kept_manifest
from tinkbox.engine.applying.structured_flows import reference, task_key
from tinkbox.engine.documents.kubernetes import (
    CLAIM,
    HARDWARE_2020,
    Object,
    Part,
    RemarksOn,
    claimed_twice,
    read_part,
)
from tinkbox.engine.documents.repeated_documents import (
    SUPERSEDED,
    has_moved,
    machine_key,
    name_field,
    one_machine,
    superseded,
)
from tinkbox.engine.templates.templates import check_template_name
from tinkbox.engine.workflows.workflows import check_size
from tinkbox.model.declaration import (
    Declaration,
    MachineKey,
    declared_retirement,
    machine_keys,
    task_entries,
    with_retirement,
    worker_addresses,
)
from tinkbox.model.documents.hardware import declared_labels, given_hardware, kept_id
from tinkbox.model.documents.hardware_v1alpha2 import as_v1alpha1
from tinkbox.model.documents.kept_documents import KEPT, KeptDocument, KeptKey
from tinkbox.model.documents.kubernetes import DISABLED_ANNOTATION
from tinkbox.model.documents.rule_sets import RuleSet, never_told, read_rule_sets
from tinkbox.model.errors import Invalid, Problem, Refusal
from tinkbox.model.hardware import Hardware, called, namespace_of
from tinkbox.model.labels import NO_LABELS, Labels
from tinkbox.model.rollout import labels_given
from tinkbox.model.secret import LEAST_VALUE, SecretDocument, SecretEntry, check_secret_name, check_value
from tinkbox.model.text import counted, quoted, spelled
from tinkbox.yaml_nodes import path

MOST_NOTES: Final = 5_000  # of all files
SHOWN_FILE: Final = 200  # letters of a file's name in a problem
# Of what is read without a problem, where something may turn out to be in the way; the line of every field takes more
# memory than all else.
_PLACES: Final = frozenset(
    {
        "",
        "metadata",
        "metadata.name",
        "metadata.labels",
        "metadata.annotations",
        "metadata.instance",
        "metadata.instance.userdata",
        "metadata.userdata",
        "status",
        "spec",
        "spec.data",
        "spec.templateRef",
        "spec.hardwareRef",
        "spec.tasks",
        "spec.disabled",
        "spec.metadata",
        "spec.metadata.instance",
        "spec.metadata.instance.userdata",
        "spec.userData",
        "spec.vendorData",
        "spec.instance.userdata",
        "spec.instance.vendordata",
    }
)
_GENERATES: Final = (
    "generateName makes another one each time, and what is applied is known by its name: give it a name, or make it with `tinkbox "
    "workflow create -f`"
)
_WAITS: Final = "kept, and no rule of it accepts a machine before tinkbox.yaml has unknown_machines: discover"


_FLOWS: Final = ("Workflow", "Workflow v1alpha2")
_SECRET: Final = "Secret"  # noqa: S105  a kind of documents
# What SOPS leaves in the place of a value (https://getsops.io).
_SOPS: Final = "ENC["
_NOT_DECRYPTED: Final = "it is encrypted by SOPS: decrypt it first, as in `sops -d FILE | tinkbox apply -f -`"
# Of a ConfigMap (`IsConfigMapKey` of Kubernetes).
_CONFIG_KEY: Final = re.compile(r"(?!\.\.|\.\Z)[-._a-zA-Z0-9]{1,253}")
_LAST: Final = datetime.max.replace(tzinfo=UTC)
TemplateKey = tuple[str, str]  # namespace and name
FlowKey = tuple[str, str]  # namespace and name
# The ids of the machines that Workflows mean.
Referred = Mapping[FlowKey, Mapping[MachineKey, str]]
LeftOutKey = tuple[str, str, str]  # the kind as documents have it, namespace and name


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """A file with documents, as its sender calls it."""

    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One document, and where it stands; `labels` None: it says nothing of them."""

    source: Object
    file: str
    labels: Labels | None

    def problem(self, text: str, key: str = "") -> Problem:
        found = self.source.problem(key, text)
        return in_file(self.file, found)

    def at(self, key: str) -> str:
        """Where a field stands: `nodes/a.yaml:3, spec.vars.size`."""
        return self.problem("", key).key


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMachine(Declared):
    """A machine as a document has it; its `labels` are those of `hardware` where it declares some.

    `retired` is why it is to be out of service, None: the document says nothing of that.
    """

    hardware: Hardware
    retired: str | None = None

    @property
    def name(self) -> str:
        return called(self.hardware)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTemplate(Declared):
    """A template as a document has it."""

    name: str
    namespace: str
    text: str

    @property
    def key(self) -> TemplateKey:
        return self.namespace, self.name

    def problems_in_text(self, found: Sequence[Problem], lines_of: Callable[[], Sequence[str]]) -> list[Problem]:
        """What there is to say of the template's text, as `Object.problems_in_text` has it."""
        return [in_file(self.file, each) for each in self.source.problems_in_text(found, lines_of)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFlow(Declared):
    """A workflow as a document has it; one of v1alpha2 stands in `structured`, and has tasks in place of a template.

    `created_at` is when it was made where the document comes from, None: it does not say.
    """

    name: str
    namespace: str
    template_ref: str
    hardware_ref: str
    devices: dict[str, Any]
    toggles_netboot: bool
    created_at: datetime | None = None
    structured: Mapping[str, Any] = field(default_factory=dict)

    @property
    def template_key(self) -> TemplateKey:
        """Which template it means, looked for from its namespace."""
        return self.namespace, self.template_ref

    @property
    def tasks(self) -> list[Mapping[str, Any]]:
        """The entries of one of v1alpha2, each of which refers to a Task."""
        return task_entries(self.structured)

    @property
    def machine_keys(self) -> list[MachineKey]:
        """By which it means machines."""
        return machine_keys(self.namespace, self.hardware_ref, self.structured)

    @property
    def key(self) -> FlowKey:
        return self.namespace, self.name

    @property
    def addresses(self) -> list[str]:
        """By which it says where its actions run."""
        return worker_addresses(self.devices, self.structured)

    def machine(self, referred: Referred) -> str:
        """The id of the machine of its `hardwareRef`, of v1alpha2 that of its first task; empty: there is none."""
        return referred.get(self.key, {}).get(self.machine_keys[0], "") if self.hardware_ref else ""

    def declaration(self, referred: Referred) -> Declaration:
        """What a workflow that is made of it is known by when its document comes again."""
        return Declaration(
            namespace=self.namespace,
            template_ref=self.template_ref,
            hardware_ref=self.hardware_ref,
            let_netboot=self.machine(referred) if self.toggles_netboot else "",
            document=self.structured,
            machines=referred.get(self.key, {}),
        )

    @property
    def held_back(self) -> tuple[str, str]:
        """The field by which one that is disabled says so, and what people call that."""
        if self.source.spec.get("disabled"):
            return "spec.disabled", "disabled"
        return "metadata.annotations", f"the annotation {DISABLED_ANNOTATION}"

    def task_key(self, entry: Mapping[str, Any]) -> KeptKey:
        """Which Task an entry means."""
        return task_key(entry, self.namespace)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What rule sets refer to, each with the field that does: templates, each from a namespace, Tasks, and values of devices."""

    templates: Mapping[TemplateKey, str] = field(default_factory=dict)
    tasks: Mapping[KeptKey, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> set[str]:
        """All fields that refer to something."""
        return {*self.templates.values(), *self.tasks.values(), *self.values.values()}


NOTHING_WANTED: Final = Wanted()


def wanted_by(rule_sets: Collection[RuleSet]) -> Wanted:
    """What these rule sets refer to."""
    tasks: dict[KeptKey, str] = {}
    for each in rule_sets:
        for place, entry in enumerate(each.tasks):
            tasks.setdefault(task_key(entry, each.namespace), f"{each.place}[{place}].taskRef")
    return Wanted(
        templates={(each.namespace, each.template): f"{each.place}.ref" for each in rule_sets if each.template},
        tasks=tasks,
        values={value: f"{each.place}.kvs.{name}" for each in rule_sets for name, value in each.values.items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredKept(Declared):
    """A document that is kept as it is; `wanted` is what its rule sets refer to."""

    document: KeptDocument
    wanted: Wanted = NOTHING_WANTED

    @property
    def name(self) -> str:
        return self.document.name


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSecret(Declared):
    """One entry of a `kind: Secret`, whose `source` has no content; `place` is where it stands."""

    entry: SecretEntry
    place: str
    value: bytes = field(repr=False)

    @property
    def name(self) -> str:
        return self.entry.name


@dataclass(slots=True)
class Unread:
    """What documents may declare that are wrong: machines and templates by their names.

    Where not all have a name that is known, it may be any: `whole` is False.
    """

    machines: set[str] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """All that the files declare, in their order, but for workflows (`order_of_creation`).

    `problems` are of machines and templates as well as of workflows; `unread` is what else the files may declare, where there
    are any.  `disabled` are workflows that are left out, for they are not to run.  `textless` are the places of templates
    without a text by namespace and name: they are left out.  `left_out` has these and all others that are, by kind, namespace
    and name, each once more without a namespace, for what has none is meant from any; hardware before 2020's by its id, which
    stands for the name, and that of a machine that was renamed by its id as well.
    """

    machines: Sequence[DeclaredMachine] = ()
    templates: Sequence[DeclaredTemplate] = ()
    flows: Sequence[DeclaredFlow] = ()
    disabled: Sequence[DeclaredFlow] = ()
    kept: Sequence[DeclaredKept] = ()
    secrets: Sequence[DeclaredSecret] = ()
    problems: Sequence[Problem] = ()
    notes: Sequence[Problem] = ()
    unread: Unread = field(default_factory=Unread)
    textless: Mapping[TemplateKey, str] = field(default_factory=dict)
    left_out: Collection[LeftOutKey] = frozenset()

    def __len__(self) -> int:
        return len(self.machines) + len(self.templates) + len(self.flows) + len(self.kept) + len(self.secrets)


@dataclass(slots=True)
class _Found:
    machines: list[DeclaredMachine] = field(default_factory=list)
    templates: list[DeclaredTemplate] = field(default_factory=list)
    flows: list[DeclaredFlow] = field(default_factory=list)
    disabled: list[DeclaredFlow] = field(default_factory=list)
    kept: list[DeclaredKept] = field(default_factory=list)
    secrets: list[DeclaredSecret] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    untold: int = 0  # notes
    unread: Unread = field(default_factory=Unread)
    textless: dict[TemplateKey, str] = field(default_factory=dict)
    left_out: set[LeftOutKey] = field(default_factory=set)

    def tell(self, notes: Iterable[Problem]) -> None:
        """Keep the first MOST_NOTES, and how many others there are."""
        for each in notes:
            if len(self.notes) < MOST_NOTES:
                self.notes.append(each)
            else:
                self.untold += 1


def in_file(file: str, problem: Problem) -> Problem:
    """The same problem, of a file: `nodes/a.yaml:3, spec.interfaces: …`, as editors jump to it."""
    shown = file if len(file) <= SHOWN_FILE else f"…{file[1 - SHOWN_FILE :]}"
    place = f"{shown}:{problem.line}" if problem.line is not None else shown
    return Problem(key=f"{place}, {problem.key}" if problem.key else place, text=problem.text)


class Reading:
    """What the documents of files declare, taken part by part: of each no more is kept than is needed."""

    def __init__(
        self,
        remarks_on: RemarksOn = lambda hardware: hardware.remarks,
        *,
        discovers: bool = True,
        strict: bool = False,
    ) -> None:
        """Unless the appliance `discovers`, no rule accepts a machine; `strict` refuses what would be ignored."""
        self._found = _Found()
        self._remarks_on = remarks_on
        self._discovers = discovers
        self._strict = strict
        self.values = 0

    @property
    def problems(self) -> int:
        """How many there are so far."""
        return len(self._found.problems)

    def take(self, file: SourceFile, part: Part) -> None:
        """Take the documents of a part of a file."""
        found, everything = self._found, read_part(part, strict=self._strict)
        found.problems += [in_file(file.name, each) for each in everything.problems]
        found.tell(in_file(file.name, each) for each in everything.notes)
        found.unread.whole &= everything.whole
        self.values += everything.values
        for each in everything.left_out:
            if each.kind == "Template" and each.content:
                found.textless[each.namespace, each.name] = _place(file.name, each)
            elif each.kind in _FLOWS and each.content:
                disabled = _Found()
                _take(each, file, disabled)
                found.disabled += disabled.flows
            if each.kind == HARDWARE_2020:
                found.left_out.add(("Hardware", "", str(each.content["id"]).lower()))
            elif each.name:
                found.left_out |= {(each.kubernetes_kind, space, each.name) for space in (each.namespace, "")}
            with suppress(Invalid):
                if its_id := kept_id(each.content):
                    found.left_out.add(("Hardware", "", its_id))
        for each in everything.objects:
            taken, kept = len(found.machines), len(found.kept)
            _take(each, file, found)
            for place in range(kept, len(found.kept)):
                found.kept[place] = self._with_rules(found.kept[place], each)
            for machine in found.machines[taken:]:
                self._take_remarks(machine, each)

    def _take_remarks(self, machine: DeclaredMachine, source: Object) -> None:
        """Keep what there is to say of a machine, of whose document `source` has all lines."""

        def told(problems: Iterable[Problem]) -> list[Problem]:
            return [in_file(machine.file, source.problem(each.key, each.text)) for each in problems]

        found = self._found
        try:
            remarks = self._remarks_on(machine.hardware)
        except Invalid as refusal:
            found.problems += told(refusal.problems)
            return
        if self._strict:
            found.problems += told(remarks.ignored)
        else:
            found.tell(told(remarks.ignored))
        found.tell(told(remarks.notes))

    def _with_rules(self, declared: DeclaredKept, source: Object) -> DeclaredKept:
        """The same with what its rule sets refer to; what there is to say of these is kept."""
        read = read_rule_sets(declared.document)
        notes = [source.problem(each.key, each.text) for each in read.notes]
        ignored = [source.problem(each.key, each.text) for each in never_told(read)]
        if self._strict:
            self._found.problems += [in_file(declared.file, each) for each in ignored]
        else:
            notes += ignored
        if read.rule_sets and not self._discovers:
            notes.append(source.problem("spec", _WAITS))
        self._found.tell(in_file(declared.file, each) for each in notes)
        wanted = wanted_by(read.rule_sets)
        kept = source.with_places({*declared.source.lines, *map(source.nearest, wanted.fields)})
        return replace(declared, source=kept, wanted=wanted)

    def end_early(self) -> None:
        """The rest is not read: it may declare anything."""
        self._found.unread.whole = False

    def documents(self) -> Documents:
        """All that was taken."""
        found = self._found
        repeated = _leave_out_superseded(found)
        if self._strict:
            found.problems += repeated
        else:
            found.tell(repeated)
        if found.untold:
            found.notes.append(
                Problem(text=f"{counted(found.untold, 'more note')} left out: apply fewer files at once to see them")
            )
            found.untold = 0
        found.problems += [*_twice(found), *_of_two_namespaces(found.secrets), *_claimed_twice(found.machines)]
        return Documents(
            machines=found.machines,
            templates=found.templates,
            flows=sorted(found.flows, key=order_of_creation),
            disabled=found.disabled,
            kept=found.kept,
            secrets=found.secrets,
            problems=found.problems,
            notes=found.notes,
            unread=found.unread,
            textless=found.textless,
            left_out=found.left_out,
        )


def _take(each: Object, file: SourceFile, found: _Found) -> None:
    readers: dict[str, Callable[[Object, SourceFile, _Found], None]] = {
        HARDWARE_2020: _take_machine,
        "Hardware": _take_machine,
        "Hardware v1alpha2": _take_machine,
        "Template": _take_template,
        "Workflow": _take_flow,
        "Workflow v1alpha2": _take_structured_flow,
        _SECRET: _take_secret,
        **dict.fromkeys(KEPT, _take_kept),
    }
    if not each.content:  # told already
        _note_unread(each, found.unread)
        return
    try:
        readers[each.kind](each.with_places(_places_in(each)), file, found)
    except Refusal as refusal:
        problems = refusal.problems if isinstance(refusal, Invalid) else ()
        listed = problems or [Problem(text=str(refusal))]
        news = [one for one in listed if not one.key or one.key not in each.wrong]
        found.problems += [in_file(file.name, each.problem(one.key, one.text)) for one in news]
        _note_unread(each, found.unread)


def _places_in(each: Object) -> Collection[str]:
    """The fields whose lines are told after the document was read."""
    match each.kind:
        case "Task" | "Secret" | "ConfigMap":  # any of them may be wrong
            return each.lines
        case "Workflow v1alpha2":
            return _PLACES | each.filled_fields
    return _PLACES


def _note_unread(each: Object, unread: Unread) -> None:
    """Keep by which names Workflows may mean what a document that is wrong declares."""
    if each.kind in _FLOWS or each.kind in KEPT or each.kind == _SECRET:
        return
    if not each.name or not each.content:  # a machine can be meant by its hostname as well
        unread.whole = False
    elif each.kind == "Template":
        unread.templates.add(each.name)
    else:
        interfaces = (as_v1alpha1(each.content).get("spec") or {}).get("interfaces")
        dhcp = [one.get("dhcp") for one in interfaces or () if isinstance(one, dict)]
        unread.machines |= {each.name, *(str(one.get("hostname") or "") for one in dhcp if isinstance(one, dict))}


def _take_machine(each: Object, file: SourceFile, found: _Found) -> None:
    retired = declared_retirement(each.content)
    hardware = given_hardware(with_retirement(each.content, None))
    labels = declared_labels(each.content)
    found.machines.append(
        DeclaredMachine(source=each, file=file.name, labels=labels, hardware=hardware, retired=retired)
    )


def _take_template(each: Object, file: SourceFile, found: _Found) -> None:
    problems = []
    text = each.spec["data"]  # without one it was left out
    if each.name:  # that there is none is told already
        try:
            check_template_name(each.name)
        except Invalid as refusal:
            problems.append(Problem(key="metadata.name", text=str(refusal)))
    if problems:
        raise Invalid("", problems)
    found.templates.append(
        DeclaredTemplate(
            source=each,
            file=file.name,
            labels=each.declared_labels,
            name=each.name,
            namespace=each.namespace,
            text=text,
        )
    )


def _take_kept(each: Object, file: SourceFile, found: _Found) -> None:
    if each.kind == "ConfigMap" and (problems := [*_config_map_problems(each.content)]):
        raise Invalid("", problems)
    labels = each.declared_labels
    document = KeptDocument(
        kind=KEPT[each.kind],
        namespace=each.namespace,
        name=each.name,
        manifest=kept_manifest(each.content, labels or NO_LABELS),
    )
    found.kept.append(DeclaredKept(source=each, file=file.name, labels=labels, document=document))


def _config_map_problems(content: Mapping[str, Any]) -> Iterator[Problem]:
    """What the API server of Kubernetes refuses of a ConfigMap, as far as its shape allows it (`ValidateConfigMap`)."""
    plain, binary = content.get("data") or {}, content.get("binaryData") or {}
    for where, values in (("data", plain), ("binaryData", binary)):
        for key in values:
            if not _CONFIG_KEY.fullmatch(key):
                text = f"{spelled(key)} is no key: up to 253 letters, digits, dots, dashes and underscores, and not two dots at its beginning"
                yield Problem(key=path(where, key), text=text)
    for key, value in binary.items():
        if key in plain:
            yield Problem(key=path("binaryData", key), text="this key is in data too: leave it out of one of them")
        try:
            b64decode("".join((value or "").split()), validate=True)
        except ValueError:
            text = "the value is no base64: write it below data as it is, or encode it (`base64 -w0 FILE`)"
            yield Problem(key=path("binaryData", key), text=text)


def _take_secret(each: Object, file: SourceFile, found: _Found) -> None:
    """Take each entry as a secret of its own; no problem tells anything of a value.  `stringData` counts before `data`, as in Kubernetes."""
    problems = []
    _ = each.labels  # which are read, and not kept
    written = {name: ("stringData", value or "") for name, value in (each.content.get("stringData") or {}).items()}
    encoded = {name: ("data", value or "") for name, value in (each.content.get("data") or {}).items()}
    source = replace(each, content={})
    document = SecretDocument(name=each.name, namespace=each.namespace)
    taken = []
    for key, (where, text) in (encoded | written).items():
        place, entry = path(where, key), SecretEntry(document=document, key=key)
        try:
            value = _secret_value(text, is_encoded=where == "data")
            check_secret_name(entry.name)
            check_value(value)
        except Invalid as refusal:
            problems.append(Problem(key=place, text=str(refusal)))
            continue
        taken.append(DeclaredSecret(source=source, file=file.name, labels=None, entry=entry, place=place, value=value))
    if not encoded and not written:
        problems.append(Problem(key="data", text="it has neither data nor stringData: each of their keys is a secret"))
    if problems:
        raise Invalid("", problems)
    found.secrets += taken


def _secret_value(text: str, *, is_encoded: bool) -> bytes:
    """Raises Invalid, which tells nothing of it."""
    if text.startswith(_SOPS):
        raise Invalid(_NOT_DECRYPTED)
    try:
        value = b64decode("".join(text.split()), validate=True) if is_encoded else text.encode()
    except ValueError:
        wrong = "no base64: write it below stringData as it is" if is_encoded else "no text"
        raise Invalid(f"the value is {wrong}") from None
    if len(value.strip()) < LEAST_VALUE:
        raise Invalid(
            f"the value has fewer than {LEAST_VALUE} bytes, and could not be masked in output: where it is no secret, keep it in a "
            "kind: ConfigMap"
        )
    return value


def _take_flow(each: Object, file: SourceFile, found: _Found) -> None:
    if each.generate_name:
        raise Invalid("", [Problem(key="metadata.generateName", text=_GENERATES)])
    found.flows.append(declared_flow(each, file.name))


def _take_structured_flow(each: Object, file: SourceFile, found: _Found) -> None:
    """A workflow of v1alpha2; raises Invalid with every problem."""
    labels, problems = each.declared_labels, []
    try:
        labels_given(labels or NO_LABELS)
    except Invalid as refusal:
        problems.append(Problem(key="metadata.labels", text=str(refusal)))
    created_at = _creation_time(each, problems)
    manifest = kept_manifest(each.content, NO_LABELS)
    entries = [entry or {} for entry in each.spec.get("tasks") or ()]
    if not entries:
        problems.append(Problem(key="spec.tasks", text="a task is required"))
    for place, entry in enumerate(entries):
        hardware = entry.get("hardware") or {}
        if not (entry.get("taskRef") or {}).get("name"):
            problems.append(Problem(key=f"spec.tasks[{place}].taskRef", text="the name of a Task is required"))
        if not entry.get("agentID") and not (hardware.get("hardwareRef") or {}).get("name"):
            problems.append(Problem(key=f"spec.tasks[{place}]", text="agentID or hardwareRef says where it runs"))
    if problems:
        raise Invalid("", problems)
    first = entries[0].get("hardware") or {}
    flow = DeclaredFlow(
        source=each,
        file=file.name,
        labels=labels,
        name=each.name,
        namespace=each.namespace,
        template_ref=reference(manifest),
        hardware_ref=(first.get("hardwareRef") or {}).get("name") or "",
        devices={},
        toggles_netboot=bool((first.get("bootOptions") or {}).get("toggleNetboot")),
        created_at=created_at,
        structured=manifest,
    )
    found.flows.append(flow)


def declared_flow(each: Object, file: str = "") -> DeclaredFlow:
    """What a `kind: Workflow` declares; raises Invalid with every problem, which has the key of its field."""
    problems = []
    devices: dict[str, Any] = {
        str(name): str(value or "") for name, value in (each.spec.get("hardwareMap") or {}).items()
    }
    try:
        devices |= each.other_devices
    except Invalid as refusal:
        problems.append(Problem(key="metadata.annotations", text=str(refusal)))
    if not each.spec.get("templateRef"):
        problems.append(Problem(key="spec.templateRef", text="the name of a template is required"))
    try:
        check_size(devices)
    except Invalid as refusal:
        problems.append(Problem(key="spec", text=str(refusal)))
    labels = each.declared_labels
    try:
        labels_given(labels or NO_LABELS)
    except Invalid as refusal:
        problems.append(Problem(key="metadata.labels", text=str(refusal)))
    created_at = _creation_time(each, problems)
    if problems:
        raise Invalid("", problems)
    options = each.spec.get("bootOptions") or {}
    return DeclaredFlow(
        source=each,
        file=file,
        labels=labels,
        name=each.name,
        namespace=each.namespace,
        template_ref=each.spec["templateRef"],
        hardware_ref=each.spec.get("hardwareRef") or "",
        devices=devices,
        toggles_netboot=bool(options.get("toggleAllowNetboot")),
        created_at=created_at,
    )


def _creation_time(each: Object, problems: list[Problem]) -> datetime | None:
    """When a workflow was made where its document comes from (RFC 3339); None: it does not say."""
    given = (each.content.get("metadata") or {}).get(CREATION_TIME)
    if given in (None, ""):
        return None
    try:
        created_at = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        created_at = None
    if created_at is None or created_at.tzinfo is None:
        text = f"{quoted(str(given))} is no time: leave it out, or write it as 2026-05-04T12:30:00Z"
        problems.append(Problem(key=f"metadata.{CREATION_TIME}", text=text))
        return None
    return created_at


def order_of_creation(flow: DeclaredFlow) -> tuple[bool, datetime]:
    """Sorts workflows as they were made where their documents come from, and behind them those that do not say, as these stand.

    A machine does its workflows in the order in which they are made, and files that were exported stand by their names.
    """
    return flow.created_at is None, flow.created_at or _LAST


def _named(found: _Found) -> Iterator[tuple[tuple[str, ...], str, Declared]]:
    """Every document by what makes two of them the same, and its name."""
    yield from ((("hardware", each.hardware.id), each.name, each) for each in found.machines)
    yield from ((("template", *each.key), each.name, each) for each in found.templates)
    yield from ((("workflow", each.namespace, each.name), each.name, each) for each in found.flows)
    yield from ((each.document.key, each.name, each) for each in found.kept)
    yield from ((("secret", each.name), each.name, each) for each in found.secrets)


def _leave_out_superseded(found: _Found) -> list[Problem]:
    """Of documents of one name in one file leave out all but the last, as kubectl applies them in their order; returns the notes."""
    named = [((each.file, key, name, _own_key(each)), (f"{key[0]} {name}", each)) for key, name, each in _named(found)]
    repeated = superseded(named)
    notes = [
        each.problem(SUPERSEDED.format(what=what, place=_place_of(later)), _name_field(each))
        for (what, each), (_, later) in repeated
    ]
    left_out = {id(each) for (_, each), _ in repeated}
    found.machines = [each for each in found.machines if id(each) not in left_out]
    found.templates = [each for each in found.templates if id(each) not in left_out]
    found.flows = [each for each in found.flows if id(each) not in left_out]
    found.kept = [each for each in found.kept if id(each) not in left_out]
    found.secrets = [each for each in found.secrets if id(each) not in left_out]
    return notes


def _own_key(each: Declared) -> tuple[str, ...]:
    if isinstance(each, DeclaredSecret):  # another Secret's is another one
        return (each.entry.document.namespace, each.entry.document.name)
    return machine_key(each.hardware) if isinstance(each, DeclaredMachine) else ()


def _name_field(each: Declared) -> str:
    if isinstance(each, DeclaredSecret):
        return each.place
    return name_field(each.hardware) if isinstance(each, DeclaredMachine) else "metadata.name"


def _twice(found: _Found) -> Iterator[Problem]:
    """What is declared a second time, in another file."""
    first: dict[tuple[str, ...], Declared] = {}
    for key, name, each in _named(found):
        before = first.setdefault(key, each)
        if before is each:
            continue
        if isinstance(before, DeclaredMachine) and isinstance(each, DeclaredMachine) and _named_apart(before, each):
            yield _renamed(before, each, found)
        elif isinstance(before, DeclaredSecret) and isinstance(each, DeclaredSecret) and _is_moved(before, each):
            continue  # told once of all their entries
        else:
            yield each.problem(
                f"{key[0]} {name} is declared a second time, the first is at {_place_of(before)}", _name_field(each)
            )


def _of_two_namespaces(secrets: Iterable[DeclaredSecret]) -> Iterator[Problem]:
    """What is called as a Secret of another namespace: templates tell these not apart."""
    first: dict[str, DeclaredSecret] = {}
    told: set[SecretDocument] = set()
    for each in secrets:
        document = each.entry.document
        before = first.setdefault(document.name, each)
        if _is_moved(before, each) and document not in told:
            told.add(document)
            yield each.problem(
                f"Secret {document.name} is declared in namespace {before.entry.document.namespace} at {_place_of(before)}, and "
                "templates tell no namespaces of Secrets apart: give one of them another name",
                "metadata.namespace",
            )


def _is_moved(first: DeclaredSecret, second: DeclaredSecret) -> bool:
    """Whether two entries are of Secrets of one name in two namespaces."""
    return first.entry.document != second.entry.document and first.entry.document.name == second.entry.document.name


def _named_apart(first: DeclaredMachine, second: DeclaredMachine) -> bool:
    """Whether two documents of one machine call it by different names, or have it in different namespaces."""
    return first.name != second.name or has_moved(first.hardware, second.hardware)


def _renamed(first: DeclaredMachine, second: DeclaredMachine, found: _Found) -> Problem:
    """What to do with two documents of one machine; one that was renamed or moved keeps its id, which its first name makes too."""
    keeping = [each for each in (first, second) if kept_id(each.hardware.document)]
    if not all(each.hardware.name for each in (first, second)) or len(keeping) != 1:
        return second.problem(one_machine(first.hardware, second.hardware, _place_of(first)), _name_field(second))
    (renamed,) = keeping
    former = second if renamed is first else first
    everything = (*found.machines, *found.templates, *found.flows, *found.kept, *found.secrets)
    is_alone = sum(each.file == former.file for each in everything) == 1
    remedy = f"delete {former.file}" if is_alone else f"delete that document in {former.file}"
    before = f"was called {former.name} before, as {_place_of(former)} still calls it"
    if has_moved(first.hardware, second.hardware):
        before = f"was in namespace {namespace_of(former.hardware)} before, as {_place_of(former)} still has it"
    return renamed.problem(f"machine {renamed.name} {before}: {remedy}", "metadata.name")


def _place_of(declared: Declared) -> str:
    return _place(declared.file, declared.source)


def _place(file: str, source: Object) -> str:
    return f"{file}:{source.lines.get('', 1)}"


def _claimed_twice(machines: Sequence[DeclaredMachine]) -> Iterator[Problem]:
    """MACs, addresses and agent ids that two machines of the files want."""
    for each, claim, before in claimed_twice((each.hardware, each) for each in machines):
        other = f"hardware {before.name} at {_place_of(before)}"
        yield each.problem(CLAIM.format(claim=claim, other=other))
