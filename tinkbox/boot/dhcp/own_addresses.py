"""Whether another host has our own address: asked by ARP, as RFC 5227 §2.1.1 has it, and also long after the start."""

from collections.abc import Mapping
from ipaddress import IPv4Address

from tinkbox.boot.dhcp.address_probe import Prober
from tinkbox.boot.dhcp.other_appliances import own_macs
from tinkbox.model.host_vitals import TakenAddress


async def taken_addresses(prober: Prober, ours: Mapping[str, IPv4Address]) -> tuple[TakenAddress, ...]:
    """Who else answers for our addresses, which are those of interfaces; nothing is asked where that is down or gone."""
    found: list[TakenAddress] = []
    for interface, address in ours.items():
        mac = None if address.is_loopback else await prober.holder(address, interface)
        # A host with two interfaces on one network answers on each for the addresses of both.
        if mac is not None and mac not in own_macs():
            found.append(TakenAddress(interface=interface, address=address, mac=mac))
    return tuple(found)
