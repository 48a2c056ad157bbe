"""The doctor's rules about cards that lack their driver or their firmware."""

from dataclasses import replace

from tests.unit.engine.boot_story import OSIE, appliance, case
from tinkbox.engine.doctor.case import Case
from tinkbox.engine.doctor.rules.card import missing_driver, missing_firmware
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.inventory import Device, Inventory

BNX2 = Device(
    place="0000:02:00.0", id="14e4:163b", kind="network", driver="bnx2", module="bnx2", asks_firmware=True,
    missing=("bnx2/bnx2-mips-09-6.2.1b.fw",),
)  # fmt: skip
FIRMWARE = replace(OSIE, firmware=frozenset({"bnx2/bnx2-mips-09-6.2.1b.fw", "packed.fw.xz"}))


def told(*devices: Device, osie=OSIE) -> Case:
    inventory = Inventory(
        architecture="x86_64", processor="", processors=1, memory=1 << 30, firmware="uefi", devices=devices
    )
    return case(inventory=inventory, osie=(osie,))


def test_missing_firmware_is_named_by_card_place_module_and_file() -> None:
    (found,) = missing_firmware(told(BNX2))
    assert found.gravity is Gravity.SUSPECT
    assert found.cause == (
        "The Broadcom network card 14e4:163b at 0000:02:00.0 lacks firmware, without which it may not work."
    )
    (evidence,) = found.evidence
    assert evidence == (
        "its inventory says of 14e4:163b at 0000:02:00.0: module bnx2 asked for 'bnx2/bnx2-mips-09-6.2.1b.fw', "
        "and did not find it"
    )
    assert "Run `tinkbox osie build` on the appliance, not with --without-firmware" in found.remedy


def test_the_remedy_is_a_boot_where_the_osie_has_the_firmware_by_now() -> None:
    (found,) = missing_firmware(told(BNX2, replace(BNX2, missing=()), osie=FIRMWARE))
    assert found.remedy == "The OSIE's second ramdisk has it: boot the machine again, and it is sent that."
    (found,) = missing_firmware(told(replace(BNX2, missing=("packed.fw",)), osie=FIRMWARE))
    assert "boot the machine again" in found.remedy


def test_firmware_that_no_package_has_is_said_to_be_that() -> None:
    device = replace(BNX2, missing=("bnx2/bnx2-mips-09-6.2.1b.fw", "x`reboot`'"))
    (found,) = missing_firmware(told(device, osie=FIRMWARE))
    assert found.remedy.startswith("No package that the OSIE takes firmware from has 'x")
    assert "reboot`" not in found.remedy
    assert "mips" not in found.remedy


def test_a_card_without_a_module_is_told_by_its_numbers() -> None:
    (found,) = missing_driver(told(BNX2, Device(place="0000:03:00.0", id="abcd:0001", kind="storage")))
    assert found.cause == "The OSIE has no module for the storage controller abcd:0001 at 0000:03:00.0."
    assert found.evidence == (
        "its inventory says of abcd:0001 at 0000:03:00.0: no driver, and no module of the OSIE is for it",
    )
    assert "`tinkbox osie build`" in found.remedy


def test_a_card_that_its_module_does_not_take_is_told_with_that_module() -> None:
    (found,) = missing_driver(told(replace(BNX2, driver="", missing=())))
    assert found.cause == (
        "Nothing drives the Broadcom network card 14e4:163b at 0000:02:00.0: its module bnx2 does not take it."
    )
    assert "dmesg" in found.remedy


def test_what_has_no_place_on_the_pci_bus_lacks_only_firmware() -> None:
    usb = Device(place="2-1", driver="r8152", module="r8152", asks_firmware=True, missing=("rtl_nic/a.fw",))
    (found,) = missing_firmware(told(usb))
    assert found.cause.startswith("The device at 2-1 lacks firmware")
    assert not list(missing_driver(told(replace(usb, driver=""))))


def test_a_machine_that_lacks_nothing_or_told_nothing_has_no_such_trouble() -> None:
    for looked_at in (told(replace(BNX2, missing=())), told(), case(), appliance()):
        assert not list(missing_firmware(looked_at))
        assert not list(missing_driver(looked_at))
