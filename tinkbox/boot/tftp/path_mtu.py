"""How large a packet may be to reach a machine in one piece, as far as the kernel knows."""

import socket
from typing import Final

ETHERNET: Final = 1500
_IP_MTU = 14  # linux/in.h; the socket module has no name for it


def path_mtu(address: str) -> int:
    """Bytes of an IPv4 packet: what the interface carries, a route allows, or a router said; Ethernet's where it is not known."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 9))  # which sends nothing, and has the kernel look for the way
            return asking.getsockopt(socket.IPPROTO_IP, _IP_MTU)
        except OSError:
            return ETHERNET
