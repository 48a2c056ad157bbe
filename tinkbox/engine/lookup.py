"""The one thing that a key means, of those that it fits."""

from collections.abc import Sequence
from typing import TypeVar

from tinkbox.model.errors import Conflict, NotFound

T = TypeVar("T")


def only(found: Sequence[T], what: str, key: str, listed: str = "") -> T:
    """The single match of a key; raises NotFound for none and Conflict for several, with the command by which they are `listed`."""
    listed = listed or f"{what} list"
    if not found:
        raise NotFound(f"{what} {key[:80]!r} not found: `tinkbox {listed}` shows what there is")
    if len(found) > 1:
        raise Conflict(f"{what} {key[:80]!r} is ambiguous: it fits {len(found)}, whose ids `tinkbox {listed}` shows")
    return found[0]
