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
