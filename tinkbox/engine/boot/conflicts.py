"""Addresses of a pool at which somebody answers before they are lent, and how far that is believed.  Pure.

Anybody on a link can answer ARP for every address.  So an address is kept out for ten minutes only while few are; and a host
that answers for more than any host has is not believed where a known machine needs the address.  Nor is anybody while there
are more answers than a pool has foreign hosts: a liar can answer with another MAC each time.
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass

from tinkbox.model.limits import BELIEVED_OF_ONE_HOST, POOL_PART_OF_CONFLICTS

KEPT_OUT_SECONDS = 600
KEPT_OUT_BRIEFLY_SECONDS = 30


@dataclass(frozen=True, slots=True)
class _Claim:
    by: str
    until: float
    kept: bool


class Conflicts:
    """Those of one pool of `size` addresses; so many answers of one host are `believed`.

    Hosts are named by their MACs; an empty name is any host whose MAC does not show.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._most = max(1, int(size * POOL_PART_OF_CONFLICTS))
        self.believed = min(BELIEVED_OF_ONE_HOST, max(2, self._most))
        self.believed_of_all = max(self._most, self.believed)
        # By number, the oldest first: all last equally long.
        self._claims: OrderedDict[int, _Claim] = OrderedDict()
        self._by: Counter[str] = Counter()
        self._kept = 0

    def answered(self, number: int, by: str, now: float, *, needed: bool) -> int:
        """Somebody answers at an address: for how many seconds it is kept out; 0: it is lent all the same.

        `needed` tells that a known machine is to have it.
        """
        self._over(now)
        self._forget(number)
        liar = bool(by) and self._by[by] >= self.believed
        doubted = needed and (liar or self._believable() >= self.believed_of_all)
        kept = self._kept < self._most and not doubted
        self._claim(number, _Claim(by, now + KEPT_OUT_SECONDS, kept))
        if doubted:
            return 0
        return KEPT_OUT_SECONDS if kept else KEPT_OUT_BRIEFLY_SECONDS

    def restored(self, number: int, now: float) -> None:
        """An address that was kept out when the appliance ended still is."""
        self._claim(number, _Claim("", now + KEPT_OUT_SECONDS, kept=True))

    def not_believed(self, now: float) -> list[tuple[str, int]]:
        """The hosts that answer for more than one has, each with for how many addresses; an empty name: all together do."""
        self._over(now)
        found = [(by, count) for by, count in self._by.most_common() if by and count > self.believed]
        return [*found, ("", len(self._claims))] if self._believable() > self.believed_of_all else found

    def seconds_since(self, by: str, now: float) -> float:
        """How long ago a host answered last; an empty name: any."""
        newest = max((each.until for each in self._claims.values() if by in ("", each.by)), default=now)
        return max(0.0, now - (newest - KEPT_OUT_SECONDS))

    def _believable(self) -> int:
        """How many answers there are, without those of hosts that are not believed any more."""
        return sum(min(count, self.believed) if by else count for by, count in self._by.items())

    def _claim(self, number: int, claim: _Claim) -> None:
        self._claims[number] = claim
        self._by[claim.by] += 1
        self._kept += claim.kept

    def _over(self, now: float) -> None:
        while self._claims and next(iter(self._claims.values())).until <= now:
            self._forget(next(iter(self._claims)))

    def _forget(self, number: int) -> None:
        claim = self._claims.pop(number, None)
        if claim is not None:
            self._kept -= claim.kept
            self._by[claim.by] -= 1
            if not self._by[claim.by]:
                del self._by[claim.by]
