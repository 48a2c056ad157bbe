"""Static entries of a bridge."""

import json
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from examples.lab.network import BRIDGE, Network
from tests.integration.boot.wires import inside
from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import StaticPort
from tinkbox.vitals.bridge_entries import learned_port, static_port

MAC = MacAddress("08:00:27:00:00:07")
PORT1 = StaticPort(bridge=BRIDGE, port="port1", unused="nothing ever came in on port1")


@pytest.mark.parametrize(
    ("entry", "learns", "found"),
    [
        ((), "on", None),
        (("master", "static"), "on", None),
        (("master", "static"), "off", PORT1),
        (("master", "static", "sticky"), "on", PORT1),
        (("master", "local"), "off", None),
    ],
    ids=["none", "one that moves", "one that no port moves", "sticky", "of the bridge itself"],
)
def test_what_stays_written_down_wherever_a_machine_is_heard_is_found(
    entry: tuple[str, ...], learns: str, found: StaticPort | None
) -> None:
    with Network() as network, inside(network.path):
        for port in ("port1", "port2"):
            network.run(["ip", "link", "add", port, "type", "veth", "peer", "name", f"at-{port}"])
            network.run(["ip", "link", "set", port, "up", "master", BRIDGE])
        network.run(["bridge", "link", "set", "dev", "port2", "learning", learns])
        if entry:
            network.run(["bridge", "fdb", "add", MAC, "dev", "port1", *entry])
        assert static_port(["lo", BRIDGE, "no-such-if"], MAC) == found


def test_a_port_on_which_anything_came_in_may_have_the_machine() -> None:
    with Network() as network, inside(network.path):
        network.run(["ip", "link", "add", "port1", "type", "veth", "peer", "name", "at-port1"])
        network.run(["ip", "link", "set", "port1", "up", "master", BRIDGE])
        for each in ("at-port1", "port1"):
            (Path("/proc/sys/net/ipv6/conf") / each / "disable_ipv6").write_text("1")
        network.run(["ip", "link", "set", "at-port1", "up"])
        network.run(["bridge", "fdb", "add", MAC, "dev", "port1", "master", "static", "sticky"])
        assert static_port([BRIDGE], MAC) == PORT1
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as machine:
            machine.bind(("at-port1", 0))
            machine.send(b"\xff" * 6 + MAC.octets + bytes(48))
        assert static_port([BRIDGE], MAC) == replace(PORT1, unused="")


def test_a_static_entry_moves_to_the_port_where_its_machine_is_heard() -> None:
    with Network() as network, inside(network.path):
        for port in ("port1", "port2"):
            network.run(["ip", "link", "add", port, "type", "veth", "peer", "name", f"at-{port}"])
            network.run(["ip", "link", "set", port, "up", "master", BRIDGE])
            network.run(["ip", "link", "set", f"at-{port}", "up"])
        network.run(["bridge", "fdb", "add", MAC, "dev", "port1", "master", "static"])
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as machine:
            machine.bind(("at-port2", 0))
            machine.send(b"\xff" * 6 + MAC.octets + bytes(48))
        told = subprocess.run(["bridge", "fdb", "get", MAC, "br", BRIDGE], check=True, capture_output=True, text=True)
        assert "dev port2" in told.stdout
        assert "static" in told.stdout


def test_the_port_behind_which_a_machine_was_heard_is_found() -> None:
    with Network() as network, inside(network.path):
        for port in ("port1", "port2"):
            network.run(["ip", "link", "add", port, "type", "veth", "peer", "name", f"at-{port}"])
            network.run(["ip", "link", "set", port, "up", "master", BRIDGE])
            network.run(["ip", "link", "set", f"at-{port}", "up"])
        assert learned_port([BRIDGE], MAC) == ""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as machine:
            machine.bind(("at-port2", 0))
            machine.send(b"\xff" * 6 + MAC.octets + bytes(48))
        assert learned_port(["lo", BRIDGE, "no-such-if"], MAC) == "port2"
        (link,) = json.loads(subprocess.check_output(["ip", "-j", "link", "show", "port1"]))
        own = MacAddress(link["address"])
        assert learned_port([BRIDGE], own) == ""
