"""The one thing that a key means, of those that it fits."""

from collections.abc import Sequence
from typing import Final, TypeVar

from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.keys import why_too_short

T = TypeVar("T")
MOST_TOLD: Final = 4  # ids of what an ambiguous key fits


def only(found: Sequence[T], what: str, key: str, listed: str = "") -> T:
    """The single match of a key; raises NotFound for none and Conflict for several, with the command by which they are `listed`."""
    listed = listed or f"{what} list"
    if not found:
        short = why_too_short(key)
        way_out = f"{f'{short}; ' if short else ''}`tinkbox {listed}` shows what there is"
        raise NotFound(f"{what} {key[:80]!r} not found: {way_out}")
    if len(found) > 1:
        raise Conflict(f"{what} {key[:80]!r} is ambiguous: it fits {len(found)}, whose ids `tinkbox {listed}` shows")
    return found[0]


def only_machine(found: Sequence[str], key: str) -> str:
    """As `only`, of the ids of machines; an ambiguous key is refused with these, where they are few."""
    if 1 < len(found) <= MOST_TOLD:
        raise Conflict(
            f"hardware {key[:80]!r} is ambiguous: it fits {len(found)}, name one by its id: {', '.join(found)}"
        )
    return only(found, "hardware", key)
