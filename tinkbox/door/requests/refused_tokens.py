"""Tokens that were shown and are not valid, counted and logged: somebody may be guessing."""

import logging
from collections import OrderedDict
from typing import Final

from tinkbox.model.limits import REMEMBERED, worth_telling

_log: Final = logging.getLogger(__name__)


class RefusedTokens:
    """How many tokens, or other things that are shown as one, were refused since the process began, in all and by host."""

    def __init__(self, what: str = "token") -> None:
        self._what = what
        self.total = 0
        # Those that were refused longest ago come first, and are forgotten first.
        self._by_host: OrderedDict[str, int] = OrderedDict()

    def note(self, host: str, door: str) -> None:
        """Count one that a host showed to a door, and log a host's 1st, 2nd, 4th, 8th… of them."""
        self.total += 1
        times = self._by_host.pop(host, 0) + 1
        self._by_host[host] = times
        if len(self._by_host) > REMEMBERED:
            self._by_host.popitem(last=False)
        if worth_telling(times):
            _log.warning(
                "%s showed the %s a %s that is not valid; refused so far: %d",
                host, door, self._what, times, extra={"action": "token.refused"},
            )  # fmt: skip
