"""Network-config, version 2 (netplan's form without the key `network` around it), from a machine's interfaces.

Each card is found by its MAC and keeps the name that its system gives it.  It is renamed where the document has a name for
it, and where a VLAN or a bond lies on top of it, which has the same MAC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address
from typing import Any, Final

from tinkbox.model.documents.machine_views import object_view
from tinkbox.model.hardware import Hardware, Interface, primary

_MODES: Final = {
    1: "active-backup",
    2: "balance-xor",
    3: "broadcast",
    4: "802.3ad",
    5: "balance-tlb",
    6: "balance-alb",
}
BOND: Final = "bond0"
MONITORED_EVERY_MS: Final = 100
# Of Linux: IFNAMSIZ is 16, with the zero at its end.
_LONGEST: Final = 15


@dataclass(frozen=True, slots=True)
class Bond:
    """All cards of a machine as one: `mode` is Linux's name for it, and it has the address of `addressed`."""

    mode: str
    addressed: Interface

    @property
    def is_negotiated(self) -> bool:
        """Whether the switch takes part (LACP)."""
        return self.mode == "802.3ad"


def bond(hardware: Hardware, bonding_mode: int) -> Bond | None:
    """The bond of a machine, if it has one: with a mode of bonding and two cards at least."""
    if bonding_mode not in _MODES or len(hardware.interfaces) < 2:
        return None
    addressed = next((each for each in hardware.interfaces if each.address or each.address6), hardware.interfaces[0])
    return Bond(_MODES[bonding_mode], addressed)


def network_config(hardware: Hardware, bonding_mode: int = 0) -> dict[str, Any]:
    """What the interfaces of a machine are to be."""
    wanted = _wanted(hardware)
    names = _names(wanted)
    found: dict[str, Any] = {"version": 2, "ethernets": {}}
    bonded = bond(hardware, bonding_mode)
    for interface, name, own in zip(hardware.interfaces, names, wanted, strict=True):
        card: dict[str, Any] = {"match": {"macaddress": str(interface.mac)}}
        if bonded or own or interface.vlan_id is not None:
            card["set-name"] = name
        found["ethernets"][name] = card
    if not bonded:
        for interface, (name, card) in zip(hardware.interfaces, found["ethernets"].items(), strict=True):
            _place(found, card, name, interface, needed=interface is primary(hardware))
    else:
        link = {"interfaces": names, "macaddress": str(bonded.addressed.mac), "parameters": _parameters(bonded)}
        found["bonds"] = {BOND: link}
        _place(found, link, BOND, bonded.addressed, needed=True)
    return found


def _place(found: dict[str, Any], link: dict[str, Any], name: str, interface: Interface, *, needed: bool) -> None:
    """Where the address goes: on the link, or on its VLAN.  The system waits for what is needed alone: a card may have no cable."""
    waits = {} if needed else {"optional": True}
    if interface.vlan_id is None:
        link |= {**_addressing(interface), **waits}
        return
    link |= {"dhcp4": False, "optional": True}
    vlan = {"id": interface.vlan_id, "link": name, **_addressing(interface), **waits}
    vlans = found.setdefault("vlans", {})
    taken, own = [*found["ethernets"], *vlans], f"{name[: _LONGEST - 5]}.{interface.vlan_id}"
    vlans[own if own not in taken else _free(taken, "vlan", f".{interface.vlan_id}")] = vlan


def _addressing(interface: Interface) -> dict[str, Any]:
    told: dict[str, Any] = {"dhcp4": True}
    addresses, routes, servers = [], [], list(interface.name_servers)
    if interface.address is not None and interface.netmask is not None:
        length = IPv4Network(f"{interface.address}/{interface.netmask}", strict=False).prefixlen
        told["dhcp4"] = False
        addresses.append(f"{interface.address}/{length}")
        routes += [{"to": str(each.network), "via": str(each.router)} for each in interface.routes]
        # Classless routes stand in the place of the gateway (RFC 3442), unless none of them is the default.
        if interface.gateway is not None and not any(each.network.prefixlen == 0 for each in interface.routes):
            routes.insert(0, {"to": "0.0.0.0/0", "via": str(interface.gateway)})
    else:
        servers = [each for each in servers if isinstance(each, IPv6Address)]  # those that DHCP cannot tell
    if interface.address6 is not None:
        addresses.append(str(interface.address6))
        if interface.gateway6 is not None:
            routes.append({"to": "::/0", "via": str(interface.gateway6)})
    told |= {name: values for name, values in (("addresses", addresses), ("routes", routes)) if values}
    names = {
        "addresses": [str(each) for each in servers],
        "search": [interface.domain_name] if interface.domain_name and not told["dhcp4"] else [],
    }
    if any(names.values()):
        told["nameservers"] = {name: values for name, values in names.items() if values}
    return told


def _parameters(bonded: Bond) -> Mapping[str, Any]:
    parameters: dict[str, Any] = {"mode": bonded.mode, "mii-monitor-interval": MONITORED_EVERY_MS}
    if bonded.is_negotiated:
        parameters |= {"lacp-rate": "fast", "transmit-hash-policy": "layer3+4"}
    return parameters


def _wanted(hardware: Hardware) -> Sequence[str]:
    """The document's `iface_name` of each card, empty where it has none that can be taken; never the same twice."""
    spec = object_view(hardware.document).get("spec")
    listed = spec.get("interfaces") if isinstance(spec, Mapping) else None
    wanted: list[str] = []
    for interface in hardware.interfaces:
        entry = listed[interface.place] if isinstance(listed, Sequence) and interface.place < len(listed) else None
        dhcp = entry.get("dhcp") if isinstance(entry, Mapping) else None
        name = dhcp.get("iface_name") if isinstance(dhcp, Mapping) else None
        usable = isinstance(name, str) and _is_name(name) and name not in (*wanted, BOND)
        wanted.append(name if usable and isinstance(name, str) else "")
    return wanted


def _names(wanted: Sequence[str]) -> Sequence[str]:
    """What the cards are called here: as they are wanted, else eth0 and so on."""
    names: list[str] = []
    for each in wanted:
        names.append(each or _free([*names, *wanted]))
    return names


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and text.isascii() and all(each.isalnum() or each in "-_." for each in text)


def _free(taken: Sequence[str], before: str = "eth", after: str = "") -> str:
    return next(name for index in range(len(taken) + 1) if (name := f"{before}{index}{after}") not in taken)
