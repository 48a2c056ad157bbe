"""Where this host's routes lead what we send to machines: the kernel is asked for some addresses, as `ip route get` does."""

import errno
import os
import socket
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, collapse_addresses
from itertools import islice
from pathlib import Path
from typing import Final

from tinkbox.model.host_vitals import StrayRoute, UnroutedNetwork
from tinkbox.model.leases import Subnet
from tinkbox.vitals.link_settings import networks_by_interface
from tinkbox.vitals.rtnetlink import GET_LINK, LINK, MOST_ANSWERS, Rtnetlink, attribute, attributes, link_question

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
_MOST_PARTS: Final = 8  # of a network, that are treated in another way than the rest


def stray_routes(
    subnets: Iterable[Subnet], ours: Mapping[str, IPv4Address], reserved: Iterable[IPv4Address]
) -> tuple[StrayRoute, ...]:
    """Of some addresses of machines on our own interfaces those that the routes lead elsewhere.

    `ours` are our addresses there, by interface.  Asked for are the ends of each pool, those of what routes and rules single out in it, and
    some of the `reserved` ones.  Machines behind a relay may be anywhere.
    """
    known, found = [*reserved], list[StrayRoute]()
    attached, told = networks_by_interface(), [_told(_GET_ROUTE), _told(_GET_RULE)]
    singled_out = [*_singled_out(_GET_ROUTE, told[0]), *_singled_out(_GET_RULE, told[1])]
    all_told = max(map(len, told)) < MOST_ANSWERS
    with Rtnetlink() as kernel:
        for each in subnets:
            # What belongs to another device, as to a VRF, has routes of its own.
            if each.interface not in ours or _has_master(kernel, each.interface):
                continue
            asked = islice((one for one in known if one in each.network), _MOST_RESERVED)
            with suppress(OSError):  # the interface is gone, which is told as that
                number = socket.if_nametoindex(each.interface)
                wanted = dict.fromkeys([*_of_pool(each, number, singled_out), *asked])
                way = _Way(kernel, each, ours[each.interface], number, attached, singled_out, all_told)
                found += [stray for one in wanted if (stray := way.stray(one)) is not None]
    return tuple(found)


def unrouted(
    subnets: Iterable[Subnet], ours: Mapping[str, IPv4Address], reserved: Iterable[IPv4Address]
) -> tuple[UnroutedNetwork, ...]:
    """The networks behind relays to which this host has no route from any of `ours`, our addresses by interface.

    Asked for are the ends of each pool and some of the `reserved` addresses, without both the first one of the network.
    """
    known, found = [*reserved], list[UnroutedNetwork]()
    with Rtnetlink() as kernel:
        # What belongs to another device, as to a VRF, has routes of its own.
        sources = {name: address for name, address in ours.items() if not _has_master(kernel, name)}
        for each in subnets if sources else ():
            if each.interface:
                continue
            asked = [*(each.pool or ()), *islice((one for one in known if one in each.network), _MOST_RESERVED)]
            wanted = dict.fromkeys(asked or [next(iter(each.network.hosts()))])
            lacks = {one: why for one in wanted if (why := _no_way(kernel, one, sources.values()))}
            if lacks:
                filtering = tuple(name for name in sources if _filters(name))
                whole = len(lacks) == len(wanted)
                found.append(
                    UnroutedNetwork(
                        network=each.network,
                        addresses=(*lacks,),
                        why=next(iter(lacks.values())),
                        whole=whole,
                        filtering=filtering,
                    )
                )
    return tuple(found)


def _no_way(kernel: Rtnetlink, machine: IPv4Address, sources: Iterable[IPv4Address]) -> str:
    """Why nothing gets to an address from any of these; empty: it does, or that is not known."""
    why = ""
    for each in sources:
        try:
            kernel.one(_GET_ROUTE, _question(attribute(_DST, machine.packed) + attribute(_SRC, each.packed)))
            return ""
        except OSError as error:
            if error.errno not in _NO_ROUTE:
                return ""
            why = os.strerror(error.errno)
    return why


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


def _told(kind: int) -> Sequence[bytes]:
    """The first few thousand routes, or rules."""
    with Rtnetlink() as kernel:  # one of its own: what is left of a long answer need not be read
        return kernel.all(kind, _ROUTE.pack(socket.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0))


def _singled_out(kind: int, answers: Iterable[bytes]) -> Iterator[tuple[int, int, int]]:
    """What these routes, or rules, are for, those for every address left out.

    Each is the first address, the last one, and the number of the interface where it leads, 0 where it tells none.
    """
    for told in answers:
        if not told[1] or told[_TYPE] in _OURS:
            continue
        found = attributes(told[_ROUTE.size :])
        others = (1 << 32 - told[1]) - 1
        first = int.from_bytes(found.get(_DST, b"")) & ~others  # a rule may name any address of its network
        out = int.from_bytes(found.get(_OIF, b""), sys.byteorder) if kind == _GET_ROUTE else 0
        yield first, first | others, out


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
    singled_out: Sequence[tuple[int, int, int]]
    all_told: bool

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
            among=self._among(machine),
            through=through,
            route=route,
            why=why,
            twin=self.at.network in self.attached.get(through, ()),
            refused=self._is_refused(machine),
        )

    def _among(self, machine: IPv4Address) -> frozenset[IPv4Network]:
        """Of the narrowest network around an address that is singled out what is not singled out again; of many such parts the address alone."""
        every = {IPv4Network((first, 32 - (last - first).bit_length())) for first, last, _ in self.singled_out}
        inside = {each for each in every if each.subnet_of(self.at.network)} | {self.at.network}
        narrowest = max((each for each in inside if machine in each), key=lambda each: each.prefixlen)
        parts = [each for each in inside if each != narrowest and each.subnet_of(narrowest)]
        if len(parts) > _MOST_PARTS or not self.all_told:
            return frozenset({IPv4Network(machine)})
        left = {narrowest}
        for part in collapse_addresses(parts):
            (whole,) = (each for each in left if part.subnet_of(each))
            left = left - {whole} | {*whole.address_exclude(part)}
        return frozenset(left)

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
    """Whether reverse path filtering wants the very interface."""
    return _reverse_path(interface) == 1


def _filters(interface: str) -> bool:
    """Whether reverse path filtering drops what comes from where no route leads."""
    return _reverse_path(interface) in (1, 2)


def _reverse_path(interface: str) -> int:
    """The larger one of two settings counts (ip-sysctl.rst, rp_filter)."""
    try:
        return max(int((_SETTINGS / each / "rp_filter").read_text()) for each in ("all", interface))
    except (OSError, ValueError):
        return 0
