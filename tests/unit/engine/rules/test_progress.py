"""What a worker does next, and what follows from an end."""

from dataclasses import replace

import pytest

from tests.unit.model.flows import NOW, action, service, status, step, workflow
from tinkbox.engine.rules.progress import (
    Turn,
    Whereabouts,
    first_to_retry,
    handed_over,
    tries_again,
    turn,
    workflow_ends,
)
from tinkbox.model.boot import Supply
from tinkbox.model.breakpoint import Verb, Verdict
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.hardware import MacAddress
from tinkbox.model.services import Phase
from tinkbox.model.workflow import FINAL, Outcome, State, Workflow

MAC = MacAddress("08:00:27:00:00:01")
SUPPLY = Supply(service="boot", url="http://w.lab/auto.ipxe", ready=True)
SAME, OTHER, LATER = Whereabouts.SAME_SESSION, Whereabouts.OTHER_SESSION, Whereabouts.LATER_BOOT
NOT_YET = replace(SUPPLY, ready=False, standing="service boot is starting")


def flow(*actions: tuple[str, State], state: State = State.RUNNING, **changes: object) -> Workflow:
    return workflow(state, [status(each, index, worker) for index, (worker, each) in enumerate(actions)], **changes)


FAILED = flow(("me", State.SUCCESS), ("me", State.FAILED), ("me", State.PENDING), state=State.FAILED)


def test_nothing_begins_before_every_service_is_ready_and_nothing_stops_when_one_is_no_more() -> None:
    ready, waited_for = service(Phase.FAILED, ready_at=NOW), service(Phase.STARTING, begun_at=NOW)
    for state, services, expected in (
        (State.PENDING, (ready, waited_for), Turn.WAIT),
        (State.PENDING, (waited_for, ready), Turn.WAIT),
        (State.PENDING, (ready, ready), Turn.START),
        (State.RUNNING, (waited_for,), Turn.START),
    ):
        waiting = step(flow(("me", State.PENDING), state=state, services=services))
        assert turn(waiting, "me", LATER) is expected


@pytest.mark.parametrize(
    ("actions", "began", "expected"),
    [
        ([("me", State.PENDING)], SAME, Turn.START),
        ([("other", State.PENDING), ("me", State.PENDING)], SAME, Turn.WAIT),
        ([("other", State.SUCCESS), ("me", State.PENDING)], SAME, Turn.START),
        ([("other", State.SKIPPED), ("me", State.PENDING)], SAME, Turn.START),
        ([("me", State.SUCCESS), ("other", State.RUNNING), ("me", State.PENDING)], SAME, Turn.WAIT),
        ([("me", State.RUNNING)], SAME, Turn.RESUME),
        ([("me", State.RUNNING)], LATER, Turn.LOST),
        ([("me", State.HELD)], SAME, Turn.RESUME),
        ([("me", State.HELD)], LATER, Turn.LOST),
        ([("me", State.LEAVING)], SAME, Turn.RESUME),
        ([("me", State.RUNNING)], OTHER, Turn.LOST),
        ([("me", State.HELD)], OTHER, Turn.LOST),
        ([("me", State.LEAVING)], OTHER, Turn.LOST),
        ([("me", State.LEAVING)], LATER, Turn.RETURNED),
        ([("other", State.LEAVING), ("me", State.PENDING)], LATER, Turn.WAIT),
        ([("me", State.FAILED), ("me", State.PENDING)], SAME, Turn.WAIT),
        ([("me", State.SUCCESS)], SAME, Turn.WAIT),
        ([], SAME, Turn.WAIT),
    ],
)
def test_whose_turn_it_is(actions: list[tuple[str, State]], began: Whereabouts, expected: Turn) -> None:
    assert turn(step(flow(*actions)), "me", began) is expected


def test_what_stops_begins_nothing_and_goes_on_with_what_was_begun() -> None:
    begun, waiting = ("me", State.RUNNING), ("me", State.PENDING)
    assert turn(step(flow(begun, state=State.STOPPING)), "me", SAME) is Turn.RESUME
    assert turn(step(flow(waiting, state=State.STOPPING)), "me", LATER) is Turn.WAIT


@pytest.mark.parametrize(
    ("standing", "failures", "ended", "expected"),
    [
        (State.RUNNING, 0, State.FAILED, True),
        (State.RUNNING, 1, State.TIMEOUT, True),
        (State.RUNNING, 2, State.FAILED, False),
        (State.RUNNING, 0, State.SUCCESS, False),
        (State.RUNNING, 0, State.CANCELED, False),
        (State.STOPPING, 0, State.FAILED, False),
    ],
)
def test_only_what_failed_is_tried_again_as_often_as_the_template_says(
    standing: State, failures: int, ended: State, expected: bool
) -> None:
    tried = status(State.RUNNING, action=action(retries=2), failures=failures)
    assert tries_again(step(workflow(standing, [tried])), Outcome(state=ended)) is expected


@pytest.mark.parametrize(
    ("verb", "ended", "reason", "expected"),
    [
        (Verb.RETRY, State.FAILED, "NonZeroExit", True),
        (Verb.RETRY, State.SUCCESS, "", True),
        (Verb.RETRY, State.TIMEOUT, "Timeout", True),
        (Verb.RETRY, State.CANCELED, "Canceled", False),
        (Verb.RETRY, State.FAILED, "BreakpointLost", False),
        (Verb.FAIL, State.FAILED, "NonZeroExit", False),
        (Verb.CONTINUE, State.FAILED, "DataTooLarge", False),
    ],
)
def test_a_verdict_says_more_than_the_template_about_another_attempt(
    verb: Verb, ended: State, reason: str, expected: bool
) -> None:
    verdict = Verdict(verb=verb, who="anna", fresh=verb is Verb.RETRY)
    for retries in (0, 5):
        tried = status(State.HELD, action=action(retries=retries))
        outcome = Outcome(state=ended, reason=reason)
        assert tries_again(step(workflow(State.RUNNING, [tried])), outcome, verdict) is expected
        stopping = workflow(State.STOPPING, [tried], stop_into=State.CANCELED)
        assert not tries_again(step(stopping), outcome, verdict)


@pytest.mark.parametrize("ended", sorted(FINAL))
def test_what_is_told_to_stop_ends_as_it_was_told(ended: State) -> None:
    stopping = flow(("me", State.RUNNING), state=State.STOPPING, stop_into=State.TIMEOUT)
    assert workflow_ends(step(stopping, 0), ended) is State.TIMEOUT


def test_a_workflow_goes_on_until_every_action_is_done() -> None:
    going = flow(("me", State.SUCCESS), ("me", State.RUNNING), ("me", State.PENDING))
    last = flow(("me", State.SUCCESS), ("me", State.RUNNING), ("me", State.SKIPPED))
    assert workflow_ends(step(going, 1), State.SUCCESS) is None
    assert workflow_ends(step(last, 1), State.SUCCESS) is State.SUCCESS
    for bad in FINAL - {State.SUCCESS}:
        assert workflow_ends(step(going, 1), bad) is bad


def test_the_end_of_an_action_concerns_its_machine_and_the_next_and_nobody_who_waits_longer() -> None:
    going = flow(
        ("me", State.SUCCESS),
        ("me", State.RUNNING),
        ("you", State.SKIPPED),
        ("it", State.PENDING),
        ("you", State.PENDING),
    )
    assert handed_over(step(going, 1)) == ["me", "it"]
    alone = flow(("me", State.RUNNING), ("me", State.PENDING), ("you", State.PENDING))
    assert handed_over(step(alone, 0)) == ["me"]


@pytest.mark.parametrize(("name", "first"), [(None, 1), ("a0", 0), ("t/a0", 0), ("a1", 1), ("t/a1", 1)])
def test_a_retry_begins_at_the_first_undone_action_or_earlier(name: str | None, first: int) -> None:
    assert first_to_retry(FAILED, name) == first


def test_a_retry_that_cannot_be_says_why() -> None:
    with pytest.raises(Conflict, match="comes after t/a1"):
        first_to_retry(FAILED, "a2")
    with pytest.raises(NotFound, match="t/a0, t/a1, t/a2"):
        first_to_retry(FAILED, "a9")
    twice = workflow(State.FAILED, [status(State.FAILED), status(State.PENDING, action=action(name="a0"))])
    with pytest.raises(Conflict, match="2 actions are called a0"):
        first_to_retry(twice, "a0")
    for state in set(State) - FINAL - {State.SKIPPED, State.LEAVING, State.HELD}:
        with pytest.raises(Conflict, match=f"is {state}"):
            first_to_retry(flow(("me", State.PENDING), state=state), None)


def test_where_everything_is_done_the_first_action_has_to_be_named() -> None:
    done = flow(("me", State.SUCCESS), ("me", State.SUCCESS), state=State.CANCELED)
    with pytest.raises(Conflict, match="name the one"):
        first_to_retry(done, None)
    assert first_to_retry(done, "a1") == 1
