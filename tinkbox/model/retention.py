"""How long what is over is kept."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """A workflow that is over is forgotten at this age, with all that is its; the `newest` are kept whatever their age."""

    workflows: timedelta = timedelta(days=90)
    newest: int = 1_000
