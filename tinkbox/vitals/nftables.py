"""What `nft --json list ruleset` prints, as rules.  Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final

from tinkbox.model.vitals import ShutPort
from tinkbox.vitals.filter_rules import (
    EVERYBODY,
    Chain,
    Drop,
    Kind,
    Match,
    Port,
    Rule,
    Verdict,
    all_of,
    any_of,
    dropped,
    how_many,
    negated,
)

_HOOKS: Final = frozenset({"input", "prerouting"})
_FAMILIES: Final = frozenset({"ip", "inet"})
_VERDICTS: Final = {
    "drop": Kind.DROP,
    "reject": Kind.DROP,
    "accept": Kind.ACCEPT,
    "return": Kind.RETURN,
    "jump": Kind.JUMP,
    "goto": Kind.GOTO,
}
# Statements that decide nothing.
_IDLE: Final = frozenset({"counter", "log", "mangle", "notrack", "ct helper", "ct timeout", "ct expectation"})
# Statements that may end a rule early; whatever else there is decides for itself.
_CONDITIONS: Final = frozenset({"match", "limit", "ct count", "quota", "meter", "set", "map"})
_PROTOCOLS: Final = {"udp": ("udp", 17), "tcp": ("tcp", 6)}
Entry = Mapping[str, Any]
_Table = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShutChain:
    """A port that is shut, and where: `handle` numbers the rule in its `chain`, None for the policy of the chain itself."""

    port: Port
    family: str
    table: str
    base: str
    chain: str
    handle: int | None

    def told(self, text: str) -> ShutPort:
        """The same with the rule's or policy's own words."""
        return ShutPort(
            interface=self.port.interface,
            port=self.port.port,
            protocol=self.port.protocol,
            why=f"nft, table {self.family} {self.table}, chain {self.chain}: {text}",
            asked=self.port.what,
            firewall="firewalld" if self.table == "firewalld" else "nft",
            opens=self._opens(),
        )

    def _opens(self) -> str:
        port = self.port
        if self.table == "firewalld":
            zone = f'--zone="$(firewall-cmd --get-zone-of-interface={port.interface})"'
            return f"firewall-cmd --permanent {zone} --add-port={port.port}/{port.protocol} && firewall-cmd --reload"
        at = f"{self.family} {self.table} {self.base}"
        return f'nft insert rule {at} iifname "{port.interface}" {port.protocol} dport {port.port} accept'


class Ruleset:
    """All tables that packets to this host come through.  Making one raises ValueError for what nft does not print."""

    def __init__(self, told: str) -> None:
        try:
            entries: Sequence[Entry] = json.loads(told)["nftables"]
            self._rewrites = _rewrites(entries)
            self._sets = _named(entries, "set") | _named(entries, "map")
            self._bases: list[tuple[_Table, str]] = []
            self._chains: dict[_Table, dict[str, Chain]] = {}
            rules: dict[tuple[_Table, str], list[Rule]] = {}
            for each in (entry["rule"] for entry in entries if "rule" in entry):
                at = (each["family"], each["table"])
                rules.setdefault((at, each["chain"]), []).extend(self._rules(at, each))
            for each in (entry["chain"] for entry in entries if "chain" in entry):
                at = (each["family"], each["table"])
                if each["family"] not in _FAMILIES:
                    continue
                if each.get("hook") in _HOOKS and each.get("type") == "filter":
                    self._bases.append((at, each["name"]))
                drops_rest = each.get("policy") == "drop"
                self._chains.setdefault(at, {})[each["name"]] = Chain(
                    rules=rules.get((at, each["name"]), ()), drops_rest=drops_rest
                )
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"not what nft prints: {type(error).__name__}: {error}") from None

    def shut(self, ports: Iterable[Port]) -> Iterator[ShutChain]:
        """The ports to which nothing gets through."""
        for port in ports:
            for at, base in self._bases:
                found = dropped(self._chains[at], base, port)
                if found is not None:
                    yield _shut(port, at, base, found)
                    break

    def _rules(self, at: _Table, rule: Entry) -> Iterator[Rule]:
        """One rule, or for a verdict map one for each of its verdicts."""
        conditions: list[Entry] = []
        text = str(rule["handle"])
        for each in rule["expr"]:
            name, value = next(iter(each.items()))
            if name in _VERDICTS:
                yield self._rule(at, conditions, _verdict(name, value), text)
                return
            if name == "vmap":
                yield from self._mapped(at, conditions, value, text)
                return
            if name not in _IDLE:
                conditions.append(each)
        decides = any(next(iter(each)) not in _CONDITIONS for each in conditions)
        yield self._rule(at, conditions, Verdict(kind=Kind.UNKNOWN if decides else Kind.CONTINUE), text)

    def _mapped(self, at: _Table, conditions: Sequence[Entry], vmap: Entry, text: str) -> Iterator[Rule]:
        for each in self._elements(at, vmap["data"]) or [None]:
            if not isinstance(each, list) or len(each) != 2 or not isinstance(each[1], dict):
                yield self._rule(at, conditions, Verdict(kind=Kind.UNKNOWN), text)
                continue
            name, value = next(iter(each[1].items()))
            key: Entry = {"match": {"op": "==", "left": vmap["key"], "right": each[0]}}
            yield self._rule(at, [*conditions, key], _verdict(name, value), text)

    def _rule(self, at: _Table, conditions: Sequence[Entry], verdict: Verdict, text: str) -> Rule:
        found = tuple(conditions)
        return Rule(
            matches=lambda port: all_of(*(self._matches(at, each, port) for each in found)), verdict=verdict, text=text
        )

    def _matches(self, at: _Table, condition: Entry, port: Port) -> Match:
        if "match" not in condition:  # a limit, or what is not known here
            return Match.MAYBE
        match = condition["match"]
        if _is_absent(match["left"], port):  # whatever it is compared with
            return Match.NO
        values = self._elements(at, match["right"])
        if values is None:
            return Match.MAYBE
        if match["left"] == {"ct": {"key": "status"}} and values == ["dnat"] and not self._rewrites:
            return Match.NO if match["op"] != "!=" else Match.YES
        found = _compared(match["left"], values, port)
        if match["op"] in ("==", "in"):
            return found
        return negated(found) if match["op"] == "!=" else Match.MAYBE

    def _elements(self, at: _Table, right: object) -> list[Any] | None:
        """The values that a key is compared with; None where they are not known."""
        if isinstance(right, str) and right.startswith("@"):
            return self._sets.get((*at, right[1:]))
        if isinstance(right, dict) and "set" in right:
            return [*right["set"]] if isinstance(right["set"], list) else [right["set"]]
        return right if isinstance(right, list) else [right]


def _shut(port: Port, at: _Table, base: str, found: Drop) -> ShutChain:
    handle = int(found.text) if found.text else None
    return ShutChain(port=port, family=at[0], table=at[1], base=base, chain=found.chain, handle=handle)


def _rewrites(entries: Sequence[Entry]) -> bool:
    """Whether anything changes where packets go to, or may do so."""
    statements = (each for entry in entries if "rule" in entry for each in entry["rule"]["expr"])
    return any({"dnat", "redirect", "xt", "tproxy"} & each.keys() for each in statements)


def _named(entries: Sequence[Entry], kind: str) -> dict[tuple[str, str, str], list[Any]]:
    found = (each[kind] for each in entries if kind in each)
    return {(each["family"], each["table"], each["name"]): each.get("elem", []) for each in found}


def _verdict(name: str, value: object) -> Verdict:
    kind = _VERDICTS.get(name, Kind.UNKNOWN)
    return Verdict(kind=kind, chain=str(value["target"]) if isinstance(value, dict) and "target" in value else "")


def _compared(left: object, values: Sequence[Any], port: Port) -> Match:
    """Whether what machines send to a port has one of some values under a key."""
    values = [each["elem"]["val"] if isinstance(each, dict) and "elem" in each else each for each in values]
    match left:
        case {"meta": {"key": "iifname"}}:
            return any_of(*(_interface(each, port) for each in values))
        case {"meta": {"key": "iif"}}:
            return any_of(*(Match(2 * (each == port.interface)) for each in values))
        case {"meta": {"key": "l4proto"}} | {"payload": {"protocol": "ip", "field": "protocol"}}:
            return any_of(*(Match(2 * (each in _PROTOCOLS[port.protocol])) for each in values))
        case {"meta": {"key": "nfproto"}}:
            return any_of(*(Match(2 * (each in ("ipv4", 2))) for each in values))
        case {"meta": {"key": "protocol"}}:
            return any_of(*(Match(2 * (each in ("ip", 0x800))) for each in values))
        case {"payload": {"protocol": protocol, "field": name}}:
            return _payload(str(protocol), str(name), values, port)
        case {"ct": {"key": "state"}}:
            return Match.MAYBE if "untracked" in values else Match(2 * ("new" in values))
        case {"fib": {"result": "type", "flags": flags}} if flags in ("daddr", ["daddr"]):
            kinds = ["broadcast" if _is_broadcast(each, port) else "local" for each in port.targets]
            return how_many(sum(each in values for each in kinds), len(kinds))
    return Match.MAYBE


def _is_absent(left: object, port: Port) -> bool:
    """Whether a packet to a port does not have a field at all, since that is one of another protocol."""
    match left:
        case {"payload": {"protocol": ("udp" | "tcp") as protocol}}:
            return bool(protocol != port.protocol)
        case {"payload": {"protocol": "ip6" | "icmp" | "icmpv6" | "sctp" | "dccp" | "udplite" | "esp" | "ah"}}:
            return True
    return False


def _payload(protocol: str, name: str, values: Sequence[Any], port: Port) -> Match:
    if protocol in ("udp", "tcp", "th"):
        return any_of(*(_port(each, port) for each in values)) if name == "dport" else Match.MAYBE
    if (protocol, name) == ("ip", "daddr"):
        return any_of(*(_target(each, port) for each in values))
    return Match.MAYBE


def _interface(name: object, port: Port) -> Match:
    if isinstance(name, str) and name.endswith("*"):
        return Match(2 * port.interface.startswith(name[:-1]))
    return Match(2 * (name == port.interface))


def _port(value: object, port: Port) -> Match:
    match value:
        case int():
            return Match(2 * (value == port.port))
        case {"range": [int(low), int(high)]}:
            return Match(2 * (low <= port.port <= high))
    return Match.MAYBE


def _target(value: object, port: Port) -> Match:
    match value:
        case str():
            inside = [str(each) == value for each in port.targets]
        case {"prefix": {"addr": str(address), "len": int(length)}}:
            network = IPv4Network(f"{address}/{length}", strict=False)
            inside = [each in network for each in port.targets]
        case {"range": [str(low), str(high)]}:
            inside = [IPv4Address(low) <= each <= IPv4Address(high) for each in port.targets]
        case _:
            return Match.MAYBE
    return how_many(sum(inside), len(inside))


def _is_broadcast(address: IPv4Address, port: Port) -> bool:
    return address in (EVERYBODY, port.network.broadcast_address)
