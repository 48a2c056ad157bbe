"""The rules of real firewalls in a network namespace, what is told of them, and whether packets get through there."""

import asyncio
import os
import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tests.unit.vitals.ports import PORTS
from tinkbox.model.errors import Unavailable
from tinkbox.model.vitals import ShutPort
from tinkbox.vitals.firewall import Firewall

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


def on(host: Host, *words: str) -> None:
    run(*host.command(*words))


def told(host: Host) -> dict[int, ShutPort]:
    with at_home_in(host.name):
        return {each.port: each for each in asyncio.run(Firewall(PORTS, os.environ["PATH"]).look())}


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


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is not installed here")
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
        asyncio.run(Firewall(PORTS, str(tmp_path)).look())
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
            asyncio.run(Firewall(PORTS, f"{tmp_path}:/usr/bin:/bin").look())


def test_rules_for_another_interface_are_of_no_concern(lab: tuple[Host, Host]) -> None:
    appliance, _ = lab
    on(appliance, "iptables", "-A", "INPUT", "-i", "eth9", "-j", "DROP")
    assert told(appliance) == {}
    with at_home_in(appliance.name):
        elsewhere = tuple(replace(each, interface="eth9") for each in PORTS)
        assert len(asyncio.run(Firewall(elsewhere).look())) == len(PORTS)
