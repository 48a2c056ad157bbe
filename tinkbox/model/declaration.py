"""What documents declare beyond what they are stored as: of `kind: Workflow`, and that a machine is out of service."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from tinkbox.model.devices import ANNOTATION as PARAMETERS_ANNOTATION
from tinkbox.model.devices import Devices, addresses
from tinkbox.model.documents.hardware import ID_ANNOTATION
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE, DISABLED_ANNOTATION, identity
from tinkbox.model.notes import note_text

# Of a `kind: Hardware` in its annotations, in the format of 2020 at its outermost level: the reason, which may be empty.
RETIRED_ANNOTATION: Final = "tinkbox.internal/retired"
RETIRED_KEY: Final = "retired"
_RETIRING: Final = (RETIRED_ANNOTATION, DISABLED_ANNOTATION)  # the first of them that a document has
STRUCTURED: Final = "v1alpha2/"  # no name of a template has a slash
MachineKey = tuple[str, str]  # namespace and name, by which a document means a machine
# All below OWN_ANNOTATIONS that mean something, by the kind of document.
KNOWN_ANNOTATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Hardware": (ID_ANNOTATION, RETIRED_ANNOTATION),
    "Workflow": (PARAMETERS_ANNOTATION,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a workflow was made from.

    `template_ref` and `hardware_ref` are the words of the document; `let_netboot` is the id of the machine that it
    allows to netboot (`toggleAllowNetboot`), or empty.  One of v1alpha2 is kept whole, as `document`: its `template_ref` is
    STRUCTURED and what tells its content from another.  `machines` are the ids of those that it meant when the workflow was
    made, which may be called otherwise by now; of one by an earlier release none is known.  Those of them that are `anew` are
    other machines by now: what had the id was deleted, and it was registered anew since.
    """

    template_ref: str
    hardware_ref: str = ""
    namespace: str = DEFAULT_NAMESPACE
    let_netboot: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    machines: Mapping[MachineKey, str] = field(default_factory=dict)
    anew: Collection[str] = frozenset()

    @property
    def meant(self) -> dict[MachineKey, str]:
        """The ids of the machines that it meant, empty where another one has the id by now.

        Where that is not known, it is the one that had the name from its document.
        """
        named = {key: identity(*key) for key in machine_keys(self.namespace, self.hardware_ref, self.document)}
        return named | {key: "" if each in self.anew else each for key, each in self.machines.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidMachine:
    """The machine that was said to a workflow made by hand, from which its template is filled.

    `name` is what it was called then, empty where it had none.  One that `is_anew` is another machine by now, as in `Declaration`.
    """

    id: str
    name: str = ""
    is_anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredWorkflow:
    """A stored workflow as far as documents of its name are compared with it.

    Without a declaration it was made by hand, for a machine that was `said` or for none, or by an earlier release, which kept
    none.  Without an id and `created_at` it is forgotten for its age.  `template_name` is as in `WorkflowHead`.  Of two
    workflows a machine does that of the lower `place` first.
    """

    id: str
    name: str
    template_id: str
    template_name: str
    devices: Devices
    is_over: bool
    created_at: datetime | None = None
    place: int = 0
    declaration: Declaration | None = None
    said: SaidMachine | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


def machine_keys(namespace: str, hardware_ref: str, document: Mapping[str, Any]) -> list[MachineKey]:
    """By which a Workflow of this namespace means machines: by its `hardwareRef`, or by those of a `document` of v1alpha2."""
    if not document:
        return [(namespace, hardware_ref)] if hardware_ref else []
    found = (_reference(each, namespace) for each in _tasks(document))
    return list(dict.fromkeys(each for each in found if each is not None))


def task_entries(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The entries of a document of v1alpha2, each of which refers to a Task."""
    return [each or {} for each in _tasks(document)]


def worker_addresses(devices: Devices, document: Mapping[str, Any]) -> list[str]:
    """By which a Workflow says where its actions run: the values of its `hardwareMap`, or each `agentID` of v1alpha2."""
    if not document:
        return list(addresses(devices))
    return [each for each in ((entry or {}).get("agentID") for entry in _tasks(document)) if each]


def with_machine_names(document: Mapping[str, Any], namespace: str, names: Mapping[MachineKey, str]) -> dict[str, Any]:
    """A document of v1alpha2 that calls these machines by other names."""

    def _renamed(entry: Any) -> Any:
        key = _reference(entry, namespace)
        if key is None or key not in names:
            return entry
        hardware = entry["hardware"]
        return {**entry, "hardware": {**hardware, "hardwareRef": {**hardware["hardwareRef"], "name": names[key]}}}

    if not names or not document:
        return dict(document)
    return {**document, "spec": {**document["spec"], "tasks": list(map(_renamed, _tasks(document)))}}


def _tasks(document: Mapping[str, Any]) -> list[Any]:
    return list((document.get("spec") or {}).get("tasks") or ())


def _reference(entry: Any, namespace: str) -> MachineKey | None:
    """By which an entry of `spec.tasks` means its machine; None: it names none."""
    wanted = ((entry or {}).get("hardware") or {}).get("hardwareRef") or {}
    name = wanted.get("name") or ""
    return (wanted.get("namespace") or namespace, name) if name else None


def declared_retirement(document: Mapping[str, Any]) -> str | None:
    """Why a hardware document has its machine out of service, which may be empty; None: it says nothing of that.

    Raises Invalid for what is no reason.
    """
    given, what = document.get(RETIRED_KEY), RETIRED_KEY
    if document.get("kind") == "Hardware":
        annotations = _annotations(document)
        name = next((each for each in _RETIRING if each in annotations), RETIRED_ANNOTATION)
        given, what = annotations.get(name), f"the annotation {name}"
    # What is called so and is no text was there before, and means something else.
    if not isinstance(given, str):
        return None
    return note_text(given, what) if given.strip() else ""


def with_retirement(document: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
    """The hardware document as it declares that its machine is out of service for a reason; None: it says nothing of that."""
    if document.get("kind") != "Hardware":
        kept = dict(document)
        if reason is not None or isinstance(kept.get(RETIRED_KEY), str):
            kept.pop(RETIRED_KEY, None)
        return kept | ({} if reason is None else {RETIRED_KEY: reason})
    before = _annotations(document)
    annotations = {name: value for name, value in before.items() if name not in _RETIRING}
    if reason is not None:
        annotations[RETIRED_ANNOTATION] = reason
    given = document.get("metadata")
    metadata = dict(given) if isinstance(given, Mapping) else {}
    if annotations:
        return {**document, "metadata": {**metadata, "annotations": annotations}}
    if any(each in before for each in _RETIRING):
        metadata.pop("annotations")
        return {**document, "metadata": metadata}
    return dict(document)


def _annotations(document: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = document.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}
