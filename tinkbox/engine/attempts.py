"""The worker's side: offers, reports, output, ephemeral data.

Delivery is at least once, the effect exactly once: every message names its attempt by token, the
same again gets the same answer, and what is stale is refused.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta

from tinkbox.engine.bells import CHANGES, Bells, worker_bell
from tinkbox.engine.machine import ACTION, ENDING, WORKFLOW, Happening, advance
from tinkbox.engine.machines import Machines
from tinkbox.engine.plan import Turn, turn
from tinkbox.model.errors import Conflict, NotFound, TooLarge
from tinkbox.model.workflow import FINAL, Outcome, PlannedAction, State, Workflow
from tinkbox.store.data import DataVersion
from tinkbox.store.database import Store, Tables
from tinkbox.store.workflows import Attempt
from tinkbox.wire.bundle import MAX_ARCHIVE
from tinkbox.wire.worker import Hello, Offer, Report

EVENT = {State.SUCCESS: "succeeded", State.FAILED: "failed", State.TIMEOUT: "timeout"}


class Attempts:
    """What workers ask and say.  `worker` is always the machine's id that its credential proved."""

    def __init__(
        self,
        store: Store,
        bells: Bells,
        machines: Machines,
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
    ) -> None:
        self._store = store
        self._bells = bells
        self._machines = machines
        self._clock = clock
        self._new_token = new_token

    async def offer(self, worker: str, hello: Hello) -> Offer | None:
        """The attempt this worker is to work on, or None when there is nothing for it now.

        A worker that comes back within the same boot gets the same attempt again.  After another
        boot the attempt is lost and fails, for nobody knows what it did.
        """
        self._machines.contact(worker, hello.boot_id)
        async with self._store.read() as tables:
            if await tables.workflows.next_for(worker) is None:
                return None
        offer, woken = await self._store.write(lambda tables: self._offer(tables, worker, hello))
        await self._wake(woken)
        return offer

    async def wait(self, worker: str, timeout: float) -> None:
        """Wait until there may be work for this machine, at most `timeout` seconds."""
        await self._bells.wait(worker_bell(worker), timeout)

    async def report(self, worker: str, token: str, report: Report) -> None:
        """Take note of how an attempt ended.

        Raises NotFound for an attempt that is not this worker's, Conflict for one that ended otherwise.
        """

        async def use_case(tables: Tables) -> list[str]:
            attempt = await _own(tables, worker, token)
            if attempt.workflow_id != report.workflow_id:
                raise Conflict(f"attempt {token} belongs to another workflow")
            if attempt.state in FINAL:
                if attempt.outcome == report.outcome:
                    return []
                raise Conflict(f"attempt {token} ended already ({attempt.state}): this report is too late")
            return await self._end(tables, attempt, report.outcome)

        await self._wake(await self._store.write(use_case))

    async def output(self, worker: str, token: str, offset: int, chunk: bytes) -> int:
        """Append output that begins at byte `offset`; returns the offset wanted next.

        What is there already is skipped; what would leave a gap is not taken.
        """

        async def use_case(tables: Tables) -> int:
            attempt = await _own(tables, worker, token)
            fresh = chunk[max(0, attempt.output_length - offset) :]
            if offset > attempt.output_length or not fresh:
                return attempt.output_length
            return await tables.output.append(token, attempt.output_length, fresh)

        wanted = await self._store.write(use_case)
        self._bells.ring(CHANGES)
        return wanted

    async def data(self, worker: str, token: str) -> bytes:
        """The workflow's ephemeral data as an archive; empty when there is none yet."""
        async with self._store.read() as tables:
            attempt = await _own(tables, worker, token)
            newest = await tables.data.newest(attempt.workflow_id)
        return (newest.archive or b"") if newest else b""

    async def keep_data(self, worker: str, token: str, archive: bytes) -> int:
        """Store a new version of the ephemeral data; returns its number.

        The same data as the newest version's makes no new one.  Raises TooLarge beyond the limit,
        Conflict when the attempt is over.
        """
        if len(archive) > MAX_ARCHIVE:
            raise TooLarge(f"the archive of the ephemeral data is {len(archive)} bytes, at most {MAX_ARCHIVE} are kept")
        digest, now = hashlib.sha256(archive).hexdigest(), self._clock()

        async def use_case(tables: Tables) -> int:
            attempt = await _own(tables, worker, token)
            newest = await tables.data.newest(attempt.workflow_id)
            if newest is not None and newest.digest == digest:
                return newest.version
            if attempt.state in FINAL:
                raise Conflict(f"attempt {token} is over: its data is not taken any more")
            version = DataVersion(
                version=newest.version + 1 if newest else 1,
                at=now,
                worker=worker,
                size=len(archive),
                digest=digest,
                archive=archive,
            )
            await tables.data.add(attempt.workflow_id, version)
            return version.version

        return await self._store.write(use_case)

    async def _offer(self, tables: Tables, worker: str, hello: Hello) -> tuple[Offer | None, list[str]]:
        woken: list[str] = []
        while True:
            workflow_id = await tables.workflows.next_for(worker)
            if workflow_id is None:
                return None, woken
            workflow = await tables.workflows.get(workflow_id)
            current = workflow.current()
            attempt = await tables.workflows.attempt(current.attempt) if current and current.attempt else None
            what, status = turn(workflow, worker, hello.boot_id, attempt.boot_id if attempt else "")
            if what is Turn.START and status is not None:
                return await self._start(tables, workflow, status.action, hello), woken
            if what is Turn.RESUME and status is not None and attempt is not None:
                return self._offered(workflow, status.action, attempt), woken
            if what is Turn.LOST and attempt is not None:
                woken += await self._end(tables, attempt, _LOST)
                continue
            return None, woken

    async def _start(self, tables: Tables, workflow: Workflow, action: PlannedAction, hello: Hello) -> Offer:
        now = self._clock()
        attempt = Attempt(
            token=self._new_token(),
            workflow_id=workflow.id,
            position=action.index,
            worker=action.worker,
            boot_id=hello.boot_id,
            state=advance(ACTION, State.PENDING, Happening.STARTED),
            started_at=now,
        )
        await tables.workflows.begin_attempt(attempt)
        await tables.workflows.set_action_state(workflow.id, action.index, attempt.state)
        if workflow.state is State.PENDING:
            await tables.workflows.set_state(workflow.id, advance(WORKFLOW, workflow.state, Happening.STARTED), now)
            await tables.events.add(workflow.id, now, "workflow.started", {})
        await tables.events.add(
            workflow.id,
            now,
            "action.started",
            {**_which(action), "state": State.RUNNING, "message": "Started execution"},
        )
        return self._offered(workflow, action, attempt)

    def _offered(self, workflow: Workflow, action: PlannedAction, attempt: Attempt) -> Offer:
        deadline = attempt.started_at + timedelta(seconds=action.timeout)
        return Offer(
            workflow_id=workflow.id,
            attempt=attempt.token,
            remaining=max(0.0, (deadline - self._clock()).total_seconds()),
            action=action,
        )

    async def _end(self, tables: Tables, attempt: Attempt, outcome: Outcome) -> list[str]:
        """End an attempt, with it its action, and when that decides it the workflow; returns whom to wake."""
        now = self._clock()
        workflow = await tables.workflows.get(attempt.workflow_id)
        status = workflow.actions[attempt.position]
        happening = ENDING[outcome.state]
        await tables.workflows.end_attempt(attempt.token, outcome, now)
        await tables.workflows.set_action_state(workflow.id, attempt.position, advance(ACTION, status.state, happening))
        seconds = (now - attempt.started_at).total_seconds()
        fact = {**_which(status.action), "state": outcome.state, "seconds": round(seconds, 3)}
        told = {"message": outcome.message, "reason": outcome.reason, "exit_code": outcome.exit_code}
        await tables.events.add(workflow.id, now, f"action.{EVENT[outcome.state]}", {**fact, **told})
        workers = list({each.action.worker for each in workflow.actions})
        over = outcome.state is not State.SUCCESS or attempt.position == len(workflow.actions) - 1
        if over:
            await tables.workflows.set_state(workflow.id, advance(WORKFLOW, workflow.state, happening), now)
            await tables.events.add(workflow.id, now, f"workflow.{EVENT[outcome.state]}", {})
            if outcome.state is State.SUCCESS:
                await tables.hardware.withdraw_ticket(workers, installed=True)
        return workers

    async def _wake(self, workers: list[str]) -> None:
        if workers:
            await self._machines.refresh(workers)
        for worker in workers:
            self._bells.ring(worker_bell(worker))
        self._bells.ring(CHANGES)


_LOST = Outcome(
    state=State.FAILED,
    reason="WorkerLost",
    message="the machine booted again while this action ran, so nobody knows how far it came; it was not repeated",
)


async def _own(tables: Tables, worker: str, token: str) -> Attempt:
    attempt = await tables.workflows.attempt(token)
    if attempt is None or attempt.worker != worker:
        raise NotFound("there is no such attempt of this worker: its workflow was deleted, or it never was")
    return attempt


def _which(action: PlannedAction) -> dict[str, object]:
    return {"task": action.task, "action": action.name, "index": action.index, "worker": action.worker}
