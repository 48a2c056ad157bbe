"""What becomes the worker in an OSIE: the program of one file, or for another processor a file tree of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Invalid, NotFound
from tinkbox.osie.architectures import Architecture
from tinkbox.osie.elf import is_elf, machine
from tinkbox.osie.tree import Tree

PLACE: Final = "usr/bin/tinkbox"


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

    def lay(self, tree: Tree) -> None:
        """Put it into the OSIE."""
        if self._path.is_file():
            tree.file(PLACE, self._path, 0o755)
            return
        for path in _files(self._path):
            tree.file(str(path.relative_to(self._path)), path, path.stat().st_mode & 0o755)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
