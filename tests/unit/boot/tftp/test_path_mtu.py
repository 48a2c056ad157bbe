"""What is known of the way to a machine."""

from pathlib import Path

import pytest

from tinkbox.boot.tftp.path_mtu import ETHERNET, Way, way_to

LOOPBACK = int(Path("/sys/class/net/lo/mtu").read_text())


def test_the_loopback_interface_carries_what_it_says() -> None:
    assert way_to("127.0.0.1", b"lo") == Way(LOOPBACK, direct=True)
    assert way_to("127.0.0.1") == Way(min(LOOPBACK, 65_535), direct=False)


@pytest.mark.parametrize("interface", [b"", b"lo"])
@pytest.mark.parametrize("nowhere", ["255.255.255.255", "no address"])
def test_where_no_way_leads_there_it_is_ethernets(nowhere: str, interface: bytes) -> None:
    assert way_to(nowhere, interface) == Way(ETHERNET, direct=False)
