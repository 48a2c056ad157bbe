"""The boot loaders that travel inside the program: Debian's builds of iPXE, signed shim and signed GRUB, with their licences."""

from collections.abc import Mapping
from pathlib import Path

from tinkbox.model.errors import Unavailable

FOLDER = Path(__file__).parents[1] / "loaders"
# shim asks for GRUB by the name grubx64.efi, which lies where it lay itself.
LOADERS = ("undionly.kpxe", "snponly.efi", "ipxe.efi", "ipxe-arm64.efi", "shimx64.efi", "grubx64.efi")


def load_loaders(folder: Path = FOLDER) -> Mapping[str, bytes]:
    """Name to content of every loader.  Raises Unavailable when they were not gathered."""
    try:
        return {name: (folder / name).read_bytes() for name in LOADERS}
    except OSError as error:
        raise Unavailable(f"a boot loader is missing ({error.filename}): run `make loaders` in the checkout") from None
