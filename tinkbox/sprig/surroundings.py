"""What a rendering is given of the world around it: one moment, a source of chance, time zones, and a bound on slow work."""

from collections.abc import Callable
from typing import Final

from tinkbox.gotemplate.values import GoError

MAX_SLOW: Final = 2000
"""Milliseconds that one rendering may work on keys and passwords, by what each costs on a processor of 2020."""


class Surroundings:
    """Of renderings that come one after the other; `renew` begins the next.

    `moment` is in nanoseconds since 1970, the same for all of a rendering.  `chance` gives so many random bytes, which nobody
    foresees: keys and passwords are made of them.  `zone` gives the file of a time zone (TZif), or None where there is none of
    that name; it raises GoError where nothing is known of any.
    """

    def __init__(self, moment: int, chance: Callable[[int], bytes], zone: Callable[[str], bytes | None]) -> None:
        self.moment = moment
        self.chance = chance
        self.zone = zone
        self._left = MAX_SLOW

    def renew(self) -> None:
        """Begin another rendering."""
        self._left = MAX_SLOW

    @property
    def paid(self) -> int:
        """The milliseconds that this rendering may have worked on keys and passwords until now."""
        return MAX_SLOW - self._left

    def pay(self, milliseconds: int) -> None:
        """Say how long something will take, before it is done.  Raises GoError when it is too much for one rendering."""
        self._left -= milliseconds
        if self._left < 0:
            raise GoError(
                "the template makes too many keys and passwords: make them once, keep them in a variable, or make keys of "
                "ecdsa or ed25519, which cost nothing"
            )

    def below(self, bound: int) -> int:
        """A number from 0 on below a bound, each as likely as any other."""
        length = (bound.bit_length() + 7) // 8 + 1
        fair = (1 << 8 * length) // bound * bound
        while (number := int.from_bytes(self.chance(length), "big")) >= fair:
            pass
        return number % bound
