"""Room for the TFTP transfers of all networks, by host, and which of them gives way where there is none left.

Anybody can ask in another's name, a machine that was reset leaves its transfers behind, and a host can speak with the MACs
and addresses of many.  A machine that boots has one transfer, and takes what it asked for.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, Protocol

from tinkbox.model.fair_room import Endable, FairRoom
from tinkbox.model.limits import Room

# Somebody who boots takes the first block sooner; a flood in others' names is through all transfers in half a second.
SILENT_SECONDS: Final = 0.25
# Without progress for so long, a transfer gives way to another one of the same host that has no room.
STALLED_SECONDS: Final = 2.0
LOOKED_THROUGH: Final = 256


class Transfer(Endable, Protocol):
    """One of whatever network: `started`, and `moved` on for the last time, in seconds; `moving`: its client took anything."""

    started: float
    moved: float

    @property
    def moving(self) -> bool: ...


class TransferRoom(FairRoom[Transfer]):
    """Who has which transfers; `monotonic` is the clock of their times."""

    def __init__(self, room: Room, monotonic: Callable[[], float]) -> None:
        super().__init__(room, _slowest)
        self._monotonic = monotonic

    def count_for(self, holder: str, transfer: Transfer) -> bool:
        """Have a transfer count for this holder from now on; False where there is no room for it, and it has given way."""
        if self._holders[transfer] == holder:
            return True
        if not self.take(holder):
            transfer.give_way()
            return False
        if transfer not in self._holders:  # it was what made room
            self.give_back(holder)
            return False
        self.leave(transfer)
        self.enter(transfer, holder)
        return True

    def _make(self, holder: str) -> bool:
        ledger, now = self._room.ledger, self._monotonic()
        if ledger.held_by(holder) >= ledger.limit.each:
            slowest = _slowest(self._by_holder[holder]) if self._number(holder) else None
            if slowest is None or now - slowest.moved < STALLED_SECONDS:
                return False
            slowest.give_way()
            return True
        return self._end_silent(now - SILENT_SECONDS) or super()._make(holder)

    def _end_silent(self, due: float) -> bool:
        """End the oldest of the transfers that nobody took anything of, where it began before `due`."""
        for each in islice(self._holders, LOOKED_THROUGH):
            if not each.moving and each.started < due:
                each.give_way()
                return True
        return False


def _slowest(transfers: Iterable[Transfer]) -> Transfer:
    """The one that made no progress for longest."""
    return min(transfers, key=lambda each: each.moved)
