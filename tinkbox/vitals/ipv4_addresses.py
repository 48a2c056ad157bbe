"""Every IPv4 address of this host, as the kernel has them now (netdevice(7), SIOCGIFCONF)."""

import fcntl
import os
import socket
import struct
from array import array
from ipaddress import IPv4Address
from typing import Final

_SIOCGIFCONF: Final = 0x8912
_IFCONF: Final = struct.Struct("iP")
_IFREQ: Final = struct.Struct("16s4x4s16x")
_FIRST_ROOM: Final = 64 * _IFREQ.size


def labelled_addresses(asking: socket.socket) -> list[tuple[bytes, IPv4Address]]:
    """Each with its label, also those that are not the first of their interface, and of interfaces that are down.

    `asking` is any IPv4 socket.
    """
    size = _FIRST_ROOM
    while True:
        told = array("B", bytes(size))
        place, _ = told.buffer_info()
        filled, _ = _IFCONF.unpack(fcntl.ioctl(asking, _SIOCGIFCONF, _IFCONF.pack(size, place)))
        if filled <= size - _IFREQ.size:
            break
        size *= 2
    return [(label, IPv4Address(address)) for label, address in _IFREQ.iter_unpack(told.tobytes()[:filled])]


def own_addresses() -> frozenset[IPv4Address]:
    """Every address of this host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        return frozenset(address for _, address in labelled_addresses(asking))


def interface_of(label: bytes) -> str:
    """The interface that a label is of: an alias is named eth0:1."""
    return os.fsdecode(label.rstrip(b"\0")).partition(":")[0]
