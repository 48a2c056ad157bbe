"""Hosts beside a lab: what ends with one, and what does not."""

from examples.lab.network import BRIDGE, Network
from tests.machine.hosts import Host


def test_a_host_that_is_closed_again_ends_nothing_of_another_that_has_its_namespaces_number_by_now() -> None:
    with Network() as network:
        first = Host(network, [(BRIDGE, "172.30.0.2")])
        first.close()
        with Host(network, [(BRIDGE, "172.30.0.3")]) as second:
            # The kernel gives the lowest number that is free, unless another process of the tests was quicker.
            first._namespace = second._namespace
            running = second.start("tail", "-f", "/dev/null")
            first.close()
            assert second.run("ip", "-o", "-4", "address", "show", "dev", "eth0")
            assert running.poll() is None
