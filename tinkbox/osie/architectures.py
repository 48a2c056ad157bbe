"""The processors that an OSIE can be built for, by their names in hardware documents."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """`debian` is what Debian calls it, `kernel` the package with its kernel.

    `triplet` names the folder of its libraries, `loader` is where programs look for what loads those, and
    `elf_machine` is its number in them.
    """

    name: str
    debian: str
    kernel: str
    triplet: str
    loader: str
    elf_machine: int

    @property
    def library_folders(self) -> tuple[str, ...]:
        return f"lib/{self.triplet}", f"usr/lib/{self.triplet}"


X86_64: Final = Architecture(
    name="x86_64",
    debian="amd64",
    kernel="linux-image-amd64",
    triplet="x86_64-linux-gnu",
    loader="lib64/ld-linux-x86-64.so.2",
    elf_machine=62,
)
AARCH64: Final = Architecture(
    name="aarch64",
    debian="arm64",
    kernel="linux-image-arm64",
    triplet="aarch64-linux-gnu",
    loader="lib/ld-linux-aarch64.so.1",
    elf_machine=183,
)
ARCHITECTURES: Final[Mapping[str, Architecture]] = {each.name: each for each in (X86_64, AARCH64)}


def architecture(name: str) -> Architecture:
    """Raises Invalid for one that there is no OSIE for."""
    try:
        return ARCHITECTURES[name]
    except KeyError:
        raise Invalid(f"there is no OSIE for {name[:40]!r}, only for {' and '.join(ARCHITECTURES)}") from None


def of_this_machine() -> Architecture:
    """Raises Invalid where no OSIE can be built."""
    return architecture(platform.machine())
