"""Which ports nft surely shuts, and which not: what nft 1.0.6 printed of real rules."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.vitals.ports import PORTS
from tinkbox.vitals.flows import Way
from tinkbox.vitals.nftables import Ruleset, devices_of

RULESETS = Path(__file__).with_name("rulesets")


def shut(told: str) -> dict[int, tuple[str, int | None]]:
    return {each.port.port: (each.chain, each.handle) for each in Ruleset(told).shut(PORTS, Way.IN)}


def of_rules(
    *expressions: list[dict[str, Any]],
    policy: str = "accept",
    hook: str = "input",
    family: str = "inet",
    kind: str = "filter",
    **more: Any,
) -> str:
    chain = {
        "family": family,
        "table": "t",
        "name": "c",
        "handle": 1,
        "type": kind,
        "hook": hook,
        "prio": 0,
        "policy": policy,
        **more,
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


TO = {"payload": {"protocol": "ip", "field": "daddr"}}
NET = {"prefix": {"addr": "172.30.0.0", "len": 24}}
DROP, ACCEPT = {"drop": None}, {"accept": None}
ADDRTYPE = {"xt": {"type": "match", "name": "addrtype"}}


def test_a_closed_firewall_shuts_what_its_sets_maps_and_chains_do_not_let_through() -> None:
    assert shut((RULESETS / "closed.json").read_text()) == {4011: ("input", 12)}


def test_single_rules_shut_what_they_surely_drop() -> None:
    assert shut((RULESETS / "open.json").read_text()) == {
        80: ("i", 4),  # iifname "lab" tcp dport != 22 reject
        67: ("i", 3),  # iifname "lab" udp dport { 67, 4011 } drop
        4011: ("i", 3),
        514: ("i", 7),  # ip daddr 172.30.0.1 udp dport 514 drop; 69 is accepted once a second
    }


def test_what_drops_all_that_have_no_address_yet_shuts_dhcp_where_no_relay_asks() -> None:
    told = of_rules([is_({"fib": {"result": "type", "flags": ["saddr"]}}, "broadcast"), DROP])
    direct = [replace(each, direct=True) for each in PORTS]
    assert not list(Ruleset(told).shut(PORTS, Way.IN))
    assert [each.port.port for each in Ruleset(told).shut(direct, Way.IN)] == [67]


def test_the_rules_that_firewalld_makes_are_understood_and_opened_by_it() -> None:
    told = (RULESETS / "firewalld.json").read_text()
    assert sorted(shut(told)) == [69, 80, 514, 4011]
    found = next(Ruleset(told).shut(PORTS, Way.IN)).told("reject")
    assert (found.firewall, found.opens.split(" --zone")[0]) == ("firewalld", "firewall-cmd --permanent")


def beside_docker(protocol: str, number: int) -> str:
    """The rules of firewalld, and those by which Docker diverts a port to a container, as nft tells those of iptables."""
    entries = json.loads((RULESETS / "firewalld.json").read_text())["nftables"]
    at = {"family": "ip", "table": "nat"}
    diverts = [is_(INTO, "docker0", "!="), is_(port(protocol), number), {"xt": {"type": "target", "name": "DNAT"}}]
    entries += [
        {"chain": {**at, "name": "PREROUTING", "type": "nat", "hook": "prerouting", "prio": -100, "policy": "accept"}},
        {"chain": {**at, "name": "OUTPUT", "type": "nat", "hook": "output", "prio": -100, "policy": "accept"}},
        {"chain": {**at, "name": "DOCKER"}},
        *(
            {"rule": {**at, "chain": each, "handle": 6, "expr": [ADDRTYPE, {"jump": {"target": "DOCKER"}}]}}
            for each in ("PREROUTING", "OUTPUT")
        ),
        {"rule": {**at, "chain": "DOCKER", "handle": 10, "expr": diverts}},
    ]
    return json.dumps({"nftables": entries})


@pytest.mark.parametrize(
    ("protocol", "number", "ports"),
    [("tcp", 8080, [69, 80, 514, 4011]), ("udp", 69, [80, 514, 4011]), ("tcp", 80, [69, 514, 4011])],
)
def test_a_rule_for_what_was_diverted_lets_only_the_ports_through_that_a_container_has(
    protocol: str, number: int, ports: list[int]
) -> None:
    assert sorted(shut(beside_docker(protocol, number))) == ports


def test_a_rule_that_diverts_what_was_diverted_already_is_followed_to_its_end() -> None:
    again = [is_({"ct": {"key": "status"}}, "dnat", "in"), {"redirect": {"port": 6969}}]
    assert [*Ruleset(of_rules(again, kind="nat", hook="prerouting")).taken(PORTS)] == []


def test_replies_to_what_was_diverted_count_as_diverted_and_no_others() -> None:
    told = json.loads(beside_docker("tcp", 80))
    status = is_({"ct": {"key": "status"}}, "dnat", "in")
    told["nftables"] += json.loads(of_rules([status, ACCEPT], policy="drop", hook="output"))["nftables"]
    assert kept(json.dumps(told)) == ["DHCP", "TFTP", "PXE"]


def test_a_policy_is_told_as_such_with_the_rule_that_opens() -> None:
    (found, *_) = Ruleset(of_rules(policy="drop")).shut(PORTS, Way.IN)
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
        ([is_(port("udp"), 69, ">"), DROP], [514, 4011]),
        ([is_(port("udp"), 69, "<="), DROP], [67, 69]),
        ([is_(port("udp"), {"set": [22, "*"]}), DROP], [67, 69, 514, 4011]),
        ([is_({"concat": [TO, port("udp")]}, {"set": [{"concat": ["172.30.0.1", 69]}]}), DROP], [69]),
        ([is_({"concat": [TO, port("udp")]}, {"set": [{"concat": ["10.0.0.1", 69]}]}), DROP], []),
        ([is_({"concat": [TO, port("th")]}, {"set": [{"concat": [NET, {"range": [60, 80]}]}]}), DROP], [69, 80]),
        ([{"vmap": {"key": port("udp"), "data": {"set": [["*", DROP], [67, ACCEPT]]}}}], [69, 514, 4011]),
        ([{"mangle": {"key": {"meta": {"key": "mark"}}, "value": 1}}, is_(port("udp"), 69), DROP], [69]),
        ([is_(port("udp"), 69), {"mangle": {"key": port("udp"), "value": 6969}}, DROP], []),
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


def kept(told: str, **more: Any) -> list[str]:
    """What is asked at the ports from which no reply gets out."""
    return [each.port.what for each in Ruleset(told, **more).shut(REPLYING, Way.OUT)]


REPLYING = [each for each in PORTS if each.replies]
BRIDGED = {"lab": frozenset({"p1", "p2"})}
FROM_UDP = {"payload": {"protocol": "udp", "field": "sport"}}
OUT_OF = {"meta": {"key": "oifname"}}
INTO = {"meta": {"key": "iifname"}}


def test_replies_are_dropped_on_their_way_out_alone() -> None:
    for hook in ("output", "postrouting"):
        assert kept(of_rules([is_(FROM_UDP, 67), DROP], hook=hook)) == ["DHCP"]
        assert kept(of_rules([is_(OUT_OF, "lab"), DROP], hook=hook, kind="route")) == ["HTTP", "DHCP", "TFTP", "PXE"]
    assert kept(of_rules([DROP])) == []
    assert shut(of_rules([DROP], hook="output")) == {}


def test_what_asks_for_an_interface_that_there_is_not_may_be_meant_for_all() -> None:
    assert kept(of_rules([is_(INTO, "lo", "!="), DROP], hook="output")) == []
    assert kept(of_rules([is_(INTO, "lo"), ACCEPT], [DROP], hook="output")) == []


def test_what_lets_replies_out_is_put_before_the_rule() -> None:
    found = {
        each.port.what: each.told("").opens for each in Ruleset(of_rules([DROP], hook="output")).shut(REPLYING, Way.OUT)
    }
    assert found["DHCP"] == 'nft insert rule inet t c oifname "lab" udp sport 67 accept'
    assert found["TFTP"] == 'nft insert rule inet t c oifname "lab" meta l4proto udp accept'


@pytest.mark.parametrize(
    ("expression", "ports"),
    [
        ([is_({"payload": {"protocol": "ether", "field": "type"}}, "ip"), is_(port("udp"), 67), DROP], [67]),
        ([is_(INTO, {"set": ["p1", "p2"]}), is_(port("udp"), 67), DROP], [67]),
        ([is_(INTO, "p*"), is_(port("udp"), 67), DROP], [67]),
        ([is_(INTO, "p1"), is_(port("udp"), 67), DROP], []),
        ([is_({"payload": {"protocol": "ether", "field": "type"}}, "vlan"), DROP], []),
        ([is_({"payload": {"protocol": "ether", "field": "type"}}, "ip", "!="), DROP], []),
        ([is_({"payload": {"protocol": "ether", "field": "daddr"}}, "ff:ff:ff:ff:ff:ff"), DROP], []),
        ([is_({"payload": {"protocol": "arp", "field": "operation"}}, 1), DROP], []),
    ],
)
def test_a_rule_of_a_bridge_shuts_what_it_drops_at_all_its_ports(
    expression: list[dict[str, Any]], ports: list[int]
) -> None:
    told = of_rules(expression, family="bridge")
    found = Ruleset(told, bridged=BRIDGED).shut(PORTS, Way.IN)
    assert [each.port.port for each in found if not each.behind] == ports
    assert shut(told) == {}  # our interface is no bridge


def test_a_rule_of_a_device_is_of_concern_where_that_is_ours_or_all_ports_of_it() -> None:
    def found(hook: str = "ingress", **more: Any) -> list[str]:
        told = of_rules([is_(port("udp"), 67), DROP], family="netdev", hook=hook, **more)
        return [f"{each.port.what} {each.behind}".strip() for each in Ruleset(told, {}, BRIDGED).shut(PORTS, Way.IN)]

    assert found(dev="lab") == ["DHCP"]
    assert found(dev=["p1", "p2", "p3"]) == ["DHCP"]
    assert found(dev="p1") == ["DHCP p1"]
    assert found(dev="lab", hook="egress") == []
    assert found() == []
    assert kept(of_rules([is_(FROM_UDP, 67), DROP], family="netdev", hook="egress", dev="lab")) == ["DHCP"]


def test_devices_that_nft_leaves_out_of_its_json_are_those_that_it_lists() -> None:
    listed = """
table netdev t {
	chain c {
		type filter hook ingress device "lab" priority filter; policy accept;
		udp dport 67 drop
	}
	chain d {
		type filter hook ingress devices = { h0, lab } priority filter; policy accept;
	}
}
"""
    assert devices_of(listed) == {("t", "c"): frozenset({"lab"}), ("t", "d"): frozenset({"h0", "lab"})}
    told = of_rules([is_(port("udp"), 67), DROP], family="netdev", hook="ingress")
    assert [each.port.port for each in Ruleset(told, devices_of(listed)).shut(PORTS, Way.IN)] == [67]


SOURCE = {"payload": {"protocol": "ip", "field": "saddr"}}
TARGET = {"payload": {"protocol": "ip", "field": "daddr"}}
CONCATENATED = {"concat": [SOURCE, port("udp")]}
NUMBERED = {"numgen": {"mode": "random", "mod": 2, "offset": 0}}
LENGTH = {"meta": {"key": "length"}}
OCTETS = {"payload": {"base": "th", "offset": 17, "len": 15}}


@pytest.mark.parametrize(
    ("expressions", "tables"),
    [
        ([[is_(CONCATENATED, "@known"), DROP]], ["inet t"]),
        ([[is_(port("udp"), "@unknown"), DROP]], ["inet t"]),
        ([[{"queue": {"num": 0}}]], ["inet t"]),
        ([[is_(port("tcp"), 22), is_(CONCATENATED, "@known"), DROP]], []),  # it concerns none of our ports
        ([[is_({"payload": {"protocol": "ip", "field": "saddr"}}, "10.0.0.1"), DROP]], []),  # it depends on the machine
        ([[is_(port("udp"), 67), {"limit": {"rate": 1}}, DROP]], []),
        ([[is_(CONCATENATED, "@known"), ACCEPT]], []),
        ([[is_(CONCATENATED, "@known"), ACCEPT], [DROP]], ["inet t"]),
        ([[DROP], [is_(CONCATENATED, "@known"), DROP]], []),  # nothing comes that far
        ([[is_(CONCATENATED, {"set": [{"concat": ["10.0.0.1", 67]}]}), DROP]], []),
        ([[is_(CONCATENATED, {"set": [{"concat": ["host", 67]}]}), DROP]], ["inet t"]),
        ([[is_(CONCATENATED, {"set": [{"concat": ["10.0.0.1", 22]}] * 5000}), DROP]], ["inet t"]),
        ([[is_(SOURCE, "@filled by rules"), DROP]], []),
        ([[is_(port("udp"), 53), {"tproxy": {"port": 5300}}, ACCEPT]], []),
        ([[is_(port("udp"), 69), {"tproxy": {"port": 5300}}, ACCEPT]], ["inet t"]),
        ([[is_(port("udp"), 69), {"fwd": {"dev": "eth9"}}]], ["inet t"]),
        ([[is_(port("tcp"), 80), {"synproxy": None}]], ["inet t"]),
        ([[is_(port("udp"), 69), {"dup": {"addr": "10.0.0.1"}}], [{"flow": {"op": "add", "flowtable": "@f"}}]], []),
        ([[is_(port("udp"), 69), {"mangle": {"key": port("udp"), "value": 6969}}]], ["inet t"]),
        ([[is_(port("udp"), 69), {"mangle": {"key": TARGET, "value": "10.0.0.1"}}]], ["inet t"]),
        ([[{"mangle": {"key": OCTETS, "value": 1}}]], ["inet t"]),
        ([[{"mangle": {"key": {"meta": {"key": "mark"}}, "value": 1}}, ACCEPT]], []),
        ([[{"mangle": {"key": {"tcp option": {"name": "maxseg", "field": "size"}}, "value": 1400}}]], []),
        ([[{"vmap": {"key": NUMBERED, "data": {"set": [[0, DROP], [1, ACCEPT]]}}}]], []),  # told as what it is
        ([[is_(NUMBERED, 0), {"queue": {"num": 0}}]], ["inet t"]),
        ([[is_(SOURCE, "172.30.0.9"), {"limit": {"rate": 1}}, DROP]], ["inet t"]),
        ([[is_(LENGTH, 500, ">"), {"limit": {"rate": 1}}, DROP]], ["inet t"]),
        ([[{"vmap": {"key": NUMBERED, "data": {"set": [[0, ACCEPT], [1, {"continue": None}]]}}}]], []),
        ([[{"vmap": {"key": port("udp"), "data": "@unknown"}}]], ["inet t"]),
        ([[{"vmap": {"key": port("udp"), "data": {"set": [[22, DROP]] * 5000}}}]], ["inet t"]),
        ([[is_({"socket": {"key": "transparent"}}, 1), ACCEPT]], []),
        ([[is_({"socket": {"key": "transparent"}}, 1), DROP]], ["inet t"]),
        ([[is_({"meta": {"key": "hour"}}, "10:00", ">"), DROP]], ["inet t"]),
        ([[is_(TARGET, "10.0.0.0", "<"), DROP]], ["inet t"]),
        ([[is_({"meta": {"key": "length"}}, 1000, ">"), DROP]], []),
        ([[is_({"fib": {"result": "oif", "flags": ["saddr", "iif"]}}, False), DROP]], []),
        ([[is_({"fib": {"result": "oif", "flags": ["daddr"]}}, "eth9"), DROP]], ["inet t"]),
        ([[{"quota": {"val": 10, "val_unit": "mbytes", "inv": True}}, DROP]], []),
        ([[{"set": {"op": "add", "elem": SOURCE, "set": "@s"}}, DROP]], []),
    ],
)
def test_a_table_is_unclear_where_it_hangs_on_what_is_not_understood(
    expressions: list[list[dict[str, Any]]], tables: list[str]
) -> None:
    assert [*Ruleset(of_rules(*expressions)).unclear(PORTS)] == tables


def test_rules_of_iptables_are_clear_by_what_iptables_says_of_them() -> None:
    rule = [{"xt": {"type": "match", "name": "string"}}, DROP]
    assert [*Ruleset(of_rules(rule, family="ip")).unclear(PORTS)] == []
    assert [*Ruleset(of_rules(rule, family="bridge"), {}, BRIDGED).unclear(PORTS)] == ["bridge t"]


def test_a_device_that_is_one_of_several_ports_is_unclear_where_it_may_drop() -> None:
    told = of_rules([is_(port("udp"), 67), is_(OCTETS, 0), DROP], family="netdev", hook="ingress", dev="p1")
    assert [*Ruleset(told, {}, BRIDGED).unclear(PORTS)] == ["netdev t"]
    assert [*Ruleset(told, {}, {"lab": frozenset({"p2"})}).unclear(PORTS)] == []


def test_of_a_bridge_with_many_ports_the_table_is_named_that_drops_at_those_which_are_not_looked_at() -> None:
    ports = [f"p{each:03}" for each in range(65)]
    told = of_rules(*([is_(INTO, each), ACCEPT] for each in ports[:-1]), [is_(INTO, ports[-1]), DROP], family="bridge")
    rules = Ruleset(told, {}, {"lab": frozenset(ports)})
    assert [*rules.shut(PORTS, Way.IN)] == []
    assert [*rules.unclear(PORTS)] == ["bridge t"]


IN_BRIDGE = {"meta": {"key": "ibrname"}}


@pytest.mark.parametrize(
    ("conditions", "behind"),
    [
        ([is_(INTO, "p1")], {"p1"}),
        ([is_(IN_BRIDGE, "lab"), is_(INTO, "p1")], {"p1"}),
        ([is_(IN_BRIDGE, "other"), is_(INTO, "p1")], set()),
        ([is_(INTO, "p1", "!=")], {"p2"}),
        ([is_({"concat": [INTO, port("udp")]}, {"set": [{"concat": ["p2", 67]}]})], {"p2"}),
        ([is_(INTO, "p1"), is_(SOURCE, "10.0.0.1")], set()),
        ([is_(IN_BRIDGE, "lab")], {""}),
    ],
)
def test_what_a_bridge_drops_at_one_port_is_told_of_that_port(
    conditions: list[dict[str, Any]], behind: set[str]
) -> None:
    told = of_rules([*conditions, is_(port("udp"), 67), DROP], family="bridge")
    found = [*Ruleset(told, {}, BRIDGED).shut(PORTS, Way.IN)]
    assert {each.behind for each in found} == behind
    assert {each.port.what for each in found} <= {"DHCP"}
    by = {f'iifname "{each}" ' if each else "" for each in behind}
    assert {each.told("").opens for each in found} == {
        f"nft insert rule bridge t c {each}udp dport 67 accept" for each in by
    }


IP_LENGTH = {"payload": {"protocol": "ip", "field": "length"}}
UDP_LENGTH = {"payload": {"protocol": "udp", "field": "length"}}
ALL_LONG = {"HTTP": 500, "TFTP": 500}


@pytest.mark.parametrize(
    ("rules", "kept_above"),
    [
        ([[is_(LENGTH, 500, ">"), DROP]], ALL_LONG),
        ([[is_(LENGTH, 501, ">="), DROP]], ALL_LONG),
        ([[is_(IP_LENGTH, 500, ">"), DROP]], ALL_LONG),
        ([[is_(IP_LENGTH, {"range": [501, 65535]}), DROP]], ALL_LONG),
        ([[is_(LENGTH, {"range": [0, 500]}, "!="), DROP]], ALL_LONG),
        ([[is_(LENGTH, 500, "<="), ACCEPT], [DROP]], ALL_LONG),
        ([[is_(LENGTH, 1400, ">"), DROP], [is_(LENGTH, {"range": [501, 1400]}), DROP]], {"HTTP": 1400, "TFTP": 1400}),
        ([[is_(UDP_LENGTH, 480, ">"), DROP]], {"TFTP": 500}),
        ([[is_(LENGTH, 327, ">"), DROP]], dict.fromkeys(("HTTP", "DHCP", "TFTP", "PXE"), 327)),
        ([[is_(FROM_UDP, 67), is_(LENGTH, 300, ">"), DROP]], {"DHCP": 300}),
        ([[is_(LENGTH, 0, ">"), DROP]], dict.fromkeys(("HTTP", "DHCP", "TFTP", "PXE"), 0)),
        ([[is_(LENGTH, 1499, ">"), DROP]], {"HTTP": 1499, "TFTP": 1499}),
        ([[is_(LENGTH, 1500, ">"), DROP]], {}),
        ([[is_(LENGTH, 500, "<"), DROP]], {}),
        ([[is_(LENGTH, {"range": [501, 1500]}), DROP]], {"TFTP": 500}),  # of TCP the rule sees whole trains
        ([[is_(LENGTH, 500, ">"), is_(TO, "10.0.0.1"), DROP]], {}),
        ([[is_({"ct": {"key": "state"}}, "established"), ACCEPT], [is_(LENGTH, 500, ">"), DROP]], {"TFTP": 500}),
    ],
)
def test_replies_that_a_rule_keeps_in_by_their_length_are_told_with_what_gets_out(
    rules: list[list[dict[str, Any]]], kept_above: dict[str, int]
) -> None:
    ruleset = Ruleset(of_rules(*rules, hook="output"))
    assert {each.port.what: each.above for each in ruleset.shut(REPLYING, Way.OUT)} == kept_above
    assert [*Ruleset(of_rules(*rules)).shut(PORTS, Way.IN)] == [*ruleset.unclear(PORTS)] == []


def test_where_what_leaves_a_device_is_counted_the_header_of_its_frame_is_too() -> None:
    told = of_rules([is_(LENGTH, 514, ">"), DROP], family="netdev", hook="egress", dev="p1")
    found = [*Ruleset(told, {}, BRIDGED).shut(REPLYING, Way.OUT)]
    assert [(each.port.what, each.behind, each.above) for each in found] == [("HTTP", "p1", 500), ("TFTP", "p1", 500)]


def test_what_is_for_all_of_a_wire_shuts_dhcp_where_no_relay_asks() -> None:
    direct = [replace(each, direct=True) for each in PORTS]
    rules = Ruleset(of_rules([is_({"meta": {"key": "pkttype"}}, "broadcast"), DROP]))
    assert [each.port.what for each in rules.shut(direct, Way.IN)] == ["DHCP"]
    assert [*rules.shut(PORTS, Way.IN)] == []


@pytest.mark.parametrize("name", ["closed", "open", "firewalld"])
def test_the_rules_of_usual_firewalls_are_clear_and_keep_no_reply_in(name: str) -> None:
    rules = Ruleset((RULESETS / f"{name}.json").read_text())
    assert [*rules.unclear(PORTS), *rules.shut(REPLYING, Way.OUT), *rules.taken(PORTS)] == []


@pytest.mark.parametrize(
    ("diversion", "to"),
    [
        ({"dnat": {"addr": "172.17.0.2", "port": 8080}}, "172.17.0.2:8080"),
        ({"dnat": {"addr": "172.17.0.2"}}, "172.17.0.2:"),
        ({"redirect": {"port": 8080}}, ":8080"),
        ({"redirect": None}, None),
        ({"dnat": {"addr": "172.30.0.1", "port": 80}}, None),
        ({"dnat": {"addr": "172.30.0.1", "port": {"range": [70, 90]}}}, None),
        ({"dnat": {"addr": "172.30.0.1", "port": {"range": [81, 90]}}}, "172.30.0.1:81-90"),
        ({"dnat": {"addr": {"range": ["172.30.0.0", "172.30.0.9"]}}}, None),
        ({"dnat": {"addr": {"range": ["172.30.0.2", "172.30.0.9"]}}}, "172.30.0.2-172.30.0.9:"),
        ({"dnat": {"family": "ip6", "addr": "fe80::1"}}, None),
        ({"dnat": {"addr": {"map": {"key": port("tcp"), "data": "@m"}}}}, None),
        ({"dnat": {"addr": {"map": {"key": port("tcp"), "data": {"set": [[80, "10.0.0.1"]]}}}}}, "10.0.0.1:"),
        ({"dnat": {"addr": {"map": {"key": port("tcp"), "data": {"set": [[81, "10.0.0.1"]]}}}}}, None),
        ({"redirect": {"port": {"map": {"key": port("tcp"), "data": {"set": [[80, 8080]]}}}}}, ":8080"),
    ],
)
def test_a_port_is_taken_where_it_is_diverted_to_elsewhere(diversion: dict[str, Any], to: str | None) -> None:
    told = of_rules([is_(port("tcp"), 80), diversion], kind="nat", hook="prerouting", family="ip")
    found = [each.taken("rule") for each in Ruleset(told).taken(PORTS)]
    assert [each.to for each in found] == ([to] if to else [])
    for each in found:
        assert each.gives_back == "nft delete rule ip t c handle 2"
        assert each.why == "nft, table ip t, chain c: rule"
    assert shut(told) == {}


def with_map(told: str, elements: list[Any] | None, **more: Any) -> str:
    """The same rules with a named map `m`."""
    named = {"family": "inet", "table": "t", "name": "m", **more} | ({} if elements is None else {"elem": elements})
    entries = json.loads(told)["nftables"]
    return json.dumps({"nftables": [*entries, {"map": named}]})


@pytest.mark.parametrize(
    ("elements", "more", "taken", "unclear"),
    [
        ([[69, {"concat": ["172.99.0.9", 69]}]], {}, {69: "172.99.0.9:69"}, []),
        ([[{"elem": {"val": 69, "timeout": 60, "expires": 59}}, "172.99.0.9"]], {}, {69: "172.99.0.9:"}, []),
        ([[{"range": [60, 70]}, "172.99.0.9"]], {}, {67: "172.99.0.9:", 69: "172.99.0.9:"}, []),
        ([[69, "172.30.0.1"], [22, "172.99.0.9"]], {}, {}, []),
        ([[69, {"something": "new"}]], {}, {}, ["inet t"]),
        (None, {}, {}, []),
        (None, {"flags": ["dynamic"]}, {}, ["inet t"]),
        ([[1000 + each, "172.99.0.9"] for each in range(5000)], {}, {}, ["inet t"]),
    ],
)
def test_a_diversion_by_a_named_map_is_followed_or_told_as_not_understood(
    elements: list[Any] | None, more: dict[str, Any], taken: dict[int, str], unclear: list[str]
) -> None:
    by_map = {"dnat": {"family": "ip", "addr": {"map": {"key": port("udp"), "data": "@m"}}}}
    rules = Ruleset(with_map(of_rules([by_map], kind="nat", hook="prerouting"), elements, **more))
    assert {each.port.port: each.to for each in rules.taken(PORTS)} == taken
    assert [*rules.unclear(PORTS)] == unclear


@pytest.mark.parametrize(
    ("diversion", "tables"),
    [
        ({"dnat": {"addr": "10.0.0.1", "port": {"jhash": {"mod": 5}}}}, ["inet t"]),
        (
            {"dnat": {"addr": {"map": {"key": NUMBERED, "data": {"set": [[0, "10.0.0.1"], [1, "10.0.0.2"]]}}}}},
            ["inet t"],
        ),
        ({"dnat": {"addr": {"map": {"key": NUMBERED, "data": {"set": [[0, "172.30.0.1"]]}}}}}, []),
        ({"queue": {"num": 0}}, ["inet t"]),
        ({"dnat": {"addr": "172.30.0.1"}}, []),
    ],
)
def test_a_diversion_that_depends_on_the_packet_is_told_as_not_understood(
    diversion: dict[str, Any], tables: list[str]
) -> None:
    rules = Ruleset(of_rules([is_(port("udp"), 69), diversion], kind="nat", hook="prerouting"))
    assert ([*rules.unclear(PORTS)], [*rules.taken(PORTS)]) == (tables, [])


def test_what_a_chain_that_diverts_drops_is_shut() -> None:
    told = of_rules([is_(port("udp"), 69), DROP], kind="nat", hook="prerouting")
    assert (shut(told), [*Ruleset(told).taken(PORTS)]) == ({69: ("c", 2)}, [])


@pytest.mark.parametrize(
    ("expression", "tables"),
    [
        ([is_(OUT_OF, "lab"), {"snat": {"addr": "10.0.0.1"}}], ["inet t"]),
        ([is_(OUT_OF, "lab"), {"snat": {"addr": "172.30.0.1"}}], []),
        ([is_(OUT_OF, "eth9"), {"snat": {"addr": "10.0.0.1"}}], []),
        ([is_(SOURCE, "10.8.0.2"), {"snat": {"addr": "10.0.0.1"}}], []),
        ([{"masquerade": {"flags": "random"}}], []),
        ([is_({"ct": {"key": "state"}}, "established"), {"snat": {"addr": "10.0.0.1"}}], []),
    ],
)
def test_replies_that_get_another_sender_are_told_as_not_understood(
    expression: list[dict[str, Any]], tables: list[str]
) -> None:
    rules = Ruleset(of_rules(expression, kind="nat", hook="postrouting"))
    assert ([*rules.unclear(PORTS)], [*rules.shut(REPLYING, Way.OUT)]) == (tables, [])


def test_a_table_that_may_keep_machines_from_our_hardware_address_is_told() -> None:
    rule = [is_({"payload": {"protocol": "arp", "field": "operation"}}, 1), DROP]
    for told in (of_rules(rule, family="arp"), of_rules(family="arp", policy="drop")):
        assert [*Ruleset(told).unclear(PORTS)] == ["arp t"]
    assert [*Ruleset(of_rules([ACCEPT], family="arp")).unclear(PORTS)] == []


def test_chains_that_call_each_other_many_times_and_sets_with_many_elements_are_looked_at_once() -> None:
    """Walked anew at each call, these chains would take years; parsed anew for each port, the set would take minutes."""
    entries = json.loads(of_rules([is_(SOURCE, "@s"), {"jump": {"target": "0"}}]))["nftables"]
    elements = [f"10.{each >> 16}.{each >> 8 & 255}.{each & 255}" for each in range(100_000)]
    entries.append({"set": {"family": "inet", "table": "t", "name": "s", "elem": elements}})
    for number in range(16):
        at = {"family": "inet", "table": "t"}
        calls = [is_(SOURCE, "10.0.0.1"), {"jump": {"target": str(number + 1)}}]
        entries.append({"chain": {**at, "name": str(number)}})
        entries += [{"rule": {**at, "chain": str(number), "handle": 9, "expr": calls}}] * 30
    entries += [
        {"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 8, "expr": each}}
        for each in [[is_(SOURCE, "@s"), DROP]] * 30
    ]
    rules = Ruleset(json.dumps({"nftables": entries}))
    assert ([*rules.shut(PORTS, Way.IN)], [*rules.unclear(PORTS)]) == ([], [])
