"""The provisioning interfaces as the kernel has them now."""

import fcntl
import socket
import struct
from array import array
from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Final

from tinkbox.model.vitals import Attachment

_SIOCGIFCONF: Final = 0x8912
_SIOCGIFFLAGS: Final = 0x8913
_UP, _RUNNING = 0x1, 0x40  # <linux/if.h>: IFF_UP; IFF_RUNNING: there is a carrier
_IFCONF: Final = struct.Struct("iP")  # bytes, and where they are
_IFREQ: Final = struct.Struct("16s4x4s16x")
_FIRST_ROOM: Final = 64 * _IFREQ.size


def attachments(ours: Iterable[tuple[str, IPv4Address]]) -> tuple[Attachment, ...]:
    """Each interface with the address that the appliance has there since its start, as it is now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        holders = _addresses(asking)
        return tuple(_attachment(asking, name, address, holders.get(name, frozenset())) for name, address in ours)


def _attachment(
    asking: socket.socket, name: str, address: IPv4Address, addresses: frozenset[IPv4Address]
) -> Attachment:
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFFLAGS, struct.pack("256s", name.encode()[:15]))
    except OSError:
        return Attachment(interface=name, address=address, present=False)
    flags = int(struct.unpack_from("H", answer, 16)[0])
    return Attachment(
        interface=name,
        address=address,
        present=True,
        up=bool(flags & _UP),
        carrier=bool(flags & _RUNNING) if flags & _UP else None,
        addresses=addresses,
    )


def _addresses(asking: socket.socket) -> dict[str, frozenset[IPv4Address]]:
    """Every IPv4 address of this host by its interface, also those of interfaces that are down (netdevice(7), SIOCGIFCONF)."""
    size = _FIRST_ROOM
    while True:
        told = array("B", bytes(size))
        place, _ = told.buffer_info()
        filled, _ = _IFCONF.unpack(fcntl.ioctl(asking, _SIOCGIFCONF, _IFCONF.pack(size, place)))
        if filled <= size - _IFREQ.size:
            break
        size *= 2
    found: dict[str, set[IPv4Address]] = {}
    for label, address in _IFREQ.iter_unpack(told.tobytes()[:filled]):
        name = label.rstrip(b"\0").decode(errors="replace").partition(":")[0]  # an alias is named eth0:1
        found.setdefault(name, set()).add(IPv4Address(address))
    return {name: frozenset(each) for name, each in found.items()}
