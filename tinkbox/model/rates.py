"""How often somebody may ask: token buckets, by whoever asks.  Pure: time is told."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many questions, or bytes, at once, and so many a second in the long run."""

    burst: float
    a_second: float


class Buckets:
    """Token buckets by key; of those used longest ago the excess is forgotten."""

    def __init__(self, rate: Rate, remembered: int) -> None:
        self._rate = rate
        self._remembered = remembered
        self._filled: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._filled

    def __len__(self) -> int:
        return len(self._filled)

    def take(self, key: Hashable, now: float, amount: float = 1) -> bool:
        """Whether so much more is admitted, which is no more than the burst; `now` is in seconds.  While a clock goes back no time passes."""
        tokens = self.left(key, now)
        admitted = tokens >= amount
        self._filled[key] = (tokens - amount if admitted else tokens, now)
        self._filled.move_to_end(key)
        if len(self._filled) > self._remembered:
            self._filled.popitem(last=False)
        return admitted

    def left(self, key: Hashable, now: float) -> float:
        """How much is admitted at most now."""
        burst = self._rate.burst
        tokens, since = self._filled.get(key, (burst, now))
        if now > since:
            tokens += (now - since) * self._rate.a_second
        return min(tokens, burst)
