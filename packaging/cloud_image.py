"""Builds the image of a Debian system's disk from Debian's packages, laid out as Debian's own cloud images are.

    python packaging/cloud_image.py trixie --output build/system-images/debian-13.qcow2 --cache build/debs

With an output of the name .tar.zst it is a tar of the same system, which knows of no disk.

Nothing is mounted but what mmdebstrap mounts, and no loop device is used: `mke2fs -d` writes into a file, and what lies around it
is `tinkbox.wire.disk.bootable_disk`.  Identities are made from the release's name, and are the same each time.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import UUID, uuid5

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "packaging"), str(ROOT)]

import cloud_root  # noqa: E402  (the line above makes it importable)
from cloud_root import Failed, run, write  # noqa: E402

from tinkbox.wire.disk.bootable_disk import (  # noqa: E402
    COMMAND_LINE,
    FIND_SYSTEM,
    FSTAB_ESP,
    FSTAB_ROOT,
    MIB,
    Identities,
    Kernel,
    Loaders,
    disk,
    grub_cfg,
    root_size,
)

SIZE = 2048 * MIB
IDENTITIES = UUID("5f6d1d3e-3f0b-4a52-9d0e-3d8f6a1c1a54")
# Not every release's GRUB and e2fsck know what the newest mke2fs turns on by itself.
EXT4_FEATURES = "^orphan_file,^metadata_csum_seed"
CORE_MODULES = ("biosdisk", "part_gpt", "ext2")
# Debian's GRUB on the EFI system partition finds its modules on the file system.
ESP_GRUB_CFG = "set prefix=($root)'/boot/grub'\nconfigfile $prefix/grub.cfg\n"
GRUB_SETTINGS = f"""\
GRUB_TIMEOUT=0
GRUB_CMDLINE_LINUX="{COMMAND_LINE}"
GRUB_TERMINAL="console serial"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suite", choices=sorted(cloud_root.DHCP_CLIENTS), help="Debian's release, by its code name")
    parser.add_argument("--output", type=Path, required=True, help="the image, as qcow2, or the system's .tar.zst")
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages are kept")
    arguments = parser.parse_args()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    # Beside the output: /tmp may be memory.
    with tempfile.TemporaryDirectory(prefix=".cloud-image-", dir=arguments.output.parent) as scratch:
        made = Path(scratch) / arguments.output.name
        try:
            making = build_tar if arguments.output.name.endswith(".tar.zst") else build
            making(arguments.suite, Path(scratch), made, cache=arguments.cache / f"cloud-{arguments.suite}")
        except Failed as failure:
            sys.exit(f"the cloud image of Debian {arguments.suite} cannot be built: {failure}")
        made.replace(arguments.output)
    print(f"{arguments.output}: {arguments.output.stat().st_size / MIB:.0f} MiB")


def build_tar(suite: str, scratch: Path, image: Path, *, cache: Path) -> None:
    """Make a tar of the same system as it is before it knows of any disk.  Raises Failed."""
    root = system(suite, scratch, cache=cache)
    with told("files packed"):
        words = ["--create", "--numeric-owner", "--xattrs", "--xattrs-include=*", "--sort=name", "--zstd"]
        run("tar", *words, "--file", image, "--directory", root, ".")


def system(suite: str, scratch: Path, *, cache: Path) -> Path:
    root = scratch / "root"
    with told("packages installed"):
        cloud_root.install(suite, root, cache=cache)
    cloud_root.make_anonymous(suite, root)
    return root


def build(suite: str, scratch: Path, image: Path, *, cache: Path) -> None:
    """Make the image; `scratch` holds what comes before it.  Raises Failed."""

    def identity(name: str) -> UUID:
        return uuid5(IDENTITIES, f"{suite} {name}")

    esp = identity("partition 15")
    ids = Identities(
        disk=identity("disk"),
        root=identity("partition 1"),
        bios_boot=identity("partition 14"),
        esp=esp,
        esp_serial=esp.fields[0],
    )
    file_system = identity("file system")
    root = system(suite, scratch, cache=cache)
    raw, content = scratch / "disk.raw", scratch / "root.ext4"
    with told("system arranged"):
        arrange_boot(root, ids, file_system=file_system)
        loaders = Loaders(
            boot=(root / "usr/lib/grub/i386-pc/boot.img").read_bytes(),
            core=bios_core(root),
            efi=on_esp(root, file_system=file_system),
        )
    with told("file system filled"):
        fill_system(root, content, file_system=file_system, seed=identity("directories"))
    with told("image compressed"):
        with content.open("rb") as file, raw.open("wb") as whole:
            for piece in disk(iter(partial(file.read, MIB), b""), root_size(SIZE), ids, loaders):
                if isinstance(piece, int):
                    whole.seek(piece, 1)
                else:
                    whole.write(piece)
            whole.truncate()
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c", "-m", "4", "-W", "-o", "compression_type=zstd", raw, image)  # fmt: skip


def arrange_boot(root: Path, ids: Identities, *, file_system: UUID) -> None:
    """What the system itself has to know of its disk, and GRUB of the system."""
    (kernel,) = (root / "boot").glob("vmlinuz-*")
    (ramdisk,) = (root / "boot").glob("initrd.img-*")
    (root / "boot/efi").mkdir()
    write(root / "etc/fstab", FSTAB_ROOT.format(root=ids.root) + FSTAB_ESP.format(esp=ids.esp))
    write(root / "etc/default/grub.d/15_cloud.cfg", GRUB_SETTINGS)
    # From now on the package installs GRUB anew when it comes in a new version.
    write(root / "etc/grub.d/enable_cloud", "")
    one = Kernel("Debian GNU/Linux", f"/boot/{kernel.name}", f"/boot/{ramdisk.name}")
    write(root / "boot/grub/grub.cfg", grub_cfg([one], file_system=file_system, root=ids.root))
    run("cp", "-r", root / "usr/lib/grub/i386-pc", root / "boot/grub/i386-pc")
    run("chroot", root, "grub-editenv", "/boot/grub/grubenv", "create")


def bios_core(root: Path) -> bytes:
    """GRUB's core image, which takes its modules from the file system."""
    run(
        "chroot", root, "grub-mkimage", "-O", "i386-pc", "-p", "(,gpt1)/boot/grub", "-o", "/tmp/core.img", *CORE_MODULES
    )
    made = root / "tmp/core.img"
    core = made.read_bytes()
    made.unlink()
    return core


def on_esp(root: Path, *, file_system: UUID) -> dict[str, bytes]:
    """As `grub-install --uefi-secure-boot --force-extra-removable` lays it there."""
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
    }
    found = {f"EFI/{place}": source.read_bytes() for place, source in placed.items()}
    return {**found, "EFI/debian/grub.cfg": (FIND_SYSTEM + ESP_GRUB_CFG).format(file_system=file_system).encode()}


def fill_system(root: Path, content: Path, *, file_system: UUID, seed: UUID) -> None:
    with content.open("wb") as file:
        file.truncate(root_size(SIZE))
    options = f"hash_seed={seed},root_owner=0:0"
    run("mke2fs", "-q", "-F", "-t", "ext4", "-O", EXT4_FEATURES, "-U", str(file_system), "-E", options, "-d", root, content)  # fmt: skip


@contextmanager
def told(what: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    print(f"{time.monotonic() - started:6.1f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
