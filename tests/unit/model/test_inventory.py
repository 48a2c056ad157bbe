"""A machine in one line."""

from tinkbox.model.inventory import Disk, Inventory, summary

PLAIN = Inventory(architecture="x86_64", processor="p", processors=4, memory=3 * 2**29, firmware="bios")


def test_a_machine_is_told_with_its_disks() -> None:
    disks = (Disk(device="/dev/sda", size=10 * 2**30, serial="S5"), Disk(device="/dev/sdb", size=2**30))
    whole = Inventory(
        architecture="x86_64", processor="p", processors=4, memory=3 * 2**29, firmware="bios",
        manufacturer="Seed", product="Model 1", disks=disks,
    )  # fmt: skip
    assert summary(whole) == "Seed Model 1; 4 processors; 1.5 GiB; /dev/sda 10 GiB S5, /dev/sdb 1 GiB"


def test_one_that_tells_nothing_of_itself_is_told_all_the_same() -> None:
    assert summary(PLAIN) == "4 processors; 1.5 GiB; no disk"
