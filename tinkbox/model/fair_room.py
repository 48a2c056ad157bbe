"""Room of one limit for things that can be ended: where none is left, who has most gives way to who has few.

Anybody can speak in the names of many hosts, also of known ones that are off, and take all there is in them.  Then each of
these names has a share, and whoever wants less than that has it.  Pure.
"""

from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from tinkbox.model.limits import Room


class Endable(Protocol):
    """What takes room; equal to itself alone."""

    def give_way(self) -> None:
        """End, and `leave` the room before this returns."""


T = TypeVar("T", bound=Endable)


class FairRoom(Generic[T]):
    """Who has which things in a `room`; of those of one holder, `first_to_end` tells which ends first."""

    def __init__(self, room: Room, first_to_end: Callable[[Iterable[T]], T]) -> None:
        self._room = room
        self._first_to_end = first_to_end
        # By what each is, the oldest first: its holder.
        self._holders: dict[T, str] = {}
        self._by_holder: dict[str, dict[T, None]] = {}
        # Of those that are known, and of strangers.
        self._rankings = {True: _Ranking(), False: _Ranking()}
        self._ranking_of: dict[str, _Ranking] = {}

    def has_room(self, holder: str) -> bool:
        """Whether room for one more could be taken, and nothing had to end for it but what others have too much of."""
        return self._room.has_room(holder) or self._larger_than(holder) is not None

    def take(self, holder: str) -> bool:
        """Take room for something, which is to `enter` or to be given back; False where none is left or made."""
        if not self._room.has_room(holder) and self._make(holder):
            # The place of what ended, whoever else has places.
            return self._room.ledger.take(holder, known=lambda _: True)
        return self._room.take(holder)

    def give_back(self, holder: str) -> None:
        """Give back room that was taken, and that nothing entered."""
        self._room.give_back(holder)

    def enter(self, thing: T, holder: str) -> None:
        """Have something in room that was taken for it."""
        self._holders[thing] = holder
        own = self._by_holder.setdefault(holder, {})
        ranking = self._rankings[self._is_known(holder)]
        before = self._ranking_of.get(holder, ranking)
        if before is not ranking:  # somebody got to know it, or forgot it
            before.moved(holder, len(own), 0)
            ranking.moved(holder, 0, len(own))
        self._ranking_of[holder] = ranking
        own[thing] = None
        ranking.moved(holder, len(own) - 1, len(own))

    def leave(self, thing: T) -> None:
        """Give back the room of something."""
        holder = self._holders.pop(thing)
        own = self._by_holder[holder]
        del own[thing]
        self._ranking_of[holder].moved(holder, len(own) + 1, len(own))
        if not own:
            del self._by_holder[holder], self._ranking_of[holder]
        self._room.give_back(holder)

    def _make(self, holder: str) -> bool:
        """End something that is in the way of this holder; whether anything was."""
        larger = self._larger_than(holder)
        if larger is None:
            return False
        self._end(self._first_to_end(self._by_holder[larger]))
        return True

    def _end(self, thing: T) -> None:
        """End something that is in the way of another holder's, which its own holder is told of."""
        self._room.ledger.refuse(self._holders[thing])
        thing.give_way()

    def _larger_than(self, holder: str) -> str | None:
        """Who has most, where that is more than this one would have; None: nobody.

        For a stranger a stranger gives way: a known machine has its room from what is kept for it.
        """
        if self._room.ledger.held_by(holder) >= self._room.ledger.limit.each:
            return None
        rankings = self._rankings.values() if self._is_known(holder) else [self._rankings[False]]
        ranking = max(rankings, key=lambda each: each.most)
        return ranking.first if ranking.most >= self._number(holder) + 2 else None

    def _is_known(self, holder: str) -> bool:
        """Whether room is kept for a holder; where none is kept, all are alike."""
        return self._room.ledger.limit.reserved > 0 and self._room.known(holder)

    def _number(self, holder: str) -> int:
        return len(self._by_holder.get(holder, ()))


class _Ranking:
    """Holders by how many things they have: `most` is what the first has.

    It is asked as often as somebody is refused, so it is kept in order instead of looked through.
    """

    def __init__(self) -> None:
        self.most = 0
        self._by_number: dict[int, dict[str, None]] = {}

    @property
    def first(self) -> str:
        """One of those that have most; raises KeyError where nobody has anything."""
        return next(iter(self._by_number[self.most]))

    def moved(self, holder: str, before: int, after: int) -> None:
        """A holder that had so many has another number now; of 0 it is not here."""
        if before:
            del self._by_number[before][holder]
            if not self._by_number[before]:
                del self._by_number[before]
        if after:
            self._by_number.setdefault(after, {})[holder] = None
        if after > self.most or self.most not in self._by_number:
            self.most = after
