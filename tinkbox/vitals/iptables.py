"""What `iptables-save` prints, as rules.  Pure."""

import itertools
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv4Network
from typing import Final

from tinkbox.model.vitals import ShutPort, TakenPort
from tinkbox.vitals.filter_rules import Chain, Drop, Kind, Rule, Verdict, dropped, is_unclear
from tinkbox.vitals.flows import Flow, Match, Port, Way, above, all_of, any_of, negated, surely
from tinkbox.vitals.limited_flows import LimitedFlows

# The chains that packets to and from this host come through, by the tables that filter; `nat` sees the first packet of a flow alone.
_ON_THE_WAY: Final = {
    Way.IN: (("raw", "PREROUTING"), ("mangle", "PREROUTING"), ("mangle", "INPUT"), ("filter", "INPUT"), ("security", "INPUT")),
    Way.OUT: (
        ("raw", "OUTPUT"), ("mangle", "OUTPUT"), ("filter", "OUTPUT"), ("security", "OUTPUT"), ("mangle", "POSTROUTING"),
    ),
}  # fmt: skip
_DIVERTING: Final = ("nat", "PREROUTING")
_REWRITING: Final = (("nat", "OUTPUT"), ("nat", "POSTROUTING"))
_KINDS: Final = {
    "DROP": Kind.DROP,
    "REJECT": Kind.DROP,
    "ACCEPT": Kind.ACCEPT,
    "DNAT": Kind.DIVERT,
    "REDIRECT": Kind.DIVERT,
    "SNAT": Kind.DIVERT,
    "MASQUERADE": Kind.ACCEPT,  # the address of the interface that a packet leaves by is ours
    "RETURN": Kind.RETURN,
    "": Kind.CONTINUE,
} | dict.fromkeys(
    (
        "LOG", "NFLOG", "ULOG", "AUDIT", "TRACE", "LED", "IDLETIMER", "RATEEST", "ACCOUNT", "TEE",
        "MARK", "CONNMARK", "CT", "NOTRACK", "SECMARK", "CONNSECMARK", "SET", "CLASSIFY",
        "CHECKSUM", "DSCP", "TOS", "ECN", "TTL", "TCPMSS", "TCPOPTSTRIP",
    ),
    Kind.CONTINUE,
)  # fmt: skip
# What these ask depends on the machine, or on what was before: that is no reason to say that a rule is not understood.
_OPEN: Final = re.compile(
    r"--(limit|limit-burst|hashlimit-.*|connlimit-.*|connbytes.*|quota|rcheck|update|set|remove|name|mask|rsource|rdest|seconds|hitcount"
    r"|rttl|reap|mac-source|[ug]id-owner|socket-exists|mark|src-range|src-pfx|src-group|dst-group|icmp-type|tcp-flags|syn"
    r"|tcp-option|ctstatus|ctdir|ctexpire|length|pkt-type|ttl-.*|dscp.*|tos|helper|validmark|invert|loose"
    r"|accept-local|fragment|cpu|priority|realm|limit-iface-in|limit-iface-out|dir|pol|reqid|spi)"
)
# What holds for a part of what comes, whatever that is; `recent` with a number of hits is the same.
_LIMITS: Final = re.compile(
    r"--(limit|limit-burst|hashlimit|hashlimit-.*|connlimit-.*|quota|probability|every|packet|mode)"
)
_RECENT: Final = re.compile(r"--(rcheck|update|set|name|mask|rsource|rdest|seconds|hitcount|rttl|reap)")
_LENGTHS: Final = re.compile(r"--length (?P<low>\d+)(?::(?P<high>\d+))?")
_PROTOCOLS: Final = {"17": "udp", "6": "tcp"}


@dataclass(slots=True)
class _Table:
    policies: dict[str, str] = field(default_factory=dict)
    rules: dict[str, list[Rule]] = field(default_factory=dict)

    def chains(self) -> Mapping[str, Chain]:
        """Its chains by their names; `-` is the policy of one that has none."""
        return {
            name: Chain(
                rules=[self._known(each) for each in self.rules.get(name, ())],
                drops_rest=policy == "DROP",
                policy=f"-P {name} {policy}",
            )
            for name, policy in self.policies.items()
        }

    def _known(self, rule: Rule) -> Rule:
        """The same rule, or where it jumps to what is none of the chains one that may do anything."""
        if rule.verdict.kind not in (Kind.JUMP, Kind.GOTO) or rule.verdict.to in self.policies:
            return rule
        return replace(rule, verdict=Verdict(kind=Kind.UNKNOWN), is_read=False)


class SavedTables:
    """What `iptables-save` printed; `command` is what changes that.  Making one raises ValueError for what it does not print."""

    def __init__(self, saved: str, command: str = "iptables") -> None:
        tables = _tables(saved)
        self._command = command
        self._is_ufw = "ufw-user-input" in tables.get("filter", _Table()).policies
        self._chains = {name: table.chains() for name, table in tables.items()}
        self._limits = {name: LimitedFlows(each) for name, each in self._chains.items()}
        told = [int(each["low"]) for each in _LENGTHS.finditer(saved)]
        self._lengths = {*told, *(int(each["high"] or each["low"]) + 1 for each in _LENGTHS.finditer(saved))}

    def shut(self, ports: Iterable[Port], way: Way) -> Iterator[ShutPort]:
        """The ports to which nothing gets through, or from which no reply does, or none that is long."""
        for port in ports:
            sizes = port.needed_sizes(self._lengths) if way is Way.OUT else ()
            found = next(filter(None, (self._shut(port, way, each) for each in (None, *sizes))), None)
            if found is not None:
                yield found

    def _shut(self, port: Port, way: Way, sizes: tuple[int, int] | None) -> ShutPort | None:
        for name, start in _ON_THE_WAY[way]:
            found = self._dropped(name, start, port, way, sizes)
            if found is not None:
                return replace(self._told(port, way, name, start, found), above=above(sizes))
        return None

    def limited(self, ports: Iterable[Port], way: Way) -> Iterator[ShutPort]:
        """The ports of whose questions, or replies, a part is surely dropped, with the rule that has the limit."""
        for port in ports:
            for name, start in _ON_THE_WAY[way]:
                limits = self._limits.get(name)
                found = limits.dropped(start, self._flow(port, way)) if limits is not None else None
                if found is not None:
                    yield self._told(port, way, name, start, found)
                    break

    def _told(self, port: Port, way: Way, table: str, start: str, found: Drop) -> ShutPort:
        return ShutPort(
            interface=port.interface,
            port=port.port,
            protocol=port.protocol,
            why=f"{self._on(table)} {found.text}",
            asked=port.what,
            firewall="ufw" if self._is_ufw else "iptables",
            opens=self._opens(f"{self._on(table)} -I {start}", port, way),
            shows=f"{self._on(table)} -S {found.chain}",
        )

    def taken(self, ports: Iterable[Port]) -> Iterator[TakenPort]:
        """The ports of which all is diverted to elsewhere."""
        for port in ports:
            found = self._dropped(*_DIVERTING, port, Way.IN)
            if found is not None and found.to:
                command = self._on(_DIVERTING[0])
                yield TakenPort(
                    interface=port.interface,
                    port=port.port,
                    protocol=port.protocol,
                    asked=port.what,
                    to=found.to,
                    why=f"{command} {found.text}",
                    chain=found.chain,
                    gives_back=f"{command} {found.text.replace('-A ', '-D ', 1)}",
                )

    def unclear(self, ports: Iterable[Port]) -> Iterator[str]:
        """The tables of which it is not known here what they do with what is for our ports, or comes from them; each once."""
        found: dict[str, None] = {}
        for port in ports:
            flows = {way: self._flow(port, way) for way in (Way if port.replies else (Way.IN,))}
            for way, flow in flows.items():
                for table, start in (*_ON_THE_WAY[way], *((_DIVERTING,) if way is Way.IN else ())):
                    if start in self._chains.get(table, {}) and self._is_unclear(table, start, flow):
                        found[table] = None
            replies = flows.get(Way.OUT)
            if replies is not None and replies.opens:
                for table, start in _REWRITING:
                    chains = self._chains.get(table, {})
                    if start in chains and (is_unclear(chains, start, replies) or dropped(chains, start, replies)):
                        found[table] = None
        return iter(found)

    def _is_unclear(self, table: str, start: str, flow: Flow) -> bool:
        limits = self._limits[table]
        if limits.dropped(start, flow) is not None:
            return False
        return is_unclear(self._chains[table], start, flow) or limits.is_unclear(start, flow)

    def _dropped(
        self, table: str, start: str, port: Port, way: Way, sizes: tuple[int, int] | None = None
    ) -> Drop | None:
        chains = self._chains.get(table, {})
        return dropped(chains, start, self._flow(port, way, sizes)) if start in chains else None

    def _flow(self, port: Port, way: Way, sizes: tuple[int, int] | None = None) -> Flow:
        return Flow(port=port, way=way, devices=frozenset({port.interface}), sizes=sizes)

    def _on(self, table: str) -> str:
        return self._command if table == "filter" else f"{self._command} -t {table}"

    def _opens(self, insert: str, port: Port, way: Way) -> str:
        if way is Way.IN:
            if self._is_ufw:
                return f"ufw allow in on {port.interface} to any port {port.port} proto {port.protocol}"
            return f"{insert} -i {port.interface} -p {port.protocol} --dport {port.port} -j ACCEPT"
        number = port.replies_from
        if self._is_ufw:
            of_port = "" if number is None else f" port {number}"
            return f"ufw allow out on {port.interface} from any{of_port} proto {port.protocol}"
        of_port = "" if number is None else f"--sport {number} "
        return f"{insert} -o {port.interface} -p {port.protocol} {of_port}-j ACCEPT"


def _tables(saved: str) -> dict[str, _Table]:
    found: dict[str, _Table] = {}
    table = _Table()
    for line in saved.splitlines():
        if line.startswith("*"):
            table = found.setdefault(line[1:].strip(), _Table())
        elif line.startswith(":"):
            name, policy = line[1:].split()[:2]
            table.policies[name] = policy
        elif line.startswith("-A "):
            words = shlex.split(line)
            table.rules.setdefault(words[1], []).append(_rule(words[2:], line))
    return found


_READ: Final = frozenset(
    {
        "-m", "--match", "--comment", "-f", "-i", "--in-interface", "-o", "--out-interface", "-p", "--protocol",
        "--dport", "--destination-port", "--dports", "--destination-ports", "-d", "--destination",
        "--sport", "--source-port", "--sports", "--source-ports", "-s", "--source", "--ctstate", "--state",
        "--dst-type", "--src-type",
    }
)  # fmt: skip


_PORTS: Final = frozenset(each for each in _READ if each.endswith(("port", "ports")))


@dataclass(frozen=True, slots=True)
class _Condition:
    """One option with its values; `no` stands before it."""

    option: str
    values: tuple[str, ...]
    no: bool

    def matches(self, flow: Flow) -> Match:
        found = self._matches(flow)
        return negated(found) if self.no else found

    @property
    def is_read(self) -> bool:
        """Whether it is known here what it asks."""
        if self.option == "--match-set":  # what is asked of where a packet comes from depends on the machine
            return self.values[1:] == ("src",)
        return self.option in _READ or _OPEN.fullmatch(self.option) is not None

    @property
    def is_of_others(self) -> bool:
        """Whether it asks for single ports, of which none need be a machine's."""
        ports = self.values[0] if self.option in _PORTS and self.values else ":"
        return not self.no and ":" not in ports

    def _matches(self, flow: Flow) -> Match:
        value = self.values[0] if self.values else ""
        match self.option:
            case "-m" | "--match" | "--comment":
                return Match.YES if not self.no else Match.NO
            case "-i" | "--in-interface":
                return flow.passes([value], "+", Way.IN)
            case "-o" | "--out-interface":
                return flow.passes([value], "+", Way.OUT)
            case "-p" | "--protocol":
                return surely(value == "all" or _PROTOCOLS.get(value, value) == flow.port.protocol)
            case "--dport" | "--destination-port" | "--dports" | "--destination-ports":
                return _port(value, flow.is_to_port)
            case "--sport" | "--source-port" | "--sports" | "--source-ports":
                return _port(value, flow.is_from_port)
            case "-d" | "--destination":
                network = _network(value)
                return flow.is_to(network.network_address, network.broadcast_address)
            case "-s" | "--source":
                network = _network("0.0.0.0/0" if value == "0/0" else value)
                return flow.is_from(network.network_address, network.broadcast_address)
            case "--ctstate" | "--state":
                return flow.is_in_state(value.lower().split(","))
            case "--dst-type":
                return flow.is_to_kind(value.lower().split(","))
            case "--src-type":
                return flow.is_from_kind(value.lower().split(","))
        return _of_packet(self.option, value, flow)


def _of_packet(option: str, value: str, flow: Flow) -> Match:
    """What is asked of a packet beside where it comes from and goes to."""
    match option:
        case "--length":
            low, _, high = value.partition(":")
            return flow.has_length(int(low), int(high or low))
        case "--pkt-type":
            return flow.is_of_type([value])
    return Match.MAYBE


@lru_cache(maxsize=1 << 16)
def _network(text: str) -> IPv4Network:
    return IPv4Network(text, strict=False)


def _rule(words: list[str], text: str) -> Rule:
    conditions: list[_Condition] = []
    kind, to, at = Kind.CONTINUE, "", 0
    while at < len(words):
        no = words[at] == "!"
        at += no
        option = words[at] if at < len(words) else ""
        end = at + 1
        while end < len(words) and words[end] != "!" and not _is_option(words[end]):
            end += 1
        values = tuple(words[at + 1 : end])
        if option in ("-j", "--jump", "-g", "--goto"):
            target = values[0] if values else ""
            kind = _KINDS.get(target, Kind.GOTO if option in ("-g", "--goto") else Kind.JUMP)
            to = _diversion(words[end:]) if kind is Kind.DIVERT else target
            break  # what follows belongs to the target
        conditions.append(_Condition(option, values, no))
        at = end
    found = tuple(conditions)
    return Rule(
        matches=lambda flow: all_of(*(each.matches(flow) for each in found)),
        verdict=Verdict(kind=kind, to=to),
        text=text,
        is_read=all(each.is_read for each in found),
        rest=_rest(found),
    )


def _rest(conditions: Iterable[_Condition]) -> Callable[[Flow], Match] | None:
    """What a rule asks beside its limits, as `Rule.rest` has it."""
    told = [*conditions]
    counts_hits = any(each.option == "--hitcount" for each in told)
    others = [
        each
        for each in told
        if not (_LIMITS.fullmatch(each.option) or (counts_hits and _RECENT.fullmatch(each.option)))
    ]
    if len(others) == len(told):
        return None

    def rest(flow: Flow) -> Match:
        matches = [(each.matches(flow), each) for each in others]
        is_elsewhere = any(hit is Match.MAYBE and each.is_of_others for hit, each in matches)
        return Match.NO if is_elsewhere else all_of(*(hit for hit, _ in matches))

    return rest


def _diversion(words: list[str]) -> str:
    """Where DNAT, REDIRECT or SNAT lead by what follows them, as `Verdict.to` has it."""
    options = dict(itertools.pairwise(words))
    if "--to-ports" in options:
        return f":{options['--to-ports']}"
    target = options.get("--to-destination", options.get("--to-source", ""))
    return target if ":" in target else f"{target}:"


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not word[1].isdigit()


def _port(text: str, is_one: Callable[[int, int], Match]) -> Match:
    """Whether a flow has one of some ports, as iptables lists them."""
    found = []
    for each in text.split(","):
        low, _, high = each.partition(":")
        if (low or "0").isdigit() and (high or "0").isdigit():
            first = int(low or 0)
            found.append(is_one(first, int(high or 65535) if ":" in each else first))
        else:
            found.append(Match.MAYBE)
    return any_of(*found)
