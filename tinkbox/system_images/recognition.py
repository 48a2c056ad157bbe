"""What a file is by its first bytes, and what to do with one that is no disk image.  Pure."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.images.system_image import Compression, Firmware, Format
from tinkbox.model.sizes import show_size
from tinkbox.wire.disk.partition_table import BIOS_BOOT, EFI_SYSTEM
from tinkbox.wire.disk.partitions import contents

# Enough for whatever is looked for: the label of an ISO 9660 volume lies at 32 KiB.
START: Final = 64 << 10

_COMPRESSIONS: Final[Mapping[bytes, Compression]] = {
    b"\x1f\x8b": Compression.GZIP,
    b"\xfd7zXZ\x00": Compression.XZ,
    b"BZh": Compression.BZIP2,
    b"\x28\xb5\x2f\xfd": Compression.ZSTD,
    # A frame that is skipped stands first in what pzstd makes (RFC 8878 §3.1.2).
    **{bytes((first, 0x2A, 0x4D, 0x18)): Compression.ZSTD for first in range(0x50, 0x60)},
}
QCOW: Final = b"QFI\xfb"
_TAR, _TAR_AT = b"ustar", 257
_UNKNOWN_SIZE: Final = 1 << 62
_CONVERT: Final = "convert it with `qemu-img convert -f {} -O qcow2 FILE disk.qcow2` and import that"


@dataclass(frozen=True, slots=True)
class _Stranger:
    """What is told by `magic` at `at`, and is not taken; `advice` says what to do."""

    at: int
    magic: bytes
    what: str
    advice: str


_STRANGERS: Final[Sequence[_Stranger]] = (
    _Stranger(0, b"KDMV", "a VMware disk (vmdk)", _CONVERT.format("vmdk")),
    _Stranger(0, b"# Disk Descriptor", "the description of a VMware disk (vmdk)", _CONVERT.format("vmdk")),
    _Stranger(0, b"vhdxfile", "a Hyper-V disk (vhdx)", _CONVERT.format("vhdx")),
    _Stranger(0, b"conectix", "a Virtual PC disk (vhd)", _CONVERT.format("vpc")),
    _Stranger(64, b"\x7f\x10\xda\xbe", "a VirtualBox disk (vdi)", _CONVERT.format("vdi")),
    _Stranger(0, b"QED\0", "a QED disk", _CONVERT.format("qed")),
    _Stranger(0, b"LUKS", "an encrypted volume (LUKS)", "import an image of the whole disk that is not encrypted"),
    _Stranger(0, b"PK\x03\x04", "a zip archive", "unpack it, and import the disk image in it"),
    _Stranger(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it, and import the disk image in it"),
    _Stranger(0, b"Rar!", "a rar archive", "unpack it, and import the disk image in it"),
    _Stranger(0, b"\x3a\xff\x26\xed", "an Android sparse image", "convert it with `simg2img FILE disk.raw`"),
    _Stranger(
        0,
        b"hsqs",
        "a squashfs, which is a root file system, not a disk",
        "import the disk image (qcow2 or raw), or a tar of it",
    ),
    _Stranger(0, b"MZ", "a program for Windows or EFI", "import the disk image (qcow2 or raw)"),
    _Stranger(0, b"\x7fELF", "a program", "import the disk image (qcow2 or raw)"),
    *(
        _Stranger(0, name, "an archive of images", "load it with `tinkbox image load FILE`")
        for name in (b"blobs/", b"oci-layout", b"index.json", b"manifest.json")
    ),
    _Stranger(
        0x8001,
        b"CD001",
        "the ISO image of an installer or a live system, not an installed disk",
        "import the cloud image (qcow2 or raw) of that system",
    ),
)
_FOOTER: Final = b"conectix"
FOOTER_SIZE: Final = 512


def compression_of(start: bytes) -> Compression:
    """How a file that begins so is compressed."""
    return next((kind for magic, kind in _COMPRESSIONS.items() if start.startswith(magic)), Compression.NONE)


def format_of(start: bytes, name: str) -> Format:
    """What a file is that begins so and is not compressed; `name` is the file's.  Raises Invalid for what cannot be a disk."""
    if start.startswith(QCOW):
        return Format.QCOW2
    if not start:
        raise Invalid(f"{name} is empty: download it again")
    for each in _STRANGERS:
        if start[each.at : each.at + len(each.magic)] == each.magic:
            raise Invalid(f"{name} is {each.what}: {each.advice}")
    if start[_TAR_AT : _TAR_AT + len(_TAR)] == _TAR:
        return Format.TAR
    kind = compression_of(start)
    if kind is not Compression.NONE:
        raise Invalid(f"{name} is compressed twice ({kind} inside): decompress it once")
    _refuse_text(start, name)
    return Format.RAW


def refuse_footer(end: bytes, name: str) -> None:
    """Raise Invalid for a fixed VHD, a raw disk that tells what it is at its end."""
    if end.startswith(_FOOTER):
        raise Invalid(f"{name} is a Virtual PC disk (vhd): {_CONVERT.format('vpc')}")


def refuse_no_disk(start: bytes, name: str) -> None:
    """Raise Invalid for a raw disk without a partition table; `start` are its first bytes."""
    found = contents(lambda offset, length: start[offset : offset + length], _UNKNOWN_SIZE)
    if any(each.kind in ("GPT", "MBR") for each in found):
        return
    whole = next((each.kind for each in found if each.offset == 0), "")
    if whole:
        raise Invalid(
            f"{name} is a file system ({whole}), not a disk with partitions: no firmware would boot it; "
            "import the disk image (qcow2 or raw) that is published beside it"
        )
    raise Invalid(
        f"{name} is no disk image: its first {show_size(len(start))} have neither a GPT nor an MBR, and it is no qcow2; "
        "check what was downloaded"
    )


def _refuse_text(start: bytes, name: str) -> None:
    text = start[:4096]
    lowered = text.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if lowered.startswith((b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")):
        raise Invalid(
            f"{name} is a web page, not a disk image: its address was a page's, or it is gone; download it again"
        )
    if all(byte >= 0x20 or byte in b"\t\r\n\f" for byte in text):
        raise Invalid(f"{name} is a text, not a disk image: check what was downloaded")


_EFI_IN_MBR: Final = 0xEF
_UNTOLD: Final = 0xFFFFFFFF
_BOOT_CODE: Final = 440
_GPT: Final = b"EFI PART"


def firmware_of(start: bytes) -> tuple[Firmware, ...]:
    """Which firmware a disk is made for, by its boot code and its partitions' types; both where nothing tells."""
    types = {start[450 + 16 * number] for number in range(4)} if len(start) >= 512 else set()
    partitions = _gpt(start)
    kinds = {kind for kind, _ in partitions or ()}
    uefi = _EFI_IN_MBR in types or EFI_SYSTEM.bytes_le in kinds
    bios = any(start[:_BOOT_CODE]) and (partitions is None or BIOS_BOOT.bytes_le in kinds or not uefi)
    found = tuple(kind for kind, there in ((Firmware.BIOS, bios), (Firmware.UEFI, uefi)) if there)
    return found or (Firmware.BIOS, Firmware.UEFI)


def refuse_cut(start: bytes, size: int, name: str) -> None:
    """Raise Invalid for a raw disk of `size` bytes whose partitions reach behind its end: a download that broke off."""
    end = max(_partition_ends(start), default=0)
    if end > size:
        raise Invalid(
            f"{name} is truncated: its partitions end at {show_size(end)}, and it has {show_size(size)}; download it again"
        )


def _gpt(start: bytes) -> list[tuple[bytes, int]] | None:
    """The partitions of a GPT, each with its type and where it ends, in bytes (UEFI specification §5.3); None: there is none."""
    for sector in (512, 4096):
        header = start[sector : sector + 92]
        if header.startswith(_GPT) and len(header) == 92:
            first, count, length = struct.unpack_from("<QII", header, 72)
            entries = (start[first * sector + number * length :][:48] for number in range(min(count, 128)))
            return [
                (each[:16], (struct.unpack_from("<Q", each, 40)[0] + 1) * sector)
                for each in entries
                if len(each) == 48 and any(each[:16])
            ]
    return None


def _partition_ends(start: bytes) -> Iterator[int]:
    """Where the partitions of a GPT or an MBR end, in bytes (UEFI specification §5.2)."""
    partitions = _gpt(start)
    if partitions is not None:
        yield from (end for _, end in partitions)
        return
    for number in range(4):
        entry = start[446 + 16 * number :][:16]
        if len(entry) == 16 and entry[4]:
            begin, sectors = struct.unpack_from("<II", entry, 8)
            # What protects a GPT may tell no size.
            if sectors != _UNTOLD:
                yield (begin + sectors) * 512
