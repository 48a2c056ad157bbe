"""The networks and the MTU of the provisioning interfaces, as the kernel has them now (netdevice(7))."""

import fcntl
import os
import socket
import struct
from collections.abc import Container, Iterable, Iterator
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Final

from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import HeldAddress, LinkSettings
from tinkbox.vitals.ipv4_addresses import interface_of, labelled_addresses

_SIOCGIFNETMASK: Final = 0x891B
_SIOCGIFMTU: Final = 0x8921
_SIOCGIFHWADDR: Final = 0x8927
_ETHERNET: Final = 1  # <linux/if_arp.h>: ARPHRD_ETHER
# struct ifreq with an address: the kernel tells the netmask of that one, not of the interface's first.
_OF_ADDRESS: Final = struct.Struct("=16sHH4s16x")


def link_settings(names: Iterable[str]) -> tuple[LinkSettings, ...]:
    """Those of interfaces; one that is gone has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        networks = _networks(asking)
        return tuple(
            LinkSettings(interface=name, networks=frozenset(networks.get(name, ())), mtu=mtu, mac=_mac(asking, name))
            for name in names
            if (mtu := _mtu(asking, name)) is not None
        )


def _mtu(asking: socket.socket, name: str) -> int | None:
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFMTU, struct.pack("256s", os.fsencode(name)[:15]))
    except OSError:
        return None
    return int(struct.unpack_from("i", answer, 16)[0])


def cards(names: Iterable[str]) -> dict[str, str]:
    """The MACs of these interfaces, each with its interface."""
    return {each.mac: each.interface for each in link_settings(names) if each.mac is not None}


def held_addresses(wanted: Container[IPv4Address]) -> tuple[HeldAddress, ...]:
    """Which of these addresses this host itself has, and where."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        return tuple(
            HeldAddress(interface=name, address=each.ip, prefix=each.network.prefixlen)
            for name, each in _addresses(asking)
            if each.ip in wanted
        )


def _mac(asking: socket.socket, name: str) -> MacAddress | None:
    try:
        answer = fcntl.ioctl(asking, _SIOCGIFHWADDR, struct.pack("256s", os.fsencode(name)[:15]))
    except OSError:
        return None
    return MacAddress.from_bytes(answer[18:24]) if struct.unpack_from("=H", answer, 16)[0] == _ETHERNET else None


def networks_by_interface() -> dict[str, set[IPv4Network]]:
    """The networks of all interfaces of this host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
        return _networks(asking)


def _networks(asking: socket.socket) -> dict[str, set[IPv4Network]]:
    found: dict[str, set[IPv4Network]] = {}
    for name, each in _addresses(asking):
        found.setdefault(name, set()).add(each.network)
    return found


def _addresses(asking: socket.socket) -> Iterator[tuple[str, IPv4Interface]]:
    """All of this host, each with its interface."""
    for label, address in labelled_addresses(asking):
        try:
            question = _OF_ADDRESS.pack(label, socket.AF_INET, 0, address.packed)
            answer = fcntl.ioctl(asking, _SIOCGIFNETMASK, question)
        except OSError:  # it went meanwhile
            continue
        yield interface_of(label), IPv4Interface((address, str(IPv4Address(answer[20:24]))))
