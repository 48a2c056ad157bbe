"""Which ports iptables surely shuts, and which not."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.vitals.ports import PORTS
from tinkbox.vitals.flows import Port, Way
from tinkbox.vitals.iptables import SavedTables

UFW = Path(__file__).with_name("rulesets") / "ufw.save"
CHAINS = {"filter": (":INPUT {policy} [0:0]", ":FORWARD ACCEPT [0:0]"), "raw": (":PREROUTING {policy} [0:0]",)}


def shut(
    *rules: str,
    policy: str = "ACCEPT",
    table: str = "filter",
    more: tuple[str, ...] = (),
    ports: Sequence[Port] = PORTS,
) -> list[int]:
    lines = [f"*{table}", *(each.format(policy=policy) for each in CHAINS[table]), *more, *rules, "COMMIT"]
    return [each.port for each in SavedTables("\n".join(lines)).shut(ports, Way.IN)]


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


# A machine that boots asks from 0.0.0.0, which the kernel takes for a broadcast address, and from port 68.
@pytest.mark.parametrize(
    "rules",
    [
        ["-A INPUT -s 0.0.0.0/8 -j DROP"],
        ["-A INPUT -s 172.30.0.0/24 -j ACCEPT", "-A INPUT -p udp -m udp --dport 67 -j DROP"],
        ["-A INPUT -m addrtype --src-type BROADCAST -j DROP"],
        ["-A INPUT -m addrtype ! --src-type UNICAST -j DROP"],
        ["-A INPUT -p udp -m udp --sport 68 -j DROP"],
    ],
)
def test_what_drops_all_that_have_no_address_yet_shuts_dhcp_where_no_relay_asks(rules: list[str]) -> None:
    assert shut(*rules) == []
    assert shut(*rules, ports=[replace(each, direct=True) for each in PORTS]) == [67]


@pytest.mark.parametrize(
    "rules",
    [
        ["-A INPUT -s 0.0.0.0/32 -j ACCEPT", "-A INPUT -p udp -m udp --dport 67 -j DROP"],
        ["-A INPUT -p udp -m udp --sport 68 --dport 67 -j ACCEPT", "-A INPUT -p udp -m udp --dport 67 -j DROP"],
        ["-A INPUT -s 10.0.0.0/8 -j DROP"],
        ["-A INPUT -m addrtype --src-type MULTICAST -j DROP"],
    ],
)
def test_what_lets_those_without_an_address_through_shuts_nothing(rules: list[str]) -> None:
    assert shut(*rules, ports=[replace(each, direct=True) for each in PORTS]) == []


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
    (found,) = SavedTables("*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -p udp -m udp --dport 67 -j DROP\n").shut(
        PORTS, Way.IN
    )
    assert (found.port, found.opens) == (67, "iptables -t raw -I PREROUTING -i lab -p udp --dport 67 -j ACCEPT")
    assert found.why == "iptables -t raw -A PREROUTING -p udp -m udp --dport 67 -j DROP"


def test_the_rules_that_ufw_makes_are_understood_and_opened_by_ufw() -> None:
    found = {each.port: each for each in SavedTables(UFW.read_text()).shut(PORTS, Way.IN)}
    assert [*found] == [80, 67, 4011, 514]  # `ufw allow in on lab to any port 69 proto udp` was typed
    assert found[67].opens == "ufw allow in on lab to any port 67 proto udp"
    assert found[80].why == "iptables -P INPUT DROP"


@pytest.mark.parametrize("saved", ["*filter\n-A INPUT -d nonsense -j DROP\n:INPUT DROP [0:0]", '*filter\n-A INPUT "x'])
def test_what_iptables_does_not_print_is_refused(saved: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        list(SavedTables(saved).shut(PORTS, Way.IN))


def replies(*rules: str, policy: str = "ACCEPT") -> list[str]:
    """What is asked at the ports from which no reply gets out."""
    lines = ["*filter", f":OUTPUT {policy} [0:0]", *rules, "COMMIT"]
    return [each.asked for each in SavedTables("\n".join(lines)).shut(REPLYING, Way.OUT)]


ESTABLISHED_ALONE = "-A OUTPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT"
REPLYING = [each for each in PORTS if each.replies]


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (["-A OUTPUT -j DROP"], ["HTTP", "DHCP", "TFTP", "PXE"]),
        (["-A OUTPUT -o lab -p udp -m udp --sport 67 -j DROP"], ["DHCP"]),
        (["-A OUTPUT -p udp -m udp --sport 67 --dport 68 -j DROP"], ["DHCP"]),
        (["-A OUTPUT -p tcp -m tcp --sport 1:1024 -j REJECT --reject-with tcp-reset"], ["HTTP"]),
        (["-A OUTPUT -d 172.30.0.0/16 -j DROP"], ["HTTP", "TFTP", "PXE"]),  # DHCP answers all as well
        (["-A OUTPUT -s 172.30.0.1/32 -p tcp -j DROP"], ["HTTP"]),
        (["-A OUTPUT -m conntrack --ctstate NEW -j DROP"], ["DHCP", "TFTP"]),
        ([ESTABLISHED_ALONE, "-A OUTPUT -j DROP"], ["DHCP", "TFTP"]),
        (["-A OUTPUT -o lo -j ACCEPT", "-A OUTPUT -p udp -j DROP"], ["DHCP", "TFTP", "PXE"]),
    ],
)
def test_replies_that_a_rule_surely_drops_are_told(rules: list[str], asked: list[str]) -> None:
    assert replies(*rules) == asked


def test_what_tftp_sends_may_belong_to_a_question_where_the_kernel_follows_it() -> None:
    saved = f"*filter\n:OUTPUT ACCEPT [0:0]\n{ESTABLISHED_ALONE}\n-A OUTPUT -j DROP"
    followed = [replace(each, followed=True) for each in REPLYING]
    assert [each.asked for each in SavedTables(saved).shut(followed, Way.OUT)] == ["DHCP"]


@pytest.mark.parametrize(
    "rules",
    [
        ["-A OUTPUT -o eth9 -j DROP"],
        ["-A OUTPUT -d 10.0.0.0/8 -j DROP"],
        ["-A OUTPUT -d 172.30.0.0/25 -j DROP"],  # half of the machines
        ["-A OUTPUT -p udp -m udp --sport 69 -j DROP"],  # each transfer has a port of its own
        ["-A OUTPUT -p udp -m udp --dport 53 -j DROP"],
        ["-A OUTPUT -m owner --uid-owner 1000 -j DROP"],
        ["-A OUTPUT -s 10.0.0.1/32 -j DROP"],
        ["-A OUTPUT -m conntrack --ctstate INVALID -j DROP"],
    ],
)
def test_replies_that_may_get_out_are_not_called_kept_in(rules: list[str]) -> None:
    assert replies(*rules) == []


def test_what_lets_replies_out_names_their_port_where_they_have_one() -> None:
    saved = "*mangle\n:POSTROUTING DROP [0:0]\nCOMMIT\n"
    found = {each.asked: each for each in SavedTables(saved).shut(REPLYING, Way.OUT)}
    assert found["DHCP"].opens == "iptables -t mangle -I POSTROUTING -o lab -p udp --sport 67 -j ACCEPT"
    assert found["TFTP"].opens == "iptables -t mangle -I POSTROUTING -o lab -p udp -j ACCEPT"
    assert found["HTTP"].why == "iptables -t mangle -P POSTROUTING DROP"


@pytest.mark.parametrize(
    ("rules", "kept_above"),
    [
        (["-A OUTPUT -m length --length 577:65535 -j DROP"], {"HTTP": 576, "TFTP": 576}),
        (["-A OUTPUT -m length ! --length 0:576 -j DROP"], {"HTTP": 576, "TFTP": 576}),
        (["-A OUTPUT -m length --length 0:576 -j ACCEPT", "-A OUTPUT -j DROP"], {"HTTP": 576, "TFTP": 576}),
        (["-A OUTPUT -p udp -m length --length 1400:65535 -j DROP"], {"TFTP": 1399}),
        (["-A OUTPUT -m length --length 600 -j DROP"], {}),
        (["-A OUTPUT -d 10.0.0.1/32 -m length --length 577:65535 -j DROP"], {}),
        (["-A OUTPUT -m length --length 1501:65535 -j DROP"], {}),
        (["-A INPUT -m length --length 100:65535 -j DROP"], {}),
    ],
)
def test_replies_that_a_rule_keeps_in_by_their_length_are_told_with_what_gets_out(
    rules: list[str], kept_above: dict[str, int]
) -> None:
    lines = ["*filter", ":INPUT ACCEPT [0:0]", ":OUTPUT ACCEPT [0:0]", *rules, "COMMIT"]
    tables = SavedTables("\n".join(lines))
    replying = [each for each in PORTS if each.replies]
    found = [*tables.shut(replying, Way.OUT)]
    assert {each.asked: each.above for each in found} == kept_above
    assert {each.shows for each in found} <= {"iptables -S OUTPUT"}
    assert [*tables.shut(PORTS, Way.IN)] == [*tables.unclear(PORTS)] == []


def test_what_is_for_all_of_a_wire_shuts_dhcp_where_no_relay_asks() -> None:
    lines = ("*filter", ":INPUT ACCEPT [0:0]", "-A INPUT -m pkttype --pkt-type broadcast -j DROP", "COMMIT")
    tables = SavedTables("\n".join(lines))
    direct = [replace(each, direct=True) for each in PORTS]
    assert [each.asked for each in tables.shut(direct, Way.IN)] == ["DHCP"]
    assert [*tables.shut(PORTS, Way.IN)] == []


def test_a_firewall_of_ufw_that_denies_what_goes_out_is_opened_by_ufw() -> None:
    lines = UFW.read_text().replace(":OUTPUT ACCEPT", ":OUTPUT DROP").splitlines()
    saved = "\n".join(each for each in lines if not each.startswith("-A ufw-track-output"))
    found, tftp = SavedTables(saved).shut(REPLYING, Way.OUT)
    assert found.opens == "ufw allow out on lab from any port 67 proto udp"
    assert (tftp.asked, tftp.opens) == ("TFTP", "ufw allow out on lab from any proto udp")


DOCKER = (
    ":PREROUTING ACCEPT [0:0]",
    ":DOCKER - [0:0]",
    "-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER",
    "-A DOCKER -i docker0 -j RETURN",
)


def taken(*rules: str) -> dict[int, str]:
    tables = SavedTables("\n".join(["*nat", *rules, "COMMIT"]))
    return {each.port: each.to for each in tables.taken(PORTS)}


def test_a_port_that_a_container_publishes_is_taken() -> None:
    rule = "-A DOCKER ! -i docker0 -p tcp -m tcp --dport 80 -j DNAT --to-destination 172.17.0.2:8080"
    (found,) = SavedTables("\n".join(["*nat", *DOCKER, rule])).taken(PORTS)
    assert (found.port, found.asked, found.to, found.chain) == (80, "HTTP", "172.17.0.2:8080", "DOCKER")
    assert (found.why, found.gives_back) == (
        f"iptables -t nat {rule}",
        f"iptables -t nat {rule.replace('-A', '-D', 1)}",
    )


@pytest.mark.parametrize(
    ("rule", "ports"),
    [
        ("-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 8080", {80: ":8080"}),
        ("-A PREROUTING -p udp -m udp --dport 69 -j DNAT --to-destination 10.0.0.1", {69: "10.0.0.1:"}),
        (
            "-A DOCKER -p udp -m multiport --dports 67,69 -j DNAT --to-destination 10.0.0.1",
            {69: "10.0.0.1:"},
        ),  # 67 is broadcast
        ("-A DOCKER -d 127.0.0.1/32 -p tcp -m tcp --dport 80 -j DNAT --to-destination 172.17.0.2:80", {}),
        ("-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT", {}),
        ("-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 80-90", {}),
        ("-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT --to-destination 172.30.0.1:80", {}),
        ("-A PREROUTING -s 10.0.0.0/8 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1", {}),
        ("-A PREROUTING -i eth9 -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1", {}),
        ("-A PREROUTING -p tcp -m tcp --dport 80 -j ACCEPT", {}),
        (
            "-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.0.0.1:80 --random --persistent",
            {80: "10.0.0.1:80"},
        ),
        ("-A PREROUTING -p tcp -m tcp --dport 80 -j REDIRECT --to-ports 81-90", {80: ":81-90"}),
        ("-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT --to-destination 172.30.0.0-172.30.0.9", {}),
    ],
)
def test_a_port_is_taken_where_all_that_machines_send_is_diverted(rule: str, ports: dict[int, str]) -> None:
    assert taken(*DOCKER, rule) == ports


def unclear(table: str, *rules: str, policy: str = "ACCEPT") -> list[str]:
    chains = {"nat": ("PREROUTING", "OUTPUT", "POSTROUTING"), "mangle": ("PREROUTING", "POSTROUTING")}
    named = [f":{each} {policy} [0:0]" for each in chains.get(table, ("INPUT", "OUTPUT"))]
    return [*SavedTables("\n".join([f"*{table}", *named, *rules, "COMMIT"])).unclear(PORTS)]


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ("filter", "-A INPUT -p udp -m udp --dport 69 -j NFQUEUE --queue-num 0 --queue-bypass"),
        ("filter", "-A INPUT -m set --match-set ports dst -j DROP"),
        ("filter", '-A INPUT -m u32 --u32 "0x0=0x0" -j DROP'),
        ("filter", '-A INPUT -m bpf --bytecode "1,6 0 0 1" -j REJECT --reject-with icmp-port-unreachable'),
        ("filter", "-A INPUT -m time --timestart 10:00:00 -j DROP"),
        ("filter", "-A INPUT -m mac --mac-source 00:11:22:33:44:55 -m limit --limit 1/sec -j DROP"),
        ("filter", "-A INPUT -p tcp -m tcp --syn -m connlimit --connlimit-above 20 -j REJECT"),
        ("filter", "-A OUTPUT -m string --string x --algo bm -j DROP"),
        (
            "mangle",
            "-A PREROUTING -p udp -m udp --dport 69 -j TPROXY --on-port 5300 --on-ip 0.0.0.0 --tproxy-mark 0x1/0x1",
        ),
        ("nat", "-A PREROUTING -p udp -m udp --dport 69 -j NETMAP --to 10.0.0.0/24"),
        ("nat", "-A PREROUTING -m set --match-set ports dst -j DNAT --to-destination 10.0.0.1"),
        ("nat", "-A POSTROUTING -o lab -j SNAT --to-source 10.0.0.1"),
        ("nat", "-A OUTPUT -p udp -m udp --sport 67 -j DNAT --to-destination 10.0.0.1"),
    ],
)
def test_a_table_that_hangs_on_what_is_not_understood_is_named(table: str, rule: str) -> None:
    assert unclear(table, rule) == [table]


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ("filter", "-A INPUT -p udp -m udp --dport 53 -j NFQUEUE --queue-num 0"),
        ("filter", "-A INPUT -m set --match-set banned src -j DROP"),
        (
            "filter",
            "-A INPUT -m recent --update --seconds 60 --hitcount 4 --name D --mask 255.255.255.255 --rsource -j DROP",
        ),
        ("filter", "-A INPUT -m hashlimit --hashlimit-above 9/sec --hashlimit-mode srcip --hashlimit-name h -j DROP"),
        ("filter", "-A INPUT -p udp -m comment --comment x"),
        ("filter", "-A INPUT -m set --match-set ports dst -j ACCEPT"),
        ("filter", "-A INPUT -f -j DROP"),
        ("mangle", "-A POSTROUTING -p udp -m udp --dport 68 -j CHECKSUM --checksum-fill"),
        ("mangle", "-A PREROUTING -j MARK --set-xmark 0x1/0xffffffff"),
        ("nat", "-A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE"),
        ("nat", "-A POSTROUTING -s 10.8.0.0/24 -j SNAT --to-source 10.0.0.1"),
        ("nat", "-A PREROUTING -p tcp -m tcp --dport 80 -j DNAT --to-destination 172.17.0.2:80"),
    ],
)
def test_a_table_of_which_it_is_known_what_it_does_is_clear(table: str, rule: str) -> None:
    assert unclear(table, rule) == []


def test_what_ufw_and_docker_make_is_clear() -> None:
    assert [*SavedTables(UFW.read_text()).unclear(PORTS)] == []
    rule = "-A DOCKER ! -i docker0 -p tcp -m tcp --dport 80 -j DNAT --to-destination 172.17.0.2:8080"
    assert [*SavedTables("\n".join(["*nat", *DOCKER, rule])).unclear(PORTS)] == []


def test_chains_that_lead_too_deep_are_not_understood() -> None:
    chains = [f":c{each} - [0:0]" for each in range(2000)]
    jumps = [f"-A c{each} -j c{each + 1}" for each in range(1999)]
    assert unclear("filter", *chains, *jumps, "-A INPUT -j c0") == ["filter"]


def test_what_only_marks_packets_does_not_hide_the_rule_behind_it() -> None:
    assert shut("-A INPUT -j TOS --set-tos 0x10/0x3f", "-A INPUT -p udp -m udp --dport 69 -j DROP") == [69]
