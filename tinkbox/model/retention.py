"""How long what is over is kept."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from tinkbox.model.disk_usage import LAST_ROOM

KEEP_FREE: Final = 512 << 20
AUDIT: Final = timedelta(days=730)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """A workflow that is over is forgotten at this age, with all that is its; the `newest` are kept whatever their age.

    While the disk has less than `keep_free` bytes, the oldest go before their time.  `recordings` of shells are forgotten at that
    age, None: with their workflow.  Lines of the `audit` are forgotten at that age, None: never.
    """

    workflows: timedelta = timedelta(days=90)
    newest: int = 1_000
    keep_free: int = KEEP_FREE
    recordings: timedelta | None = None
    audit: timedelta | None = AUDIT

    def fitted(self, disk: int) -> "Retention":
        """The same for a disk of so many bytes: where no person chose, a small one keeps a quarter of itself free.

        It never keeps less than LAST_ROOM: history goes before what machines send is refused.
        """
        if self.keep_free != KEEP_FREE:
            return self
        return replace(self, keep_free=min(KEEP_FREE, max(LAST_ROOM, disk // 4)))
