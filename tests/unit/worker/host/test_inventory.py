"""What a machine is made of, out of a tree like /sys and /proc."""

import os
from pathlib import Path

import pytest

from tests.unit.worker.host.test_smbios import END, memory
from tinkbox.model.inventory import Card, Disk, Inventory
from tinkbox.wire.messages.inventory import Told, decode_told, encode_message
from tinkbox.worker.host.inventory import inventory

MACHINE: dict[str, str | bytes] = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: QEMU Virtual CPU\n\nprocessor\t: 1\nmodel name\t: QEMU Virtual CPU\n",
    "proc/meminfo": "MemTotal:        2013456 kB\nMemFree:  1 kB\n",
    "sys/class/dmi/id/sys_vendor": "QEMU\n",
    "sys/class/dmi/id/product_name": "Standard PC (i440FX + PIIX, 1996)\n",
    "sys/class/dmi/id/product_serial": " S-17 \n",
    "sys/class/dmi/id/product_uuid": "4C4C4544-0058\n",
    "sys/class/dmi/id/bios_vendor": "SeaBIOS\n",
    "sys/class/dmi/id/bios_version": "1.16.2\n",
    "sys/block/vda/size": "2097152\n",
    "sys/block/vda/device/x": "",
    "sys/block/vda/serial": "disk-17",
    "sys/block/vda/queue/rotational": "1\n",
    "sys/block/sda/size": "1000\n",
    "sys/block/sda/device/model": "ST1000 \n",
    "sys/block/sda/device/vpd_pg80": b"\0\x80\0\x08   WD-77",
    "sys/block/sda/queue/rotational": "0\n",
    "sys/block/nvme0n1/size": "8\n",
    "sys/block/nvme0n1/device/serial": "S5GX \n",
    "sys/block/loop0/size": "100\n",
    "sys/block/loop0/device/x": "",
    "sys/block/sr0/size": "100\n",
    "sys/block/sr0/device/x": "",
    "sys/block/sdb/size": "0\n",
    "sys/block/sdb/device/x": "",
    "sys/block/md0/size": "100\n",
    "sys/block/xyz/size": "100\n",
    "sys/class/net/eth0/device/x": "",
    "sys/class/net/eth0/address": "08:00:27:00:00:07\n",
    "sys/class/net/eth0/carrier": "1\n",
    "sys/class/net/eth0/speed": "1000\n",
    "sys/class/net/eth1/device/x": "",
    "sys/class/net/eth1/address": "08:00:27:00:00:08\n",
    "sys/class/net/eth1/speed": "-1\n",
    "sys/class/net/docker0/address": "02:42:00:00:00:01\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, content in MACHINE.items():
        add(tmp_path, name, content)
    driver = tmp_path / "sys/bus/drivers/virtio_net"
    driver.mkdir(parents=True)
    (tmp_path / "sys/class/net/eth0/device/driver").symlink_to(driver)
    return tmp_path


def add(root: Path, name: str, content: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def heard(told: Inventory) -> Inventory:
    """What the appliance understands of it."""
    return decode_told(encode_message(Told(boot_id="b", inventory=told))).inventory


def test_the_machine_and_its_firmware(root: Path) -> None:
    found = inventory(root)
    assert (found.manufacturer, found.product) == ("QEMU", "Standard PC (i440FX + PIIX, 1996)")
    assert (found.serial, found.uuid) == ("S-17", "4c4c4544-0058")
    assert (found.firmware, found.firmware_version, found.secure_boot) == ("bios", "SeaBIOS 1.16.2", False)
    assert (found.processor, found.processors) == ("QEMU Virtual CPU", 2)
    assert found.architecture == os.uname().machine
    assert found.bmc == ""


@pytest.mark.parametrize(("value", "on"), [(b"\x06\0\0\0\x01", True), (b"\x06\0\0\0\x00", False), (b"", False)])
def test_whether_firmware_with_uefi_takes_only_what_is_signed(root: Path, value: bytes, on: bool) -> None:
    add(root, "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", value)
    found = inventory(root)
    assert (found.firmware, found.secure_boot) == ("uefi", on)


def test_memory_is_what_is_built_in_where_the_firmware_says_so(root: Path) -> None:
    assert inventory(root).memory == 2013456 * 1024
    add(root, "sys/firmware/dmi/tables/DMI", memory(2048) + END)
    assert inventory(root).memory == 2 * 2**30
    add(root, "sys/firmware/dmi/tables/DMI", memory(1) + END)
    assert inventory(root).memory == 2013456 * 1024


def test_disks_are_those_that_something_can_be_installed_on(root: Path) -> None:
    assert inventory(root).disks == (
        Disk(device="/dev/nvme0n1", size=4096, serial="S5GX"),
        Disk(device="/dev/sda", size=512_000, serial="WD-77", model="ST1000"),
        Disk(device="/dev/vda", size=2**30, serial="disk-17", rotational=True),
    )


def test_cards_are_those_that_are_built_in(root: Path) -> None:
    assert inventory(root).cards == (
        Card(name="eth0", mac="08:00:27:00:00:07", link=True, speed=1000, driver="virtio_net"),
        Card(name="eth1", mac="08:00:27:00:00:08", link=False),
    )


def test_a_board_without_dmi_is_known_by_its_device_tree(root: Path) -> None:
    for name in ("product_name", "product_serial"):
        (root / "sys/class/dmi/id" / name).unlink()
    add(root, "proc/cpuinfo", "processor\t: 0\nCPU part\t: 0xd08\n")
    add(root, "proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0")
    add(root, "proc/device-tree/serial-number", "10000000abcdef01\0")
    add(root, "proc/device-tree/compatible", "raspberrypi,4-model-b\0brcm,bcm2711\0")
    found = inventory(root)
    assert (found.product, found.serial) == ("Raspberry Pi 4 Model B Rev 1.4", "10000000abcdef01")
    assert (found.processor, found.processors) == ("raspberrypi,4-model-b brcm,bcm2711", 1)


def test_a_machine_that_says_nothing_is_told_all_the_same(tmp_path: Path) -> None:
    found = inventory(tmp_path)
    assert (found.manufacturer, found.memory, found.disks, found.cards) == ("", 0, (), ())


def test_nonsense_from_a_device_harms_nothing(root: Path) -> None:
    add(root, "sys/class/dmi/id/product_serial", b"\xff\xfe\x1b[31m")
    add(root, "sys/block/vda/size", "many\n")
    add(root, "proc/meminfo", "MemTotal:\n")
    assert heard(inventory(root)).serial.endswith("[31m")


def test_this_very_machine_can_be_told() -> None:
    found = inventory()
    assert found.memory > 0
    assert found.processors > 0
    assert heard(found) == found
