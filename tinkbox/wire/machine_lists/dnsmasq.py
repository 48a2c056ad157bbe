"""dnsmasq (dnsmasq(8)): its leases, and the hosts of its configuration.

A line of the leases file is `EXPIRY MAC ADDRESS NAME CLIENT-ID`, with `*` for a name that it does not know; lines of DHCPv6
have other fields.  EXPIRY is in seconds since 1970, 0: never; where the machine has no clock (OpenWrt) it is how long.
`dhcp-host=` has, in any order and separated by commas: MACs (`06-` before one is its kind of network),
an IPv4 address, `[IPv6]`, the host name, `set:TAG` (`net:TAG` once), `tag:TAG`, `id:CLIENT-ID`, a time, `ignore`.  The file of
--dhcp-hostsfile has the same without `dhcp-host=`, and /etc/ethers (ethers(5)) `MAC NAME` or `MAC ADDRESS`.  A tag that is
set becomes a label.  The prefix is that of the `dhcp-range=` around the address which tells a netmask, the gateway that of
`dhcp-option=` 3 (`option:router`) for the tags of host and range, in the same network.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.machine_lists.listing import (
    Gathered,
    Network,
    is_address,
    own_labels,
    shown,
    whole_mac,
    within,
)

HOST: Final = re.compile(r"\s*(?:--)?dhcp-host\s*=\s*(?P<fields>.*)")
INCLUDE: Final = re.compile(
    r"\s*(?:--)?(?:(?P<name>conf-file|conf-dir|dhcp-hostsfile|dhcp-hostsdir)\s*=\s*(?P<path>[^,]+)|read-ethers\s*(?:#|\Z))"
)
LEASE: Final = re.compile(r"(?P<end>\d+)\s+(?P<mac>[0-9A-Fa-f:-]{11,})\s+(?P<ip>\S+)\s+(?P<name>\S+)(?:\s+\S+)?\s*")
_RANGE: Final = re.compile(r"\s*(?:--)?dhcp-range\s*=\s*(?P<fields>.*)")
_OPTION: Final = re.compile(r"\s*(?:--)?dhcp-option(?:-force)?\s*=\s*(?P<fields>.*)")
_ROUTER: Final = ("3", "option:router")
_CLOCK: Final = 1_000_000_000  # an expiry before 2001 is how long a lease lasts
_KIND_OF_NETWORK: Final = re.compile(r"[0-9A-Fa-f]{1,2}-(?=[0-9A-Fa-f]{1,2}:)")
_TIME: Final = re.compile(r"(?:\d+[smhdwSMHDW]?|infinite|deprecated)\Z")
_WILDCARD: Final = re.compile(r"(?:[0-9A-Fa-f]{2}|\*)(?::(?:[0-9A-Fa-f]{2}|\*)){5}\Z")


def read_leases(text: str, gathered: Gathered) -> None:
    """Gather the leases; of a card that has several, on several networks, the last one counts."""
    by_mac: dict[str, tuple[int, str, str]] = {}
    for line, lease in enumerate(text.splitlines(), start=1):
        words = lease.split()
        if not words or lease.startswith("#"):
            continue
        found = LEASE.fullmatch(lease.strip())
        if words[0] == "duid" or (len(words) > 2 and ":" in words[2]):
            gathered.leave_out("a lease of DHCPv6", line)
        elif found is None:
            gathered.wrong(f"{shown(lease)} is no lease of dnsmasq", line)
        elif int(found["end"][:20]) > _CLOCK and gathered.is_over(int(found["end"][:20])):
            gathered.leave_out(f"the lease of {shown(found['ip'])} is over", line)
        else:
            name = "" if found["name"] == "*" else found["name"]
            by_mac[_mac(found["mac"]).lower()] = line, name, found["ip"]
    for mac, (line, name, address) in by_mac.items():
        gathered.add(macs=[mac], foreign=name, address=address, line=line)


def read_hosts(text: str, gathered: Gathered) -> None:
    """Gather the hosts of a configuration, where other lines are something else, or of a file of hosts."""
    lines = [re.sub(r"(?:^|\s)#.*", "", each).strip() for each in text.splitlines()]
    is_configuration = any(HOST.match(each) or INCLUDE.match(each) for each in lines)
    ranges = list(_ranges(lines))
    routers = list(_routers(lines))
    gathered.networks += [Network(network=each.network, router=_router(routers, each.tags, each)) for each in ranges]
    for line, bare in enumerate(lines, start=1):
        if (found := INCLUDE.match(bare)) is not None:
            named = found["name"] or ""
            gathered.include((found["path"] or "/etc/ethers").strip(), line, is_folder=named.endswith("dir"))
        elif (found := HOST.match(bare)) is not None:
            _host(found["fields"], line, gathered, ranges, routers)
        elif bare and not is_configuration:
            _host(bare if "," in bare else ",".join(bare.split()), line, gathered, ranges, routers)


def is_host(line: str) -> bool:
    """Whether a line may be one of --dhcp-hostsfile or /etc/ethers: a field of it is a MAC."""
    fields = line.split(",") if "," in line else line.split()
    return len(fields) > 1 and any(_is_mac(_mac(each)) for each in fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Range:
    """A network from which addresses are given, and the tags that it sets."""

    network: IPv4Network
    tags: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Router:
    """A router that is told where all the tags are set; `!TAG` is one that is not."""

    address: str
    tags: frozenset[str]

    def is_for(self, tags: Collection[str]) -> bool:
        return all((each[1:] not in tags) if each.startswith("!") else (each in tags) for each in self.tags)


def _ranges(lines: Iterable[str]) -> Iterator[_Range]:
    for found in filter(None, map(_RANGE.match, lines)):
        parts = [each.strip() for each in found["fields"].split(",")]
        addresses = [each for each in parts if is_address(each)]
        for mask in addresses[1:]:
            try:
                network = IPv4Network((addresses[0], mask), strict=False)
            except ValueError:
                continue
            if int(network.netmask) == int(IPv4Network((mask, 32)).network_address):
                tags = [each[4:] for each in parts if each.lower().startswith(("set:", "net:"))]
                yield _Range(network=network, tags=frozenset(tags))
                break


def _routers(lines: Iterable[str]) -> Iterator[_Router]:
    for found in filter(None, map(_OPTION.match, lines)):
        parts = [each.strip() for each in found["fields"].split(",")]
        at = next((number for number, each in enumerate(parts) if each.lower() in _ROUTER), len(parts))
        if is_address(next(iter(parts[at + 1 :]), "")):
            tags = [each[4:] for each in parts[:at] if each.lower().startswith(("tag:", "net:"))]
            yield _Router(address=parts[at + 1], tags=frozenset(tags))


def _router(routers: Sequence[_Router], tags: Collection[str], around: _Range) -> str:
    """The router that is told to these tags in a network, one with tags before one without; empty: none of it."""
    told = [each for each in routers if each.is_for(tags) and within(each.address, [Network(network=around.network)])]
    return next((each.address for each in sorted(told, key=lambda each: -len(each.tags))), "")


def _host(text: str, line: int, gathered: Gathered, ranges: Sequence[_Range], routers: Sequence[_Router]) -> None:
    macs: list[str] = []
    tags: list[str] = []
    name = address = ""
    for part in (each.strip() for each in text.split(",")):
        lowered = part.lower()
        if lowered == "ignore":
            gathered.leave_out("dnsmasq is told to ignore it", line)
            return
        if lowered.startswith(("set:", "net:")):
            tags.append(part[4:])
        elif not part or lowered.startswith(("tag:", "id:")) or part.startswith("[") or _TIME.match(part):
            continue
        elif _WILDCARD.match(_mac(part)) and "*" in part:
            gathered.leave_out(f"{shown(part)} is many MACs", line)
            return
        elif _is_mac(_mac(part)) or part.count(":") == 5:
            macs.append(_mac(part))
        elif is_address(part) or re.fullmatch(r"[\d.]+", part):
            address = part
        else:
            name = part
    if not macs:
        gathered.leave_out("it names no MAC", line)
        return
    around = next((each for each in ranges if within(address, [Network(network=each.network)])), None)
    gathered.add(
        macs=macs,
        foreign=name,
        address=address,
        gateway=_router(routers, around.tags.union(tags), around) if around else "",
        labels=own_labels({}, tags),
        line=line,
    )


def _mac(text: str) -> str:
    return whole_mac(_KIND_OF_NETWORK.sub("", text.strip()))


def _is_mac(text: str) -> bool:
    try:
        MacAddress(text)
    except Invalid:
        return False
    return ":" in text
