"""Whether rules of a packet filter surely drop what machines send to a port, or what we reply.  Pure.

It is said of a port only where nothing that a machine could send there gets through; where a rule can be read in two ways, it is
read in the way that lets packets through.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinkbox.vitals.flows import Flow, Match

# Chains that lead to chains; kernels refuse more than 16.
_DEEPEST: Final = 20


class Kind(StrEnum):
    """What becomes of a packet that a rule matches; `UNKNOWN` may be anything.

    To divert is to change the address or port to which a packet goes, or from which a reply comes.
    """

    DROP = "drop"
    ACCEPT = "accept"
    DIVERT = "divert"
    JUMP = "jump"
    GOTO = "goto"
    RETURN = "return"
    CONTINUE = "continue"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`to` is the chain to which a jump leads; of a diversion the address, a colon, and the port, where it changes one."""

    kind: Kind
    to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`text` is how the firewall's own program writes it, or its number there.

    `is_read`: each of its conditions is known here, also where it depends on the machine whether that holds.  `rest`: whether a flow
    matches all that it asks beside a limit or chance, NO where that is about another port than ours; None: it asks for none.
    """

    matches: Callable[[Flow], Match]
    verdict: Verdict
    text: str
    is_read: bool = True
    rest: Callable[[Flow], Match] | None = None


_TOO_DEEP: Final = Rule(matches=lambda _: Match.MAYBE, verdict=Verdict(kind=Kind.UNKNOWN), text="", is_read=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """`drops_rest`: what no rule decides is dropped, as `policy` says."""

    rules: Sequence[Rule]
    drops_rest: bool = False
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """What surely drops packets, or diverts them `to` somewhere: the chain, and the rule or policy in it."""

    chain: str
    text: str
    to: str = ""


class _Open(StrEnum):
    """Packets may get through, or come back from a chain to where it was called."""

    THROUGH = "through"
    BACK = "back"


def dropped(chains: Mapping[str, Chain], start: str, flow: Flow) -> Drop | None:
    """What surely drops or diverts all of a flow, of the rules that begin with a chain; None: something may get through."""
    found = _walked(chains, start, flow, 0, {})
    if isinstance(found, Drop):
        return found
    chain = chains[start]
    return Drop(chain=start, text=chain.policy) if found is _Open.BACK and chain.drops_rest else None


def _walked(
    chains: Mapping[str, Chain], name: str, flow: Flow, depth: int, known: dict[str, Drop | _Open]
) -> Drop | _Open:
    """What becomes of the packets in a chain.  BACK: all that is not dropped comes back.  `known` are chains that were walked before."""
    if depth > _DEEPEST or name not in chains:
        return _Open.THROUGH
    if name not in known:
        known[name] = _Open.THROUGH  # for one that leads to itself, which kernels refuse
        known[name] = _end_of(chains, name, flow, depth, known)
    return known[name]


def _end_of(
    chains: Mapping[str, Chain], name: str, flow: Flow, depth: int, known: dict[str, Drop | _Open]
) -> Drop | _Open:
    some_come_back = False
    for rule in chains[name].rules:
        hit, verdict = rule.matches(flow), rule.verdict
        if hit is Match.NO or verdict.kind is Kind.CONTINUE:
            continue
        found: Drop | _Open = _Open.THROUGH
        if verdict.kind is Kind.DROP:
            found = Drop(chain=name, text=rule.text)
        elif verdict.kind is Kind.DIVERT and not flow.may_arrive_at(verdict.to):
            found = Drop(chain=name, text=rule.text, to=verdict.to)
        elif verdict.kind is Kind.RETURN:
            found = _Open.BACK
        elif verdict.kind in (Kind.JUMP, Kind.GOTO):
            found = _walked(chains, verdict.to, flow, depth + 1, known)
        if found is _Open.THROUGH:
            return found
        if found is _Open.BACK:
            if verdict.kind is Kind.JUMP:
                continue
            some_come_back = True
        if hit is Match.YES:
            return _Open.BACK if some_come_back else found
    return _Open.BACK


def is_unclear(chains: Mapping[str, Chain], start: str, flow: Flow) -> bool:
    """Whether it hangs on rules that are not read here what becomes of a flow, of those that begin with a chain."""
    met = [*reached(chains, start, flow)]
    takes = chains[start].drops_rest or any(_takes(each, flow) for each in met)
    return takes and not all(each.is_read for each in met) and dropped(chains, start, flow) is None


def may_be_diverted(chains: Mapping[str, Chain], start: str, flow: Flow) -> bool:
    """Whether any of a flow may be diverted, wherever to, by the rules that begin with a chain."""
    met = reached(chains, start, flow)
    return any(each.verdict.kind in (Kind.DIVERT, Kind.UNKNOWN) for each in met)


def reached(chains: Mapping[str, Chain], start: str, flow: Flow) -> Iterator[Rule]:
    """The rules that some of a flow may meet, and that decide something, of those that begin with a chain; each chain once."""
    return _reached(chains, start, flow, set(), 0)


def leads_to_drop(chains: Mapping[str, Chain], rule: Rule, flow: Flow) -> bool:
    """Whether a rule leads to a chain that surely drops all of a flow."""
    is_jump = rule.verdict.kind in (Kind.JUMP, Kind.GOTO)
    return is_jump and isinstance(_walked(chains, rule.verdict.to, flow, 1, {}), Drop)


def _takes(rule: Rule, flow: Flow) -> bool:
    """Whether what a rule matches does not get to our port, or may not."""
    kind = rule.verdict.kind
    if kind is Kind.DIVERT:
        return not flow.may_arrive_at(rule.verdict.to)
    return kind is Kind.DROP or (kind is Kind.UNKNOWN and not rule.is_read)


def _reached(chains: Mapping[str, Chain], name: str, flow: Flow, seen: set[str], depth: int) -> Iterator[Rule]:
    """The rules that some of a flow may meet, and that decide something; each chain once."""
    if name in seen or name not in chains:
        return
    if depth > _DEEPEST:
        yield _TOO_DEEP
        return
    seen.add(name)
    for rule in chains[name].rules:
        hit, kind = rule.matches(flow), rule.verdict.kind
        if hit is Match.NO or kind is Kind.CONTINUE:
            continue
        yield rule
        if kind in (Kind.JUMP, Kind.GOTO):
            yield from _reached(chains, rule.verdict.to, flow, seen, depth + 1)
        if hit is Match.YES and kind is not Kind.JUMP:
            return
