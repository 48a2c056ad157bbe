"""Whether rules of a packet filter surely drop what machines send to a port.  Pure.

It is said of a port only where nothing that a machine could send there gets through; where a rule can be read in two ways, it is
read in the way that lets packets through.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from ipaddress import IPv4Address, IPv4Network
from typing import Final

# Chains that lead to chains; kernels refuse more than 16.
_DEEPEST: Final = 20
EVERYBODY: Final = IPv4Address("255.255.255.255")


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port of ours that machines have to reach on an interface, at our address there; `what` is asked there."""

    interface: str
    address: IPv4Address
    network: IPv4Network
    port: int
    protocol: str
    what: str

    @property
    def targets(self) -> frozenset[IPv4Address]:
        """The addresses to which machines send."""
        broadcast = {EVERYBODY, self.network.broadcast_address} if self.what == "DHCP" else set[IPv4Address]()
        return frozenset({self.address, *broadcast})


class Match(IntEnum):
    """Whether packets that machines send to a port match: none, some or perhaps some, all."""

    NO = 0
    MAYBE = 1
    YES = 2


class Kind(StrEnum):
    """What becomes of a packet that a rule matches; `UNKNOWN` may be anything."""

    DROP = "drop"
    ACCEPT = "accept"
    JUMP = "jump"
    GOTO = "goto"
    RETURN = "return"
    CONTINUE = "continue"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`chain` is where a jump leads."""

    kind: Kind
    chain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`text` is how the firewall's own program writes it, or its number there."""

    matches: Callable[[Port], Match]
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """`drops_rest`: what no rule decides is dropped, as `policy` says."""

    rules: Sequence[Rule]
    drops_rest: bool = False
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """What surely drops packets: the chain, and the rule or policy in it."""

    chain: str
    text: str


class _Open(StrEnum):
    """Packets may get through, or come back from a chain to where it was called."""

    THROUGH = "through"
    BACK = "back"


def all_of(*matches: Match) -> Match:
    """Whether packets match all of several conditions."""
    return min(matches, default=Match.YES)


def any_of(*matches: Match) -> Match:
    """Whether packets match one of several conditions at least."""
    return max(matches, default=Match.NO)


def negated(match: Match) -> Match:
    """Whether packets do not match."""
    return Match(2 - match)


def how_many(matching: int, of: int) -> Match:
    """Whether all, some or none of so many match."""
    return Match.NO if not matching else Match.YES if matching == of else Match.MAYBE


def dropped(chains: Mapping[str, Chain], start: str, port: Port) -> Drop | None:
    """What surely drops all that machines send to a port, of the rules that begin with a chain; None: something may get through."""
    found = _walked(chains, start, port, 0)
    if isinstance(found, Drop):
        return found
    chain = chains[start]
    return Drop(chain=start, text=chain.policy) if found is _Open.BACK and chain.drops_rest else None


def _walked(chains: Mapping[str, Chain], name: str, port: Port, depth: int) -> Drop | _Open:
    """What becomes of the packets in a chain.  BACK: all that is not dropped comes back."""
    if depth > _DEEPEST or name not in chains:
        return _Open.THROUGH
    some_come_back = False
    for rule in chains[name].rules:
        hit, verdict = rule.matches(port), rule.verdict
        if hit is Match.NO or verdict.kind is Kind.CONTINUE:
            continue
        found: Drop | _Open = _Open.THROUGH
        if verdict.kind is Kind.DROP:
            found = Drop(chain=name, text=rule.text)
        elif verdict.kind is Kind.RETURN:
            found = _Open.BACK
        elif verdict.kind in (Kind.JUMP, Kind.GOTO):
            found = _walked(chains, verdict.chain, port, depth + 1)
        if found is _Open.THROUGH:
            return found
        if found is _Open.BACK:
            if verdict.kind is Kind.JUMP:
                continue
            some_come_back = True
        if hit is Match.YES:
            return _Open.BACK if some_come_back else found
    return _Open.BACK
