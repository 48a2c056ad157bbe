"""How much room the registry may take: less than the whole disk, so that everything else goes on when it is full."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from tinkbox.model.errors import Full
from tinkbox.model.images.room import Waiting
from tinkbox.model.sizes import show_size

_WAY_OUT = "free some with `tinkbox image delete` and `tinkbox image gc`, then push again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes: `free` gives those of the disk, of which `reserve` are left to others; `most` is for all images, None: the disk."""

    free: Callable[[], int] = lambda: sys.maxsize
    reserve: int = 0
    most: int | None = None

    def refuse_beyond(self, kept: int, arriving: int, more: int, waiting: Callable[[], Waiting] = Waiting) -> None:
        """Raise Full where so many `more` bytes than are `kept` and `arriving` would be too many.

        `waiting` tells what is kept and could be freed: it is asked where it is told.
        """
        if self.most is not None and kept + arriving + more > self.most:
            raise Full(
                f"the registry holds {show_size(kept)} of {show_size(self.most)} (images.most){_arriving(arriving)}: "
                f"{_way_out(waiting())}, or raise images.most"
            )
        free = self.free()
        if free - more < self.reserve:
            raise Full(
                f"the registry is full: {show_size(free)} of its disk are free{_arriving(arriving)}, and "
                f"{show_size(self.reserve)} are reserved for everything else (images.reserve): {_way_out(waiting())}, or give "
                "the data folder a larger disk"
            )

    def left(self, taken: int) -> int:
        """How many bytes more may come."""
        left = self.free() - self.reserve
        if self.most is not None:
            left = min(left, self.most - taken)
        return max(0, left)

    def is_full(self, taken: int) -> bool:
        """Whether nothing more is taken in."""
        return not self.left(taken)


def _arriving(octets: int) -> str:
    return f", with {show_size(octets)} on their way in" if octets else ""


def _way_out(waiting: Waiting) -> str:
    if waiting.blobs.number:
        return f"`tinkbox image gc --now` frees {waiting}; or {_WAY_OUT}"
    return _WAY_OUT
