"""What a machine is made of in the words of Tinkerbell's agent (`AgentAttributes`), on which its rules match.

What the inventory does not know is left out (`FIELDS`), and so are PCI devices but for cards and storage controllers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tinkbox.model.inventory import Device, Disk, Inventory
from tinkbox.model.spelling import meant

_UNITS: Final = ("B", "KB", "MB", "GB", "TB", "PB", "EB")
# As the agent tells controllers apart, by what Linux calls the disk.
_CONTROLLERS: Final = {"nvme": "NVMe", "vd": "virtio", "mmcblk": "MMC", "hd": "IDE", "sd": "SCSI"}
# PCI classes (PCI Code and ID Assignment Specification, §1).
_CLASSES: Final = {"network": "Network controller", "storage": "Mass storage controller"}


def _fields(told: str, others: str = "") -> dict[str, bool]:
    return {**dict.fromkeys(told.split(), True), **dict.fromkeys(others.split(), False)}


# Every field that the agent tells (tinkerbell: pkg/data/attributes.go), and whether the inventory tells it.
FIELDS: Final[Mapping[str, Any]] = {
    "cpu": {
        **_fields("totalThreads", "totalCores"),
        "processors": _fields("id model", "cores threads vendor capabilities"),
    },
    "memory": _fields("total", "usable"),
    "blockDevices": _fields("name controllerType driveType size model serialNumber", "physicalBlockSize vendor wwn"),
    "networkInterfaces": _fields("name mac speed", "enabledCapabilities"),
    "pciDevices": _fields("class driver", "vendor product"),
    "gpuDevices": _fields("", "vendor product class driver"),
    "chassis": _fields("", "serial vendor"),
    "bios": _fields("version", "vendor releaseDate"),
    "baseboard": _fields("", "vendor product version serialNumber"),
    "product": _fields("name vendor serialNumber"),
}


def why_never_told(path: Sequence[str]) -> str:
    """Why no machine has a value at a path of fields, each within the one before; empty: machines have."""
    fields: Any = FIELDS
    for depth, name in enumerate(path):
        where = ".".join(path[: depth + 1])
        if not isinstance(fields, Mapping):
            return f"{'.'.join(path[:depth])} has no fields"
        if name not in fields:
            return f"there is no {where}; {meant(name, [each for each in fields if _is_told(fields[each])])}"
        fields = fields[name]
        if not _is_told(fields):
            return f"nothing is known of {where} here"
    return f"{'.'.join(path)} has fields, and no value" if isinstance(fields, Mapping) else ""


def _is_told(fields: Any) -> bool:
    return any(map(_is_told, fields.values())) if isinstance(fields, Mapping) else bool(fields)


def agent_attributes(inventory: Inventory) -> dict[str, Any]:
    """The attributes as JSON has them; empty values are left out."""
    model = {"processors": [{"id": 0, "model": inventory.processor}]} if inventory.processor else {}
    return {
        "cpu": {"totalThreads": inventory.processors, **model},
        "memory": _told({"total": size(inventory.memory)}),
        "blockDevices": [_disk(each) for each in inventory.disks],
        "networkInterfaces": [
            _told({"name": each.name, "mac": each.mac, "speed": f"{each.speed}Mb/s" if each.speed else ""})
            for each in inventory.cards
        ],
        "pciDevices": [_device(each) for each in inventory.devices],
        "bios": _told({"version": inventory.firmware_version}),
        "product": _told(
            {"name": inventory.product, "vendor": inventory.manufacturer, "serialNumber": inventory.serial}
        ),
    }


def size(octets: int) -> str:
    """Bytes as the agent writes them, rounded up to the largest unit that is not larger: `239GB` of 1024 times."""
    if octets <= 0:
        return ""
    power = min((octets.bit_length() - 1) // 10, len(_UNITS) - 1)
    return f"{-(-octets // 1024**power)}{_UNITS[power]}"


def _disk(disk: Disk) -> Mapping[str, str]:
    name = disk.device.removeprefix("/dev/")
    controller = next((kind for begin, kind in _CONTROLLERS.items() if name.startswith(begin)), "")
    return _told(
        {
            "name": name,
            "controllerType": controller,
            "driveType": "HDD" if disk.rotational else "SSD",
            "size": size(disk.size),
            "model": disk.model,
            "serialNumber": disk.serial,
        }
    )


def _device(device: Device) -> Mapping[str, str]:
    return _told({"class": _CLASSES.get(device.kind, ""), "driver": device.driver})


def _told(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
