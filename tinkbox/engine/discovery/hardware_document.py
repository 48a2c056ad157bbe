"""The hardware document of a machine that nobody knew, out of what it told.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from tinkbox.model.discovery import Stranger, host_name
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware, hardware_from_document
from tinkbox.model.inventory import Inventory
from tinkbox.model.kubernetes import GROUP, VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The address that an accepted machine is to have; a missing gateway is told to nobody."""

    address: IPv4Interface
    gateway: IPv4Address | None = None


def hardware_of(
    stranger: Stranger, inventory: Inventory, name: str = "", reservation: Reservation | None = None
) -> Hardware:
    """A machine with all its network cards, the one that it booted with first; all of them may netboot.

    Without a `name` it is called after its MAC.  Raises Invalid for a name that no host can have.
    """
    if name and host_name(name) != name:
        raise Invalid(f"a name is small letters, digits and dashes, at most 63, not {name[:80]!r}")
    name = name or "machine-" + stranger.mac.replace(":", "-")
    names = {each.mac: each.name for each in inventory.cards}
    macs = dict.fromkeys([str(stranger.mac), *(each.mac for each in inventory.cards)])
    interfaces = [_interface(mac, names.get(mac, ""), inventory) for mac in macs]
    interfaces[0]["dhcp"] |= {"hostname": name, **_address(reservation)}
    return hardware_from_document(
        {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "Hardware",
            "metadata": {"name": name},
            "spec": {
                "disks": [{"device": each.device} for each in inventory.disks],
                "interfaces": interfaces,
                "metadata": {"manufacturer": {"slug": inventory.manufacturer}, "instance": {"hostname": name}},
            },
        }
    )


def reservation(address: str, gateway: str, networks: Sequence[IPv4Network]) -> Reservation:
    """From an operator's words; without a prefix the network's on which the address is.  Raises Invalid."""
    try:
        told = IPv4Interface(address)
        router = IPv4Address(gateway) if gateway else None
    except ValueError as error:
        raise Invalid(f"invalid ip: {error}") from None
    if "/" not in address:
        network = next((each for each in networks if told.ip in each), None)
        if network is None:
            raise Invalid(f"no network known here has {address}: give its prefix too, such as {address}/24")
        told = IPv4Interface((told.ip, network.prefixlen))
    return Reservation(address=told, gateway=router)


def _interface(mac: str, name: str, inventory: Inventory) -> dict[str, Any]:
    return {
        "dhcp": {"mac": mac, "iface_name": name, "arch": inventory.architecture, "uefi": inventory.firmware == "uefi"},
        "netboot": {"allowPXE": True},
    }


def _address(reservation: Reservation | None) -> Mapping[str, Any]:
    if reservation is None:
        return {}
    ip = {"address": str(reservation.address.ip), "netmask": str(reservation.address.netmask)}
    return {"ip": ip | ({"gateway": str(reservation.gateway)} if reservation.gateway else {})}
