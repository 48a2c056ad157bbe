"""The provisioning interfaces as the kernel has them now."""

import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from typing import Final

from tinkbox.model.vitals import Attachment
from tinkbox.vitals.ipv4_addresses import interface_of, labelled_addresses

_SIOCGIFFLAGS: Final = 0x8913
_UP, _RUNNING = 0x1, 0x40  # <linux/if.h>: IFF_UP; IFF_RUNNING: there is a carrier
_SO_BINDTOIFINDEX: Final = 62  # <asm-generic/socket.h>, since Linux 5.0
_DEVICES: Final = Path("/sys/class/net")
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


def attachments(ours: Iterable[OwnInterface]) -> tuple[Attachment, ...]:
    """Each of our interfaces as it is now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        holders = _addresses(asking)
        return tuple(_attachment(asking, each, holders.get(each.name, frozenset())) for each in ours)


def _attachment(asking: socket.socket, own: OwnInterface, addresses: frozenset[IPv4Address]) -> Attachment:
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
        addresses=addresses,
    )


def _flags(asking: socket.socket, name: str) -> int | None:
    """Of an interface; None: it is not there."""
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFFLAGS, struct.pack("256s", os.fsencode(name)[:15]))
    except OSError:
        return None
    return int(struct.unpack_from("H", answer, 16)[0])


def _has_port(asking: socket.socket, name: str) -> bool:
    """Whether it is no bridge, or one of its ports has a link: a new bridge counts as connected before its first port."""
    try:
        ports = [each.name for each in (_DEVICES / name / "brif").iterdir()]
    except OSError:
        return True
    return len(ports) > _MOST_PORTS or any((_flags(asking, each) or 0) & _RUNNING for each in ports)


def _addresses(asking: socket.socket) -> dict[str, frozenset[IPv4Address]]:
    found: dict[str, set[IPv4Address]] = {}
    for label, address in labelled_addresses(asking):
        found.setdefault(interface_of(label), set()).add(address)
    return {name: frozenset(each) for name, each in found.items()}
