"""Workflows of v1alpha2 as they are told apart, and what they refer to.  Pure."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tinkbox.engine.templates.rendering import rendering_data
from tinkbox.model.declaration import STRUCTURED
from tinkbox.model.documents.hardware_v1alpha2 import is_v1alpha2
from tinkbox.model.documents.kept_documents import KeptKey, KeptKind
from tinkbox.model.documents.machine_views import of_cluster
from tinkbox.model.hardware import Hardware

MOST_NAMED: Final = 5  # tasks of a workflow


def reference(manifest: Mapping[str, Any]) -> str:
    """What stands for the `templateRef` of such a workflow: another one has another spec."""
    digest = hashlib.sha256(json.dumps(manifest.get("spec"), sort_keys=True).encode()).hexdigest()
    return f"{STRUCTURED}{digest[:32]}"


def task_key(entry: Mapping[str, Any], namespace: str) -> KeptKey:
    """Which Task an entry of `spec.tasks` means: without a namespace one of the workflow's own."""
    wanted = entry.get("taskRef") or {}
    return KeptKind.TASK, wanted.get("namespace") or namespace, wanted.get("name") or ""


def tasks_called(tasks: Sequence[KeptKey]) -> str:
    """What stands for the name of its template: no template has such a name."""
    names = [name for _, _, name in tasks]
    more = ", …" if len(names) > MOST_NAMED else ""
    return f"{'task' if len(names) == 1 else 'tasks'} {', '.join(names[:MOST_NAMED])}{more}"


def hardware_view(machine: Hardware | None) -> Mapping[str, Any]:
    """`.hardware` for such a workflow: a document of v1alpha2 as it is, any other in the form of v1alpha1."""
    if machine is not None and is_v1alpha2(machine.document):
        return of_cluster(machine.document, machine)
    view: Mapping[str, Any] = rendering_data({}, machine)["hardware"]
    return view
