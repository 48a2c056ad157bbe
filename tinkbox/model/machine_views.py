"""A machine's hardware document as templates see it.

`.hardware` is Tinkerbell's Kubernetes object with its JSON names, `.Hardware` what templates had before: a struct with
Go's names.  Documents of 2020 are shown in the same two forms.
"""

from collections.abc import Mapping
from typing import Any

from tinkbox.model.kubernetes import GROUP, INTERFACE, METADATA, VERSION

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
_NETBOOT_2020: Mapping[str, str] = {"allow_pxe": "allowPXE", "allow_workflow": "allowWorkflow", "base_url": "baseURL"}


def object_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """`.hardware`: the Kubernetes object, made from a document of 2020 when it is one; empty without a document."""
    if not document or document.get("kind") == "Hardware":
        return dict(document)
    metadata = _mapping(document.get("metadata"))
    instance = _mapping(metadata.get("instance"))
    disks = _list(_mapping(instance.get("storage")).get("disks"))
    interfaces = [
        _interface_2020(_mapping(each)) for each in _list(_mapping(document.get("network")).get("interfaces"))
    ]
    hostname = next((each["dhcp"]["hostname"] for each in interfaces if each["dhcp"].get("hostname")), "")
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Hardware",
        "metadata": {"name": hostname or document.get("id", "")},
        "spec": {
            "interfaces": interfaces,
            "metadata": metadata,
            "disks": [{"device": _mapping(each).get("device", "")} for each in disks],
            "userData": instance.get("userdata", ""),
        },
    }


def struct_view(document: Mapping[str, Any]) -> dict[str, Any]:
    """`.Hardware`: Disks, Interfaces, Metadata, UserData and VendorData, each known field with a value."""
    spec = _mapping(object_view(document).get("spec"))
    return {
        "Disks": [str(_mapping(each).get("device", "")) for each in _list(spec.get("disks"))],
        "Interfaces": [_struct(each, INTERFACE) for each in _list(spec.get("interfaces"))],
        "Metadata": _struct(spec.get("metadata") or {}, METADATA),
        "UserData": spec.get("userData") or "",
        "VendorData": spec.get("vendorData") or "",
    }


def go_name(name: str) -> str:
    """The field of a Go struct that has this JSON name."""
    if name in _GO_NAMES:
        return _GO_NAMES[name]
    words = (word.upper() if word in _INITIALISMS else word[:1].upper() + word[1:] for word in name.split("_"))
    return "".join(words)


def _interface_2020(entry: Mapping[str, Any]) -> dict[str, Any]:
    netboot = {_NETBOOT_2020.get(name, name): value for name, value in _mapping(entry.get("netboot")).items()}
    if isinstance(netboot.get("osie"), Mapping):
        netboot["osie"] = {_NETBOOT_2020.get(name, name): value for name, value in netboot["osie"].items()}
    dhcp = {"dhcp": dict(_mapping(entry.get("dhcp")))}
    return {**dhcp, "netboot": netboot} if "netboot" in entry else dhcp


def _struct(value: Any, shape: Any) -> Any:
    """A value under Go's names; what is absent is Go's zero value, and a struct that is absent nil."""
    if isinstance(shape, list):
        return [_struct(each, shape[0]) for each in _list(value)]
    if isinstance(shape, Mapping):
        if not isinstance(value, Mapping):
            return None
        known = {go_name(name): _struct(value.get(name), inner) for name, inner in shape.items()}
        more = {go_name(name): each for name, each in value.items() if name not in shape}
        return {**more, **known}
    return shape if value is None else value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
