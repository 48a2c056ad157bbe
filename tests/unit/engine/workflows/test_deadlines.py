"""When the appliance stops waiting, and for what."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.unit.engine.standing import ATTEMPT, DECIDED, HOLD, after, under_way
from tests.unit.model.flows import NOW, action, service
from tinkbox.engine.workflows.deadlines import CONFIRMING, REPORTING, STOP_GRACE, STOPPING, Due, due, ready_by
from tinkbox.model.breakpoint import Hold
from tinkbox.model.services import Phase
from tinkbox.model.workflow import PlannedAction, State
from tinkbox.store.workflows import UnderWay

LONG_AGO = NOW - timedelta(days=1)
HOOK = ("sh",)


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


HELD = replace(ATTEMPT, state=State.HELD)


def held(hold: Hold, planned: PlannedAction | None = None, **changes: object) -> UnderWay:
    return under_way(planned or action(timeout=60), attempt=HELD, global_timeout=80, hold=hold, **changes)


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (held(HOLD), (after(650 - 120), Due.WARNING)),
        (held(replace(HOLD, timeout=6000)), (after(650 - 300), Due.WARNING)),
        (held(replace(HOLD, warned=True)), (after(650), Due.VERDICT)),
        (held(DECIDED), (after(100 + CONFIRMING + STOP_GRACE), Due.CONFIRMATION)),
        (
            held(DECIDED, action(timeout=6000, on_failure=HOOK)),
            (after(100 + CONFIRMING + STOP_GRACE + 600), Due.CONFIRMATION),
        ),
        (
            held(HOLD, state=State.STOPPING, stop_into=State.CANCELED, stopped_at=after(60)),
            (after(60 + STOPPING), Due.STOP),
        ),
        (
            held(DECIDED, state=State.STOPPING, stop_into=State.CANCELED, stopped_at=after(100)),
            (after(100 + STOPPING), Due.STOP),
        ),
    ],
)
def test_while_an_action_is_held_only_the_hold_is_timed(standing: UnderWay, expected: tuple[datetime, Due]) -> None:
    assert due(standing, LONG_AGO) == expected


def test_after_a_hold_the_action_has_its_whole_time_and_the_workflow_what_it_had_left() -> None:
    resumed = replace(ATTEMPT, resumed_at=after(500))
    running = under_way(action(timeout=60), attempt=resumed, held_seconds=450.5)
    assert due(running, LONG_AGO) == (after(500 + 60 + STOP_GRACE + REPORTING), Due.REPORT)
    assert due(replace(running, global_timeout=80), LONG_AGO) == (after(530.5), Due.END)


def test_a_hold_that_began_before_the_appliance_did_is_warned_of_before_it_ends() -> None:
    assert due(held(HOLD), after(10_000)) == (after(530), Due.WARNING)
    assert due(held(replace(HOLD, warned=True)), after(10_000)) == (after(10_000 + REPORTING), Due.VERDICT)
    assert due(held(DECIDED), after(10_000)) == (after(10_000 + REPORTING), Due.CONFIRMATION)


def test_a_service_must_be_ready_in_its_time_from_when_its_host_was_told() -> None:
    begun = service(Phase.STARTING, begun_at=NOW, timeout=30)
    assert ready_by(begun, LONG_AGO) == after(30)
    assert ready_by(begun, after(10_000)) == after(10_000 + REPORTING)
    assert ready_by(replace(begun, begun_at=None), LONG_AGO) is None


def test_what_began_before_the_appliance_did_gets_time_to_be_reported() -> None:
    overdue = under_way(action(timeout=60), global_timeout=30)
    assert due(overdue, after(10_000)) == (after(10_000 + REPORTING), Due.END)
    assert due(under_way(action(timeout=9000)), after(10)) == (after(9000 + STOP_GRACE + REPORTING), Due.REPORT)
    assert due(overdue, NOW) == (after(30), Due.END)
