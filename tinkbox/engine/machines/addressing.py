"""Who gives machines their addresses, on which networks, and what is told of a document whose addresses cannot work.  Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.errors import Problem
from tinkbox.model.hardware import Hardware, Interface
from tinkbox.model.leases import Lease, Subnet

# In other modes machines have an address without one of ours.
RESERVING: Final = "reservation"
# In these another server gives machines their addresses.
OTHERS_ADDRESSES: Final = frozenset({"proxy", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressing:
    """Who gives machines their addresses, the setting `dhcp.mode`, on which networks, and which are the appliance's `own`.

    `held` are all addresses of the appliance's host as of now, `cards` the MACs of its provisioning interfaces, each with its interface.
    """

    mode: str
    subnets: Sequence[Subnet]
    own: Collection[IPv4Address]
    held: Callable[[], Collection[IPv4Address]] = frozenset
    cards: Callable[[], Mapping[str, str]] = dict

    def is_ours(self, address: IPv4Address) -> bool:
        """Whether the appliance's host itself has an address."""
        return address in self.own or address in self.held()

    def subnet_of(self, address: IPv4Address) -> Subnet | None:
        """The network that is served here and has an address; None: none has."""
        return next((each for each in self.subnets if address in each.network), None)


def notes_on(
    hardware: Hardware, addressing: Addressing, lease_at: Callable[[IPv4Address], Lease | None] = lambda _: None
) -> Iterator[Problem]:
    """Which addresses of a machine's document cannot work here; `lease_at` tells to which machine a pool lends an address now."""
    holder = "spec" if hardware.document.get("kind") == "Hardware" else "network"
    cards = addressing.cards()
    for interface in hardware.interfaces:
        if own := cards.get(interface.mac, ""):
            text = f"{interface.mac} is the MAC of the appliance's own interface {own}: no machine can have it there"
            yield Problem(key=f"{holder}.interfaces[{interface.place}].dhcp.mac", text=text)
    if addressing.mode in OTHERS_ADDRESSES or not addressing.subnets:
        return
    answered = [each for each in hardware.interfaces if each.dhcp]
    for interface in answered:
        key = f"{holder}.interfaces[{interface.place}].dhcp.ip"
        for name, text in _of_interface(interface, addressing):
            yield Problem(key=f"{key}.{name}", text=text)
        lease = lease_at(interface.address) if interface.address is not None else None
        if lease is not None and hardware.interface(lease.mac) is None:
            yield Problem(key=f"{key}.address", text=_lent(lease))
    if answered and addressing.mode == RESERVING and not any(each.address for each in answered):
        text = "no IPv4 address is reserved for the machine, and dhcp.mode is reservation: DHCP does not answer it"
        yield Problem(key=f"{holder}.interfaces", text=text)


def _of_interface(interface: Interface, addressing: Addressing) -> Iterator[tuple[str, str]]:
    """(key below `ip`, what is odd)."""
    address = interface.address
    if address is None:
        return
    subnet = addressing.subnet_of(address)
    own = subnet.network if subnet else None
    if subnet is None:
        served = ", ".join(_shown(each) for each in addressing.subnets)
        without = "" if interface.netmask else "; it has no netmask either, so it is not given out"
        yield "address", f"{address} is in none of the networks that are served here: {served}{without}"
    elif interface.netmask is None:
        yield "netmask", f"{address} has no netmask: that of {subnet.network} is given out with it"
    if interface.netmask is not None:
        own = IPv4Network(f"{address}/{interface.netmask}", strict=False)
    if addressing.is_ours(address):
        yield "address", _taken_by_us(address, addressing)
    if own is None:
        return
    if subnet is not None and subnet.interface and (left_out := _appliance_outside(interface, own, subnet, addressing)):
        yield "netmask", left_out
    elif subnet is not None and subnet.interface and own != subnet.network and own.supernet_of(subnet.network):
        told = f"the network that is served here is {subnet.network}, whose netmask is {subnet.network.netmask}"
        yield (
            "netmask",
            f"with the netmask {interface.netmask} the machine looks for all of {own} on its own link: {told}",
        )
    if own.num_addresses > 2 and address in (own.network_address, own.broadcast_address):
        yield "address", f"{address} is an end of the network {own}, which no host can have"
    if interface.gateway == address:
        yield "gateway", f"{address} is the machine's own address: give the router's"
    elif interface.gateway is not None and interface.gateway not in own:
        yield "gateway", f"{interface.gateway} is not on the network {own} of {address}, so the machine cannot reach it"


def _taken_by_us(address: IPv4Address, addressing: Addressing) -> str:
    if address in addressing.own:
        return f"{address} is the appliance's own address, so it is not given out"
    return f"the appliance's host itself has {address}: what it sends to the machine, it gets itself"


def _lent(lease: Lease) -> str:
    return (
        f"{lease.address} is lent to {lease.mac} until {lease.until:%Y-%m-%d %H:%M} UTC: the machine gets it when that lease is over, "
        "or choose another address"
    )


def _appliance_outside(interface: Interface, own: IPv4Network, subnet: Subnet, addressing: Addressing) -> str:
    """That a machine takes the appliance for a host of another network, to which it knows no way; empty: it does not."""
    here = [each for each in addressing.own if each in subnet.network]
    routed = interface.gateway is not None and interface.gateway in own
    if not here or routed or any(each in own for each in here):
        return ""
    return (
        f"the appliance {min(here)} is not within {own}: with the netmask {interface.netmask} the machine cannot reach it. "
        f"The network that is served here is {subnet.network}, whose netmask is {subnet.network.netmask}"
    )


def _shown(subnet: Subnet) -> str:
    return f"{subnet.network} ({subnet.interface})" if subnet.interface else f"{subnet.network} (by a relay)"
