"""A disk that boots Linux from BIOS and UEFI, laid out as Debian's cloud images are: a file system in, the bytes of a disk out.

partition 14  BIOS boot: GRUB's core image
partition 15  EFI system partition
partition 1   the root file system, the last one on the disk, so that it can grow
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from tinkbox.wire.disk import fat32
from tinkbox.wire.disk.partition_table import (
    BIOS_BOOT,
    EFI_SYSTEM,
    LINUX_ROOT_X86_64,
    SECTOR,
    Partition,
    table,
)

MIB: Final = 1 << 20
# Where Debian's images have them.
_BIOS_BOOT_SECTOR: Final = 2048
_ESP_SECTOR: Final = 8192
ROOT_SECTOR: Final = 262144
ESP_LABEL: Final = "UEFI"
# Of GRUB's boot.img and diskboot.img, as grub-bios-setup fills them in.
_KERNEL_SECTOR, _DRIVE_CHECK, _BLOCK_LIST = 0x5C, 0x66, 0x1F4
_BOOT_CODE: Final = 440

COMMAND_LINE: Final = "console=tty0 console=ttyS0,115200 consoleblank=0"
# Lines for a system that says nothing of its disk itself; with the second only where it mounts that partition.
FSTAB_ROOT: Final = "PARTUUID={root} / ext4 rw,discard,errors=remount-ro,x-systemd.growfs 0 1\n"
# No system needs it to run, and a slow machine may not have found it within systemd's 90 s: without nofail it would stop there,
# in emergency mode.
FSTAB_ESP: Final = "PARTUUID={esp} /boot/efi vfat defaults,nofail 0 0\n"
# What leads the GRUB on the EFI system partition to the system.
FIND_SYSTEM: Final = "search.fs_uuid {file_system} root\n"
_HEAD: Final = """\
set default=0
set timeout=0
serial --speed=115200
terminal_input console serial
terminal_output console serial
"""
_ENTRY: Final = """\
menuentry '{title}' --class gnu-linux --class gnu --class os {{
	insmod part_gpt
	insmod ext2
	search --no-floppy --fs-uuid --set=root {file_system}
	linux {kernel} root=PARTUUID={root} ro {command_line}
	initrd {ramdisk}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """What makes a disk this one."""

    disk: UUID
    root: UUID
    bios_boot: UUID
    esp: UUID
    esp_serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaders:
    """What firmware starts: GRUB's boot.img and core image for BIOS, and files of the EFI system partition by their paths."""

    boot: bytes
    core: bytes
    efi: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel and its ramdisk by their paths in the root file system, which have no character that GRUB reads otherwise."""

    title: str
    kernel: str
    ramdisk: str


def grub_cfg(kernels: Sequence[Kernel], *, file_system: UUID, root: UUID) -> str:
    """GRUB's configuration, the first kernel by itself; as short as update-grub's is long, which may replace it."""
    entries = (
        _ENTRY.format(
            title=each.title,
            kernel=each.kernel,
            ramdisk=each.ramdisk,
            file_system=file_system,
            root=root,
            command_line=COMMAND_LINE,
        )
        for each in kernels
    )
    return _HEAD + "".join(entries)


def disk_size(root: int) -> int:
    """Bytes of a disk for a root file system of so many bytes, which are whole MiB."""
    return ROOT_SECTOR * SECTOR + root + MIB


def root_size(disk: int) -> int:
    """Bytes that a disk of so many bytes has for its root file system."""
    return disk // MIB * MIB - ROOT_SECTOR * SECTOR - MIB


def disk(
    file_system: Iterator[bytes | int], size: int, identities: Identities, loaders: Loaders
) -> Iterator[bytes | int]:
    """The bytes of a disk with this file system of `size` bytes; a number stands for so many zeros."""
    sectors = disk_size(size) // SECTOR
    begin, end = table(_partitions(size, identities), disk=identities.disk, sectors=sectors)
    core = _core(loaders.core)
    if len(core) > (_ESP_SECTOR - _BIOS_BOOT_SECTOR) * SECTOR:
        raise ValueError(f"GRUB's core image has {len(core)} bytes: more than its partition")
    yield _boot_code(loaders.boot) + begin[_BOOT_CODE:]
    yield _BIOS_BOOT_SECTOR * SECTOR - len(begin)
    yield core
    yield (_ESP_SECTOR - _BIOS_BOOT_SECTOR) * SECTOR - len(core)
    serial = identities.esp_serial
    yield from fat32.file_system(ROOT_SECTOR - _ESP_SECTOR, loaders.efi, serial=serial, label=ESP_LABEL)
    yield from file_system
    yield (sectors - ROOT_SECTOR) * SECTOR - size - len(end)
    yield end


def _partitions(size: int, identities: Identities) -> Sequence[Partition]:
    places = (
        (1, LINUX_ROOT_X86_64, identities.root, ROOT_SECTOR, size // SECTOR),
        (14, BIOS_BOOT, identities.bios_boot, _BIOS_BOOT_SECTOR, _ESP_SECTOR - _BIOS_BOOT_SECTOR),
        (15, EFI_SYSTEM, identities.esp, _ESP_SECTOR, ROOT_SECTOR - _ESP_SECTOR),
    )
    return [
        Partition(number=number, kind=kind, identity=identity, first=first, sectors=length)
        for number, kind, identity, first, length in places
    ]


def _boot_code(image: bytes) -> bytes:
    """GRUB's first 440 bytes: they load the sector at which the core image begins."""
    code = bytearray(image[:_BOOT_CODE].ljust(_BOOT_CODE, b"\0"))
    struct.pack_into("<Q", code, _KERNEL_SECTOR, _BIOS_BOOT_SECTOR)
    code[_DRIVE_CHECK : _DRIVE_CHECK + 2] = b"\x90\x90"  # believe firmware that says it booted from no hard disk
    return bytes(code)


def _core(image: bytes) -> bytes:
    """GRUB's core image: its first sector says where the others are."""
    core = bytearray(image)
    core += bytes(-len(core) % SECTOR)
    struct.pack_into("<QH", core, _BLOCK_LIST, _BIOS_BOOT_SECTOR + 1, len(core) // SECTOR - 1)
    return bytes(core)
