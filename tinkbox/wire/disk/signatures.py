"""What file systems and their kind look like on a disk: the magic numbers by which each is known.  Pure.

`read(offset, length)` gives bytes of the disk, fewer where it ends.  Each row's places are those of the format's own
documentation; what writes several copies is known by the first.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tinkbox.model.disks.disks import Content

Read = Callable[[int, int], bytes]
MAX_LABEL: Final = 64
_MD: Final = bytes.fromhex("fc4e2ba9")
_SECTOR: Final = 512
_CONTROL: Final = re.compile(r"[^\x20-\x7e\xa0-\U0010ffff]")


class Form(Enum):
    """How an id is written."""

    NONE = 0
    UUID = 16
    SERIAL = 4  # a number of 32 bits, little-endian
    LONG_SERIAL = 8
    TEXT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One format: it is there when `magic` is at `at`; places are in bytes from the beginning of the partition."""

    kind: str
    at: int
    magic: bytes
    id_at: int = 0
    form: Form = Form.NONE
    label_at: int = 0
    label_size: int = 0


def _swap(page: int) -> Signature:
    return Signature(
        kind="swap", at=page - 10, magic=b"SWAPSPACE2", id_at=1036, form=Form.UUID, label_at=1052, label_size=16
    )


def _physical_volume(sector: int) -> Signature:
    at = sector * _SECTOR
    return Signature(kind="LVM", at=at + 24, magic=b"LVM2 001", id_at=at + 32, form=Form.TEXT)


SIGNATURES: Final = (
    Signature(kind="ext", at=0x438, magic=b"\x53\xef", id_at=0x468, form=Form.UUID, label_at=0x478, label_size=16),
    Signature(kind="XFS", at=0, magic=b"XFSB", id_at=32, form=Form.UUID, label_at=108, label_size=12),
    Signature(
        kind="Btrfs", at=0x10040, magic=b"_BHRfS_M", id_at=0x10020, form=Form.UUID, label_at=0x1012B, label_size=64
    ),
    Signature(kind="FAT", at=0x36, magic=b"FAT1", id_at=0x27, form=Form.SERIAL, label_at=0x2B, label_size=11),
    Signature(kind="FAT", at=0x52, magic=b"FAT32   ", id_at=0x43, form=Form.SERIAL, label_at=0x47, label_size=11),
    Signature(kind="exFAT", at=3, magic=b"EXFAT   ", id_at=100, form=Form.SERIAL),
    Signature(kind="NTFS", at=3, magic=b"NTFS    ", id_at=0x48, form=Form.LONG_SERIAL),
    Signature(kind="ReFS", at=3, magic=b"ReFS\0\0\0\0"),
    Signature(kind="BitLocker", at=3, magic=b"-FVE-FS-"),
    Signature(kind="LUKS", at=0, magic=b"LUKS\xba\xbe", id_at=168, form=Form.TEXT),
    *map(_physical_volume, range(4)),
    *map(_swap, (4096, 8192, 16384, 32768, 65536)),
    Signature(kind="RAID", at=0, magic=_MD, id_at=16, form=Form.UUID, label_at=32, label_size=32),
    Signature(kind="RAID", at=4096, magic=_MD, id_at=4112, form=Form.UUID, label_at=4128, label_size=32),
    Signature(
        kind="bcache", at=4120, magic=bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81"), id_at=4136, form=Form.UUID
    ),
    Signature(kind="Ceph", at=0, magic=b"bluestore block device\n", id_at=23, form=Form.TEXT),
    Signature(kind="F2FS", at=1024, magic=bytes.fromhex("1020f5f2"), id_at=1132, form=Form.UUID),
    Signature(kind="ISO 9660", at=32769, magic=b"CD001", label_at=32808, label_size=32),
    Signature(kind="squashfs", at=0, magic=b"hsqs"),
    Signature(kind="HFS+", at=1024, magic=b"H+"),
    Signature(kind="HFS+", at=1024, magic=b"HX"),
    Signature(kind="APFS", at=32, magic=b"NXSB", id_at=72, form=Form.UUID),
    Signature(kind="UFS", at=66908, magic=bytes.fromhex("19015419")),
    Signature(kind="JFS", at=32768, magic=b"JFS1", id_at=32904, form=Form.UUID),
    Signature(kind="ReiserFS", at=65588, magic=b"ReIsEr", id_at=65620, form=Form.UUID),
    Signature(kind="VMFS", at=0x100000, magic=bytes.fromhex("0dd001c0")),
)
# A pool's newest state is in one of 128 places.
_ZFS_AT, _ZFS_PLACES, _ZFS_STEP = 128 << 10, 128, 1024
_ZFS_MAGIC: Final = frozenset((bytes.fromhex("0cb1ba0000000000"), bytes.fromhex("0000000000bab10c")))


def file_systems(read: Read, offset: int, size: int) -> Iterator[Content]:
    """What is in the `size` bytes that begin at `offset`: mostly one thing, none in what is empty."""

    def here(at: int, length: int) -> bytes:
        return read(offset + at, max(0, min(length, size - at)))

    seen: set[tuple[str, str]] = set()
    for found in (*_with_magic(here), *_at_the_end(here, size)):
        if (found.kind, found.id) not in seen:
            seen.add((found.kind, found.id))
            yield Content(kind=found.kind, id=found.id, label=found.label, offset=offset)


def _with_magic(here: Read) -> Iterator[Content]:
    for each in SIGNATURES:
        if here(each.at, len(each.magic)) != each.magic:
            continue
        kind = _generation(here) if each.kind == "ext" else each.kind
        yield Content(kind=kind, id=_id(here, each), label=_label(here(each.label_at, each.label_size)))
    labels = here(_ZFS_AT, _ZFS_PLACES * _ZFS_STEP)
    if any(labels[place : place + 8] in _ZFS_MAGIC for place in range(0, len(labels), _ZFS_STEP)):
        yield Content(kind="ZFS")


def _at_the_end(here: Read, size: int) -> Iterator[Content]:
    """Members of RAIDs whose description is behind their data."""
    newer, older = (size // _SECTOR - 16 & ~7) * _SECTOR, (size & ~0xFFFF) - 0x10000
    if newer > 0 and here(newer, 4) == _MD and (member := here(newer, 64)):
        yield Content(kind="RAID", id=_uuid(member[16:32]), label=_label(member[32:64]))
    if older > 0 and here(older, 4) == _MD:
        member = here(older, 64)
        yield Content(kind="RAID", id=_uuid(member[20:24] + member[52:64]))
    if size >= 2 * _SECTOR and here(size - 2 * _SECTOR, 24) == b"Intel Raid ISM Cfg Sig. ":
        yield Content(kind="RAID of the firmware")
    if size >= _SECTOR and here(size - _SECTOR, 4) == bytes.fromhex("de11de11"):
        yield Content(kind="RAID of the firmware")


def _generation(here: Read) -> str:
    """Which of the ext family, by its superblock's features."""
    compatible, incompatible, read_only = (int.from_bytes(here(at, 4), "little") for at in (0x45C, 0x460, 0x464))
    if incompatible & ~0x1F or read_only & ~0x7:
        return "ext4"
    return "ext3" if compatible & 0x4 else "ext2"


def _id(here: Read, signature: Signature) -> str:
    content = here(signature.id_at, signature.form.value)
    match signature.form:
        case Form.UUID:
            return _uuid(content)
        case Form.SERIAL | Form.LONG_SERIAL:
            return content[::-1].hex()
        case Form.TEXT:
            return re.sub(r"[^A-Za-z0-9-].*", "", content.decode("ascii", errors="replace"), flags=re.DOTALL)
        case Form.NONE:
            return ""


def _uuid(content: bytes) -> str:
    return str(uuid.UUID(bytes=content)) if len(content) == 16 else ""


def _label(content: bytes) -> str:
    return _CONTROL.sub("", content.partition(b"\0")[0].decode(errors="replace")).strip()[:MAX_LABEL]
