"""How large a packet may be to reach a machine in one piece.

"Fragmentation needed" (RFC 1191) is believed of machines behind a router only: on our own link no router stands between,
and any host can make such a message up.
"""

import fcntl
import socket
import struct
from typing import Final, NamedTuple

from tinkbox.boot.network.neighbours import is_on_link

ETHERNET: Final = 1500
# linux/in.h; the socket module has no names for them.
_IP_MTU_DISCOVER: Final = 10
_IP_MTU: Final = 14
_IP_PMTUDISC_OMIT: Final = 5  # what ICMP says of the path is not believed, neither now nor later
_SIOCGIFMTU: Final = 0x8921
_ASKED_MTU: Final = struct.Struct("=16si20x")


class Way(NamedTuple):
    """How an IPv4 address is reached: with packets of so many bytes, and with no router between (`direct`) or by one."""

    mtu: int
    direct: bool


def way_to(address: str, interface: bytes = b"") -> Way:
    """The way to an address, from `interface` if it is on our own link there; Ethernet's MTU where it is not known."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        direct = bool(interface) and is_on_link(asking, address)
        try:
            return Way(_mtu_of(asking, interface) if direct else _mtu_to(asking, address), direct)
        except OSError:
            return Way(ETHERNET, direct)


def believe_no_icmp(line: socket.socket) -> None:
    """Send in packets as large as the interface takes, whatever ICMP says of the path."""
    line.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_OMIT)


def _mtu_of(asking: socket.socket, interface: bytes) -> int:
    return int(_ASKED_MTU.unpack(fcntl.ioctl(asking, _SIOCGIFMTU, _ASKED_MTU.pack(interface, 0)))[1])


def _mtu_to(asking: socket.socket, address: str) -> int:
    """What the interface carries, a route allows, or a router said."""
    asking.connect((address, 9))
    return asking.getsockopt(socket.IPPROTO_IP, _IP_MTU)
