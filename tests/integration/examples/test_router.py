"""The lab's router: who asks it for routers hears at once that there is none, instead of waiting."""

from examples.lab.network import BRIDGE, Network
from tests.machine.hosts import Host

# By its kind, behind the 40 bytes of an IPv6 header.
ADVERTISEMENTS = "icmp6 and ip6[40] == 134"


def test_who_asks_for_routers_is_told_that_there_is_nothing_to_use() -> None:
    with Network() as network, Host(network, [(BRIDGE, "172.30.0.2")]) as host:
        # Linux asks by itself, some times, when a link is new.
        printed = host.run("tcpdump", "-n", "-v", "-c", "1", "-i", "eth0", ADVERTISEMENTS).decode()
    assert "hop limit 64, Flags [none]" in printed
    assert "router lifetime 0s" in printed
    assert "prefix" not in printed
