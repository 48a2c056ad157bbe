"""Machines on several networks at once, one of them a VLAN: each is answered on its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.boot.wires import ROOT, Host, cable, hosts, serve, words

MAC = "08:00:27:00:00:01"
OURS = {"eth1": "172.30.0.1", "eth1.20": "172.31.0.1", "eth2": "172.32.0.1"}
KNOWN = {MAC: {"eth1": "172.30.0.5/24", "eth1.20": "172.31.0.6/24", "eth2": "172.32.0.7/16"}}


@pytest.fixture
def lab() -> Iterator[tuple[Host, Host]]:
    with hosts("several-ours", "several-machine") as (ours, machine):
        for name in ("eth1", "eth2"):
            cable(ours, name, machine, name, MAC)
            ours.ip(f"address add {OURS[name]}/24 dev {name}")
        yield ours, machine


def add_vlan(host: Host, card: str, number: int) -> None:
    """A VLAN interface of the kernel's, or one that behaves like it."""
    try:
        host.ip(f"link add link {card} name {card}.{number} type vlan id {number}")
    except subprocess.CalledProcessError:
        words = [sys.executable, "-m", "tests.integration.boot.tagging", card, str(number)]
        process = host.start(*words, stdout=subprocess.PIPE, cwd=ROOT)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        (parent,) = json.loads(subprocess.check_output(["ip", "-n", host.name, "-j", "link", "show", card]))
        host.ip(f"link set {card}.{number} address {parent['address']}")
    host.ip(f"link set {card}.{number} up")


def asked(machine: Host, tmp_path: Path, interface: str) -> list[list[str]]:
    """What it is given when it listens at its new address, and when it wants to be broadcast to."""
    given = []
    for more in ((), ("-B",)):
        ran = machine.udhcpc(interface, tmp_path, *more)
        assert ran.returncode == 0, ran.stderr
        given.append(words(ran.stdout.splitlines()))
    return given


def test_a_machine_gets_the_address_of_the_network_on_which_it_asks(lab: tuple[Host, Host], tmp_path: Path) -> None:
    ours, machine = lab
    serve(ours, {name: OURS[name] for name in ("eth1", "eth2")}, KNOWN)
    assert asked(machine, tmp_path, "eth1") == [["172.30.0.5", "24", "172.30.0.1"]] * 2
    assert asked(machine, tmp_path, "eth2") == [["172.32.0.7", "16", "172.32.0.1"]] * 2


def test_a_machine_may_be_of_another_network_than_ours_on_the_same_cable(
    lab: tuple[Host, Host], tmp_path: Path
) -> None:
    """Our way to that network leads over a router; the machine itself is on the link, and has no address yet."""
    ours, machine = lab
    ours.ip("route add default via 172.30.0.254 dev eth1")
    serve(ours, {"eth1": OURS["eth1"]}, {MAC: {"eth1": "172.29.0.5/24"}})
    assert asked(machine, tmp_path, "eth1") == [["172.29.0.5", "24", "172.30.0.1"]] * 2


def test_a_vlan_is_a_network_of_its_own_on_the_same_cable(lab: tuple[Host, Host], tmp_path: Path) -> None:
    ours, machine = lab
    for host in lab:
        add_vlan(host, "eth1", 20)
    ours.ip(f"address add {OURS['eth1.20']}/24 dev eth1.20")
    serve(ours, {name: OURS[name] for name in ("eth1", "eth1.20")}, KNOWN)
    assert asked(machine, tmp_path, "eth1.20") == [["172.31.0.6", "24", "172.31.0.1"]] * 2
    assert asked(machine, tmp_path, "eth1") == [["172.30.0.5", "24", "172.30.0.1"]] * 2
