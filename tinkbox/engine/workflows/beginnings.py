"""What follows when an attempt begins, within the use-case that says so."""

from datetime import datetime

from tinkbox.engine.rules.transitions import WORKFLOW, Happening, advance
from tinkbox.model import history
from tinkbox.model.workflow import State, Step
from tinkbox.store.database import Tables
from tinkbox.store.workflows import Attempt


def begin_attempt(tables: Tables, step: Step, attempt: Attempt, now: datetime, position: int | None = None) -> int:
    """Begin an attempt at the action of this step, and with the first one its workflow.

    Returns its position in its machine's history: the next one, unless its worker has one for it already.
    """
    tables.workflows.begin_attempt(attempt)
    if step.state is State.PENDING:
        tables.workflows.set_state(step.workflow_id, advance(WORKFLOW, step.state, Happening.STARTED), now)
        tables.workflows.set_started(step.workflow_id, now)
        tables.events.add(step.workflow_id, now, *history.started())
    tables.events.add(step.workflow_id, now, *history.action_started(step.status.action, attempt.token))
    return tables.journals.append(attempt.worker, attempt.token, position)
