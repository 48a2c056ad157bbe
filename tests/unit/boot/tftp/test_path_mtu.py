"""What the kernel knows of the way to a machine."""

from pathlib import Path

from tinkbox.boot.tftp.path_mtu import ETHERNET, path_mtu


def test_the_loopback_interface_carries_what_it_says() -> None:
    assert path_mtu("127.0.0.1") == min(int(Path("/sys/class/net/lo/mtu").read_text()), 65_535)


def test_where_no_way_leads_there_it_is_ethernets() -> None:
    for nowhere in ("255.255.255.255", "no address"):
        assert path_mtu(nowhere) == ETHERNET
