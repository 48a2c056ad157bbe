"""The magic numbers of file systems, compared with what the tools make that Debian always has, and with each format's own."""

import shutil
import subprocess
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from tests.unit.wire.disk_images import Image
from tinkbox.wire.disk.signatures import MAX_LABEL, SIGNATURES, Read, file_systems

ID = UUID("5f9c2ba4-2b5e-4e6c-9a0e-6d3a2f0c1b77")
MD = bytes.fromhex("fc4e2ba9")


def found(read: Read, size: int, offset: int = 0) -> list[tuple[str, str, str]]:
    return [(each.kind, each.id, each.label) for each in file_systems(read, offset, size)]


def known_to_blkid(path: Path) -> dict[str, str]:
    """What util-linux says of an image."""
    said = subprocess.run(
        [tool("blkid"), "-p", "-o", "export", path], check=True, capture_output=True, text=True
    ).stdout
    return dict(line.split("=", 1) for line in said.splitlines())


def tool(name: str) -> str:
    return shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin") or pytest.skip(f"{name} is not here")


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["mkfs.ext4", "-q", "-L", "root"], "ext4"),
        (["mkfs.ext3", "-q", "-L", "root"], "ext3"),
        (["mkfs.ext2", "-q", "-L", "root"], "ext2"),
        (["mkfs.vfat", "-F", "32", "-n", "ROOT"], "FAT"),
        (["mkfs.vfat", "-F", "16", "-n", "ROOT"], "FAT"),
        (["mkfs.vfat", "-F", "12", "-n", "ROOT"], "FAT"),
        (["mkswap", "-q", "-L", "root"], "swap"),
    ],
)
def test_what_tools_make_is_known_by_the_id_that_others_see_in_it(tmp_path, command, kind) -> None:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate((8 if "12" in command else 64) << 20)
    subprocess.run([tool(command[0]), *command[1:], path], check=True, capture_output=True)
    content, theirs = path.read_bytes(), known_to_blkid(path)
    ((ours, identity, label),) = found(lambda offset, length: content[offset : offset + length], len(content))
    assert (ours, label.lower()) == (kind, "root")
    assert identity == theirs["UUID"].replace("-", "").lower() if kind == "FAT" else identity == theirs["UUID"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({0: b"XFSB", 32: ID.bytes, 108: b"data"}, ("XFS", str(ID), "data")),
        ({0x10040: b"_BHRfS_M", 0x10020: ID.bytes, 0x1012B: b"pool"}, ("Btrfs", str(ID), "pool")),
        ({3: b"NTFS    ", 0x48: bytes(range(8))}, ("NTFS", "0706050403020100", "")),
        ({3: b"EXFAT   ", 100: b"\x01\x02\x03\x04"}, ("exFAT", "04030201", "")),
        ({3: b"ReFS\0\0\0\0"}, ("ReFS", "", "")),
        ({3: b"-FVE-FS-"}, ("BitLocker", "", "")),
        ({0: b"LUKS\xba\xbe\0\x02", 168: str(ID).encode()}, ("LUKS", str(ID), "")),
        ({512: b"LABELONE", 536: b"LVM2 001" + b"abcDEF012345" * 2 + b"89abcdef\0"}, ("LVM", "abcDEF012345abcDEF01234589abcdef", "")),
        ({4096: MD, 4112: ID.bytes, 4128: b"host:0"}, ("RAID", str(ID), "host:0")),
        ({0: MD, 16: ID.bytes}, ("RAID", str(ID), "")),
        ({(64 << 20) - 8192: MD, (64 << 20) - 8176: ID.bytes}, ("RAID", str(ID), "")),
        ({(64 << 20) - 65536: MD, (64 << 20) - 65516: ID.bytes[:4], (64 << 20) - 65484: ID.bytes[4:]}, ("RAID", str(ID), "")),
        ({(64 << 20) - 1024: b"Intel Raid ISM Cfg Sig. 1.3.00"}, ("RAID of the firmware", "", "")),
        ({(64 << 20) - 512: bytes.fromhex("de11de11")}, ("RAID of the firmware", "", "")),
        ({65526: b"SWAPSPACE2", 1036: ID.bytes}, ("swap", str(ID), "")),
        ({(128 << 10) + 7 * 1024: bytes.fromhex("0cb1ba0000000000")}, ("ZFS", "", "")),
        ({(128 << 10) + 127 * 1024: bytes.fromhex("0000000000bab10c")}, ("ZFS", "", "")),
        ({4120: bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81"), 4136: ID.bytes}, ("bcache", str(ID), "")),
        ({0: b"bluestore block device\n" + str(ID).encode() + b"\n"}, ("Ceph", str(ID), "")),
        ({1024: bytes.fromhex("1020f5f2"), 1132: ID.bytes}, ("F2FS", str(ID), "")),
        ({32769: b"CD001", 32808: b"DEBIAN 12".ljust(32)}, ("ISO 9660", "", "DEBIAN 12")),
        ({0: b"hsqs"}, ("squashfs", "", "")),
        ({1024: b"H+\0\x04"}, ("HFS+", "", "")),
        ({32: b"NXSB", 72: ID.bytes}, ("APFS", str(ID), "")),
        ({0x100000: bytes.fromhex("0dd001c0")}, ("VMFS", "", "")),
        ({65536 + 1372: bytes.fromhex("19015419")}, ("UFS", "", "")),
        ({32768: b"JFS1", 32904: ID.bytes}, ("JFS", str(ID), "")),
        ({65588: b"ReIsErFs", 65620: ID.bytes}, ("ReiserFS", str(ID), "")),
    ],
)  # fmt: skip
def test_every_format_is_known_wherever_it_begins(written, expected) -> None:
    assert found(image(written, 0).read, 64 << 20) == [expected]
    assert found(image(written, 1 << 20).read, 64 << 20, offset=1 << 20) == [expected]


def image(written: dict[int, bytes], offset: int) -> Image:
    made = Image(65 << 20)
    for at, content in written.items():
        made.write(offset + at, content)
    return made


def test_copies_of_one_description_are_one_thing() -> None:
    twice = {0: MD, 16: ID.bytes, 4096: MD, 4112: ID.bytes}
    assert found(image(twice, 0).read, 64 << 20) == [("RAID", str(ID), "")]


def test_what_describes_a_member_from_its_end_lies_on_whole_blocks() -> None:
    size = (64 << 20) + 3 * 512
    made = Image(size).write((64 << 20) - 8192, MD).write((64 << 20) - 8176, ID.bytes)
    assert found(made.read, size) == [("RAID", str(ID), "")]


@pytest.mark.parametrize(
    ("features", "kind"),
    [((0, 0x2, 0x3), "ext2"), ((0x4, 0x2, 0x3), "ext3"), ((0x4, 0x42, 0x3), "ext4"), ((0x4, 0x2, 0x8), "ext4")],
)
def test_the_ext_family_is_told_apart_by_what_only_the_younger_can(features, kind) -> None:
    made = image({0x438: b"\x53\xef", 0x45C: b"".join(each.to_bytes(4, "little") for each in features)}, 0)
    assert [each for each, *_ in found(made.read, 64 << 20)] == [kind]


def test_nothing_is_found_where_nothing_is_or_only_noise() -> None:
    assert found(Image().read, 64 << 20) == []
    noise = Random(6).randbytes(1 << 21)
    assert found(lambda offset, length: noise[offset : offset + length], len(noise)) == []


def test_what_lies_behind_the_end_of_a_partition_is_not_its_own() -> None:
    made = image({32769: b"CD001"}, 0)
    assert found(made.read, 16 << 10) == []


def test_a_disk_shorter_than_a_format_is_read_to_its_end_only() -> None:
    for size in (0, 1, 511, 512, 1023, 4096):
        assert found(Image(size).read, size) == []


def test_labels_are_bounded_and_without_control_characters() -> None:
    made = image({0x10040: b"_BHRfS_M", 0x1012B: b"a\x1b[2J\nb" + "ä".encode() + b"c" * 300}, 0)
    ((_, _, label),) = found(made.read, 64 << 20)
    assert label.startswith("a[2Jbä")
    assert len(label) <= MAX_LABEL


def test_every_row_of_the_table_has_a_case_above() -> None:
    assert {each.kind for each in SIGNATURES} <= {
        "ext", "FAT", "swap", "XFS", "Btrfs", "NTFS", "exFAT", "ReFS", "BitLocker", "LUKS", "LVM", "RAID", "bcache", "Ceph",
        "F2FS", "ISO 9660", "squashfs", "HFS+", "APFS", "VMFS", "UFS", "JFS", "ReiserFS",
    }  # fmt: skip
