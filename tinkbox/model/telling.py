"""Words that name other work than what was asked about, with the ids by which it is known who may be told them."""

from dataclasses import dataclass
from typing import Final

# What is said in their place to whoever may not know that work: their machine is busy, and that is all.
OUTSIDE: Final = "work outside of the scope of your token: ask somebody whose token has none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """`text`, empty where there is nothing to say, and the ids `of` the other workflows and rollouts that it names.

    It is no text by itself, so that nobody is told it before it is known whether they may see all of these.
    """

    text: str = ""
    of: tuple[str, ...] = ()
