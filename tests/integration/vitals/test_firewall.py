"""The rules of real firewalls in a network namespace, what is told of them, and whether packets get through there."""

import asyncio
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tests.unit.vitals.ports import PORTS
from tinkbox.model.errors import Unavailable
from tinkbox.model.vitals import ShutPort
from tinkbox.vitals.firewall import Firewall, FirewallReading

UFW = Path(__file__).parents[2] / "unit" / "vitals" / "rulesets" / "ufw.save"
BROADCAST = "255.255.255.255"


@pytest.fixture
def lab() -> Iterator[tuple[Host, Host]]:
    """The appliance's host, and a machine on its network."""
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        appliance.ip("address add 172.30.0.1/24 dev lab")
        machine.ip("address add 172.30.0.9/24 dev eth0")
        machine.ip("route add default dev eth0")
        yield appliance, machine


def now() -> datetime:
    return datetime.now(UTC)


def on(host: Host, *words: str) -> None:
    run(*host.command(*words))


def types(host: Host, words: str) -> None:
    on(host, *words.split())


def reading(host: Host) -> FirewallReading:
    with at_home_in(host.name):
        return asyncio.run(Firewall(PORTS, now, os.environ["PATH"]).look())


def told(host: Host) -> dict[int, ShutPort]:
    return {each.port: each for each in reading(host).shut}


def kept(host: Host) -> dict[int, ShutPort]:
    return {each.port: each for each in reading(host).replies}


def loads(host: Host, tmp_path: Path, table: str, *chains: str) -> None:
    """Have nft add a table with these chains."""
    file = tmp_path / "rules.nft"
    file.write_text("\n".join([f"table {table} {{", *chains, "}\n"]))
    on(host, "nft", "-f", str(file))


def passes(lab: tuple[Host, Host], port: int) -> bool:
    """Whether UDP that the machine sends to a port arrives: behind it something is sent that arrives for sure."""
    appliance, machine = lab
    with at_home_in(appliance.name):
        asked, sure = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with at_home_in(machine.name):
        asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with asked, sure, asking:
        asked.bind(("", port))
        sure.bind(("172.30.0.1", 60000))
        sure.settimeout(30)
        asked.setblocking(False)
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        on(appliance, "iptables", "-t", "filter", "-I", "INPUT", "-p", "udp", "--dport", "60000", "-j", "ACCEPT")
        asking.sendto(b"?", (BROADCAST if port == 67 else "172.30.0.1", port))
        asking.sendto(b"!", ("172.30.0.1", 60000))
        sure.recv(10)
        on(appliance, "iptables", "-t", "filter", "-D", "INPUT", "-p", "udp", "--dport", "60000", "-j", "ACCEPT")
        try:
            return bool(asked.recv(10))
        except BlockingIOError:
            return False


def is_answered(lab: tuple[Host, Host]) -> bool:
    """Whether a DHCP reply for all gets out and arrives: behind it something is sent that arrives for sure."""
    appliance, machine = lab
    with at_home_in(machine.name):
        hearing, sure = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with at_home_in(appliance.name):
        answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        other = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with hearing, sure, answering, other:
        hearing.bind(("", 68))
        hearing.setblocking(False)
        sure.bind(("172.30.0.9", 60000))
        sure.settimeout(30)
        answering.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lab")
        answering.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        answering.bind(("", 67))
        on(appliance, "iptables", "-I", "OUTPUT", "-p", "udp", "--dport", "60000", "-j", "ACCEPT")
        with suppress(PermissionError):  # what the kernel says of some that it drops
            answering.sendto(b"?", (BROADCAST, 68))
        other.sendto(b"!", ("172.30.0.9", 60000))
        sure.recv(10)
        on(appliance, "iptables", "-D", "OUTPUT", "-p", "udp", "--dport", "60000", "-j", "ACCEPT")
        try:
            return bool(hearing.recv(10))
        except BlockingIOError:
            return False


def gets_out(lab: tuple[Host, Host], size: int) -> bool:
    """Whether a packet of so many bytes gets out and arrives, as a block by TFTP does: behind it something short is sent that does for sure."""
    appliance, machine = lab
    with at_home_in(machine.name):
        hearing = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with at_home_in(appliance.name):
        sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with hearing, sending:
        hearing.bind(("", 60001))
        hearing.settimeout(30)
        with suppress(PermissionError):  # what the kernel says of some that it drops
            sending.sendto(b"?" * (size - 28), ("172.30.0.9", 60001))
        sending.sendto(b"!", ("172.30.0.9", 60001))
        return len(hearing.recv(2000)) > 1


def has_bridge(host: Host, *ports: str) -> None:
    """Have the cable end in a port of a bridge that has the interface's name and address, beside other ports."""
    for words in (
        "link set lab down",
        "address flush dev lab",
        f"link set lab name {ports[0]}",
        "link add lab type bridge",
        *(f"link add {each} type veth peer name other-{each}" for each in ports[1:]),
        *(f"link set {each} up master lab" for each in ports),
        "address add 172.30.0.1/24 dev lab",
        "link set lab up",
    ):
        host.ip(words)


def test_without_rules_nothing_is_shut(lab: tuple[Host, Host]) -> None:
    assert told(lab[0]) == {}
    assert passes(lab, 67)


@pytest.mark.parametrize("program", ["iptables", "iptables-legacy"])
def test_a_rule_of_iptables_is_told_with_the_command_that_opens_the_port(lab: tuple[Host, Host], program: str) -> None:
    appliance, _ = lab
    on(appliance, program, "-A", "INPUT", "-i", "lab", "-p", "udp", "--dport", "67", "-j", "DROP")
    found = told(appliance)
    assert [*found] == [67]
    assert found[67].why == f"{program} -A INPUT -i lab -p udp -m udp --dport 67 -j DROP"
    assert found[67].opens == f"{program} -I INPUT -i lab -p udp --dport 67 -j ACCEPT"
    assert (passes(lab, 67), passes(lab, 69)) == (False, True)
    on(appliance, *found[67].opens.split())
    assert told(appliance) == {}
    assert passes(lab, 67)


def test_a_policy_is_told_for_every_port_that_no_rule_lets_through(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    on(appliance, "iptables", "-A", "INPUT", "-p", "tcp", "--dport", "80", "-j", "ACCEPT")
    on(appliance, "iptables", "-A", "INPUT", "-s", "172.30.0.0/24", "-p", "udp", "--dport", "514", "-j", "ACCEPT")
    on(appliance, "iptables", "-P", "INPUT", "DROP")
    assert sorted(told(appliance)) == [67, 69, 4011]
    assert [passes(lab, port) for port in (67, 69, 4011, 514)] == [False, False, False, True]


def test_what_ufw_makes_is_told_as_packets_fare(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    rules = tmp_path / "rules"
    rules.write_text(UFW.read_text())
    on(appliance, "iptables-restore", str(rules))
    found = told(appliance)
    assert sorted(found) == [67, 80, 514, 4011]
    assert [passes(lab, port) for port in (67, 69, 514, 4011)] == [False, True, False, False]
    assert found[67].opens == "ufw allow in on lab to any port 67 proto udp"


@pytest.mark.parametrize("program", ["iptables", "iptables-legacy"])
def test_replies_that_a_policy_keeps_in_are_told_with_the_command_that_lets_them_out(
    lab: tuple[Host, Host], program: str
) -> None:
    appliance, _ = lab
    for words in (
        "-A OUTPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
        "-A OUTPUT -o lab -p udp --dport 60000 -j ACCEPT",
        "-P OUTPUT DROP",
    ):
        on(appliance, program, *words.split())
    assert not is_answered(lab)
    found = kept(appliance)
    assert [*found] == [67]  # what was asked for is established, and one port that TFTP may answer to is open
    assert found[67].why == f"{program} -P OUTPUT DROP"
    assert found[67].opens == f"{program} -I OUTPUT -o lab -p udp --sport 67 -j ACCEPT"
    on(appliance, *found[67].opens.split())
    assert kept(appliance) == {}
    assert is_answered(lab)


def test_a_port_that_is_redirected_is_told_with_the_command_that_gives_it_back(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    types(appliance, "iptables -t nat -A PREROUTING -p udp --dport 69 -j REDIRECT --to-ports 6969")
    types(appliance, "iptables -t nat -A PREROUTING -p udp --dport 514 -j REDIRECT --to-ports 514")
    (taken,) = reading(appliance).taken
    assert (taken.port, taken.to, told(appliance)) == (69, ":6969", {})
    assert (passes(lab, 69), passes(lab, 514)) == (False, True)
    on(appliance, *taken.gives_back.split())
    assert reading(appliance).taken == ()
    assert passes(lab, 69)


needs_nft = pytest.mark.skipif(shutil.which("nft") is None, reason="nft is not installed here")


@needs_nft
def test_a_port_that_nft_redirects_is_told_with_its_rule(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    chains = (
        "chain own { udp dport 69 counter dnat to 172.17.0.2:69; }",
        "chain in { type nat hook prerouting priority -100; fib daddr type local jump own; }",
    )
    loads(appliance, tmp_path, "ip mine", *chains)
    (taken,) = reading(appliance).taken
    assert (taken.port, taken.to, taken.chain) == (69, "172.17.0.2:69", "mine own")
    assert "chain own: udp dport 69 counter" in taken.why
    assert not passes(lab, 69)
    on(appliance, *taken.gives_back.split())
    assert reading(appliance).taken == ()
    assert passes(lab, 69)


@needs_nft
def test_a_port_that_nft_diverts_by_a_map_is_told_with_its_rule(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    parts = (
        "map m { type inet_service : ipv4_addr . inet_service; elements = { 69 : 172.99.0.9 . 69 }; }",
        "chain p { type nat hook prerouting priority -110; dnat ip to udp dport map @m; }",
    )
    loads(appliance, tmp_path, "inet x", *parts)
    assert (passes(lab, 69), passes(lab, 514)) == (False, True)
    found = reading(appliance)
    assert ([(each.port, each.to) for each in found.taken], found.why_unclear) == ([(69, "172.99.0.9:69")], "")
    on(appliance, *found.taken[0].gives_back.split())
    assert reading(appliance) == FirewallReading()
    assert passes(lab, 69)


@needs_nft
def test_what_a_firewall_shuts_is_told_beside_the_ports_that_docker_diverts_to_containers(
    lab: tuple[Host, Host], tmp_path: Path
) -> None:
    appliance, _ = lab
    for rule in (
        "-N DOCKER",
        "-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER",
        "-A OUTPUT ! -d 127.0.0.0/8 -m addrtype --dst-type LOCAL -j DOCKER",
        "-A DOCKER ! -i docker0 -p tcp --dport 8080 -j DNAT --to-destination 172.17.0.2:80",
    ):
        types(appliance, f"iptables -t nat {rule}")
    accepted = "ct state established,related accept; ct status dnat accept; udp dport { 67, 514, 4011, 60000 } accept; tcp dport 80 accept"
    loads(
        appliance,
        tmp_path,
        "inet firewalld",
        f"chain filter_INPUT {{ type filter hook input priority 10; {accepted}; reject with icmpx admin-prohibited; }}",
    )
    assert (passes(lab, 69), passes(lab, 514)) == (False, True)
    assert [(port, each.firewall) for port, each in told(appliance).items()] == [(69, "firewalld")]


def test_a_table_of_iptables_that_is_not_understood_is_named(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    types(appliance, "iptables -A INPUT -p udp --dport 69 -m u32 --u32 0x0=0x0 -j DROP")
    found = reading(appliance)
    assert ([*found.unclear.values()], found.shut) == ([("filter",)], ())


@needs_nft
@pytest.mark.parametrize("device", ['device "lab"', 'devices = { "lab", "lo" }'])
def test_what_nft_drops_on_a_device_is_told_before_all_other_tables(
    lab: tuple[Host, Host], tmp_path: Path, device: str
) -> None:
    appliance, _ = lab
    chain = f"chain in {{ type filter hook ingress {device} priority 0; udp dport {{ 67, 4011 }} drop; }}"
    other = 'chain other { type filter hook ingress device "lo" priority 0; udp dport 69 drop; }'
    loads(appliance, tmp_path, "netdev own", chain, other)
    found = told(appliance)
    assert sorted(found) == [67, 4011]
    assert found[67].why.startswith("nft, table netdev own, chain in: udp dport { 67, 4011 } drop")
    assert [passes(lab, port) for port in (67, 69)] == [False, True]
    on(appliance, *found[67].opens.split())
    assert sorted(told(appliance)) == [4011]
    assert passes(lab, 67)


@needs_nft
def test_replies_that_nft_drops_on_a_device_are_told(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    chain = 'chain out { type filter hook egress device "lab" priority 0; udp sport 67 drop; }'
    loads(appliance, tmp_path, "netdev own", chain)
    assert not is_answered(lab)
    found = kept(appliance)
    assert [*found] == [67]
    on(appliance, *found[67].opens.split())
    assert kept(appliance) == {}
    assert is_answered(lab)


@needs_nft
def test_what_nft_drops_on_a_bridge_is_told_where_our_interface_is_one(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    for words in (
        "link set lab down",
        "link set lab name port",
        "link add lab type bridge",
        "link set port master lab",
    ):
        appliance.ip(words)
    appliance.ip("address flush dev port")
    appliance.ip("address add 172.30.0.1/24 dev lab")
    for each in ("port", "lab"):
        appliance.ip(f"link set {each} up")
    chains = (
        'chain in { type filter hook input priority 0; iifname "port" ether type ip udp dport 67 drop; }',
        "chain out { type filter hook postrouting priority 0; udp sport 67 drop; }",
    )
    loads(appliance, tmp_path, "bridge own", *chains)
    assert [passes(lab, port) for port in (67, 69)] == [False, True]
    assert not is_answered(lab)
    found, replies = told(appliance), kept(appliance)
    assert ([*found], [*replies]) == ([67], [67])
    assert found[67].why.startswith('nft, table bridge own, chain in: iifname "port" ether type ip udp dport 67 drop')
    for each in (found[67], replies[67]):
        on(appliance, *each.opens.split())
    assert (told(appliance), kept(appliance)) == ({}, {})
    assert passes(lab, 67)
    assert is_answered(lab)


@needs_nft
def test_a_table_whose_rules_are_not_understood_is_named_and_accused_of_nothing(
    lab: tuple[Host, Host], tmp_path: Path
) -> None:
    appliance, _ = lab
    chain = "chain in { type filter hook input priority 0; socket transparent 1 drop; }"
    loads(appliance, tmp_path, "inet own", chain)
    found = reading(appliance)
    assert (found.shut, found.unclear) == ((), {"nft list ruleset": ("inet own",)})
    assert found.why_unclear.startswith("nft's table inet own has rules that tinkbox does not understand")


def test_what_one_program_does_not_tell_is_said_beside_what_the_other_does(
    lab: tuple[Host, Host], tmp_path: Path
) -> None:
    appliance, _ = lab
    types(appliance, "iptables -A INPUT -i lab -p udp --dport 67 -j DROP")
    program = tmp_path / "nft"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    with at_home_in(appliance.name):
        found = asyncio.run(Firewall(PORTS, now, f"{tmp_path}:{os.environ['PATH']}").look())
    assert [each.port for each in found.shut] == [67]
    assert "nft failed" in found.why_unclear


def test_elements_that_near_their_end_are_no_reason_to_think_about_the_rules_again(tmp_path: Path) -> None:
    told = """{"nftables": [
        {"set": {"family": "ip", "table": "t", "name": "s", "elem": [{"elem": {"val": 69, "timeout": 60, "expires": 59}}]}},
        {"chain": {"family": "ip", "table": "t", "name": "c", "type": "filter", "hook": "input", "policy": "accept"}},
        {"rule": {"family": "ip", "table": "t", "chain": "c", "handle": 2, "expr": [
            {"match": {"op": "==", "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": "@s"}},
            {"drop": null}
        ]}}
    ]}"""
    program, printed = tmp_path / "nft", tmp_path / "printed"
    program.write_text(f"#!/bin/sh\nexec /bin/cat {printed}\n")
    program.chmod(0o755)
    firewall = Firewall(PORTS, now, str(tmp_path))

    async def shut() -> ShutPort:
        (found,) = (await firewall.look()).shut
        return found

    async def twice() -> None:
        printed.write_text(told)
        first = await shut()
        printed.write_text(told.replace("59", "58"))
        assert await shut() is first
        assert firewall.changed_at is None
        printed.write_text(told.replace('"drop"', '"reject"'))
        await shut()
        assert firewall.changed_at is not None

    asyncio.run(twice())


@needs_nft
def test_a_rule_of_nft_is_quoted_as_nft_writes_it(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    rules = tmp_path / "rules.nft"
    rules.write_text(
        "table inet own {\n chain in {\n  type filter hook input priority 0; policy accept;\n"
        '  iifname "lab" udp dport { 67, 4011 } counter drop\n }\n}\n'
    )
    on(appliance, "nft", "-f", str(rules))
    found = told(appliance)
    assert sorted(found) == [67, 4011]
    assert found[67].why.startswith('nft, table inet own, chain in: iifname "lab" udp dport { 67, 4011 } counter')
    assert [passes(lab, port) for port in (67, 69, 4011)] == [False, True, False]
    on(appliance, "sh", "-c", found[67].opens)
    assert sorted(told(appliance)) == [4011]
    assert passes(lab, 67)


def test_where_no_program_can_tell_that_is_said(lab: tuple[Host, Host], tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="neither nft nor iptables is installed"):
        asyncio.run(Firewall(PORTS, now, str(tmp_path)).look())
    for words, match in (
        ("exit 1", "no right to read it with iptables-save"),
        ("echo '*filter'; echo ':INPUT'", "is not understood"),
        ("exec sleep 60", "took longer than 5 s"),
        ("yes", "more than 8 MiB of rules"),
    ):
        program = tmp_path / "iptables-save"
        program.write_text(f"#!/bin/sh\n{words}\n")
        program.chmod(0o755)
        with pytest.raises(Unavailable, match=match):
            asyncio.run(Firewall(PORTS, now, f"{tmp_path}:/usr/bin:/bin").look())


def test_rules_for_another_interface_are_of_no_concern(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    on(appliance, "iptables", "-A", "INPUT", "-i", "eth9", "-j", "DROP")
    assert told(appliance) == {}
    with at_home_in(appliance.name):
        elsewhere = tuple(replace(each, interface="eth9") for each in PORTS)
        assert len(asyncio.run(Firewall(elsewhere, now).look()).shut) == len(PORTS)


@pytest.mark.parametrize("program", ["iptables", "iptables-legacy"])
def test_long_packets_that_iptables_keeps_in_are_told_with_the_command_that_lets_them_out(
    lab: tuple[Host, Host], program: str
) -> None:
    appliance, _ = lab
    types(appliance, f"{program} -A OUTPUT -m length --length 577: -j DROP")
    assert [gets_out(lab, each) for each in (576, 577, 1500)] == [True, False, False]
    found = kept(appliance)
    assert {each.asked: each.above for each in found.values()} == {"HTTP": 576, "TFTP": 576}
    assert found[69].why == f"{program} -A OUTPUT -m length --length 577:65535 -j DROP"
    assert found[69].shows == f"{program} -S OUTPUT"
    for each in found.values():
        types(appliance, each.opens)
    assert kept(appliance) == {}
    assert gets_out(lab, 1500)


@needs_nft
@pytest.mark.parametrize(
    ("table", "hook", "rule"),
    [
        ("inet", "output", "meta length > 500 drop"),
        ("ip", "postrouting", "ip length gt 500 drop"),
        ("inet", "output", "udp length > 480 drop"),
        ("netdev", 'egress device "lab"', "meta length > 514 drop"),
        ("netdev", 'egress device "lab"', "ip length > 500 drop"),
    ],
)
def test_long_packets_that_nft_keeps_in_are_told_with_the_command_that_lets_them_out(
    lab: tuple[Host, Host], tmp_path: Path, table: str, hook: str, rule: str
) -> None:
    appliance, _ = lab
    loads(appliance, tmp_path, f"{table} own", f"chain out {{ type filter hook {hook} priority 0; {rule}; }}")
    assert [gets_out(lab, each) for each in (500, 501, 1500)] == [True, False, False]
    found = kept(appliance)
    assert {each.above for each in found.values()} == {500}
    assert found[69].why.startswith(f"nft, table {table} own, chain out: ")
    on(appliance, *found[69].shows.split())
    for each in found.values():
        on(appliance, *each.opens.split())
    assert kept(appliance) == {}
    assert gets_out(lab, 1500)


@needs_nft
@pytest.mark.parametrize(
    ("table", "asks", "replies"),
    [
        (
            "bridge",
            'hook prerouting priority 0; iifname "p1" udp dport 67 drop;',
            'hook postrouting priority 0; oifname "p1" udp sport 67 drop;',
        ),
        (
            "netdev",
            'hook ingress device "p1" priority 0; udp dport 67 drop;',
            'hook egress device "p1" priority 0; udp sport 67 drop;',
        ),
    ],
)
def test_what_nft_drops_at_one_port_of_a_bridge_is_told_of_that_port(
    lab: tuple[Host, Host], tmp_path: Path, table: str, asks: str, replies: str
) -> None:
    appliance, _ = lab
    has_bridge(appliance, "p1", "p2")
    chains = (f"chain in {{ type filter {asks} }}", f"chain out {{ type filter {replies} }}")
    loads(appliance, tmp_path, f"{table} own", *chains)
    assert [passes(lab, port) for port in (67, 69)] == [False, True]
    assert not is_answered(lab)
    told = reading(appliance)
    assert [(each.port, each.behind) for each in (*told.shut, *told.replies)] == [(67, "p1"), (67, "p1")]
    assert told.unclear == {}
    for each in (*told.shut, *told.replies):
        on(appliance, *each.shows.split())
        on(appliance, *each.opens.split())
    assert (reading(appliance).shut, reading(appliance).replies) == ((), ())
    assert passes(lab, 67)
    assert is_answered(lab)


@needs_nft
def test_what_is_dropped_for_all_is_not_told_again_of_one_port(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    has_bridge(appliance, "p1", "p2")
    types(appliance, "iptables -A OUTPUT -m length --length 1001: -j DROP")
    chain = 'chain out { type filter hook egress device "p1" priority 0; %s; }'
    for rule, found in (
        ("ip length > 1200 drop", {("", 1000)}),
        ("ip length > 900 drop", {("", 1000), ("p1", 900)}),
        ("meta l4proto { tcp, udp } drop", {("", 1000), ("p1", 0)}),
    ):
        loads(appliance, tmp_path, "netdev own", chain % rule)
        assert {(each.behind, each.above) for each in reading(appliance).replies} == found
        types(appliance, "nft delete table netdev own")


LIMITS = (
    "nft add rule inet guard out tcp sport 80 limit rate over 40 kbytes/second drop",
    "nft add rule inet guard out tcp sport 80 quota over 10 mbytes drop",
    "nft add rule inet guard out meta l4proto tcp numgen random mod 100 < 30 drop",
    "nft add rule inet guard out tcp sport 80 ct count over 2 drop",
    "iptables -A OUTPUT -p tcp --sport 80 -m hashlimit --hashlimit-above 40kb/s --hashlimit-name h -j DROP",
    "iptables -A OUTPUT -p tcp --sport 80 -m statistic --mode random --probability 0.3 -j DROP",
    "iptables -A OUTPUT -p tcp --sport 80 -m connlimit --connlimit-above 2 -j DROP",
    "iptables -A OUTPUT -p tcp --sport 80 -m quota --quota 100000 -j DROP",
)


@needs_nft
@pytest.mark.parametrize("command", LIMITS)
def test_a_rule_that_drops_a_part_of_replies_is_told_and_its_table_is_understood(
    lab: tuple[Host, Host], tmp_path: Path, command: str
) -> None:
    appliance, _ = lab
    loads(appliance, tmp_path, "inet guard", "chain out { type filter hook output priority 0; }")
    types(appliance, command)
    found = reading(appliance)
    (limited,) = found.limited_replies
    assert (limited.interface, limited.asked, found.limited, found.replies, found.unclear) == (
        "lab",
        "HTTP",
        (),
        (),
        {},
    )
    how = next(each for each in ("limit", "quota", "numgen", "ct count", "statistic") if each in command)
    assert how in limited.why
    assert limited.shows in ("iptables -S OUTPUT", "nft list chain inet guard out")
    types(appliance, limited.opens)
    assert reading(appliance).limited_replies == ()


@needs_nft
def test_a_rate_up_to_which_questions_are_let_in_is_told_where_the_rest_is_dropped(
    lab: tuple[Host, Host], tmp_path: Path
) -> None:
    appliance, _ = lab
    rules = "limit rate 3/minute log; udp dport 69 limit rate 9/second accept; udp dport 67 limit rate 9/second accept;"
    loads(
        appliance,
        tmp_path,
        "inet guard",
        f"chain in {{ type filter hook input priority 0; {rules} udp dport 69 drop; }}",
    )
    (limited,) = reading(appliance).limited
    assert limited.asked == "TFTP"
    assert "udp dport 69 limit rate 9/second" in limited.why
    assert limited.why.partition(" # ")[0].endswith("accept")


@needs_nft
@pytest.mark.parametrize(
    ("rules", "limited", "unclear"),
    [
        ("udp dport 69 limit name slow drop", ["TFTP"], False),
        ("udp dport 67 update @seen { ip saddr limit rate over 9/second } drop", ["DHCP"], False),
        ("tcp dport 80 meter m { ip saddr ct count over 2 } reject", ["HTTP"], False),
        ("udp dport 67 jump some", ["DHCP"], False),
        ("udp dport 67 limit rate 1/second jump none", ["DHCP"], False),
        ("udp dport 69 numgen inc mod 3 vmap { 0: drop, 1: accept }", ["TFTP"], False),
        ("udp dport 69 ip saddr 172.30.0.9 limit rate over 1/second drop", [], True),
        ("ip saddr 172.30.0.9 accept; udp dport 69 limit rate over 1/second drop", [], True),
        ("ip saddr 10.0.0.1 udp dport 53 limit rate over 1/second drop", [], False),
        ("udp dport 69 accept; udp dport 69 limit rate over 1/second drop", [], False),
        ("udp dport 69 limit rate 9/second accept; udp dport 69 accept; drop", [], False),
        ("udp dport 69 drop; udp dport 69 limit rate over 1/second drop", [], False),
        ("ct state new udp dport 69 limit rate over 9/second drop", ["TFTP"], False),
        ('iifname "eth9" limit rate over 9/second drop', [], False),
    ],
)
def test_a_limit_is_told_where_what_exceeds_it_is_surely_dropped(
    lab: tuple[Host, Host], tmp_path: Path, rules: str, limited: list[str], unclear: bool
) -> None:
    appliance, _ = lab
    loads(
        appliance,
        tmp_path,
        "inet guard",
        "limit slow { rate over 9/second; }",
        "set seen { type ipv4_addr; flags dynamic; timeout 1m; size 999; }",
        "chain none { drop; }",
        "chain some { limit rate 9/second return; drop; }",
        f"chain in {{ type filter hook input priority 0; {rules}; }}",
    )
    found = reading(appliance)
    assert [each.asked for each in found.limited] == limited
    assert bool(found.unclear) is unclear


@needs_nft
def test_what_leaves_a_device_at_a_limited_rate_is_told(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    chain = 'chain out { type filter hook egress device "lab" priority 0; udp sport 67 limit rate over 1/second drop; }'
    loads(appliance, tmp_path, "netdev guard", chain)
    assert [each.asked for each in reading(appliance).limited_replies] == ["DHCP"]


@needs_nft
def test_limits_that_lose_nothing_of_ours_are_not_told(lab: tuple[Host, Host], tmp_path: Path) -> None:
    appliance, _ = lab
    loads(
        appliance,
        tmp_path,
        "inet guard",
        "chain in { type filter hook input priority 0; limit rate 3/minute log prefix x; tcp dport 80 limit rate 9/second accept;"
        " tcp dport 22 limit rate over 3/minute drop; ip protocol icmp limit rate over 1/second drop; }",
        "chain out { type filter hook output priority 0; tcp dport 25 limit rate over 9/minute drop;"
        ' oifname "lo" limit rate over 1/second drop; udp sport 123 limit rate over 1/second drop; }',
    )
    types(appliance, "iptables -A INPUT -p tcp --dport 22 -m recent --update --seconds 60 --hitcount 4 -j DROP")
    types(appliance, "iptables -A INPUT -p icmp -m limit --limit 1/second -j ACCEPT")
    types(appliance, "iptables -A INPUT -p icmp -j DROP")
    found = reading(appliance)
    assert (found.limited, found.limited_replies, found.unclear) == ((), (), {})
