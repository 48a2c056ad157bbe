"""Whether the kernel passes on what is for others."""

from examples.lab.network import Network
from tests.integration.boot.wires import inside
from tinkbox.vitals.forwarding import forwards


def test_forwarding_is_read_of_the_interface() -> None:
    with Network() as network, inside(network.path):
        network.run(["sysctl", "-qw", "net.ipv4.ip_forward=0"])
        assert forwards(network.interface) is False
        network.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"])
        assert forwards(network.interface) is True
        assert forwards("no-such-if") is None
