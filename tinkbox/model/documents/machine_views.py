"""A machine's hardware document as templates see it.

`.hardware` is Tinkerbell's Kubernetes object with its JSON names, `.Hardware` what templates had before: a struct with
Go's names.  Documents of 2020 are shown in the same two forms.

Jinja2 sees the document's own values.  Go templates see what Tinkerbell makes of the document: it is read into the types of
api/v1alpha1/tinkerbell/hardware.go, and `.hardware` is the JSON of those, decoded, so that its numbers are float64.
"""

from collections.abc import Mapping
from typing import Any, Final

from tinkbox.gotemplate.types.structs import NIL_SLICE, NilPointer, Struct
from tinkbox.gotemplate.types.typed_values import NilStrings, Strings
from tinkbox.model.documents.hardware_v1alpha2 import as_v1alpha1
from tinkbox.model.documents.kubernetes import GROUP, INTERFACE, METADATA, VERSION
from tinkbox.model.documents.loose_values import list_of, mapping_of
from tinkbox.model.hardware import Hardware, namespace_of

# Go's spelling where it is not the JSON name with capitals.
_GO_NAMES: Mapping[str, str] = {
    "mac": "MAC",
    "uefi": "UEFI",
    "ip": "IP",
    "vlan_id": "VLANID",
    "tftp_server_name": "TFTPServerName",
    "dhcp": "DHCP",
    "disableDhcp": "DisableDHCP",
    "ipxe": "IPXE",
    "osie": "OSIE",
    "rpi": "RPI",
    "pxelinux": "PXELINUX",
}
_INITIALISMS = frozenset({"id", "url", "uid", "gid", "guid", "ssh"})
# Go's types of the objects under these names; all but these two are pointers.
_INTERFACE_TYPE, _METADATA_TYPE = "tinkerbell.Interface", "tinkerbell.HardwareMetadata"
_GO_TYPES: Final[Mapping[str, str]] = {
    "netboot": "Netboot",
    "isoboot": "Isoboot",
    "dhcp": "DHCP",
    "ipxe": "IPXE",
    "osie": "OSIE",
    "pxelinux": "PXELINUX",
    "rpi": "RPI",
    "ip": "IP",
    "classless_static_routes": "ClasslessStaticRoute",
    "manufacturer": "MetadataManufacturer",
    "instance": "MetadataInstance",
    "custom": "MetadataCustom",
    "facility": "MetadataFacility",
    "operating_system": "MetadataInstanceOperatingSystem",
    "preinstalled_operating_system_version": "MetadataInstanceOperatingSystem",
    "ips": "MetadataInstanceIP",
    "storage": "MetadataInstanceStorage",
    "disks": "MetadataInstanceStorageDisk",
    "partitions": "MetadataInstanceStorageDiskPartition",
    "raid": "MetadataInstanceStorageRAID",
    "filesystems": "MetadataInstanceStorageFilesystem",
    "mount": "MetadataInstanceStorageMount",
    "files": "MetadataInstanceStorageFile",
    "create": "MetadataInstanceStorageMountFilesystemOptions",
}
_VALUES = frozenset({"classless_static_routes"})  # in lists of structs, not of pointers to them
# Fields of Go that JSON has although they are empty: without `omitempty`, or pointers to a value that is empty.
_ALWAYS = frozenset({"serialNum", "destination_descriptor", "router"})
_POINTERS = frozenset({"allowPXE", "allowWorkflow", "userData", "vendorData"})
_BMC_REF: Mapping[str, Any] = {"apiGroup": None, "kind": "", "name": ""}
_NETBOOT_2020: Mapping[str, str] = {"allow_pxe": "allowPXE", "allow_workflow": "allowWorkflow", "base_url": "baseURL"}


def object_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """`.hardware`: the Kubernetes object of v1alpha1, made from a document of 2020 or of v1alpha2 where it is one.

    Empty without a document.
    """
    if not document or document.get("kind") == "Hardware":
        return as_v1alpha1(document)
    metadata = mapping_of(document.get("metadata"))
    instance = mapping_of(metadata.get("instance"))
    disks = list_of(mapping_of(instance.get("storage")).get("disks"))
    interfaces = [
        _interface_2020(mapping_of(each)) for each in list_of(mapping_of(document.get("network")).get("interfaces"))
    ]
    hostname = next((each["dhcp"]["hostname"] for each in interfaces if each["dhcp"].get("hostname")), "")
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Hardware",
        "metadata": {"name": hostname or document.get("id", "")},
        "spec": {
            "interfaces": interfaces,
            "metadata": metadata,
            "disks": [{"device": mapping_of(each).get("device", "")} for each in disks],
            "userData": instance.get("userdata", ""),
        },
    }


def of_cluster(view: Mapping[str, Any], machine: Hardware) -> dict[str, Any]:
    """A machine's object with what each has in a cluster whatever its document says: name, namespace, uid, and today's labels."""
    metadata = {name: value for name, value in mapping_of(view.get("metadata")).items() if name != "labels"}
    own = {
        "name": metadata.get("name") or machine.id,
        "namespace": namespace_of(machine),
        "uid": metadata.get("uid") or machine.id,
    }
    labels = {"labels": dict(machine.labels)} if machine.labels else {}
    return {**view, "metadata": {**metadata, **own, **labels}}


def struct_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """`.Hardware` for Jinja2: Disks, Interfaces, Metadata, UserData and VendorData, each known field with a value."""
    view: dict[str, Any] = _plain(_go_struct(object_view(document)))
    return view


def go_views(view: Mapping[str, Any]) -> dict[str, Any]:
    """`.hardware` and `.Hardware` for Go templates, of what `object_view` gives."""
    return {"hardware": decoded(_go_object(view)), "Hardware": _go_struct(view)}


def go_name(name: str) -> str:
    """The field of a Go struct that has this JSON name."""
    if name in _GO_NAMES:
        return _GO_NAMES[name]
    words = (word.upper() if word in _INITIALISMS else word[:1].upper() + word[1:] for word in name.split("_"))
    return "".join(words)


def _interface_2020(entry: Mapping[str, Any]) -> dict[str, Any]:
    netboot = {_NETBOOT_2020.get(name, name): value for name, value in mapping_of(entry.get("netboot")).items()}
    if isinstance(netboot.get("osie"), Mapping):
        netboot["osie"] = {_NETBOOT_2020.get(name, name): value for name, value in netboot["osie"].items()}
    dhcp = {"dhcp": dict(mapping_of(entry.get("dhcp")))}
    return {**dhcp, "netboot": netboot} if "netboot" in entry else dhcp


def _go_struct(view: Mapping[str, Any]) -> Struct:
    """What Tinkerbell's controller makes of an object for templates: its type has no JSON tags."""
    spec = mapping_of(view.get("spec"))
    fields = {
        "Disks": Strings(str(mapping_of(each).get("device") or "") for each in list_of(spec.get("disks")))
        or NilStrings(),
        "Interfaces": _typed(spec.get("interfaces"), [INTERFACE], _INTERFACE_TYPE) or NIL_SLICE,
        "UserData": spec.get("userData") or "",
        "Metadata": _typed(spec.get("metadata") or {}, METADATA, _METADATA_TYPE),
        "VendorData": spec.get("vendorData") or "",
    }
    return Struct("workflow.templateHardwareData", fields, fields)


def _go_object(view: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of an object: what is empty and has `omitempty` is absent, a struct that is no pointer is there."""
    spec = mapping_of(view.get("spec"))
    written = {
        **{name: value for name, value in spec.items() if _is_written(name, value, value)},
        "auto": _tagged(mapping_of(spec.get("auto"))),
    }
    if isinstance(spec.get("bmcRef"), Mapping):
        written["bmcRef"] = {**_BMC_REF, **spec["bmcRef"]}
    if list_of(spec.get("interfaces")):
        written["interfaces"] = _typed(spec["interfaces"], [INTERFACE], _INTERFACE_TYPE)
    if isinstance(spec.get("metadata"), Mapping):
        written["metadata"] = _typed(spec["metadata"], METADATA, _METADATA_TYPE)
    if list_of(spec.get("disks")):
        written["disks"] = [_tagged(mapping_of(each)) for each in spec["disks"]]
    if isinstance(spec.get("references"), Mapping) and spec["references"]:
        written["references"] = {name: _tagged(mapping_of(each)) for name, each in spec["references"].items()}
    if isinstance(spec.get("resources"), Mapping) and spec["resources"]:
        written["resources"] = {name: _quantity(each) for name, each in spec["resources"].items()}
    metadata = _tagged(mapping_of(view.get("metadata")))
    return {**view, "metadata": metadata, "spec": written, "status": mapping_of(view.get("status"))}


def _quantity(value: Any) -> Any:
    """Kubernetes writes a quantity as text, also where a document has a whole number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _tagged(value: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a struct that has `omitempty` at each field."""
    return {name: each for name, each in value.items() if _is_written(name, each, each)}


def _is_written(name: str, given: Any, field: Any) -> bool:
    if name in _POINTERS:
        return given is not None
    return name in _ALWAYS or isinstance(field, Struct) or bool(field)


def _typed(value: Any, shape: Any, type_name: str) -> Any:
    """A value as Go has it in a field of this shape; what is absent is Go's zero value, and a struct that is absent nil."""
    if isinstance(shape, list):
        is_text = shape == [""]
        if not isinstance(value, list):
            return NilStrings() if is_text else NIL_SLICE
        items = [_typed(each, shape[0], type_name) for each in value]
        return Strings(items) if is_text else items
    if not isinstance(shape, Mapping):
        return shape if value is None else value
    if not isinstance(value, Mapping):
        if type_name.startswith("*"):
            return NilPointer(type_name)
        value = {}
    fields: dict[str, Any] = {}
    tagged: dict[str, Any] = {}
    for name, inner in shape.items():
        star = "" if name in _VALUES else "*"
        field = _typed(value.get(name), inner, f"{star}tinkerbell.{_GO_TYPES.get(name, '')}")
        fields[go_name(name)] = field
        if _is_written(name, value.get(name), field):
            tagged[name] = field
    # What Go's types do not know, documents of 2020 may have.
    more = {name: each for name, each in value.items() if name not in shape}
    fields = {**fields, **{go_name(name): each for name, each in more.items() if go_name(name) not in fields}}
    tagged |= more
    return Struct(type_name, fields, tagged)


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, NilPointer):
        return None
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def decoded(value: Any) -> Any:
    """JSON as Go decodes it into a map: every number is a float64."""
    if isinstance(value, Mapping):
        entries = value.tagged if isinstance(value, Struct) else value
        return {name: decoded(each) for name, each in entries.items()}
    if isinstance(value, list | tuple):
        return [decoded(each) for each in value]
    if isinstance(value, NilPointer):
        return None
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
