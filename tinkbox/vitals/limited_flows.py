"""Whether rules of a packet filter drop a part of a flow: what is above a rate, a number or a quota, or by chance.  Pure.

It is said only where what exceeds a rule's limit is surely dropped.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tinkbox.vitals.filter_rules import Chain, Drop, Kind, Rule, dropped, leads_to_drop, reached
from tinkbox.vitals.flows import Flow, Match


class LimitedFlows:
    """What the limits in some chains do with flows."""

    def __init__(self, chains: Mapping[str, Chain]) -> None:
        self._chains = chains
        has_limits = any(rule.rest is not None for chain in chains.values() for rule in chain.rules)
        # The same rules as packets meet them that exceed every limit.
        self._exceeded = {name: self._above_limits(each) for name, each in chains.items()} if has_limits else {}

    def dropped(self, start: str, flow: Flow) -> Drop | None:
        """The rule with the limit above which a flow is surely dropped; None: there is none, or all of it is dropped."""
        if start not in self._exceeded or dropped(self._chains, start, flow) is not None:
            return None
        end = dropped(self._exceeded, start, flow)
        if end is None:
            return None
        # What a limit lets through is dropped by another rule, or by the policy, when there is more.
        met = [each for each in reached(self._chains, start, flow) if each.rest and each.rest(flow) is Match.YES]
        first = next((each for each in met if each.text == end.text), None) or next(iter(met), None)
        return Drop(chain=self._chain_of(first), text=first.text) if first is not None else None

    def is_unclear(self, start: str, flow: Flow) -> bool:
        """Whether a limit drops a part of a flow, perhaps."""
        if start not in self._exceeded or dropped(self._chains, start, flow) is not None:
            return False
        return self.dropped(start, flow) is None and any(
            each.rest is not None and each.rest(flow) is not Match.NO and self._drops(each, flow)
            for each in reached(self._chains, start, flow)
        )

    def _above_limits(self, chain: Chain) -> Chain:
        return replace(chain, rules=[self._above_limit(each) for each in chain.rules])

    def _above_limit(self, rule: Rule) -> Rule:
        return replace(rule, matches=partial(self._is_dropped_by, rule)) if rule.rest is not None else rule

    def _is_dropped_by(self, rule: Rule, flow: Flow) -> Match:
        """Whether what exceeds the limit of a rule is dropped by it: by a rule that lets a part through it goes on to the next one."""
        rest = rule.rest(flow) if rule.rest is not None else Match.NO
        return Match.NO if rest is Match.YES and not self._drops(rule, flow) else rest

    def _drops(self, rule: Rule, flow: Flow) -> bool:
        return rule.verdict.kind is Kind.DROP or leads_to_drop(self._chains, rule, flow)

    def _chain_of(self, rule: Rule) -> str:
        return next(name for name, chain in self._chains.items() if any(each is rule for each in chain.rules))
