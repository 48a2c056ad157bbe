"""What a machine is made of."""

from typing import Any

from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Card, Device, Disk, Inventory
from tinkbox.store.formats.json_text import read, write


def inventory_text(inventory: Inventory) -> str:
    """The column `content` of an inventory, and `inventory` of a stranger."""
    return write(
        {
            "architecture": inventory.architecture,
            "processor": inventory.processor,
            "processors": inventory.processors,
            "memory": inventory.memory,
            "firmware": inventory.firmware,
            "secure_boot": inventory.secure_boot,
            "firmware_version": inventory.firmware_version,
            "manufacturer": inventory.manufacturer,
            "product": inventory.product,
            "serial": inventory.serial,
            "uuid": inventory.uuid,
            "bmc": inventory.bmc,
            "disks": [
                {
                    "device": each.device,
                    "size": each.size,
                    "serial": each.serial,
                    "model": each.model,
                    "rotational": each.rotational,
                }
                for each in inventory.disks
            ],
            "cards": [
                {
                    "name": each.name,
                    "mac": each.mac,
                    "link": each.link,
                    "speed": each.speed,
                    "driver": each.driver,
                }
                for each in inventory.cards
            ],
            **_devices(inventory),
        },
        small=True,
    )


def _devices(inventory: Inventory) -> dict[str, Any]:
    """Absent when there are none, as in rows of before there were any."""
    devices = [
        {
            "place": each.place,
            "id": each.id,
            "kind": each.kind,
            "driver": each.driver,
            "module": each.module,
            "asks_firmware": each.asks_firmware,
            "missing": list(each.missing),
        }
        for each in inventory.devices
    ]
    return {"devices": devices} if devices else {}


def inventory_of(text: str) -> Inventory:
    """Reads `inventory_text`."""
    entry = read(text)
    return Inventory(
        architecture=entry["architecture"],
        processor=entry["processor"],
        processors=entry["processors"],
        memory=entry["memory"],
        firmware=entry["firmware"],
        secure_boot=entry["secure_boot"],
        firmware_version=entry["firmware_version"],
        manufacturer=entry["manufacturer"],
        product=entry["product"],
        serial=entry["serial"],
        uuid=entry["uuid"],
        bmc=entry["bmc"],
        disks=tuple(
            Disk(
                device=each["device"],
                size=each["size"],
                serial=each["serial"],
                model=each["model"],
                rotational=each["rotational"],
            )
            for each in entry["disks"]
        ),
        cards=tuple(
            Card(
                name=each["name"],
                mac=MacAddress(each["mac"]),
                link=each["link"],
                speed=each["speed"],
                driver=each["driver"],
            )
            for each in entry["cards"]
        ),
        devices=tuple(
            Device(
                place=each["place"],
                id=each["id"],
                kind=each["kind"],
                driver=each["driver"],
                module=each["module"],
                asks_firmware=each["asks_firmware"],
                missing=tuple(each["missing"]),
            )
            for each in entry.get("devices", ())
        ),
    )
