"""Says how far it is: on stdout for people, in /dev/progress for the worker."""

import threading
from collections import deque
from collections.abc import Callable

from failure import tell
from sizes import amount, duration

PROGRESS = "/dev/progress"
_WINDOW_SECONDS = 20


class Progress:
    """The work is done in `stages` of equal weight, such as writing and reading back.  May be called by any thread.

    `clock` is monotonic, `interval` the seconds between two lines.
    """

    def __init__(
        self,
        stages: int,
        *,
        interval: float,
        clock: Callable[[], float],
        say: Callable[[str], None],
        file: str = PROGRESS,
    ) -> None:
        self._stages = stages
        self._interval = interval
        self._clock = clock
        self._say = say
        self._file = file
        self._lock = threading.Lock()
        self._stage = -1
        self._name = ""
        self._done = self._total = 0
        self._said = self._told = clock()
        self._seen: deque[tuple[float, int]] = deque()

    def begin(self, name: str, total: int) -> None:
        """The next stage, of so many bytes; 0 when that is not known."""
        with self._lock:
            self._stage += 1
            self._name, self._done, self._total = name, 0, total
            self._seen.clear()
            self._seen.append((self._clock(), 0))
            self._write()

    def advance(self, count: int) -> None:
        with self._lock:
            self._done += count
            now = self._clock()
            self._seen.append((now, self._done))
            while now - self._seen[0][0] > _WINDOW_SECONDS and len(self._seen) > 2:
                self._seen.popleft()
            if now - self._told >= 1:
                self._told = now
                self._write()
            if now - self._said >= self._interval:
                self._said = now
                self._say(self._line())

    def finish(self) -> None:
        """All that takes long is done."""
        with self._lock:
            self._done = self._total
            self._write()

    def _line(self) -> str:
        (then, before), (now, done) = self._seen[0], self._seen[-1]
        rate = (done - before) / (now - then) if now > then else 0.0
        line = f"{self._name}: {amount(done, self._total)}"
        line += f", {rate / 1e6:.0f} MB/s"
        if self._total and rate:
            line += f", {duration((self._total - done) / rate)} left"
        return line

    def _write(self) -> None:
        if self._total:
            done = min(self._done, self._total) + self._stage * self._total
            tell(self._file, f"{done} {self._total * self._stages} bytes\n")
