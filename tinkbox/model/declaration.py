"""What a document of `kind: Workflow` declares."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tinkbox.model.kubernetes import DEFAULT_NAMESPACE


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

    Without a declaration it was made by hand, without an id it is forgotten for its age.
    """

    id: str
    name: str
    template_id: str
    devices: Mapping[str, str]
    is_over: bool
    declaration: Declaration | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
