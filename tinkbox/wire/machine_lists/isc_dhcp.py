"""ISC's dhcpd: the hosts of its configuration (dhcpd.conf(5)) and its leases (dhcpd.leases(5)).

Of a `host NAME { … }`, in whatever group, subnet or pool it stands: `hardware ethernet MAC`, the first IPv4 address of
`fixed-address` (the one in a `subnet` of the file, where there are several), `option host-name`, else NAME.  The prefix and
the router are those of the `subnet` that has the address.
Of a `lease ADDRESS { … }` that is `binding state active` and has not ended: `hardware ethernet` and `client-hostname`; the
last lease of an address is the one that counts.  A file of leases also has the `host`s that were made while dhcpd ran
(omshell): the last of a name counts, and one that is `deleted` is no more.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv4Network
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.machine_lists.listing import Gathered, Network, is_address, shown, whole_mac, within

MAX_DEPTH: Final = 64
HOST: Final = re.compile(r"\bhost\s+\S+\s*\{")
LEASE: Final = re.compile(r"^\s*(?:lease\s+[0-9.]+\s*\{|(?:server-duid|authoring-byte-order)\s)", re.MULTILINE)
INCLUDE: Final = re.compile(r'^\s*include\s+"[^"\n]*"\s*;', re.MULTILINE)
_TOKEN: Final = re.compile(
    r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<mark>[{};])|(?P<word>[^\s"{};#]+)|(?P<other>#[^\n]*|\n|[^\S\n]+|")'
)


@dataclass(slots=True)
class _Block:
    """A `{ … }` while it is read: the words before it, and the statements directly in it."""

    words: list[str]
    line: int
    statements: list[list[str]] = field(default_factory=list)

    def values(self, *words: str) -> list[str]:
        """What follows these words in the last statement that begins with them, empty without one."""
        found = [each for each in self.statements if [word.lower() for word in each[: len(words)]] == list(words)]
        return found[-1][len(words) :] if found else []

    def value(self, *words: str) -> str:
        """The first of these, without its quotes and commas."""
        return next((_bare(each) for each in self.values(*words)), "")


def read_configuration(text: str, gathered: Gathered) -> None:
    """Gather the hosts of a configuration.  Raises Invalid where its braces do not fit."""
    hosts: list[_Block] = []
    for block in _blocks(text):
        kind = block.words[0].lower() if block.words else ""
        if kind == "host":
            hosts.append(block)
        elif kind == "include":
            gathered.include(" ".join(map(_bare, block.words[1:])), block.line)
        elif kind == "subnet" and len(block.words) >= 4:
            try:
                network = IPv4Network((block.words[1], block.words[3]))
            except ValueError:
                gathered.wrong(f"{shown(' '.join(block.words[:4]))} is no network", block.line)
                continue
            gathered.networks.append(Network(network=network, router=block.value("option", "routers")))
    for host in sorted(hosts, key=lambda each: each.line):
        _host(host, gathered)


def read_leases(text: str, gathered: Gathered) -> None:
    """Gather what is lent.  Raises Invalid where its braces do not fit."""
    newest: dict[str, dict[str, _Block]] = {"host": {}, "lease": {}}
    for block in _blocks(text):
        if len(block.words) >= 2 and (of_kind := newest.get(block.words[0].lower())) is not None:
            of_kind.pop(block.words[1], None)
            of_kind[block.words[1]] = block
    reserved = {_mac(host) for host in newest["host"].values() if _host(host, gathered)}
    by_mac: dict[str, _Block] = {}
    for block in newest["lease"].values():
        mac = _mac(block)
        if mac in reserved:
            gathered.leave_out(f"{shown(block.words[1])} is lent to a host that this file has too", block.line)
        elif block.value("binding", "state").lower() != "active":
            gathered.leave_out(f"{shown(block.words[1])} is not lent now", block.line)
        elif (end := _end(block)) and gathered.is_over(end):
            gathered.leave_out(f"the lease of {shown(block.words[1])} is over", block.line)
        elif not mac:
            gathered.leave_out(f"{shown(block.words[1])} names no MAC", block.line)
        else:
            # A card that moved from one network to another has leases of both for a while: the newest counts.
            by_mac[mac] = block
    for mac, block in by_mac.items():
        gathered.add(macs=[mac], foreign=block.value("client-hostname"), address=block.words[1], line=block.line)


def _mac(block: _Block) -> str:
    return whole_mac(block.value("hardware", "ethernet").lower())


def _end(lease: _Block) -> float:
    """When a lease ends, in seconds since 1970; 0: never, or it does not say."""
    words = lease.values("ends")
    try:
        if words[:1] == ["epoch"]:
            return float(words[1])
        return datetime.strptime(" ".join(words[1:3]), "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except (ValueError, IndexError):
        return 0


def _host(host: _Block, gathered: Gathered) -> bool:
    """Gather a host; returns whether it is there, and none that was deleted."""
    named = _bare(host.words[1]) if len(host.words) > 1 else ""
    mac = _mac(host)
    if host.statements and any(each[0].lower() == "deleted" for each in host.statements):
        gathered.leave_out(f"host {shown(named)} was deleted", host.line)
        return False
    if not mac:
        gathered.leave_out(f"host {shown(named)} names no MAC of an Ethernet card", host.line)
        return False
    written = [_bare(part) for each in host.values("fixed-address") for part in each.split(",") if part]
    addresses = [each for each in written if re.fullmatch(r"[0-9.]+", each)]
    address = next((each for each in addresses if within(each, gathered.networks)), addresses[0] if addresses else "")
    others = [shown(each) for each in written if each != address]
    if others and address:
        gathered.change(f"host {shown(named)} is imported with {address}, without {', '.join(others)}", host.line)
    elif others:
        gathered.change(f"the address of host {shown(named)} is a name: it is imported without one", host.line)
    router = host.value("option", "routers")
    gathered.add(
        macs=[mac],
        foreign=host.value("option", "host-name") or named,
        address=address,
        gateway=router if address and is_address(router) else "",
        line=host.line,
    )
    return True


def _blocks(text: str) -> Iterator[_Block]:
    """Every block, each when it ends, and every `include` as one that has nothing in it; raises Invalid."""
    around = [_Block([], 1)]
    words: list[str] = []
    line = begun = 1
    for token in _TOKEN.finditer(text):
        found = token[0]
        if token.lastgroup == "other":
            line += found == "\n"
            if found == '"':
                raise Invalid(f"line {line}: a quote without its end")
            continue
        if token.lastgroup != "mark":
            begun = begun if words else line
            words.append(found)
        elif found == "{":
            if len(around) >= MAX_DEPTH:
                raise Invalid(f"line {line}: more than {MAX_DEPTH} braces within each other")
            around.append(_Block(words, begun if words else line))
            words = []
        elif found == ";":
            if words and words[0].lower() == "include":
                yield _Block(words, begun)
            elif words:
                around[-1].statements.append(words)
            words = []
        else:
            if len(around) == 1:
                raise Invalid(f"line {line}: a brace ends here that did not begin")
            words = []
            yield around.pop()
    if len(around) > 1:
        raise Invalid(f"line {around[-1].line}: a brace begins here that does not end: is the file whole?")


def _bare(word: str) -> str:
    return word.strip('",')
