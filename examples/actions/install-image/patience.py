"""How long a server that does not answer is waited for, by all who ask it."""

import threading
from collections.abc import Callable

from failure import Failure

PAUSE_SECONDS = 2


class Patience:
    """`seconds` without a new byte are spent on trying again; `clock` is monotonic."""

    def __init__(
        self, seconds: float, *, clock: Callable[[], float], sleep: Callable[[float], None], say: Callable[[str], None]
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._sleep = sleep
        self._say = say
        self._lock = threading.Lock()
        self._quiet_since = clock()
        self._said = ""
        self._is_over = False

    def give_up(self) -> None:
        """Nobody waits any more: what was asked for is not needed."""
        self._is_over = True

    def something_came(self) -> None:
        with self._lock:
            self._quiet_since = self._clock()
            self._said = ""

    def wait(self, url: str, problem: str, *, came: bool = False) -> None:
        """Returns when it is time to try again; raises Failure when that was done for long enough.

        `came` says that the connection brought something before it failed: then another one is tried in any case.
        """
        with self._lock:
            quiet = self._clock() - self._quiet_since
            if self._is_over or (quiet >= self._seconds and not came):
                raise Failure(
                    "DownloadFailed",
                    f"{url}: {problem}, and nothing came for {quiet:.0f} seconds: check the network and the server",
                )
            if problem != self._said:
                self._say(f"{problem}; trying again")
                self._said = problem
        self._sleep(PAUSE_SECONDS)
