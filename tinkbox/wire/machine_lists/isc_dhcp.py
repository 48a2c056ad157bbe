"""ISC's dhcpd: the hosts of its configuration (dhcpd.conf(5)) and its leases (dhcpd.leases(5)).

Of a `host NAME { … }`, in whatever group, subnet or pool it stands: `hardware ethernet MAC`, the first IPv4 address of
`fixed-address`, `option host-name`, else NAME.  The prefix and the router are those of the `subnet` that has the address.
Of a `lease ADDRESS { … }` that is `binding state active`: `hardware ethernet` and `client-hostname`; the last lease of an
address is the one that counts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.wire.machine_lists.listing import Gathered, Network, own_name, shown, within

MAX_DEPTH: Final = 64
HOST: Final = re.compile(r"\bhost\s+\S+\s*\{")
LEASE: Final = re.compile(r"^\s*lease\s+[0-9.]+\s*\{", re.MULTILINE)
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
    networks: list[Network] = []
    for block in _blocks(text):
        kind = block.words[0].lower() if block.words else ""
        if kind == "host":
            hosts.append(block)
        elif kind == "subnet" and len(block.words) >= 4:
            try:
                network = IPv4Network((block.words[1], block.words[3]))
            except ValueError:
                gathered.wrong(f"{shown(' '.join(block.words[:4]))} is no network", block.line)
                continue
            networks.append(Network(network=network, router=block.value("option", "routers")))
    for host in sorted(hosts, key=lambda each: each.line):
        _host(host, networks, gathered)


def read_leases(text: str, gathered: Gathered) -> None:
    """Gather what is lent.  Raises Invalid where its braces do not fit."""
    newest: dict[str, _Block] = {}
    for block in _blocks(text):
        if len(block.words) >= 2 and block.words[0].lower() == "lease":
            newest.pop(block.words[1], None)
            newest[block.words[1]] = block
    by_mac: dict[str, _Block] = {}
    for block in newest.values():
        mac = block.value("hardware", "ethernet")
        if block.value("binding", "state").lower() != "active":
            gathered.leave_out(f"{shown(block.words[1])} is not lent now", block.line)
        elif not mac:
            gathered.leave_out(f"{shown(block.words[1])} names no MAC", block.line)
        else:
            # A card that moved from one network to another has leases of both for a while: the newest counts.
            by_mac[mac.lower()] = block
    for mac, block in by_mac.items():
        name = own_name(block.value("client-hostname"))
        gathered.add(macs=[mac], name=name, address=block.words[1], line=block.line)


def _host(host: _Block, networks: list[Network], gathered: Gathered) -> None:
    named = _bare(host.words[1]) if len(host.words) > 1 else ""
    mac = host.value("hardware", "ethernet")
    if host.statements and any(each[0].lower() == "deleted" for each in host.statements):
        gathered.leave_out(f"host {shown(named)} was deleted", host.line)
        return
    if not mac:
        gathered.leave_out(f"host {shown(named)} names no MAC of an Ethernet card", host.line)
        return
    addresses = [_bare(part) for each in host.values("fixed-address") for part in each.split(",") if part]
    address = addresses[0] if addresses else ""
    if address and not re.fullmatch(r"[0-9.]+", address):
        gathered.leave_out(f"the address of host {shown(named)} is a name: it is imported without one", host.line)
        address = ""
    reserved, router = within(address, networks)
    router = (host.value("option", "routers") or router) if reserved else ""
    name = own_name(host.value("option", "host-name") or named)
    gathered.add(
        macs=[mac],
        name=name,
        address=reserved,
        gateway=router if re.fullmatch(r"[0-9.]+", router) else "",
        line=host.line,
    )


def _blocks(text: str) -> Iterator[_Block]:
    """Every block, each when it ends; raises Invalid."""
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
            if words:
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
