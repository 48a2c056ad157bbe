"""A machine that has all that templates read, to fill one from before any machine is registered.  It is nowhere stored."""

from collections.abc import Mapping
from typing import Any, Final

from tinkbox.model.documents.hardware import hardware_from_document

_NUMBERS: Final = range(1, 5)  # cards and disks
_DISKS: Final = [f"/dev/sd{letter}" for letter in "abcd"]


def _interface(number: int) -> Mapping[str, Any]:
    return {
        "dhcp": {
            "mac": f"02:00:00:00:00:{number:02x}",
            "hostname": f"sample{number}",
            "domain_name": "sample.example",
            "lease_time": 86400,
            "name_servers": ["192.0.2.253", "192.0.2.254"],
            "time_servers": ["192.0.2.253", "192.0.2.254"],
            "arch": "x86_64",
            "uefi": True,
            "iface_name": f"eth{number}",
            "vlan_id": "42",
            "ip": {
                "address": f"192.0.2.{number}",
                "netmask": "255.255.255.0",
                "gateway": "192.0.2.254",
                "family": 4,
            },
        },
        "netboot": {"allowPXE": True, "allowWorkflow": True, "osie": {"baseURL": "http://192.0.2.254/"}},
    }


_INSTANCE: Final = {
    "id": "sample",
    "hostname": "sample1",
    "operating_system": {"slug": "debian_12", "distro": "debian", "version": "12", "image_tag": "latest"},
    "userdata": "#cloud-config\n",
    "crypted_root_password": "sample",
    "tags": ["sample"],
    "ssh_keys": ["ssh-ed25519 AAAA sample"],
    "ips": [{"address": "192.0.2.1", "netmask": "255.255.255.0", "gateway": "192.0.2.254", "family": 4}],
    "storage": {
        "disks": [
            {
                "device": disk,
                "wipe_table": True,
                "partitions": [{"label": "ROOT", "number": number, "size": 4096} for number in _NUMBERS],
            }
            for disk in _DISKS
        ],
        "filesystems": [{"mount": {"device": "/dev/sda1", "format": "ext4", "point": "/"}}],
    },
}
SAMPLE: Final = hardware_from_document(
    {
        "apiVersion": "tinkerbell.org/v1alpha1",
        "kind": "Hardware",
        "metadata": {"name": "sample1"},
        "spec": {
            "agentID": "sample-agent",
            "disks": [{"device": each} for each in _DISKS],
            "interfaces": [_interface(number) for number in _NUMBERS],
            "userData": "#cloud-config\n",
            "vendorData": "#cloud-config\n",
            "metadata": {
                "state": "in_use",
                "manufacturer": {"id": "sample", "slug": "sample"},
                "facility": {"facility_code": "sample", "plan_slug": "sample"},
                "instance": _INSTANCE,
            },
        },
    }
)
