"""Static entries of a bridge."""

import socket
import subprocess

import pytest

from examples.lab.network import BRIDGE, Network
from tests.integration.boot.wires import inside
from tinkbox.model.hardware import MacAddress
from tinkbox.vitals.bridge_entries import static_port

MAC = MacAddress("08:00:27:00:00:07")


@pytest.mark.parametrize(
    ("entry", "learns", "found"),
    [
        ((), "on", ("", "")),
        (("master", "static"), "on", ("", "")),
        (("master", "static"), "off", (BRIDGE, "port1")),
        (("master", "static", "sticky"), "on", (BRIDGE, "port1")),
        (("master", "local"), "off", ("", "")),
    ],
    ids=["none", "one that moves", "one that no port moves", "sticky", "of the bridge itself"],
)
def test_what_stays_written_down_wherever_a_machine_is_heard_is_found(
    entry: tuple[str, ...], learns: str, found: tuple[str, str]
) -> None:
    with Network() as network, inside(network.path):
        for port in ("port1", "port2"):
            network.run(["ip", "link", "add", port, "type", "veth", "peer", "name", f"at-{port}"])
            network.run(["ip", "link", "set", port, "up", "master", BRIDGE])
        network.run(["bridge", "link", "set", "dev", "port2", "learning", learns])
        if entry:
            network.run(["bridge", "fdb", "add", MAC, "dev", "port1", *entry])
        assert static_port(["lo", BRIDGE, "no-such-if"], MAC) == found


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
