"""Disks that boot: where everything lies on them."""

import json
import struct
from pathlib import Path
from uuid import UUID

import pytest

from tests.file_systems import lay, run
from tinkbox.wire.disk.bootable_disk import (
    MIB,
    ROOT_SECTOR,
    Identities,
    Kernel,
    Loaders,
    disk,
    disk_size,
    grub_cfg,
    root_size,
)

IDS = Identities(disk=UUID(int=1), root=UUID(int=2), bios_boot=UUID(int=3), esp=UUID(int=4), esp_serial=5)
LOADERS = Loaders(boot=b"\xeb\x63\x90".ljust(512, b"B"), core=b"C" * 1500, efi={"EFI/BOOT/BOOTX64.EFI": b"shim"})
SIZE = 3 * MIB


def test_every_part_is_at_its_place(tmp_path: Path) -> None:
    path = lay(tmp_path / "disk.raw", disk(iter([b"root", SIZE - 4]), SIZE, IDS, LOADERS))
    assert path.stat().st_size == disk_size(SIZE)
    assert root_size(disk_size(SIZE)) == SIZE
    assert "No errors detected" in run("sfdisk", "--verify", path)
    told = json.loads(run("sfdisk", "--json", path))["partitiontable"]
    assert [(each["node"][len(str(path)) :], each["start"], each["size"]) for each in told["partitions"]] == [
        ("1", ROOT_SECTOR, SIZE // 512),
        ("14", 2048, 6144),
        ("15", 8192, 253_952),
    ]
    content = path.read_bytes()
    assert content[ROOT_SECTOR * 512 :][:4] == b"root"
    assert content[:3] == b"\xeb\x63\x90"
    assert struct.unpack_from("<Q", content, 0x5C) == (2048,)  # the sector that it loads
    core = content[2048 * 512 :][:1536]
    assert struct.unpack_from("<QH", core, 0x1F4) == (2049, 2)  # the two sectors behind it
    run("mcopy", "-i", f"{path}@@4M", "::/EFI/BOOT/BOOTX64.EFI", tmp_path / "shim")
    assert (tmp_path / "shim").read_bytes() == b"shim"


def test_a_core_image_that_does_not_fit_is_refused() -> None:
    large = Loaders(boot=b"", core=bytes(4 * MIB), efi={})
    with pytest.raises(ValueError, match="more than its partition"):
        list(disk(iter([SIZE]), SIZE, IDS, large))


def test_grub_has_an_entry_for_each_kernel() -> None:
    text = grub_cfg(
        [Kernel("New", "/vmlinuz", "/initrd.img"), Kernel("Old", "/boot/o", "/boot/r")],
        file_system=UUID(int=7),
        root=UUID(int=8),
    )
    assert text.count("menuentry ") == 2
    assert text.index("'New'") < text.index("'Old'")
    assert f"linux /vmlinuz root=PARTUUID={UUID(int=8)} ro console=tty0" in text
