"""Deadlines, kept by the appliance's clock, whatever becomes of worker and machine.

The worker keeps an action's timeout by itself and reports; these are for when nothing is heard of it,
and for what only the appliance can know.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import NoReturn

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.first_boot import concluded, concludes_at, never_phoned_home
from tinkbox.engine.rules.service_readiness import not_ready
from tinkbox.engine.rules.verdicts import unconfirmed, warned_at
from tinkbox.engine.timeline.sighting_rules import ended_at
from tinkbox.engine.wakeups import Wakeups
from tinkbox.engine.workflows.endings import end_attempt, end_first_boot, give_up, stop, tell
from tinkbox.engine.workflows.holds import expire, warn
from tinkbox.engine.workflows.journals import waiting
from tinkbox.model.breakpoint import Hold
from tinkbox.model.conditions import why_stopped
from tinkbox.model.duration import show_duration
from tinkbox.model.errors import Unavailable
from tinkbox.model.hardware import called
from tinkbox.model.reasons import Reason
from tinkbox.model.services import ServiceStatus
from tinkbox.model.text import counted
from tinkbox.model.workflow import Outcome, PlannedAction, State
from tinkbox.store.database import Store, Tables
from tinkbox.store.workflows import Attempt, UnderWay
from tinkbox.wire.polling import SILENT_SECONDS

LOOK_EVERY = 2.0
STOP_GRACE = 10
MAX_HOOK = 600
# For the report to arrive.  What began before the appliance last did gets it anew, for nobody was there to listen.
REPORTING = 60
STOPPING = 90
CONFIRMING = 60
Moment = Callable[[datetime, float, "Due"], tuple[datetime, "Due"]]
_log = logging.getLogger(__name__)


class Due(Enum):
    """What the appliance does not wait for any longer."""

    REPORT = "the report of an action whose timeout is over"
    RETURN = "a machine that went away by intention"
    FIRST_BOOT = "the last report of a system that phoned home"
    END = "the end of a workflow whose global timeout is over"
    STOP = "the confirmation that an action was stopped"
    WARNING = "the warning that a hold ends soon"
    VERDICT = "a verdict on a held action"
    CONFIRMATION = "the confirmation that a verdict was carried out"


def due(under_way: UnderWay, listening_since: datetime) -> tuple[datetime, Due] | None:
    """What will be due next of a workflow, and when.

    While an action is held neither its own nor the workflow's time runs: the hold has a time of its own.
    """

    def moment(since: datetime, seconds: float, what: Due) -> tuple[datetime, Due]:
        return _deadline(since, seconds, listening_since), what

    moments: list[tuple[datetime, Due]] = []
    hold = under_way.hold
    if under_way.state is State.RUNNING and under_way.global_timeout and hold is None:
        moments.append(moment(under_way.began, under_way.global_timeout + under_way.held_seconds, Due.END))
    action, attempt = under_way.action, under_way.attempt
    if action is not None and attempt is not None:
        hooks = min(action.spec.timeout, MAX_HOOK) if action.spec.on_timeout or action.spec.on_failure else 0
        if hold is not None:
            if under_way.state is State.RUNNING:
                moments += _due_of(hold, hooks, moment)
        elif attempt.left_at is not None:
            moments.append(moment(attempt.left_at, action.spec.timeout, Due.RETURN))
            if action.spec.until and (when := concludes_at(under_way.first_boot)):
                moments.append((when, Due.FIRST_BOOT))
        else:
            since = attempt.resumed_at or attempt.started_at
            moments.append(moment(since, action.spec.timeout + STOP_GRACE + hooks + REPORTING, Due.REPORT))
        if under_way.stopped_at is not None:
            moments.append(moment(under_way.stopped_at, STOPPING + hooks, Due.STOP))
    return min(moments, key=lambda each: each[0]) if moments else None


def silence_of(attempt: Attempt, contact: datetime | None, now: datetime, listening_since: datetime) -> str:
    """How long the attempt's worker has been silent, in words; empty when it is not, or was not listened to for long enough.

    `contact` is when the worker was in touch last; None: never.
    """
    heard = max(contact or attempt.started_at, attempt.started_at)
    if (now - max(heard, listening_since)).total_seconds() <= SILENT_SECONDS:
        return ""
    return f"silent since {heard:%Y-%m-%d %H:%M:%S} UTC, for {show_duration((now - heard).total_seconds())}"


def ready_by(status: ServiceStatus, listening_since: datetime) -> datetime | None:
    """When a service that is not ready yet must be; None while nobody was told of it."""
    return _deadline(status.begun_at, status.service.spec.timeout, listening_since) if status.begun_at else None


def _deadline(since: datetime, seconds: float, listening_since: datetime) -> datetime:
    when = since + timedelta(seconds=seconds)
    return max(when, listening_since + timedelta(seconds=REPORTING)) if since < listening_since else when


def _due_of(hold: Hold, hooks: int, moment: Moment) -> list[tuple[datetime, Due]]:
    if hold.verdict is not None and hold.verdict_at is not None:
        return [moment(hold.verdict_at, CONFIRMING + STOP_GRACE + hooks, Due.CONFIRMATION)]
    expiry = moment(hold.held_at, (hold.deadline - hold.held_at).total_seconds(), Due.VERDICT)
    return [expiry] if hold.warned else [(warned_at(hold), Due.WARNING), expiry]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWork:
    """The workflow of an action that runs on a machine, or is held there, and when that ends if its worker is not heard any more."""

    workflow_id: str
    held: bool
    ends_at: datetime


class Deadlines:
    """A part: ends what is overdue."""

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        machines: Machines,
        clock: Callable[[], datetime],
        diagnosis_of: Callable[[str, datetime | None], str] = lambda _, __: "",
    ) -> None:
        """`diagnosis_of` gives what the doctor says of a workflow, by its id, as far as it was found since a time; empty: nothing."""
        self._store = store
        self._wakeups = wakeups
        self._machines = machines
        self._clock = clock
        self._listening_since = clock()
        self._diagnosis_of = diagnosis_of

    async def run(self) -> NoReturn:
        """End it when it is due, for ever."""
        while True:
            try:
                patience = await self.look()
            except Unavailable as error:
                _log.warning("deadlines wait: %s", error, extra={"action": "deadlines.unsaved"})
                patience = LOOK_EVERY
            await asyncio.sleep(patience)

    async def look(self) -> float:
        """End what is due now; returns after how many seconds to look again.

        Raises Unavailable when the store is.
        """
        now, patience = self._clock(), LOOK_EVERY

        def question(tables: Tables) -> list[tuple[datetime, Callable[[Tables], list[str]]]]:
            put_off = waiting(tables)  # whatever is due: what the store has of them is not how they stand
            found: list[tuple[datetime, Callable[[Tables], list[str]]]] = [
                (following[0], partial(self._end, workflow_id=each.workflow_id))
                for each in tables.workflows.under_way()
                if each.workflow_id not in put_off and (following := due(each, self._listening_since))
            ]
            found += [
                (when, partial(self._give_up, workflow_id=run.workflow_id))
                for run in tables.services.awaited()
                if run.workflow_id not in put_off and (when := ready_by(run.status, self._listening_since))
            ]
            return found

        for when, end in await self._store.read(question):
            patience = min(patience, (when - now).total_seconds())
            if when <= now:
                await tell(self._machines, self._wakeups, await self._store.write(end))
        return max(patience, 0.0)

    async def at_work(self, machines: Collection[str]) -> dict[str, AtWork]:
        """By id, those of these machines of which the worker is to be heard, for an action of theirs is under way."""

        def question(tables: Tables) -> dict[str, AtWork]:
            found: dict[str, AtWork] = {}
            for each in tables.workflows.under_way() if machines else ():
                attempt, following = each.attempt, due(each, self._listening_since)
                if attempt is None or attempt.worker not in machines or attempt.left_at is not None or not following:
                    continue
                ends_at = following[0] if each.hold is None else max(following[0], each.hold.deadline)
                found[attempt.worker] = AtWork(
                    workflow_id=each.workflow_id, held=each.hold is not None, ends_at=ends_at
                )
            return found

        return await self._store.read(question)

    def _give_up(self, tables: Tables, workflow_id: str) -> list[str]:
        """End a workflow that waits for a service which is overdue still."""
        now = self._clock()
        for run in tables.services.awaited(workflow_id):
            when, begun = ready_by(run.status, self._listening_since), run.status.begun_at
            why = not_ready(run.status, (now - begun).total_seconds()) if begun and when and when <= now else None
            if why is not None:
                _log.warning(
                    "workflow %s: service %s is overdue",
                    workflow_id,
                    run.status.service.spec.name,
                    extra={"action": "deadlines.over"},
                )
                diagnosis = self._diagnosis_of(workflow_id, None)
                return give_up(tables, tables.workflows.get(workflow_id), run.status, why, now, diagnosis=diagnosis)
        return []

    def _end(self, tables: Tables, workflow_id: str) -> list[str]:
        """End what is due of one workflow, unless something happened to it since it was looked at."""
        now = self._clock()
        for each in tables.workflows.under_way(workflow_id):
            following = due(each, self._listening_since)
            if following is None or following[0] > now:
                continue
            what = following[1]
            if each.hold is not None and what is Due.WARNING:
                return warn(tables, each.hold, now)
            _log.warning("workflow %s: %s is overdue", workflow_id, what.value, extra={"action": "deadlines.over"})
            diagnosis = self._diagnosis_of(workflow_id, each.attempt.started_at if each.attempt else None)
            if what is Due.END:
                return stop(tables, tables.workflows.get(workflow_id), State.TIMEOUT, now, diagnosis=diagnosis)
            if each.hold is not None and what is Due.VERDICT:
                return expire(tables, each.hold, now)
            if each.attempt is not None and each.action is not None:
                if each.action.spec.until and what in {Due.RETURN, Due.FIRST_BOOT}:
                    outcome = self._first_boot(tables, each, each.attempt, each.action)
                    return end_first_boot(tables, each.attempt, outcome, now, diagnosis=diagnosis)
                contact = self._machines.progress.last_contact(each.attempt.worker)
                silence = silence_of(each.attempt, contact, now, self._listening_since)
                outcome = _outcome(what, each, each.action, silence)
                return end_attempt(tables, each.attempt, outcome, now, diagnosis=diagnosis)
        return []

    def _first_boot(self, tables: Tables, under_way: UnderWay, attempt: Attempt, action: PlannedAction) -> Outcome:
        """How an attempt ends that waits for an installed system, by what that told."""
        hardware = next((each.hardware for each in tables.hardware.some([action.worker])), None)
        up = concluded(under_way.first_boot, called(hardware, action.address), self._clock())
        if up is not None:
            return up
        seen = tables.sightings.of([each.mac for each in hardware.interfaces]) if hardware else {}
        left = attempt.left_at or attempt.started_at
        since = [each for each in seen.values() if ended_at(each) >= left]
        return never_phoned_home(action.spec.timeout, since, under_way.first_boot)


def _outcome(what: Due, under_way: UnderWay, action: PlannedAction, silence: str) -> Outcome:
    """`silence` as `silence_of` has it."""
    if under_way.hold is not None and what is Due.CONFIRMATION:
        return unconfirmed(under_way.hold)
    if what is Due.RETURN:
        message = f"the machine went away by intention, and was not seen again within {counted(action.spec.timeout, 'second')}"
        return Outcome(state=State.FAILED, reason=Reason.NEVER_RETURNED, message=message)
    if what is Due.STOP and under_way.stop_into is not None:
        reason, message = why_stopped(under_way.stop_into, under_way.global_timeout)
        return Outcome(
            state=under_way.stop_into,
            reason=reason,
            message=f"{message}; the worker did not confirm that the action was stopped{silence and f': it is {silence}'}",
        )
    if silence:
        return Outcome(
            state=State.TIMEOUT,
            reason=Reason.WORKER_SILENT,
            message=f"the worker is {silence}: its machine is off, hangs, or cannot reach the appliance, or its credential was voided. The action's time of "
            f"{counted(action.spec.timeout, 'second')} ended meanwhile",
        )
    return Outcome(
        state=State.TIMEOUT,
        reason=Reason.TIMEOUT,
        message=f"the action has {counted(action.spec.timeout, 'second')}, and its worker did not report any end of it",
    )
