"""What `iptables-save` prints, as rules.  Pure."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Final

from tinkbox.model.vitals import ShutPort
from tinkbox.vitals.filter_rules import (
    EVERYBODY,
    Chain,
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

# The chains that packets for this host come through, by the tables that filter; `nat` sees the first packet of a flow alone.
_ON_THE_WAY: Final = {"raw": "PREROUTING", "mangle": "PREROUTING", "filter": "INPUT", "security": "INPUT"}
_KINDS: Final = {
    "DROP": Kind.DROP,
    "REJECT": Kind.DROP,
    "ACCEPT": Kind.ACCEPT,
    "RETURN": Kind.RETURN,
    "": Kind.CONTINUE,
    "LOG": Kind.CONTINUE,
    "NFLOG": Kind.CONTINUE,
    "CONNMARK": Kind.CONTINUE,
    "MARK": Kind.CONTINUE,
    "CT": Kind.CONTINUE,
}
_PROTOCOLS: Final = {"17": "udp", "6": "tcp"}


@dataclass(slots=True)
class _Table:
    policies: dict[str, str] = field(default_factory=dict)
    rules: dict[str, list[Rule]] = field(default_factory=dict)

    def chains(self) -> Mapping[str, Chain]:
        """Its chains by their names; `-` is the policy of one that has none."""
        return {
            name: Chain(
                rules=self.rules.get(name, ()),
                drops_rest=policy == "DROP",
                policy=f"-P {name} {policy}",
            )
            for name, policy in self.policies.items()
        }


def shut_ports(saved: str, ports: Iterable[Port], command: str = "iptables") -> Iterator[ShutPort]:
    """The ports to which nothing gets through by what `iptables-save` printed; `command` is what changes that.

    Raises ValueError for what it does not print.
    """
    tables = _tables(saved)
    firewall = "ufw" if "ufw-user-input" in tables.get("filter", _Table()).policies else "iptables"
    chains = {name: table.chains() for name, table in tables.items()}
    for port in ports:
        for name, start in _ON_THE_WAY.items():
            if start in chains.get(name, {}) and (found := dropped(chains[name], start, port)) is not None:
                table = "" if name == "filter" else f"-t {name} "
                yield ShutPort(
                    interface=port.interface,
                    port=port.port,
                    protocol=port.protocol,
                    why=f"{command} {table}{found.text}",
                    asked=port.what,
                    firewall=firewall,
                    opens=_opens(firewall, f"{command} {table}-I {start}", port),
                )
                break


def _opens(firewall: str, insert: str, port: Port) -> str:
    if firewall == "ufw":
        return f"ufw allow in on {port.interface} to any port {port.port} proto {port.protocol}"
    return f"{insert} -i {port.interface} -p {port.protocol} --dport {port.port} -j ACCEPT"


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


@dataclass(frozen=True, slots=True)
class _Condition:
    """One option with its values; `no` stands before it."""

    option: str
    values: tuple[str, ...]
    no: bool

    def matches(self, port: Port) -> Match:
        found = self._matches(port)
        return negated(found) if self.no else found

    def _matches(self, port: Port) -> Match:
        value = self.values[0] if self.values else ""
        match self.option:
            case "-m" | "--match" | "--comment":
                return Match.YES if not self.no else Match.NO
            case "-i" | "--in-interface":
                return _interface(value, port)
            case "-p" | "--protocol":
                return Match(2 * (value == "all" or _PROTOCOLS.get(value, value) == port.protocol))
            case "--dport" | "--destination-port" | "--dports" | "--destination-ports":
                return any_of(*(_port(each, port) for each in value.split(",")))
            case "-d" | "--destination":
                network = IPv4Network(value, strict=False)
                return how_many(sum(each in network for each in port.targets), len(port.targets))
            case "-s" | "--source":
                return Match.YES if value in ("0.0.0.0/0", "0/0") else Match.MAYBE
            case "--ctstate" | "--state":
                return Match(2 * ("NEW" in value.split(","))) if "UNTRACKED" not in value else Match.MAYBE
            case "--dst-type":
                kinds = value.split(",")
                local = sum(("BROADCAST" if _is_broadcast(each, port) else "LOCAL") in kinds for each in port.targets)
                return how_many(local, len(port.targets))
        return Match.MAYBE


def _rule(words: list[str], text: str) -> Rule:
    conditions: list[_Condition] = []
    kind, chain, at = Kind.CONTINUE, "", 0
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
            chain = target
            break  # what follows belongs to the target
        conditions.append(_Condition(option, values, no))
        at = end
    found = tuple(conditions)
    return Rule(
        matches=lambda port: all_of(*(each.matches(port) for each in found)),
        verdict=Verdict(kind=kind, chain=chain),
        text=text,
    )


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not word[1].isdigit()


def _interface(name: str, port: Port) -> Match:
    if name.endswith("+"):
        return Match(2 * port.interface.startswith(name[:-1]))
    return Match(2 * (name == port.interface))


def _port(text: str, port: Port) -> Match:
    low, _, high = text.partition(":")
    if not (low or "0").isdigit() or not (high or "0").isdigit():
        return Match.MAYBE
    last = int(high or 65535) if ":" in text else int(low)
    return Match(2 * (int(low or 0) <= port.port <= last))


def _is_broadcast(address: object, port: Port) -> bool:
    return address in (EVERYBODY, port.network.broadcast_address)
