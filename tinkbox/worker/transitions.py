"""What may happen to an attempt on its machine, as a table.  Pure: no clock, no engine, no loop.

Rule 1: the worker changes an attempt's state only through `advance`; what is in no row cannot happen.
Rule 2: nothing is begun any more once an attempt is being stopped, closed or settled.
Rule 3: a worker that was killed takes an attempt up by its notes: whatever happened before, it begins as OFFERED.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tinkbox.model.breakpoint import Kind, Verdict
from tinkbox.model.diagram import state_diagram
from tinkbox.model.reasons import Reason
from tinkbox.model.workflow import Outcome
from tinkbox.wire.messages.worker import Order


class AttemptState(StrEnum):
    """Where an attempt is on its machine."""

    OFFERED = "OFFERED"  # to be begun, or taken up where a worker before this one left it
    RUNNING = "RUNNING"  # its container is made, started, and waited for
    HELD = "HELD"  # at a breakpoint, waiting for a verdict
    RESUMING = "RESUMING"  # its verdict lets it run in its container: appliance and helper are told
    CLOSING = "CLOSING"  # its verdict ends it: its container is ended
    LEAVING = "LEAVING"  # the machine goes away by intention
    STOPPING = "STOPPING"  # its container is stopped
    KEEPING = "KEEPING"  # it did not succeed: the data that it left is kept where possible
    HOOK = "HOOK"  # its on-failure or on-timeout runs, where it has one
    ENDED = "ENDED"  # its outcome is known; the appliance is to be told
    AWAY = "AWAY"  # the machine is about to go: nobody is told how it ended
    OVER = "OVER"  # the appliance knows, and nothing of it is left on the machine


class AttemptEvent(StrEnum):
    """What can happen to an attempt on its machine."""

    BEGINS = "begins"
    REACHES_BREAKPOINT = "reaches a breakpoint"
    RESUMES = "is to run on"
    RUNS = "runs on"
    CLOSES = "is to run no more"
    MACHINE_LEAVES = "machine leaves"
    MACHINE_GOES = "machine goes"
    STOPS = "told to stop, or late"
    UNWANTED = "not wanted any more"
    SUCCEEDS = "succeeds"
    FAILS = "fails"
    FAILS_KEPT = "fails, nothing more to keep"
    TRIED_ANEW = "to be tried anew"
    STOPPED = "is stopped"
    ENGINE_STAYS_AWAY = "engine stays away"
    KEPT = "data is kept, or cannot be"
    HOOK_ENDS = "hook ends"
    HAD_ENDED = "had ended"
    ANSWERED = "report is answered"


_S, _E = AttemptState, AttemptEvent
TABLE: Mapping[tuple[AttemptState, AttemptEvent], AttemptState] = {
    (_S.OFFERED, _E.BEGINS): _S.RUNNING,
    (_S.OFFERED, _E.REACHES_BREAKPOINT): _S.HELD,  # before there is a container, or it was held already
    (_S.OFFERED, _E.RESUMES): _S.RESUMING,  # its helper was about to be told
    (_S.OFFERED, _E.STOPS): _S.STOPPING,  # it was being stopped
    (_S.OFFERED, _E.HAD_ENDED): _S.ENDED,
    (_S.OFFERED, _E.ENGINE_STAYS_AWAY): _S.ENDED,  # what other attempts left cannot be cleared
    (_S.RUNNING, _E.REACHES_BREAKPOINT): _S.HELD,
    (_S.RUNNING, _E.MACHINE_LEAVES): _S.LEAVING,
    (_S.RUNNING, _E.ENGINE_STAYS_AWAY): _S.ENDED,  # nothing was begun: there is no data to keep, and no hook can run
    (_S.RUNNING, _E.SUCCEEDS): _S.ENDED,
    (_S.RUNNING, _E.FAILS): _S.KEEPING,
    (_S.RUNNING, _E.FAILS_KEPT): _S.HOOK,  # it was its data that could not be kept
    (_S.RUNNING, _E.STOPS): _S.STOPPING,
    (_S.RUNNING, _E.UNWANTED): _S.STOPPING,
    (_S.HELD, _E.RESUMES): _S.RESUMING,
    (_S.HELD, _E.CLOSES): _S.CLOSING,
    (_S.HELD, _E.STOPS): _S.STOPPING,
    (_S.HELD, _E.UNWANTED): _S.STOPPING,
    (_S.RESUMING, _E.RUNS): _S.RUNNING,
    (_S.RESUMING, _E.REACHES_BREAKPOINT): _S.HELD,  # its container does not start any more
    (_S.RESUMING, _E.FAILS): _S.KEEPING,
    (_S.RESUMING, _E.UNWANTED): _S.STOPPING,
    (_S.CLOSING, _E.SUCCEEDS): _S.ENDED,
    (_S.CLOSING, _E.FAILS): _S.KEEPING,
    (_S.CLOSING, _E.FAILS_KEPT): _S.HOOK,  # it never ran, or its data cannot be kept
    (_S.CLOSING, _E.TRIED_ANEW): _S.ENDED,  # in a fresh container, which is another attempt
    (_S.CLOSING, _E.UNWANTED): _S.STOPPING,
    (_S.LEAVING, _E.MACHINE_GOES): _S.AWAY,
    (_S.LEAVING, _E.STOPS): _S.STOPPING,
    (_S.STOPPING, _E.STOPPED): _S.KEEPING,
    (_S.STOPPING, _E.ENGINE_STAYS_AWAY): _S.ENDED,
    (_S.KEEPING, _E.KEPT): _S.HOOK,
    (_S.HOOK, _E.HOOK_ENDS): _S.ENDED,
    (_S.ENDED, _E.ANSWERED): _S.OVER,
}


class NoSuchStep(Exception):
    """Something happened that cannot: the worker has a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What happened to an attempt, with what has to be known of it in the state behind that.

    `outcome` is how its process ended, None before it began, and None when nobody is told.  HELD has the `kind` of its
    breakpoint, CLOSING its `verdict`, RESUMING the number and the verb of the `command` for its helper (no verb: it has
    none), RUNNING for how many `seconds` it may, STOPPING the `order`, with the reason why something was `missing` when
    that was what took too long.
    """

    event: AttemptEvent
    outcome: Outcome | None = None
    kind: Kind | None = None
    verdict: Verdict | None = None
    command: tuple[int, str] = (0, "")
    seconds: float = 0.0
    order: Order | None = None
    missing: Reason | None = None


def advance(state: AttemptState, event: AttemptEvent) -> AttemptState:
    """The state after `event`; raises NoSuchStep when it cannot happen in `state`."""
    try:
        return TABLE[state, event]
    except KeyError:
        raise NoSuchStep(f"an attempt that is {state} cannot have: {event}") from None


def mermaid() -> str:
    """The table as a diagram for the documentation."""
    return state_diagram(TABLE, AttemptState.OFFERED)
