"""The hardware address behind an IPv4 address of a directly attached network, as the kernel knows it."""

import fcntl
import socket
import struct
from collections.abc import Mapping
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from pathlib import Path

from tinkbox.model.hardware import MacAddress

_SIOCGARP = 0x8954
# struct arpreq of <net/if_arp.h>: address, hardware address, flags, netmask, interface.
_REQUEST = struct.Struct("=HH4s8xH14si16x16s")
_ETHERNET = 1  # ARPHRD_ETHER
_COMPLETE = 0x2  # ATF_COM: the kernel has an answer
_PERMANENT = 0x4  # ATF_PERM: a person or a program wrote it down, and no answer changes it


def most_neighbours(table: Path = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")) -> int | None:
    """How many neighbours the kernel keeps for all networks together; None: it does not tell, as in a network namespace."""
    try:
        return int(table.read_text())
    except OSError:
        return None


class Neighbours:
    """Who is on `networks`, those of our interfaces by their names."""

    def __init__(self, networks: Mapping[str, IPv4Network]) -> None:
        self._interfaces = [each.encode() for each in networks]
        # Nobody asks by ARP on loopback.
        self._attached = [each for each in networks.values() if not each.is_loopback]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def close(self) -> None:
        self._socket.close()

    def attached(self, address: str) -> bool:
        """Whether an address is of a network of ours, so that `mac_at` has to know its host, once it was heard."""
        try:
            asked = IPv4Address(address)
        except AddressValueError:
            return False
        return any(asked in each for each in self._attached)

    def mac_at(self, address: str) -> MacAddress | None:
        """Who answered ARP for an address; None: nobody, it is behind a router, or it is no IPv4 address.

        Whoever just spoke to us by TCP, or was answered, is known.
        """
        for interface in self._interfaces:
            if found := neighbour(self._socket, interface, address):
                return found
        return None

    def permanent_at(self, address: str) -> tuple[str, MacAddress] | None:
        """The interface of ours on which an entry stands for an address that no ARP changes, and the MAC in it; None: none does."""
        for interface in self._interfaces:
            mac, flags = _entry(self._socket, interface, address)
            if mac is not None and flags & _PERMANENT:
                return interface.decode(), mac
        return None


def neighbour(asking: socket.socket, interface: bytes, address: str) -> MacAddress | None:
    """Who answered ARP for an address on one interface; None: nobody, or it is no IPv4 address.  Any socket does for asking."""
    return _entry(asking, interface, address)[0]


def _entry(asking: socket.socket, interface: bytes, address: str) -> tuple[MacAddress | None, int]:
    """What the kernel has for an address on one interface, and its flags; None: nothing."""
    try:
        asked = socket.inet_aton(address)
        request = _REQUEST.pack(socket.AF_INET, 0, asked, _ETHERNET, b"", 0, interface)
        answer = fcntl.ioctl(asking, _SIOCGARP, request)
    except OSError:  # not on this interface
        return None, 0
    _, _, _, kind, found, flags, _ = _REQUEST.unpack(answer)
    return (MacAddress(found[:6].hex(":")) if kind == _ETHERNET and flags & _COMPLETE else None), flags


def is_on_link(asking: socket.socket, address: str) -> bool:
    """Whether no router stands between us and an IPv4 address; `asking` is a UDP socket that is used for nothing else."""
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 1)
    try:
        asking.connect((address, 9))  # which sends nothing, and has the kernel look for the way
    except OSError:
        return False
    finally:
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_DONTROUTE, 0)
    return True
