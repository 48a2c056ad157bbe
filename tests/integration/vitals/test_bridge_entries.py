"""Static entries of a bridge."""

import pytest

from examples.lab.network import BRIDGE, Network
from tests.integration.boot.wires import inside
from tinkbox.model.hardware import MacAddress
from tinkbox.vitals.bridge_entries import static_port

MAC = MacAddress("08:00:27:00:00:07")


@pytest.mark.parametrize(
    ("entry", "found"),
    [((), ("", "")), (("master", "static"), (BRIDGE, "port1")), (("master", "static", "sticky"), (BRIDGE, "port1")), (("master", "local"), ("", ""))],
    ids=["none", "static", "sticky", "of the bridge itself"],
)  # fmt: skip
def test_what_somebody_wrote_down_is_found(entry: tuple[str, ...], found: tuple[str, str]) -> None:
    with Network() as network, inside(network.path):
        network.run(["ip", "link", "add", "port1", "type", "veth", "peer", "name", "other1"])
        network.run(["ip", "link", "set", "port1", "up", "master", BRIDGE])
        if entry:
            network.run(["bridge", "fdb", "add", MAC, "dev", "port1", *entry])
        assert static_port(["lo", BRIDGE, "no-such-if"], MAC) == found
