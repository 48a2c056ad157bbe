"""What we were told about a machine: Tinkerbell's hardware document of 2020, or today's `kind: Hardware`.

The document is kept as it was pushed; beside it stand the parsed interfaces, which is all that the rest of the program
looks at.  Field names follow Tinkerbell (`network.interfaces[].dhcp.mac`, `spec.interfaces[].dhcp.mac`, …).
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tinkbox.model.documents.hardware_interfaces import interface_2020, interface_of_object, interfaces_of
from tinkbox.model.documents.hardware_v1alpha2 import as_v1alpha1, is_v1alpha2, notes_on_v1alpha2, told_of_v1alpha2
from tinkbox.model.documents.hardware_values import Findings, Reader
from tinkbox.model.documents.json_text import read_document
from tinkbox.model.documents.kubernetes import DISABLED_ANNOTATION, identity
from tinkbox.model.errors import Invalid, Problem, Remarks
from tinkbox.model.hardware import Form, Hardware, spelled_address
from tinkbox.model.labels import Labels, parse_labels
from tinkbox.model.names import check_name, check_namespace

# Of a machine that somebody registers: servers have a dozen, with the VLANs and functions of their cards some dozens.
MAX_INTERFACES = 128
# Of a machine that was renamed: its id, which its workflows and its sightings know.
ID_ANNOTATION = "tinkbox.internal/id"
_DISABLED: Final = (
    f"{DISABLED_ANNOTATION} is read by `tinkbox apply` alone: here the machine stays in service, and `tinkbox hardware retire` "
    "takes it out"
)


def parse_uuid(text: str) -> str:
    """Normalise a UUID; raises Invalid with Tinkerbell's words."""
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise Invalid(f"invalid uuid: {text[:60]}") from None


def parse_hardware(text: str | bytes) -> Hardware:
    """Read one hardware document; raises Invalid naming every problem in it."""
    try:
        # Editors on Windows begin with a byte order mark, and some write UTF-16.
        content = text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")
    except UnicodeDecodeError:
        raise Invalid("invalid json: it is not UTF-8 text") from None
    try:
        document = read_document(content)
    except ValueError as error:
        raise Invalid(f"invalid json: {error}") from None
    if not isinstance(document, dict):
        raise Invalid("invalid json: a hardware document is an object with an id and a network")
    if document.get("kind") == "Hardware":
        _check_text(document)
    return given_hardware(document)


def _check_text(document: Mapping[str, Any]) -> None:
    """Raise Invalid for a new `kind: Hardware` whose names are none; those that are stored keep theirs."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Invalid("invalid json: half of a character (\\ud800 to \\udfff alone) is no text") from None
    metadata = document.get("metadata")
    found = metadata if isinstance(metadata, Mapping) else {}
    if isinstance(name := found.get("name"), str) and name:
        check_name(name, "Hardware")
    if isinstance(namespace := found.get("namespace"), str) and namespace:
        check_namespace(namespace)


def given_hardware(document: Mapping[str, Any]) -> Hardware:
    """As `hardware_from_document`, of one that somebody gives, with what of it is not honoured.

    It has MAX_INTERFACES at most, host names that can be shown, and architectures that can stand in a path.
    """
    check_interfaces(document)
    return _read(document, Findings(given=True))


def hardware_from_document(document: Mapping[str, Any]) -> Hardware:
    """Check an already decoded document; raises Invalid naming every problem in it.

    A stored one may have any number of interfaces.
    """
    return _read(document, Findings(given=False))


def _read(document: Mapping[str, Any], found: Findings) -> Hardware:
    if document.get("kind") == "Hardware":
        return _from_object(document, found)
    if not document.get("id"):
        raise Invalid("invalid json, ID is required: give the machine a uuid under the key id")
    hardware_id = parse_uuid(str(document["id"]))
    network = Reader(document.get("network"), "network", found)
    if document.get("network") is None:
        network.note("", "the document has no network, in which its interfaces stand: the machine is taken without any")
    network.note_unknown(("interfaces",))
    interfaces, without_mac = interfaces_of(network, f"hardware {hardware_id}", interface_2020)
    return Hardware(
        id=hardware_id,
        interfaces=interfaces,
        without_mac=without_mac,
        document=dict(document),
        remarks=found.remarks,
    )


def _from_object(document: Mapping[str, Any], found: Findings) -> Hardware:
    """Tinkerbell's `kind: Hardware`: the same namespace and name are the same machine, but for one that was renamed."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise Invalid("hardware without a name", [Problem(text=_why_no_name(name), key="metadata.name")])
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and DISABLED_ANNOTATION in annotations:
        found.note(Problem(key="metadata.annotations", text=_DISABLED))
    spec = as_v1alpha1(document).get("spec")
    agent_id = spec.get("agentID") if isinstance(spec, dict) else None
    try:
        interfaces, without_mac = interfaces_of(Reader(spec, "spec", found), f"hardware {name}", interface_of_object)
    except Invalid as refusal:
        raise Invalid(str(refusal), [told_of_v1alpha2(each, document) for each in refusal.problems]) from None
    ignored, notes = (
        # What v1alpha2 has once for the machine, v1alpha1 has for each card.
        tuple(dict.fromkeys(told_of_v1alpha2(each, document) for each in told))
        for told in (found.remarks.ignored, found.remarks.notes)
    )
    if is_v1alpha2(document):
        interfaces = tuple(replace(each, form=Form.V1ALPHA2) for each in interfaces)
    if is_v1alpha2(document) and found.given:
        notes = (*notes, *notes_on_v1alpha2(document))
    return Hardware(
        id=kept_id(document) or identity(str(metadata.get("namespace") or ""), name),
        interfaces=interfaces,
        without_mac=without_mac,
        document=dict(document),
        name=name,
        agent_id=spelled_address(agent_id) if isinstance(agent_id, str) else "",
        remarks=Remarks(ignored=ignored, notes=notes),
    )


def _why_no_name(found: Any) -> str:
    """What is wrong with what stands where a name should, as YAML reads it."""
    if isinstance(found, bool | int | float):
        kind = "true or false" if isinstance(found, bool) else "a number"
        return f"a name is text, and YAML reads this one as {kind}: put it in quotes"
    return "a name is required" if found is None or found == "" else "a name is text"


def check_interfaces(document: Mapping[str, Any]) -> None:
    """Raise Invalid for a document with more interfaces than MAX_INTERFACES."""
    document = as_v1alpha1(document)
    holder = "spec" if document.get("kind") == "Hardware" else "network"
    inside = document.get(holder)
    listed = inside.get("interfaces") if isinstance(inside, Mapping) else None
    if isinstance(listed, list) and len(listed) > MAX_INTERFACES:
        text = f"{len(listed)} interfaces: at most {MAX_INTERFACES}, so leave out those that neither boot nor need an address"
        raise Invalid("hardware with too many interfaces", [Problem(text=text, key=f"{holder}.interfaces")])


def kept_id(document: Mapping[str, Any]) -> str:
    """The id that a `kind: Hardware` keeps although it was renamed; empty: its name says it.  Raises Invalid for what is none."""
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    kept = annotations.get(ID_ANNOTATION) if isinstance(annotations, dict) else None
    return parse_uuid(str(kept)) if kept else ""


def declared_labels(document: Mapping[str, Any]) -> Labels | None:
    """The labels that a document declares, at `metadata.labels`, in the format of 2020 at `labels`.

    None when it says nothing of them.  Raises Invalid.
    """
    if not declares_labels(document):
        return None
    if document.get("kind") != "Hardware":
        return parse_labels(document["labels"])
    return parse_labels(document["metadata"]["labels"], "metadata.labels")


def declares_labels(document: Mapping[str, Any]) -> bool:
    """Whether a document says anything of labels: in a stored one of an earlier release it may be what no label may be."""
    if document.get("kind") != "Hardware":
        return isinstance(document.get("labels"), Mapping)
    metadata = document.get("metadata")
    return isinstance(metadata, Mapping) and "labels" in metadata


def labelled_document(hardware: Hardware) -> dict[str, Any]:
    """Its document with the labels that it has by now; one of 2020 has them only where it has any."""
    document, is_object = dict(hardware.document), hardware.document.get("kind") == "Hardware"
    if not declares_labels(document) and not (is_object and hardware.labels):
        return document
    if is_object:
        return {**document, "metadata": {**(document.get("metadata") or {}), "labels": dict(hardware.labels)}}
    return {**document, "labels": dict(hardware.labels)}


def allowing_netboot(hardware: Hardware) -> Hardware:
    """The same machine with netbooting allowed on every interface, also in its document."""
    document = json.loads(json.dumps(labelled_document(hardware)))
    is_object = document.get("kind") == "Hardware"
    if is_v1alpha2(document):
        for entry in document["spec"]["networkInterfaces"].values():
            entry["netboot"] = {**(entry.get("netboot") or {}), "disabled": False}
        return replace(hardware_from_document(document), labels=hardware.labels)
    for interface in hardware.interfaces:
        entry = document["spec" if is_object else "network"]["interfaces"][interface.place]
        entry["netboot"] = {**(entry.get("netboot") or {}), "allowPXE" if is_object else "allow_pxe": True}
    return replace(hardware_from_document(document), labels=hardware.labels)
