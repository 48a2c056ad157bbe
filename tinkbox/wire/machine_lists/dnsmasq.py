"""dnsmasq (dnsmasq(8)): its leases, and the hosts of its configuration.

A line of the leases file is `EXPIRY MAC ADDRESS NAME CLIENT-ID`, with `*` for a name that it does not know; lines of DHCPv6
have other fields.  EXPIRY is in seconds since 1970, 0: never; where the machine has no clock (OpenWrt) it is how long.
`dhcp-host=` has, in any order and separated by commas: MACs (`06-` before one is its kind of network),
an IPv4 address, `[IPv6]`, the host name, `set:TAG` (`net:TAG` once), `tag:TAG`, `id:CLIENT-ID`, a time, `ignore`.  The file of
--dhcp-hostsfile has the same without `dhcp-host=`, and /etc/ethers (ethers(5)) `MAC NAME` or `MAC ADDRESS`.  A tag that is
set becomes a label; what has colons is no name.  The prefix is that of the `dhcp-range=` around the address which tells a
netmask, the gateway that of `dhcp-option=` 3 (`option:router`) in the same network.  Of several, as dnsmasq has it
(`option_filter`): one for tags of the host (`known` among them) before one for tags of the range, before one for none, and of
these the last line.  One that names no address tells no router.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
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
_ITSELF: Final = "0.0.0.0"  # the host that dnsmasq runs on  # noqa: S104
_KNOWN: Final = "known"  # a tag of every host that has a line of its own
_CLOCK: Final = 1_000_000_000  # an expiry before 2001 is how long a lease lasts
_KIND_OF_NETWORK: Final = re.compile(r"[0-9A-Fa-f]{1,2}-(?=[0-9A-Fa-f]{1,2}:)")
_TIME: Final = re.compile(r"(?:\d+[smhdwSMHDW]?|infinite|deprecated)\Z")
_WILDCARD: Final = re.compile(r"(?:[0-9A-Fa-f]{2}|\*)(?::(?:[0-9A-Fa-f]{2}|\*)){5}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Range:
    """A network from which addresses are given, and the tags that it sets."""

    network: IPv4Network
    tags: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Router:
    """A router that is told where all the tags are set; `!TAG` is one that is not.  Its address is empty: no router is."""

    address: str
    tags: frozenset[str]

    def is_for(self, tags: Collection[str]) -> bool:
        return all((each[1:] not in tags) if each.startswith("!") else (each in tags) for each in self.tags)


@dataclass(slots=True)
class Configuration:
    """What all files of dnsmasq say: ranges and hosts, each with the gathering of its file, hosts with their line, and routers."""

    ranges: list[tuple[Gathered, _Range]] = field(default_factory=list)
    routers: list[_Router] = field(default_factory=list)
    hosts: list[tuple[Gathered, int, str]] = field(default_factory=list)


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


def take(text: str, gathered: Gathered, configuration: Configuration) -> None:
    """Take in one file of a configuration, where other lines are something else, or one of hosts."""
    lines = [re.sub(r"(?:^|\s)#.*", "", each).strip() for each in text.splitlines()]
    whole = is_configuration(lines)
    configuration.ranges += [(gathered, each) for each in _ranges(lines)]
    routed = [*_routers(lines)]
    configuration.routers += routed
    for line, bare in enumerate(lines, start=1):
        if (found := INCLUDE.match(bare)) is not None:
            named = found["name"] or ""
            gathered.include((found["path"] or "/etc/ethers").strip(), line, is_folder=named.endswith("dir"))
        elif (found := HOST.match(bare)) is not None:
            configuration.hosts.append((gathered, line, found["fields"]))
        elif routed and _RANGE.match(bare) and not any(_ranges([bare])):
            gathered.change(
                "this range has no netmask: its hosts are imported without a router; write the netmask there", line
            )
        elif bare and not whole:
            configuration.hosts.append((gathered, line, bare if "," in bare else ",".join(bare.split())))


def gather(configuration: Configuration) -> None:
    """Gather the hosts, each into the gathering of its file."""
    for gathered, each in configuration.ranges:
        gathered.networks.append(Network(network=each.network, router=_router(configuration.routers, (), each)))
    ranges = [each for _, each in configuration.ranges]
    for gathered, line, text in configuration.hosts:
        _host(text, line, gathered, ranges, configuration.routers)


def is_configuration(lines: Iterable[str]) -> bool:
    """Whether one of the lines is of a configuration, which has hosts or says where there are some, or networks."""
    return any(each.match(line) for line in lines for each in (HOST, INCLUDE, _RANGE, _OPTION))


def is_host(line: str) -> bool:
    """Whether a line may be one of --dhcp-hostsfile or /etc/ethers: a field of it is a MAC."""
    fields = line.split(",") if "," in line else line.split()
    return len(fields) > 1 and any(_is_mac(_mac(each)) for each in fields)


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
                tags = [re.sub(r"\A(?:set|net):", "", each) for each in parts[: parts.index(addresses[0])]]
                yield _Range(network=network, tags=frozenset(tags))
                break


def _routers(lines: Iterable[str]) -> Iterator[_Router]:
    for found in filter(None, map(_OPTION.match, lines)):
        parts = [each.strip() for each in found["fields"].split(",")]
        at = next((number for number, each in enumerate(parts) if each.lower() in _ROUTER), len(parts))
        address = next(iter(parts[at + 1 :]), "")
        if at < len(parts) and (not address or is_address(address)):
            tags = [re.sub(r"\A(?:tag|net):", "", each) for each in parts[:at]]
            yield _Router(address="" if address == _ITSELF else address, tags=frozenset(tags))


def _router(routers: Iterable[_Router], tags: Collection[str], around: _Range) -> str:
    """The router that is told in a network to a host with these tags; empty: none of it."""
    here = [Network(network=around.network)]
    both = around.tags.union(tags)
    found: dict[int, str] = {}
    for each in routers:
        if each.is_for(both) and (not each.address or within(each.address, here)):
            rank = 0 if not each.tags else 2 if each.is_for(tags) else 1
            found[rank] = each.address
    return found[max(found)] if found else ""


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
        elif ":" in part:
            continue
        elif is_address(part) or re.fullmatch(r"[\d.]+", part):
            address = part
        else:
            name = part
    if not macs:
        gathered.leave_out("it names no MAC", line)
        return
    around = next((each for each in ranges if within(address, [Network(network=each.network)])), None)
    gateway = _router(routers, [_KNOWN, *tags], around) if around else ""
    if around and not gateway and _router(routers, (), around):
        # With a prefix, it does not get the gateway of its network, which dnsmasq does not tell it.
        address = f"{address}/{around.network.prefixlen}"
    gathered.add(
        macs=macs,
        foreign=name,
        address=address,
        gateway=gateway,
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
