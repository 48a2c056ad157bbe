"""The provisioning interface, found in network namespaces made for it."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

NAMESPACE = f"tinkbox-interfaces-{os.getpid()}"
ASK = "from tinkbox.boot.network.interfaces import provisioning_interfaces as p; from ipaddress import IPv4Address as A; print(p({}))"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def namespace() -> Iterator[str]:
    ip("netns", "add", NAMESPACE)
    ip("-n", NAMESPACE, "link", "set", "lo", "up")
    yield NAMESPACE
    ip("netns", "delete", NAMESPACE)


def add(namespace: str, name: str, address: str) -> None:
    ip("-n", namespace, "link", "add", name, "type", "bridge")
    ip("-n", namespace, "link", "set", name, "up")
    if address:
        ip("-n", namespace, "address", "add", address, "dev", name)


def ask(namespace: str, arguments: str = "") -> str:
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", ASK.format(arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or ran.stderr.strip().splitlines()[-1]


def test_the_only_interface_beside_the_one_to_the_outside_is_taken(namespace: str) -> None:
    add(namespace, "eth0", "10.0.0.2/24")
    add(namespace, "eth1", "172.30.0.1/24")
    ip("-n", namespace, "route", "add", "default", "via", "10.0.0.1")
    assert ask(namespace) == (
        "(ProvisioningInterface(name='eth1', address=IPv4Address('172.30.0.1'), network=IPv4Network('172.30.0.0/24')),)"
    )


def test_a_way_to_half_of_the_world_is_no_default_route(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    ip("-n", namespace, "route", "add", "0.0.0.0/1", "dev", "eth1")
    assert "name='eth1'" in ask(namespace)


def test_several_candidates_are_listed_and_none_is_guessed(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    add(namespace, "eth2", "172.31.0.1/24")
    answer = ask(namespace)
    assert "set `interface:`" in answer
    assert "eth1 (172.30.0.1), eth2 (172.31.0.1)" in answer


def test_no_candidate_says_so(namespace: str) -> None:
    add(namespace, "eth1", "")
    answer = ask(namespace)
    assert "no interface but the one to the outside" in answer
    assert "`ip address add 172.30.0.1/24 dev " in answer


def test_a_configured_interface_must_be_there_and_have_an_address(namespace: str) -> None:
    add(namespace, "eth1", "")
    assert "no interface eth9" in ask(namespace, "['eth9']")
    assert "eth1 has no IPv4 address" in ask(namespace, "['eth1']")


def test_a_configured_address_finds_its_interface(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    add(namespace, "eth2", "172.31.0.1/24")
    assert "name='eth2'" in ask(namespace, "address=A('172.31.0.1')")
    add(namespace, "eth3", "")
    answer = ask(namespace, "address=A('172.32.0.1')")
    assert "no interface has the configured address 172.32.0.1" in answer
    assert "`ip address add 172.32.0.1/24 dev " in answer


def test_several_interfaces_are_taken_in_their_order(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    add(namespace, "eth2", "172.31.0.1/16")
    answer = ask(namespace, "['eth2', 'eth1', 'eth2']")
    assert answer.count("ProvisioningInterface") == 2
    assert answer.index("name='eth2', address=IPv4Address('172.31.0.1'), network=IPv4Network('172.31.0.0/16')") < (
        answer.index("name='eth1', address=IPv4Address('172.30.0.1'), network=IPv4Network('172.30.0.0/24')")
    )


def test_interfaces_that_lead_to_the_same_network_are_refused(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    add(namespace, "eth2", "172.30.0.2/16")
    assert "eth1 (172.30.0.0/24) and eth2 (172.30.0.0/16) lead to the same network" in ask(
        namespace, "['eth1', 'eth2']"
    )


def test_a_second_address_of_an_interface_can_be_chosen(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    ip("-n", namespace, "address", "add", "172.31.0.9/24", "dev", "eth1", "label", "eth1:more")
    answer = ask(namespace, "['eth1'], A('172.31.0.9')")
    assert "name='eth1', address=IPv4Address('172.31.0.9'), network=IPv4Network('172.31.0.0/24')" in answer


def test_a_chosen_address_has_its_own_network_whatever_comes_before_it(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.50/32")  # as keepalived gives one
    ip("-n", namespace, "address", "add", "172.30.0.1/24", "dev", "eth1")
    answer = ask(namespace, "['eth1'], A('172.30.0.1')")
    assert "address=IPv4Address('172.30.0.1'), network=IPv4Network('172.30.0.0/24')" in answer


def test_an_interface_and_the_address_of_another_one_are_refused_with_both_ways_out(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    add(namespace, "eth2", "172.31.0.1/24")
    answer = ask(namespace, "['eth1'], A('172.31.0.1')")
    assert "eth2 has that address, eth1 has 172.30.0.1" in answer
    assert "write `interface: eth2`, or leave `address:` out" in answer


def test_an_interface_without_the_configured_address_is_told_how_to_get_it(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    assert "`ip address add 172.30.0.7/24 dev eth1`" in ask(namespace, "['eth1'], A('172.30.0.7')")


def test_hundreds_of_addresses_are_all_seen(namespace: str) -> None:
    add(namespace, "eth1", "172.30.0.1/24")
    batch = "\n".join(f"address add 10.1.{each // 250}.{each % 250 + 1}/32 dev eth1" for each in range(300))
    subprocess.run(["ip", "-n", namespace, "-batch", "-"], input=batch, text=True, check=True)
    assert "address=IPv4Address('10.1.1.50')" in ask(namespace, "['eth1'], A('10.1.1.50')")
