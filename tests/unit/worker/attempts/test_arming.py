import pytest

from tests.unit.worker.actions import ACTION, with_spec
from tinkbox.model.breakpoint import Armed, Kind
from tinkbox.model.workflow import Outcome, State
from tinkbox.worker.attempts.arming import Arming

ALL = Armed(before=True, after=True, on_failure=True)
BARE = with_spec(ACTION, helper=False)
LEAVES = with_spec(ACTION, reboot=True)
GOOD, BAD, LATE = (Outcome(state=state) for state in (State.SUCCESS, State.FAILED, State.TIMEOUT))


def test_a_helper_holds_wherever_it_can() -> None:
    arming = Arming(ACTION, ALL, debug=True)
    assert (arming.helped, arming.policy, arming.worker_holds_before) == (True, ALL, False)
    assert arming.kind(GOOD) is None


def test_without_one_the_worker_holds() -> None:
    arming = Arming(BARE, ALL, debug=True)
    assert (arming.helped, arming.worker_holds_before, arming.kind(GOOD)) == (False, True, Kind.AFTER)


def test_an_action_of_which_the_machine_goes_away_is_held_before_it_says_so_and_where_it_fails() -> None:
    arming = Arming(LEAVES, ALL, debug=True)
    assert arming.policy == Armed(on_failure=True)
    assert arming.worker_holds_before
    assert (arming.kind(GOOD), arming.kind(BAD)) == (None, Kind.FAILURE)


@pytest.mark.parametrize("outcome", [BAD, LATE])
@pytest.mark.parametrize("armed", [Armed(on_failure=True), Armed(after=True)])
def test_what_failed_without_a_helper_is_held_by_the_worker(outcome: Outcome, armed: Armed) -> None:
    assert Arming(ACTION, armed, debug=True).kind(outcome) is Kind.FAILURE
    assert Arming(ACTION, Armed(before=True), debug=True).kind(outcome) is None


def test_a_machine_without_debugging_holds_nothing_whatever_is_armed() -> None:
    for action in (ACTION, BARE, LEAVES):
        arming = Arming(action, Armed(), debug=False)
        arming.armed = ALL
        assert (arming.armed, arming.helped, arming.worker_holds_before) == (Armed(), False, False)
        assert (arming.kind(GOOD), arming.kind(BAD)) == (None, None)


def test_what_is_armed_changes_while_the_action_runs() -> None:
    arming = Arming(ACTION, Armed(), debug=True)
    assert arming.kind(BAD) is None
    arming.armed = Armed(on_failure=True)
    assert arming.kind(BAD) is Kind.FAILURE
    arming.armed = Armed()
    assert arming.kind(BAD) is None
