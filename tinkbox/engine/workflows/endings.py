"""What follows when an attempt ends or a workflow is told to stop, within the use-case that says so.

Each function works on the writer's tables and returns the machines to be told after the commit (`tell`).
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from tinkbox.engine.machines.machines import Machines
from tinkbox.engine.rules.progress import handed_over, tries_again, workflow_ends
from tinkbox.engine.rules.service_runs import told_to_end
from tinkbox.engine.rules.transitions import ACTION, ENDING, WORKFLOW, Happening, advance
from tinkbox.engine.wakeups import CHANGES, SERVICES, Wakeups, worker_wakeup
from tinkbox.model import history
from tinkbox.model.breakpoint import Override
from tinkbox.model.conditions import explanation, why_stopped
from tinkbox.model.reasons import hint
from tinkbox.model.services import ServiceStatus
from tinkbox.model.workflow import BEGUN, Outcome, State, WorkflowStatus
from tinkbox.store.database import Tables
from tinkbox.store.workflows import Attempt


def end_attempt(tables: Tables, attempt: Attempt, outcome: Outcome, now: datetime) -> list[str]:
    """End an attempt, with it its action or only this try at it, and when that decides it the workflow."""
    workflow = tables.workflows.status(attempt.workflow_id)
    status = workflow.actions[attempt.position]
    was_held = status.state is State.HELD or attempt.resumed_at is not None
    holds = tables.holds.of_attempt(attempt.token) if was_held else []
    hold = next((each for each in holds if each.ended_at is None), None)
    verdict = hold.verdict if hold else None
    again = tries_again(workflow, status, outcome, verdict)
    happening = Happening.TRIED_AGAIN if again else ENDING[outcome.state]
    outcome = replace(outcome, hint="" if outcome.state is State.SUCCESS else hint(outcome.reason))
    tables.workflows.end_attempt(attempt.token, outcome, now)
    tables.workflows.set_action_state(workflow.id, attempt.position, advance(ACTION, status.state, happening))
    if outcome.state in {State.FAILED, State.TIMEOUT}:
        tables.workflows.count_failure(workflow.id, attempt.position)
    if hold is not None:
        tables.holds.end(hold, now)
    if again and verdict is not None:
        changes = Override(command=verdict.command, environment=verdict.environment)
        tables.holds.set_override(workflow.id, attempt.position, changes)
    seconds = (now - attempt.started_at).total_seconds() - sum(each.lasted(now) for each in holds)
    held = hold.lasted(now) if hold else None
    fact = history.action_ended(status.action, attempt.token, outcome, seconds, again=again, held=held)
    tables.events.add(workflow.id, now, *fact)
    end = None if again else workflow_ends(workflow, attempt.position, outcome.state)
    if end is not None:
        _end_workflow(tables, workflow, end, now)
        return workflow.workers()
    if status.state is State.LEAVING and tables.queues.next_for(attempt.worker) is None:
        # It is on its way to its own disk, while the workflow goes on elsewhere.
        tables.hardware.withdraw_ticket([attempt.worker], installed=True)
    return handed_over(workflow, attempt.position)


def stop(tables: Tables, workflow: WorkflowStatus, into: State, now: datetime) -> list[str]:
    """End a workflow in CANCELED or TIMEOUT: at once, or when its running action was stopped."""
    current = workflow.current()
    if current is None or current.state not in BEGUN:
        _end_workflow(tables, workflow, into, now)
        return workflow.workers()
    reason, message = why_stopped(into, workflow.global_timeout)
    tables.workflows.set_state(workflow.id, advance(WORKFLOW, workflow.state, Happening.STOPPED), now)
    tables.workflows.set_stop(workflow.id, into, now)
    tables.events.add(workflow.id, now, *history.stopping(into, reason, message))
    attempt = tables.workflows.attempt(current.attempt)
    if attempt is not None and current.state is State.LEAVING:
        # Nobody is there who could be told to stop.
        end_attempt(tables, attempt, Outcome(state=into, reason=reason, message=message), now)
    return workflow.workers()


def give_up(tables: Tables, workflow: WorkflowStatus, status: ServiceStatus, why: Outcome, now: datetime) -> list[str]:
    """End a workflow that could not begin, because a service of it is not ready."""
    tables.workflows.set_reason(workflow.id, why.reason, why.message, status.service.spec.name)
    _end_workflow(tables, workflow, State.FAILED, now)
    return workflow.workers()


async def tell(machines: Machines, wakeups: Wakeups, workers: Iterable[str]) -> None:
    """Let memory and everybody who waits know what was committed about these machines."""
    concerned = list(workers)
    if concerned:
        await machines.refresh(concerned)
    for worker in concerned:
        wakeups.wake(worker_wakeup(worker))
    wakeups.wake(CHANGES)
    wakeups.wake(SERVICES)


def _end_workflow(tables: Tables, workflow: WorkflowStatus, end: State, now: datetime) -> None:
    tables.workflows.set_state(workflow.id, advance(WORKFLOW, workflow.state, ENDING[end]), now)
    over = tables.workflows.get(workflow.id)
    tables.events.add(workflow.id, now, *history.ended(end, *explanation(over)))
    if end in {State.SUCCESS, State.CANCELED}:
        tables.hardware.withdraw_ticket(workflow.workers(), installed=end is State.SUCCESS)
    for run in tables.services.open_of(workflow.id):
        standing = told_to_end(run.status.standing)
        tables.services.stand(standing, now)
        tables.events.add(workflow.id, now, *history.service_told(run.status.service, standing.phase, standing))
