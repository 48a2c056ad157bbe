"""Which part of a pool unknown machines have, whose MACs anybody can invent: all of them, and those behind one relay port."""

from collections import Counter
from collections.abc import Callable, Iterator

from tinkbox.model.limits import POOL_PART_OF_PORT, POOL_PART_OF_UNKNOWN


class UnknownShare:
    """The addresses, by number, that unknown machines hold or keep out of a pool with `size` addresses.

    A port is where a relay says that a machine is plugged in; an empty one is any other place.
    """

    def __init__(self, size: int) -> None:
        self._most = max(1, int(size * POOL_PART_OF_UNKNOWN))
        self._most_of_port = max(1, int(self._most * POOL_PART_OF_PORT))
        self._port_of: dict[int, bytes] = {}
        self._behind: Counter[bytes] = Counter()

    def __iter__(self) -> Iterator[int]:
        return iter(self._port_of)

    def add(self, number: int, port: bytes) -> None:
        self.discard(number)
        self._port_of[number] = port
        self._behind[port] += 1

    def discard(self, number: int) -> None:
        port = self._port_of.pop(number, None)
        if port is not None:
            self._behind[port] -= 1
            if not self._behind[port]:
                del self._behind[port]

    def has_room(self, port: bytes, had: int | None, counts: Callable[[int], bool]) -> bool:
        """Whether one more unknown machine behind a port may hold an address, or that which it `had` already.

        Where there is none, addresses that do not count any more are forgotten first.
        """
        if self._room(port, had):
            return True
        for each in [each for each in self._port_of if not counts(each)]:
            self.discard(each)
        return self._room(port, had)

    def _room(self, port: bytes, had: int | None) -> bool:
        before = self._port_of.get(had) if had is not None else None
        if len(self._port_of) - (before is not None) >= self._most:
            return False
        return not port or self._behind[port] - (before == port) < self._most_of_port
