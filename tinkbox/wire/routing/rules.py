"""Traefik's rule language: which requests a route is for (proposal 0015)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tinkbox.wire.routing.rule_matchers import HOST_MATCHERS, Condition, Request, all_of, any_of, condition_of, name_of
from tinkbox.wire.routing.rule_syntax import Both, Call, Either, Expression, Not, parse_expression, wrong

__all__ = ["Request", "Rule", "parse_rule", "united"]

MAX_RULE: Final = 16_384
MAX_SEARCHES: Final = 8  # each may take 8 ms at worst, measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule that was read; `matchers` are the names of those it uses.  Two are equal when their texts are."""

    text: str
    matchers: frozenset[str] = field(compare=False, repr=False)
    condition: Condition = field(compare=False, repr=False)

    def matches(self, request: Request) -> bool:
        """Whether the request is for the rule's route."""
        return self.condition(request)

    @property
    def names_host(self) -> bool:
        """Whether it depends on the host that is asked for."""
        return not self.matchers.isdisjoint(HOST_MATCHERS)


def parse_rule(text: str) -> Rule:
    """Raises Invalid, saying where and what to write instead."""
    if len(text) > MAX_RULE:
        raise wrong(MAX_RULE, f"the rule goes on to {len(text)}: at most {MAX_RULE} characters are read")
    expression = parse_expression(text)
    condition = _condition(expression)
    calls = tuple(_calls(expression))
    searches = [column for call in calls if name_of(call) == "HostRegexp" for column in call.columns]
    if len(searches) > MAX_SEARCHES:
        raise wrong(
            searches[MAX_SEARCHES], f"at most {MAX_SEARCHES} values of HostRegexp stand in a rule: join them with |"
        )
    return Rule(text=text.strip(), condition=condition, matchers=frozenset(map(name_of, calls)))


def united(rules: Sequence[Rule]) -> Rule:
    """What several rules of one router mean together, as proposal 0014 writes them; there is at least one.

    A request must match one of those that look at nothing but the host, and one of those that do not look at it.
    A rule that does both is complete by itself: what it matches needs none of the others.
    """
    rules = tuple(dict.fromkeys(rules))
    hosts = tuple(rule for rule in rules if rule.matchers <= HOST_MATCHERS)
    others = tuple(rule for rule in rules if not rule.names_host)
    complete = tuple(rule for rule in rules if rule.names_host and not rule.matchers <= HOST_MATCHERS)
    partial = [_either(part) for part in (hosts, others) if part]
    return _either((*([_both(partial)] if partial else []), *complete))


def _either(rules: Sequence[Rule]) -> Rule:
    return Rule(
        text=" || ".join(rule.text for rule in rules),
        matchers=frozenset[str]().union(*(rule.matchers for rule in rules)),
        condition=any_of([rule.condition for rule in rules]),
    )


def _both(rules: Sequence[Rule]) -> Rule:
    if len(rules) == 1:
        return rules[0]
    return Rule(
        text=" && ".join(f"({rule.text})" if "||" in rule.text else rule.text for rule in rules),
        matchers=frozenset[str]().union(*(rule.matchers for rule in rules)),
        condition=all_of([rule.condition for rule in rules]),
    )


def _condition(expression: Expression) -> Condition:
    match expression:
        case Call():
            return condition_of(expression)
        case Not(inner=inner):
            inverted = _condition(inner)
            return lambda request: not inverted(request)
        case Both(parts=parts):
            return all_of([_condition(part) for part in parts])
        case Either(parts=parts):
            return any_of([_condition(part) for part in parts])


def _calls(expression: Expression) -> Iterator[Call]:
    match expression:
        case Call():
            yield expression
        case Not(inner=inner):
            yield from _calls(inner)
        case Both(parts=parts) | Either(parts=parts):
            for part in parts:
                yield from _calls(part)
