"""ISC's dhcpd: the hosts of its configuration (dhcpd.conf(5)) and its leases (dhcpd.leases(5)).

Of a `host NAME { … }`, in whatever group, subnet or pool it stands: `hardware ethernet MAC`, the first IPv4 address of
`fixed-address` (the one in a `subnet` of the files, where there are several), `option host-name`, else NAME.  The prefix is that
of the `subnet` that has the address.  `option routers` counts by scope, as dhcpd does it (`execute_statements_in_scope`): first
what the host stands in, from the innermost, as far as its subnet does not stand in it too; then the subnet, and what that stands
in; in one scope the last statement.  So does `deny booting`, with which a host is left out.  What an included file states that is
read too, the scope states that includes it; files that none includes are one.
Of a `lease ADDRESS { … }` that is `binding state active` and has not ended: `hardware ethernet` and `client-hostname`; the
last lease of an address is the one that counts.  A file of leases also has the `host`s that were made while dhcpd ran
(omshell): the last of a name counts, and one that is `deleted` is no more.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv4Network
from itertools import takewhile
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.machine_lists import parse_address
from tinkbox.wire.machine_lists.listing import Gathered, Network, Unread, is_address, own_name, shown, whole_mac

MAX_DEPTH: Final = 64
HOST: Final = re.compile(r"\bhost\s+\S+\s*\{")
LEASE: Final = re.compile(r"^[^\S\n]*(?:lease\s+[0-9.]+\s*\{|(?:server-duid|authoring-byte-order)\s)", re.MULTILINE)
SUBNET: Final = re.compile(r"^[^\S\n]*(?:shared-network\s+\S+|subnet\s+[0-9.]+\s+netmask\s+[0-9.]+)\s*\{", re.MULTILINE)
INCLUDE: Final = re.compile(r'^[^\S\n]*include\s+"[^"\n]*"\s*;', re.MULTILINE)
_ROUTERS: Final = ("option", "routers")
_UNREAD: Final[Mapping[tuple[str, ...], Unread]] = {
    ("option", "domain-name-servers"): Unread.DNS,
    ("option", "ntp-servers"): Unread.NTP,
}
# What stands in these is for machines that send something.
_CONDITIONS: Final = frozenset({"class", "subclass", "if", "elsif", "else", "switch"})
_BOOTING: Final = ("allow", "booting")
# Of statements that begin with one of these, and of those with the other, the last counts.
_SAME: Final[Mapping[str, str]] = {"deny": "allow", "ignore": "allow", "supersede": "option"}
# Blocks of statements; `}` ends other things too, such as the types of `option NAME code 200 = { text, ip-address };`.
_OF_STATEMENTS: Final = frozenset({"host", "group", "subnet", "shared-network", "pool", "lease"})
# What begins a statement, and stands in none that begins with one of these.
_BEGINNINGS: Final = _OF_STATEMENTS | {"hardware", "fixed-address", "option", "filename", "next-server", "range"}
_TOKEN: Final = re.compile(
    r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<mark>[{};])|(?P<word>=|[^\s"{};#=]+)|(?P<other>#[^\n]*|\n|[^\S\n]+|")'
)


@dataclass(frozen=True, slots=True, eq=False)
class _Statement:
    """What stands between two semicolons, and the file that it is of."""

    words: Sequence[str]
    line: int
    gathered: Gathered


@dataclass(slots=True, eq=False)
class _Block:
    """A `{ … }` or a file while it is read: the words before it, what it stands in, and the statements directly in it.

    `statements` are the last that begin with a word, and with two words, all in small letters, by `_SAME` for the first.
    """

    words: Sequence[str]
    line: int
    around: "_Block | None" = None
    statements: dict[tuple[str, ...], _Statement] = field(default_factory=dict)

    def state(self, statement: _Statement) -> None:
        first, *second = (each.lower() for each in statement.words[:2])
        first = _SAME.get(first, first)
        self.statements[(first,)] = self.statements[first, *second] = statement

    def values(self, *words: str) -> Sequence[str]:
        """What follows these one or two words in the last statement that begins with them, empty without one."""
        found = self.statements.get(words)
        return found.words[len(words) :] if found else ()

    def value(self, *words: str) -> str:
        """The first of these, without its quotes and commas."""
        return next((_bare(each) for each in self.values(*words)), "")

    def scopes(self) -> "Iterator[_Block]":
        """Itself, and what it stands in, from the innermost."""
        scope: _Block | None = self
        while scope is not None:
            yield scope
            scope = scope.around


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subnet:
    network: IPv4Network
    block: _Block


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    whole: _Block
    hosts: Sequence[_Block]
    subnets: Sequence[_Subnet]
    includes: Sequence[_Block]
    conditions: Sequence[_Block]
    gathered: Gathered


@dataclass(slots=True)
class Files:
    """The configurations of dhcpd among the files."""

    files: list[_File] = field(default_factory=list)


def take(text: str, gathered: Gathered, files: Files) -> None:
    """Take in one file of a configuration.  Raises Invalid where its braces or semicolons do not fit."""
    hosts: list[_Block] = []
    subnets: list[_Subnet] = []
    includes: list[_Block] = []
    conditions: list[_Block] = []
    unread: list[tuple[int, Unread]] = []
    whole = _Block((), 1)
    for block in (*_blocks(text, whole, gathered), whole):
        unread += [(block.statements[words].line, what) for words, what in _UNREAD.items() if words in block.statements]
        kind = block.words[0].lower() if block.words else ""
        if kind == "host":
            hosts.append(block)
        elif kind in _CONDITIONS and _ROUTERS in block.statements:
            conditions.append(block)
        elif kind == "include":
            includes.append(block)
            gathered.include(_path(block), block.line)
        elif kind == "subnet" and len(block.words) >= 4:
            try:
                subnets.append(_Subnet(network=IPv4Network((block.words[1], block.words[3])), block=block))
            except ValueError:
                gathered.wrong(f"{shown(' '.join(block.words[:4]))} is no network", block.line)
    for line, what in sorted(unread):
        gathered.leave_unread(what, line)
    hosts.sort(key=lambda each: each.line)
    files.files.append(
        _File(whole=whole, hosts=hosts, subnets=subnets, includes=includes, conditions=conditions, gathered=gathered)
    )


def gather(files: Files) -> None:
    """Gather the hosts, each into the gathering of its file."""
    _put_where_included(files)
    subnets = [each for file in files.files for each in file.subnets]
    for file in files.files:
        for subnet in file.subnets:
            router = _router(_last(subnet.block.scopes(), _ROUTERS))
            file.gathered.networks.append(Network(network=subnet.network, router=router if is_address(router) else ""))
    told: set[_Statement] = set()
    for file in files.files:
        for each in file.conditions:
            file.gathered.change(
                f"the routers of this {_bare(each.words[0])} are not read, for whom they are depends on what a machine sends: "
                "write them into the hosts that they are for",
                each.line,
            )
        for host in file.hosts:
            _host(host, file.gathered, subnets, told)


def _put_where_included(files: Files) -> None:
    """Let each file stand in what includes it, which states what the file states.

    The others are one, as if they were written behind each other.
    """
    included: dict[_Block, tuple[_Block, Gathered]] = {}
    for file in files.files:
        for include in file.includes:
            path = _path(include)
            best = max(files.files, key=lambda each: _common_end(each.gathered.file, path))
            is_read = _common_end(best.gathered.file, path) > 0
            if is_read and best.whole.around is None and best.whole not in include.scopes():
                best.whole.around = include.around
                included[best.whole] = include, file.gathered
    top = _Block((), 1)
    wholes = {file.whole for file in files.files}
    for file in files.files:
        file.whole.around = file.whole.around or top
    for whole in [file.whole for file in files.files]:
        include, of = included.get(whole, (whole, None))
        scope = next(each for each in whole.scopes() if each not in wholes)
        for words, statement in whole.statements.items():
            there = scope.statements.get(words)
            if there is None or there.gathered is not of or there.line < include.line:
                scope.statements[words] = statement
        whole.statements = {}


def _common_end(path: str, other: str) -> int:
    """How many names at the ends of two paths are the same."""
    pairs = zip(reversed(path.split("/")), reversed(other.split("/")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def read_leases(text: str, gathered: Gathered) -> None:
    """Gather what is lent.  Raises Invalid where its braces do not fit."""
    newest: dict[str, dict[str, _Block]] = {"host": {}, "lease": {}}
    for block in _blocks(text, _Block((), 1), gathered):
        if len(block.words) >= 2 and (of_kind := newest.get(block.words[0].lower())) is not None:
            of_kind.pop(block.words[1], None)
            of_kind[block.words[1]] = block
    reserved = {_mac(host) for host in newest["host"].values() if _host(host, gathered, (), set())}
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


def _host(host: _Block, gathered: Gathered, subnets: Sequence[_Subnet], told: set[_Statement]) -> bool:
    """Gather a host; returns whether it is there, and none that was deleted.  `told` are the routers that were told of."""
    named = _bare(host.words[1]) if len(host.words) > 1 else ""
    mac = _mac(host)
    if ("deleted",) in host.statements:
        gathered.leave_out(f"host {shown(named)} was deleted", host.line)
        return False
    if not mac:
        gathered.leave_out(f"host {shown(named)} names no MAC of an Ethernet card", host.line)
        return False
    written = [part for each in host.values("fixed-address") for part in _parts(each)]
    addresses = [each for each in written if re.fullmatch(r"[0-9.]+", each)]
    around = {each: found for each in addresses if (found := _around(each, subnets))}
    address = next(iter([*around, *addresses]), "")
    others = [shown(each) for each in written if each != address]
    subnet = around.get(address)
    beyond = list(subnet.block.scopes()) if subnet else []
    own = list(takewhile(lambda scope: scope not in beyond, host.scopes()))
    booting = _last([*own, *beyond], _BOOTING)
    if booting and booting.words[0].lower() in _SAME:
        gathered.leave_out(f"dhcpd does not answer host {shown(named)}: {' '.join(booting.words)}", host.line)
        return True
    if others and address:
        gathered.change(f"host {shown(named)} is imported with {address}, without {', '.join(others)}", host.line)
    elif others:
        gathered.change(
            f"the address of host {shown(named)} is a name: it is imported without one; write its address there",
            host.line,
        )
    gateway = _router(_last(own, _ROUTERS)) if address else ""
    router = _last([*own, *beyond], _ROUTERS) if address else None
    if router and not is_address(_router(router)) and router not in told:
        told.add(router)
        router.gathered.change(
            f"the router {shown(_router(router))} is no address: its hosts are imported without it; write its address there",
            router.line,
        )
    if gateway and not is_address(gateway):
        # With a prefix, it does not get the gateway of its subnet, which dhcpd does not tell it.
        gateway, address = "", f"{address}/{subnet.network.prefixlen}" if subnet else address
    gathered.add(
        macs=[mac],
        foreign=_host_name(host, named, gathered) or named,
        address=address,
        gateway=gateway,
        line=host.line,
    )
    return True


def _host_name(host: _Block, named: str, gathered: Gathered) -> str:
    """The name that `option host-name` tells a host; empty: none, or one that dhcpd makes when it is asked, which is told."""
    words = host.values("option", "host-name")
    if words[:1] != ["="]:
        return _bare(words[0]) if words else ""
    if len(words) == 2 and words[1].startswith('"'):
        return _bare(words[1])
    gathered.change(
        f"the option host-name of host {shown(named)} is an expression: it is imported as {own_name(named)}", host.line
    )
    return ""


def _around(address: str, subnets: Iterable[_Subnet]) -> _Subnet | None:
    if not is_address(address):
        return None
    parsed, _ = parse_address(address)
    return next((each for each in subnets if parsed in each.network), None)


def _last(scopes: Iterable[_Block], words: tuple[str, str]) -> _Statement | None:
    """The last statement that begins so, of the first scope that has one."""
    return next((scope.statements[words] for scope in scopes if words in scope.statements), None)


def _router(statement: _Statement | None) -> str:
    """The first router that it tells, which may be a name or begin an expression; empty: none."""
    words = statement.words[2:] if statement else ()
    return next((part for each in words if each != "=" for part in _parts(each)), "")


def _blocks(text: str, whole: _Block, gathered: Gathered) -> Iterator[_Block]:
    """Every block in the `whole`, each when it ends, and every `include` as one that has nothing in it; raises Invalid."""
    around = [whole]
    words: list[str] = []
    begun = 1
    for line, kind, found in _tokens(text):
        if kind != "mark":
            if len(words) > 1 and "=" not in words and {words[0].lower(), found.lower()} <= _BEGINNINGS:
                raise _unended(words, begun)
            begun = begun if words else line
            words.append(found)
        elif found == "{":
            if len(around) >= MAX_DEPTH:
                raise Invalid(f"line {line}: more than {MAX_DEPTH} braces within each other")
            around.append(_Block(words, begun if words else line, around[-1]))
            words = []
        elif found == ";":
            if words and words[0].lower() == "include":
                yield _Block(words, begun, around[-1])
            elif words:
                around[-1].state(_Statement(words, begun, gathered))
            words = []
        else:
            _check_end(around, words, begun, line)
            words = []
            yield around.pop()
    _check_whole(around, words, begun)


def _tokens(text: str) -> Iterator[tuple[int, str, str]]:
    """Each with its line and its group of `_TOKEN`, without comments and spaces; raises Invalid."""
    line = 1
    for token in _TOKEN.finditer(text):
        if token.lastgroup != "other":
            yield line, str(token.lastgroup), token[0]
        elif token[0] == '"':
            raise Invalid(f"line {line}: a quote without its end")
        line += token[0] == "\n"


def _check_end(around: Sequence[_Block], words: Sequence[str], begun: int, line: int) -> None:
    """Raise Invalid where no block may end: `words` began at the line `begun`, and no semicolon ended them."""
    if len(around) == 1:
        raise Invalid(f"line {line}: a brace ends here that did not begin: take it out, or write the {{ that it lacks")
    if words and around[-1].words and around[-1].words[0].lower() in _OF_STATEMENTS:
        raise _unended(words, begun)


def _check_whole(around: Sequence[_Block], words: Sequence[str], begun: int) -> None:
    """Raise Invalid where no file may end."""
    if len(around) > 1:
        begins = shown(" ".join(around[-1].words))
        raise Invalid(
            f"line {around[-1].line}: {begins} has no }} at its end: write it there, or name the whole file if this is a piece"
        )
    if words:
        raise _unended(words, begun)


def _unended(words: Sequence[str], line: int) -> Invalid:
    return Invalid(f"line {line}: {shown(' '.join(words))} has no semicolon at its end: write it there")


def _path(include: _Block) -> str:
    return " ".join(map(_bare, include.words[1:]))


def _parts(word: str) -> list[str]:
    return [each for each in map(_bare, word.split(",")) if each]


def _bare(word: str) -> str:
    return word.strip('",')
