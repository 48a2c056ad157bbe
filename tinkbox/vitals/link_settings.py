"""The networks and the MTU of the provisioning interfaces, as the kernel has them now (netdevice(7))."""

import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from tinkbox.model.host_vitals import LinkSettings
from tinkbox.vitals.ipv4_addresses import interface_of, labelled_addresses

_SIOCGIFNETMASK: Final = 0x891B
_SIOCGIFMTU: Final = 0x8921
# struct ifreq with an address: the kernel tells the netmask of that one, not of the interface's first.
_OF_ADDRESS: Final = struct.Struct("=16sHH4s16x")


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


def networks_by_interface() -> dict[str, set[IPv4Network]]:
    """The networks of all interfaces of this host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        return _networks(asking)


def _networks(asking: socket.socket) -> dict[str, set[IPv4Network]]:
    found: dict[str, set[IPv4Network]] = {}
    for label, address in labelled_addresses(asking):
        try:
            question = _OF_ADDRESS.pack(label, socket.AF_INET, 0, address.packed)
            answer = fcntl.ioctl(asking, _SIOCGIFNETMASK, question)
        except OSError:  # it went meanwhile
            continue
        network = IPv4Network((address, str(IPv4Address(answer[20:24]))), strict=False)
        found.setdefault(interface_of(label), set()).add(network)
    return found
