"""Workflows that are under way, for tests of what is decided about them."""

from dataclasses import replace
from datetime import datetime, timedelta

from tests.unit.model.flows import NOW
from tinkbox.model.breakpoint import Hold, Kind, Verb, Verdict
from tinkbox.model.workflow import PlannedAction, State
from tinkbox.store.workflows import Attempt, UnderWay


def under_way(planned: PlannedAction | None, **changes: object) -> UnderWay:
    known = {
        "state": State.RUNNING,
        "began": NOW,
        "global_timeout": 0,
        "stop_into": None,
        "stopped_at": None,
        "attempt": planned and ATTEMPT,
    }
    return UnderWay(workflow_id="w1", action=planned, **{**known, **changes})  # type: ignore[arg-type]


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


ATTEMPT = Attempt(
    token="x", workflow_id="w1", position=0, worker="me", boot_id="b", state=State.RUNNING, started_at=NOW
)
HOLD = Hold(
    attempt="x", workflow_id="w1", sequence=1, kind=Kind.FAILURE, held_at=after(50), deadline=after(650), timeout=600,
)  # fmt: skip
DECIDED = replace(HOLD, verdict=Verdict(verb=Verb.FAIL, who="anna"), verdict_at=after(100))
