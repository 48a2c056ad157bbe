"""What documents declare beyond what they are stored as: of `kind: Workflow`, and that a machine is out of service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tinkbox.model.hardware import ID_ANNOTATION
from tinkbox.model.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.notes import note_text

# Of a `kind: Hardware` in its annotations, in the format of 2020 at its outermost level: the reason, which may be empty.
RETIRED_ANNOTATION: Final = "tinkbox.internal/retired"
RETIRED_KEY: Final = "retired"
# All below OWN_ANNOTATIONS that mean something, by the kind of document.
KNOWN_ANNOTATIONS: Final[Mapping[str, tuple[str, ...]]] = {"Hardware": (ID_ANNOTATION, RETIRED_ANNOTATION)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a workflow was made from.

    `template_ref` and `hardware_ref` are the words of the document; `let_netboot` is the id of the machine that it
    allows to netboot (`toggleAllowNetboot`), or empty.
    """

    template_ref: str
    hardware_ref: str = ""
    namespace: str = DEFAULT_NAMESPACE
    let_netboot: str = ""


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
    devices: Mapping[str, str]
    is_over: bool
    declaration: Declaration | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


def declared_retirement(document: Mapping[str, Any]) -> str | None:
    """Why a hardware document has its machine out of service, which may be empty; None: it says nothing of that.

    Raises Invalid for what is no reason.
    """
    given, what = document.get(RETIRED_KEY), RETIRED_KEY
    if document.get("kind") == "Hardware":
        given, what = _annotations(document).get(RETIRED_ANNOTATION), f"the annotation {RETIRED_ANNOTATION}"
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
    annotations = {name: value for name, value in _annotations(document).items() if name != RETIRED_ANNOTATION}
    if reason is not None:
        annotations[RETIRED_ANNOTATION] = reason
    given = document.get("metadata")
    metadata = dict(given) if isinstance(given, Mapping) else {}
    if annotations:
        return {**document, "metadata": {**metadata, "annotations": annotations}}
    if RETIRED_ANNOTATION in _annotations(document):
        metadata.pop("annotations")
        return {**document, "metadata": metadata}
    return dict(document)


def _annotations(document: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = document.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}
