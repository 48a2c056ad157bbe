"""What may happen to a rollout, and what follows from where its machines stand.  Pure."""

from collections.abc import Mapping
from enum import StrEnum

from tinkbox.model.diagram import state_diagram
from tinkbox.model.errors import Conflict
from tinkbox.model.rollout import OVER, Counts, OnFailure, Rollout, RolloutState


class Happening(StrEnum):
    """What can happen to a rollout."""

    BEGUN = "first machine begins"
    PAUSED = "paused"
    RESUMED = "resumed"
    RETRIED = "retried"
    STOPPED = "stopped"  # by a machine's failure, or a person
    SUCCEEDED = "every machine succeeded"
    FAILED = "over with failures"
    CANCELED = "canceled"


_OVER: Mapping[RolloutState, Happening] = {
    RolloutState.FAILED: Happening.FAILED,
    RolloutState.CANCELED: Happening.CANCELED,
}

# Whatever ended a rollout but success, a person can have it go on; and workflows that a person retries still count.
TABLE: Mapping[tuple[RolloutState, Happening], RolloutState] = {
    (RolloutState.WAITING, Happening.BEGUN): RolloutState.RUNNING,
    (RolloutState.WAITING, Happening.PAUSED): RolloutState.PAUSED,
    (RolloutState.WAITING, Happening.STOPPED): RolloutState.STOPPING,
    (RolloutState.RUNNING, Happening.PAUSED): RolloutState.PAUSED,
    (RolloutState.RUNNING, Happening.RETRIED): RolloutState.RUNNING,
    (RolloutState.RUNNING, Happening.STOPPED): RolloutState.STOPPING,
    (RolloutState.RUNNING, Happening.SUCCEEDED): RolloutState.SUCCESS,
    (RolloutState.RUNNING, Happening.FAILED): RolloutState.FAILED,
    (RolloutState.PAUSED, Happening.RESUMED): RolloutState.RUNNING,
    (RolloutState.PAUSED, Happening.RETRIED): RolloutState.PAUSED,
    (RolloutState.PAUSED, Happening.STOPPED): RolloutState.STOPPING,
    (RolloutState.PAUSED, Happening.SUCCEEDED): RolloutState.SUCCESS,
    (RolloutState.PAUSED, Happening.FAILED): RolloutState.FAILED,
    (RolloutState.STOPPING, Happening.RESUMED): RolloutState.RUNNING,
    (RolloutState.STOPPING, Happening.RETRIED): RolloutState.RUNNING,
    (RolloutState.STOPPING, Happening.STOPPED): RolloutState.STOPPING,
    (RolloutState.STOPPING, Happening.SUCCEEDED): RolloutState.SUCCESS,
    (RolloutState.STOPPING, Happening.FAILED): RolloutState.FAILED,
    (RolloutState.STOPPING, Happening.CANCELED): RolloutState.CANCELED,
    (RolloutState.FAILED, Happening.RESUMED): RolloutState.RUNNING,
    (RolloutState.FAILED, Happening.RETRIED): RolloutState.RUNNING,
    (RolloutState.FAILED, Happening.SUCCEEDED): RolloutState.SUCCESS,
    (RolloutState.CANCELED, Happening.RESUMED): RolloutState.RUNNING,
    (RolloutState.CANCELED, Happening.RETRIED): RolloutState.RUNNING,
    (RolloutState.CANCELED, Happening.SUCCEEDED): RolloutState.SUCCESS,
}
_AGAIN: Mapping[Happening, str] = {Happening.RESUMED: "resume", Happening.RETRIED: "retry"}
BEGINNING = frozenset({RolloutState.WAITING, RolloutState.RUNNING})


def advance(rollout: Rollout, happening: Happening) -> RolloutState:
    """The state after a happening; raises Conflict when that may not happen now."""
    again = _AGAIN.get(happening)
    if again and rollout.state is RolloutState.STOPPING and rollout.stop_into is RolloutState.CANCELED:
        raise Conflict(
            f"rollout {rollout.short} is being canceled: `tinkbox rollout watch {rollout.short}` tells when it is over; {again} "
            "it then"
        )
    try:
        return TABLE[rollout.state, happening]
    except KeyError:
        word = "canceled" if happening is Happening.STOPPED else happening
        over = "is over, and " if rollout.state in OVER else ""
        raise Conflict(f"rollout {rollout.short} is {rollout.state}: it {over}cannot be {word}") from None


def follows(rollout: Rollout, counts: Counts, *, failed: bool) -> Happening | None:
    """What happens by itself to a rollout with these machines, None: nothing; `failed`: one more of them did."""
    state = rollout.state
    if counts.succeeded and counts.succeeded + counts.left == counts.total and (state, Happening.SUCCEEDED) in TABLE:
        return Happening.SUCCEEDED
    if failed and rollout.on_failure is OnFailure.STOP and state in BEGINNING | {RolloutState.PAUSED}:
        return Happening.STOPPED
    if state is RolloutState.WAITING and counts.total and not counts.waiting:
        return Happening.BEGUN  # its machines were taken out of service before
    if counts.under_way:
        return None
    if state is RolloutState.STOPPING:
        return _OVER[rollout.stop_into or RolloutState.FAILED]
    if counts.waiting == 0 and (state, Happening.FAILED) in TABLE:
        return Happening.FAILED
    return None


def room(rollout: Rollout, counts: Counts, *, failed: bool) -> int:
    """How many more machines may begin now; `failed` as in `follows`."""
    if rollout.state not in BEGINNING or (failed and rollout.on_failure is OnFailure.STOP):
        return 0
    if not rollout.max_parallel:
        return counts.waiting
    return min(counts.waiting, max(0, rollout.max_parallel - counts.under_way))


def mermaid() -> str:
    """The table as a diagram for the documentation."""
    return state_diagram(TABLE, RolloutState.WAITING)
