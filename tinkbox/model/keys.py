"""What a key means of what is kept: the one rule for every kind of thing (machines have their addresses besides, `machine_keys`).

A whole id comes before everything, and a name before the beginning of an id: what is called `eff` must not lose to the thing
whose random id happens to begin so.
"""

import re
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
MOST: Final = 100  # that are looked up of what a key fits: a name may be that of every workflow
LEAST: Final = 4  # letters of an id that mean it: fewer are more often a word that is mistyped


_TOO_SHORT: Final = re.compile(rf"[0-9A-Fa-f]{{1,{LEAST - 1}}}")


class Kept(Protocol[T_co]):
    """Where things of a kind are kept.  A Protocol because the tables of the store are on another floor."""

    def having(self, identity: str) -> Sequence[T_co]:
        """The one of exactly this id, if there is one."""

    def named(self, name: str) -> Sequence[T_co]:
        """Those that this name means: where several have it, the newest, or all."""

    def beginning(self, letters: str) -> Sequence[T_co]:
        """Those whose ids begin so."""


def exactly(kept: Kept[T], key: str) -> Sequence[T]:
    """What has the key as its whole id, else as its name."""
    return kept.having(key) or kept.named(key)


def beginning(kept: Kept[T], key: str) -> Sequence[T]:
    """What has an id that begins so; for fewer than LEAST letters nothing."""
    return kept.beginning(key) if len(key) >= LEAST else ()


def meant(kept: Kept[T], key: str) -> Sequence[T]:
    """All that a key means: a whole id, else a name, else the beginning of ids."""
    return exactly(kept, key) or beginning(kept, key)


def why_too_short(key: str) -> str:
    """What to say of a key that means nothing, and would be the beginning of an id if it were longer; else empty."""
    return f"the beginning of an id needs at least {LEAST} letters" if _TOO_SHORT.fullmatch(key) else ""
