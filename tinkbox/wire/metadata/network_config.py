"""Network-config, version 2 (netplan's form without the key `network` around it), from a machine's interfaces.

Each card is found by its MAC and named, because what lies on top of it, a VLAN or a bond, has the same MAC.
"""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any, Final

from tinkbox.model.hardware import Hardware, Interface
from tinkbox.model.machine_views import object_view

_MODES: Final = {
    1: "active-backup",
    2: "balance-xor",
    3: "broadcast",
    4: "802.3ad",
    5: "balance-tlb",
    6: "balance-alb",
}
_BOND: Final = "bond0"
# Of Linux: IFNAMSIZ is 16, with the zero at its end.
_LONGEST: Final = 15


def network_config(hardware: Hardware, bonding_mode: int = 0) -> dict[str, Any]:
    """What the interfaces of a machine are to be; with a mode of bonding and two of them at least they are one bond."""
    names = _names(hardware)
    found: dict[str, Any] = {"version": 2, "ethernets": {}}
    bonded = bonding_mode in _MODES and len(hardware.interfaces) > 1
    for interface, name in zip(hardware.interfaces, names, strict=True):
        card: dict[str, Any] = {"match": {"macaddress": str(interface.mac)}, "set-name": name}
        found["ethernets"][name] = card
        if not bonded:
            _place(found, card, name, interface, first=name == names[0])
    if bonded:
        addressed = next((each for each in hardware.interfaces if each.address), hardware.interfaces[0])
        bond: dict[str, Any] = {
            "interfaces": names,
            "macaddress": str(addressed.mac),
            "parameters": _parameters(bonding_mode),
        }
        found["bonds"] = {_BOND: bond}
        _place(found, bond, _BOND, addressed, first=True)
    return found


def _place(found: dict[str, Any], link: dict[str, Any], name: str, interface: Interface, *, first: bool) -> None:
    """Where the address goes: on the link, or on its VLAN."""
    if interface.vlan_id is None:
        link |= _addressing(interface, first=first)
        return
    link |= {"dhcp4": False, "optional": True}
    vlan = {"id": interface.vlan_id, "link": name, **_addressing(interface, first=first)}
    found.setdefault("vlans", {})[f"{name[: _LONGEST - 5]}.{interface.vlan_id}"] = vlan


def _addressing(interface: Interface, *, first: bool) -> dict[str, Any]:
    if interface.address is None or interface.netmask is None:
        # The system does not wait for a card that perhaps has no cable.
        return {"dhcp4": True, **({} if first else {"optional": True})}
    length = IPv4Network(f"{interface.address}/{interface.netmask}", strict=False).prefixlen
    told: dict[str, Any] = {"dhcp4": False, "addresses": [f"{interface.address}/{length}"]}
    routes = [{"to": str(each.network), "via": str(each.router)} for each in interface.routes]
    # Classless routes stand in the place of the gateway (RFC 3442), unless none of them is the default.
    if interface.gateway is not None and not any(each.network.prefixlen == 0 for each in interface.routes):
        routes.insert(0, {"to": "0.0.0.0/0", "via": str(interface.gateway)})
    if routes:
        told["routes"] = routes
    names = {
        "addresses": [str(each) for each in interface.name_servers],
        "search": [interface.domain_name] if interface.domain_name else [],
    }
    if any(names.values()):
        told["nameservers"] = {name: values for name, values in names.items() if values}
    return told


def _parameters(mode: int) -> Mapping[str, Any]:
    parameters: dict[str, Any] = {"mode": _MODES[mode], "mii-monitor-interval": 100}
    if mode == 4:
        parameters |= {"lacp-rate": "fast", "transmit-hash-policy": "layer3+4"}
    return parameters


def _names(hardware: Hardware) -> Sequence[str]:
    """The names of the cards: the document's `iface_name`, else eth0 and so on; never the same twice."""
    spec = object_view(hardware.document).get("spec")
    listed = spec.get("interfaces") if isinstance(spec, Mapping) else None
    names: list[str] = []
    for index, _ in enumerate(hardware.interfaces):
        entry = listed[index] if isinstance(listed, Sequence) and index < len(listed) else None
        dhcp = entry.get("dhcp") if isinstance(entry, Mapping) else None
        wanted = dhcp.get("iface_name") if isinstance(dhcp, Mapping) else None
        usable = isinstance(wanted, str) and _is_name(wanted) and wanted not in (*names, _BOND)
        names.append(wanted if usable and isinstance(wanted, str) else _free(names))
    return names


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and text.isascii() and all(each.isalnum() or each in "-_." for each in text)


def _free(taken: Sequence[str]) -> str:
    return next(name for index in range(len(taken) + 1) if (name := f"eth{index}") not in taken)
