"""The provisioning interfaces as the kernel has them now."""

import fcntl
import os
import socket
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Final

from tinkbox.model.vitals import Attachment
from tinkbox.vitals.ipv4_addresses import interface_of, labelled_addresses
from tinkbox.vitals.rtnetlink import GET_LINK, LINK, Rtnetlink, attribute, attributes, link_question

_SIOCGIFFLAGS: Final = 0x8913
_UP, _RUNNING, _NO_ARP = 0x1, 0x40, 0x80  # <linux/if.h>: IFF_UP; IFF_RUNNING: there is a carrier; IFF_NOARP
_ANSWERS_NOBODY: Final = "8"
_SO_BINDTOIFINDEX: Final = 62  # <asm-generic/socket.h>, since Linux 5.0
_NAME, _MASTER, _LINKINFO = 3, 10, 18  # <linux/if_link.h>: IFLA_IFNAME and so on
_KIND, _PORT_KIND = 1, 4  # IFLA_INFO_KIND, IFLA_INFO_SLAVE_KIND
_TAKING_ALL: Final = frozenset(
    {b"bridge", b"bond", b"team"}
)  # what comes in on a port of these comes in on them; not so with a VRF
_INDEX: Final = struct.Struct("=I")
_MOST_PORTS: Final = 1024  # of a bridge


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnInterface:
    """A provisioning interface, our address there with its network since the start, and the number that our sockets are bound to."""

    name: str
    address: IPv4Interface
    bound: int = 0


def bound_number(bound: socket.socket) -> int:
    """The number of the interface that a socket is bound to, also where that is there no more; 0: of none, or it is not told."""
    try:
        return bound.getsockopt(socket.SOL_SOCKET, _SO_BINDTOIFINDEX)
    except OSError:
        return 0


def bridge_ports(name: str) -> list[str] | None:
    """The ports of a bridge; None: the interface is none, or is gone."""
    try:
        with Rtnetlink() as kernel:
            number = struct.pack("=I", socket.if_nametoindex(name))
            own = attributes(kernel.one(GET_LINK, link_question(name))[LINK.size :])
            if attributes(own.get(_LINKINFO, b"")).get(_KIND, b"").rstrip(b"\0") != b"bridge":
                return None
            told = kernel.all(GET_LINK, LINK.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + attribute(_MASTER, number))
    except OSError:
        return None
    links = [attributes(each[LINK.size :]) for each in told]
    return [os.fsdecode(each[_NAME].rstrip(b"\0")) for each in links if each.get(_MASTER) == number]


def master(name: str) -> str:
    """The bridge or bond of which an interface is a port; empty: of none, or it is gone."""
    try:
        with Rtnetlink() as kernel:
            own = attributes(kernel.one(GET_LINK, link_question(name))[LINK.size :])
        kind = attributes(own.get(_LINKINFO, b"")).get(_PORT_KIND, b"").rstrip(b"\0")
        return socket.if_indextoname(_INDEX.unpack(own[_MASTER])[0]) if kind in _TAKING_ALL else ""
    except (OSError, KeyError):
        return ""


def attachments(ours: Iterable[OwnInterface]) -> tuple[Attachment, ...]:
    """Each of our interfaces as it is now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        holders = _addresses(asking)
        return tuple(_attachment(asking, each, holders) for each in ours)


def _attachment(asking: socket.socket, own: OwnInterface, holders: Mapping[str, frozenset[IPv4Address]]) -> Attachment:
    over = master(own.name)
    flags, number = _flags(asking, own.name), 0
    with suppress(OSError):
        number = socket.if_nametoindex(own.name)
    if flags is None:
        return Attachment(
            interface=own.name,
            address=own.address.ip,
            present=False,
            prefix=own.address.network.prefixlen,
            bound=own.bound,
        )
    return Attachment(
        interface=own.name,
        address=own.address.ip,
        present=True,
        prefix=own.address.network.prefixlen,
        index=number,
        bound=own.bound,
        up=bool(flags & _UP),
        carrier=bool(flags & _RUNNING) and _has_port(asking, own.name) if flags & _UP else None,
        addresses=holders.get(own.name, frozenset()),
        master=over,
        master_has=holders.get(over, frozenset()),
        silent_arp=_silent_arp(own.name, flags),
    )


def _silent_arp(name: str, flags: int) -> str:
    """Which setting keeps the kernel from answering ARP on an interface (ip-sysctl, `arp_ignore`); empty: none."""
    if flags & _NO_ARP:
        return f"`ip link` shows NOARP of {name}"
    for each in ("all", name):
        with suppress(OSError):
            if Path(f"/proc/sys/net/ipv4/conf/{each}/arp_ignore").read_text().strip() == _ANSWERS_NOBODY:
                return f"net.ipv4.conf.{each}.arp_ignore is {_ANSWERS_NOBODY}"
    return ""


def _flags(asking: socket.socket, name: str) -> int | None:
    """Of an interface; None: it is not there."""
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFFLAGS, struct.pack("256s", os.fsencode(name)[:15]))
    except OSError:
        return None
    return int(struct.unpack_from("H", answer, 16)[0])


def _has_port(asking: socket.socket, name: str) -> bool:
    """Whether it is no bridge, or one of its ports has a link: a new bridge counts as connected before its first port."""
    ports = bridge_ports(name)
    return ports is None or len(ports) > _MOST_PORTS or any((_flags(asking, each) or 0) & _RUNNING for each in ports)


def _addresses(asking: socket.socket) -> dict[str, frozenset[IPv4Address]]:
    found: dict[str, set[IPv4Address]] = {}
    for label, address in labelled_addresses(asking):
        found.setdefault(interface_of(label), set()).add(address)
    return {name: frozenset(each) for name, each in found.items()}
