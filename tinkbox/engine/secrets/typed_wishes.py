"""What people typed for shells, where a secret is in it: as it was typed, in memory alone, for the store has it masked."""

from collections.abc import Iterable

from tinkbox.model.shells import ShellWish
from tinkbox.store.shells import Session


class TypedWishes:
    """By their ids; an appliance that was started anew has none."""

    def __init__(self) -> None:
        self._typed: dict[str, ShellWish] = {}

    def keep(self, wish: ShellWish) -> None:
        self._typed[wish.id] = wish

    def forget(self, session_id: str) -> None:
        self._typed.pop(session_id, None)

    def is_lost(self, session: Session) -> bool:
        """Whether nobody knows any more what was typed for it."""
        return session.masked and session.id not in self._typed

    def whole(self, sessions: Iterable[Session]) -> tuple[ShellWish, ...]:
        """The wishes as they were typed, without those that are lost."""
        return tuple(self._typed.get(each.id, each.wish) for each in sessions if not self.is_lost(each))
