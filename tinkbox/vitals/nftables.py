"""What `nft --json list ruleset` prints, as rules.  Pure."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final, TypeVar

from tinkbox.model.vitals import ShutPort, TakenPort, firewalld_opens
from tinkbox.vitals.filter_rules import Chain, Drop, Kind, Rule, Verdict, dropped, is_unclear, may_be_diverted
from tinkbox.vitals.flows import Flow, Match, Port, Way, above, all_of, any_of, negated, surely
from tinkbox.vitals.limited_flows import LimitedFlows

_HOOKS: Final = {
    Way.IN: frozenset({"input", "prerouting", "ingress"}),
    Way.OUT: frozenset({"output", "postrouting", "egress"}),
}
# These see packets on one device, before or after all other tables.
_DEVICE_HOOKS: Final = frozenset({"ingress", "egress"})
# At these hooks the header of the frame counts for `meta length`.
_FRAMED: Final = {"egress": 14}
_UDP_BEHIND: Final = 20  # `udp length` begins behind the IP header
_FAMILIES: Final = frozenset({"ip", "inet", "bridge", "netdev"})
_FILTERING: Final = frozenset({"filter", "route"})
_VERDICTS: Final = {
    "drop": Kind.DROP,
    "reject": Kind.DROP,
    "accept": Kind.ACCEPT,
    "masquerade": Kind.ACCEPT,  # the address of the interface that a packet leaves by is ours
    "continue": Kind.CONTINUE,
    "return": Kind.RETURN,
    "jump": Kind.JUMP,
    "goto": Kind.GOTO,
}
_DIVERSIONS: Final = frozenset({"dnat", "redirect", "snat"})
# Statements that decide nothing: `dup` sends a copy, and `flow` shortens the way of what is forwarded.
_IDLE: Final = frozenset(
    {"counter", "log", "notrack", "ct helper", "ct timeout", "ct expectation", "dup", "flow", "secmark", "last"}
)
# What can be changed of a packet so that another gets it, or that it comes from another.
_LEADING_FIELDS: Final = frozenset({"saddr", "daddr", "sport", "dport", "protocol", "type"})
# Statements that may end a rule early; whatever else there is decides for itself.
_CONDITIONS: Final = frozenset({"match", "limit", "ct count", "quota", "meter", "set", "map"})
# Of these, those that hold for a part of what comes, whatever that is; such a statement may also stand in one that fills a set.
_LIMITS: Final = frozenset({"limit", "ct count", "quota"})
_PROTOCOLS: Final = {"udp": ("udp", 17), "tcp": ("tcp", 6)}
_ETHERNET_OF_ALL: Final = "ff:ff:ff:ff:ff:ff"
# What depends on the machine, or on what was before: that a rule asks for it is no reason to say that it is not understood.
_OPEN_META: Final = frozenset(
    {"mark", "pkttype", "skuid", "skgid", "length", "priority", "cpu", "iifgroup", "oifgroup"}
)
_READ_META: Final = frozenset(
    {"iifname", "iif", "oifname", "oif", "ibrname", "obrname", "l4proto", "nfproto", "protocol"}
)
_OPEN_CT: Final = frozenset({"mark", "direction", "status", "expiration", "bytes", "packets", "label", "zone"})
# Several devices are printed without quotes.
_DEVICES_TOLD: Final = re.compile(r'device "(?P<one>[^"]+)"|devices = \{(?P<several>[^}]+)\}')
_CATCH_ALL: Final = "*"
_BOUNDS: Final[Mapping[str, Callable[[int], tuple[int, int]]]] = {
    "<": lambda port: (0, port - 1),
    "<=": lambda port: (0, port),
    ">": lambda port: (port + 1, 65535),
    ">=": lambda port: (port, 65535),
}
# Elements of which each is looked at by itself, of a verdict map or of a set of several keys; more are not read.
_MOST: Final = 4096
_MOST_PORTS: Final = 64  # of a bridge, of which each is looked at by itself
_V = TypeVar("_V", int, IPv4Address)
Entry = Mapping[str, Any]
_Table = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutChain:
    """A port that is shut, or taken `to` elsewhere, and where: `handle` numbers the rule in its `chain`, None for the chain's policy.

    `above` and `behind` are as in `ShutPort`.
    """

    port: Port
    way: Way
    family: str
    table: str
    base: str
    chain: str
    handle: int | None
    to: str = ""
    above: int = 0
    behind: str = ""

    def told(self, text: str) -> ShutPort:
        """The same with the rule's or policy's own words."""
        return ShutPort(
            interface=self.port.interface,
            port=self.port.port,
            protocol=self.port.protocol,
            why=self._where(text),
            asked=self.port.what,
            firewall="firewalld" if self._is_of_firewalld else "nft",
            opens=self._opens(),
            shows=f"nft list chain {self.family} {self.table} {self.chain}",
            above=self.above,
            behind=self.behind,
        )

    def taken(self, text: str) -> TakenPort:
        """The same of a port that is taken."""
        return TakenPort(
            interface=self.port.interface,
            port=self.port.port,
            protocol=self.port.protocol,
            asked=self.port.what,
            to=self.to,
            why=self._where(text),
            chain=f"{self.table} {self.chain}",
            gives_back=f"nft delete rule {self.family} {self.table} {self.chain} handle {self.handle}",
        )

    def _where(self, text: str) -> str:
        return f"nft, table {self.family} {self.table}, chain {self.chain}: {text}"

    @property
    def _is_of_firewalld(self) -> bool:
        return self.table == "firewalld" and self.way is Way.IN

    def _opens(self) -> str:
        port = self.port
        if self._is_of_firewalld:
            return firewalld_opens(port.interface, port.port, port.protocol)
        device = port.interface if self.family in ("ip", "inet") else self.behind if self.family == "bridge" else ""
        if self.way is Way.IN:
            by = f'iifname "{device}" ' if device else ""
            what = f"{port.protocol} dport {port.port}"
        else:
            by = f'oifname "{device}" ' if device else ""
            number = port.replies_from
            what = f"meta l4proto {port.protocol}" if number is None else f"{port.protocol} sport {number}"
        return f"nft insert rule {self.family} {self.table} {self.base} {by}{what} accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Base:
    """A chain that the kernel calls at a `hook`; `devices` are those of one that belongs to devices."""

    at: _Table
    chain: str
    hook: str
    devices: frozenset[str]

    def flow(self, port: Port, way: Way, bridged: frozenset[str], sizes: tuple[int, int] | None = None) -> Flow | None:
        """What it sees of the packets of a port; None: nothing, or not all.  `bridged` are the ports of the bridge that the interface is."""
        own = frozenset({port.interface})
        return self._flow(port, way, own if self._sees(own) else bridged if self._sees_ports(bridged) else None, sizes)

    def flow_behind(self, port: Port, way: Way, behind: str, sizes: tuple[int, int] | None = None) -> Flow | None:
        """What it sees of those packets of a port that go through one port of the bridge; None: nothing, or not as such."""
        part = frozenset({behind})
        return self._flow(port, way, part if self._sees_ports(part) else None, sizes)

    def _sees(self, own: frozenset[str]) -> bool:
        return own <= self.devices if self.hook in _DEVICE_HOOKS else self.at[0] != "bridge"

    def _sees_ports(self, ports: frozenset[str]) -> bool:
        return bool(ports) and (ports <= self.devices if self.hook in _DEVICE_HOOKS else self.at[0] == "bridge")

    def _flow(self, port: Port, way: Way, seen: frozenset[str] | None, sizes: tuple[int, int] | None) -> Flow | None:
        if self.hook not in _HOOKS[way] or seen is None:
            return None
        return Flow(port=port, way=way, devices=seen, sizes=sizes, framed=_FRAMED.get(self.hook, 0))


class _Values:
    """What a key is compared with.  Sets may have many thousands of elements: each is parsed once, and compared once with a flow."""

    def __init__(self, told: Sequence[Any]) -> None:
        self.told = [each["elem"]["val"] if isinstance(each, dict) and "elem" in each else each for each in told]
        self._matches: dict[tuple[str, Flow], Match] = {}

    @cached_property
    def ports(self) -> Sequence[tuple[int, int] | None]:
        return [_ports(each) for each in self.told]

    @cached_property
    def addresses(self) -> Sequence[tuple[IPv4Address, IPv4Address] | None]:
        return [_addresses(each) for each in self.told]

    @cached_property
    def has_all(self) -> bool:
        return _CATCH_ALL in self.told

    @cached_property
    def parts(self) -> Sequence[Sequence["_Values"]]:
        """Of values of several keys each part."""
        return [[_Values([part]) for part in each["concat"]] for each in self.told if each != _CATCH_ALL]

    def are_read(self, left: object) -> bool:
        """Whether all are known here as values of a key."""
        match left:
            case {"concat": keys}:
                is_small = len(self.told) <= _MOST
                return is_small and all(
                    part.are_read(key) for parts in self.parts for key, part in zip(keys, parts, strict=True)
                )
            case {"payload": {"field": "dport" | "sport"}}:
                return self.has_all or None not in self.ports
            case {"payload": {"protocol": "ip", "field": "daddr" | "saddr"}}:
                return self.has_all or None not in self.addresses
        return True

    def match(self, left: object, flow: Flow) -> Match:
        """Whether a flow has one of them under a key."""
        if self.has_all:
            return Match.YES
        if len(self.told) == 1:
            return _compared(left, self, flow)
        at = str(left), flow
        if at not in self._matches:
            self._matches[at] = _compared(left, self, flow)
        return self._matches[at]


class Ruleset:
    """All tables that packets to and from this host come through.  Making one raises ValueError for what nft does not print.

    `devices` are those of chains that belong to devices, by table and chain, where what nft told has none (1.0.6 and older).
    `bridged` are the ports of those of our interfaces that are bridges.
    """

    def __init__(
        self,
        told: str,
        devices: Mapping[tuple[str, str], frozenset[str]] | None = None,
        bridged: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self._bridged = bridged or {}
        try:
            entries: Sequence[Entry] = json.loads(told)["nftables"]
            self._sets = {name: _Values(told) for name, told in _named(entries, "set").items()}
            self._maps = _named(entries, "map")
            self._filters: list[_Base] = []
            self._diverting: list[_Base] = []
            self._rewriting: list[_Base] = []
            self._may_be_redirected: dict[Flow, bool] = {}
            self._lengths: set[int] = set()
            self._names: set[str] = set()  # of devices that rules ask for
            self._keeping_addresses = _keeping_addresses(entries)
            self._chains: dict[_Table, dict[str, Chain]] = {}
            rules: dict[tuple[_Table, str], list[Rule]] = {}
            for each in (entry["rule"] for entry in entries if "rule" in entry):
                at = (each["family"], each["table"])
                rules.setdefault((at, each["chain"]), []).extend(self._rules(at, each))
            for each in (entry["chain"] for entry in entries if "chain" in entry):
                at = (each["family"], each["table"])
                if each["family"] not in _FAMILIES:
                    continue
                if "hook" in each:
                    named = each.get("dev", ())
                    own = frozenset([named] if isinstance(named, str) else named)
                    base = _Base(
                        at=at,
                        chain=each["name"],
                        hook=each["hook"],
                        devices=own or (devices or {}).get((each["table"], each["name"]), own),
                    )
                    if each.get("type") in _FILTERING:
                        self._filters.append(base)
                    elif each.get("type") == "nat" and each["hook"] == "prerouting":
                        self._diverting.append(base)
                    elif each.get("type") == "nat" and each["hook"] in _HOOKS[Way.OUT]:
                        self._rewriting.append(base)
                drops_rest = each.get("policy") == "drop"
                self._chains.setdefault(at, {})[each["name"]] = Chain(
                    rules=rules.get((at, each["name"]), ()), drops_rest=drops_rest
                )
            self._limits = {at: LimitedFlows(chains) for at, chains in self._chains.items()}
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"not what nft prints: {type(error).__name__}: {error}") from None

    def shut(self, ports: Iterable[Port], way: Way) -> Iterator[ShutChain]:
        """The ports to which nothing gets through, or from which no reply does, or none that is long; also behind a port of a bridge."""
        return (each for each in self._found([*self._filters, *self._diverting], ports, way) if not each.to)

    def limited(self, ports: Iterable[Port], way: Way) -> Iterator[ShutChain]:
        """The ports of whose questions, or replies, a part is surely dropped, with the rule that has the limit."""
        for port in ports:
            bridged = self._bridged.get(port.interface, frozenset[str]())
            of_all = self._limited_of(port, way, bridged)
            if of_all is not None:
                yield of_all
                continue
            for each in self._told_apart(bridged)[:_MOST_PORTS]:
                found = self._limited_of(port, way, bridged, each)
                if found is not None:
                    yield found

    def _limited_of(self, port: Port, way: Way, bridged: frozenset[str], behind: str = "") -> ShutChain | None:
        for base in self._filters:
            flow = base.flow_behind(port, way, behind) if behind else base.flow(port, way, bridged)
            found = self._limits[base.at].dropped(base.chain, flow) if flow is not None else None
            if found is not None:
                return replace(_shut(port, way, base, found), behind=behind)
        return None

    def taken(self, ports: Iterable[Port]) -> Iterator[ShutChain]:
        """The ports of which all is diverted to elsewhere."""
        return (each for each in self._found(self._diverting, ports, Way.IN) if each.to)

    def unclear(self, ports: Iterable[Port]) -> Iterator[str]:
        """The tables of which it is not known here what they do with what is for our ports, or comes from them; each once."""
        found: dict[_Table, None] = {}
        ports = [*ports]
        if ports:
            found |= dict.fromkeys(self._keeping_addresses)
        for port in ports:
            for way in Way if port.replies else (Way.IN,):
                for base in [*self._filters, *self._diverting, *self._rewriting]:
                    if base.at not in found and self._is_unclear(base, port, way):
                        found[base.at] = None
        return (" ".join(each) for each in found)

    def _is_unclear(self, base: _Base, port: Port, way: Way) -> bool:
        bridged, chains = self._bridged.get(port.interface, frozenset()), self._chains[base.at]
        flow = base.flow(port, way, bridged)
        if flow is not None and base in self._rewriting:
            return flow.opens and (
                is_unclear(chains, base.chain, flow) or dropped(chains, base.chain, flow) is not None
            )
        if flow is not None and self._is_unclear_of(base, flow):
            return True
        told = self._told_apart(bridged)
        behind = [base.flow_behind(port, way, each) for each in told]
        return any(each is not None and self._is_unclear_of(base, each) for each in behind[:_MOST_PORTS]) or any(
            each is not None and dropped(chains, base.chain, each) is not None for each in behind[_MOST_PORTS:]
        )

    def _is_unclear_of(self, base: _Base, flow: Flow) -> bool:
        limits = self._limits[base.at]
        if limits.dropped(base.chain, flow) is not None:
            return False
        return is_unclear(self._chains[base.at], base.chain, flow) or limits.is_unclear(base.chain, flow)

    def _found(self, bases: Sequence[_Base], ports: Iterable[Port], way: Way) -> Iterator[ShutChain]:
        for port in ports:
            bridged = self._bridged.get(port.interface, frozenset[str]())
            of_all = self._found_of(bases, port, way, bridged)
            if of_all is not None:
                yield of_all
                if not of_all.above:
                    continue
            for each in self._told_apart(bridged)[:_MOST_PORTS]:
                found = self._found_of(bases, port, way, bridged, each)
                if found is not None and (of_all is None or found.above < of_all.above):
                    yield found

    def _found_of(
        self, bases: Sequence[_Base], port: Port, way: Way, bridged: frozenset[str], behind: str = ""
    ) -> ShutChain | None:
        """What drops the replies or questions of a port, or of all that is `behind` one port of the bridge: first what drops all of them."""
        for sizes in (None, *(port.needed_sizes(self._lengths) if way is Way.OUT else ())):
            for base in bases:
                flow = base.flow_behind(port, way, behind, sizes) if behind else base.flow(port, way, bridged, sizes)
                found = dropped(self._chains[base.at], base.chain, flow) if flow is not None else None
                if found is not None:
                    return replace(_shut(port, way, base, found), above=above(sizes), behind=behind)
        return None

    def _told_apart(self, bridged: frozenset[str]) -> list[str]:
        """The ports of a bridge where rules tell some apart from others, those first; empty: none does."""
        at = {device for each in self._filters for device in each.devices} | self._names
        begin = tuple(each[:-1] for each in self._names if each.endswith("*"))
        named = sorted(each for each in bridged if each in at or each.startswith(begin))
        return [*named, *sorted(bridged.difference(named))] if named else []

    def _rules(self, at: _Table, rule: Entry) -> Iterator[Rule]:
        """One rule, or for a verdict map one for each of its verdicts."""
        conditions: list[Entry] = []
        text = str(rule["handle"])
        for each in rule["expr"]:
            name, value = next(iter(each.items()))
            if name in _DIVERSIONS:
                yield from self._diverted(at, conditions, value, text)
                return
            if name in _VERDICTS:
                yield self._rule(at, conditions, _verdict(name, value), text)
                return
            if name == "vmap":
                yield from self._mapped(at, conditions, value, text)
                return
            if name in _IDLE or (name == "mangle" and not _leads_elsewhere(value["key"])):
                continue
            conditions.append(each)
            if name not in _CONDITIONS and name != "xt":  # what follows hangs on what it does
                break
        decides = any(next(iter(each)) not in _CONDITIONS for each in conditions)
        yield self._rule(at, conditions, Verdict(kind=Kind.UNKNOWN if decides else Kind.CONTINUE), text)

    def _mapped(self, at: _Table, conditions: Sequence[Entry], vmap: Entry, text: str) -> Iterator[Rule]:
        pairs = self._pairs(at, vmap["data"])
        if pairs is None or not all(isinstance(each, dict) for _, each in pairs):
            yield self._unread(at, conditions, text)
            return
        for key, verdict in pairs:
            name, value = next(iter(verdict.items()))
            yield self._rule(at, [*conditions, _has(vmap["key"], key)], _verdict(name, value), text)

    def _diverted(self, at: _Table, conditions: Sequence[Entry], value: object, text: str) -> Iterator[Rule]:
        """One rule, or for a diversion by a map one for each of its elements."""
        told: Entry = value if isinstance(value, dict) else {}
        if told.get("family") == "ip6":
            return
        maps = {part: each["map"] for part, each in told.items() if isinstance(each, dict) and "map" in each}
        plain: Entry = {part: each for part, each in told.items() if part not in maps}
        cases: list[tuple[Sequence[Entry], Entry]] | None = [(conditions, plain)]
        for part, each in maps.items():
            pairs = self._pairs(at, each["data"]) if len(maps) == 1 else None
            cases = pairs and [
                ([*conditions, _has(each["key"], key)], {**plain, **_parts(part, to)}) for key, to in pairs
            ]
        if cases is None:
            yield self._unread(at, conditions, text)
            return
        for those, diversion in cases:
            to = _diversion(diversion)
            if to is None:
                yield self._unread(at, those, text)
            else:
                yield self._rule(at, those, Verdict(kind=Kind.DIVERT, to=to), text)

    def _pairs(self, at: _Table, data: object) -> list[tuple[Any, Any]] | None:
        """The keys and values of a map, what is for all other keys last; None where they are not known here, or too many."""
        told = self._maps.get((*at, data[1:])) if isinstance(data, str) else None
        if isinstance(data, dict) and isinstance(data.get("set"), list):
            told = data["set"]
        if told is None or len(told) > _MOST or not all(isinstance(each, list) and len(each) == 2 for each in told):
            return None
        return sorted(((_Values([key]).told[0], value) for key, value in told), key=lambda pair: pair[0] == _CATCH_ALL)

    def _unread(self, at: _Table, conditions: Sequence[Entry], text: str) -> Rule:
        return replace(self._rule(at, conditions, Verdict(kind=Kind.UNKNOWN), text), is_read=False)

    def _rule(self, at: _Table, conditions: Sequence[Entry], verdict: Verdict, text: str) -> Rule:
        found = [(each, self._values(at, each)) for each in conditions]
        for each, values in found:
            if values is not None:
                self._note(each["match"]["left"], values)
        return Rule(
            matches=lambda flow: all_of(*(self._matches(each, values, flow) for each, values in found)),
            verdict=verdict,
            text=text,
            is_read=all(_is_read(at, each, values) for each, values in found),
            rest=self._rest(found) if any(_is_limit(each) for each in conditions) else None,
        )

    def _rest(self, found: Sequence[tuple[Entry, _Values | None]]) -> Callable[[Flow], Match]:
        """What a rule asks beside its limits, as `Rule.rest` has it."""
        others = [(each, values) for each, values in found if not _is_limit(each)]

        def rest(flow: Flow) -> Match:
            matches = [(self._matches(each, values, flow), each, values) for each, values in others]
            is_elsewhere = any(hit is Match.MAYBE and _is_of_others(each, values) for hit, each, values in matches)
            return Match.NO if is_elsewhere else all_of(*(hit for hit, _, _ in matches))

        return rest

    def _note(self, left: object, values: _Values) -> None:
        """Remember the lengths and devices that a rule asks for."""
        match left:
            case {"concat": keys} if len(values.told) <= _MOST:
                for parts in values.parts:
                    for key, part in zip(keys, parts, strict=True):
                        self._note(key, part)
            case {"meta": {"key": "iifname" | "iif" | "oifname" | "oif"}}:
                self._names.update(map(str, values.told))
            case {"meta": {"key": "length"}} | {"payload": {"protocol": "ip" | "udp", "field": "length"}}:
                for low, high in filter(None, values.ports[:_MOST_PORTS]):
                    for before in (0, -_UDP_BEHIND, *_FRAMED.values()):
                        self._lengths |= {low - before, high + 1 - before}

    def _matches(self, condition: Entry, values: _Values | None, flow: Flow) -> Match:
        if "match" not in condition:  # a limit, or what is not known here
            return Match.MAYBE
        match = condition["match"]
        if _is_absent(match["left"], flow):  # whatever it is compared with
            return Match.NO
        if values is None:
            return Match.MAYBE
        if match["left"] == {"ct": {"key": "status"}} and values.told == ["dnat"]:
            found = surely(self._is_redirected(flow)) and Match.MAYBE
        else:
            found = values.match(match["left"], flow)
        return negated(found) if match["op"] == "!=" else found

    def _is_redirected(self, flow: Flow) -> bool:
        """Whether a rule of `nat` changes, or may change, where the packets of a flow, or the questions that they answer, go to."""
        if flow not in self._may_be_redirected:
            self._may_be_redirected[flow] = True  # for a rule of `nat` that asks for this itself
            self._may_be_redirected[flow] = any(self._redirecting(flow.port, flow.way))
        return self._may_be_redirected[flow]

    def _redirecting(self, port: Port, way: Way) -> Iterator[bool]:
        bridged = self._bridged.get(port.interface, frozenset[str]())
        sending = [each for each in self._rewriting if each.hook == "output"] if way is Way.OUT else []
        for base, seen in (*((each, Way.IN) for each in self._diverting), *((each, Way.OUT) for each in sending)):
            flow = base.flow(port, seen, bridged)
            yield flow is not None and may_be_diverted(self._chains[base.at], base.chain, flow)

    def _values(self, at: _Table, condition: Entry) -> _Values | None:
        """The values that a key is compared with; None where they are not known."""
        match condition:
            case {"match": {"right": str(name)}} if name.startswith("@"):
                return self._sets.get((*at, name[1:]))
            case {"match": {"op": "==" | "!=" | "in", "right": {"set": several}}}:
                return _Values(several if isinstance(several, list) else [several])
            case {"match": {"op": "==" | "!=" | "in", "right": right}}:
                return _Values(right if isinstance(right, list) else [right])
            case {
                "match": {
                    "op": op,
                    "left": {"payload": {"field": "dport" | "sport" | "length"}} | {"meta": {"key": "length"}},
                    "right": int(bound),
                }
            }:
                return _Values([{"range": [*_BOUNDS[op](bound)]}]) if op in _BOUNDS else None
        return None


def devices_of(listed: str) -> dict[tuple[str, str], frozenset[str]]:
    """The devices of chains that belong to devices, by table and chain, of what `nft list ruleset` prints."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    table = chain = ""
    for line in map(str.strip, listed.splitlines()):
        words = line.split()
        if words[:1] == ["table"] and len(words) == 4:
            table = words[2]
        elif words[:1] == ["chain"] and len(words) == 3:
            chain = words[1]
        elif words[:1] == ["type"] and (named := _DEVICES_TOLD.search(line)):
            found[table, chain] = (
                frozenset(each.strip(' "') for each in named["several"].split(","))
                if named["several"]
                else frozenset([named["one"]])
            )
    return found


def _shut(port: Port, way: Way, base: _Base, found: Drop) -> ShutChain:
    handle = int(found.text) if found.text else None
    family, table = base.at
    return ShutChain(
        port=port, way=way, family=family, table=table, base=base.chain, chain=found.chain, handle=handle, to=found.to
    )


def _keeping_addresses(entries: Sequence[Entry]) -> Sequence[_Table]:
    """The tables that may keep machines from learning our hardware address."""
    policies = (entry["chain"] for entry in entries if "chain" in entry and entry["chain"].get("policy") == "drop")
    rules = (entry["rule"] for entry in entries if "rule" in entry)
    dropping = (each for each in rules if any({"drop", "vmap", "queue"} & part.keys() for part in each["expr"]))
    return [
        (each["family"], each["table"])
        for those in (policies, dropping)
        for each in those
        if each["family"] == "arp" and each.get("hook") != "forward"
    ]


def _named(entries: Sequence[Entry], kind: str) -> dict[tuple[str, str, str], list[Any]]:
    """The elements of sets or maps; of those that rules fill not all need be told."""
    found = (each[kind] for each in entries if kind in each)
    return {
        (each["family"], each["table"], each["name"]): each.get("elem", [])
        for each in found
        if "elem" in each or "dynamic" not in each.get("flags", ())
    }


def _has(left: object, right: object) -> Entry:
    return {"match": {"op": "==", "left": left, "right": right}}


def _parts(part: str, to: object) -> Entry:
    """What an element of a map tells of a diversion; one with two parts stands in place of the address."""
    match to:
        case {"concat": [address, port]}:
            return {"addr": address, "port": port}
    return {part: to}


def _leads_elsewhere(key: Entry) -> bool:
    """Whether what is changed of a packet tells who gets it."""
    match key:
        case {"payload": {"field": name}}:
            return name in _LEADING_FIELDS
        case {"payload": _}:  # octets by their number
            return True
    return key == {"meta": {"key": "broute"}}


def _verdict(name: str, value: object) -> Verdict:
    to = str(value["target"]) if isinstance(value, dict) and "target" in value else ""
    return Verdict(kind=_VERDICTS.get(name, Kind.UNKNOWN), to=to)


def _diversion(told: Entry) -> str | None:
    """Where a diversion leads, as `Verdict.to` has it; None where that depends on the packet."""
    found: list[str] = []
    for part in ("addr", "port"):
        match told.get(part, ""):
            case {"range": [low, high]}:
                found.append(f"{low}-{high}")
            case str() | int() as one:
                found.append(str(one))
            case _:
                return None
    return ":".join(found)


def _is_read(at: _Table, condition: Entry, values: _Values | None) -> bool:
    """Whether it is known here what a condition asks; `iptables` tells those rules of its own better than nft does."""
    match condition:
        case {"match": {"left": left}}:
            return _is_known(left) and (values.are_read(left) if values else _is_of_the_machine(left))
        case {"xt": _}:
            return at[0] == "ip"
    return next(iter(condition)) in _CONDITIONS


def _is_limit(condition: Entry) -> bool:
    """Whether a condition holds for a part of what comes: up to a rate, a number or a quota, above it, or by chance."""
    match condition:
        case {"match": {"left": {"numgen": _}}}:
            return True
        case {"set": {"stmt": statements}} | {"meter": {"stmt": statements}}:
            told = statements if isinstance(statements, list) else [statements]
            return any(_LIMITS & each.keys() for each in told if isinstance(each, dict))
    return bool(_LIMITS & condition.keys())


def _is_of_others(condition: Entry, values: _Values | None) -> bool:
    """Whether a condition asks for single ports, of which none need be a machine's; or is told by iptables."""
    match condition:
        case {"match": {"left": {"payload": {"field": "dport" | "sport"}}, "op": op}}:
            return op != "!=" and values is not None and all(each and each[0] == each[1] for each in values.ports)
    return "xt" in condition


def _is_of_the_machine(left: object) -> bool:
    """Whether a key tells machines apart, or one packet of theirs from another."""
    match left:
        case {"meta": {"key": key}}:
            return key in _OPEN_META
        case {"ct": {"key": key}}:
            return key in _OPEN_CT
        case {"payload": {"protocol": "ip" | "ether", "field": name}}:
            return name not in _LEADING_FIELDS or name == "saddr"
        case {"payload": {"field": name}}:
            return name not in _LEADING_FIELDS
    return False


def _is_known(left: object) -> bool:
    """Whether it is known here what a key is, also where its value depends on the machine."""
    match left:
        case {"concat": keys}:
            return all(_is_known(each) for each in keys)
        case {"meta": {"key": key}}:
            return key in _READ_META or key in _OPEN_META
        case {"payload": {"protocol": protocol, "field": str(name)}}:
            return protocol in ("ip", "ip6", "icmp", "icmpv6", "udp", "tcp", "th", "ether", "vlan", "arp") and bool(
                name
            )
        case {"ct": {"key": key}}:
            return key == "state" or key in _OPEN_CT
        case {"fib": {"result": result, "flags": flags}}:
            # By the source it asks whether the way back leads to where a packet came from.
            return result == "type" or "saddr" in flags
    return False


def _compared(left: object, told: _Values, flow: Flow) -> Match:
    """Whether a flow has one of some values under a key."""
    values = told.told
    match left:
        case {"concat": keys}:
            if len(values) > _MOST:
                return Match.MAYBE
            return any_of(
                *(
                    all_of(*(part.match(key, flow) for key, part in zip(keys, parts, strict=True)))
                    for parts in told.parts
                )
            )
        case {"meta": {"key": str(key)}}:
            return _meta(key, told, flow)
        case {"payload": {"protocol": "ip", "field": "protocol"}}:
            return _meta("l4proto", told, flow)
        case {"payload": {"protocol": str(protocol), "field": str(name)}}:
            return _payload(protocol, name, told, flow)
        case {"ct": {"key": "state"}}:
            return flow.is_in_state([*map(str, values)])
        case {"fib": {"result": "type", "flags": flags}} if flags in ("daddr", ["daddr"]):
            return flow.is_to_kind([*map(str, values)])
        case {"fib": {"result": "type", "flags": flags}} if flags in ("saddr", ["saddr"]):
            return flow.is_from_kind([*map(str, values)])
    return Match.MAYBE


def _meta(key: str, told: _Values, flow: Flow) -> Match:
    values = told.told
    match key:
        case "iifname" | "iif" | "oifname" | "oif":
            way, wildcard = Way.IN if key.startswith("i") else Way.OUT, "*" if key.endswith("name") else ""
            return flow.passes(map(str, values), wildcard, way)
        case "ibrname" | "obrname":
            return _named_bridge(key, values, flow)
        case "length":
            return _each(told.ports, partial(flow.has_length, before=flow.framed))
        case "pkttype":
            return flow.is_of_type([*map(str, values)])
        case "l4proto":
            return any_of(*(surely(each in _PROTOCOLS[flow.port.protocol]) for each in values))
        case "nfproto":
            return any_of(*(surely(each in ("ipv4", 2)) for each in values))
        case "protocol":
            return any_of(*(surely(each in ("ip", 0x800)) for each in values))
    return Match.MAYBE


def _named_bridge(key: str, names: Sequence[object], flow: Flow) -> Match:
    """Whether the bridge that a packet comes in or goes out by has one of these names; where there is no bridge, a rule may ask for that."""
    way = Way.IN if key == "ibrname" else Way.OUT
    if way is not flow.way or flow.port.interface in flow.devices:
        return Match.MAYBE
    return surely(flow.port.interface in names)


def _is_absent(left: object, flow: Flow) -> bool:
    """Whether the packets of a flow do not have a field at all, since that is one of another protocol."""
    match left:
        case {"payload": {"protocol": ("udp" | "tcp") as protocol}}:
            return bool(protocol != flow.port.protocol)
        case {"concat": keys}:
            return any(_is_absent(each, flow) for each in keys)
        case {"payload": {"protocol": "ip6" | "icmp" | "icmpv6" | "sctp" | "dccp" | "udplite" | "esp" | "ah" | "arp"}}:
            return True
    return False


def _payload(protocol: str, name: str, values: _Values, flow: Flow) -> Match:
    match protocol, name:
        case (("udp" | "tcp" | "th"), "dport"):
            return _each(values.ports, flow.is_to_port)
        case (("udp" | "tcp" | "th"), "sport"):
            return _each(values.ports, flow.is_from_port)
        case "ip", "daddr":
            return _each(values.addresses, flow.is_to)
        case "ip", "saddr":
            return _each(values.addresses, flow.is_from)
        case "ip", "length":
            return _each(values.ports, flow.has_length)
        case "udp", "length":
            return _each(values.ports, partial(flow.has_length, before=-_UDP_BEHIND))
        case "ether", "type":  # what has a VLAN's tag has another
            return any_of(
                *(
                    Match.YES if each in ("ip", 0x800) else surely(_is_vlan(each)) and Match.MAYBE
                    for each in values.told
                )
            )
        case "ether", "daddr" if flow.port.what != "DHCP":  # neither the question nor the reply need be for all
            return any_of(*(Match.NO if each == _ETHERNET_OF_ALL else Match.MAYBE for each in values.told))
    return Match.MAYBE


def _is_vlan(kind: object) -> bool:
    return kind in ("vlan", "8021q", "8021ad", 0x8100, 0x88A8)


def _each(ranges: Iterable[tuple[_V, _V] | None], is_one: Callable[[_V, _V], Match]) -> Match:
    """Whether a flow is in one of some ranges."""
    return any_of(*(Match.MAYBE if each is None else is_one(*each) for each in ranges))


def _ports(value: object) -> tuple[int, int] | None:
    match value:
        case int():
            return value, value
        case {"range": [int(low), int(high)]}:
            return low, high
    return None


def _addresses(value: object) -> tuple[IPv4Address, IPv4Address] | None:
    try:
        match value:
            case str():
                return (address := IPv4Address(value)), address
            case {"prefix": {"addr": str(first), "len": int(length)}}:
                network = IPv4Network(f"{first}/{length}", strict=False)
                return network.network_address, network.broadcast_address
            case {"range": [str(low), str(high)]}:
                return IPv4Address(low), IPv4Address(high)
    except ValueError:  # a name, or what else is none
        pass
    return None
