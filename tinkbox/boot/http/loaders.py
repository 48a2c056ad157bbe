"""The boot loaders that travel inside the program: Debian's builds of iPXE, signed shim and signed GRUB, with their licences."""

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable

FOLDER: Final = resources.files("tinkbox.boot") / "loaders"
# shim asks for GRUB by the name grubx64.efi, which lies where it lay itself.
LOADERS = ("undionly.kpxe", "snponly.efi", "ipxe.efi", "ipxe-arm64.efi", "shimx64.efi", "grubx64.efi")


def load_loaders(folder: Traversable = FOLDER) -> Mapping[str, bytes]:
    """Name to content of every loader.  Raises Unavailable when they were not gathered."""
    try:
        return {name: (folder / name).read_bytes() for name in LOADERS}
    except OSError as error:
        raise Unavailable(f"a boot loader is missing ({error.filename}): run `make loaders` in the checkout") from None


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
