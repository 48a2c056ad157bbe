"""What documents declare beyond what they are stored as: of `kind: Workflow`, and that a machine is out of service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tinkbox.model.devices import ANNOTATION as PARAMETERS_ANNOTATION
from tinkbox.model.devices import Devices
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE, DISABLED_ANNOTATION
from tinkbox.model.hardware import ID_ANNOTATION
from tinkbox.model.notes import note_text

# Of a `kind: Hardware` in its annotations, in the format of 2020 at its outermost level: the reason, which may be empty.
RETIRED_ANNOTATION: Final = "tinkbox.internal/retired"
RETIRED_KEY: Final = "retired"
_RETIRING: Final = (RETIRED_ANNOTATION, DISABLED_ANNOTATION)  # the first of them that a document has
STRUCTURED: Final = "v1alpha2/"  # no name of a template has a slash
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
    STRUCTURED and what tells its content from another.
    """

    template_ref: str
    hardware_ref: str = ""
    namespace: str = DEFAULT_NAMESPACE
    let_netboot: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredWorkflow:
    """A stored workflow as far as documents of its name are compared with it.

    Without a declaration it was made by hand, without an id it is forgotten for its age.  `template_name` is as in
    `WorkflowHead`.
    """

    id: str
    name: str
    template_id: str
    template_name: str
    devices: Devices
    is_over: bool
    declaration: Declaration | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


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
