"""What may happen to an action and to a workflow, as tables.  Pure: no clock, no store, no loop.

Rule 1: every change of state goes through `advance`.
Rule 2: a pair that is missing from its table is a refusal, not a surprise.
Rule 3: success is final; every other end has one way out, a person's retry.
"""

from collections.abc import Mapping
from enum import StrEnum

from tinkbox.model.diagram import state_diagram
from tinkbox.model.errors import Conflict
from tinkbox.model.workflow import State


class Happening(StrEnum):
    """What can happen to an action or to a workflow."""

    STARTED = "started"
    LEFT = "machine leaves"
    HELD = "held"
    RESUMED = "resumed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    CANCELED = "canceled"
    TRIED_AGAIN = "tried again"  # by itself: the template allows retries
    STOPPED = "told to stop"
    RETRIED = "retried"  # by a person


Table = Mapping[tuple[State, Happening], State]

ACTION: Table = {
    (State.PENDING, Happening.STARTED): State.RUNNING,
    (State.RUNNING, Happening.LEFT): State.LEAVING,
    (State.RUNNING, Happening.SUCCEEDED): State.SUCCESS,
    (State.RUNNING, Happening.FAILED): State.FAILED,
    (State.RUNNING, Happening.TIMED_OUT): State.TIMEOUT,
    (State.RUNNING, Happening.CANCELED): State.CANCELED,
    (State.RUNNING, Happening.TRIED_AGAIN): State.PENDING,
    (State.RUNNING, Happening.HELD): State.HELD,
    (State.LEAVING, Happening.SUCCEEDED): State.SUCCESS,
    (State.LEAVING, Happening.FAILED): State.FAILED,
    (State.LEAVING, Happening.TIMED_OUT): State.TIMEOUT,
    (State.LEAVING, Happening.CANCELED): State.CANCELED,
    (State.LEAVING, Happening.TRIED_AGAIN): State.PENDING,
    (State.LEAVING, Happening.HELD): State.HELD,
    (State.HELD, Happening.RESUMED): State.RUNNING,
    (State.HELD, Happening.LEFT): State.LEAVING,  # it resumed, and its machine goes away as it said before
    (State.HELD, Happening.SUCCEEDED): State.SUCCESS,
    (State.HELD, Happening.FAILED): State.FAILED,
    (State.HELD, Happening.TIMED_OUT): State.TIMEOUT,
    (State.HELD, Happening.CANCELED): State.CANCELED,
    (State.HELD, Happening.TRIED_AGAIN): State.PENDING,
    (State.SUCCESS, Happening.RETRIED): State.PENDING,
    (State.FAILED, Happening.RETRIED): State.PENDING,
    (State.TIMEOUT, Happening.RETRIED): State.PENDING,
    (State.CANCELED, Happening.RETRIED): State.PENDING,
}

WORKFLOW: Table = {
    (State.PENDING, Happening.STARTED): State.RUNNING,
    (State.PENDING, Happening.CANCELED): State.CANCELED,
    (State.PENDING, Happening.FAILED): State.FAILED,  # a service of it is not ready in time, or never
    (State.RUNNING, Happening.SUCCEEDED): State.SUCCESS,
    (State.RUNNING, Happening.FAILED): State.FAILED,
    (State.RUNNING, Happening.TIMED_OUT): State.TIMEOUT,
    (State.RUNNING, Happening.CANCELED): State.CANCELED,
    (State.RUNNING, Happening.STOPPED): State.STOPPING,
    (State.STOPPING, Happening.TIMED_OUT): State.TIMEOUT,
    (State.STOPPING, Happening.CANCELED): State.CANCELED,
    (State.FAILED, Happening.RETRIED): State.PENDING,
    (State.TIMEOUT, Happening.RETRIED): State.PENDING,
    (State.CANCELED, Happening.RETRIED): State.PENDING,
}

ENDING: Mapping[State, Happening] = {
    State.SUCCESS: Happening.SUCCEEDED,
    State.FAILED: Happening.FAILED,
    State.TIMEOUT: Happening.TIMED_OUT,
    State.CANCELED: Happening.CANCELED,
}


def advance(table: Table, state: State, happening: Happening) -> State:
    """The state after `happening`; raises Conflict when it may not happen in `state`."""
    try:
        return table[state, happening]
    except KeyError:
        raise Conflict(f"what is {state} cannot have {happening}") from None


def mermaid() -> str:
    """Both tables as diagrams for the documentation."""
    return f"An action:\n\n{state_diagram(ACTION, State.PENDING)}\n\nA workflow:\n\n{state_diagram(WORKFLOW, State.PENDING)}"
