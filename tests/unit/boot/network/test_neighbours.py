"""The hardware address behind an address, as /proc/net/arp has it."""

from pathlib import Path

import pytest

from tinkbox.boot.network.neighbours import neighbour
from tinkbox.model.hardware import MacAddress

TABLE = """\
IP address       HW type     Flags       HW address            Mask     Device
172.30.0.7       0x1         0x2         08:00:27:AA:00:07     *        eth1
172.30.0.70      0x1         0x6         08:00:27:aa:00:70     *        eth1
172.30.0.8       0x1         0x0         00:00:00:00:00:00     *        eth1
172.30.0.9       0x20        0x2         80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:10:37 *  ib0
"""


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("172.30.0.7", MacAddress("08:00:27:aa:00:07")),
        ("172.30.0.70", MacAddress("08:00:27:aa:00:70")),
        ("172.30.0.8", None),
        ("172.30.0.9", None),
        ("172.30.0.10", None),
        ("", None),
    ],
)
def test_only_whoever_answered_is_a_neighbour(tmp_path: Path, address: str, found: MacAddress | None) -> None:
    table = tmp_path / "arp"
    table.write_text(TABLE)
    assert neighbour(address, table) == found


def test_the_kernel_has_such_a_table() -> None:
    assert neighbour("127.0.0.1") is None


def test_a_table_that_cannot_be_read_names_nobody(tmp_path: Path) -> None:
    assert neighbour("172.30.0.7", tmp_path / "none") is None
