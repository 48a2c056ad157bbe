"""What follows when a workflow that ended badly is taken up again, within the use-case that says so."""

from collections.abc import Callable
from datetime import datetime

from tinkbox.engine.rules.transitions import WORKFLOW, Happening, advance
from tinkbox.engine.workflows.image_digests import DigestOf, pin_again
from tinkbox.model import history
from tinkbox.model.workflow import State, Workflow
from tinkbox.store.database import Tables


def take_up_again(
    tables: Tables,
    workflow: Workflow,
    first: int,
    *,
    new_token: Callable[[], str],
    digest_of: DigestOf,
    now: datetime,
    confirmed: bool = False,
) -> Workflow:
    """Have a workflow begin anew at the action `first`, behind what its machines wait for; returns it as it is then.

    Its services are started anew.  `confirmed` as in `Workflows.retry`.  Raises Conflict when it cannot be retried.
    """
    tables.workflows.set_state(workflow.id, advance(WORKFLOW, workflow.state, Happening.RETRIED), now)
    tables.workflows.make_ready(workflow.id, first)
    runs = [new_token() for _ in workflow.services]
    tables.services.renew(workflow.id, runs)
    digests = pin_again(tables, workflow, first, digest_of)
    tables.events.add(workflow.id, now, *history.retried(first, runs, digests, confirmed=confirmed))
    if confirmed:
        tables.workflows.confirm_wipe(workflow.id)
    ready = tables.workflows.get(workflow.id)
    tables.hardware.grant_ticket(awaited(ready))
    return ready


def awaited(workflow: Workflow) -> list[str]:
    """The machines that a workflow still has something to do for."""
    return list(dict.fromkeys(each.action.worker for each in workflow.actions if each.state is State.PENDING))
