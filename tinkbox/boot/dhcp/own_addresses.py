"""Whether another host has our own address: asked by ARP, as RFC 5227 §2.1.1 has it, and also long after the start."""

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Final

from tinkbox.boot.dhcp.address_probe import Prober
from tinkbox.boot.dhcp.other_appliances import own_macs
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import TakenAddress

_TWICE: Final = 2  # an answer that comes once may be a packet that anybody sent, in the name of whom he likes
_MOST: Final = 4  # questions, each of which may have an answer of another MAC


async def taken_addresses(prober: Prober, ours: Mapping[str, IPv4Address]) -> tuple[TakenAddress, ...]:
    """Who else answers for our addresses, which are those of interfaces; nothing is asked where that is down or gone.

    Each who does, the newest last: whoever answers twice in turn has it, whatever MAC he has the second time.
    """
    found: list[TakenAddress] = []
    for interface, address in ours.items():
        answered = [] if address.is_loopback else await _answered(prober, address, interface)
        if len(answered) >= _TWICE:
            newest_last = [*dict.fromkeys(reversed(answered))][::-1]
            found += [TakenAddress(interface=interface, address=address, mac=each) for each in newest_last]
    return tuple(found)


async def _answered(prober: Prober, address: IPv4Address, interface: str) -> list[MacAddress]:
    """What other hosts answered, question by question, until one is not answered."""
    answers: list[MacAddress] = []
    while len(answers) < _MOST:
        mac = await prober.holder(address, interface)
        # A host with two interfaces on one network answers on each for the addresses of both.
        if mac is None or mac in own_macs():
            break
        answers.append(mac)
    return answers
