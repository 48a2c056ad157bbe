"""Machines that went away by intention and boot again: that is how their action succeeds.

The sighting is made in memory, while the machine is answered; here it becomes a fact, once the worker of the boot before was
silent for a while.  One that is lost with the process is made again: a boot asks more than once, and the worker's first word
counts as well.  With its boot the machine's session ends, so that a worker that was only slow is offered nothing more.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import NoReturn

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.wakeups import RETURNS, Wakeups
from tinkbox.engine.workflows.endings import end_attempt, tell
from tinkbox.model.errors import Unavailable
from tinkbox.model.workflow import Outcome, State
from tinkbox.store.database import Store, Tables

LOOK_EVERY = 5.0
RETURNED = Outcome(state=State.SUCCESS, message="the machine went away and booted again")
SEEN = Outcome(state=State.SUCCESS, message="the machine was seen booting again, and its worker had fallen silent")
_log = logging.getLogger(__name__)


class Returns:
    """A part: completes the attempts of machines that are back."""

    def __init__(self, store: Store, wakeups: Wakeups, machines: Machines, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._returned: set[str] = set()

    def returned(self) -> list[str]:
        """The attempts whose machines are back and that are not completed yet."""
        self._returned |= self._machines.absences.over()
        return list(self._returned)

    async def run(self) -> NoReturn:
        """Complete them as they come, for ever."""
        while True:
            if not self.returned():
                soon = self._machines.absences.next_in()
                await self._wakeups.wait(RETURNS, LOOK_EVERY if soon is None else soon)
            try:
                await self.look()
            except Unavailable as error:
                _log.warning("a return is not noted yet: %s", error, extra={"action": "returns.unsaved"})
                await self._wakeups.wait(RETURNS, LOOK_EVERY)

    async def look(self) -> None:
        """Complete those that are back now; raises Unavailable when the store is."""
        for token in self.returned():

            def use_case(tables: Tables, token: str = token) -> tuple[list[str], list[str]]:
                attempt = tables.workflows.attempt(token)
                if attempt is None or attempt.state is not State.LEAVING:
                    return [], []
                self._machines.sessions.end_boot(tables, attempt.worker, attempt.boot_id)
                if tables.workflows.step(attempt.workflow_id, attempt.position).status.action.spec.until:
                    return [], [attempt.worker]  # its disk boots, and the action waits for the system on it
                return end_attempt(tables, attempt, SEEN, self._clock()), [attempt.worker]

            workers, returned = await self._store.write(use_case)
            self._returned.discard(token)
            await self._machines.sessions.over(*returned)
            await tell(self._machines, self._wakeups, workers)
