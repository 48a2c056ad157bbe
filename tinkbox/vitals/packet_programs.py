"""What else may drop packets on an interface, before every firewall: filters of tc, and XDP programs.  They are found, and not read."""

import socket
import struct
from collections.abc import Iterable, Iterator
from typing import Final

from tinkbox.vitals.interfaces import bridge_ports
from tinkbox.vitals.rtnetlink import GET_LINK, LINK, Rtnetlink, attributes, link_question

_GET_FILTER: Final = 46  # <linux/rtnetlink.h>: RTM_GETTFILTER
_FILTER: Final = struct.Struct("=BxxxiIII")  # struct tcmsg
_XDP, _ATTACHED = 43, 2  # IFLA_XDP, IFLA_XDP_ATTACHED
# <linux/pkt_sched.h>: TC_H_CLSACT with TC_H_MIN_INGRESS, and with TC_H_MIN_EGRESS.
_SIDES: Final = {"ingress": 0xFFFFFFF2, "egress": 0xFFFFFFF3}
_MOST_PORTS: Final = 16  # of a bridge that are looked at


def unread_programs(names: Iterable[str]) -> dict[str, str]:
    """What is attached to interfaces, or to the ports of those that are bridges: each with the command that shows it."""
    found: dict[str, str] = {}
    try:
        with Rtnetlink() as kernel:
            for name in names:
                for each in (name, *sorted(bridge_ports(name) or ())[:_MOST_PORTS]):
                    found |= _of(kernel, each)
    except OSError as error:
        found["tc and XDP"] = f"the kernel does not tell what is attached: {error.strerror}"
    return found


def _of(kernel: Rtnetlink, name: str) -> dict[str, str]:
    try:
        number = socket.if_nametoindex(name)
    except OSError:  # that it is gone is told as that
        return {}
    found: dict[str, str] = {}
    side = next(_filtered(kernel, number), "")  # those of a plain ingress queue are told for both
    if side:
        found[f"the tc filters on {name}"] = (
            f"tinkbox does not read them: `tc filter show dev {name} {side}` shows them"
        )
    if _has_xdp(kernel, name):
        found[f"the XDP program on {name}"] = f"tinkbox does not read it: `ip link show dev {name}` shows its number"
    return found


def _filtered(kernel: Rtnetlink, number: int) -> Iterator[str]:
    for side, parent in _SIDES.items():
        try:
            if kernel.all(_GET_FILTER, _FILTER.pack(socket.AF_UNSPEC, number, 0, parent, 0)):
                yield side
        except OSError:  # a kernel without tc, or the interface is gone
            continue


def _has_xdp(kernel: Rtnetlink, name: str) -> bool:
    try:
        told = kernel.one(GET_LINK, link_question(name))
    except OSError:
        return False
    attached = attributes(attributes(told[LINK.size :]).get(_XDP, b"")).get(_ATTACHED, b"\0")
    return any(attached)
