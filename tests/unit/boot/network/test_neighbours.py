"""Who is reached how, and how many neighbours the kernel keeps."""

import socket
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from tinkbox.app import crowded
from tinkbox.boot.network.neighbours import is_on_link, most_neighbours


@pytest.mark.parametrize(
    ("address", "on_link"), [("127.0.0.1", True), ("255.255.255.255", False), ("no address", False)]
)
def test_which_addresses_are_on_our_own_link(address: str, on_link: bool) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        assert is_on_link(asking, address) is on_link


def test_how_many_neighbours_the_kernel_keeps(tmp_path: Path) -> None:
    table = tmp_path / "gc_thresh3"
    assert most_neighbours(table) is None
    table.write_text("1024\n")
    assert most_neighbours(table) == 1024


@pytest.mark.parametrize(
    ("networks", "most", "warned"),
    [
        (["172.30.0.0/23"], 1024, False),
        (["172.30.0.0/22"], 1024, True),
        (["172.30.0.0/20"], 1024, True),
        (["172.30.0.0/20"], 131_072, False),
        (["172.30.0.0/20"], None, False),
        (["172.30.0.0/23", "172.31.0.0/22"], 1024, True),
        (["127.0.0.0/8"], 1024, False),
    ],
)
def test_networks_with_as_many_addresses_are_warned_of(networks: list[str], most: int | None, warned: bool) -> None:
    assert bool(crowded([IPv4Network(each) for each in networks], most)) is warned
