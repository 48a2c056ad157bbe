"""The hardware document of a machine: out of what it told when nobody knew it, or out of a person's words.  Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any, Final

from tinkbox.model.discovery import Stranger, host_name
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.documents.kubernetes import GROUP, VERSION
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware, MacAddress, check_card
from tinkbox.model.inventory import Inventory
from tinkbox.model.labels import NO_LABELS, Labels
from tinkbox.model.text import spelled

_NO_HOSTS: Final[Mapping[IPv4Network, str]] = {
    IPv4Network("0.0.0.0/8"): "an address of 0.0.0.0/8",
    IPv4Network("169.254.0.0/16"): "a link-local address",
    IPv4Network("224.0.0.0/4"): "a multicast address",
    IPv4Network("240.0.0.0/4"): "a reserved address",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The address that a machine is to have, and what it is told with it; a missing gateway is told to nobody."""

    address: IPv4Interface
    gateway: IPv4Address | None = None
    name_servers: tuple[IPv4Address, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A machine in a person's words: the MACs of its cards, the one that it boots with first, and who may log in."""

    macs: tuple[MacAddress, ...]
    name: str = ""
    ssh_keys: tuple[str, ...] = ()
    disks: tuple[str, ...] = ()
    labels: Labels = field(default_factory=dict)


def hardware_of(
    stranger: Stranger, inventory: Inventory, name: str = "", reservation: Reservation | None = None
) -> Hardware:
    """A machine with all its network cards, the one that it booted with first; all of them may netboot.

    Without a `name` it is called after its MAC.  Raises Invalid for a name that no host can have.
    """
    names = {each.mac: each.name for each in inventory.cards}
    macs = dict.fromkeys([str(stranger.mac), *(each.mac for each in inventory.cards)])
    told = {"arch": inventory.architecture, "uefi": inventory.firmware == "uefi"}
    interfaces = [{"mac": mac, "iface_name": names.get(mac, ""), **told} for mac in macs]
    instance = {"manufacturer": {"slug": inventory.manufacturer}}
    return _hardware(
        _named(name, stranger.mac), interfaces, reservation, [each.device for each in inventory.disks], instance
    )


def added_hardware(added: Added, reservation: Reservation | None) -> Hardware:
    """The machine that a person describes; raises Invalid as `hardware_of`, and for a MAC that no card can have."""
    interfaces = [{"mac": str(check_card(mac))} for mac in added.macs]
    return _hardware(
        _named(added.name, added.macs[0]), interfaces, reservation, added.disks, {}, added.ssh_keys, added.labels
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
    if told.network.prefixlen == 0:
        raise Invalid(f"a prefix of 0 is the whole internet: give that of the network, such as {told.ip}/24")
    for what, each in (("address", told.ip), ("gateway", router)):
        if each is not None and (kind := _kind_of_no_host(each)):
            raise Invalid(f"{each} is {kind}, which cannot be the {what} of a machine: choose another one")
    if router == told.ip:
        raise Invalid(f"the gateway {router} is the machine's own address: give the router's")
    return Reservation(address=told, gateway=router)


def _kind_of_no_host(address: IPv4Address) -> str:
    """Which addresses these are, empty: a host can have it (RFC 6890, RFC 5771)."""
    return next((kind for network, kind in _NO_HOSTS.items() if address in network), "")


def free_addresses(network: IPv4Network, taken: Collection[IPv4Address]) -> Iterator[IPv4Address]:
    """The addresses of a network that a host may have and that are not taken, the lowest first."""
    numbers = set(map(int, taken))
    first, last = int(network.network_address) + 1, int(network.broadcast_address) - 1
    return (IPv4Address(each) for each in range(first, last + 1) if each not in numbers)


def check_name(name: str) -> str:
    """The same name; raises Invalid for one that no host can have."""
    if host_name(name) != name:
        raise Invalid(f"a name is small letters, digits and dashes, at most 63, not {spelled(name)}")
    return name


def _named(name: str, mac: MacAddress) -> str:
    return check_name(name) or "machine-" + mac.replace(":", "-")


def _hardware(
    name: str,
    interfaces: Sequence[Mapping[str, Any]],
    reservation: Reservation | None,
    disks: Sequence[str],
    metadata: Mapping[str, Any],
    ssh_keys: Sequence[str] = (),
    labels: Labels = NO_LABELS,
) -> Hardware:
    """Every machine that is made here; the first interface has its name and its address."""
    first = {"hostname": name, **_address(reservation)}
    cards = [{**each, **(first if number == 0 else {})} for number, each in enumerate(interfaces)]
    keys = {"ssh_keys": list(ssh_keys)} if ssh_keys else {}
    return hardware_from_document(
        {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": "Hardware",
            "metadata": {"name": name, **({"labels": dict(labels)} if labels else {})},
            "spec": {
                "disks": [{"device": each} for each in disks],
                "interfaces": [{"dhcp": each, "netboot": {"allowPXE": True}} for each in cards],
                "metadata": {**metadata, "instance": {"hostname": name, **keys}},
            },
        }
    )


def _address(reservation: Reservation | None) -> Mapping[str, Any]:
    if reservation is None:
        return {}
    ip = {"address": str(reservation.address.ip), "netmask": str(reservation.address.netmask)}
    servers = {"name_servers": [str(each) for each in reservation.name_servers]} if reservation.name_servers else {}
    return {"ip": ip | ({"gateway": str(reservation.gateway)} if reservation.gateway else {}), **servers}
