"""Which ports nft surely shuts, and which not: what nft 1.0.6 printed of real rules."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.vitals.ports import PORTS
from tinkbox.vitals.nftables import Ruleset

RULESETS = Path(__file__).with_name("rulesets")


def shut(told: str) -> dict[int, tuple[str, int | None]]:
    return {each.port.port: (each.chain, each.handle) for each in Ruleset(told).shut(PORTS)}


def of_rules(
    *expressions: list[dict[str, Any]], policy: str = "accept", hook: str = "input", family: str = "inet"
) -> str:
    chain = {
        "family": family,
        "table": "t",
        "name": "c",
        "handle": 1,
        "type": "filter",
        "hook": hook,
        "prio": 0,
        "policy": policy,
    }
    rules = [
        {"rule": {"family": family, "table": "t", "chain": "c", "handle": 2 + number, "expr": each}}
        for number, each in enumerate(expressions)
    ]
    return json.dumps(
        {"nftables": [{"metainfo": {}}, {"table": {"family": family, "name": "t"}}, {"chain": chain}, *rules]}
    )


def is_(left: dict[str, Any], right: object, op: str = "==") -> dict[str, Any]:
    return {"match": {"op": op, "left": left, "right": right}}


def port(protocol: str) -> dict[str, Any]:
    return {"payload": {"protocol": protocol, "field": "dport"}}


DROP, ACCEPT = {"drop": None}, {"accept": None}


def test_a_closed_firewall_shuts_what_its_sets_maps_and_chains_do_not_let_through() -> None:
    assert shut((RULESETS / "closed.json").read_text()) == {4011: ("input", 12)}


def test_single_rules_shut_what_they_surely_drop() -> None:
    assert shut((RULESETS / "open.json").read_text()) == {
        80: ("i", 4),  # iifname "lab" tcp dport != 22 reject
        67: ("i", 3),  # iifname "lab" udp dport { 67, 4011 } drop
        4011: ("i", 3),
        514: ("i", 7),  # ip daddr 172.30.0.1 udp dport 514 drop; 69 is accepted once a second
    }


def test_the_rules_that_firewalld_makes_are_understood_and_opened_by_it() -> None:
    told = (RULESETS / "firewalld.json").read_text()
    assert sorted(shut(told)) == [69, 80, 514, 4011]
    found = next(Ruleset(told).shut(PORTS)).told("reject")
    assert (found.firewall, found.opens.split(" --zone")[0]) == ("firewalld", "firewall-cmd --permanent")


def test_a_policy_is_told_as_such_with_the_rule_that_opens() -> None:
    (found, *_) = Ruleset(of_rules(policy="drop")).shut(PORTS)
    assert found.handle is None
    told = found.told("policy drop")
    assert told.why == "nft, table inet t, chain c: policy drop"
    assert told.opens == 'nft insert rule inet t c iifname "lab" tcp dport 80 accept'


@pytest.mark.parametrize(
    ("expression", "ports"),
    [
        ([is_(port("udp"), 67), DROP], [67]),
        ([is_(port("udp"), 67, "!="), DROP], [69, 514, 4011]),  # TCP has no such field
        ([is_(port("th"), {"range": [60, 70]}), {"counter": None}, {"reject": None}], [67, 69]),
        ([is_({"meta": {"key": "iifname"}}, "la*"), is_({"meta": {"key": "l4proto"}}, 6), DROP], [80]),
        ([is_({"ct": {"key": "state"}}, {"set": ["new", "invalid"]}, "in"), is_(port("udp"), 69), DROP], [69]),
        ([is_({"meta": {"key": "nfproto"}}, "ipv4"), is_({"ip": 1}, 1), DROP], []),
        ([is_({"ct": {"key": "state"}}, "invalid", "in"), DROP], []),
        ([is_({"payload": {"protocol": "ip", "field": "saddr"}}, "10.0.0.1"), DROP], []),
        ([is_({"payload": {"protocol": "ip6", "field": "saddr"}}, "fe80::1", "!="), DROP], []),
        ([is_(port("udp"), 67), {"limit": {"rate": 1, "per": "second"}}, DROP], []),
        ([is_(port("udp"), "@unknown"), DROP], []),
        ([is_(port("udp"), 67), {"jump": {"target": "nowhere"}}], []),
        ([{"xt": {"type": "match", "name": "string"}}, DROP], []),
    ],
)
def test_one_rule_shuts_these(expression: list[dict[str, Any]], ports: list[int]) -> None:
    assert sorted(shut(of_rules(expression))) == ports


@pytest.mark.parametrize(
    "before",
    [
        [{"xt": {"type": "target", "name": "TARPIT"}}],
        [{"queue": {"num": 0}}],
        [{"vmap": {"key": port("udp"), "data": "@elsewhere"}}],
        [is_({"ip": "something new"}, 1), ACCEPT],
        [{"something new": None}],
    ],
)
def test_what_is_not_understood_may_let_everything_through(before: list[dict[str, Any]]) -> None:
    assert shut(of_rules(before, [DROP], policy="drop")) == {}


def test_packets_are_dropped_on_their_way_in_alone() -> None:
    assert len(shut(of_rules([DROP], hook="prerouting"))) == len(PORTS)
    assert shut(of_rules([DROP], hook="forward")) == {}
    assert shut(of_rules([DROP], family="ip6")) == {}


@pytest.mark.parametrize("told", ["", "[]", '{"nftables": [{"rule": {}}]}', '{"nftables": 1}'])
def test_what_nft_does_not_print_is_refused(told: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Ruleset(told)
