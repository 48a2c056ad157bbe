"""How fast one machine may hand in data that is kept."""

import math
from collections.abc import Callable
from typing import Final

from tinkbox.model.errors import TooMany
from tinkbox.model.rates import Buckets, Rate

# In bytes.  Two dozen actions with 10 MiB each are not held up, and then one every 2.5 s; a disk that writes 4 MiB a second
# for one machine has time for others.
HANDED_IN: Final = Rate(burst=256 << 20, a_second=4 << 20)
REMEMBERED: Final = 10_000


class HandedIn:
    """What machines handed in.  `monotonic` is a clock in seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._bytes = Buckets(HANDED_IN, REMEMBERED)

    def note(self, machine: str, size: int) -> None:
        """Note that a machine hands in so many bytes; raises TooMany when it has to wait before."""
        if not self._bytes.take(machine, self._monotonic(), size):
            raise TooMany(
                f"this machine handed in more than {int(HANDED_IN.a_second) >> 20} MiB of data a second for some time: "
                "it has to hand this in again in a moment",
                math.ceil(size / HANDED_IN.a_second),
            )
