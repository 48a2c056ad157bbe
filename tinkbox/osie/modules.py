"""Which kernel modules the OSIE carries: those files/modules.txt names, with what they depend on."""

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tinkbox.model.errors import Unavailable
from tinkbox.osie.programs import run

# Busybox writes their lines in the order in which the file system tells the modules' files.
_INDEXES: Final = ("modules.dep", "modules.alias", "modules.symbols")


def read_dependencies(text: str) -> dict[str, tuple[str, ...]]:
    """The content of modules.dep: module to the modules it needs, as paths `kernel/…`."""
    lines = (line.partition(":") for line in text.splitlines() if line.strip())
    return {module: tuple(needed.split()) for module, _, needed in lines}


def read_patterns(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to take and what to take out again, from the text of modules.txt."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    taken = tuple(line for line in lines if not line.startswith("-"))
    return taken, tuple(line[1:] for line in lines if line.startswith("-"))


def choose(
    dependencies: Mapping[str, tuple[str, ...]], patterns: str, built_in: Collection[str] = ()
) -> tuple[set[str], list[str]]:
    """The modules to keep, with all they depend on; and the patterns that matched nothing, nor what is `built_in`."""
    taken, left_out = read_patterns(patterns)
    matches = {pattern: {module for module in dependencies if _matches(module, pattern)} for pattern in taken}
    wanted = {
        module
        for modules in matches.values()
        for module in modules
        if not any(_matches(module, pattern) for pattern in left_out)
    }
    unmatched = [
        pattern
        for pattern, modules in matches.items()
        if not modules and not any(_matches(each, pattern) for each in built_in)
    ]
    return closure(wanted, dependencies), unmatched


def prune(root: Path, kernel: str, patterns: str, busybox: Path) -> list[str]:
    """Delete the modules below root/lib/modules that are not wanted, and write their index anew.

    Returns the patterns that matched nothing.
    """
    folder = root / "lib" / "modules" / kernel
    _depmod(root, kernel, busybox)
    own = folder / "modules.builtin"
    built_in = own.read_text().split() if own.exists() else []
    kept, unmatched = choose(read_dependencies((folder / "modules.dep").read_text()), patterns, built_in)
    for path in sorted(folder.rglob("*.ko*")):
        if str(path.relative_to(folder)) not in kept:
            path.unlink()
    _depmod(root, kernel, busybox)
    return unmatched


def closure(wanted: Iterable[str], dependencies: Mapping[str, tuple[str, ...]]) -> set[str]:
    """These modules and all that they depend on."""
    kept: set[str] = set()
    waiting = list(wanted)
    while waiting:
        module = waiting.pop()
        if module not in kept:
            kept.add(module)
            waiting += dependencies.get(module, ())
    return kept


def _matches(module: str, pattern: str) -> bool:
    path = module.removeprefix("kernel/")
    return fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}.xz")


def _depmod(root: Path, kernel: str, busybox: Path) -> None:
    answer = run([str(busybox), "depmod", "-b", str(root), kernel])
    if answer.returncode:
        raise Unavailable(f"the modules of kernel {kernel} could not be indexed: {answer.stderr.strip()[-200:]}")
    for name in _INDEXES:
        path = root / "lib" / "modules" / kernel / name
        if path.exists():
            path.write_text("".join(sorted(path.read_text().splitlines(keepends=True))))
