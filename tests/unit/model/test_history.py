"""Events told, and added up."""

from collections.abc import Sequence

import pytest

from tests.unit.model.flows import NOW, action, status, workflow
from tinkbox.model import history
from tinkbox.model.errors import Invalid
from tinkbox.model.history import Fact, History, fold
from tinkbox.model.workflow import Event, Outcome, State

THREE = workflow(State.PENDING, [status(State.PENDING), status(State.SKIPPED, 1), status(State.PENDING, 2, "other")])
BEGUN = [history.created(THREE), history.started(), history.action_started(action(), "x")]


def events(facts: Sequence[Fact]) -> list[Event]:
    return [
        Event(workflow_id="w1", number=number, at=NOW, kind=kind, data=data)
        for number, (kind, data) in enumerate(facts, 1)
    ]


def ended(state: State, index: int = 0, *, again: bool = False) -> Fact:
    return history.action_ended(action(index), "x", Outcome(state=state), 1.23456, again=again)


@pytest.mark.parametrize(
    ("facts", "state", "actions"),
    [
        ([history.created(THREE)], "PENDING", "PENDING SKIPPED PENDING"),
        (BEGUN, "RUNNING", "RUNNING SKIPPED PENDING"),
        ([*BEGUN, history.action_leaving(action(), "x")], "RUNNING", "LEAVING SKIPPED PENDING"),
        ([*BEGUN, ended(State.SUCCESS)], "RUNNING", "SUCCESS SKIPPED PENDING"),
        ([*BEGUN, ended(State.FAILED, again=True)], "RUNNING", "PENDING SKIPPED PENDING"),
        ([*BEGUN, history.stopping(State.CANCELED, "Canceled", "")], "STOPPING", "RUNNING SKIPPED PENDING"),
        (
            [*BEGUN, ended(State.TIMEOUT), history.ended(State.TIMEOUT, "Timeout", "")],
            "TIMEOUT",
            "TIMEOUT SKIPPED PENDING",
        ),
        (
            [*BEGUN, ended(State.SUCCESS), ended(State.CANCELED, 2), history.ended(State.CANCELED, "", ""), history.retried(1)],
            "PENDING",
            "SUCCESS SKIPPED PENDING",
        ),
        ([*BEGUN, ended(State.SUCCESS), history.ended(State.FAILED, "", ""), history.retried(0)], "PENDING", "PENDING SKIPPED PENDING"),
        ([*BEGUN, ("service.started", {})], "RUNNING", "RUNNING SKIPPED PENDING"),
    ],
)  # fmt: skip
def test_events_add_up(facts: list[Fact], state: str, actions: str) -> None:
    assert fold(events(facts)) == History(state=State(state), actions=tuple(State(each) for each in actions.split()))


@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILED, State.TIMEOUT, State.CANCELED])
def test_every_end_is_told_by_its_word(state: State) -> None:
    assert fold(events([*BEGUN, ended(state), history.ended(state, "", "")])).state is state


def test_a_missing_or_repeated_event_is_noticed() -> None:
    told = events([*BEGUN, ended(State.SUCCESS)])
    for wrong in (told[1:], [told[0], *told[2:]], [told[0], *told], []):
        with pytest.raises(Invalid):
            fold(wrong)


def test_what_does_not_begin_with_the_creation_is_no_history() -> None:
    with pytest.raises(Invalid, match="begin with"):
        fold(events([history.started()]))


def test_the_creation_names_actions_and_the_workers_that_are_needed() -> None:
    kind, data = history.created(THREE)
    assert kind == "workflow.created"
    assert data["workers"] == ["me", "other"]
    assert data["skipped"] == [1]
    assert data["actions"][2] == {"task": "t", "action": "a2", "worker": "other"}


def test_an_end_tells_everything_a_person_asks() -> None:
    outcome = Outcome(state=State.FAILED, exit_code=137, signal="SIGKILL", reason="Signal", message="m", hint="h")
    kind, data = history.action_ended(action(), "x", outcome, 1.23456, again=True)
    assert kind == "action.failed"
    assert data == {
        "task": "t", "action": "a0", "index": 0, "worker": "me", "attempt": "x", "state": "FAILED", "seconds": 1.235,
        "reason": "Signal", "message": "m", "hint": "h", "exit_code": 137, "signal": "SIGKILL", "next": "PENDING",
    }  # fmt: skip
