"""How much room the registry may take: less than the whole disk, so that everything else goes on when it is full."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from tinkbox.model.errors import Full
from tinkbox.model.sizes import show_size

_WAY_OUT = "free some with `tinkbox image gc` and `tinkbox image delete`, then push again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes: `free` gives those of the disk, of which `reserve` are left to others; `most` is for all images, None: the disk."""

    free: Callable[[], int] = lambda: sys.maxsize
    reserve: int = 0
    most: int | None = None

    def refuse_beyond(self, taken: int, more: int) -> None:
        """Raise Full where so many `more` bytes than are `taken` would be too many."""
        if self.most is not None and taken + more > self.most:
            raise Full(
                f"the registry holds {show_size(taken)} of {show_size(self.most)} (images.most): {_WAY_OUT}, or raise images.most"
            )
        free = self.free()
        if free - more < self.reserve:
            raise Full(
                f"the registry is full: {show_size(free)} of its disk are free, and {show_size(self.reserve)} are reserved for "
                f"everything else (images.reserve): {_WAY_OUT}, or give the data folder a larger disk"
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
