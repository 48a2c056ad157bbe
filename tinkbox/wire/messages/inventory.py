"""What a machine says that it is made of, as JSON: hostile text, so everything is bounded, typed and stripped.

POST /worker/inventory    Told -> {}, with a machine's credential or one for discovery
GET  /worker/acceptance   Accepted, or 204 while nobody has accepted it (long poll)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tinkbox.model.command_lines import not_ours
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Card, Device, Disk, Inventory
from tinkbox.model.text import condensed
from tinkbox.wire.messages.json_fields import fields_of, flag, number, read_object, text, write

MAX_INVENTORY = 256 * 1024  # bytes of the message
MAX_TEXT = 128
MAX_DISKS = 256
MAX_CARDS = 64
MAX_DEVICES = 128
MAX_MISSING = 32
_LARGEST = 2**63 - 1
_PLACE = re.compile(r"[A-Za-z0-9_.:+-]{1,64}")
_ID = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")
_KIND = re.compile(r"network|storage")
_DRIVER = re.compile(r"[A-Za-z0-9_.+ -]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A machine tells what it is; `boot_id` is the kernel's, new whenever it has booted."""

    boot_id: str
    inventory: Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The machine is hardware now: `worker` is its id, and its worker goes on with the session that it has."""

    worker: str


def encode_message(message: Told | Accepted) -> str:
    """Either message, as one line of JSON; `devices` are absent when there are none, as before there were any."""
    if isinstance(message, Told) and not message.inventory.devices:
        shown = {name: value for name, value in fields_of(message.inventory).items() if name != "devices"}
        return write({"boot_id": message.boot_id, "inventory": shown})
    return write(message)


def decode_told(content: str | bytes) -> Told:
    """Raises Invalid when it is no inventory; text that is too long is cut, what cannot be shown is left out."""
    entry = read_object(content, "inventory")
    return Told(boot_id=_stripped(entry, "boot_id"), inventory=inventory_from_document(entry.get("inventory")))


def decode_accepted(content: str | bytes) -> Accepted:
    """Raises Invalid when it is no acceptance."""
    entry = read_object(content, "acceptance")
    return Accepted(worker=text(entry, "worker"))


def inventory_from_document(entry: Any) -> Inventory:
    """The inverse of `dataclasses.asdict`; raises as `decode_told`."""
    entry = _object(entry)
    cards = (_card(each) for each in _listed(entry, "cards", MAX_CARDS))
    devices = (_device(each) for each in _listed(entry, "devices", MAX_DEVICES))
    return Inventory(
        architecture=_stripped(entry, "architecture"),
        processor=_stripped(entry, "processor"),
        processors=_amount(entry, "processors"),
        memory=_amount(entry, "memory"),
        firmware=_stripped(entry, "firmware"),
        secure_boot=flag(entry, "secure_boot"),
        firmware_version=_stripped(entry, "firmware_version"),
        manufacturer=_stripped(entry, "manufacturer"),
        product=_stripped(entry, "product"),
        serial=_stripped(entry, "serial"),
        uuid=_stripped(entry, "uuid"),
        bmc=_stripped(entry, "bmc"),
        disks=tuple(_disk(each) for each in _listed(entry, "disks", MAX_DISKS)),
        cards=tuple(each for each in cards if each is not None),
        devices=tuple(each for each in devices if each is not None),
    )


def _disk(entry: Mapping[str, Any]) -> Disk:
    return Disk(
        device=_stripped(entry, "device"),
        size=_amount(entry, "size"),
        serial=_stripped(entry, "serial"),
        model=_stripped(entry, "model"),
        rotational=flag(entry, "rotational"),
    )


def _card(entry: Mapping[str, Any]) -> Card | None:
    """None for one without a MAC: there is nothing to know it by."""
    try:
        mac = MacAddress(_stripped(entry, "mac"))
    except Invalid:
        return None
    return Card(
        name=_stripped(entry, "name"),
        mac=mac,
        link=flag(entry, "link"),
        speed=_amount(entry, "speed"),
        driver=_stripped(entry, "driver"),
    )


def _device(entry: Mapping[str, Any]) -> Device | None:
    """None for one without a place.  What is no word of the kernel's is left out, so that it needs no quotes."""
    if not (place := _matching(entry, "place", _PLACE)):
        return None
    missing = entry.get("missing") or []
    if not isinstance(missing, list | tuple):
        raise Invalid("inventory: missing is a list")
    return Device(
        place=place,
        id=_matching(entry, "id", _ID),
        kind=_matching(entry, "kind", _KIND),
        driver=_matching(entry, "driver", _DRIVER),
        module=_matching(entry, "module", _DRIVER),
        asks_firmware=flag(entry, "asks_firmware"),
        missing=tuple(_stripped({"missing": each}, "missing") for each in missing[:MAX_MISSING]),
    )


def _object(entry: Any) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise Invalid("inventory: expected an object")
    return entry


def _listed(entry: Mapping[str, Any], name: str, limit: int) -> list[Mapping[str, Any]]:
    values = entry.get(name) or []
    if not isinstance(values, list | tuple):
        raise Invalid(f"inventory: {name} is a list")
    return [_object(each) for each in values[:limit]]


def _matching(entry: Mapping[str, Any], name: str, pattern: re.Pattern[str]) -> str:
    value = text(entry, name, "")
    return value if pattern.fullmatch(value) else ""


def _stripped(entry: Mapping[str, Any], name: str) -> str:
    return not_ours(condensed(text(entry, name, ""), 4 * MAX_TEXT)[:MAX_TEXT])


def _amount(entry: Mapping[str, Any], name: str) -> int:
    amount = number(entry, name, 0)
    if not 0 <= amount <= _LARGEST:
        raise Invalid(f"inventory: {name} is no amount")
    return amount
