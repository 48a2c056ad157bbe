"""Machines, templates and workflows as the documents that `apply` takes: without ids, times, and what Kubernetes adds.  Pure.

Two that have the same manifest are the same.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from tinkbox.model.declaration import KNOWN_ANNOTATIONS, DeclaredWorkflow, with_retirement
from tinkbox.model.devices import ANNOTATION, without_texts
from tinkbox.model.documents.hardware_v1alpha2 import is_v1alpha2
from tinkbox.model.documents.kubernetes import (
    DEFAULT_NAMESPACE,
    GROUP,
    LAST_APPLIED_ANNOTATION,
    OBJECT_META,
    OWN_ANNOTATIONS,
    VERSION,
)
from tinkbox.model.hardware import Hardware
from tinkbox.model.labels import Labels
from tinkbox.model.rollout import LABEL

Manifest = dict[str, Any]
API: Final = f"{GROUP}/{VERSION}"
_HEAD: Final = ("apiVersion", "kind", "metadata")
_FIRST: Final = ("name", "namespace", "labels", "annotations")
CREATION_TIME: Final = "creationTimestamp"
# What the API server of Kubernetes keeps in metadata, which `kubectl get -o yaml` prints.
_SERVERS: Final = frozenset(
    {CREATION_TIME, "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}
)
# What earlier releases stored beside these was a slip, and no document may have it.
_KEPT: Final = frozenset(OBJECT_META) - _SERVERS


def machine_manifest(hardware: Hardware, labels: Labels, retired: str | None = None) -> Manifest:
    """The document of a machine with these labels, in the format in which it was given.

    `retired` is why it is out of service, None: it is in service.  What Tinkerbell's controllers wrote into `status` stays, for
    templates see it.
    """
    document = with_retirement(hardware.document, retired)
    if document.get("kind") != "Hardware":
        # What is called so and is no map was there before labels were, and means something else.
        if isinstance(document.get("labels"), Mapping) or labels:
            document.pop("labels", None)
        document["id"] = hardware.id  # which may be written in capitals, or without hyphens
        return document | ({"labels": _sorted(labels)} if labels else {})
    given = document.get("metadata")
    rest = {name: value for name, value in document.items() if name not in _HEAD}
    if not rest.get("status"):  # templates see an empty one wherever there is none
        rest.pop("status", None)
    metadata = _metadata(given if isinstance(given, Mapping) else {}, labels)
    api = document["apiVersion"] if is_v1alpha2(document) else API
    return {"apiVersion": api, "kind": "Hardware", "metadata": metadata, **rest}


def template_manifest(namespace: str, name: str, text: str, labels: Labels) -> Manifest:
    """The document of a template; one of no namespace is printed as of the default one."""
    metadata = _metadata({"name": name, "namespace": namespace}, labels)
    return {"apiVersion": API, "kind": "Template", "metadata": metadata, "spec": {"data": text}}


def kept_manifest(content: Mapping[str, Any], labels: Labels) -> Manifest:
    """A document that is kept as it was given, with these labels; what Kubernetes adds is left out."""
    given = content.get("metadata")
    rest = {name: value for name, value in content.items() if name not in (*_HEAD, "status")}
    metadata = _metadata(given if isinstance(given, Mapping) else {}, labels)
    return {"apiVersion": content["apiVersion"], "kind": content["kind"], "metadata": metadata, **rest}


def flow_manifest(
    flow: DeclaredWorkflow, template_ref: str, namespace: str, labels: Labels, hardware_ref: str = ""
) -> Manifest:
    """A workflow as what it was made from.

    One that was made by hand has its template's name as `template_ref`, the name of the machine that was said to it as
    `hardware_ref`, empty where none is known, and its template's namespace.
    What `hardwareMap` has no room for is in an annotation.  The label by which the appliance tells what belongs to a rollout is not in it.
    """
    declared = flow.declaration
    if declared is not None and declared.document:
        return kept_manifest(declared.document, {key: value for key, value in labels.items() if key != LABEL})
    spec: Manifest = {"templateRef": declared.template_ref if declared else template_ref}
    if hardware_ref := declared.hardware_ref if declared is not None else hardware_ref:
        spec["hardwareRef"] = hardware_ref
    others = without_texts(flow.devices)
    if texts := {name: value for name, value in flow.devices.items() if name not in others}:
        spec["hardwareMap"] = texts
    if declared is not None and declared.let_netboot:
        spec["bootOptions"] = {"toggleAllowNetboot": True}
    namespace = declared.namespace if declared else namespace
    shown = {key: value for key, value in labels.items() if key != LABEL}
    metadata = _metadata({"name": flow.name, "namespace": namespace}, shown)
    if others:
        metadata["annotations"] = {ANNOTATION: json.dumps(others, ensure_ascii=False, sort_keys=True)}
    return {"apiVersion": API, "kind": "Workflow", "metadata": metadata, "spec": spec}


def with_time(manifest: Manifest, created_at: datetime) -> Manifest:
    """A document that says when its workflow was made, as Kubernetes has it (RFC 3339), with microseconds."""
    at = f"{created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return {**manifest, "metadata": {**manifest["metadata"], CREATION_TIME: at}}


def _metadata(given: Mapping[str, Any], labels: Labels) -> Manifest:
    kept = {name: value for name, value in given.items() if name in _KEPT and value not in (None, {}, "")}
    kept.pop("labels", None)
    if kept.get("namespace") == DEFAULT_NAMESPACE:
        del kept["namespace"]
    if labels:
        kept["labels"] = _sorted(labels)
    annotations = kept.get("annotations")
    if isinstance(annotations, Mapping):
        kept["annotations"] = {name: value for name, value in annotations.items() if not _is_left_out(name)}
        if not kept["annotations"]:
            del kept["annotations"]
    ordered = [*(name for name in _FIRST if name in kept), *(name for name in kept if name not in _FIRST)]
    return {name: kept[name] for name in ordered}


def _is_left_out(annotation: str) -> bool:
    is_ours = annotation.startswith(OWN_ANNOTATIONS)
    return annotation == LAST_APPLIED_ANNOTATION or (is_ours and annotation not in KNOWN_ANNOTATIONS["Hardware"])


def _sorted(labels: Labels) -> dict[str, str]:
    return dict(sorted(labels.items()))
