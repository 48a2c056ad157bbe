"""Which ports iptables surely shuts, and which not."""

from pathlib import Path

import pytest

from tests.unit.vitals.ports import PORTS
from tinkbox.vitals.iptables import shut_ports

UFW = Path(__file__).with_name("rulesets") / "ufw.save"
CHAINS = {"filter": (":INPUT {policy} [0:0]", ":FORWARD ACCEPT [0:0]"), "raw": (":PREROUTING {policy} [0:0]",)}


def shut(*rules: str, policy: str = "ACCEPT", table: str = "filter", more: tuple[str, ...] = ()) -> list[int]:
    lines = [f"*{table}", *(each.format(policy=policy) for each in CHAINS[table]), *more, *rules, "COMMIT"]
    return [each.port for each in shut_ports("\n".join(lines), PORTS)]


ALL = [80, 67, 69, 4011, 514]


@pytest.mark.parametrize(
    ("rules", "ports"),
    [
        (["-A INPUT -i lab -p udp -m udp --dport 67 -j DROP"], [67]),
        (
            ["-A INPUT -p udp -m multiport --dports 67:69,4011 -j REJECT --reject-with icmp-port-unreachable"],
            [67, 69, 4011],
        ),
        (["-A INPUT -i la+ ! -p udp -j DROP"], [80]),
        (["-A INPUT ! -i lo -j DROP"], ALL),
        (["-A INPUT -p tcp -m conntrack --ctstate NEW -j DROP"], [80]),
        (["-A INPUT -d 172.30.0.1/32 -p udp -m udp --dport 69 -j DROP"], [69]),
        (["-A INPUT -m addrtype --dst-type LOCAL,BROADCAST -p udp -j DROP"], [67, 69, 4011, 514]),
        (['-A INPUT -p udp -m udp --dport 514 -m comment --comment "no -j ACCEPT here" -j DROP'], [514]),
    ],
)
def test_what_a_rule_surely_drops_is_shut(rules: list[str], ports: list[int]) -> None:
    assert shut(*rules) == ports


@pytest.mark.parametrize(
    "rules",
    [
        ["-A INPUT -i eth9 -p udp -m udp --dport 67 -j DROP"],
        ["-A INPUT -s 10.0.0.0/8 -j DROP"],
        ["-A INPUT -m limit --limit 1/sec -j DROP"],
        ["-A INPUT -m conntrack --ctstate INVALID -j DROP"],
        ["-A INPUT -p udp -m udp --sport 68 --dport 67 -j DROP"],
        ["-A INPUT -d 172.30.0.1/32 -p udp -m udp --dport 67 -j DROP"],  # what is broadcast gets through
        ["-A INPUT -s 172.30.0.0/24 -j ACCEPT", "-A INPUT -j DROP"],
        ["-A INPUT -j NFQUEUE --queue-num 0", "-A INPUT -j DROP"],
        ["-A INPUT -p tcp -m tcp --dport 80 -m string --string x --algo bm -j DROP"],
        ["-A INPUT -j ACCEPT", "-A INPUT -j DROP"],
        ["-A INPUT -j LOG --log-prefix DROP"],
    ],
)
def test_what_may_get_through_is_not_called_shut(rules: list[str]) -> None:
    assert shut(*rules) == []


def test_a_policy_shuts_what_no_rule_lets_through() -> None:
    rules = [
        "-A INPUT -m state --state RELATED,ESTABLISHED -j ACCEPT",
        "-A INPUT -i lo -j ACCEPT",
        "-A INPUT -p tcp -m tcp --dport 80 -j ACCEPT",
    ]
    assert shut(*rules, policy="DROP") == [67, 69, 4011, 514]


def test_chains_are_followed_and_come_back() -> None:
    chains = (":lan - [0:0]", ":udp - [0:0]")
    rules = [
        "-A INPUT -i lab -j lan",
        "-A INPUT -j DROP",
        "-A lan -p udp -g udp",
        "-A lan -p tcp -m tcp --dport 80 -j ACCEPT",
        "-A udp -p udp -m udp --dport 67 -j ACCEPT",
        "-A udp -p udp -m udp --dport 69 -m limit --limit 1/sec -j RETURN",
        "-A udp -p udp -m udp --dport 69 -j ACCEPT",
    ]
    assert shut(*rules, more=chains) == [4011, 514]
    assert shut("-A INPUT -j lan", "-A INPUT -j DROP", "-A lan -j lan", more=chains) == []  # which kernels refuse


def test_a_port_that_is_shut_before_the_table_for_this_host_is_shut() -> None:
    (found,) = shut_ports("*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -m udp --dport 67 -j DROP\n", PORTS)
    assert (found.port, found.opens) == (67, "iptables -t raw -I PREROUTING -i lab -p udp --dport 67 -j ACCEPT")
    assert found.why == "iptables -t raw -A PREROUTING -p udp -m udp --dport 67 -j DROP"


def test_the_rules_that_ufw_makes_are_understood_and_opened_by_ufw() -> None:
    found = {each.port: each for each in shut_ports(UFW.read_text(), PORTS)}
    assert [*found] == [80, 67, 4011, 514]  # `ufw allow in on lab to any port 69 proto udp` was typed
    assert found[67].opens == "ufw allow in on lab to any port 67 proto udp"
    assert found[80].why == "iptables -P INPUT DROP"


@pytest.mark.parametrize("saved", ["*filter\n-A INPUT -d nonsense -j DROP\n:INPUT DROP [0:0]", '*filter\n-A INPUT "x'])
def test_what_iptables_does_not_print_is_refused(saved: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        list(shut_ports(saved, PORTS))
