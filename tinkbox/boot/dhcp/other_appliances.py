"""Other appliances on our networks: each asks by DHCP who else answers, and its question says whose it is.

The mark is in the client's machine identifier (option 97), which firmware fills as it likes: other servers see a machine that
would boot.  A question is answered in kind, so that who asks learns of us at once; an answer is never answered.
"""

import fcntl
import os
import socket
import struct
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from typing import Final

from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import MOST_APPLIANCES, OtherAppliance
from tinkbox.wire.dhcp.packets import Op, Option, Packet

# As often as another one asks, and a minute.
_HEARD_FOR: Final = timedelta(minutes=6)
_MARK: Final = b"\0tinkbx"  # the type of the identifier, and six octets of sixteen
_SIOCGIFHWADDR: Final = 0x8927


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """An appliance by its own address and MAC."""

    mac: MacAddress
    address: IPv4Address

    @property
    def identifier(self) -> bytes:
        """What option 97 holds of its question."""
        return _MARK + self.mac.octets + self.address.packed


def asker_of(packet: Packet) -> Asker | None:
    """Which appliance asks, or answers in kind; None: it is a machine."""
    told = packet.options.get(Option.CLIENT_GUID, b"")
    if len(told) != len(_MARK) + 10 or not told.startswith(_MARK):
        return None
    told = told[len(_MARK) :]
    return Asker(mac=MacAddress.from_bytes(told[:6]), address=IPv4Address(told[6:]))


def answer_to(question: Packet, ours: Asker) -> Packet:
    """What tells another appliance of us.  It is a reply at the port of servers, where no other program takes one."""
    return Packet(op=Op.REPLY, xid=question.xid, mac=ours.mac, options={Option.CLIENT_GUID: ours.identifier})


class OtherAppliances:
    """Those that were heard lately; what comes from this host itself, by another of its interfaces, is none.

    Who came first keeps its place for as long as it is heard, for anybody can send marks with MACs and addresses that he invents:
    of those that come when MOST_APPLIANCES are heard on an interface, the newest is kept alone.
    """

    def __init__(self, clock: Callable[[], datetime], own: Callable[[], Collection[str]] | None = None) -> None:
        self._clock = clock
        self._own = own or own_macs
        self._heard: dict[str, dict[Asker, OtherAppliance]] = {}

    def hear(self, asker: Asker, interface: str) -> bool:
        """Keep who asks; False: it is this host."""
        if asker.mac in self._own():
            return False
        now = self._clock()
        heard = {each: kept for each, kept in self._heard.get(interface, {}).items() if _is_lately(kept, now)}
        if asker not in heard and len(heard) > MOST_APPLIANCES:
            heard.popitem()
        heard[asker] = OtherAppliance(interface=interface, address=asker.address, mac=asker.mac, at=now)
        self._heard[interface] = heard
        return True

    def asked(self, interfaces: Iterable[str], begun: datetime) -> None:
        """We asked on these `interfaces` from `begun` until now: who did not answer twice in a row is there no more."""
        now = self._clock()
        for interface in interfaces:
            heard = self._heard.get(interface, {})
            for asker, kept in [*heard.items()]:
                if max(kept.at, kept.unanswered or kept.at) > begun:
                    continue  # two people may have asked at once
                if kept.unanswered is None:
                    heard[asker] = replace(kept, unanswered=now)
                else:
                    del heard[asker]

    def all(self) -> tuple[OtherAppliance, ...]:
        """Those that were heard within the last minutes, and answer our questions; of each interface in the order in which they came."""
        now = self._clock()
        return tuple(kept for each in self._heard.values() for kept in each.values() if _is_lately(kept, now))


def _is_lately(heard: OtherAppliance, now: datetime) -> bool:
    return now - heard.at <= _HEARD_FOR


def own_macs() -> frozenset[str]:
    """The MACs of all interfaces of this host (netdevice(7), SIOCGIFHWADDR)."""
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # it went meanwhile
                answer = fcntl.ioctl(asking, _SIOCGIFHWADDR, struct.pack("256s", os.fsencode(name)[:15]))
                found.add(answer[18:24].hex(":"))
    return frozenset(found)
