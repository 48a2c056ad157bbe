"""What happens to a hold, within the use-case that says so.

Each function works on the writer's tables and returns the machines to be told after the commit (`endings.tell`).
"""

from dataclasses import replace
from datetime import datetime

from tinkbox.engine.rules.transitions import ACTION, Happening, advance
from tinkbox.engine.workflows.endings import stop
from tinkbox.model import history
from tinkbox.model.breakpoint import DEADLINE, Hold, Verb, Verdict
from tinkbox.model.errors import Conflict
from tinkbox.model.workflow import PlannedAction, State, Workflow
from tinkbox.store.database import Tables
from tinkbox.store.workflows import Attempt


def begin_hold(tables: Tables, attempt: Attempt, hold: Hold) -> list[str]:
    """An attempt's action is held from now on."""
    tables.workflows.hold(attempt.token)
    state = advance(ACTION, attempt.state, Happening.HELD)
    tables.workflows.set_action_state(attempt.workflow_id, attempt.position, state)
    tables.holds.add(hold)
    action = held_action(tables.workflows.get(hold.workflow_id), hold)
    tables.events.add(hold.workflow_id, hold.held_at, *history.action_held(action, hold))
    return [attempt.worker]


def resume(tables: Tables, attempt: Attempt, hold: Hold, now: datetime) -> list[str]:
    """A held action runs (again): its whole time is before it, and the workflow's goes on where it stood."""
    happening = Happening.RESUMED if attempt.left_at is None else Happening.LEFT
    state = advance(ACTION, attempt.state, happening)
    tables.workflows.resume(attempt.token, state, now)
    tables.workflows.set_action_state(attempt.workflow_id, attempt.position, state)
    tables.holds.end(hold, now)
    action = held_action(tables.workflows.get(hold.workflow_id), hold)
    fact = history.action_resumed(action, hold, state, hold.lasted(now))
    tables.events.add(hold.workflow_id, now, *fact)
    return [attempt.worker]


def decide(tables: Tables, hold: Hold, verdict: Verdict, now: datetime) -> list[str]:
    """Give the verdict on a hold; raises Conflict that says who was first, or that the workflow is being stopped."""
    workflow = tables.workflows.get(hold.workflow_id)
    if workflow.state is State.STOPPING:
        raise Conflict(f"workflow {workflow.id} was told to stop: nothing is left to decide")
    if not tables.holds.decide(hold, verdict, now):
        raise Conflict(decided(tables.holds.get(hold.attempt, hold.sequence)))
    told = history.hold_expired if verdict.who == DEADLINE else history.verdict_given
    tables.events.add(workflow.id, now, *told(held_action(workflow, hold), hold, verdict))
    if verdict.verb is Verb.ABORT:
        return stop(tables, workflow, State.CANCELED, now)
    return [held_action(workflow, hold).worker]


def expire(tables: Tables, hold: Hold, now: datetime) -> list[str]:
    """Nobody decided in time: the deadline gives the verdict that the hold was begun with."""
    return decide(tables, hold, Verdict(verb=hold.on_expiry, who=DEADLINE, why="nobody decided in time"), now)


def warn(tables: Tables, hold: Hold, now: datetime) -> list[str]:
    """Say, once for each deadline, that a hold ends soon by itself."""
    workflow = tables.workflows.get(hold.workflow_id)
    tables.holds.keep(replace(hold, warned=True))
    tables.events.add(workflow.id, now, *history.hold_expiring(held_action(workflow, hold), hold))
    return []


def held_action(workflow: Workflow, hold: Hold) -> PlannedAction:
    """The action whose newest attempt the hold is of."""
    return next(each.action for each in workflow.actions if each.attempt == hold.attempt)


def decided(hold: Hold | None) -> str:
    """Who was first to decide about a hold, and what."""
    if hold is None or hold.verdict is None:
        return "it ended undecided"
    return f"{hold.verdict.who} decided already: {hold.verdict.verb}"
