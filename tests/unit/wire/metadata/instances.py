"""Systems to be told something."""

import json
from typing import Any

from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.hardware import Hardware
from tinkbox.model.metadata import Instance

ID = "0eba0bf8-3772-4b4a-ab9f-000000000001"
KEYS = ("ssh-ed25519 AAAA ann", "ssh-rsa BBBB bob")
URL = "http://172.30.0.1/metadata/TOKEN"
DETAILS: dict[str, Any] = {
    "id": "i-1",
    "tags": ["rack-1", "blue"],
    "operating_system": {"slug": "debian_13", "distro": "debian", "version": "13", "image_tag": "x"},
    "ips": [
        {"address": "203.0.113.5", "family": 4, "public": True},
        {"address": "2001:db8::5", "family": 6, "public": True},
        {"address": "10.0.0.5", "family": 4, "public": False},
    ],
    "storage": {"disks": [{"device": "/dev/sda"}], "filesystems": [{"mount": {"files": [{"contents": "secret"}]}}]},
    "crypted_root_password": "secret",
}


def hardware(*interfaces: dict[str, Any]) -> Hardware:
    """A machine with these interfaces, or with a plain one."""
    plain = {
        "mac": "52:54:00:12:34:56",
        "hostname": "node7",
        "ip": {"address": "172.30.0.5", "netmask": "255.255.255.0"},
    }
    return machine(*[{"dhcp": each} for each in interfaces or (plain,)])


def machine(*listed: dict[str, Any]) -> Hardware:
    """A machine whose document has these entries for its interfaces."""
    return parse_hardware(json.dumps({"id": ID, "network": {"interfaces": listed}}))


def instance(**more: Any) -> Instance:
    told: dict[str, Any] = {
        "hardware": hardware(), "id": f"{ID}-w", "hostname": "node7", "ssh_keys": KEYS, "user_data": "#cloud-config\n{}\n",
        "details": DETAILS, "facility": {"plan_slug": "c3", "facility_code": "onprem"}, "url": URL,
    }  # fmt: skip
    return Instance(**told | more)
