"""The networks and the MTU of the provisioning interfaces, as the kernel has them now (netdevice(7))."""

import fcntl
import os
import socket
import struct
from array import array
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.host_vitals import LinkSettings

_SIOCGIFCONF: Final = 0x8912
_SIOCGIFNETMASK: Final = 0x891B
_SIOCGIFMTU: Final = 0x8921
_IFCONF: Final = struct.Struct("iP")
_IFREQ: Final = struct.Struct("16s4x4s16x")
# struct ifreq with an address: the kernel tells the netmask of that one, not of the interface's first.
_OF_ADDRESS: Final = struct.Struct("=16sHH4s16x")
_FIRST_ROOM: Final = 64 * _IFREQ.size


def link_settings(names: Iterable[str]) -> tuple[LinkSettings, ...]:
    """Those of interfaces; one that is gone has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        networks = _networks(asking)
        return tuple(
            LinkSettings(interface=name, networks=frozenset(networks.get(name, ())), mtu=mtu)
            for name in names
            if (mtu := _mtu(asking, name)) is not None
        )


def _mtu(asking: socket.socket, name: str) -> int | None:
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFMTU, struct.pack("256s", os.fsencode(name)[:15]))
    except OSError:
        return None
    return int(struct.unpack_from("i", answer, 16)[0])


def _networks(asking: socket.socket) -> dict[str, set[IPv4Network]]:
    size = _FIRST_ROOM
    while True:
        told = array("B", bytes(size))
        place, _ = told.buffer_info()
        filled, _ = _IFCONF.unpack(fcntl.ioctl(asking, _SIOCGIFCONF, _IFCONF.pack(size, place)))
        if filled <= size - _IFREQ.size:
            break
        size *= 2
    found: dict[str, set[IPv4Network]] = {}
    for label, address in _IFREQ.iter_unpack(told.tobytes()[:filled]):
        try:
            answer = fcntl.ioctl(asking, _SIOCGIFNETMASK, _OF_ADDRESS.pack(label, socket.AF_INET, 0, address))
        except OSError:  # it went meanwhile
            continue
        name = os.fsdecode(label.rstrip(b"\0")).partition(":")[0]  # an alias is named eth0:1
        network = IPv4Network((IPv4Address(address), str(IPv4Address(answer[20:24]))), strict=False)
        found.setdefault(name, set()).add(network)
    return found
