"""Shells in held containers: who may open one, who comes to it, its worker, and its end.

Frames pass here between the operator door and the node door; sessions are in the store, so that they go on when the
appliance was started again and both sides come back.
"""

import asyncio
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NoReturn

from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.clock_trust import ClockTrust
from tinkbox.engine.lookup import only
from tinkbox.engine.secrets.masks import WorkflowMasks
from tinkbox.engine.shells.recordings import LIMIT, Recordings
from tinkbox.engine.shells.relay import PATIENCE, Line, Relay, Seat
from tinkbox.engine.shells.scrollback import Scrollback
from tinkbox.engine.shells.shell_requests import check, held_attempt, is_plain
from tinkbox.engine.shells.tickets import Tickets
from tinkbox.engine.wakeups import CHANGES, SHELLS, Wakeups, worker_wakeup
from tinkbox.engine.workflows.shell_drivers import ShellDrivers
from tinkbox.engine.workflows.workflows import find_to_change, find_workflow
from tinkbox.model import shells as facts
from tinkbox.model.access import Caller
from tinkbox.model.audit import Changed
from tinkbox.model.errors import Conflict, NotFound, Refusal, Unavailable
from tinkbox.model.history import Fact
from tinkbox.model.key_kinds import ToChange
from tinkbox.model.masking import Masks
from tinkbox.model.shells import Mode, ShellEnd, ShellWish
from tinkbox.model.workflow import Workflow
from tinkbox.store.database import Store, Tables
from tinkbox.store.shells import Session
from tinkbox.wire.terminal.asciicast import Header

MAX_LIVE = 16
LOOK_EVERY = 5.0
IDLE = timedelta(minutes=15)
COMING = timedelta(minutes=1)
ATTEMPT_OVER = ShellEnd(None, "AttemptOver", "the action is not held any more")
WORKFLOW_GONE = ShellEnd(None, "WorkflowDeleted", "its workflow was deleted")
NOBODY = ShellEnd(None, "Idle", "nobody was there to type")
TYPED_LOST = ShellEnd(
    None,
    "ApplianceRestarted",
    "a secret was typed for it, which is kept nowhere, and the appliance was started again: open it anew",
)
CLIENT_GONE = ShellEnd(None, "ClientGone", "whoever wanted the command's output is gone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session to attach to: with `ticket`, once, within half a minute.  `fresh` tells that it was not there before."""

    id: str
    ticket: str
    fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A session and everybody who is there, each with whether they type."""

    session: Session
    people: tuple[tuple[str, bool], ...] = ()


class Shells:
    """Open, attach to, serve, list and end shells.

    Wherever a `key` is asked, it is a workflow's id, a unique beginning of one, or the name of the newest so called.
    `touch` is told the token of every attempt whose shell is in use.  Recordings are `kept` for so long, None: as long as their
    workflows.  The end of a shell, with the digest of its recording, is a line of the `audit`.  None is deleted for its age while `clock_trust` says no.
    A shell belongs to its driver, the last one where nobody types: it ends when `drivers` says so.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        new_token: Callable[[], str],
        recordings: Path,
        touch: Callable[[str], Awaitable[None]],
        masks: WorkflowMasks,
        drivers: ShellDrivers,
        *,
        patience: float = PATIENCE,
        recorded: int = LIMIT,
        kept: timedelta | None = None,
        audit: Audit | None = None,
        clock_trust: ClockTrust | None = None,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._new_id = new_id
        self._touch = touch
        self._masks = masks
        self._drivers = drivers
        self._patience = patience
        self._tickets = Tickets(clock, new_token)
        self._recordings = Recordings(recordings, clock, recorded)
        self._kept = kept
        self._audit = audit
        self._clock_trust = clock_trust
        self._relays: dict[str, Relay] = {}
        self._live: set[str] = set()
        self._making = asyncio.Lock()
        self._since = clock()
        self._closed = False
        self._told_old = set[str]()

    async def load(self) -> None:
        """Know the sessions that go on, and forget what belongs to no workflow any more; once, before any is served."""
        self._live = {session.id for session in await self._store.read(lambda tables: tables.shells.live())}
        await self.forget_recordings()
        self._since = self._clock()

    async def forget_recordings(self) -> None:
        """Delete the recordings of workflows that are there no more, unless recordings have an age of their own."""
        if self._kept is not None:
            return
        known = set(await self._store.read(lambda tables: tables.workflows.ids()))
        await asyncio.to_thread(self._recordings.forget, known)

    async def forget_old_recordings(self) -> bool:
        """Delete the recordings that are older than they are kept, once a line of the audit says so; that no more is to be done.

        Raises Unavailable.
        """
        if self._kept is None or not (self._clock_trust is None or await self._clock_trust.may_delete()):
            return False
        old = await asyncio.to_thread(self._recordings.older, self._clock() - self._kept)
        old = [each for each in old if each not in self._live]
        # One that the disk does not let go is told once.
        fresh = [each for each in old if each not in self._told_old]
        if fresh and self._audit is not None:
            audit, why = self._audit, "older than retention.recordings"
            await self._store.write(lambda tables: audit.own(tables, "recording deleted", fresh, why))
            audit.told()
        self._told_old = set(old)
        await asyncio.to_thread(self._recordings.delete, old)
        return False

    async def run(self) -> NoReturn:
        """End what nobody uses, for ever; when it is stopped, whoever is attached is hung up on."""
        try:
            while True:
                # What changes elsewhere concerns nobody here while no session goes on.
                async with self._wakeups.listening(CHANGES if self._live else SHELLS, LOOK_EVERY):
                    with suppress(Refusal):
                        await self.sweep()
        finally:
            self._closed = True
            for relay in self._relays.values():
                relay.stop_recording()
                relay.hang_up()

    def look_again(self) -> None:
        """Have the sessions looked at now: a token counts no more, or machines have other labels."""
        if self._live:
            self._wakeups.wake(CHANGES)

    async def open(self, key: str, wish: ShellWish, asker: Caller, *, record_input: bool = False) -> Opened:
        """A shell for who asks, or a command; its id in `wish` is given here.

        Who wants just a shell gets the one that is there.  The worker is given what was typed; what is kept and shown of it
        is masked.  Raises Conflict when there is no held container, Forbidden
        when the machine takes no breakpoints, and Invalid for what cannot be run.
        """
        check(wish)

        def use_case(tables: Tables) -> tuple[Session, ShellWish | None]:
            workflow = find_to_change(tables, key, ToChange.HELD)
            current = workflow.current()
            live = tables.shells.live_of(current.attempt) if current else []
            if is_plain(wish):
                for session in live:
                    if is_plain(session.wish) and session.record_input >= record_input:
                        return session, None
            attempt, action = held_attempt(tables, workflow)
            if len(live) >= MAX_LIVE:
                raise Conflict(f"{len(live)} shells are open in this container: end one of them first")
            session_id = self._new_id()
            typed = replace(wish, id=session_id)
            kept = _masked(self._masks.of(tables, workflow.id), typed)
            session = Session(
                id=session_id,
                attempt=attempt.token,
                workflow_id=workflow.id,
                who=asker.name,
                driver=asker.name,
                token=asker.token,
                wish=kept,
                masked=kept != typed,
                record_input=record_input,
                opened_at=self._clock(),
            )
            tables.shells.add(session)
            fact = facts.opened(
                action, attempt.token, session_id, asker.name, user=kept.user, record_input=record_input
            )
            self._note(tables, session, fact)
            if kept.command:
                self._note(tables, session, facts.command(session_id, asker.name, kept.command))
            return session, typed

        session, typed = await self._store.write(use_case)
        if session.masked and typed is not None:
            self._masks.typed.keep(typed)
        self._live.add(session.id)
        self._wakeups.wake(SHELLS)
        self._wakeups.wake(CHANGES)
        return Opened(id=session.id, ticket=self._tickets.issue(session.id, asker), fresh=typed is not None)

    async def join(self, key: str, asker: Caller, session_id: str = "") -> Opened:
        """A way to a shell that is there, the newest unless its id is given; raises NotFound or Conflict."""

        def question(tables: Tables) -> tuple[Workflow, list[Session]]:
            workflow = find_to_change(tables, key, ToChange.HELD)
            return workflow, tables.shells.of(workflow.id)

        workflow, sessions = await self._store.read(question)
        found = [each for each in sessions if not session_id or each.id == session_id]
        if session_id and not found:
            raise NotFound(f"workflow {workflow.id} has no shell {session_id}")
        live = [each for each in found if each.ended_at is None and each.wish.tty]
        if session_id and not live:
            raise Conflict(f"shell {session_id} is over: {_why(found[0])}")
        if not live:
            raise Conflict(f"nobody has a shell open in workflow {workflow.id}: open one with tinkbox breakpoint shell")
        return Opened(id=live[-1].id, ticket=self._tickets.issue(live[-1].id, asker), fresh=False)

    def invited(self, session_id: str, ticket: str) -> Caller:
        """Whose ticket for a session this is, before it is used; raises Denied for one that is none."""
        return self._tickets.look(ticket, session_id).asker

    @asynccontextmanager
    async def attached(self, session_id: str, ticket: str, mode: Mode, after: int = 0) -> AsyncIterator[Seat]:
        """A seat at a shell for whose ticket this is, shown what was printed behind the place `after`.

        Raises Denied for a ticket that is none, NotFound for a session that is over, Conflict for a second client of
        a command.
        """
        asker = self._tickets.redeem(ticket, session_id).asker
        relay, session = await self._relay(session_id)
        before = relay.driver
        seat = relay.join(asker.name, mode, after, asker.token)
        driver = relay.drives(seat)
        try:
            self._ring(await self._store.write(lambda tables: self._came(tables, session, seat, before, driver=driver)))
            yield seat
        finally:
            driver = relay.drives(seat)
            relay.leave(seat)
            await self._left(session, seat.person, driver=driver)

    @asynccontextmanager
    async def served(self, worker: str, token: str, session_id: str) -> AsyncIterator[Line]:
        """The worker's end of a shell, as long as it is connected.

        Raises NotFound when the session is over, or not one of this worker's attempt.
        """
        attempt, session = await self._store.read(
            lambda tables: (tables.workflows.attempt(token), tables.shells.get(session_id))
        )
        if attempt is None or attempt.worker != worker or session is None or session.attempt != token:
            raise NotFound("there is no such shell in this worker's attempt")
        relay, session = await self._relay(session_id)
        line = relay.connect()
        try:
            yield line
        finally:
            relay.disconnect(line)

    async def listed(self, key: str) -> list[Listed]:
        """A workflow's sessions, oldest first."""
        sessions = await self._store.read(lambda tables: tables.shells.of(find_workflow(tables, key).id))
        seats = {each.id: self._relays[each.id].people() for each in sessions if each.id in self._relays}
        return [Listed(session=each, people=tuple(seats.get(each.id, ()))) for each in sessions]

    async def recording(self, key: str) -> BinaryIO:
        """The recording of a session, given by its id or a unique beginning of it; raises NotFound or Conflict."""
        return self._recordings.read(*await self._recorded(key))

    async def workflow_of(self, key: str) -> str:
        """The id of the workflow of such a session; raises the same."""
        return (await self._recorded(key))[0]

    async def _recorded(self, key: str) -> tuple[str, str]:
        """The workflow and the session of a recording."""
        sessions = await self._store.read(lambda tables: tables.shells.matching(key))
        found = [(each.workflow_id, each.id) for each in sessions]
        if not found and self._kept is not None:  # its workflow may be gone
            found = await asyncio.to_thread(self._recordings.matching, key)
        return only(found, "shell", key, "workflow events WORKFLOW")

    async def sweep(self) -> None:
        """End the sessions that nobody needs any more, and have the holds of those in use last."""
        expected = set(self._live)
        if not expected:
            return

        def question(tables: Tables) -> tuple[list[tuple[Session, ShellEnd | None]], list[str]]:
            live = [(session, self._drivers.end(tables, session)) for session in tables.shells.live()]
            return live, tables.shells.left_behind()

        live, behind = await self._store.read(question)
        for gone in expected - {session.id for session, _ in live}:
            self._finish(gone, WORKFLOW_GONE)
        for session, by_token in live:
            end = ATTEMPT_OVER if session.id in behind else by_token or self._unserved(session)
            if end is not None:
                await self.over(session, end)
            elif session.id in self._relays and self._relays[session.id].was_active():
                await self._touch(session.attempt)

    async def driver_changed(self, session: Session, seat: Seat, before: str) -> None:
        """Write down that somebody took the keyboard."""
        await self._store.write(lambda tables: self._took(tables, session, seat, before))
        self._wakeups.wake(CHANGES)

    async def over(self, session: Session, end: ShellEnd) -> None:
        """End a session, if it is not over yet: its worker ends what runs in it, everybody is told, without secrets."""
        masks = await self._store.read(lambda tables: self._masks.of(tables, session.workflow_id))
        end = replace(end, reason=masks.text(end.reason), message=masks.text(end.message))
        relay = self._relays.get(session.id)
        if relay is not None:
            relay.stop_recording()
        kept = await asyncio.to_thread(self._recordings.kept, session.workflow_id, session.id)

        def use_case(tables: Tables) -> str | None:
            now = tables.shells.get(session.id)
            if now is None or now.ended_at is not None:
                return None
            tables.shells.end(session.id, end, self._clock(), digest=kept.digest, size=kept.size)
            told = facts.ended(
                session.id,
                exit_code=end.exit_code,
                reason=end.reason,
                message=end.message,
                sha256=kept.digest,
                size=kept.size,
            )
            self._note(tables, session, told)
            if self._audit is not None:
                recorded = [Changed("recording", session.id, "", f"sha256:{kept.digest}")] if kept.digest else []
                self._audit.own(tables, "shell ended", [session.id], end.message or end.reason, recorded)
            return _worker(tables, session)

        worker = await self._store.write(use_case)
        if self._audit is not None:
            self._audit.told()
        if worker is not None:
            self._finish(session.id, end)
            self._ring(worker)

    async def _relay(self, session_id: str) -> tuple[Relay, Session]:
        async with self._making:
            session = await self._store.read(lambda tables: tables.shells.get(session_id))
            if self._closed:
                raise Unavailable("tinkbox is shutting down: the shell goes on when it is started again")
            if session is None or session.ended_at is not None:
                raise NotFound(f"shell {session_id} is over: {_why(session)}")
            if session_id not in self._relays:
                masks = await self._store.read(lambda tables: self._masks.of(tables, session.workflow_id))
                scrollback = await asyncio.to_thread(self._scrollback, session)
                if session_id not in self._live:
                    raise NotFound(f"shell {session_id} is over")
                recording = self._recordings.record(session.workflow_id, session_id, _header(session))
                self._relays[session_id] = Relay(
                    session, recording, scrollback, self, self._clock, self._patience, masks
                )
            return self._relays[session_id], session

    def _scrollback(self, session: Session) -> Scrollback:
        """What a session printed before the appliance was started again."""
        scrollback = Scrollback()
        if session.wish.tty:
            for content in self._recordings.output(session.workflow_id, session.id):
                scrollback.add(content)
        return scrollback

    def _came(self, tables: Tables, session: Session, seat: Seat, before: str, *, driver: bool) -> str:
        tables.shells.begin(session.id, self._clock())
        self._note(tables, session, facts.attached(session.id, seat.person, driver=driver))
        if driver:
            tables.shells.set_driver(session.id, seat.person, seat.token)
            if before:
                self._note(tables, session, facts.driver_changed(session.id, seat.person, before))
        return _worker(tables, session)

    def _took(self, tables: Tables, session: Session, seat: Seat, before: str) -> None:
        tables.shells.set_driver(session.id, seat.person, seat.token)
        self._note(tables, session, facts.driver_changed(session.id, seat.person, before))

    async def _left(self, session: Session, person: str, *, driver: bool) -> None:
        """Write down that somebody left a session that goes on; a command does not go on without its client."""
        if self._closed or session.id not in self._relays:
            return
        fact = facts.detached(session.id, person, driver=driver)
        await self._store.write(lambda tables: self._note(tables, session, fact))
        self._wakeups.wake(CHANGES)
        if not session.wish.tty:
            by_token = await self._store.read(lambda tables: self._drivers.end(tables, session))
            await self.over(session, by_token or CLIENT_GONE)

    def _note(self, tables: Tables, session: Session, fact: Fact) -> None:
        tables.events.add(session.workflow_id, self._clock(), *fact)

    def _unserved(self, session: Session) -> ShellEnd | None:
        """Why a session should end by itself, if it should."""
        if self._masks.typed.is_lost(session):
            return TYPED_LOST
        relay, now = self._relays.get(session.id), self._clock()
        if session.begun_at is None:
            return NOBODY if now - max(session.opened_at, self._since) > COMING else None
        if not session.wish.tty:
            return None if relay is not None and relay.driver else CLIENT_GONE
        alone_since = relay.alone_since if relay is not None else self._since
        return NOBODY if alone_since is not None and now - alone_since > IDLE else None

    def _finish(self, session_id: str, end: ShellEnd) -> None:
        self._live.discard(session_id)
        self._masks.typed.forget(session_id)
        relay = self._relays.pop(session_id, None)
        if relay is not None:
            relay.finish(end)

    def _ring(self, worker: str) -> None:
        self._wakeups.wake(worker_wakeup(worker))
        self._wakeups.wake(CHANGES)


def _worker(tables: Tables, session: Session) -> str:
    attempt = tables.workflows.attempt(session.attempt)
    return attempt.worker if attempt is not None else ""


def _masked(masks: Masks, wish: ShellWish) -> ShellWish:
    user, folder, term = masks.words((wish.user, wish.folder, wish.term))
    return replace(
        wish,
        command=masks.words(wish.command),
        user=user,
        folder=folder,
        term=term,
        environment=masks.environment(wish.environment),
    )


def _header(session: Session) -> Header:
    return Header(
        width=session.wish.columns,
        height=session.wish.rows,
        timestamp=int(session.opened_at.timestamp()),
        title=f"workflow {session.workflow_id}, opened by {session.who}",
        command=shlex.join(session.wish.command),
        env={"TERM": session.wish.term} if session.wish.tty else {},
    )


def _why(session: Session | None) -> str:
    if session is None or session.end is None:
        return "there is none of that id"
    return session.end.words
