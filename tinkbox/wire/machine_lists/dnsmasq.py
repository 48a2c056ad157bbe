"""dnsmasq (dnsmasq(8)): its leases, and the hosts of its configuration.

A line of the leases file is `EXPIRY MAC ADDRESS NAME CLIENT-ID`, with `*` for a name that it does not know; lines of DHCPv6
have other fields.  EXPIRY is in seconds since 1970, 0: never; where the machine has no clock (OpenWrt) it is how long.
`dhcp-host=` has, in any order and separated by commas: MACs (`06-` before one is its kind of network),
an IPv4 address, `[IPv6]`, the host name, `set:TAG` (`net:TAG` once), `tag:TAG`, `id:CLIENT-ID`, a time, `ignore`.  The file of
--dhcp-hostsfile has the same without `dhcp-host=`, and /etc/ethers (ethers(5)) `MAC NAME` or `MAC ADDRESS`.  A tag that is
set becomes a label; what has colons is no name.  The prefix is that of the `dhcp-range=` around the address which tells a
netmask, the gateway that of `dhcp-option=` 3 (`option:router`) in the same network.  Where the range tells none, for dnsmasq takes
it from its interface, the routers go along with the host, until its network is known.  Of several, as dnsmasq has it
(`option_filter`): one for tags of the host (`known` among them) before one for tags of the range, before one for none, and of
these the last line.  One that names no address tells no router.
Tags of a host also come from `dhcp-mac=` and `tag-if=`, and with `dhcp-ignore=` they leave it out.  The name of the
interface is one too, which is known where `interface=` names only one.  Others are set by what a machine sends (`dhcp-match=`,
`dhcp-vendorclass=`, …): routers for these are told and not read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from itertools import takewhile
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.machine_lists import parse_address
from tinkbox.model.text import quoted
from tinkbox.wire.machine_lists.listing import (
    MAX_PATH,
    Gathered,
    Network,
    Unread,
    is_address,
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
_MAC_TAG: Final = re.compile(r"\s*(?:--)?dhcp-mac\s*=\s*(?P<fields>.*)")
_TAG_IF: Final = re.compile(r"\s*(?:--)?tag-if\s*=\s*(?P<fields>.*)")
_OPTIONS_FILE: Final = re.compile(r"\s*(?:--)?dhcp-opts(?:file|dir)\s*=\s*(?P<path>.*)")
_INTERFACE: Final = re.compile(r"\s*(?:--)?interface\s*=\s*(?P<fields>.*)")
_LOOPBACK: Final = "lo"
_IGNORE: Final = re.compile(r"\s*(?:--)?dhcp-ignore\s*=\s*(?P<fields>.*)")
# Tags of what a machine sends.
_SENT_TAG: Final = re.compile(
    r"\s*(?:--)?dhcp-(?:match|name-match|vendorclass|userclass|circuitid|remoteid|subscrid)\s*=\s*(?P<fields>.*)"
)
_SETTING: Final = re.compile(
    r"\s*(?:--)?(?:(?:dhcp|pxe|tftp)-[a-z0-9-]+|enable-tftp|tag-if|(?:except|no-dhcp)-interface|listen-address"
    r"|bind-(?:interfaces|dynamic)|expand-hosts|domain-needed|bogus-priv|no-(?:hosts|resolv)|host-record|log-dhcp)\s*(?:=|\Z)"
)
_ROUTER: Final = ("3", "option:router")
_UNREAD: Final = {
    Unread.DNS: ("6", "option:dns-server"),
    Unread.NTP: ("42", "option:ntp-server"),
}
_OPTION_NAMES: Final = ("option:", "option6:")
_NOT_DHCP4S: Final = ("vendor:", "encap:", "vi-encap:")  # what follows is an option of others
_ITSELF: Final = "0.0.0.0"  # the host that dnsmasq runs on  # noqa: S104
_NO_VALUES: Final = ("set:", "net:", "tag:", "id:")
_KNOWN: Final = "known"  # a tag of every host that has a line of its own
_CLOCK: Final = 1_000_000_000  # an expiry before 2001 is how long a lease lasts
_KIND_OF_NETWORK: Final = re.compile(r"[0-9A-Fa-f]{1,2}-(?=[0-9A-Fa-f]{1,2}:)")
_TIME: Final = re.compile(r"(?:\d+[smhdwSMHDW]?|infinite|deprecated)\Z")
_WILDCARD: Final = re.compile(r"(?:[0-9A-Fa-f]{2}|\*)(?::(?:[0-9A-Fa-f]{2}|\*)){5}\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Range:
    """Addresses that are given, the tags that it sets, and the ones that it needs; its network is None without a netmask."""

    first: IPv4Address
    last: IPv4Address
    network: IPv4Network | None
    tags: frozenset[str]
    needed: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Router:
    """A router that is told where all the tags are set; `!TAG` is one that is not.  Its address is empty: no router is."""

    address: str
    tags: frozenset[str]
    gathered: Gathered
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conclusion:
    """Tags that are set where all those that it needs are: `tag-if=`."""

    needed: frozenset[str]
    tags: frozenset[str]


@dataclass(slots=True)
class Configuration:
    """What all files of dnsmasq say: ranges and hosts, each with the gathering of its file, hosts with their line, and routers.

    `cards` are tags by the MACs that get them (`dhcp-mac=`), `sent` those of what a machine sends, `ignored` the tags with
    which hosts are not answered, `interfaces` those where dnsmasq listens, each a tag of the machines that it hears there.
    """

    ranges: list[tuple[Gathered, _Range]] = field(default_factory=list)
    routers: list[_Router] = field(default_factory=list)
    hosts: list[tuple[Gathered, int, str]] = field(default_factory=list)
    cards: list[tuple[re.Pattern[str], str]] = field(default_factory=list)
    conclusions: list[_Conclusion] = field(default_factory=list)
    sent: set[str] = field(default_factory=set)
    ignored: list[frozenset[str]] = field(default_factory=list)
    interfaces: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tags:
    """Which tags the files decide (`decided`), which every machine has (`everyones`), and what follows from them.

    Of others it is not known whether a machine has them, unless the files give them to it.
    """

    decided: Set[str]
    everyones: Set[str]
    conclusions: Sequence[_Conclusion]

    @classmethod
    def of(cls, configuration: Configuration) -> "_Tags":
        ranges = [tag for _, each in configuration.ranges for tag in each.tags]
        hosts = [tag for _, _, text in configuration.hosts for tag in _set_by(text)]
        # The only interface is where all are heard.
        everyones = configuration.interfaces if len(configuration.interfaces) == 1 else set[str]()
        given = {_KNOWN, *everyones, *ranges, *hosts, *(tag for _, tag in configuration.cards)}
        unsure = set(configuration.sent)
        for each in configuration.conclusions:
            follows = all(tag.removeprefix("!") in given - unsure for tag in each.needed)
            (given if follows else unsure).update(each.tags)
        return cls(decided=given - unsure, everyones=everyones, conclusions=configuration.conclusions)

    def undecided(self, needed: Iterable[str]) -> list[str]:
        return sorted(each for each in needed if each.removeprefix("!") not in self.decided)

    def hold(self, needed: Iterable[str], tags: Set[str]) -> bool:
        """Whether it is known that all the tags are set that are needed, and those with a `!` are not."""
        return all(
            (each[1:] in self.decided - tags) if each.startswith("!") else _is_set(each, tags) for each in needed
        )

    def all(self, tags: Iterable[str]) -> Set[str]:
        """The tags, and those that follow from them, line by line."""
        found = {*tags, *self.everyones}
        for each in self.conclusions:
            if self.hold(each.needed, found):
                found |= each.tags
        return found


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
    for line, bare in enumerate(lines, start=1):
        if (found := INCLUDE.match(bare)) is not None:
            named = found["name"] or ""
            gathered.include((found["path"] or "/etc/ethers").strip(), line, is_folder=named.endswith("dir"))
        elif (found := HOST.match(bare)) is not None:
            configuration.hosts.append((gathered, line, found["fields"]))
        elif bare and not whole:
            configuration.hosts.append((gathered, line, bare if "," in bare else ",".join(bare.split())))
        elif (found := _OPTIONS_FILE.match(bare)) is not None:
            path = quoted(found["path"].strip(), MAX_PATH)
            gathered.change(f"the options in {path} are not read: write a router of it here, as dhcp-option=", line)
        elif (found := _RANGE.match(bare)) is not None:
            configuration.ranges += [(gathered, each) for each in _ranges(_fields(found))]
        elif (found := _OPTION.match(bare)) is not None:
            for what, names in _UNREAD.items():
                if _values(_fields(found), names)[1:]:
                    gathered.leave_unread(what, line)
            configuration.routers += (routers := [*_routers(_fields(found), gathered, line)])
            if routers and _ITSELF in _fields(found):
                gathered.change(
                    f"{_ITSELF} is the host that dnsmasq runs on: this router is not read; write its address there",
                    line,
                )
        else:
            _take_tags(bare, configuration)


def _take_tags(line: str, configuration: Configuration) -> None:
    """Take in a line that says which tags are set, or which hosts are not answered."""
    if (found := _MAC_TAG.match(line)) is not None and len(parts := _fields(found)) > 1:
        configuration.cards.append((_card_pattern(parts[1]), parts[0].removeprefix("set:")))
    elif (found := _TAG_IF.match(line)) is not None:
        parts = _fields(found)
        needed, tags = ({each[4:] for each in parts if each.startswith(kind)} for kind in ("tag:", "set:"))
        configuration.conclusions.append(_Conclusion(needed=frozenset(needed), tags=frozenset(tags)))
    elif (found := _SENT_TAG.match(line)) is not None:
        configuration.sent.add(_fields(found)[0].removeprefix("set:"))
    elif (found := _INTERFACE.match(line)) is not None:
        configuration.interfaces.update(each for each in _fields(found) if each != _LOOPBACK)
    elif (found := _IGNORE.match(line)) is not None:
        configuration.ignored.append(frozenset(each.removeprefix("tag:") for each in _fields(found)))


def gather(configuration: Configuration) -> None:
    """Gather the hosts, each into the gathering of its file."""
    tags = _Tags.of(configuration)
    needed = {tag for _, each in configuration.ranges for tag in each.needed}
    for each in configuration.routers:
        for tag in [tag for tag in tags.undecided(each.tags) if tag not in needed][:1]:
            way_out = (
                "write the line without it" if tag.startswith("!") else "write that into the dhcp-host= of its machines"
            )
            read = "not read" if tag.startswith("!") else f"for hosts with set:{tag} only"
            each.gathered.change(
                f"the files do not say which machines have the tag {shown(tag.removeprefix('!'))}: this router is {read}; {way_out}",
                each.line,
            )
    for gathered, around in configuration.ranges:
        if around.network is not None:
            found = _routers_of(configuration.routers, (), around, tags)
            gathered.networks.append(Network(network=around.network, router=_first_of(found, around.network)))
    for gathered, line, text in configuration.hosts:
        _host(text, line, gathered, configuration, tags)


def is_configuration(lines: Iterable[str]) -> bool:
    """Whether one of the lines is of a configuration, which has hosts or says where there are some, or networks, or tags."""
    return any(each.match(line) for line in lines for each in (INCLUDE, _SETTING))


def is_host(line: str) -> bool:
    """Whether a line may be one of --dhcp-hostsfile or /etc/ethers: a field of it is a MAC."""
    fields = line.split(",") if "," in line else line.split()
    return len(fields) > 1 and any(_is_mac(_mac(each)) for each in fields)


def _fields(found: re.Match[str]) -> list[str]:
    return [each.strip() for each in found["fields"].split(",")]


def _ranges(parts: Sequence[str]) -> Iterator[_Range]:
    addresses = [each for each in parts if is_address(each)]
    if not addresses:
        return
    before = parts[: parts.index(addresses[0])]
    masked = [(each, found) for each in addresses[1:] if (found := _network(addresses[0], each)) is not None]
    network = masked[0][1] if masked else None
    first, _ = parse_address(addresses[0])
    last, _ = parse_address(addresses[1]) if addresses[1:] and addresses[1] not in dict(masked) else (first, None)
    yield _Range(
        first=first,
        last=last,
        network=network,
        tags=frozenset(re.sub(r"\A(?:set|net):", "", each) for each in before if not each.startswith("tag:")),
        needed=frozenset(each[4:] for each in before if each.startswith("tag:")),
    )


def _network(address: str, mask: str) -> IPv4Network | None:
    """The network of an address; None: the other one is no netmask."""
    try:
        network = IPv4Network((address, mask), strict=False)
    except ValueError:
        return None
    return network if int(network.netmask) == int(IPv4Network((mask, 32)).network_address) else None


def _values(parts: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """An option of DHCP by any of its names, and what is told with it; empty where the fields are another one.

    It is the first field that is a number or a name of an option (`parse_dhcp_opt`): tags stand before it.
    """
    at = next((n for n, each in enumerate(parts) if each.isdecimal() or each.lower().startswith(_OPTION_NAMES)), None)
    if at is None or parts[at].lower() not in names or any(each.startswith(_NOT_DHCP4S) for each in parts[:at]):
        return ()
    return parts[at:]


def _routers(parts: Sequence[str], gathered: Gathered, line: int) -> Iterator[_Router]:
    told = _values(parts, _ROUTER)
    address = next(iter(told[1:]), "")
    if told and (not address or is_address(address)):
        tags = frozenset(re.sub(r"\A(?:tag|net):", "", each) for each in parts[: len(parts) - len(told)])
        yield _Router(address="" if address == _ITSELF else address, tags=tags, gathered=gathered, line=line)


def _routers_of(routers: Iterable[_Router], own: Iterable[str], around: _Range | None, tags: _Tags) -> list[str]:
    """The routers that are told to a host with tags of its `own`, in whichever network; the first one in its network counts."""
    of_host = tags.all(own)
    both = tags.all(around.tags.union(own)) if around else of_host
    ranked: list[tuple[int, int, str]] = []
    for number, each in enumerate(routers):
        if tags.hold(each.tags, both):
            rank = 0 if not each.tags else 2 if tags.hold(each.tags, of_host) else 1
            ranked.append((rank, number, each.address))
    return [address for _, _, address in sorted(ranked, reverse=True)]


def _first_of(routers: Iterable[str], network: IPv4Network) -> str:
    """The first in a network, unless none is told before; empty: none."""
    here = [Network(network=network)]
    return next((each for each in routers if not each or within(each, here)), "")


def _card_pattern(text: str) -> re.Pattern[str]:
    """Which MACs `dhcp-mac=` means, `*` being any octet."""
    octets = _KIND_OF_NETWORK.sub("", text).lower().split(":")
    return re.compile(":".join("[0-9a-f]{2}" if each == "*" else re.escape(each.zfill(2)) for each in octets))


def _set_by_card(mac: str, cards: Iterable[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    yield from (tag for pattern, tag in cards if pattern.fullmatch(mac.lower()))


def _set_by(text: str) -> Iterator[str]:
    """The tags that a host's line sets."""
    yield from (each.strip()[4:] for each in text.split(",") if each.strip().lower().startswith(("set:", "net:")))


def _is_set(needed: str, tags: Set[str]) -> bool:
    return any(each.startswith(needed[:-1]) for each in tags) if needed.endswith("*") else needed in tags


def _around(address: str, ranges: Sequence[_Range], own: Set[str], tags: _Tags) -> _Range | None:
    """The range of a host's network (`narrow_context`): one with its address, else the first there.

    Of those without a netmask it is the nearest: if any of them is in its network, that one is.
    """
    if not is_address(address):
        return None
    parsed, _ = parse_address(address)
    fitting = [each for each in ranges if tags.hold(set(each.needed) - set(tags.undecided(each.needed)), own)]
    known = [each for each in fitting if each.network is not None and parsed in each.network]
    nearest = sorted((each for each in fitting if each.network is None), key=lambda each: int(each.first) ^ int(parsed))
    here = known or nearest
    return next((each for each in here if each.first <= parsed <= each.last), next(iter(here), None))


def _host(text: str, line: int, gathered: Gathered, configuration: Configuration, tags: _Tags) -> None:
    macs: list[str] = []
    name = address = ""
    for part in (each.strip() for each in text.split(",")):
        lowered = part.lower()
        if lowered == "ignore":
            gathered.leave_out("dnsmasq is told to ignore it", line)
            return
        if not part or lowered.startswith(_NO_VALUES) or part.startswith("[") or _TIME.match(part):
            continue
        if _WILDCARD.match(_mac(part)) and "*" in part:
            gathered.leave_out(f"{shown(part)} is many MACs", line)
            return
        if _is_mac(_mac(part)) or part.count(":") == 5:
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
    own = tags.all([_KNOWN, *_set_by(text), *_set_by_card(macs[0], configuration.cards)])
    ignored = next((each for each in configuration.ignored if tags.hold(each, own)), None)
    if ignored is not None:
        gathered.leave_out(
            f"dnsmasq is told to ignore it: dhcp-ignore={','.join(f'tag:{each}' for each in sorted(ignored))}", line
        )
        return
    around = _around(address, [each for _, each in configuration.ranges], own, tags)
    needed = [] if around is None else [each for each in around.needed if not each.startswith("!")]
    routers = _routers_of(configuration.routers, [*own, *needed], around, tags)
    gateway = stray = ""
    if around is not None and around.network is not None:
        stray, gateway, routers = next(iter(routers), ""), _first_of(routers, around.network), []
        if not gateway and _first_of(_routers_of(configuration.routers, (), around, tags), around.network):
            # With a prefix, it does not get the gateway of its network, which dnsmasq does not tell it.
            address = f"{address}/{around.network.prefixlen}"
    gathered.add(
        macs=macs,
        foreign=name,
        address=address,
        gateway=gateway,
        routers=takewhile(bool, routers) if address else (),
        stray=stray,
        labels=gathered.labels({}, _set_by(text)),
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
