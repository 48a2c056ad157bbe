"""Builds the image of a Debian system's disk from Debian's packages, laid out as Debian's own cloud images are.

    python packaging/cloud_image.py trixie --output build/system-images/debian-13.qcow2 --cache build/debs

    partition 14  BIOS boot: GRUB's core image
    partition 15  EFI system partition: shim and GRUB, signed by Debian
    partition 1   ext4, the last one on the disk, so that it can grow

Nothing is mounted but what mmdebstrap mounts, and no loop device is used: `mke2fs -d` and mtools write into files, and
the files are laid one after the other.  Identities are made from the release's name, and are the same each time.
"""

import argparse
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid5

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cloud_partitions
import cloud_root
from cloud_root import Failed, run, write

MIB = 1 << 20
SECTOR = cloud_partitions.SECTOR
SIZE = 2048 * MIB
# Where Debian's images have them; partition 1 takes what is left.
BIOS_BOOT_SECTORS = (2048, 8191)
ESP_SECTORS = (8192, 262143)
ROOT_SECTOR = 262144
IDENTITIES = UUID("5f6d1d3e-3f0b-4a52-9d0e-3d8f6a1c1a54")
COMMAND_LINE = "console=tty0 console=ttyS0,115200 consoleblank=0"
# Not every release's GRUB and e2fsck know what the newest mke2fs turns on by itself.
EXT4_FEATURES = "^orphan_file,^metadata_csum_seed"
CORE_MODULES = ("biosdisk", "part_gpt", "ext2")
# Of GRUB's boot.img and diskboot.img, as grub-bios-setup fills them in.
KERNEL_SECTOR, DRIVE_CHECK, BLOCK_LIST = 0x5C, 0x66, 0x1F4
BOOT_CODE_SIZE = 440

FSTAB = """\
PARTUUID={root} / ext4 rw,discard,errors=remount-ro,x-systemd.growfs 0 1
PARTUUID={esp} /boot/efi vfat defaults 0 0
"""
# What GRUB reads on the EFI system partition, and what leads it to the system.
ESP_GRUB_CFG = """\
search.fs_uuid {file_system} root
set prefix=($root)'/boot/grub'
configfile $prefix/grub.cfg
"""
# As short as update-grub's is long, which replaces it when a kernel is installed.
GRUB_CFG = """\
set default=0
set timeout=0
serial --speed=115200
terminal_input console serial
terminal_output console serial
menuentry 'Debian GNU/Linux' --class debian --class gnu-linux --class gnu --class os {{
	insmod part_gpt
	insmod ext2
	search --no-floppy --fs-uuid --set=root {file_system}
	linux /boot/{kernel} root=PARTUUID={root} ro {command_line}
	initrd /boot/{ramdisk}
}}
"""
GRUB_SETTINGS = f"""\
GRUB_TIMEOUT=0
GRUB_CMDLINE_LINUX="{COMMAND_LINE}"
GRUB_TERMINAL="console serial"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suite", choices=sorted(cloud_root.DHCP_CLIENTS), help="Debian's release, by its code name")
    parser.add_argument("--output", type=Path, required=True, help="the image, as qcow2")
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages are kept")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    # Beside the output: /tmp may be memory.
    with tempfile.TemporaryDirectory(prefix=".cloud-image-", dir=arguments.output.parent) as scratch:
        made = Path(scratch) / "disk.qcow2"
        try:
            build(arguments.suite, Path(scratch), made, cache=arguments.cache / f"cloud-{arguments.suite}")
        except Failed as failure:
            sys.exit(f"the cloud image of Debian {arguments.suite} cannot be built: {failure}")
        made.replace(arguments.output)
    print(f"{arguments.output}: a disk of {SIZE // MIB} MiB in {arguments.output.stat().st_size / MIB:.0f} MiB")


def build(suite: str, scratch: Path, image: Path, *, cache: Path) -> None:
    """Make the image; `scratch` holds what comes before it.  Raises Failed."""

    def identity(name: str) -> UUID:
        return uuid5(IDENTITIES, f"{suite} {name}")

    root, disk = scratch / "root", scratch / "disk.raw"
    sectors = SIZE // SECTOR
    parts = [
        cloud_partitions.Partition(
            number=number, kind=kind, identity=identity(f"partition {number}"), first=first, sectors=last - first + 1
        )
        for number, kind, (first, last) in (
            (
                1,
                cloud_partitions.LINUX_ROOT_X86_64,
                (ROOT_SECTOR, (sectors - cloud_partitions.TAIL_SECTORS) // 2048 * 2048 - 1),
            ),
            (14, cloud_partitions.BIOS_BOOT, BIOS_BOOT_SECTORS),
            (15, cloud_partitions.EFI_SYSTEM, ESP_SECTORS),
        )
    ]
    system, bios_boot, esp = parts
    file_system = identity("file system")
    with told("packages installed"):
        cloud_root.install(suite, root, cache=cache)
    with told("system arranged"):
        cloud_root.make_anonymous(suite, root)
        arrange_boot(root, system=system, esp=esp, file_system=file_system)
        begin, end = cloud_partitions.table(parts, disk=identity("disk"), sectors=sectors)
        core = bios_core(root, first=bios_boot.first)
        with disk.open("wb") as file:
            file.truncate(SIZE)
            file.write(boot_code(root, core_at=bios_boot.first).ljust(BOOT_CODE_SIZE, b"\0") + begin[BOOT_CODE_SIZE:])
            file.seek(bios_boot.first * SECTOR)
            file.write(core)
            file.seek(-len(end), 2)
            file.write(end)
        fill_esp(root, disk, esp, file_system=file_system, scratch=scratch)
    with told("file system filled"):
        fill_system(root, disk, system, file_system=file_system, seed=identity("directories"))
    with told("image compressed"):
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", "-m", "4", "-W", "-o", "compression_type=zstd", disk, image)  # fmt: skip


def arrange_boot(
    root: Path, *, system: cloud_partitions.Partition, esp: cloud_partitions.Partition, file_system: UUID
) -> None:
    """What the system itself has to know of its disk, and GRUB of the system."""
    (kernel,) = (root / "boot").glob("vmlinuz-*")
    (ramdisk,) = (root / "boot").glob("initrd.img-*")
    (root / "boot/efi").mkdir()
    write(root / "etc/fstab", FSTAB.format(root=system.identity, esp=esp.identity))
    write(root / "etc/default/grub.d/15_cloud.cfg", GRUB_SETTINGS)
    # From now on the package installs GRUB anew when it comes in a new version.
    write(root / "etc/grub.d/enable_cloud", "")
    words = {"kernel": kernel.name, "ramdisk": ramdisk.name, "command_line": COMMAND_LINE}
    write(root / "boot/grub/grub.cfg", GRUB_CFG.format(file_system=file_system, root=system.identity, **words))
    run("cp", "-r", root / "usr/lib/grub/i386-pc", root / "boot/grub/i386-pc")
    run("chroot", root, "grub-editenv", "/boot/grub/grubenv", "create")


def bios_core(root: Path, *, first: int) -> bytes:
    """GRUB's core image for the BIOS boot partition: its first sector says where the others are."""
    run(
        "chroot", root, "grub-mkimage", "-O", "i386-pc", "-p", "(,gpt1)/boot/grub", "-o", "/tmp/core.img", *CORE_MODULES
    )
    made = root / "tmp/core.img"
    core = bytearray(made.read_bytes())
    made.unlink()
    core += bytes(-len(core) % SECTOR)
    struct.pack_into("<QH", core, BLOCK_LIST, first + 1, len(core) // SECTOR - 1)
    return bytes(core)


def boot_code(root: Path, *, core_at: int) -> bytes:
    """GRUB's first 440 bytes: they load the sector at which the core image begins."""
    code = bytearray((root / "usr/lib/grub/i386-pc/boot.img").read_bytes()[:BOOT_CODE_SIZE])
    struct.pack_into("<Q", code, KERNEL_SECTOR, core_at)
    code[DRIVE_CHECK : DRIVE_CHECK + 2] = b"\x90\x90"  # believe firmware that says it booted from no hard disk
    return bytes(code)


def fill_esp(root: Path, disk: Path, esp: cloud_partitions.Partition, *, file_system: UUID, scratch: Path) -> None:
    """As `grub-install --uefi-secure-boot --force-extra-removable` does."""
    part = scratch / "esp.fat"
    with part.open("wb") as file:
        file.truncate(esp.sectors * SECTOR)
    run("mkfs.fat", "-F", "32", "-n", "UEFI", "-i", f"{esp.identity.fields[0]:08x}", part)
    run("mmd", "-i", part, "::/EFI", "::/EFI/BOOT", "::/EFI/debian")
    grub_cfg = scratch / "grub.cfg"
    write(grub_cfg, ESP_GRUB_CFG.format(file_system=file_system))
    shim, grub = root / "usr/lib/shim", root / "usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed"
    placed = {
        "BOOT/BOOTX64.EFI": shim / "shimx64.efi.signed",
        "BOOT/grubx64.efi": grub,
        "BOOT/mmx64.efi": shim / "mmx64.efi.signed",
        "debian/shimx64.efi": shim / "shimx64.efi.signed",
        "debian/grubx64.efi": grub,
        "debian/mmx64.efi": shim / "mmx64.efi.signed",
        "debian/fbx64.efi": shim / "fbx64.efi.signed",
        "debian/BOOTX64.CSV": shim / "BOOTX64.CSV",
        "debian/grub.cfg": grub_cfg,
    }
    for place, source in placed.items():
        run("mcopy", "-i", part, source, f"::/EFI/{place}")
    run("dd", f"if={part}", f"of={disk}", "bs=1M", f"seek={esp.first * SECTOR // MIB}", "conv=notrunc,sparse")


def fill_system(root: Path, disk: Path, system: cloud_partitions.Partition, *, file_system: UUID, seed: UUID) -> None:
    place = f"offset={system.first * SECTOR},hash_seed={seed},root_owner=0:0"
    kilobytes = f"{system.sectors * SECTOR // 1024}k"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-O", EXT4_FEATURES, "-U", str(file_system), "-E", place, "-d", root, disk, kilobytes)  # fmt: skip


@contextmanager
def told(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"{time.monotonic() - started:6.1f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
