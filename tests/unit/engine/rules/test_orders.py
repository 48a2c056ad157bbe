"""What a worker is to do with its attempt."""

from dataclasses import replace

import pytest

from tests.unit.engine.standing import ATTEMPT, DECIDED, HOLD, under_way
from tests.unit.model.flows import action
from tinkbox.engine.rules.orders import armed_now, given_up, wanted_of
from tinkbox.model.breakpoint import Armed, Breakpoints
from tinkbox.model.shells import ShellWish
from tinkbox.model.workflow import PlannedAction, State
from tinkbox.store.workflows import UnderWay
from tinkbox.wire.messages.breakpoints import Orders, Ruling
from tinkbox.wire.messages.worker import Order

EVERYTHING = Breakpoints(on_failure=True, before=("t/a0",), after=("t/a0",))
STOPPING = {"state": State.STOPPING, "stop_into": State.TIMEOUT, "global_timeout": 9}


def armed(planned: PlannedAction | None, **changes: object) -> UnderWay:
    return under_way(planned, breakpoints=EVERYTHING, **changes)


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (armed(action()), Armed(before=True, after=True, on_failure=True)),
        (armed(action(retries=1)), Armed(before=True, after=True)),
        (armed(action(retries=1), failures=1), Armed(before=True, after=True, on_failure=True)),
        (armed(action(1)), Armed(on_failure=True)),
        (armed(action(), attempt=replace(ATTEMPT, debug=False)), Armed()),
        (armed(action(), **STOPPING), Armed()),
        (armed(None), Armed()),
    ],
)
def test_what_is_armed_is_for_this_attempt_and_as_long_as_it_may_go_on(standing: UnderWay, expected: Armed) -> None:
    assert armed_now(standing) == wanted_of(standing).armed == expected


def test_orders_are_everything_that_is_wanted() -> None:
    assert wanted_of(under_way(action())) == Orders()
    assert wanted_of(under_way(action(), hold=HOLD)) == Orders(hold=1), "nobody decided yet"
    wish = ShellWish(id="s1", tty=True)
    orders = wanted_of(armed(action(), hold=DECIDED, **STOPPING), (wish,))
    assert DECIDED.verdict is not None
    assert orders == Orders(
        stop=Order(state=State.TIMEOUT, message="the workflow took longer than its global_timeout of 9 seconds"),
        ruling=Ruling(sequence=1, verdict=DECIDED.verdict),
        shells=(wish,),
        hold=1,
    )


@pytest.mark.parametrize(("state", "into"), [(State.TIMEOUT, State.TIMEOUT), (State.FAILED, State.CANCELED)])
def test_an_attempt_that_is_over_is_to_be_stopped(state: State, into: State) -> None:
    order = given_up(state)
    assert (order.state, state.value in order.message) == (into, True)
