"""People whose requests come to nothing again and again: how many of these have lines of their own.  Pure: time is told.

A line stands before each request that may change something, also of one that is refused in the end.  So that nobody fills the disk
by what is refused, whoever had many such requests has one line for all of them for a while; what is done has one of its own.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from tinkbox.model.audit import Act
from tinkbox.model.rates import Buckets, Rate

# Requests of one person that came to nothing and have two lines of their own: so many at once, and 432 a day.
OWN: Final = Rate(burst=100, a_second=0.005)
# In seconds: how long one line stands for all requests of a person after that, or for the same reading.
TOGETHER: Final = 600.0
MANY: Final = "many requests"
WHY: Final = (
    "so many of theirs came to nothing that these are put together for a while; what is done has a line of its own"
)
_REMEMBERED: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The line that stands before something, by its `number`, 0: it waits in memory.

    It stands for other requests as well where it is `joint`, or where the same reading was done `again`.
    """

    number: int
    joint: "Joint | None" = None
    reads: bool = False
    again: bool = False


@dataclass(slots=True)
class Joint:
    """A line that stands for many requests: its act and number, `times` that it did, and how many are `under_way`."""

    act: Act
    number: int
    until: float
    times: int = 0
    under_way: int = 0


class Fruitless:
    """By person: the requests that came to nothing, and the line that stands for them."""

    def __init__(self, own: Rate = OWN) -> None:
        self._own = Buckets(own, _REMEMBERED)
        self._joint: dict[Hashable, Joint] = {}
        self._read: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()

    def is_many(self, act: Act, now: float) -> bool:
        """Whether so many requests of this person came to nothing that the next one has no line of its own."""
        return self._own.left(_person(act), now) < 1

    def joint(self, act: Act, now: float) -> Joint | None:
        """The line that stands for all requests of this person now, None: there is none."""
        found = self._joint.get(_person(act))
        return found if found is not None and (now < found.until or found.under_way) else None

    def join(self, act: Act, number: int, now: float) -> Joint:
        """That the line of this number stands for all that this person asks from now on."""
        made = self._joint[_person(act)] = Joint(act, number, now + TOGETHER)
        return made

    def over(self, now: float, *, all_of_them: bool = False) -> list[Joint]:
        """The lines that stand for nothing any more, once."""
        over = [
            (person, each)
            for person, each in self._joint.items()
            if not each.under_way and (all_of_them or now >= each.until)
        ]
        for person, _ in over:
            del self._joint[person]
        return [each for _, each in over]

    def came_to_nothing(self, act: Act, now: float) -> None:
        """Count a request that has lines of its own."""
        self._own.take(_person(act), now)

    def read(self, act: Act, number: int, now: float) -> None:
        """That this was read, which the line of this number asked for."""
        self._read[_reading(act)] = (number, now + TOGETHER)
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)

    def reading(self, act: Act, now: float) -> int:
        """The number of the line that asked for the same reading a while ago, 0: there is none."""
        number, until = self._read.get(_reading(act), (0, 0.0))
        return number if now < until else 0


def _person(act: Act) -> Hashable:
    return (act.who, act.how)


def _reading(act: Act) -> Hashable:
    return (act.who, act.how, act.source, act.what, act.object)
