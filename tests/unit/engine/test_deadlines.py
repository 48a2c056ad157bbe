"""When the appliance stops waiting, and for what."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.unit.model.flows import NOW, action
from tinkbox.engine.deadlines import REPORTING, STOP_GRACE, STOPPING, Due, due
from tinkbox.model.workflow import PlannedAction, State
from tinkbox.store.workflows import Attempt, UnderWay

LONG_AGO = NOW - timedelta(days=1)
ATTEMPT = Attempt(
    token="x", workflow_id="w1", position=0, worker="me", boot_id="b", state=State.RUNNING, started_at=NOW
)
HOOK = ("sh",)


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


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (under_way(None), None),
        (under_way(action(timeout=60)), (after(60 + STOP_GRACE + REPORTING), Due.REPORT)),
        (under_way(action(timeout=60, on_failure=HOOK)), (after(120 + STOP_GRACE + REPORTING), Due.REPORT)),
        (under_way(action(timeout=7200, on_timeout=HOOK)), (after(7800 + STOP_GRACE + REPORTING), Due.REPORT)),
        (
            under_way(action(timeout=60), attempt=replace(ATTEMPT, state=State.LEAVING, left_at=after(30))),
            (after(90), Due.RETURN),
        ),
        (under_way(None, global_timeout=30), (after(30), Due.END)),
        (under_way(action(timeout=60), global_timeout=30), (after(30), Due.END)),
        (under_way(action(timeout=60), global_timeout=3000), (after(60 + STOP_GRACE + REPORTING), Due.REPORT)),
        (
            under_way(
                action(timeout=600, on_failure=HOOK), state=State.STOPPING, stopped_at=after(5), global_timeout=1
            ),
            (after(5 + STOPPING + 600), Due.STOP),
        ),
        (
            under_way(action(timeout=5), state=State.STOPPING, stopped_at=after(5), stop_into=State.CANCELED),
            (after(5 + STOP_GRACE + REPORTING), Due.REPORT),
        ),
    ],
)
def test_what_is_due_first(standing: UnderWay, expected: tuple[datetime, Due] | None) -> None:
    assert due(standing, LONG_AGO) == expected


def test_what_began_before_the_appliance_did_gets_time_to_be_reported() -> None:
    overdue = under_way(action(timeout=60), global_timeout=30)
    assert due(overdue, after(10_000)) == (after(10_000 + REPORTING), Due.END)
    assert due(under_way(action(timeout=9000)), after(10)) == (after(9000 + STOP_GRACE + REPORTING), Due.REPORT)
    assert due(overdue, NOW) == (after(30), Due.END)
