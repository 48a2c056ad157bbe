"""The boot loaders that travel inside the program: Debian's builds of iPXE, signed shim and signed GRUB, with their licences.

Disks that are made of root file systems begin with some of them as well.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.wire.disk.bootable_disk import Loaders

FOLDER: Final = resources.files("tinkbox.boot") / "loaders"
# shim asks for GRUB by the name grubx64.efi, which lies where it lay itself.
LOADERS = ("undionly.kpxe", "snponly.efi", "ipxe.efi", "ipxe-arm64.efi", "shimx64.efi", "grubx64.efi")
# Of GRUB for BIOS.  Firmware starts shim by the first path, and shim looks for GRUB beside itself.
BIOS_BOOT, BIOS_CORE = "grub-bios-boot.img", "grub-bios-core.img"
ON_DISK: Final[Mapping[str, str]] = {"EFI/BOOT/BOOTX64.EFI": "shimx64.efi", "EFI/BOOT/grubx64.efi": "grubx64.efi"}


def load_loaders(folder: Traversable = FOLDER, names: Sequence[str] = LOADERS) -> Mapping[str, bytes]:
    """Name to content of every loader that machines are sent.  Raises Unavailable when they were not gathered."""
    try:
        return {name: (folder / name).read_bytes() for name in names}
    except OSError as error:
        raise Unavailable(f"a boot loader is missing ({error.filename}): run `make loaders` in the checkout") from None


def load_disk_loaders() -> Loaders:
    """What a disk of ours starts with.  Raises Unavailable as well."""
    found = load_loaders(FOLDER, [BIOS_BOOT, BIOS_CORE, *ON_DISK.values()])
    efi = {path: found[name] for path, name in ON_DISK.items()}
    return Loaders(boot=found[BIOS_BOOT], core=found[BIOS_CORE], efi=efi)


def loader_path(folder: Traversable, name: str) -> Path | None:
    """A loader as a file that the kernel can send; None where there is none of that name.

    The packed executable has no files but only their content: there it becomes one that lies in no folder, and is gone
    with this process.  Raises OSError where a host has neither memory nor a temporary folder for that.
    """
    file = folder / name
    if not file.is_file():
        return None
    return file if isinstance(file, Path) else _unnamed(name)


@cache
def _unnamed(name: str) -> Path:
    try:
        descriptor = os.memfd_create(name)
    except OSError:  # a host can forbid it
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    with open(descriptor, "wb", closefd=False) as file:
        file.write((FOLDER / name).read_bytes())
    return Path(f"/proc/self/fd/{descriptor}")
