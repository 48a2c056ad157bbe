"""How much room the registry may take: less than the whole disk, so that everything else goes on when it is full."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tinkbox.model.errors import Full
from tinkbox.model.images.room import Waiting
from tinkbox.model.sizes import show_size

# An upload to which nothing was added for so long gives its room to what needs it.  Between two of its requests a client sends
# nothing for a moment; one that was interrupted says nothing, and does not come back.
LEFT_AFTER: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes: `free` gives those of the disk, of which `reserve` are left to others; `most` is for all images, None: the disk."""

    free: Callable[[], int] = lambda: sys.maxsize
    reserve: int = 0
    most: int | None = None

    def refuse_beyond(
        self,
        kept: int,
        arriving: int,
        more: int,
        waiting: Callable[[], Waiting] = Waiting,
        *,
        own: int = 0,
        resting: int = 0,
    ) -> None:
        """Raise Full where so many `more` bytes than are `kept` and `arriving` would be too many.

        `waiting` tells what is kept and could be freed: it is asked where it is told.  Of what is arriving, `own` bytes belong
        to the same as those that are more, and `resting` ones to uploads to which nothing is added just now.
        """
        others = arriving - own
        if self.most is not None and (over := kept + arriving + more - self.most) > 0:
            left = self.most - kept - others
            beyond = f", and what comes has more than the {show_size(left)} that are left" if left > 0 else ""
            why = f"the registry holds {show_size(kept)} of {show_size(self.most)} (images.most){_arriving(others)}{beyond}"
            raise _full(why, _soon(resting, over), f"{_ways_out(kept, waiting())}raise images.most")
        free = self.free()
        if (over := self.reserve + more - free) > 0:
            why = (
                f"the registry is full: {show_size(free)} of its disk are free{_arriving(others)}, and "
                f"{show_size(self.reserve)} are reserved for everything else (images.reserve)"
            )
            last = "free room on that disk, or give the data folder a larger one"
            raise _full(why, _soon(resting, over), f"{_ways_out(kept, waiting())}{last}")

    def left(self, taken: int, ending: int = 0) -> int:
        """How many bytes more may come, where of those that are taken so many are `ending`."""
        left = self.free() - self.reserve
        if self.most is not None:
            left = min(left, self.most - taken)
        return max(0, left + ending)

    def is_full(self, taken: int) -> bool:
        """Whether nothing more is taken in."""
        return not self.left(taken)


def _arriving(octets: int) -> str:
    return f", with {show_size(octets)} on their way in" if octets else ""


def _full(why: str, soon: str, way_out: str) -> Full:
    """What ends by itself `soon` is no way out for who hears of it later."""
    return Full(f"{why}: {soon}{way_out}", way_out)


def _soon(resting: int, over: int) -> str:
    """What to do first where so many bytes are too many, and perhaps not for long."""
    if resting < over:
        return ""
    return (
        f"try again in {LEFT_AFTER.seconds} seconds, since {show_size(resting)} are of uploads that wait or were broken off, "
        "and those that were are free by then; or "
    )


def _ways_out(kept: int, waiting: Waiting) -> str:
    """Those that lead out of it, before the last one."""
    ways = []
    if waiting.blobs.number:
        ways.append(f"`tinkbox image gc --now` frees {waiting}; or ")
    if kept:
        ways.append("free some with `tinkbox image delete` and `tinkbox image gc`, then try again, or ")
    return "".join(ways)
