"""What the boot doctor hears, and what it says."""

from ipaddress import IPv4Address

import pytest

from tinkbox.model.diagnosis import Gravity, Rival
from tinkbox.model.hardware import MacAddress


def test_the_gravest_ranks_first() -> None:
    assert sorted(Gravity, key=lambda each: each.rank) == [Gravity.FAULT, Gravity.SUSPECT, Gravity.HARMLESS]


@pytest.mark.parametrize(
    ("mac", "virtual"), [("52:54:00:12:34:56", "QEMU"), ("00:15:5d:00:00:01", "Hyper-V"), ("00:25:90:00:00:01", "")]
)
def test_a_server_in_a_virtual_machine_is_known_by_its_mac(mac: str, virtual: str) -> None:
    assert Rival(interface="eth1", server=IPv4Address("10.0.0.1"), mac=MacAddress(mac)).virtual == virtual


@pytest.mark.parametrize(
    ("address", "impossible"),
    [
        ("127.0.0.1", True),
        ("0.0.0.0", True),
        ("0.0.0.7", True),
        ("224.0.0.1", True),
        ("240.0.0.1", True),
        ("255.255.255.255", True),
        ("172.30.0.1", False),
        ("169.254.0.1", False),
        ("1.0.0.1", False),
        ("223.255.255.254", False),
    ],
)
def test_an_address_that_no_host_can_have_is_known(address: str, impossible: bool) -> None:
    rival = Rival(interface="eth1", server=IPv4Address(address), mac=MacAddress("00:25:90:00:00:01"))
    assert rival.impossible == impossible
