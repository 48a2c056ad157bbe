"""The second ramdisk: firmware of network cards and storage controllers, just what the OSIE's modules ask for.

It stands apart, as few machines need it: most of it is of Debian's non-free-firmware, whose licence texts travel with it.
"""

import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from tinkbox.model.errors import Refusal, Unavailable
from tinkbox.osie.debian import Package, unpack
from tinkbox.osie.elf import section
from tinkbox.osie.modules import closure
from tinkbox.osie.tree import Tree

COMPONENT: Final = "non-free-firmware"
# By what they have been called from Debian 12 on; a release that has one not is asked for the others.
NON_FREE: Final = (
    "firmware-bnx2", "firmware-bnx2x", "firmware-cavium", "firmware-intel-misc", "firmware-misc-nonfree",
    "firmware-myricom", "firmware-netronome", "firmware-netxen", "firmware-qlogic", "firmware-realtek",
)  # fmt: skip
FREE: Final = ("firmware-linux-free",)
PLACE: Final = "usr/lib/firmware"
LICENCES: Final = "usr/share/doc/firmware/copyright"
# Machines are only given these: the kernel reads it either way, and the module's name is that of the file.
_SUFFIXES: Final = ("", ".xz", ".zst")
_ENDS: Final = (".ko", ".ko.xz")


@dataclass(slots=True)
class Chosen:
    """What goes into it: files by their place below /lib/firmware, links by theirs to where they lead.

    `modules` tells which of the files a module asks for, `absent` which no package has.
    """

    files: dict[str, Path] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    modules: dict[str, tuple[str, ...]] = field(default_factory=dict)
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Packages, and the folder that they were unpacked in."""

    root: Path
    packages: tuple[Package, ...]


def fetch(scratch: Path, cache: Path, architecture: str) -> tuple[Unpacked, ...]:
    """Get all packages with firmware of cards; the arguments are as in `debian.unpack`.  Raises Unavailable."""
    free, non_free = scratch / "free", scratch / "non-free"
    try:
        return (
            Unpacked(non_free, unpack(NON_FREE, non_free, cache=cache, architecture=architecture, component=COMPONENT)),
            Unpacked(free, unpack(FREE, free, cache=cache, architecture=architecture)),
        )
    except Refusal as error:
        raise Unavailable(f"{error}; `--without-firmware` builds the OSIE without the firmware of cards") from None


def wanted(modules: Path) -> dict[str, tuple[str, ...]]:
    """The firmware files that each kernel module below this folder asks for, by the module's name; those alone that do."""
    found = {}
    for path in sorted(modules.rglob("*.ko*")):
        if path.name.endswith(_ENDS) and (names := asked_for(path)):
            found[_name(path.name)] = names
    return found


def inherited(
    asked: Mapping[str, tuple[str, ...]], dependencies: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """The same with what the modules that a module needs ask for: `qede` drives a card for which `qed` asks.

    `dependencies` are as `modules.read_dependencies` gives them.
    """
    found = {}
    for module in dependencies:
        needed = {_name(PurePosixPath(each).name) for each in closure([module], dependencies)}
        if names := {name for each in needed for name in asked.get(each, ())}:
            found[_name(PurePosixPath(module).name)] = tuple(sorted(names))
    return found


def asked_for(module: Path) -> tuple[str, ...]:
    """The firmware files that a kernel module names.  Raises Unavailable when it is damaged."""
    content = module.read_bytes()
    try:
        if module.suffix == ".xz":
            content = lzma.decompress(content)
        entries = section(content, ".modinfo").split(b"\0")
    except (ValueError, lzma.LZMAError) as error:
        raise Unavailable(
            f"the module {module.name} cannot be read ({error}): remove the cache and try again"
        ) from None
    names = (each.removeprefix(b"firmware=").decode(errors="replace") for each in entries if each[:9] == b"firmware=")
    return tuple(sorted({name for name in names if _is_inside(name)}))


def index(asked: Mapping[str, tuple[str, ...]]) -> bytes:
    """The OSIE's `modules.firmware`: a line for each module whose cards may need firmware, with the names of the files."""
    return "".join(f"{' '.join([module, *names])}\n" for module, names in sorted(asked.items())).encode()


def choose(asked: Mapping[str, Iterable[str]], sources: Iterable[Unpacked]) -> Chosen:
    """Of the firmware in these packages what the modules ask for."""
    chosen, absent = Chosen(), set()
    folders = [(each.root / PLACE).resolve() for each in sources]
    for module, names in sorted(asked.items()):
        found = tuple(name for name in names if any(_take(chosen, folder, name) for folder in folders))
        absent |= set(names) - set(found)
        if found:
            chosen.modules[module] = found
    chosen.absent = tuple(sorted(absent))
    return chosen


def compose(chosen: Chosen, sources: Iterable[Unpacked]) -> tuple[Tree, bytes]:
    """The ramdisk's files, and the licence texts of the packages, which are among them."""
    tree = Tree()
    for name, path in sorted(chosen.files.items()):
        tree.file(f"{PLACE}/{name}", path)
    for name, target in sorted(chosen.links.items()):
        tree.link(f"{PLACE}/{name}", target)
    licences: dict[bytes, list[str]] = {}
    for source in sources:
        for package in source.packages:
            path = source.root / "usr/share/doc" / package.name / "copyright"
            if path.is_file():
                licences.setdefault(path.read_bytes(), []).append(f"{package.name} {package.version}")
    texts = [f"{', '.join(names)}\n\n".encode() + text for text, names in licences.items()]
    together = b"\n".join(texts)
    tree.file(LICENCES, together)
    return tree, together


def _take(chosen: Chosen, folder: Path, name: str) -> bool:
    """Take one, and what it leads to; false when it is not there."""
    for suffix in _SUFFIXES:
        at = f"{name}{suffix}"
        path = (folder / at).resolve()
        if not path.is_file() or not path.is_relative_to(folder):
            continue
        real = str(path.relative_to(folder))
        chosen.files[real] = path
        if real != at:
            up = [".."] * (len(PurePosixPath(at).parts) - 1)
            chosen.links[at] = "/".join([*up, real])
        return True
    return False


def _name(file: str) -> str:
    """What the kernel calls the module in a file."""
    return file.partition(".ko")[0].replace("-", "_")


def _is_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and name.isprintable() and " " not in name
