"""Documents of Tinkerbell, and ConfigMaps, that are kept as they were given: what they mean is read from them when it is needed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from tinkbox.model.labels import NO_LABELS, Labels

# Bytes of JSON of one document.  `kubectl apply` takes no larger ones: it keeps them in an annotation, and Kubernetes has so much
# room for all annotations of an object (apimachinery, TotalAnnotationSizeLimitB).
MAX_KEPT: Final = 256 * 1024
# Of all documents: a BMC's Machine for each of 10,000 machines, and as many others.
MAX_KEPT_NUMBER: Final = 20_000
MAX_KEPT_BYTES: Final = 16 << 20
ROW_BYTES: Final = 256  # what a document takes beside its JSON, about


class KeptKind(StrEnum):
    """Which documents are kept, as kubectl would name them: those of `bmc.tinkerbell.org` have `.bmc` behind them."""

    RULE_SET = "workflowruleset"
    POLICY = "policy"
    TASK = "task"
    CONFIG_MAP = "configmap"
    BMC_MACHINE = "machine.bmc"
    BMC_JOB = "job.bmc"
    BMC_TASK = "task.bmc"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDocument:
    """One document; `manifest` is the whole of it, as `apply` takes it, with its labels.

    The same kind, namespace and name are the same document, which keeps its `id`.  `who` gave it as it is, empty: not known.
    """

    kind: KeptKind
    namespace: str
    name: str
    manifest: Mapping[str, Any]
    id: str = ""
    created_at: datetime = field(default=datetime.min.replace(tzinfo=UTC), compare=False)
    who: str = field(default="", compare=False)

    @property
    def key(self) -> "KeptKey":
        return self.kind, self.namespace, self.name

    @property
    def labels(self) -> Labels:
        metadata = self.manifest.get("metadata")
        found = metadata.get("labels") if isinstance(metadata, Mapping) else None
        return found if isinstance(found, Mapping) else NO_LABELS

    @property
    def spec(self) -> Mapping[str, Any]:
        found = self.manifest.get("spec")
        return found if isinstance(found, Mapping) else {}


def json_bytes(manifest: Mapping[str, Any]) -> int:
    """The bytes of a document as it is stored."""
    return len(json.dumps(manifest))


KeptKey = tuple[KeptKind, str, str]
# The shapes of `tinkbox.model.documents.kubernetes` that are kept.
KEPT: Final[Mapping[str, KeptKind]] = {
    "WorkflowRuleSet": KeptKind.RULE_SET,
    "Policy": KeptKind.POLICY,
    "Task": KeptKind.TASK,
    "ConfigMap": KeptKind.CONFIG_MAP,
    "bmc Machine": KeptKind.BMC_MACHINE,
    "bmc Job": KeptKind.BMC_JOB,
    "bmc Task": KeptKind.BMC_TASK,
}
