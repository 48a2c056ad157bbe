"""The shared libraries that come along with programs."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tinkbox.model.errors import Unavailable
from tinkbox.osie.elf import needed


def closure(
    programs: Iterable[Path], folders: Sequence[Path], always: Iterable[str], own: Mapping[str, Path]
) -> dict[str, Path]:
    """Every library that the programs need, with what those need, by name.

    They are looked for in `folders`, in their order; `always` are wanted as well, and what is `own` is there already.
    Raises Unavailable, naming whose they are, when some are missing.
    """
    found: dict[str, Path] = {}
    lost: list[str] = []
    waiting = [(program.name, name) for program in programs for name in _needed(program)]
    waiting += [("", name) for name in always]
    while waiting:
        whose, name = waiting.pop()
        if name in found or name in own:
            continue
        path = next((folder / name for folder in folders if (folder / name).exists()), None)
        if path is None:
            lost.append(f"{name} of {whose}" if whose else name)
        else:
            found[name] = path
            waiting += [(name, other) for other in _needed(path)]
    if lost:
        raise Unavailable(f"the packages lack libraries: {', '.join(sorted(set(lost)))}")
    return found


def _needed(path: Path) -> tuple[str, ...]:
    try:
        return needed(path.read_bytes())
    except ValueError as error:
        raise Unavailable(f"{path.name} is {error}: remove the cache and try again") from None
