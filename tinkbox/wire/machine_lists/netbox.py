"""NetBox: what it exports as CSV of its devices and of their interfaces, which belong together.

MACs are with the interfaces (Devices, Interfaces, Export): `Device`, `Name`, `Primary MAC` (`MAC Address` before NetBox 4.2)
or `MAC Addresses`, `IP Addresses`, `Type`, `Enabled`, `Management Only`.  Virtual ones, bridges, LAGs and those for management
only are left out, and so are their addresses.  The interface with the device's primary address is the one that it boots with,
else the first that has an IPv4 address, else the first.
Of a device (Devices, Export) come `Name`, `IPv4 Address` or `IP Address`, `Description` (a note), and as labels `Site`,
`Location`, `Rack`, `Role`, `Platform`, `Tenant`, `Status` and each of `Tags`.  The interfaces alone are enough; with a file
of devices, only those of it are taken, without those whose status says that they are out of service.  Interfaces name their
device and not its site: devices of one name cannot be told from each other, and are wrong.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tinkbox.model.text import counted
from tinkbox.wire.machine_lists.csv_lists import rows
from tinkbox.wire.machine_lists.listing import Gathered, own_name, own_note, shown, some

_MACS: Final = ("primary mac", "primary mac address", "mac address", "mac addresses")
_FOR_MANAGEMENT: Final = ("management only", "mgmt only")
_ADDRESSES: Final = ("ipv4 address", "ip address")
_LABELS: Final = ("site", "location", "rack", "role", "platform", "tenant", "status")
_OF_DEVICES: Final = frozenset({"site", "role", "manufacturer", "device role", "rack"})
_NO_CARDS: Final = ("virtual", "bridge", "link aggregation", "lag")
_OUT_OF_SERVICE: Final = ("decommissioning", "failed", "inventory", "offline")
_YES: Final = ("true", "yes", "1", "✔")
Cells = Mapping[str, str]


@dataclass(slots=True)
class Tables:
    """The rows of the files, by the device that they are of; each with the gathering of its file and its line."""

    devices: dict[str, list[tuple[Gathered, int, Cells]]] = field(default_factory=dict)
    interfaces: dict[str, list[tuple[Gathered, int, Cells]]] = field(default_factory=dict)


def is_interfaces(header: Sequence[str]) -> bool:
    names = _names(header)
    return "device" in names and any(each in names for each in _MACS)


def is_devices(header: Sequence[str]) -> bool:
    names = _names(header)
    return "name" in names and "device" not in names and "mac" not in names and len(_OF_DEVICES & set(names)) >= 2


def take(text: str, gathered: Gathered, tables: Tables) -> None:
    """Take in the rows of one file, whichever of the two it is."""
    found = rows(text, gathered)
    _, header = next(found, (0, ()))
    names = _names(header)
    of_interfaces = is_interfaces(header)
    for line, row in found:
        cells = dict(zip(names, (each.strip() for each in row), strict=False))
        name = cells.get("device" if of_interfaces else "name", "")
        if of_interfaces:
            tables.interfaces.setdefault(name, []).append((gathered, line, cells))
        elif name:
            tables.devices.setdefault(name, []).append((gathered, line, cells))
        else:
            gathered.leave_out("a device without a name", line)


def gather(tables: Tables) -> None:
    """Put the rows together, each machine into the gathering of the file that has its cards."""
    unknown = [each for each in tables.interfaces if tables.devices and each not in tables.devices]
    if unknown:
        tables.interfaces[unknown[0]][0][0].leave_out(
            f"the interfaces of {counted(len(unknown), 'device')} that the file of devices does not have: "
            f"{some(list(map(shown, unknown)))}"
        )
    taken = {each for each in tables.interfaces if each not in unknown}
    for device, rows_of in tables.devices.items():
        gathered, line, cells = rows_of[0]
        if len(rows_of) > 1:
            taken.discard(device)
            for holder, place, told in rows_of:
                site = f" of site {shown(told['site'])}" if told.get("site") else ""
                holder.wrong(
                    f"{counted(len(rows_of), 'device')} are called {shown(device)}, this one{site}: which interfaces are whose "
                    "is not in the file; export one site at a time, or rename them",
                    place,
                )
        elif cells.get("status", "").lower() in _OUT_OF_SERVICE:
            taken.discard(device)
            gathered.leave_out(
                f"{shown(device)} has the status {shown(cells['status'])}: it is out of service; one that is registered here "
                f"stays in service until `tinkbox hardware retire {own_name(device) or 'NAME'}`",
                line,
            )
        elif device not in tables.interfaces:
            gathered.leave_out(
                f"{shown(device)} has no interface here: export Devices, Interfaces as CSV and name both files", line
            )
    for device, interfaces in tables.interfaces.items():
        if device not in taken:
            continue
        cards = [each for each in interfaces if _is_card(each[2])]
        gathered, line, _ = cards[0] if cards else interfaces[0]
        if not cards:
            gathered.leave_out(f"{shown(device)} has no interface with a MAC that could boot", line)
            continue
        of_device, _, told = tables.devices.get(device, [(gathered, line, {})])[0]
        primary = next((told[each] for each in _ADDRESSES if _is_v4(told.get(each, ""))), "")
        kept_apart = {each for _, _, cells in interfaces if not _is_card(cells) for each in _addresses(cells)}
        if primary in kept_apart:
            gathered.change(
                f"the address {primary} of {shown(device)} is of an interface that is left out: it is imported without it",
                line,
            )
            primary = ""
        holding = [each for each in cards if primary and primary in _addresses(each[2])]
        addressed = [each for each in cards if any(map(_is_v4, _addresses(each[2])))]
        first = [*holding, *addressed, *cards][0]
        addresses = [each for each in _addresses(first[2]) if _is_v4(each)]
        others = [each for each in cards if each is not first]
        first[0].add(
            macs=[mac for _, _, cells in (first, *others) for mac in _macs(cells)],
            foreign=device,
            address=primary or (addresses[0] if addresses else ""),
            labels=of_device.labels({each: _value(told, each) for each in _LABELS}, _parts(told.get("tags", ""))),
            notes=own_note(told.get("description", "")),
            line=first[1],
        )


def _names(header: Sequence[str]) -> list[str]:
    """The headings of its tables, or the names of its fields, such as `mac_address`."""
    return [each.strip().lower().replace("_", " ") for each in header]


def _value(told: Cells, name: str) -> str:
    return told.get(name, "").lower() if name == "status" else told.get(name, "")


def _is_card(cells: Cells) -> bool:
    kind = cells.get("type", "").lower()
    for_management = any(cells.get(each, "").lower() in _YES for each in _FOR_MANAGEMENT)
    return any(_macs(cells)) and not kind.startswith(_NO_CARDS) and not for_management


def _macs(cells: Cells) -> list[str]:
    """The primary one, else the first of them."""
    return next(([_parts(cells[each])[0]] for each in _MACS if _parts(cells.get(each, ""))), [])


def _addresses(cells: Cells) -> list[str]:
    return _parts(cells.get("ip addresses", ""))


def _is_v4(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9.]+(?:/\d+)?", text))


def _parts(text: str) -> list[str]:
    return [each for each in re.split(r"[,;\s]+", text) if each]
