"""Which rules of iptables drop a part of what goes to our ports, or comes from them, by a rate or by chance."""

from pathlib import Path

import pytest

from tests.unit.vitals.ports import PORTS
from tinkbox.vitals.flows import Way
from tinkbox.vitals.iptables import SavedTables

UFW = Path(__file__).with_name("rulesets") / "ufw.save"
RATE = "-A rate -m limit --limit 9/sec -j RETURN"
RECENT = "-m recent --update --seconds 60 --hitcount 4 --name D --mask 255.255.255.255 --rsource"


def limited(*rules: str, way: Way = Way.IN, policy: str = "ACCEPT") -> dict[str, str]:
    saved = [
        "*filter",
        f":INPUT {policy} [0:0]",
        f":OUTPUT {policy} [0:0]",
        ":rate - [0:0]",
        *rules,
        "COMMIT",
    ]
    ports = [each for each in PORTS if each.replies]
    return {each.asked: each.why for each in SavedTables("\n".join(saved)).limited(ports, way)}


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (["-A INPUT -p udp -m udp --dport 69 -m limit --limit 1/sec -j DROP"], ["TFTP"]),
        (["-A INPUT -p udp -m udp --dport 69 -m statistic --mode nth --every 3 --packet 0 -j REJECT"], ["TFTP"]),
        ([f"-A INPUT -p tcp -m tcp --dport 80 {RECENT} -j DROP"], ["HTTP"]),
        (["-A INPUT -p udp -m udp --dport 67 -j rate", RATE, "-A rate -j DROP"], ["DHCP"]),
        (["-A INPUT -p udp -m udp --dport 67 -m limit --limit 9/sec -j rate", "-A rate -j DROP"], ["DHCP"]),
        (["-A INPUT -i lab -p udp -m multiport --dports 67,69 -m quota --quota 100 -j DROP"], ["DHCP", "TFTP"]),
        (["-A INPUT -p udp -m udp --dport 67 -j rate", RATE, "-A rate -j LOG"], []),
        (["-A INPUT -p udp -m udp --dport 69 -m limit --limit 1/sec -j ACCEPT"], []),
        (["-A INPUT -m limit --limit 3/min -j LOG"], []),
        (["-A INPUT -p tcp -m tcp --dport 22 -m limit --limit 3/min -j DROP"], []),
        (["-A INPUT -i eth9 -m statistic --mode random --probability 0.3 -j DROP"], []),
        (["-A INPUT -d 10.0.0.1/32 -p udp -m limit --limit 1/sec -j DROP"], []),
        (["-A INPUT -p udp -j DROP", "-A INPUT -m limit --limit 1/sec -j DROP"], ["HTTP"]),  # all else is shut
        (["-A INPUT -m mac --mac-source 00:11:22:33:44:55 -m limit --limit 1/sec -j DROP"], []),
    ],
)
def test_a_limit_is_told_where_what_exceeds_it_is_surely_dropped(rules: list[str], asked: list[str]) -> None:
    assert [*limited(*rules)] == asked


def test_what_a_rate_lets_through_is_told_where_the_policy_drops_the_rest() -> None:
    rule = "-A OUTPUT -p tcp -m tcp --sport 80 -m limit --limit 9/sec -j ACCEPT"
    assert limited(rule, way=Way.OUT, policy="DROP") == {"HTTP": f"iptables {rule}"}
    assert limited(rule, way=Way.OUT) == {}


def test_limits_of_what_this_host_asks_of_others_are_none_of_replies() -> None:
    mail = "-A OUTPUT -p tcp -m tcp --dport 25 -m limit --limit 3/min -j DROP"
    assert limited(mail, way=Way.OUT) == {}
    assert [*SavedTables(f"*filter\n:OUTPUT ACCEPT [0:0]\n{mail}").unclear(PORTS)] == []


def test_a_firewall_of_ufw_limits_nothing_of_ours() -> None:
    tables = SavedTables(UFW.read_text())
    assert [*tables.limited(PORTS, Way.IN), *tables.limited(PORTS, Way.OUT), *tables.unclear(PORTS)] == []
