"""Machines that went away by intention and were seen booting: whether it was they.

Any host can ask to boot in a machine's name. So the machine's worker is asked to show that it is still there, and the machine
counts as away only when its worker stays silent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# Seconds. A worker that is there asks again within one.
SILENCE: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Seen:
    attempt: str
    at: float


class Absences:
    """By the ids of machines; `monotonic` is a steady clock in seconds, `ask` has a machine's worker show that it is there."""

    def __init__(self, monotonic: Callable[[], float], ask: Callable[[str], None]) -> None:
        self._monotonic = monotonic
        self._ask = ask
        self._seen: dict[str, _Seen] = {}

    def seen(self, worker: str, attempt: str) -> None:
        """A machine was seen booting, which an attempt sent away."""
        before = self._seen.get(worker)
        if before is None or before.attempt != attempt:
            self._seen[worker] = _Seen(attempt, self._monotonic())
            self._ask(worker)

    def heard(self, worker: str) -> bool:
        """The worker of the boot that is to end is there; returns whether its machine had been seen booting."""
        return self._seen.pop(worker, None) is not None

    def is_doubted(self, worker: str) -> bool:
        """Whether a machine's worker is to show now that it is there."""
        return worker in self._seen

    def over(self) -> set[str]:
        """Hand over the attempts whose machines are back: their workers stayed silent."""
        now = self._monotonic()
        silent = {worker: each.attempt for worker, each in self._seen.items() if now - each.at >= SILENCE}
        for worker in silent:
            del self._seen[worker]
        return set(silent.values())

    def next_in(self) -> float | None:
        """In how many seconds the next may be over; None: none was seen."""
        soonest = min((each.at for each in self._seen.values()), default=None)
        return None if soonest is None else max(0.0, soonest + SILENCE - self._monotonic())
