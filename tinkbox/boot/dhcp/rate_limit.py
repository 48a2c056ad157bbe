"""How often a machine may ask, so that one that never stops takes no time from another's boot.  Pure.

Machines that somebody knows have a limit each, and nothing else slows them.  Strangers have a smaller one each, and all
those behind one port share another, because whoever sends with invented MACs is a new stranger every time.  Ports can be
invented as well, by whoever writes the packets: so one MAC has a limit wherever it comes from, and so have all strangers
behind any ports.
"""

from collections.abc import Callable
from typing import Final

from tinkbox.model.hardware import MacAddress
from tinkbox.model.rates import Buckets, Rate

# Firmware sends some dozen packets a minute.  These are what we can bear, not what a machine needs.
MACHINE: Final = Rate(burst=600, a_second=300)
MACHINE_ANYWHERE: Final = Rate(burst=1200, a_second=600)
# While packets come faster than they can be read: an answer costs ten times as much as to drop what asked for it, and a
# flood in the names of all machines leaves each of them little.  Whoever asks more shares what all have besides, so that a
# few packets in a machine's name do not take its own from it.
MACHINE_PRESSED: Final = Rate(burst=8, a_second=2)
MACHINES_PRESSED: Final = Rate(burst=200, a_second=100)
STRANGER: Final = Rate(burst=40, a_second=20)
STRANGERS_OF_A_PORT: Final = Rate(burst=4000, a_second=1000)
STRANGERS_OF_ALL_PORTS: Final = Rate(burst=8000, a_second=1000)
REMEMBERED: Final = 8192
REMEMBERED_PORTS: Final = 1024


class RateLimit:
    """`knows` tells whether a MAC is one of ours, from memory; `monotonic` is a clock in seconds."""

    def __init__(self, knows: Callable[[MacAddress], bool], monotonic: Callable[[], float]) -> None:
        self._knows = knows
        self.monotonic = monotonic
        self._machines = Buckets(MACHINE, REMEMBERED)
        self._pressed = Buckets(MACHINE_PRESSED, REMEMBERED)
        self._all_pressed = Buckets(MACHINES_PRESSED, 1)
        self._strangers = Buckets(STRANGER, REMEMBERED)
        self._ports = Buckets(STRANGERS_OF_A_PORT, REMEMBERED_PORTS)
        self._anywhere = Buckets(MACHINE_ANYWHERE, REMEMBERED)
        self._all_ports = Buckets(STRANGERS_OF_ALL_PORTS, 1)
        self._all = (self._machines, self._pressed, self._strangers, self._ports, self._anywhere, self._all_ports)

    def bears(self, mac: bytes) -> bool:
        """Whether a packet with these six octets may be looked at while more come than can be read, wherever it came in."""
        now = self.monotonic()
        return self._pressed.take(mac, now) or self._all_pressed.take(b"", now)

    def admits(self, mac: bytes, port: bytes = b"") -> bool:
        """Whether a packet of the machine with these six octets is to be looked at.

        `port` is where it came in, as far as a relay says, empty on the link itself: whoever uses a machine's MAC at
        another port does not slow it.
        """
        now = self.monotonic()
        key = mac + port
        if key in self._machines or self._knows(MacAddress.from_bytes(mac)):
            return self._machines.take(key, now) and (not port or self._anywhere.take(mac, now))
        if not (self._strangers.take(key, now) and self._ports.take(port, now)):
            return False
        return not port or self._all_ports.take(b"", now)

    @property
    def remembered(self) -> int:
        """How many sources are kept in mind."""
        return sum(map(len, self._all))
