"""What becomes the worker in an OSIE: the program of one file, or for another processor a file tree of its own."""

import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid, NotFound
from tinkbox.osie.architectures import Architecture
from tinkbox.osie.elf import is_elf, machine
from tinkbox.osie.sbom import Bill, beside, read_bill
from tinkbox.osie.tree import Tree

PLACE: Final = "usr/bin/tinkbox"
# What the executable of one file carries of itself (packaging/onefile/materials.py).
CARRIED_BILL: Final = resources.files("tinkbox.osie") / "tinkbox.cdx.json"


class Executable:
    """A file that is tinkbox itself, or a folder with usr/bin/tinkbox and all that needs (`make worker-aarch64`).

    Raises NotFound when there is neither, Invalid when it is made for another processor.
    """

    def __init__(self, path: Path, architecture: Architecture) -> None:
        if not path.is_file() and not (path / PLACE).is_file():
            raise NotFound(
                f"no executable at {path}: make it with `make binary`, for aarch64 with `make worker-aarch64`"
            )
        self._path = path
        programs = [path] if path.is_file() else list(_files(path))
        self.programs = tuple(file for file in programs if is_elf(file))
        for program in self.programs:
            if (found := machine(program.read_bytes())) != architecture.elf_machine:
                raise Invalid(
                    f"{program.name} is for another processor than {architecture.name} (ELF machine {found}): "
                    f"name with --executable what `make worker-{architecture.name}` makes"
                )

    @property
    def linked(self) -> tuple[Path, ...]:
        """The programs and libraries of which the OSIE must have what they are linked with.

        A program of one file brings all but the C library, and asks for more while it runs.
        """
        return () if self._path.is_file() else self.programs

    def bill(self) -> Bill:
        """Its bill of materials: the one that lies beside it, or else the one that this program carries, if it is this program.

        Empty where there is neither.  Raises Invalid for one that is none.
        """
        path = beside(self._path)
        if path.is_file():
            return read_bill(path.read_text(errors="replace"), str(path), self._path)
        if CARRIED_BILL.is_file() and self._path.exists() and self._path.samefile(sys.executable):
            return read_bill(CARRIED_BILL.read_text(), f"{CARRIED_BILL.name} in {self._path}", self._path)
        return Bill(components=(), timestamp="")

    def lay(self, tree: Tree) -> None:
        """Put it into the OSIE."""
        if self._path.is_file():
            tree.file(PLACE, self._path, 0o755)
            return
        for path in _files(self._path):
            tree.file(str(path.relative_to(self._path)), path, 0o755 if path.stat().st_mode & 0o100 else 0o644)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
