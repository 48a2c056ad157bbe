"""Builds the disk image that the demo installs: a tiny system from Debian packages, for BIOS and for UEFI.

    python -m examples.demo.disk --output build/demo/disk.img.zst --cache build/debs

Partition 1 (FAT) holds kernel, initial ramdisk and the boot loaders: SYSLINUX for BIOS, GRUB for UEFI.
Partition 2 (ext4) holds the system: busybox.  Nothing is mounted and no loop device is used: mtools and
`mke2fs -d` write into files, and the files are laid one after the other.
"""

import argparse
import gzip
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tinkbox.osie.debian import unpack

SECTOR = 512
MIB = 1 << 20
BOOT_SIZE = 24 * MIB
SYSTEM_SIZE = 16 * MIB
MBR_CODE = Path("/usr/lib/syslinux/mbr/mbr.bin")
FILES = Path(__file__).parent / "files"
COMMAND_LINE = "console=tty0 console=ttyS0,115200 quiet panic=10"
PACKAGES = ("linux-image-cloud-amd64", "grub-common", "grub-efi-amd64-bin", "busybox-static")
# What the kernel and GRUB would bring to maintain a Debian system; nothing here runs them.
LEFT_OUT = ("initramfs-tools", "linux-base", "kmod", "grub2-common", "gettext-base")
# In the order in which they have to be loaded; ext4 is part of the kernel.
MODULES = (
    *("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci"),
    *("virtio_blk", "failover", "net_failover", "virtio_net"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="the image, compressed by zstd")
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages are kept")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tinkbox-disk-") as scratch:
        disk = build(Path(scratch), arguments.cache)
        run(["zstd", "-q", "-f", "-10", str(disk), "-o", str(arguments.output)])
        sizes = [path.stat().st_size / MIB for path in (disk, arguments.output)]
    print(f"{arguments.output}: a disk of {sizes[0]:.0f} MiB in {sizes[1]:.1f} MiB")


def build(scratch: Path, cache: Path) -> Path:
    """Make the raw disk in `scratch`; returns its path."""
    packages = scratch / "packages"
    unpack(PACKAGES, packages, cache=cache, exclude=LEFT_OUT)
    boot = boot_partition(scratch, packages)
    system = system_partition(scratch, packages)
    disk = scratch / "disk.img"
    with disk.open("wb") as image:
        image.write(partition_table([(0xEF, BOOT_SIZE), (0x83, SYSTEM_SIZE)], MBR_CODE.read_bytes()))
        for partition in (boot, system):
            image.seek(-image.tell() % MIB, os.SEEK_CUR)
            with partition.open("rb") as content:
                shutil.copyfileobj(content, image)
    return disk


def partition_table(partitions: Sequence[tuple[int, int]], code: bytes) -> bytes:
    """An MBR: boot code, and partitions (type, bytes) one after the other from 1 MiB on, the first one active."""
    entries = b""
    start = MIB
    for number, (kind, size) in enumerate(partitions):
        # Cylinder, head and sector say "too far to tell"; everybody reads the sector numbers behind them.
        active, beyond = 0x80 if number == 0 else 0, b"\xfe\xff\xff"
        entries += struct.pack("<B3sB3sII", active, beyond, kind, beyond, start // SECTOR, size // SECTOR)
        start += size
    return code[:440].ljust(440, b"\0") + b"tbox\0\0" + entries.ljust(64, b"\0") + b"\x55\xaa"


def boot_partition(scratch: Path, packages: Path) -> Path:
    """A FAT file system that SYSLINUX boots on BIOS, and UEFI as it would a removable disk."""
    (kernel,) = packages.glob("boot/vmlinuz-*")
    configuration = scratch / "syslinux.cfg"
    configuration.write_text(f"DEFAULT demo\nLABEL demo\nLINUX /vmlinuz\nINITRD /initrd\nAPPEND {COMMAND_LINE}\n")
    image = sized_file(scratch / "boot.fat", BOOT_SIZE)
    # SYSLINUX reads the disk where the boot sector says its partition begins: -H, the sectors before it.
    run(
        [
            "mformat",
            "-i",
            image,
            "-v",
            "BOOT",
            "-T",
            BOOT_SIZE // SECTOR,
            "-h",
            255,
            "-s",
            63,
            "-H",
            MIB // SECTOR,
            "::",
        ]
    )
    run(["mmd", "-i", image, "::/EFI", "::/EFI/BOOT"])
    run(["mcopy", "-i", image, kernel, "::/vmlinuz"])
    run(["mcopy", "-i", image, initial_ramdisk(scratch, packages), "::/initrd"])
    run(["mcopy", "-i", image, configuration, "::/syslinux.cfg"])
    run(["mcopy", "-i", image, efi_loader(scratch, packages), "::/EFI/BOOT/BOOTX64.EFI"])
    run(["syslinux", "--install", image])
    return image


def efi_loader(scratch: Path, packages: Path) -> Path:
    """GRUB as one EFI program that knows by itself what to start."""
    configuration = scratch / "grub.cfg"
    configuration.write_text(
        f"search --no-floppy --file --set=root /vmlinuz\nlinux /vmlinuz {COMMAND_LINE}\ninitrd /initrd\nboot\n"
    )
    program = scratch / "BOOTX64.EFI"
    modules = ("fat", "part_msdos", "search", "search_fs_file", "linux", "boot")
    places = ("-d", packages / "usr/lib/grub/x86_64-efi", "-p", "/EFI/BOOT", "-c", configuration, "-o", program)
    # GRUB's own libraries came along with it; the host needs none of them.
    libraries = ":".join(str(packages / folder / "x86_64-linux-gnu") for folder in ("lib", "usr/lib"))
    run(
        [packages / "usr/bin/grub-mkimage", "-O", "x86_64-efi", *places, *modules],
        environment={"LD_LIBRARY_PATH": libraries},
    )
    return program


def initial_ramdisk(scratch: Path, packages: Path) -> Path:
    """Busybox, the modules of a virtual disk and network card, and an init that finds the system by its label."""
    root = scratch / "initrd"
    busybox(root, packages, ("sh", "mkdir", "mount", "umount", "insmod", "findfs", "sleep", "switch_root"))
    (root / "modules").mkdir()
    for number, name in enumerate(MODULES):
        for module in packages.glob(f"lib/modules/*/kernel/**/{name}.ko*"):
            shutil.copyfile(module, root / "modules" / f"{number}-{module.name}")
    place(FILES / "initrd-init", root / "init", 0o755)
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    archive = subprocess.run(
        ["cpio", "--create", "--format=newc", "--quiet", "--owner=0:0", "--reproducible"],
        cwd=root,
        input="\n".join(names).encode(),
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    ramdisk = scratch / "initrd.gz"
    ramdisk.write_bytes(gzip.compress(archive, mtime=0))
    return ramdisk


def system_partition(scratch: Path, packages: Path) -> Path:
    """The installed system: busybox as init, and one line on the console."""
    root = scratch / "system"
    commands = ("sh", "ls", "cat", "echo", "tr", "mount", "umount", "reboot", "poweroff", "uname", "ps", "ip", "udhcpc")
    busybox(root, packages, commands)
    for folder in ("dev", "proc", "sys", "root", "tmp"):
        (root / folder).mkdir()
    (root / "sbin").mkdir()
    (root / "sbin" / "init").symlink_to("/bin/busybox")
    place(FILES / "rc", root / "etc" / "rc", 0o755)
    place(FILES / "lease", root / "etc" / "lease", 0o755)
    place(FILES / "inittab", root / "etc" / "inittab", 0o644)
    image = sized_file(scratch / "system.ext4", SYSTEM_SIZE)
    run(["mke2fs", "-q", "-t", "ext4", "-L", "tinkbox-demo", "-E", "root_owner=0:0", "-d", root, image])
    return image


def busybox(root: Path, packages: Path, commands: Sequence[str]) -> None:
    """Busybox in /bin, reachable by the names of the commands."""
    place(packages / "bin" / "busybox", root / "bin" / "busybox", 0o755)
    for command in commands:
        (root / "bin" / command).symlink_to("busybox")


def place(source: Path, target: Path, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def sized_file(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.truncate(size)
    return path


def run(command: Sequence[str | int | Path], environment: dict[str, str] | None = None) -> None:
    # The tools for file systems live where an ordinary user's PATH does not look.
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    subprocess.run([str(part) for part in command], check=True, env={**os.environ, "PATH": path, **(environment or {})})


if __name__ == "__main__":
    main()
