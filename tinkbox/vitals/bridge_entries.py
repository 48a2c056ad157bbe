"""Where a bridge of this host sends what is for a MAC (bridge(8), `fdb`): as it learned, or as a person or a program wrote it down there.

Where a port learns, an entry moves there with the next frame of the machine, though it stays static: such an entry is no news.
"""

import socket
import struct
from collections.abc import Iterable
from typing import Final

from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import StaticPort
from tinkbox.vitals.rtnetlink import GET_LINK, LINK, Rtnetlink, attribute, attributes

_GET_NEIGHBOUR: Final = 30  # <linux/rtnetlink.h>: RTM_GETNEIGH
_AF_BRIDGE: Final = 7
_NEIGHBOUR: Final = struct.Struct("=BxxxiHBB")  # <linux/neighbour.h>: struct ndmsg
_LLADDR, _MASTER = 2, 9  # NDA_LLADDR, NDA_MASTER
_STATIC: Final = 0x40  # NUD_NOARP: neither learned nor an address of the bridge itself
_OWN: Final = 0x80  # NUD_PERMANENT: an address of the bridge itself
_STICKY: Final = 0x40  # NTF_STICKY: it stays where it is, also where the port learns at which the machine is heard
_STATISTICS: Final = 23  # IFLA_STATS64
_RECEIVED: Final = struct.Struct("=Q")  # of struct rtnl_link_stats64 the first: rx_packets
_PORT_MASTER, _OF_PORT, _LEARNS = 10, 12, 8  # <linux/if_link.h>: IFLA_MASTER, IFLA_PROTINFO, IFLA_BRPORT_LEARNING


def static_port(interfaces: Iterable[str], mac: MacAddress) -> StaticPort | None:
    """The static entry for a MAC that a bridge among these interfaces has, and that stays wherever the machine is heard; None: none has one."""
    for each in interfaces:
        try:
            with Rtnetlink() as kernel:
                bridge = struct.pack("=I", socket.if_nametoindex(each))
                _, number, state, flags, _ = _NEIGHBOUR.unpack_from(_entry(kernel, each, mac))
                if state & _STATIC and (flags & _STICKY or _other_port_is_deaf(kernel, bridge, number)):
                    port = socket.if_indextoname(number)
                    return StaticPort(bridge=each, port=port, unused=_unused(kernel, number, port))
        except OSError:  # no bridge, no entry, or gone meanwhile
            continue
    return None


def learned_port(interfaces: Iterable[str], mac: MacAddress) -> str:
    """The port behind which a bridge among these interfaces has heard a MAC, or has it written down; empty: none has."""
    for each in interfaces:
        try:
            with Rtnetlink() as kernel:
                _, number, state, _, _ = _NEIGHBOUR.unpack_from(_entry(kernel, each, mac))
                if state != _OWN:
                    return socket.if_indextoname(number)
        except OSError:  # no bridge, no entry, or gone meanwhile
            continue
    return ""


def _entry(kernel: Rtnetlink, bridge: str, mac: MacAddress) -> bytes:
    asked = attribute(_LLADDR, mac.octets) + attribute(_MASTER, struct.pack("=I", socket.if_nametoindex(bridge)))
    return kernel.one(_GET_NEIGHBOUR, _NEIGHBOUR.pack(_AF_BRIDGE, 0, 0, 0, 0) + asked)


def _unused(kernel: Rtnetlink, number: int, port: str) -> str:
    """Why no machine that was heard since the port is there is behind it; empty: one may be."""
    found = attributes(kernel.one(GET_LINK, LINK.pack(socket.AF_UNSPEC, 0, number, 0, 0))[LINK.size :])
    received = found.get(_STATISTICS, b"")[: _RECEIVED.size]
    if len(received) == _RECEIVED.size and _RECEIVED.unpack(received) == (0,):
        return f"nothing ever came in on {port}"
    return ""


def _other_port_is_deaf(kernel: Rtnetlink, bridge: bytes, port: int) -> bool:
    """Whether a port of the bridge, other than this one, does not learn who is behind it."""
    for told in kernel.all(GET_LINK, LINK.pack(_AF_BRIDGE, 0, 0, 0, 0)):
        _, _, number, _, _ = LINK.unpack_from(told)
        found = attributes(told[LINK.size :])
        learns = attributes(found.get(_OF_PORT, b"")).get(_LEARNS)
        if number != port and found.get(_PORT_MASTER) == bridge and learns == b"\0":
            return True
    return False
