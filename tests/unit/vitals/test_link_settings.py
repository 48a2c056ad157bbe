"""What the kernel tells of an interface's networks and packets."""

from ipaddress import IPv4Network

from tinkbox.vitals.link_settings import link_settings


def test_the_loopback_interface_has_its_network_and_large_packets() -> None:
    (found,) = link_settings(["lo", "no-such-if"])
    assert IPv4Network("127.0.0.0/8") in found.networks
    assert found.mtu >= 1500
