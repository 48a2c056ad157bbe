"""Where this host's routes lead what we send to machines: the kernel is asked for some addresses, as `ip route get` does."""

import errno
import os
import socket
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import islice
from pathlib import Path
from typing import Final

from tinkbox.model.host_vitals import StrayRoute
from tinkbox.model.leases import Subnet
from tinkbox.vitals.link_settings import networks_by_interface
from tinkbox.vitals.rtnetlink import GET_LINK, LINK, Rtnetlink, attribute, attributes, link_question

_GET_ROUTE, _GET_RULE = 26, 34  # <linux/rtnetlink.h>: RTM_GETROUTE, RTM_GETRULE
_ROUTE: Final = struct.Struct("=BBBBBBBBI")  # struct rtmsg, and struct fib_rule_hdr is laid out alike
_DST, _SRC, _IIF, _OIF, _GATEWAY, _TABLE = 1, 2, 3, 4, 5, 15
_TYPE, _UNICAST = 7, 1  # rtm_type, RTN_UNICAST
_OURS: Final = (2, 3)  # RTN_LOCAL, RTN_BROADCAST
_LOOKUP_TABLE, _FIB_MATCH = 0x1000, 0x2000
_NUMBER: Final = struct.Struct("=I")
_TABLES: Final = {254: "main", 253: "default", 255: "local"}
_MASTER: Final = 10  # <linux/if_link.h>: IFLA_MASTER
_SETTINGS: Final = Path("/proc/sys/net/ipv4/conf")
# Routes of the kinds unreachable, prohibit and blackhole, and none at all.
_NO_ROUTE: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EINVAL)
_MOST_RESERVED: Final = 16
_MOST_OVERLAPS: Final = 64


def stray_routes(
    subnets: Iterable[Subnet], ours: Mapping[str, IPv4Address], reserved: Iterable[IPv4Address]
) -> tuple[StrayRoute, ...]:
    """Of some addresses of machines on our own interfaces those that the routes lead elsewhere.

    `ours` are our addresses there, by interface.  Asked for are the ends of each pool, those of what routes and rules single out in it, and
    some of the `reserved` ones.  Machines behind a relay may be anywhere.
    """
    known, found = [*reserved], list[StrayRoute]()
    attached, singled_out = networks_by_interface(), [*_singled_out(_GET_ROUTE), *_singled_out(_GET_RULE)]
    with Rtnetlink() as kernel:
        for each in subnets:
            # What belongs to another device, as to a VRF, has routes of its own.
            if each.interface not in ours or _has_master(kernel, each.interface):
                continue
            asked = islice((one for one in known if one in each.network), _MOST_RESERVED)
            with suppress(OSError):  # the interface is gone, which is told as that
                number = socket.if_nametoindex(each.interface)
                wanted = dict.fromkeys([*_of_pool(each, number, singled_out), *asked])
                way = _Way(kernel, each, ours[each.interface], number, attached)
                found += [stray for one in wanted if (stray := way.stray(one)) is not None]
    return tuple(found)


def takes(source: IPv4Address, target: IPv4Address, interface: str) -> bool:
    """Whether this host takes what comes from one address to another on an interface, as far as its routes and their filters say.

    It does not where no such packet can come in there: from an address of this host itself, from one that no host has, or from one that
    reverse path filtering wants elsewhere.
    """
    try:
        came = attribute(_IIF, _NUMBER.pack(socket.if_nametoindex(interface)))
        with Rtnetlink() as kernel:
            ways = attribute(_DST, target.packed) + attribute(_SRC, source.packed)
            return kernel.one(_GET_ROUTE, _question(ways + came))[_TYPE] in _OURS
    except OSError:
        return False


def _has_master(kernel: Rtnetlink, interface: str) -> bool:
    try:
        return _MASTER in attributes(kernel.one(GET_LINK, link_question(interface))[LINK.size :])
    except OSError:
        return False


def _singled_out(kind: int) -> Iterator[tuple[int, int, int]]:
    """What the first few thousand routes, or rules, are for, those for every address left out.

    Each is the first address, the last one, and the number of the interface where it leads, 0 where it tells none.
    """
    with Rtnetlink() as kernel:  # one of its own: what is left of a long answer need not be read
        for told in kernel.all(kind, _ROUTE.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0)):
            if not told[1] or told[_TYPE] in _OURS:
                continue
            found = attributes(told[_ROUTE.size :])
            first = int.from_bytes(found.get(_DST, b""))
            out = int.from_bytes(found.get(_OIF, b""), sys.byteorder) if kind == _GET_ROUTE else 0
            yield first, first | (1 << 32 - told[1]) - 1, out


def _of_pool(at: Subnet, number: int, singled_out: Iterable[tuple[int, int, int]]) -> Iterator[IPv4Address]:
    """Its ends, and where what does not lead to the interface with this number begins and ends in it."""
    if at.pool is None:
        return
    yield from at.pool
    begin, end = map(int, at.pool)
    others = ((first, last) for first, last, out in singled_out if out != number and first <= end and begin <= last)
    for first, last in islice(others, _MOST_OVERLAPS):
        yield IPv4Address(max(begin, first))
        yield IPv4Address(min(end, last))


@dataclass(frozen=True, slots=True)
class _Way:
    """From our address on an interface, which has this number, to the machines there."""

    kernel: Rtnetlink
    at: Subnet
    address: IPv4Address
    number: int
    attached: Mapping[str, set[IPv4Network]]

    def stray(self, machine: IPv4Address) -> StrayRoute | None:
        """What is wrong with the way to an address; None: nothing."""
        through, route, why = "", "", ""
        to = attribute(_DST, machine.packed) + attribute(_SRC, self.address.packed)
        try:
            told = self.kernel.one(_GET_ROUTE, _question(to))
            if told[_TYPE] != _UNICAST:  # an address of this host itself, or one for all
                return None
            out = _NUMBER.unpack(attributes(told[_ROUTE.size :])[_OIF])[0]
            if out == self.number:
                return None
            through, route = socket.if_indextoname(out), _matched(self.kernel, to)
        except KeyError:
            return None
        except OSError as error:
            if error.errno not in _NO_ROUTE:
                return None
            why = os.strerror(error.errno)
        return StrayRoute(
            interface=self.at.interface,
            ours=self.address,
            network=self.at.network,
            address=machine,
            through=through,
            route=route,
            why=why,
            twin=self.at.network in self.attached.get(through, ()),
            refused=self._is_refused(machine),
        )

    def _is_refused(self, machine: IPv4Address) -> bool:
        """Whether reverse path filtering drops what comes from an address on the interface."""
        if not _is_strict(self.at.interface):
            return False
        came = attribute(_DST, self.address.packed) + attribute(_SRC, machine.packed)
        try:
            self.kernel.one(_GET_ROUTE, _question(came + attribute(_IIF, _NUMBER.pack(self.number))))
        except OSError as error:
            return error.errno in (errno.EXDEV, errno.EINVAL)  # the latter since Linux 6.14, for whatever is refused
        return False


def _question(asked: bytes, flags: int = _LOOKUP_TABLE) -> bytes:
    return _ROUTE.pack(socket.AF_INET, 32, 32, 0, 0, 0, 0, 0, flags) + asked


def _matched(kernel: Rtnetlink, to: bytes) -> str:
    """The route by which it goes, as `ip route` writes it; empty where an older kernel does not tell."""
    try:
        told = kernel.one(_GET_ROUTE, _question(to, _LOOKUP_TABLE | _FIB_MATCH))
        found = attributes(told[_ROUTE.size :])
        network = f"{IPv4Address(found[_DST])}/{told[1]}" if _DST in found else "default"
        via = f" via {IPv4Address(found[_GATEWAY])}" if _GATEWAY in found else ""
        table = _NUMBER.unpack(found[_TABLE])[0]
        named = "" if table == 254 else f" table {_TABLES.get(table, table)}"
        return f"{network}{via} dev {socket.if_indextoname(_NUMBER.unpack(found[_OIF])[0])}{named}"
    except (OSError, KeyError, ValueError, struct.error):
        return ""


def _is_strict(interface: str) -> bool:
    """Whether reverse path filtering wants the very interface: the larger one of two settings counts (ip-sysctl.rst, rp_filter)."""
    try:
        return max(int((_SETTINGS / each / "rp_filter").read_text()) for each in ("all", interface)) == 1
    except (OSError, ValueError):
        return False
