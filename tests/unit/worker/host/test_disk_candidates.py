"""Disks out of a tree like /sys; the links are what systemd's udev makes of such disks."""

from pathlib import Path

import pytest

from tests.unit.worker.host.disk_trees import PCI, Tree
from tinkbox.model.disks.choice import Candidate, Outside
from tinkbox.worker.host.disk_candidates import candidates

GB = 10**9


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def found(tree: Tree, mounts: str = "") -> dict[str, Candidate]:
    (tree.sys / "mounts").write_text(mounts)
    return {each.path: each for each in candidates(tree.sys, tree.dev, tree.sys / "mounts")}


def test_a_virtio_disk(tree: Tree) -> None:
    tree.virtio("vda", "02.0", 20 * GB, "disk 17")
    tree.virtio("vdb", "03.0", 10 * GB)
    there = found(tree)
    assert there["/dev/vda"] == Candidate(
        path="/dev/vda", size=20 * GB, serials=("disk 17",), rotational=True, transport="virtio",
        links=(
            "/dev/disk/by-id/virtio-disk_17", "/dev/disk/by-path/pci-0000:00:02.0",
            "/dev/disk/by-path/virtio-pci-0000:00:02.0",
        ),
    )  # fmt: skip
    assert there["/dev/vdb"].serials == ()


def test_an_nvme_disk(tree: Tree) -> None:
    tree.nvme("nvme0n1", "04.0", 480 * GB, "SAMSUNG MZVL2 480", "S64 1", "eui.002538b1114042e5")
    disk = found(tree)["/dev/nvme0n1"]
    assert (disk.models, disk.serials[0], disk.wwn) == (("SAMSUNG MZVL2 480",), "S64 1", "002538b1114042e5")
    assert (disk.rotational, disk.transport) == (False, "nvme")
    assert disk.links == (
        "/dev/disk/by-id/nvme-eui.002538b1114042e5",
        "/dev/disk/by-id/nvme-SAMSUNG_MZVL2_480_S64_1",
        "/dev/disk/by-id/nvme-SAMSUNG_MZVL2_480_S64_1_1",
        "/dev/disk/by-path/pci-0000:00:04.0-nvme-1",
    )


def test_an_ata_disk_has_its_whole_model_from_page_83h(tree: Tree) -> None:
    tree.ata("sda", 1, 2000 * GB, "Samsung SSD 870 EVO 2TB", "S6PNNS0T1")
    disk = found(tree)["/dev/sda"]
    assert disk.models == ("Samsung SSD 870 EVO 2TB", "Samsung SSD 870")
    assert disk.serials == ("S6PNNS0T1", "Samsung SSD 870 EVO 2TB S6PNNS0T1")
    assert (disk.wwn, disk.transport) == ("5000c500a1b2c3d4", "sata")
    assert disk.links == (
        "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4",
        "/dev/disk/by-id/ata-Samsung_SSD_870_EVO_2TB_S6PNNS0T1",
        "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
        "/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0",
    )


def test_an_ata_disk_of_which_only_half_a_model_is_known_gets_no_wrong_name(tree: Tree) -> None:
    folder = tree.ata("sda", 1, 2000 * GB, "Samsung SSD 870 EVO 2TB", "S6PNNS0T1")
    (folder / "device/vpd_pg83").unlink()
    disk = found(tree)["/dev/sda"]
    assert disk.serials[0] == "S6PNNS0T1"
    assert not [link for link in disk.links if "/ata-" in link]


def test_a_scsi_disk(tree: Tree) -> None:
    tree.scsi("sda", 0, 20 * GB, "D-17")
    disk = found(tree)["/dev/sda"]
    assert (disk.models, disk.serials[0], disk.transport) == (
        ("QEMU QEMU HARDDISK", "QEMU HARDDISK"),
        "D-17",
        "scsi",
    )
    assert {
        "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4",
        "/dev/disk/by-id/scsi-35000c500a1b2c3d4",
        "/dev/disk/by-id/scsi-SQEMU_QEMU_HARDDISK_D-17",
        "/dev/disk/by-path/pci-0000:00:05.0-scsi-0:0:0:0",
    } <= set(disk.links)


def test_an_mmc_disk_and_none_of_its_boot_parts(tree: Tree) -> None:
    place = f"{PCI}:1a.0/mmc_host/mmc0/mmc0:0001"
    tree.block("mmcblk0", place, 32 * GB, device__name="DA4032\n", device__serial="0x1a2b\n", device__type="MMC\n")
    for part in ("mmcblk0boot0", "mmcblk0rpmb"):
        tree.block(part, place, GB)
    disk = found(tree).pop("/dev/mmcblk0")
    assert (disk.serials, disk.transport, disk.outside) == (("0x1a2b",), "mmc", None)
    assert disk.links[0] == "/dev/disk/by-id/mmc-DA4032_0x1a2b"
    assert len(found(tree)) == 1


def test_what_is_no_disk_of_its_own_is_not_there(tree: Tree) -> None:
    for name in ("loop0", "ram0", "zram0", "dm-0", "md127", "nbd0", "fd0"):
        tree.block(name, f"devices/virtual/{name}x", GB)
    tree.block("sr0", f"{PCI}:1f.2/ata3/host3/target3:0:0/3:0:0:0", GB, device__type="5\n")
    tree.block("nvme0c0n1", f"{PCI}:04.0/nvme/nvme0", GB, hidden="1\n")
    assert found(tree) == {}


@pytest.mark.parametrize(
    ("files", "outside"),
    [
        ({"removable": "1\n"}, Outside.REMOVABLE),
        ({"removable": "0\n", "ro": "0\n"}, None),
        ({"ro": "1\n"}, Outside.READ_ONLY),
        ({"size": "0\n"}, Outside.NO_MEDIUM),
        ({"device__type": "SD\n"}, Outside.REMOVABLE),
    ],
)
def test_what_only_its_path_chooses(tree: Tree, files: dict[str, str], outside: Outside | None) -> None:
    tree.virtio("vda", "02.0", GB, **files)
    assert found(tree)["/dev/vda"].outside is outside


def test_a_disk_on_usb_is_chosen_by_its_path(tree: Tree) -> None:
    tree.usb("sdb", 16 * GB)
    disk = found(tree)["/dev/sdb"]
    assert (disk.transport, disk.outside) == ("usb", Outside.USB)


def test_what_uses_a_disk_is_told(tree: Tree) -> None:
    whole = tree.virtio("vda", "02.0", GB, dev="253:0\n", vda1__partition="1\n", vda1__dev="253:1\n")
    member = tree.virtio("vdb", "03.0", GB, dev="253:16\n")
    (member / "holders" / "md0").mkdir(parents=True)
    tree.virtio("vdc", "04.0", GB, dev="253:32\n")
    line = "22 1 253:1 / {} rw - ext4 /dev/vda1 rw\n"
    there = found(tree, line.format("/") + line.format("/mnt"))
    assert whole.exists()
    assert [there[f"/dev/{name}"].used for name in ("vda", "vdb", "vdc")] == ["mounted at /", "part of md0", ""]


def test_names_that_udev_made_are_known_as_well(tree: Tree) -> None:
    tree.virtio("vda", "02.0", GB)
    (tree.dev / "vda").touch()
    (tree.dev / "disk/by-id").mkdir(parents=True)
    (tree.dev / "disk/by-id/special-name").symlink_to("../../vda")
    (tree.dev / "disk/by-id/broken").symlink_to("/nowhere")
    assert "/dev/disk/by-id/special-name" in found(tree)["/dev/vda"].links


def test_what_a_disk_says_of_itself_is_made_fit_to_show(tree: Tree) -> None:
    tree.virtio("vda", "02.0", GB, "a\x1b[31m\0b\n" + "x" * 500)
    (serial,) = found(tree)["/dev/vda"].serials
    assert serial.startswith("a[31m b x")
    assert len(serial) == 64


@pytest.mark.parametrize("page", [b"", b"\0\x83", b"\0\x83\xff\xff" + b"\1\3\0\xff" + b"x", b"\0" * 300, b"\xff" * 300])
def test_a_broken_page_names_nothing_and_harms_nothing(tree: Tree, page: bytes) -> None:
    folder = tree.scsi("sda", 0, GB, "D-17")
    (folder / "device/vpd_pg83").write_bytes(page)
    assert found(tree)["/dev/sda"].serials[0] == "D-17"


def test_a_machine_without_sys_has_no_disks(tmp_path: Path) -> None:
    assert candidates(tmp_path, tmp_path, tmp_path / "none") == ()
