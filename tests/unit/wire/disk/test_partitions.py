"""Partition tables: what is on a disk, table and partitions, and what damaged ones cost."""

import shutil
import subprocess
from random import Random

import pytest

from tests.unit.wire.disk_images import DISK_ID, Image
from tinkbox.model.disks.disks import Content
from tinkbox.wire.disk.partitions import MAX_LOGICAL, contents


def on(image: Image) -> list[tuple[str, str, str, int]]:
    return [(each.kind, each.id, each.label, each.offset) for each in contents(image.read, image.size)]


def xfs(image: Image, at: int, name: bytes = b"data") -> Image:
    return image.write(at, b"XFSB").write(at + 32, bytes(range(16))).write(at + 108, name)


XFS_ID = "00010203-0405-0607-0809-0a0b0c0d0e0f"


def test_an_empty_disk_holds_nothing() -> None:
    assert contents(Image().read, 64 << 20) == ()


@pytest.mark.parametrize("sector", [512, 4096])
def test_a_gpt_is_told_with_what_is_in_its_partitions(sector) -> None:
    image = Image().gpt((256, 511), (512, 1023), sector=sector)
    xfs(image, 256 * sector)
    xfs(image, 512 * sector, b"more")
    assert on(image) == [
        ("GPT", str(DISK_ID), "2 partitions", 0),
        ("XFS", XFS_ID, "data", 256 * sector),
        ("XFS", XFS_ID, "more", 512 * sector),
    ]


def test_util_linux_sees_the_same_table(tmp_path) -> None:
    path = tmp_path / "disk"
    path.write_bytes(Image().gpt((256, 511)).content)
    blkid = shutil.which("blkid", path="/usr/sbin:/sbin") or pytest.skip("blkid is not here")
    said = subprocess.run([blkid, "-p", "-o", "export", path], check=True, capture_output=True, text=True).stdout
    assert f"PTUUID={DISK_ID}" in said
    assert "PTTYPE=gpt" in said


def test_the_second_gpt_speaks_where_the_first_one_was_wiped() -> None:
    image = Image().gpt((256, 511), primary=False)
    xfs(image, 256 * 512)
    assert on(image) == [
        ("GPT", str(DISK_ID), "1 partition", (64 << 20) - 512),
        ("XFS", XFS_ID, "data", 256 * 512),
    ]


def test_an_mbr_is_told_with_its_primary_and_logical_partitions() -> None:
    image = Image().mbr((0x83, 2048, 2048), (0x05, 8192, 8192))
    image.mbr((0x83, 2048, 1024), (0x05, 4096, 4096), at=8192).mbr((0x83, 2048, 1024), at=12288)
    for sector in (2048, 10240, 14336):
        xfs(image, sector * 512)
    assert on(image) == [
        ("MBR", "0badcafe", "3 partitions", 0),
        *(("XFS", XFS_ID, "data", sector * 512) for sector in (2048, 10240, 14336)),
    ]


def test_partitions_that_begin_behind_the_end_of_the_disk_are_none() -> None:
    sectors = (64 << 20) // 512
    image = Image().mbr((0x83, sectors - 8, 4096), (0x83, sectors, 8), (0x05, 8192, 8192))
    image.mbr((0x83, sectors, 8), at=8192)
    xfs(image, (sectors - 8) * 512)
    assert on(image) == [("MBR", "0badcafe", "1 partition", 0), ("XFS", XFS_ID, "data", (sectors - 8) * 512)]


def test_a_chain_of_logical_partitions_that_bites_its_tail_ends() -> None:
    image = Image().mbr((0x0F, 8192, 8192))
    image.mbr((0x83, 2048, 1024), (0x05, 4096, 1), at=8192).mbr((0x83, 2048, 1024), (0x05, 4096, 1), at=12288)
    assert on(image) == [("MBR", "0badcafe", f"{MAX_LOGICAL} partitions", 0)]


def test_a_file_system_on_the_whole_disk_ends_its_first_sector_like_a_table_but_is_none() -> None:
    image = (
        Image()
        .write(0, b"\xeb\x58\x90mkfs.fat")
        .write(82, b"FAT32   ")
        .write(67, b"\x01\x02\x03\x04")
        .write(510, b"\x55\xaa")
    )
    assert [kind for kind, *_ in on(image)] == ["FAT"]


def test_boot_code_is_no_table_and_a_table_without_partitions_is_one() -> None:
    assert on(Image().write(0, b"\x90" * 510 + b"\x55\xaa")) == []
    assert on(Image().mbr()) == [("MBR", "0badcafe", "no partitions", 0)]


def test_a_protective_mbr_whose_gpt_is_gone_is_still_a_table() -> None:
    assert on(Image().mbr((0xEE, 1, 1000), serial=0)) == [("MBR", "00000000", "no partitions", 0)]


def test_tables_that_lie_are_read_within_the_disk() -> None:
    image = Image(1 << 20).gpt((1, 1 << 60), (1 << 50, 1 << 51), (9, 3))
    assert on(image)[0] == ("GPT", str(DISK_ID), "1 partition", 0)
    assert on(Image(1 << 20).mbr((0x83, 0xFFFFFFFF, 0xFFFFFFFF), (0x05, 0xFFFFFFFF, 1)))[0][0] == "MBR"


def test_damage_anywhere_costs_neither_an_error_nor_time() -> None:
    random = Random(3)
    whole = Image(1 << 20).gpt((64, 127), (128, 255)).content
    for _ in range(300):
        torn = bytearray(whole)
        for _ in range(8):
            torn[random.randrange(0, 4096)] = random.randrange(256)
        found = contents(lambda offset, length, torn=torn: bytes(torn[offset : offset + length]), len(torn))
        assert all(isinstance(each, Content) and 0 <= each.offset < len(torn) for each in found)
