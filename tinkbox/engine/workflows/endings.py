"""What follows when an attempt ends or a workflow is told to stop, within the use-case that says so.

Each function works on the writer's tables and returns the machines to be told after the commit (`tell`).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.progress import handed_over, tries_again, workflow_ends
from tinkbox.engine.rules.service_runs import told_to_end
from tinkbox.engine.rules.transitions import ACTION, ENDING, WORKFLOW, Happening, advance
from tinkbox.engine.wakeups import CHANGES, SERVICES, Wakeups, worker_wakeup
from tinkbox.model import history
from tinkbox.model.breakpoint import Hold, Override, Verdict
from tinkbox.model.conditions import explanation, why_stopped
from tinkbox.model.reasons import hint
from tinkbox.model.services import ServiceStatus
from tinkbox.model.workflow import BEGUN, Outcome, State, Workflow
from tinkbox.store.database import Tables
from tinkbox.store.workflows import Attempt


def _given(hold: Hold | None) -> Verdict | None:
    return hold.verdict if hold else None


def end_attempt(
    tables: Tables,
    attempt: Attempt,
    outcome: Outcome,
    now: datetime,
    counting: Callable[[Hold | None], Verdict | None] = _given,
    *,
    diagnosis: str = "",
) -> list[str]:
    """End an attempt, with it its action or only this try at it, and when that decides it the workflow.

    `counting` tells the verdict that counts at the hold that it ends in, if any: else the one that was given there.
    `diagnosis` is what the doctor says of the workflow now, for the events of an end that is no success.
    """
    step = tables.workflows.step(attempt.workflow_id, attempt.position)
    status, workflow_id = step.status, step.workflow_id
    was_held = status.state is State.HELD or attempt.resumed_at is not None
    holds = tables.holds.of_attempt(attempt.token) if was_held else []
    hold = next((each for each in holds if each.ended_at is None), None)
    verdict = counting(hold)
    again = tries_again(step, outcome, verdict)
    happening = Happening.TRIED_AGAIN if again else ENDING[outcome.state]
    outcome = hinted(outcome)
    tables.workflows.end_attempt(attempt.token, outcome, now)
    tables.workflows.set_action_state(workflow_id, attempt.position, advance(ACTION, status.state, happening))
    if outcome.state in {State.FAILED, State.TIMEOUT}:
        tables.workflows.count_failure(workflow_id, attempt.position)
    if hold is not None:
        tables.holds.end(hold, now)
    if again and verdict is not None:
        changes = Override(command=verdict.command, environment=verdict.environment)
        tables.holds.set_override(workflow_id, attempt.position, changes)
    seconds = (now - attempt.started_at).total_seconds() - sum(each.lasted(now) for each in holds)
    held = hold.lasted(now) if hold else None
    fact = history.diagnosed(
        history.action_ended(status.action, attempt.token, outcome, seconds, again=again, held=held), diagnosis
    )
    tables.events.add(workflow_id, now, *fact)
    end = None if again else workflow_ends(step, outcome.state)
    if end is not None:
        return _end_workflow(tables, workflow_id, step.state, end, now, diagnosis)
    if status.state is State.LEAVING and tables.queues.next_for(attempt.worker) is None:
        # It is on its way to its own disk, while the workflow goes on elsewhere.
        tables.hardware.withdraw_ticket([attempt.worker], installed=True)
    return handed_over(step)


def hinted(outcome: Outcome) -> Outcome:
    """The same with what to do about it: what the worker passed on of its action, else the hint of a reason of ours."""
    return replace(
        outcome, hint="" if outcome.state is State.SUCCESS else outcome.hint or hint(outcome.reason, outcome.message)
    )


def end_first_boot(
    tables: Tables, attempt: Attempt, outcome: Outcome, now: datetime, *, diagnosis: str = ""
) -> list[str]:
    """The same of an attempt that waited for the system on its machine's disk.

    However that ended, the image is there: unless something is left to do, the machine boots its disk, not the OSIE.
    """
    woken = end_attempt(tables, attempt, outcome, now, diagnosis=diagnosis)
    tables.hardware.withdraw_ticket([attempt.worker], installed=True)
    return woken


def stop(tables: Tables, workflow: Workflow, into: State, now: datetime, *, diagnosis: str = "") -> list[str]:
    """End a workflow in CANCELED or TIMEOUT: at once, or when its running action was stopped."""
    current = workflow.current()
    if current is None or current.state not in BEGUN:
        return _end_workflow(tables, workflow.id, workflow.state, into, now, diagnosis)
    reason, message = why_stopped(into, workflow.global_timeout)
    tables.workflows.set_state(workflow.id, advance(WORKFLOW, workflow.state, Happening.STOPPED), now)
    tables.workflows.set_stop(workflow.id, into, now)
    tables.events.add(workflow.id, now, *history.stopping(into, reason, message))
    attempt = tables.workflows.attempt(current.attempt)
    if attempt is not None and current.state is State.LEAVING:
        # Nobody is there who could be told to stop.
        ends = end_first_boot if current.action.spec.until else end_attempt
        ends(tables, attempt, Outcome(state=into, reason=reason, message=message), now, diagnosis=diagnosis)
    return workflow.workers()


def give_up(
    tables: Tables, workflow: Workflow, status: ServiceStatus, why: Outcome, now: datetime, *, diagnosis: str = ""
) -> list[str]:
    """End a workflow that could not begin, because a service of it is not ready."""
    tables.workflows.set_reason(workflow.id, why.reason, why.message, status.service.spec.name)
    return _end_workflow(tables, workflow.id, workflow.state, State.FAILED, now, diagnosis)


async def tell(machines: Machines, wakeups: Wakeups, workers: Iterable[str]) -> None:
    """Let memory and everybody who waits know what was committed about these machines."""
    concerned = list(workers)
    if concerned:
        await machines.refresh(concerned)
    wake(wakeups, concerned)


def wake(wakeups: Wakeups, workers: Iterable[str]) -> None:
    """Wake everybody who waits for what was committed about these machines, of none of which memory has to know it."""
    for worker in workers:
        wakeups.wake(worker_wakeup(worker))
    wakeups.wake(CHANGES)
    wakeups.wake(SERVICES)


def _end_workflow(
    tables: Tables, workflow_id: str, state: State, end: State, now: datetime, diagnosis: str
) -> list[str]:
    tables.workflows.set_state(workflow_id, advance(WORKFLOW, state, ENDING[end]), now)
    over = tables.workflows.get(workflow_id)
    tables.events.add(workflow_id, now, *history.diagnosed(history.ended(end, *explanation(over)), diagnosis))
    if end in {State.SUCCESS, State.CANCELED}:
        tables.hardware.withdraw_ticket(over.workers(), installed=end is State.SUCCESS)
    for run in tables.services.open_of(workflow_id):
        standing = told_to_end(run.status.standing)
        tables.services.stand(standing, now)
        tables.events.add(workflow_id, now, *history.service_told(run.status.service, standing.phase, standing))
    return over.workers()
