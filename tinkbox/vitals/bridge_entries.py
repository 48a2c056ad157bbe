"""Where a bridge of this host sends what is for a MAC, as somebody wrote it down there (bridge(8), `fdb`)."""

import socket
import struct
from collections.abc import Iterable
from typing import Final

from tinkbox.model.hardware import MacAddress
from tinkbox.vitals.rtnetlink import Rtnetlink, attribute

_GET_NEIGHBOUR: Final = 30  # <linux/rtnetlink.h>: RTM_GETNEIGH
_AF_BRIDGE: Final = 7
_NEIGHBOUR: Final = struct.Struct("=BxxxiHBB")  # <linux/neighbour.h>: struct ndmsg
_LLADDR, _MASTER = 2, 9  # NDA_LLADDR, NDA_MASTER
_STATIC: Final = 0x40  # NUD_NOARP: neither learned nor an address of the bridge itself


def static_port(interfaces: Iterable[str], mac: MacAddress) -> tuple[str, str]:
    """The bridge among these interfaces that has a static entry for a MAC, and the port that this names; empty: none has."""
    for each in interfaces:
        try:
            with Rtnetlink() as kernel:
                bridge = struct.pack("=I", socket.if_nametoindex(each))
                asked = attribute(_LLADDR, mac.octets) + attribute(_MASTER, bridge)
                told = kernel.one(_GET_NEIGHBOUR, _NEIGHBOUR.pack(_AF_BRIDGE, 0, 0, 0, 0) + asked)
                _, number, state, _, _ = _NEIGHBOUR.unpack_from(told)
                if state & _STATIC:
                    return each, socket.if_indextoname(number)
        except OSError:  # no bridge, no entry, or gone meanwhile
            continue
    return "", ""
