"""What a file is by its first bytes."""

import gzip
import io
import struct
import tarfile
import uuid
import zipfile
from collections.abc import Mapping

import pytest

from tests.system_disks import boot_sector
from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import Compression, Firmware, Format
from tinkbox.system_images.recognition import (
    START,
    compression_of,
    firmware_of,
    format_of,
    refuse_cut,
    refuse_footer,
    refuse_no_disk,
)


def tar(name: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name))
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("disk.vmdk", "x")
    return file.getvalue()


def iso() -> bytes:
    return boot_sector().ljust(0x8001, b"\0") + b"CD001" + bytes(2048)


STRANGERS: Mapping[str, tuple[bytes, str]] = {
    "nothing": (b"", "is empty"),
    "a page": (b"\n<!DOCTYPE html>\n<html>", "is a web page"),
    "a listing": (b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>", "is a web page"),
    "a text": (b"SHA512 (debian.qcow2) = 00\n", "is a text"),
    "vmdk": (b"KDMV\1\0\0\0", r"vmdk\): convert it with `qemu-img convert -f vmdk"),
    "vmdk description": (b"# Disk DescriptorFile\nversion=1", "vmdk"),
    "vhdx": (b"vhdxfile", "-f vhdx"),
    "vhd": (b"conectix", "-f vpc"),
    "vdi": (b"<<< Oracle VM VirtualBox Disk Image >>>\n".ljust(64, b"\0") + b"\x7f\x10\xda\xbe", "-f vdi"),
    "iso": (iso(), "ISO image of an installer"),
    "an OCI layout": (tar("oci-layout"), "load it with `tinkbox image load FILE`"),
    "zip": (zipped(), "zip archive: unpack it"),
    "squashfs": (b"hsqs\0\0\0\0", "a root file system, not a disk"),
    "compressed twice": (gzip.compress(b"x"), "compressed twice"),
    "an encrypted volume": (b"LUKS\xba\xbe\0\1", "encrypted"),
    "a kernel": (b"MZ\0\0", "a program"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_what_is_no_disk_is_refused_with_what_to_do(name: str) -> None:
    start, text = STRANGERS[name]
    with pytest.raises(Invalid, match=text):
        format_of(start[:START], "disk.img")


def test_disks_and_compressions_are_told_by_their_bytes_not_by_their_names() -> None:
    assert format_of(boot_sector(), "x.qcow2") is Format.RAW
    assert format_of(b"QFI\xfb\0\0\0\3", "x.img") is Format.QCOW2
    assert format_of(tar("etc"), "x.img") is Format.TAR
    assert compression_of(gzip.compress(b"x")) is Compression.GZIP
    assert compression_of(boot_sector()) is Compression.NONE
    for magic in (0x184D2A50, 0x184D2A5F):
        assert compression_of(magic.to_bytes(4, "little") + bytes(8)) is Compression.ZSTD
    assert compression_of((0x184D2A60).to_bytes(4, "little") + bytes(8)) is Compression.NONE


def test_a_fixed_vhd_is_told_by_its_end() -> None:
    refuse_footer(bytes(512), "disk.vhd")
    with pytest.raises(Invalid, match="vhd"):
        refuse_footer(b"conectix".ljust(512, b"\0"), "disk.vhd")


def test_a_disk_has_a_partition_table() -> None:
    refuse_no_disk(boot_sector(), "disk.img")
    refuse_no_disk(gpt(), "disk.img")
    refuse_no_disk(gpt(sector=4096), "disk.img")
    with pytest.raises(Invalid, match="neither a GPT nor an MBR"):
        refuse_no_disk(bytes(1 << 20), "disk.img")
    ext = bytes(0x438) + b"\x53\xef" + bytes(1000)
    with pytest.raises(Invalid, match=r"is a file system \(ext"):
        refuse_no_disk(ext, "disk.img")


EFI_SYSTEM, BIOS_BOOT = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "21686148-6449-6e6f-744e-656564454649"


def gpt(*kinds: str, code: bytes = b"", sector: int = 512) -> bytes:
    mbr = code.ljust(446, b"\0") + struct.pack("<B3sB3sII", 0, b"", 0xEE, b"", 1, 99) + bytes(48) + b"\x55\xaa"
    header = b"EFI PART".ljust(72, b"\0") + struct.pack("<QII", 2, 128, 128)
    entries = b"".join(
        uuid.UUID(kind).bytes_le
        + uuid.uuid5(uuid.NAMESPACE_OID, kind).bytes
        + struct.pack("<QQ", 64, 99).ljust(96, b"\0")
        for kind in kinds
    )
    return mbr.ljust(sector, b"\0") + header.ljust(sector, b"\0") + entries.ljust(128 * 128, b"\0")


@pytest.mark.parametrize(
    ("start", "firmware"),
    [
        (boot_sector(), [Firmware.BIOS]),
        (gpt(EFI_SYSTEM), [Firmware.UEFI]),
        (gpt(EFI_SYSTEM, BIOS_BOOT, code=b"\xeb\x63"), [Firmware.BIOS, Firmware.UEFI]),
        (gpt(EFI_SYSTEM, sector=4096), [Firmware.UEFI]),
        (gpt(), [Firmware.BIOS, Firmware.UEFI]),
    ],
    ids=["MBR", "EFI", "both", "EFI on 4Kn", "nothing tells"],
)
def test_the_partition_table_tells_the_firmware(start: bytes, firmware: list[Firmware]) -> None:
    assert list(firmware_of(start)) == firmware


@pytest.mark.parametrize("sector", [512, 4096])
def test_disk_that_ends_before_its_partitions_is_truncated(sector: int) -> None:
    start = gpt(EFI_SYSTEM, sector=sector)
    refuse_cut(start, 100 * sector, "disk")
    with pytest.raises(Invalid, match="disk is truncated"):
        refuse_cut(start, 100 * sector - 1, "disk")


def test_disk_with_an_mbr_that_ends_before_its_partitions_is_truncated() -> None:
    entry = struct.pack("<B3sB3sII", 0x80, b"", 0x83, b"", 2048, 4096)
    start = (bytes(446) + entry + bytes(48) + b"\x55\xaa").ljust(8192, b"\0")
    refuse_cut(start, 6144 * 512, "disk")
    with pytest.raises(Invalid, match="download it again"):
        refuse_cut(start, 6143 * 512, "disk")
