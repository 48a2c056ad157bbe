"""Room for the TFTP transfers of all networks, by host, and which of them gives way where there is none left.

Anybody can ask in another's name, a machine that was reset leaves its transfers behind, and a host can speak with the MACs
and addresses of many.  A machine that boots has one transfer, and takes what it asked for.
"""

from collections.abc import Callable
from itertools import islice
from typing import Final, Protocol

from tinkbox.model.limits import Room

# Somebody who boots takes the first block sooner; a flood in others' names is through all transfers in half a second.
SILENT_SECONDS: Final = 0.25
# Without progress for so long, a transfer gives way to another one of the same host that has no room.
STALLED_SECONDS: Final = 2.0
LOOKED_THROUGH: Final = 256


class Transfer(Protocol):
    """One of whatever network: `started`, and `moved` on for the last time, in seconds; `moving`: its client took anything."""

    started: float
    moved: float

    @property
    def moving(self) -> bool: ...
    def give_way(self) -> None:
        """End, and leave the room."""


class TransferRoom:
    """Who has which transfers; `monotonic` is the clock of their times."""

    def __init__(self, room: Room, monotonic: Callable[[], float]) -> None:
        self._room = room
        self._monotonic = monotonic
        # By what each is, the oldest first: its holder.
        self._holders: dict[Transfer, str] = {}
        self._by_holder: dict[str, dict[Transfer, None]] = {}
        # Who had most when it was last looked for: of all, and of those that nobody knows.
        self._largest = {True: "", False: ""}

    def take(self, holder: str) -> bool:
        """Take room for a transfer, which is to `enter` or to be given back; False where none is left or made."""
        return self._room.take(holder) or (self._make(holder) and self._room.take(holder))

    def give_back(self, holder: str) -> None:
        """Give back room that was taken, and that no transfer entered."""
        self._room.give_back(holder)

    def enter(self, transfer: Transfer, holder: str) -> None:
        """Have a transfer in room that was taken for it."""
        self._holders[transfer] = holder
        self._by_holder.setdefault(holder, {})[transfer] = None

    def leave(self, transfer: Transfer) -> None:
        """Give back the room of a transfer."""
        holder = self._holders.pop(transfer)
        own = self._by_holder[holder]
        del own[transfer]
        if not own:
            del self._by_holder[holder]
        self._room.give_back(holder)

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
        """End a transfer that is in the way of another one of this holder, if one may be ended."""
        ledger = self._room.ledger
        if ledger.held_by(holder) >= ledger.limit.each:
            return self._end_slowest(holder, STALLED_SECONDS)
        if ledger.used < ledger.limit.for_strangers:
            return False
        known = self._room.known(holder)
        most = ledger.limit.all if known else ledger.limit.for_strangers
        return self._end_silent() or (ledger.used <= most and self._end_of_largest(holder, known=known))

    def _end_silent(self) -> bool:
        """End the oldest of the transfers that nobody took anything of."""
        due = self._monotonic() - SILENT_SECONDS
        for each in islice(self._holders, LOOKED_THROUGH):
            if not each.moving and each.started < due:
                each.give_way()
                return True
        return False

    def _end_of_largest(self, holder: str, *, known: bool) -> bool:
        """End a transfer of the holder that has most, where that is more than this one would have.

        For a stranger a stranger's is ended: a known machine has its room from what is kept for it.
        """
        least = self._number(holder) + 2
        if self._number(self._largest[known]) < least:
            among = (each for each in self._by_holder if known or not self._room.known(each))
            self._largest[known] = max(among, key=self._number, default="")
        largest = self._largest[known]
        return self._number(largest) >= least and self._end_slowest(largest, 0.0)

    def _end_slowest(self, holder: str, seconds: float) -> bool:
        """End the transfer of a holder that made no progress for longest, if that is so long."""
        slowest = min(self._by_holder.get(holder, ()), key=lambda each: each.moved, default=None)
        if slowest is None or self._monotonic() - slowest.moved < seconds:
            return False
        slowest.give_way()
        return True

    def _number(self, holder: str) -> int:
        return len(self._by_holder.get(holder, ()))
