"""Whether the token that the driver of a shell came with counts for it still.

Shells end when it does not, and no verdict counts that is asked for in one: both ask here.
"""

from typing import Final, Protocol

from tinkbox.engine.machines.machines import Machines
from tinkbox.model.access import Caller
from tinkbox.model.shells import ShellEnd
from tinkbox.store.database import Tables
from tinkbox.store.shells import Session

_NOT_KEPT: Final = ShellEnd(
    None,
    "TokenNotKept",
    "it was opened before the upgrade, when tinkbox did not keep with which token: open it anew",
)


class Bearers(Protocol):
    """Who bears which token."""

    def with_id(self, token_id: str) -> Caller | None:
        """Who bears the token of this id, None where it counts no more."""
        ...

    def why_over(self, token_id: str) -> str:
        """What became of the token of this id, which counts no more."""
        ...


class ShellDrivers:
    """Who types in shells, or was the last to, by their tokens."""

    def __init__(self, machines: Machines, bearers: Bearers) -> None:
        self._machines = machines
        self._bearers = bearers

    def end(self, tables: Tables, session: Session) -> ShellEnd | None:
        """How a session ends by the token of its driver; None while that counts for its workflow, and without a token."""
        if not session.token:
            return _NOT_KEPT if session.token is None else None
        bearer = self._bearers.with_id(session.token)
        if bearer is None:
            why = self._bearers.why_over(session.token)
            return ShellEnd(None, "TokenOver", f"the token of {session.driver} {why}")
        if self._machines.within(bearer.scope).outside(tables, [session.workflow_id]):
            left = f"labels changed, and a machine left the scope of the token of {session.driver}"
            return ShellEnd(None, "LeftScope", left)
        return None
