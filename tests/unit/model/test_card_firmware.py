"""Which machines are sent the firmware of cards."""

from dataclasses import replace

import pytest

from tinkbox.model.card_firmware import VIRTUAL_MAKERS, VIRTUAL_PRODUCTS, Need, is_virtual, need
from tinkbox.model.inventory import Device, Inventory

PLAIN = Device(place="0000:00:02.0", id="8086:100e", kind="network", driver="e1000", module="e1000")
MACHINE = Inventory(
    architecture="x86_64", processor="", processors=1, memory=1, firmware="bios", manufacturer="Dell Inc."
)


@pytest.mark.parametrize(
    ("manufacturer", "product"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)"),
        ("VMware, Inc.", "VMware7,1"),
        ("innotek GmbH", "VirtualBox"),
        ("Microsoft Corporation", "Virtual Machine"),
        ("Xen", "HVM domU"),
        ("Google", "Google Compute Engine"),
        ("Red Hat", "KVM"),
    ],
)
def test_virtual_machines_are_known_by_what_their_firmware_says(manufacturer: str, product: str) -> None:
    assert is_virtual(manufacturer, product)


@pytest.mark.parametrize(
    ("manufacturer", "product"),
    [("", ""), ("Dell Inc.", "PowerEdge R740"), ("Microsoft Corporation", "Surface Pro"), ("Supermicro", "X11")],
)
def test_others_may_be_physical(manufacturer: str, product: str) -> None:
    assert not is_virtual(manufacturer, product)


def test_no_name_is_so_short_that_it_fits_everything() -> None:
    assert all(len(name) >= 3 for name in (*VIRTUAL_MAKERS, *VIRTUAL_PRODUCTS))


def test_a_machine_that_told_nothing_of_its_cards_may_need_firmware() -> None:
    assert need(None) is Need.UNKNOWN
    assert need(MACHINE) is Need.UNKNOWN
    assert need(replace(MACHINE, manufacturer="QEMU")) is Need.UNNEEDED


def test_cards_whose_modules_ask_for_none_need_none() -> None:
    assert need(replace(MACHINE, devices=(PLAIN,))) is Need.UNNEEDED


@pytest.mark.parametrize("device", [replace(PLAIN, asks_firmware=True), replace(PLAIN, missing=("a.fw",))])
def test_one_card_that_asks_is_enough_also_in_a_virtual_machine(device: Device) -> None:
    assert need(replace(MACHINE, manufacturer="QEMU", devices=(PLAIN, device))) is Need.NEEDED
