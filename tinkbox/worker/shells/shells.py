"""The shells of one attempt: those that the appliance wants, in the container that is held.

Rule 1: a session begins once, also across the worker's lives: a command must not run twice.
Rule 2: a session ends with everything that was started in it.
Rule 3: whatever becomes of a session, the appliance is told, and neither another session nor the attempt is hurt.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from types import TracebackType
from typing import Protocol, Self

from tinkbox.model.reasons import Reason
from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.runtime import Container, Runtime
from tinkbox.worker.files.notes import Notes
from tinkbox.worker.shells.line import Connection
from tinkbox.worker.shells.session import ShellSession, reap

LEAVE_SECONDS = 10.0
TELL_SECONDS = 5.0
_WORKER_RESTARTED = ShellEnd(
    None, Reason.SHELL_LOST, "the worker on the machine was started again, and its shells with it"
)
_BROKEN = ShellEnd(None, Reason.SHELL_LOST, "the worker failed to serve it; its log says more")
_log = logging.getLogger(__name__)


class Door(Protocol):
    """Where the lines of shells end."""

    def shell(self, attempt: str, session: str, *, tty: bool) -> AbstractAsyncContextManager[Connection]: ...


class ShellHost:
    """An async context manager: its sessions last no longer.

    Nothing begins before there is a container; without breakpoints there never is one.
    """

    def __init__(self, runtime: Runtime, door: Door, attempt: str, notes: Notes) -> None:
        self._runtime = runtime
        self._door = door
        self._attempt = attempt
        self._notes = notes
        self._ends = notes.sessions(attempt)  # of those that ever began, None while one goes on
        self._left_behind = [session for session, end in self._ends.items() if end is None]
        self._ends.update(dict.fromkeys(self._left_behind, _WORKER_RESTARTED))
        self._wishes: tuple[ShellWish, ...] = ()
        self._sessions: dict[str, ShellSession] = {}
        self._container_id = ""
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self.leave()
            await _all([session.told for session in self._sessions.values()], TELL_SECONDS)
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)  # what ended the attempt is not the sessions' failure

    def enter(self, container: Container) -> None:
        """From now on sessions are wanted in this container; what a worker before this one left in it is ended."""
        self._container_id = container.id
        for session in self._left_behind:
            self._start(reap(self._runtime, container.id, session))
        self._left_behind.clear()
        self._reconcile()

    def wanted(self, wishes: tuple[ShellWish, ...]) -> None:
        """These are all the sessions that the appliance wants."""
        self._wishes = wishes
        self._reconcile()

    async def leave(self) -> None:
        """End all sessions, for their container is about to end."""
        self._container_id = ""
        for session in self._sessions.values():
            session.end()
        await _all([session.gone for session in self._sessions.values()], LEAVE_SECONDS)

    def _reconcile(self) -> None:
        wanted = {wish.id for wish in self._wishes}
        for identity, session in self._sessions.items():
            if identity not in wanted:
                session.drop()
        for wish in self._wishes:
            if wish.id not in self._sessions and (self._container_id or wish.id in self._ends):
                self._begin(wish)

    def _begin(self, wish: ShellWish) -> None:
        end = self._ends.get(wish.id)
        if end is None:
            self._keep(wish.id, None)
        session = self._session(wish, end)
        self._sessions[wish.id] = session
        self._start(self._served(wish, session))

    def _session(self, wish: ShellWish, end: ShellEnd | None) -> ShellSession:
        dial = partial(self._door.shell, self._attempt, wish.id, tty=wish.tty)
        return ShellSession(self._runtime, self._container_id, wish, dial, partial(self._keep, wish.id), end)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _served(self, wish: ShellWish, session: ShellSession) -> None:
        try:
            await session.run()
        except Exception:
            _log.exception("shell %s broke", wish.id, extra={"action": "shell.broke"})
            self._keep(wish.id, _BROKEN)
            session.gone.set()
            self._sessions[wish.id] = rest = self._session(wish, _BROKEN)
            with suppress(Exception):  # maybe the same fault again
                await reap(self._runtime, session.container_id, wish.id, wish.user)
            self._reconcile()
            await rest.run()
        del self._sessions[wish.id], self._ends[wish.id]

    def _keep(self, session: str, end: ShellEnd | None) -> None:
        self._ends[session] = end
        self._notes.keep_sessions(self._attempt, self._ends)


async def _all(events: Iterable[asyncio.Event], seconds: float) -> None:
    """Wait until all have come, but not longer than this."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            for event in events:
                await event.wait()
