"""Workflows whose running action was told to stop: when they end, and the end of one whose machine does not answer.

To end one without its machine's word is what its deadline does (`engine.workflows.deadlines`), only earlier.  The attempt is
over either way: what its worker reports later is refused, and when it answers it is told to stop what it began, before
anything else begins there.
"""

from datetime import datetime

from tinkbox.engine.workflows.deadlines import due
from tinkbox.engine.workflows.endings import end_attempt
from tinkbox.model.conditions import why_stopped
from tinkbox.model.duration import show_duration
from tinkbox.model.workflow import Outcome, State, Workflow
from tinkbox.store.database import Tables
from tinkbox.store.workflows import UnderWay


def being_stopped(tables: Tables, workflow_id: str) -> UnderWay | None:
    """A workflow that waits for its machine to confirm that its action was stopped; None: it is not such a one any more."""
    found = next(iter(tables.workflows.under_way(workflow_id)), None)
    return found if found is not None and found.state is State.STOPPING and found.attempt is not None else None


def ends_by_itself(stopped: UnderWay, now: datetime, listening_since: datetime) -> str:
    """When that ends without its machine's word, as `in 58s`: machines have a while to report to a new appliance."""
    following = due(stopped, listening_since)
    left = (following[0] - now).total_seconds() if following is not None else 0.0
    return f"in {show_duration(left)}" if left >= 1 else "in a moment"


def may_run_on(machine: str, silence: str, *, is_refused: bool, is_over: bool) -> str:
    """Why what a worker began may run on though its workflow was canceled; empty: it is told to stop it.

    `silence` as `silence_of` has it; `is_refused`: its credential was voided; `is_over`: the workflow ended without its word.
    """
    if is_refused:
        why, until = "is not in touch, for its credential was voided", "the machine boots again or a new worker starts"
    elif silence:
        why, until = f"is {silence}", "it is in touch again or the machine boots"
    elif is_over:
        why, until = "did not answer", "it is in touch again or the machine boots"
    else:
        return ""
    return f"the worker of {machine} {why}: what it began may run on there until {until}"


def end_unconfirmed(tables: Tables, stopped: UnderWay, who: str, now: datetime) -> list[str]:
    """End it without its machine's word."""
    assert stopped.attempt is not None
    into = stopped.stop_into or State.CANCELED
    reason, message = why_stopped(into, stopped.global_timeout)
    told = f"{message}; its machine did not answer, and {who} did not wait: what it began may still run there"
    return end_attempt(tables, stopped.attempt, Outcome(state=into, reason=reason, message=told), now)


def way_out(tables: Tables, workflow: Workflow, now: datetime, listening_since: datetime) -> str:
    """What a person can do about a workflow that is under way and stands in the way of something."""
    short = workflow.id[:8]
    stopped = being_stopped(tables, workflow.id)
    if stopped is None:
        return f"`tinkbox workflow cancel {short}` ends it"
    return (
        f"it was told to stop, and ends by itself {ends_by_itself(stopped, now, listening_since)} at the latest; "
        f"`tinkbox workflow cancel --force {short}` ends it now if its machine does not answer"
    )
