"""What `tinkbox init` proposes, and the file that it writes."""

from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

import pytest
import yaml

from tinkbox.model.diagnosis import Rival
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.settings import load
from tinkbox.setup.proposals import (
    Choice,
    HostInterface,
    config_text,
    persistent_address,
    proposed_address,
    proposed_interface,
    proposed_mode,
    proposed_pool,
    refuse_taken,
    stranded,
)

PEOPLE = HostInterface(name="eth0", address=IPv4Interface("172.30.0.9/24"), outward=True)
BARE = HostInterface(name="eth1", up=False)
MACHINES = HostInterface(name="eth2", address=IPv4Interface("10.0.0.1/16"))


@pytest.mark.parametrize(
    ("found", "proposed"),
    [
        ([PEOPLE, BARE], BARE), ([PEOPLE, MACHINES], MACHINES), ([PEOPLE], PEOPLE), ([PEOPLE, BARE, MACHINES], None), ([], None),
    ],
)  # fmt: skip
def test_machines_are_on_the_only_network_that_is_not_of_people(
    found: list[HostInterface], proposed: HostInterface | None
) -> None:
    assert proposed_interface(found) == proposed


def test_an_address_is_kept_or_lies_where_this_host_is_not() -> None:
    assert proposed_address(MACHINES, [IPv4Network("172.30.0.0/24")]) == MACHINES.address
    assert proposed_address(BARE, []) == IPv4Interface("172.30.0.1/24")
    assert proposed_address(BARE, [IPv4Network("172.30.0.0/24")]) == IPv4Interface("172.30.1.1/24")


def test_an_address_in_the_network_of_another_interface_is_refused() -> None:
    networks = {"eth0": IPv4Network("172.30.0.0/24"), "eth1": IPv4Network("172.31.0.0/24")}
    refuse_taken(IPv4Interface("172.31.0.7/24"), "eth1", networks)
    with pytest.raises(Invalid, match=r"is in the network of eth0 \(172\.30\.0\.0/24\)"):
        refuse_taken(IPv4Interface("172.30.0.7/16"), "eth1", networks)


def test_a_machine_is_stranded_when_none_of_its_addresses_fits() -> None:
    machines = [[], [IPv4Address("10.0.0.7")], [IPv4Address("10.0.0.8"), IPv4Address("172.30.0.8")]]
    assert stranded(machines, [IPv4Network("172.30.0.0/24")]) == 1
    assert stranded(machines, [IPv4Network("172.30.0.0/24"), IPv4Network("10.0.0.0/8")]) == 0


def test_beside_a_server_that_gives_addresses_only_booting_is_answered() -> None:
    other = Rival(interface="eth0", server=IPv4Address("10.0.0.1"), mac=MacAddress("08:00:27:00:00:01"))
    giving = Rival(interface="eth0", server=other.server, mac=other.mac, offered=IPv4Address("10.0.0.7"))
    assert [proposed_mode(each) for each in ([], [other], [other, giving])] == ["reservation", "reservation", "proxy"]


@pytest.mark.parametrize(
    ("address", "pool"),
    [
        ("172.30.0.1/24", ("172.30.0.100", "172.30.0.199")),
        ("10.0.0.1/16", ("10.0.0.100", "10.0.0.199")),
        ("10.0.0.1/28", ("10.0.0.8", "10.0.0.14")),
        ("10.0.0.1/30", ("10.0.0.2", "10.0.0.2")),
    ],
)
def test_a_pool_lies_in_the_network(address: str, pool: tuple[str, str]) -> None:
    assert tuple(map(str, proposed_pool(IPv4Interface(address)))) == pool


def test_a_link_of_two_has_no_room_for_a_pool() -> None:
    with pytest.raises(Invalid, match="no room"):
        proposed_pool(IPv4Interface("10.0.0.0/31"))


@pytest.mark.parametrize("mode", ["reservation", "pool", "proxy", "off"])
def test_the_file_says_what_was_chosen_and_nothing_else(tmp_path: Path, mode: str) -> None:
    pool = proposed_pool(IPv4Interface("10.0.0.1/16")) if mode == "pool" else None
    choice = Choice(
        interface="eth2", address=IPv4Interface("10.0.0.1/16"), mode=mode, pool=pool, data=tmp_path / "data"
    )
    path = tmp_path / "tinkbox.yaml"
    path.write_text(config_text(choice))
    settings = load(path)
    assert (list(settings.interfaces), settings.address, settings.data) == (
        ["eth2"],
        IPv4Address("10.0.0.1"),
        tmp_path / "data",
    )
    assert (settings.dhcp.mode, settings.dhcp.terms.pool, settings.unknown_machines) == (mode, pool, "ignore")
    assert ("dhcp:" in path.read_text()) is (mode != "reservation")


@pytest.mark.parametrize("data", ["/srv/my data #1", "/srv/a: b", "/srv/[lab], 2"])
@pytest.mark.parametrize("interface", ["no", "0x10", "eth0:1"])
def test_words_that_mean_something_else_in_yaml_are_quoted(data: str, interface: str) -> None:
    choice = Choice(interface=interface, address=IPv4Interface("10.0.0.1/16"), mode="off", data=Path(data))
    assert yaml.safe_load(config_text(choice)) == {
        "data": data, "interface": interface, "address": "10.0.0.1", "dhcp": {"mode": "off"},
    }  # fmt: skip


def test_how_to_keep_an_address_is_told_for_either_kind_of_host() -> None:
    said = persistent_address(Choice(interface="eth1", address=IPv4Interface("10.0.0.1/16"), mode="off"))
    assert "in /etc/systemd/network/10-eth1.network:\n    [Match]\n    Name=eth1\n" in said
    assert "    Address=10.0.0.1/16\n    ConfigureWithoutCarrier=yes\n" in said
    assert "in /etc/network/interfaces.d/eth1:\n    auto eth1\n    iface eth1 inet static\n" in said


def test_an_interface_is_shown_with_what_a_person_chooses_by() -> None:
    assert [str(each) for each in (PEOPLE, BARE, MACHINES)] == [
        "eth0 (172.30.0.9/24, the default route: your network)", "eth1 (no address, down)", "eth2 (10.0.0.1/16)",
    ]  # fmt: skip
