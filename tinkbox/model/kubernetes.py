"""Tinkerbell's Kubernetes documents (`tinkerbell.org/v1alpha1`): every field, and what tinkbox cannot do with it.

A shape is an example of a document with Go's zero values: "" is text, 0 a whole number, False a flag, None anything,
`[inner]` a list, `{"*": inner}` keys of any name, `("a", "b")` keys of these names with anything.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

GROUP, VERSION = "tinkerbell.org", "v1alpha1"
DEFAULT_NAMESPACE = "default"
# Identities that are made from namespace and name, so that the same document is the same machine again.
_IDENTITIES = uuid.UUID("5f0e5c0b-1f6e-5c39-9d5f-6f1b3a0a7e21")

_PARTITION = {"label": "", "number": 0, "size": 0, "start": 0, "type_guid": ""}
_FILE = {"path": "", "contents": "", "mode": 0, "uid": 0, "gid": 0}
_FILESYSTEM = {
    "mount": {"device": "", "format": "", "point": "", "files": [_FILE], "create": {"force": False, "options": [""]}}
}
_OPERATING_SYSTEM = {"slug": "", "distro": "", "version": "", "image_tag": "", "os_slug": ""}
_INSTANCE = {
    "id": "",
    "state": "",
    "hostname": "",
    "allow_pxe": False,
    "rescue": False,
    "operating_system": _OPERATING_SYSTEM,
    "always_pxe": False,
    "ipxe_script_url": "",
    "ips": [{"address": "", "netmask": "", "gateway": "", "family": 0, "public": False, "management": False}],
    "userdata": "",
    "crypted_root_password": "",
    "tags": [""],
    "storage": {
        "disks": [{"device": "", "wipe_table": False, "partitions": [_PARTITION]}],
        "raid": [{"name": "", "level": "", "devices": [""], "spare": 0}],
        "filesystems": [_FILESYSTEM],
    },
    "ssh_keys": [""],
    "network_ready": False,
}
METADATA: Mapping[str, Any] = {
    "state": "",
    "bonding_mode": 0,
    "manufacturer": {"id": "", "slug": ""},
    "instance": _INSTANCE,
    "custom": {"preinstalled_operating_system_version": _OPERATING_SYSTEM, "private_subnets": [""]},
    "facility": {"plan_slug": "", "plan_version_slug": "", "facility_code": ""},
}
_DHCP = {
    "mac": "",
    "hostname": "",
    "domain_name": "",
    "lease_time": 0,
    "name_servers": [""],
    "time_servers": [""],
    "arch": "",
    "uefi": False,
    "iface_name": "",
    "ip": {"address": "", "netmask": "", "gateway": "", "family": 0},
    "vlan_id": "",
    "classless_static_routes": [{"destination_descriptor": "", "router": ""}],
    "tftp_server_name": "",
    "boot_file_name": "",
}
_NETBOOT = {
    "allowPXE": False,
    "allowWorkflow": False,
    "ipxe": {"url": "", "contents": "", "binary": ""},
    "osie": {"baseURL": "", "kernel": "", "initrd": "", "kernelParams": [""]},
    "pxelinux": {"config": ""},
    "rpi": {"serialNum": "", "firmwarePath": "", "configTxt": ""},
}
INTERFACE: Mapping[str, Any] = {
    "disableDhcp": False,
    "dhcp": _DHCP,
    "netboot": _NETBOOT,
    "isoboot": {"sourceISO": ""},
}
# Kubernetes' ObjectMeta (k8s.io/apimachinery, meta/v1), and clusterName, which it had until 1.24.
OBJECT_META = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields", "clusterName",
)  # fmt: skip
# Before the names of annotations that mean something to tinkbox; of others everybody has his own.
OWN_ANNOTATIONS = "tinkbox.internal/"
_HEAD = {"apiVersion": "", "kind": "", "metadata": OBJECT_META}
HARDWARE: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "agentID": "",
        "auto": {"enrollmentEnabled": False},
        "bmcRef": {"apiGroup": "", "kind": "", "name": ""},
        "interfaces": [INTERFACE],
        "references": None,
        # Not looked into: documents of 2020 and images of today put there what they like.
        "metadata": None,
        "tinkVersion": 0,
        "disks": [{"device": ""}],
        "resources": None,
        "userData": "",
        "vendorData": "",
    },
    "status": None,
}
TEMPLATE: Mapping[str, Any] = {**_HEAD, "spec": {"data": ""}, "status": None}
_BOOT_OPTIONS = {
    "toggleAllowNetboot": False,
    "isoURL": "",
    "bootMode": "",
    "custombootConfig": {"preparingActions": None, "postActions": None},
}
WORKFLOW: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "templateRef": "",
        "hardwareRef": "",
        "hardwareMap": {"*": ""},
        "bootOptions": _BOOT_OPTIONS,
        "disabled": False,
    },
    "status": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheeded:
    """What is said of a field that was given and that tinkbox does not honour; `harmful` refuses the document."""

    text: str
    harmful: bool = False


_NO_BMC = "tinkbox does not speak to BMCs: power the machine on yourself"
UNHEEDED: Mapping[str, Mapping[str, Unheeded]] = {
    "Hardware": {
        "spec.auto.enrollmentEnabled": Unheeded(
            text="discovery.rules bind templates to machines that nobody knows, and to no others"
        ),
        "spec.bmcRef": Unheeded(text=_NO_BMC),
        "spec.references": Unheeded(text="templates have no .references here"),
        "spec.resources": Unheeded(text="kept, and nothing here reads it"),
        "spec.interfaces[].dhcp.tftp_server_name": Unheeded(
            text="this machine would get tinkbox's own loader instead of that server's", harmful=True
        ),
        "spec.interfaces[].dhcp.boot_file_name": Unheeded(
            text="this machine would get tinkbox's own loader instead of that file", harmful=True
        ),
        "spec.interfaces[].netboot.ipxe.url": Unheeded(
            text="this machine would boot the OSIE instead of that script", harmful=True
        ),
        "spec.interfaces[].netboot.ipxe.contents": Unheeded(
            text="this machine would boot the OSIE instead of that script", harmful=True
        ),
        "spec.interfaces[].netboot.ipxe.binary": Unheeded(text="the loader is chosen by the machine's firmware"),
        "spec.interfaces[].netboot.osie": Unheeded(text="the appliance's own OSIE boots"),
        "spec.interfaces[].netboot.pxelinux": Unheeded(text="PXELINUX is not served: this interface cannot boot by it"),
        "spec.interfaces[].netboot.rpi": Unheeded(text="a Raspberry Pi's firmware is not served: it cannot boot here"),
        "spec.interfaces[].isoboot": Unheeded(text="there is no booting from ISO images: the machine has to netboot"),
    },
    "Template": {},
    "Workflow": {
        "spec.disabled": Unheeded(text="a workflow cannot wait: create it when it is to run", harmful=True),
        "spec.bootOptions.isoURL": Unheeded(text="there is no booting from ISO images: the machine has to netboot"),
        "spec.bootOptions.bootMode": Unheeded(text=_NO_BMC),
        "spec.bootOptions.custombootConfig": Unheeded(text=_NO_BMC),
    },
}
SHAPES: Mapping[str, Mapping[str, Any]] = {"Hardware": HARDWARE, "Template": TEMPLATE, "Workflow": WORKFLOW}


def identity(namespace: str, name: str) -> str:
    """The id of the hardware that has this namespace and name; the same for the same."""
    return str(uuid.uuid5(_IDENTITIES, f"{namespace or DEFAULT_NAMESPACE}/{name}"))


def paths(shape: Any, key: str = "") -> Iterator[str]:
    """Every field of a shape, such as `spec.disks[].device`."""
    if isinstance(shape, list):
        key, shape = f"{key}[]", shape[0]
    if not isinstance(shape, Mapping):
        yield key
        return
    for name, inner in shape.items():
        yield from paths(inner, f"{key}.{name}" if key else name)
