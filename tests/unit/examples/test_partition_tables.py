"""The partition tables that install-image reads, changes and writes, against sfdisk's."""

import random
import re
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from failure import Failure
from gpt import Gpt, parse_gpt
from layout import SEED, Layout, exact, plan
from mbr import parse_mbr
from partitions import MIB, NoPartitionFree, TableDamaged

IMAGE = 16 * MIB
DISK = 64 * MIB + 7 * 512


def made_by_sfdisk(path: Path, script: str, size: int = IMAGE) -> bytes:
    path.write_bytes(bytes(size))
    subprocess.run(["sfdisk", "-q", path], input=script.encode(), check=True)
    return path.read_bytes()


def verified(path: Path, size: int, head: bytes, tail: bytes) -> str:
    """What sfdisk finds on a disk with this head and tail."""
    with path.open("wb") as file:
        file.truncate(size)
        file.write(head)
        file.seek(size - len(tail))
        file.write(tail)
    said = subprocess.run(["sfdisk", "--verify", path], capture_output=True, text=True, check=True)
    assert "No errors detected" in said.stdout, said.stdout + said.stderr
    return subprocess.run(["sfdisk", "--dump", path], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def gpt_image(tmp_path: Path) -> bytes:
    return made_by_sfdisk(tmp_path / "gpt", "label: gpt\nstart=8192, name=root\nstart=2048, size=4096, type=U\n")


@pytest.fixture
def mbr_image(tmp_path: Path) -> bytes:
    return made_by_sfdisk(tmp_path / "mbr", "label: dos\nstart=2048, size=2048\nstart=8192, size=16384, bootable\n")


def gpt(image: bytes) -> Gpt:
    table = parse_gpt(image[:MIB])
    assert table is not None
    return table


def resigned(head: bytearray) -> bytes:
    """With checksums that are right for what the header and the entries say now."""
    count, length = struct.unpack_from("<II", head, 512 + 80)
    head[512 + 88 : 512 + 92] = zlib.crc32(head[1024 : 1024 + count * length]).to_bytes(4, "little")
    head[512 + 16 : 512 + 20] = bytes(4)
    head[512 + 16 : 512 + 20] = zlib.crc32(head[512 : 512 + 92]).to_bytes(4, "little")
    return bytes(head)


def test_table_that_is_not_changed_is_written_as_it_was_read(gpt_image: bytes, mbr_image: bytes) -> None:
    table = gpt(gpt_image)
    assert table.fitted(IMAGE // 512).head(gpt_image[:MIB]) == gpt_image[:MIB]
    assert gpt_image.endswith(table.fitted(IMAGE // 512).tail())
    other = parse_mbr(mbr_image[:MIB], 512, IMAGE // 512)
    assert other is not None
    assert other.head(mbr_image[:MIB]) == mbr_image[:MIB]


def test_gpt_grows_to_the_seed_and_its_second_copy_moves(gpt_image: bytes, tmp_path: Path) -> None:
    layout = plan(gpt_image[:MIB], IMAGE, DISK, 512, grow=True, seed="cidata")
    assert layout.table is not None
    assert layout.seed is not None
    assert layout.root is not None
    assert layout.outdated is not None
    listed = verified(tmp_path / "disk", DISK, layout.table.head(gpt_image[:MIB]), layout.table.tail())
    assert 'name="cidata"' in listed
    assert layout.root.place + layout.root.length == layout.seed.place
    assert layout.seed.place % MIB == 0
    assert layout.seed.length == SEED
    assert gpt_image[layout.outdated.place + layout.outdated.length - 512 :].startswith(b"EFI PART")


def test_mbr_grows_to_the_seed(mbr_image: bytes, tmp_path: Path) -> None:
    layout = plan(mbr_image[:MIB], IMAGE, DISK, 512, grow=True, seed="cidata")
    assert layout.table is not None
    assert layout.seed is not None
    assert layout.outdated is None
    listed = verified(tmp_path / "disk", DISK, layout.table.head(mbr_image[:MIB]), layout.table.tail())
    sizes = [(int(start), int(size)) for start, size in re.findall(r"start= *(\d+), size= *(\d+)", listed)]
    assert sizes[0] == (2048, 2048), "a partition that is not the last stays"
    assert sizes[1] == (8192, layout.seed.place // 512 - 8192)
    assert sizes[2] == (layout.seed.place // 512, SEED // 512)


def test_table_for_sectors_of_4096_bytes_is_read_and_written_as_one(gpt_image: bytes) -> None:
    # sfdisk makes those for devices only: the same table, told in larger sectors.
    small = gpt(gpt_image)
    entries = tuple(
        entry[:32] + struct.pack("<QQ", *(place // 8 for place in struct.unpack_from("<QQ", entry, 32))) + entry[48:]
        for entry in small.entries
    )
    large = Gpt(
        sector=4096, sectors=IMAGE // 4096, revision=small.revision, first_usable=6, last_usable=IMAGE // 4096 - 6,
        guid=small.guid, entries_at=2, entry_size=128, entries=entries,
    )  # fmt: skip
    head = large.head(bytes(MIB))
    assert parse_gpt(head) == large
    assert len(large.tail()) == 4096 * 5
    layout = plan(head, IMAGE, DISK // 4096 * 4096, 4096, grow=True, seed="cidata")
    assert layout.root is not None
    assert layout.seed is not None
    assert layout.root.place == 4 * MIB
    assert layout.seed.place + SEED <= DISK // 4096 * 4096 - len(large.tail())
    for sector, of in ((512, head), (4096, gpt_image[:MIB])):
        with pytest.raises(Failure) as failure:
            plan(of, IMAGE, DISK // 4096 * 4096, sector, grow=False, seed="")
        assert failure.value.reason == "WrongSectorSize"


def test_image_for_smaller_sectors_is_refused_whatever_its_table(
    gpt_image: bytes, mbr_image: bytes, tmp_path: Path
) -> None:
    damaged = bytearray(gpt_image[:MIB])
    damaged[1024] ^= 1
    iso = bytearray(mbr_image[:MIB])
    iso[454:458] = bytes(4)  # a partition from sector 0 on, as images for CDs and USB sticks have it
    for head in (gpt_image[:MIB], mbr_image[:MIB], bytes(damaged), bytes(iso)):
        for layout in (exact, lambda *about: plan(*about, grow=True, seed="")):
            with pytest.raises(Failure) as failure:
                layout(head, IMAGE, DISK, 4096)
            assert failure.value.reason == "WrongSectorSize"
            assert "sectors of 512 bytes, this one has 4096" in str(failure.value)
    assert exact(bytes(MIB), IMAGE, DISK, 4096) == Layout()


def test_seed_without_room_behind_the_image_is_refused(gpt_image: bytes) -> None:
    with pytest.raises(Failure) as failure:
        plan(gpt_image[:MIB], IMAGE, IMAGE + 4 * MIB, 512, grow=True, seed="cidata")
    assert failure.value.reason == "DiskTooSmall"
    assert "8.0 MiB for its seed" in str(failure.value)
    assert plan(gpt_image[:MIB], IMAGE, IMAGE + 4 * MIB, 512, grow=True, seed="").root is not None


def test_seed_takes_a_gap_between_partitions_where_the_end_is_taken(tmp_path: Path) -> None:
    image = made_by_sfdisk(tmp_path / "gap", "label: gpt\nsize=2048\nstart=26624\n", 24 * MIB)
    layout = plan(image[:MIB], 24 * MIB, 24 * MIB, 512, grow=True, seed="cidata")
    assert layout.seed is not None
    assert layout.seed.place == 5 * MIB
    assert layout.root is None
    assert layout.table is not None
    verified(tmp_path / "disk", 24 * MIB, layout.table.head(image[:MIB]), layout.table.tail())


def test_seed_without_a_free_entry_is_refused(tmp_path: Path) -> None:
    image = made_by_sfdisk(tmp_path / "full", "label: dos\n" + "size=2048\n" * 3 + "type=83\n")
    with pytest.raises(Failure) as failure:
        plan(image[:MIB], IMAGE, DISK, 512, grow=True, seed="cidata")
    assert failure.value.reason == "NoPartitionFree"
    table = gpt(made_by_sfdisk(tmp_path / "gpt", "label: gpt\ntable-length: 1\nsize=2048\n"))
    with pytest.raises(NoPartitionFree):
        table.with_seed(8192, 9000, "cidata", bytes(32))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("label: gpt\nsize=2048\ntype=U\n", "EFI system partition"),
        ("label: gpt\nsize=2048\ntype=S\n", "swap"),
        ("label: dos\nsize=2048\ntype=S\n", "swap"),
        ("label: dos\nsize=2048\ntype=E\n", "logical partitions"),
    ],
)
def test_last_partition_of_another_kind_does_not_grow(script: str, why: str, tmp_path: Path) -> None:
    image = made_by_sfdisk(tmp_path / "image", script)
    layout = plan(image[:MIB], IMAGE, DISK, 512, grow=True, seed="")
    assert layout.root is None
    assert why in layout.notes[0]


def test_image_without_a_table_is_written_as_it_is_and_gets_no_seed() -> None:
    boot_sector = b"\xeb\x3c\x90mkfs.fat".ljust(510, b"\0") + b"\x55\xaa"
    for head in (bytes(MIB), boot_sector.ljust(MIB, b"\0")):
        assert plan(head, IMAGE, DISK, 512, grow=True, seed="").table is None
        with pytest.raises(Failure) as failure:
            plan(head, IMAGE, DISK, 512, grow=True, seed="cidata")
        assert failure.value.reason == "NoPartitionTable"


def test_second_table_of_an_image_that_ends_with_its_last_partition_needs_a_larger_disk(gpt_image: bytes) -> None:
    end = (gpt(gpt_image).partitions[0].last + 1) * 512
    with pytest.raises(Failure) as failure:
        plan(gpt_image[:MIB], end, end, 512, grow=True, seed="")
    assert failure.value.reason == "DiskTooSmall"
    assert plan(gpt_image[:MIB], end, DISK, 512, grow=True, seed="").outdated is None


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        (512 + 12, 5000, "has 5000 bytes"),
        (512 + 72, 1 << 40, "wrong checksum"),
        (512 + 84, 100, "entries of 100 bytes"),
        (512 + 40, 1 << 61, "no sector for partitions"),
        (1024 + 40, 1 << 50, "outside the disk"),
        (1024 + 32, 1, "outside the disk"),
    ],
)
def test_hostile_gpt_is_refused_though_its_checksums_are_right(
    place: int, value: int, why: str, gpt_image: bytes
) -> None:
    head = bytearray(gpt_image[:MIB])
    length = 4 if place in {512 + 12, 512 + 84} else 8
    head[place : place + length] = value.to_bytes(length, "little")
    with pytest.raises(TableDamaged, match=why):
        parse_gpt(resigned(head))


def test_damaged_gpt_is_never_taken_for_a_good_one(gpt_image: bytes) -> None:
    chance = random.Random(14)
    good = gpt(gpt_image)
    for _ in range(300):
        head = bytearray(gpt_image[: 34 * 512])
        place = chance.randrange(512, 34 * 512)
        head[place] ^= chance.randrange(1, 256)
        try:
            assert parse_gpt(bytes(head)) in {None, good}
        except TableDamaged:
            continue
