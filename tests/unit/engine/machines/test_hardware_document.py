"""The hardware document of a machine that nobody knew."""

import json
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

import pytest

from tinkbox.engine.documents.kubernetes import take_hardware
from tinkbox.engine.machines.hardware_document import (
    Added,
    Reservation,
    added_hardware,
    free_addresses,
    hardware_of,
    reservation,
)
from tinkbox.model.discovery import Standing, Stranger
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Card, Disk, Inventory

MAC = MacAddress("08:00:27:00:00:07")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
STRANGER = Stranger(mac=MAC, standing=Standing.WAITING, port="eth1", first_seen=NOON, last_seen=NOON)
WHAT = Inventory(
    architecture="aarch64",
    processor="p",
    processors=4,
    memory=1,
    firmware="uefi",
    manufacturer="Seed",
    disks=(Disk(device="/dev/sda", size=1), Disk(device="/dev/sdb", size=1)),
    cards=(
        Card(name="eth0", mac="08:00:27:00:00:06", link=False),
        Card(name="eth1", mac=MAC, link=True),
        Card(name="eth2", mac=MAC, link=True),
    ),
)
NETWORKS = [IPv4Network("172.30.0.0/24"), IPv4Network("172.31.0.0/16")]


def test_it_has_all_cards_the_one_that_booted_first_and_each_once() -> None:
    hardware = hardware_of(STRANGER, WHAT, "node-7")
    assert [each.mac for each in hardware.interfaces] == [MAC, "08:00:27:00:00:06"]
    assert [each.hostname for each in hardware.interfaces] == ["node-7", ""]
    assert all(each.allow_pxe and each.dhcp and each.architecture == "aarch64" for each in hardware.interfaces)
    assert all(each.address is None for each in hardware.interfaces)
    assert hardware.name == "node-7"
    spec = hardware.document["spec"]
    assert spec["disks"] == [{"device": "/dev/sda"}, {"device": "/dev/sdb"}]
    assert [each["dhcp"]["uefi"] for each in spec["interfaces"]] == [True, True]
    assert spec["metadata"] == {"manufacturer": {"slug": "Seed"}, "instance": {"hostname": "node-7"}}


def test_the_card_that_booted_is_there_even_when_it_was_not_told() -> None:
    assert (
        hardware_of(STRANGER, Inventory(architecture="x86_64", processor="", processors=1, memory=1, firmware="bios"))
        .interfaces[0]
        .mac
        == MAC
    )


def test_without_a_name_it_is_called_after_its_mac() -> None:
    assert hardware_of(STRANGER, WHAT).name == "machine-08-00-27-00-00-07"


@pytest.mark.parametrize("name", ["Node", "a b", "-a", "a-", "x" * 64, "ü", "a.b"])
def test_a_name_that_no_host_can_have_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="a name is small letters"):
        hardware_of(STRANGER, WHAT, name)


def test_its_document_can_be_pushed_again_and_is_the_same_machine() -> None:
    hardware = hardware_of(STRANGER, WHAT, "node-7", reservation("172.30.0.7", "", NETWORKS))
    (again,), notes = take_hardware(json.dumps(hardware.document))
    assert (again.id, again.interfaces, notes) == (hardware.id, hardware.interfaces, ())


@pytest.mark.parametrize(
    ("address", "gateway", "interface"),
    [
        ("172.30.0.7", "", "172.30.0.7/24"),
        ("172.31.9.7", "172.31.0.1", "172.31.9.7/16"),
        ("172.31.9.7/24", "", "172.31.9.7/24"),
        ("10.0.0.1/8", "10.0.0.254", "10.0.0.1/8"),
    ],
)
def test_an_address_has_its_own_prefix_or_its_network_s(address: str, gateway: str, interface: str) -> None:
    router = IPv4Address(gateway) if gateway else None
    assert reservation(address, gateway, NETWORKS) == Reservation(address=IPv4Interface(interface), gateway=router)


@pytest.mark.parametrize(
    ("address", "gateway"), [("10.0.0.1", ""), ("x", ""), ("172.30.0.7/33", ""), ("172.30.0.7", "y"), ("::1", "")]
)
def test_an_address_that_cannot_be_is_refused(address: str, gateway: str) -> None:
    with pytest.raises(Invalid):
        reservation(address, gateway, NETWORKS)


def test_the_reservation_is_of_the_card_that_booted() -> None:
    first, second = hardware_of(STRANGER, WHAT, "", reservation("172.30.0.7", "172.30.0.1", NETWORKS)).interfaces
    assert (str(first.address), str(first.netmask), str(first.gateway)) == ("172.30.0.7", "255.255.255.0", "172.30.0.1")
    assert (second.address, second.gateway) == (None, None)


def test_an_added_machine_has_its_cards_its_keys_and_its_disks() -> None:
    added = Added(
        macs=(MAC, MacAddress("08:00:27:00:00:08")),
        name="node7",
        ssh_keys=("ssh-ed25519 AAAA anna",),
        disks=("/dev/sda",),
    )
    reserved = Reservation(address=IPv4Interface("172.30.0.7/24"), name_servers=(IPv4Address("172.30.0.1"),))
    hardware = added_hardware(added, reserved)
    first, second = hardware.interfaces
    assert (first.mac, first.hostname, str(first.address)) == (MAC, "node7", "172.30.0.7")
    assert first.name_servers == (IPv4Address("172.30.0.1"),)
    assert (second.mac, second.hostname, second.address, second.allow_pxe) == ("08:00:27:00:00:08", "", None, True)
    assert hardware.document["spec"]["disks"] == [{"device": "/dev/sda"}]
    assert hardware.document["spec"]["metadata"]["instance"] == {
        "hostname": "node7",
        "ssh_keys": ["ssh-ed25519 AAAA anna"],
    }


def test_an_added_machine_can_be_pushed_again() -> None:
    hardware = added_hardware(Added(macs=(MAC,)), None)
    (again,), notes = take_hardware(json.dumps(hardware.document))
    assert (again.id, again.name, notes) == (hardware.id, "machine-08-00-27-00-00-07", ())


def test_the_lowest_free_address_is_neither_taken_nor_an_end_of_the_network() -> None:
    taken = [IPv4Address(f"172.30.0.{each}") for each in (1, 2, 4)]
    assert next(free_addresses(NETWORKS[0], taken)) == IPv4Address("172.30.0.3")
    assert not [*free_addresses(IPv4Network("10.0.0.0/30"), [IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2")])]


@pytest.mark.parametrize("mac", ["01:00:5e:00:00:02", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"])
def test_an_address_that_no_card_has_is_refused(mac: str) -> None:
    with pytest.raises(Invalid, match="the address of no network card"):
        added_hardware(Added(macs=(MAC, MacAddress(mac))), None)


@pytest.mark.parametrize(
    ("address", "gateway"),
    [
        ("0.0.0.1/8", ""),
        ("169.254.3.4/16", ""),
        ("224.0.0.5/24", ""),
        ("255.255.255.255/32", ""),
        ("10.0.0.5/0", "10.0.0.1"),
        ("10.0.0.5/24", "10.0.0.5"),
        ("10.0.0.5/32", "10.0.0.5"),
    ],
)
def test_an_address_that_cannot_work_is_refused(address: str, gateway: str) -> None:
    with pytest.raises(Invalid):
        reservation(address, gateway, [])


@pytest.mark.parametrize(
    ("address", "gateway"), [("10.0.0.4/31", "10.0.0.5"), ("10.0.0.4/32", ""), ("10.0.0.4", ""), ("100.64.0.9/10", "")]
)
def test_an_unusual_address_that_works_is_taken(address: str, gateway: str) -> None:
    assert str(reservation(address, gateway, [IPv4Network("10.0.0.0/24")]).address.ip) == address.partition("/")[0]
