"""A router that knows nothing of IPv6, and says so: `python router.py INTERFACE`, until it is stopped.

Firmware that finds a link asks for routers (RFC 4861, section 6.3.7), and iPXE as Debian 12 has it waits 16 seconds for an
answer before it boots by IPv4.  What is advertised here is no router to use (lifetime 0), no prefix and no DHCPv6.
"""

import socket
import struct
import sys
from typing import Final

# RFC 4861, section 4.1 and 4.2.
SOLICITATION: Final = 133
ADVERTISEMENT: Final = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 0, 0, 0)
HOPS: Final = 255  # what came over a router is ignored
ALL_NODES, ALL_ROUTERS = "ff02::1", "ff02::2"
# Linux: which kinds of ICMPv6 a socket does not get, a bit each.
ICMPV6_FILTER: Final = 1


def answer(interface: str) -> None:
    """Answer whoever asks on this interface for routers."""
    number = socket.if_nametoindex(interface)
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as link:
        group = socket.inet_pton(socket.AF_INET6, ALL_ROUTERS) + struct.pack("@I", number)
        link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
        link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, HOPS)
        link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        kinds = [~(1 << SOLICITATION >> first) & 0xFFFFFFFF for first in range(0, 256, 32)]
        link.setsockopt(socket.IPPROTO_ICMPV6, ICMPV6_FILTER, struct.pack("@8I", *kinds))
        while True:
            _, (_, _, _, where) = link.recvfrom(2048)
            if where == number:
                try:
                    link.sendto(ADVERTISEMENT, (ALL_NODES, 0, 0, number))
                except OSError:
                    continue  # its own address is still being checked; who asked asks again


if __name__ == "__main__":
    answer(sys.argv[1])
