"""The `metadata` of a hardware document: Equinix Metal's form, as documents of 2020 and Tinkerbell's `spec.metadata` have it.

It is open: clients put there what they like, and read it back.  So a key is told only where it is a misspelling of one that has a
meaning (Tinkerbell's HardwareMetadata; rootio's `volume_groups`; Hegel's keys of EC2).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tinkbox.model.errors import Problem
from tinkbox.model.spelling import is_misspelt, nearest
from tinkbox.model.text import shortened

FEWEST_LETTERS: Final = 4  # shorter keys are near too many others
_LONGEST_KEY: Final = 60
_SYSTEM: Final = {
    "slug": None, "distro": None, "version": None, "image_tag": None, "os_slug": None, "license_activation": {"state": None},
}  # fmt: skip
_ADDRESS: Final = {
    "address": None, "netmask": None, "gateway": None, "family": None, "public": None, "management": None,
    "address_family": None, "network": None, "cidr": None, "enabled": None,
}  # fmt: skip
_PARTITION: Final = {"label": None, "number": None, "size": None, "start": None, "type_guid": None}
_FILE: Final = {"path": None, "contents": None, "mode": None, "uid": None, "gid": None}
_MOUNT: Final = {
    "device": None, "format": None, "point": None, "files": [_FILE], "create": {"force": None, "options": None},
}  # fmt: skip
_VOLUMES: Final = {
    "name": None, "physical_volumes": None, "tags": None,
    "logical_volumes": [{"name": None, "size": None, "tags": None, "opts": None}],
}  # fmt: skip
_STORAGE: Final = {
    "disks": [{"device": None, "wipe_table": None, "partitions": [_PARTITION]}],
    "raid": [{"name": None, "level": None, "devices": None, "spare": None}],
    "filesystems": [{"mount": _MOUNT}],
    "volume_groups": [_VOLUMES],
}
# Of lists the shape of each entry, of objects their keys; what has None is not looked into.
SHAPE: Final[Mapping[str, Any]] = {
    "state": None,
    "bonding_mode": None,
    "manufacturer": {"id": None, "slug": None},
    "instance": {
        "id": None,
        "state": None,
        "hostname": None,
        "allow_pxe": None,
        "rescue": None,
        "operating_system": _SYSTEM,
        "operating_system_version": _SYSTEM,
        "always_pxe": None,
        "ipxe_script_url": None,
        "ips": [_ADDRESS],
        "network": {"addresses": [_ADDRESS], "bonding": None, "interfaces": None},
        "userdata": None,
        "crypted_root_password": None,
        "tags": None,
        "storage": _STORAGE,
        "ssh_keys": None,
        "network_ready": None,
        "plan": None,
        "facility": None,
        "iqn": None,
        "spot": None,
    },
    "custom": {"preinstalled_operating_system_version": _SYSTEM, "private_subnets": None},
    "facility": {"plan_slug": None, "plan_version_slug": None, "facility_code": None},
    "userdata": None,
}


def misspelt_keys(metadata: Mapping[str, Any], holder: str) -> Iterator[Problem]:
    """Every key of the `metadata`, which stands under the key `holder`, that is probably meant to be another one."""
    yield from _misspelt(metadata, SHAPE, holder)


def _misspelt(value: Any, shape: Any, place: str) -> Iterator[Problem]:
    if isinstance(shape, list) and isinstance(value, list):
        for number, each in enumerate(value):
            yield from _misspelt(each, shape[0], f"{place}[{number}]")
    if not isinstance(shape, Mapping) or not isinstance(value, Mapping):
        return
    for name, inside in value.items():
        if name in shape:
            yield from _misspelt(inside, shape[name], f"{place}.{name}")
        elif near := _near(name, [each for each in shape if each not in value]):
            shown = shortened(name, _LONGEST_KEY)
            yield Problem(key=f"{place}.{shown}", text=f"nothing reads the key {shown}; did you mean {near}?")


def _near(name: str, known: list[str]) -> str:
    if len(name) < FEWEST_LETTERS:
        return ""
    return nearest(name, [each for each in known if len(each) >= FEWEST_LETTERS and is_misspelt(name, each)])
