"""Use-cases of breakpoints: what is armed, what is held, and who decides what becomes of it.

The verdict is a row in the store, and the first one counts.  The worker sees it in its orders as long as it has not
said that it was carried out, so that no lost answer and no restart takes it away or has it carried out twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tinkbox.engine.arming import Change, armed, cleared
from tinkbox.engine.attempts import fence, owned
from tinkbox.engine.bells import Bells
from tinkbox.engine.endings import stop, tell
from tinkbox.engine.machine import ACTION, Happening, advance
from tinkbox.engine.machines import Machines
from tinkbox.engine.verdicts import excuses, judged, resumes
from tinkbox.engine.workflows import find_workflow
from tinkbox.model import breakpoint as model
from tinkbox.model import history
from tinkbox.model.breakpoint import DEADLINE, MAX_HOLD_SECONDS, Armed, Hold, Verdict
from tinkbox.model.conditions import why_stopped
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.workflow import FINAL, ActionStatus, State, Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.workflows import Attempt
from tinkbox.wire.holds import Asked, Held, Orders, Resumed, Ruling
from tinkbox.wire.worker import Order

__all__ = ["Breakpoints", "Change", "Standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is armed of a workflow, and its holds, the newest last; an open one has no `ended_at`."""

    workflow: Workflow
    breakpoints: model.Breakpoints
    holds: tuple[Hold, ...]


class Breakpoints:
    """Arm, clear and show breakpoints; decide about what is held.

    Wherever a `key` is asked, it is a workflow's id, a unique beginning of one, or the name of the newest so called.
    `who` is the name of the person who asks, for the record.
    """

    def __init__(self, store: Store, bells: Bells, machines: Machines, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._bells = bells
        self._machines = machines
        self._clock = clock
        self._touched: dict[str, datetime] = {}

    async def arm(self, key: str, change: Change, who: str) -> model.Breakpoints:
        """Arm what `change` says, from now on; returns all that is armed then."""
        raise NotImplementedError

    async def clear(self, key: str, change: Change | None, who: str) -> model.Breakpoints:
        """Clear what `change` says, or all; what is held stays held.  Returns all that is armed then."""
        raise NotImplementedError

    async def standing(self, key: str) -> Standing:
        """What is armed and held of a workflow."""
        raise NotImplementedError

    async def all(self) -> list[Standing]:
        """The same of every workflow that is not over and has something armed or held, oldest first."""
        raise NotImplementedError

    async def resolve(self, key: str, verdict: Verdict) -> Hold:
        """Decide what becomes of the held action; returns its hold with the verdict as it counts."""
        raise NotImplementedError

    async def extend(self, key: str, seconds: int, who: str, why: str) -> Hold:
        """Have the hold end by itself so much later; returns it."""
        raise NotImplementedError

    async def touch(self, token: str) -> None:
        """Note that somebody works in the container of a held attempt: its hold lasts its whole timeout from now."""
        raise NotImplementedError

    async def held(self, worker: str, token: str, held: Held) -> None:
        """Take note that an attempt's action is at a breakpoint."""
        raise NotImplementedError

    async def resumed(self, worker: str, token: str, resumed: Resumed) -> None:
        """Take note that a held action runs (again) in its container."""
        raise NotImplementedError

    async def asked(self, worker: str, token: str, asked: Asked) -> None:
        """Decide as somebody inside the held container asks."""
        raise NotImplementedError

    async def orders(self, worker: str, token: str) -> Orders:
        """What an attempt's worker is to do."""
        raise NotImplementedError
