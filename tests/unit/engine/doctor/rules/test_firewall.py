"""The doctor's rules about this host's own firewall: one rule that shuts several ports or keeps several replies in, and taken ports."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Network

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.case import Duty, Stops
from tinkbox.engine.doctor.rules.firewall import firewall_limits, port_shut, port_taken, replies_refused
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.host_vitals import HostVitals, RefusedReplies
from tinkbox.model.vitals import ShutPort, TakenPort, Vitals

POLICY = "iptables -P INPUT DROP"


def shut(port: int, asked: str, opens: str, protocol: str = "udp", firewall: str = "iptables") -> ShutPort:
    told = opens.format(port=port, protocol=protocol)
    return ShutPort(
        interface="lab", port=port, protocol=protocol, why=POLICY, asked=asked, firewall=firewall, opens=told
    )


@pytest.mark.parametrize(
    ("firewall", "opens", "opening"),
    [
        (
            "iptables",
            "iptables -I INPUT -i lab -p {protocol} --dport {port} -j ACCEPT",
            (
                "iptables -I INPUT -i lab -p udp -m multiport --dports 67,69 -j ACCEPT && "
                "iptables -I INPUT -i lab -p tcp --dport 80 -j ACCEPT"
            ),
        ),
        (
            "nft",
            'nft insert rule inet f in iifname "lab" {protocol} dport {port} accept',
            (
                'nft insert rule inet f in iifname "lab" udp dport {{ 67, 69 }} accept && '
                'nft insert rule inet f in iifname "lab" tcp dport 80 accept'
            ),
        ),
        (
            "ufw",
            "ufw allow in on lab to any port {port} proto {protocol}",
            "ufw allow in on lab to any port 67,69 proto udp && ufw allow in on lab to any port 80 proto tcp",
        ),
        (
            "firewalld",
            "firewall-cmd --permanent --add-port={port}/{protocol} && firewall-cmd --reload",
            (
                "firewall-cmd --permanent --add-port=67/udp --add-port=69/udp && firewall-cmd --reload && "
                "firewall-cmd --permanent --add-port=80/tcp && firewall-cmd --reload"
            ),
        ),
    ],
)
def test_ports_that_one_policy_shuts_are_told_together_with_one_line(firewall: str, opens: str, opening: str) -> None:
    ports = (
        shut(80, "HTTP", opens, "tcp", firewall),
        shut(69, "TFTP", opens, firewall=firewall),
        shut(67, "DHCP", opens, firewall=firewall),
    )
    (found,) = port_shut(appliance(vitals=Vitals(at=BEGIN, shut_ports=ports)))
    assert found.cause.endswith("send to UDP ports 67 (DHCP) and 69 (TFTP) and TCP port 80 (HTTP).")
    assert found.remedy.startswith(f"`{opening.format()}`")


def test_ports_that_two_rules_shut_are_told_apart() -> None:
    one = shut(67, "DHCP", "open {port}")
    other = replace(one, port=69, why="iptables -A INPUT -p udp --dport 69 -j DROP")
    vitals = Vitals(at=BEGIN, shut_ports=(one, other))
    assert len({each.subject for each in port_shut(appliance(vitals=vitals))}) == 2


OUT = "iptables -I OUTPUT -o lab -p {protocol} --sport {port} -j ACCEPT"
REFUSED = RefusedReplies(
    interface="lab", what="DHCP", times=8, since=BEGIN - timedelta(minutes=1), error="Operation not permitted",
    to="255.255.255.255",
)  # fmt: skip


def test_replies_that_one_policy_keeps_in_are_told_together_with_what_the_kernel_said() -> None:
    ports = (shut(80, "HTTP", OUT, "tcp"), shut(4011, "PXE", OUT), shut(67, "DHCP", OUT))
    vitals = Vitals(at=BEGIN, shut_replies=ports, host=HostVitals(refused_replies=(REFUSED,)))
    (found,) = replies_refused(appliance(vitals=vitals, mode="proxy"))
    assert found.cause == (
        "The appliance's host does not let DHCP, HTTP and PXE replies out on lab: its own firewall drops them, so machines get no answer."
    )
    assert "8 times the kernel refused a reply (Operation not permitted)" in found.evidence[0]
    assert found.evidence[1].endswith(POLICY)
    assert found.remedy.startswith(
        "`iptables -I OUTPUT -o lab -p udp -m multiport --sports 67,4011 -j ACCEPT && "
        "iptables -I OUTPUT -o lab -p tcp --sport 80 -j ACCEPT`"
    )
    assert found.stops is not None
    assert found.stops.duties == {Duty.DHCP, Duty.HTTP, Duty.PXE}


def test_a_refused_reply_stays_the_same_condition_when_its_rule_is_found() -> None:
    before = Vitals(at=BEGIN, host=HostVitals(refused_replies=(REFUSED,)))
    after = replace(before, shut_replies=(shut(67, "DHCP", OUT), shut(53, "DNS", OUT)))
    (first,), (then,) = (replies_refused(appliance(vitals=each)) for each in (before, after))
    assert first.subject == then.subject == "lab DHCP"


@pytest.mark.parametrize(
    ("targets", "to"),
    [
        (("172.30.0.60",), " to 172.30.0.60"),
        (("172.30.0.60", "172.30.0.61"), " to 172.30.0.60 and 172.30.0.61"),
        (tuple(f"172.30.0.{each}" for each in range(60, 65)), ""),
        (("172.30.0.60", "255.255.255.255"), ""),
    ],
)
def test_replies_that_are_refused_to_a_few_alone_are_told_of_these(targets: tuple[str, ...], to: str) -> None:
    refused = replace(REFUSED, what="TFTP", to=targets[-1], targets=targets)
    (found,) = replies_refused(appliance(vitals=Vitals(at=BEGIN, host=HostVitals(refused_replies=(refused,)))))
    assert f"does not let TFTP replies out on lab{to}, most likely by its own firewall: " in found.cause
    assert found.cause.endswith("no machine there gets an answer." if to else "machines get no answer.")
    assert found.stops is not None
    assert found.stops.to == (frozenset(map(IPv4Network, targets)) if to else frozenset())
    assert found.subject == "lab TFTP"


def test_that_no_port_is_left_to_answer_from_is_told_as_such_beside_replies_that_are_refused() -> None:
    refused = replace(REFUSED, what="TFTP", to="172.30.0.60")
    none = replace(refused, error="Address already in use", no_port=True)
    vitals = Vitals(at=BEGIN, host=HostVitals(refused_replies=(none, refused)))
    first, found = replies_refused(appliance(vitals=vitals))
    assert "firewall" in first.cause
    assert found.cause == (
        "The appliance's host has no UDP port left from which TFTP could answer on lab: machines get no answer."
    )
    assert (
        "8 times the kernel refused a reply (Address already in use), the last one to 172.30.0.60" in found.evidence[0]
    )
    assert "`sysctl net.ipv4.ip_local_port_range net.ipv4.ip_local_reserved_ports`" in found.remedy
    assert found.stops is not None
    assert (found.gravity, found.stops.duties, found.stops.to) == (Gravity.FAULT, {Duty.TFTP}, frozenset())
    assert first.subject != found.subject


def test_replies_by_tftp_let_all_of_udp_out() -> None:
    ports = (shut(67, "DHCP", OUT), shut(69, "TFTP", "iptables -I OUTPUT -o lab -p udp -j ACCEPT"))
    (found,) = replies_refused(appliance(vitals=Vitals(at=BEGIN, shut_replies=ports)))
    assert found.remedy.startswith("`iptables -I OUTPUT -o lab -p udp -j ACCEPT` lets them through.")


TAKEN = TakenPort(
    interface="lab", port=80, protocol="tcp", asked="HTTP", to="172.17.0.2:8080",
    why="iptables -t nat -A DOCKER -j DNAT", chain="DOCKER", gives_back="iptables -t nat -D DOCKER -j DNAT",
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "cause", "remedy"),
    [
        ({}, "diverts it to 172.17.0.2:8080 (a container of Docker has that port).", "`docker ps --filter publish=80/tcp` names"),
        ({"chain": "docker-bridges filter"}, "(a container of Docker has that port).", "`docker ps --filter publish=80/tcp` names"),
        ({"chain": "CNI-HOSTPORT-DNAT"}, "(a container of Podman or Kubernetes has that port).", "`podman ps` or `crictl ps`"),
        ({"chain": "KUBE-NODEPORTS"}, "(a service of Kubernetes has that port).", "`kubectl get services -A`"),
        ({"chain": "PREROUTING", "to": ":8080"}, "diverts it to its port 8080.", "`iptables -t nat -D DOCKER -j DNAT` takes"),
        ({"chain": "PREROUTING", "to": "10.0.0.1:"}, "diverts it to 10.0.0.1.", "`iptables -t nat -D DOCKER -j DNAT` takes"),
    ],
)  # fmt: skip
def test_a_taken_port_is_told_with_who_takes_it(changed: dict[str, str], cause: str, remedy: str) -> None:
    vitals = Vitals(at=BEGIN, taken_ports=(replace(TAKEN, **changed),))
    (found,) = port_taken(appliance(vitals=vitals))
    assert found.cause.startswith("What machines on lab send to TCP port 80 (HTTP) does not reach tinkbox: ")
    assert found.cause.endswith(cause)
    assert found.remedy.startswith(remedy)
    assert found.evidence[0].endswith(TAKEN.why)
    assert found.stops is not None
    assert (found.stops.duties, found.stops.interface) == ({Duty.HTTP}, "lab")


@pytest.mark.parametrize(
    ("port", "asked", "mode", "duty"),
    [
        (67, "DHCP", "reservation", Duty.DHCP),
        (69, "TFTP", "pool", Duty.TFTP),
        (80, "HTTP", "off", Duty.HTTP),
        (4011, "PXE", "proxy", Duty.PXE),
        (4011, "PXE", "off", Duty.PXE),
        (4011, "PXE", "reservation", None),
        (4011, "PXE", "pool", None),
        (514, "syslog", "proxy", None),
        (53, "DNS", "pool", None),
    ],
)
def test_a_port_without_which_machines_boot_is_suspect(port: int, asked: str, mode: str, duty: Duty | None) -> None:
    closed = shut(port, asked, "open {port}")
    vitals = Vitals(
        at=BEGIN,
        shut_ports=(closed,),
        shut_replies=(closed,),
        taken_ports=(replace(TAKEN, port=port, asked=asked),),
        host=HostVitals(refused_replies=(replace(REFUSED, interface="lan", what=asked),)),
    )
    told = [
        each for rule in (port_shut, port_taken, replies_refused) for each in rule(appliance(vitals=vitals, mode=mode))
    ]
    assert len(told) == 4
    assert {each.gravity for each in told} == {Gravity.FAULT if duty else Gravity.SUSPECT}
    assert {each.stops.duties if each.stops else None for each in told} == {frozenset({duty}) if duty else None}
    boots = [", which no machine needs to boot" in each.cause for each in told[:2]]
    assert boots == [duty is None] * 2


def test_a_rule_that_shuts_a_port_that_boots_need_is_a_fault_whatever_else_it_shuts() -> None:
    ports = (shut(514, "syslog", "open {port}"), shut(69, "TFTP", "open {port}"))
    (found,) = port_shut(appliance(vitals=Vitals(at=BEGIN, shut_ports=ports)))
    assert found.gravity is Gravity.FAULT
    assert found.stops is not None
    assert found.stops.duties == {Duty.TFTP}


LONG = "iptables -A OUTPUT -m length --length 577:65535 -j DROP"


def test_long_packets_that_are_kept_in_stop_boots_and_are_told_with_the_rule_and_what_shows_it() -> None:
    ports = tuple(
        replace(each, why=LONG, above=576, shows="iptables -S OUTPUT")
        for each in (shut(80, "HTTP", OUT, "tcp"), shut(69, "TFTP", OUT))
    )
    refused = replace(REFUSED, what="TFTP")
    vitals = Vitals(at=BEGIN, shut_replies=ports, host=HostVitals(refused_replies=(refused,)))
    (found,) = replies_refused(appliance(vitals=vitals))
    assert found.gravity is Gravity.FAULT
    assert found.cause == (
        "The appliance's own firewall drops HTTP and TFTP packets of more than 576 bytes to machines on lab: such packets never reach a "
        "machine, so its boot files stop short."
    )
    assert "the kernel refused a reply" in found.evidence[0]
    assert found.evidence[1].endswith(LONG)
    assert found.remedy.endswith("add it where your rules are kept. `iptables -S OUTPUT` shows the rule.")
    assert found.stops is not None
    assert found.stops.duties == {Duty.HTTP, Duty.TFTP}


def test_dhcp_replies_that_are_all_too_long_get_machines_no_answer() -> None:
    port = replace(shut(67, "DHCP", OUT), above=300)
    (found,) = replies_refused(appliance(vitals=Vitals(at=BEGIN, shut_replies=(port,))))
    assert found.cause.endswith("DHCP packets of more than 300 bytes to machines on lab: machines get no answer.")


def test_what_is_dropped_at_one_port_of_a_bridge_is_told_of_the_machines_behind_it() -> None:
    port = replace(shut(67, "DHCP", "open {port}"), behind="p1", shows="nft list chain netdev t c")
    vitals = Vitals(
        at=BEGIN,
        shut_ports=(port, replace(port, behind="p2")),
        shut_replies=(port, replace(port, port=69, asked="TFTP", above=500)),
    )
    asked, other = port_shut(appliance(vitals=vitals))
    assert asked.cause == (
        "The appliance's own firewall drops what machines behind port p1 of lab send to UDP port 67 (DHCP)."
    )
    assert (asked.gravity, asked.stops) == (
        Gravity.FAULT,
        Stops(duties=frozenset({Duty.DHCP}), interface="lab", behind="p1"),
    )
    assert asked.remedy.endswith(
        "`nft list chain netdev t c` shows the rule. `bridge fdb show brport p1` lists MACs behind that port."
    )
    assert asked.subject != other.subject
    answered, files = replies_refused(appliance(vitals=vitals))
    assert answered.cause == (
        "The appliance's host does not let DHCP replies out on port p1 of lab: its own firewall drops them, so machines behind that port "
        "get no answer."
    )
    assert files.cause.startswith(
        "The appliance's own firewall drops TFTP packets of more than 500 bytes to machines behind port p1 of lab: "
    )
    assert [each.stops.behind for each in (answered, files) if each.stops is not None] == ["p1", "p1"]


RATE = "nft, table inet guard, chain out: tcp sport 80 limit rate over 40 kbytes/second drop # handle 2"
LIMITED = ShutPort(
    interface="lab",
    port=80,
    protocol="tcp",
    asked="HTTP",
    why=RATE,
    opens='nft insert rule inet guard out oifname "lab" tcp sport 80 accept',
    shows="nft list chain inet guard out",
)


def test_replies_of_which_a_rate_drops_a_part_are_suspect_with_the_rule_and_what_shows_it() -> None:
    (found,) = firewall_limits(appliance(vitals=Vitals(at=BEGIN, limited_replies=(LIMITED,))))
    assert found.gravity is Gravity.SUSPECT
    assert found.cause == (
        "The appliance's own firewall drops a part of its HTTP replies to machines on lab, by a rate: boots may stop, or take very long."
    )
    assert RATE in found.evidence[0]
    assert found.remedy.startswith("`nft list chain inet guard out` shows the rule.")
    assert f"`{LIMITED.opens}` lets them through." in found.remedy
    assert found.stops == Stops(duties=frozenset({Duty.HTTP}), interface="lab")


@pytest.mark.parametrize(
    ("rule", "how"),
    [
        ("udp dport 69 numgen random mod 100 < 30 drop", "by chance"),
        ("iptables -A INPUT -p udp --dport 69 -m statistic --mode random --probability 0.3 -j DROP", "by chance"),
        ("udp dport 69 quota over 10 mbytes drop", "by a quota of bytes"),
        (
            "iptables -A INPUT -p udp --dport 69 -m connlimit --connlimit-above 2 -j DROP",
            "by the number of connections",
        ),
        ("iptables -A INPUT -p udp --dport 69 -m hashlimit --hashlimit-above 40kb/s -j DROP", "by a rate"),
    ],
)
def test_what_machines_send_of_which_a_part_is_dropped_is_told_with_how(rule: str, how: str) -> None:
    asked = replace(LIMITED, port=69, protocol="udp", asked="TFTP", why=rule)
    (found,) = firewall_limits(appliance(vitals=Vitals(at=BEGIN, limited_ports=(asked,))))
    assert found.cause.startswith(
        f"The appliance's own firewall drops a part of what machines on lab send to UDP port 69 (TFTP), {how}:"
    )


def test_a_limit_on_syslog_is_told_nothing_of() -> None:
    syslog = replace(LIMITED, port=514, protocol="udp", asked="syslog")
    assert [*firewall_limits(appliance(vitals=Vitals(at=BEGIN, limited_ports=(syslog,))))] == []
