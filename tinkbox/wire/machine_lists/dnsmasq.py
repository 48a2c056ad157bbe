"""dnsmasq (dnsmasq(8)): its leases, and the hosts of its configuration.

A line of the leases file is `EXPIRY MAC ADDRESS NAME CLIENT-ID`, with `*` for a name that it does not know; lines of DHCPv6
have other fields.  `dhcp-host=` has, in any order and separated by commas: MACs (`06-` before one is its kind of network),
an IPv4 address, `[IPv6]`, the host name, `set:TAG` (`net:TAG` once), `tag:TAG`, `id:CLIENT-ID`, a time, `ignore`.  The file of
--dhcp-hostsfile has the same without `dhcp-host=`.  A tag that is set becomes a label.
"""

import re
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.machine_lists import parse_address
from tinkbox.wire.machine_lists.listing import Gathered, own_labels, own_name, shown

HOST: Final = re.compile(r"\s*(?:--)?dhcp-host\s*=\s*(?P<fields>.*)")
LEASE: Final = re.compile(r"\d+\s+(?P<mac>[0-9A-Fa-f:-]{17,})\s+(?P<ip>\S+)\s+(?P<name>\S+)(?:\s+\S+)?\s*")
_KIND_OF_NETWORK: Final = re.compile(r"[0-9A-Fa-f]{1,2}-(?=[0-9A-Fa-f]{2}:)")
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
        else:
            name = "" if found["name"] == "*" else own_name(found["name"])
            by_mac[_mac(found["mac"]).lower()] = line, name, found["ip"]
    for mac, (line, name, address) in by_mac.items():
        gathered.add(macs=[mac], name=name, address=address, line=line)


def read_hosts(text: str, gathered: Gathered) -> None:
    """Gather the hosts of a configuration, where other lines are something else, or of a file of hosts."""
    lines = text.splitlines()
    is_configuration = any(HOST.match(each) for each in lines)
    for line, written in enumerate(lines, start=1):
        bare = re.sub(r"(?:^|\s)#.*", "", written).strip()
        found = HOST.match(bare)
        if bare and (found or not is_configuration):
            _host(found["fields"] if found else bare, line, gathered)


def is_host(line: str) -> bool:
    """Whether a line may be one of --dhcp-hostsfile: a field of it is a MAC."""
    return any(_is_mac(_mac(each)) for each in line.split(",")) and "," in line


def _host(text: str, line: int, gathered: Gathered) -> None:
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
        elif _is_address(part) or re.fullmatch(r"[\d.]+", part):
            address = part
        else:
            name = part
    if not macs:
        gathered.leave_out("it names no MAC", line)
        return
    gathered.add(macs=macs, name=own_name(name), address=address, labels=own_labels({}, tags), line=line)


def _mac(text: str) -> str:
    return _KIND_OF_NETWORK.sub("", text.strip())


def _is_mac(text: str) -> bool:
    try:
        MacAddress(text)
    except Invalid:
        return False
    return ":" in text


def _is_address(text: str) -> bool:
    try:
        parse_address(text)
    except Invalid:
        return False
    return True
