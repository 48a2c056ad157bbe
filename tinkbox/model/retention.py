"""How long what is over is kept."""

from dataclasses import dataclass, replace
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """A workflow that is over is forgotten at this age, with all that is its; the `newest` are kept whatever their age.

    While the disk has less than `keep_free` bytes, the oldest go before their time.
    """

    workflows: timedelta = timedelta(days=90)
    newest: int = 1_000
    keep_free: int = 512 * 2**20

    def fitted(self, disk: int) -> "Retention":
        """The same for a disk of so many bytes: one that could never have as much free keeps a quarter of itself."""
        return self if self.keep_free < disk else replace(self, keep_free=disk // 4)
