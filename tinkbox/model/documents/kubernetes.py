"""Tinkerbell's Kubernetes documents: every field, and what tinkbox cannot do with it.

A shape is an example of a document with Go's zero values: "" is text, TEXT_ALONE a text that is one in YAML too, 0 a whole number, False a flag, None anything,
`[inner]` a list, `{"*": inner}` keys of any name, `("a", "b")` keys of these names with anything.  Keys have the order of
Go's fields, in which templates print structs.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

GROUP, VERSION = "tinkerbell.org", "v1alpha1"
BMC_GROUP, VERSION_2 = "bmc.tinkerbell.org", "v1alpha2"
CORE_GROUP, CORE_VERSION = "", "v1"  # of Kubernetes itself, whose documents say no group
DEFAULT_NAMESPACE = "default"
# Identities that are made from namespace and name, so that the same document is the same machine again.
_IDENTITIES = uuid.UUID("5f0e5c0b-1f6e-5c39-9d5f-6f1b3a0a7e21")

_PARTITION = {"label": "", "number": 0, "size": 0, "start": 0, "type_guid": ""}
_FILE = {"path": "", "contents": "", "mode": 0, "uid": 0, "gid": 0}
_FILESYSTEM = {
    "mount": {"device": "", "format": "", "files": [_FILE], "create": {"force": False, "options": [""]}, "point": ""}
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
    "rpi": {"configTxt": "", "firmwarePath": "", "serialNum": ""},
}
INTERFACE: Mapping[str, Any] = {
    "netboot": _NETBOOT,
    "isoboot": {"sourceISO": ""},
    "dhcp": _DHCP,
    "disableDhcp": False,
}
# Kubernetes' ObjectMeta (k8s.io/apimachinery, meta/v1), and clusterName, which it had until 1.24.
OBJECT_META = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields", "clusterName",
)  # fmt: skip
# Before the names of annotations that mean something to tinkbox; of others everybody has his own.
OWN_ANNOTATIONS = "tinkbox.internal/"
# Tinkerbell's own, of any document: its value is the reason, which may be empty (pkg/constant).
DISABLED_ANNOTATION = "tinkerbell.org/disabled"
# What `kubectl apply` writes into every document.
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
# The kinds of documents that are stored without annotations, in a person's words.
WITHOUT_ANNOTATIONS: Mapping[str, str] = {"Template": "a Template", "Workflow": f"a Workflow of {VERSION}"}
_HEAD = {"apiVersion": "", "kind": "", "metadata": OBJECT_META}
# Where 8080 and yes are refused without quotes, as the API server of Kubernetes does.
TEXT_ALONE: Final = "text"
HARDWARE: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "agentID": "",
        "auto": {"enrollmentEnabled": False},
        "bmcRef": {"apiGroup": "", "kind": "", "name": ""},
        "interfaces": [INTERFACE],
        "references": None,
        # Open: documents of 2020 and images of today put there what they like (`instance_metadata` looks for misspellings).
        "metadata": None,
        "tinkVersion": 0,
        "disks": [{"device": ""}],
        "resources": None,
        "userData": "",
        "vendorData": "",
    },
    "status": None,
}
_IP = {"address": "", "gateway": "", "prefix": ""}
# Of interfaces by their MACs.
INTERFACE_2: Mapping[str, Any] = {
    "dhcp": {
        "ipv4": {
            "disabled": False,
            "bootFileName": "",
            "classlessStaticRoutes": [{"destinationDescriptor": "", "router": ""}],
            "domainName": "",
            "domainSearchList": [""],
            "hostname": "",
            "leaseTimeSeconds": 0,
            "nameservers": [""],
            "tftpServerName": "",
            "ntpServers": [""],
            "vlanID": "",
        },
        "ipv6": None,
    },
    "ipam": {"ipv4": _IP, "ipv6": _IP},
    "netboot": {
        "disabled": False,
        "ipxe": {"binary": "", "script": "", "url": ""},
        "pxelinux": {"config": ""},
        "rpi": {"configTxt": "", "firmwarePath": "", "serialNum": ""},
    },
}
HARDWARE_2: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "agentID": "",
        "arch": "",
        "auto": {"enrollmentEnabled": False},
        "bmc": None,
        "instance": {
            "lookupID": "",
            "metadata": "",
            "networkConfig": "",
            "osie": {"initrdURL": "", "isoURL": "", "kernelParams": [""], "kernelURL": ""},
            "sshKeys": [""],
            "userdata": "",
            "vars": {"*": ""},
            "vendordata": "",
        },
        "networkInterfaces": {"*": INTERFACE_2},
        "references": None,
        "storageDevices": [{"name": ""}],
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
# The rules are patterns of JSON (`tinkbox.model.documents.json_patterns`).
WORKFLOW_RULE_SET: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "rules": [""],
        "workflow": {
            "disabled": False,
            "namespace": "",
            "addAttributes": False,
            "template": {"agentValue": "", "kvs": {"*": ""}, "ref": ""},
        },
    },
    "status": None,
}
POLICY: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "rules": {
            "workflowAutoCreation": [
                {
                    "rules": [None],
                    "config": {
                        "namespace": "",
                        "addAttributes": False,
                        "disabled": False,
                        "globals": None,
                        "references": None,
                        "timeoutSeconds": 0,
                        "tasks": [None],
                    },
                }
            ],
            "referenceAccess": None,
        }
    },
}
TASK: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "actions": [
            {
                "name": "",
                "if": "",
                "image": "",
                "command": "",
                "args": [""],
                "env": {"*": ""},
                "volumes": [""],
                "namespaces": {"network": "", "pid": ""},
                "retries": 0,
                "timeoutSeconds": 0,
                "background": False,
            }
        ],
        "env": {"*": ""},
        "references": None,
        "vars": {"*": ""},
        "volumes": [""],
    },
}
_EXTRA = {"env": {"*": ""}, "templateMap": {"*": ""}, "volumes": [""]}
_REFERENCE = {"name": "", "namespace": ""}
WORKFLOW_2: Mapping[str, Any] = {
    **_HEAD,
    "spec": {
        "disabled": False,
        "globals": _EXTRA,
        "references": None,
        "timeoutSeconds": 0,
        "tasks": [
            {
                "agentID": "",
                "extra": _EXTRA,
                "hardware": {
                    "bootOptions": {"toggleNetboot": False, "isoURL": "", "bootMode": "", "customboot": None},
                    "hardwareRef": _REFERENCE,
                },
                "timeoutSeconds": 0,
                "taskRef": _REFERENCE,
            }
        ],
        "vars": {"*": ""},
    },
    "status": None,
}
_KEPT_WHOLE: Mapping[str, Any] = {**_HEAD, "spec": None, "status": None}
# https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/
SECRET: Mapping[str, Any] = {
    **_HEAD,
    "data": {"*": TEXT_ALONE},
    "immutable": False,
    "stringData": {"*": TEXT_ALONE},
    "type": "",
}
CONFIG_MAP: Mapping[str, Any] = {
    **_HEAD,
    "binaryData": {"*": TEXT_ALONE},
    "data": {"*": TEXT_ALONE},
    "immutable": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheeded:
    """What is said of a field that was given and that tinkbox does not honour.

    One that `leaves_out` leaves out the whole document; a command that is given nothing else refuses it.
    """

    text: str
    leaves_out: bool = False


_NO_BMC = "tinkbox does not speak to BMCs: power the machine on yourself"
_NO_ISO = "there is no booting from ISO images: the machine has to netboot (allowPXE), and you power it on yourself"
_KEPT_FOR_BMC = Unheeded(text="kept and exported, and nothing here drives it yet; a Secret that it names is not read")
_INVENTORY = Unheeded(text="what a machine is made of is kept with the machine: `tinkbox hardware get` shows it")
_NO_WAITING = Unheeded(
    text="a workflow cannot be held back here: give its document without disabled when it is to run",
    leaves_out=True,
)
# Of a Workflow with DISABLED_ANNOTATION.
ANNOTATED_DISABLED: Final = (
    "a workflow cannot be held back here: give its document without this annotation when it is to run"
)
_NO_MODE = Unheeded(text="nothing here starts a machine, in no mode: power it on yourself, and it has to netboot")
_NO_ENROLMENT = Unheeded(text="discovery.rules and rule sets are for unknown machines only")
_CHANGEABLE = Unheeded(text="another document of this name takes its place")
_UNREAD = Unheeded(text="kept, and nothing here reads it")
_NO_PXELINUX = Unheeded(text="PXELINUX is not served: this interface cannot boot by it")
_NO_RPI = Unheeded(text="a Raspberry Pi's firmware is not served: it cannot boot here")
_MADE_HERE = Unheeded(text="the appliance makes its own, of what the document says of the interfaces")
UNHEEDED: Mapping[str, Mapping[str, Unheeded]] = {
    "Hardware": {
        "spec.auto.enrollmentEnabled": _NO_ENROLMENT,
        "spec.bmcRef": Unheeded(text=_NO_BMC),
        "spec.resources": _UNREAD,
        "spec.interfaces[].netboot.pxelinux": _NO_PXELINUX,
        "spec.interfaces[].netboot.rpi": _NO_RPI,
        "spec.interfaces[].isoboot": Unheeded(text=_NO_ISO),
    },
    "Hardware v1alpha2": {
        "spec.auto.enrollmentEnabled": _NO_ENROLMENT,
        "spec.bmc": Unheeded(text=_NO_BMC),
        "spec.instance.metadata": _MADE_HERE,
        "spec.instance.networkConfig": _MADE_HERE,
        "spec.instance.osie.isoURL": Unheeded(text=_NO_ISO),
        "spec.instance.vars": _UNREAD,
        "spec.networkInterfaces.*.dhcp.ipv4.domainSearchList": Unheeded(text="only domainName is told to the machine"),
        "spec.networkInterfaces.*.dhcp.ipv6": Unheeded(text="DHCP gives IPv4 addresses only"),
        "spec.networkInterfaces.*.netboot.pxelinux": _NO_PXELINUX,
        "spec.networkInterfaces.*.netboot.rpi": _NO_RPI,
    },
    "Template": {},
    "Workflow": {
        "spec.disabled": _NO_WAITING,
        "spec.bootOptions.isoURL": Unheeded(text=_NO_ISO),
        "spec.bootOptions.bootMode": _NO_MODE,
        "spec.bootOptions.custombootConfig": Unheeded(text=_NO_BMC),
    },
    "WorkflowRuleSet": {"spec.workflow.addAttributes": _INVENTORY},
    "Policy": {
        "spec.rules.workflowAutoCreation[].config.addAttributes": _INVENTORY,
        "spec.rules.referenceAccess": Unheeded(
            text="whoever may apply a document may name any Secret and ConfigMap in it"
        ),
    },
    "Task": {},
    "Workflow v1alpha2": {
        "spec.disabled": _NO_WAITING,
        "spec.tasks[].timeoutSeconds": Unheeded(
            text="the workflow and each of its actions have a time limit, a task has none"
        ),
        "spec.tasks[].hardware.bootOptions.isoURL": Unheeded(text=_NO_ISO),
        "spec.tasks[].hardware.bootOptions.bootMode": _NO_MODE,
        "spec.tasks[].hardware.bootOptions.customboot": Unheeded(text=_NO_BMC),
    },
    "bmc Machine": {"spec": _KEPT_FOR_BMC},
    "bmc Job": {"spec": _KEPT_FOR_BMC},
    "bmc Task": {"spec": _KEPT_FOR_BMC},
    "Secret": {"immutable": _CHANGEABLE},
    "ConfigMap": {"immutable": _CHANGEABLE},
}
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "Hardware": HARDWARE,
    "Hardware v1alpha2": HARDWARE_2,
    "Template": TEMPLATE,
    "Workflow": WORKFLOW,
    "WorkflowRuleSet": WORKFLOW_RULE_SET,
    "Policy": POLICY,
    "Task": TASK,
    "Workflow v1alpha2": WORKFLOW_2,
    "bmc Machine": _KEPT_WHOLE,
    "bmc Job": _KEPT_WHOLE,
    "bmc Task": _KEPT_WHOLE,
    "Secret": SECRET,
    "ConfigMap": CONFIG_MAP,
}
# By which of them a document is read: its group, version and kind.
READ_AS: Mapping[tuple[str, str, str], str] = {
    (GROUP, VERSION, "Hardware"): "Hardware",
    (GROUP, VERSION_2, "Hardware"): "Hardware v1alpha2",
    (GROUP, VERSION, "Template"): "Template",
    (GROUP, VERSION, "Workflow"): "Workflow",
    (GROUP, VERSION, "WorkflowRuleSet"): "WorkflowRuleSet",
    (GROUP, VERSION_2, "Policy"): "Policy",
    (GROUP, VERSION_2, "Task"): "Task",
    (GROUP, VERSION_2, "Workflow"): "Workflow v1alpha2",
    (BMC_GROUP, VERSION, "Machine"): "bmc Machine",
    (BMC_GROUP, VERSION, "Job"): "bmc Job",
    (BMC_GROUP, VERSION_2, "Job"): "bmc Job",
    (BMC_GROUP, VERSION, "Task"): "bmc Task",
    (CORE_GROUP, CORE_VERSION, "Secret"): "Secret",
    (CORE_GROUP, CORE_VERSION, "ConfigMap"): "ConfigMap",
}
# Tinkerbell's: what else is in them is its own too.
GROUPS: Final = tuple(dict.fromkeys(group for group, _, _ in READ_AS if group != CORE_GROUP))
# Kinds of 2022 (Rufio 0.1), and what they are called since.
FORMER_KINDS: Mapping[tuple[str, str], str] = {
    (BMC_GROUP, "BaseboardManagement"): "Machine",
    (BMC_GROUP, "BMCJob"): "Job",
    (BMC_GROUP, "BMCTask"): "Task",
}


def kinds_of(group: str) -> tuple[str, ...]:
    """The kinds of a group that are read, whatever their version."""
    return tuple(dict.fromkeys(kind for its_group, _, kind in READ_AS if its_group == group))


def versions_of(group: str, kind: str) -> tuple[str, ...]:
    """The versions in which documents of a kind are read; empty: the kind is not."""
    return tuple(version for its_group, version, its_kind in READ_AS if (its_group, its_kind) == (group, kind))


def api_version(group: str, version: str) -> str:
    """The `apiVersion` of documents."""
    return f"{group}/{version}" if group else version


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
