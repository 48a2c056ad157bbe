"""Hosts from which a valid token came lately: what anybody can open at the operator's door must not crowd them out."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from tinkbox.model.limits import REMEMBERED

LATELY: Final = 24 * 3600.0


class ProvenHosts:
    """`monotonic` is a clock in seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        # The first one's last token came longest ago.
        self._shown: OrderedDict[str, float] = OrderedDict()

    def knows(self, host: str) -> bool:
        """Whether a valid token came from a host within LATELY."""
        return self._monotonic() - self._shown.get(host, -LATELY) < LATELY

    def note(self, host: str) -> None:
        """A valid token came from it."""
        self._shown[host] = self._monotonic()
        self._shown.move_to_end(host)
        if len(self._shown) > REMEMBERED:
            self._shown.popitem(last=False)
