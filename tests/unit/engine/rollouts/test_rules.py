"""What may happen to a rollout, and what follows by itself."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from tinkbox.engine.rollouts.rules import TABLE, Happening, advance, follows, mermaid, room
from tinkbox.model.errors import Conflict
from tinkbox.model.rollout import OVER, Counts, OnFailure, Place, Rollout, RolloutState
from tinkbox.model.text import natural

NOW = datetime(2026, 11, 27, tzinfo=UTC)
ROOT = Path(__file__).parents[4]
ROLLOUT = Rollout(
    id="1a2b3c4d-0000-0000-0000-000000000000",
    template_id="t",
    template_name="ubuntu",
    device="device_1",
    parameters={},
    max_parallel=8,
    on_failure=OnFailure.STOP,
    who="ann",
    created_at=NOW,
    updated_at=NOW,
)


def rollout(state: RolloutState, on_failure: OnFailure = OnFailure.STOP, **changed: object) -> Rollout:
    return replace(ROLLOUT, state=state, on_failure=on_failure, **changed)


def counts(
    waiting: int = 0, running: int = 0, succeeded: int = 0, failed: int = 0, canceled: int = 0, left: int = 0
) -> Counts:
    return Counts(
        by_place={
            Place.WAITING: waiting,
            Place.RUNNING: running,
            Place.SUCCESS: succeeded,
            Place.FAILED: failed,
            Place.CANCELED: canceled,
            Place.LEFT: left,
        }
    )


@pytest.mark.parametrize(("state", "happening"), list(product(RolloutState, Happening)))
def test_every_pair_of_the_table_leads_where_it_says_and_every_other_is_refused(
    state: RolloutState, happening: Happening
) -> None:
    if (state, happening) in TABLE:
        assert advance(rollout(state), happening) is TABLE[state, happening]
    else:
        with pytest.raises(Conflict, match=f"rollout 1a2b3c4d is {state}"):
            advance(rollout(state), happening)


def test_success_is_final_and_everything_else_leads_to_an_end() -> None:
    assert not [pair for pair in TABLE if pair[0] is RolloutState.SUCCESS]
    for begin in RolloutState:
        reached = {begin}
        while more := {after for (before, _), after in TABLE.items() if before in reached} - reached:
            reached |= more
        assert reached & OVER


def test_what_follows_is_always_in_the_table() -> None:
    numbers = (0, 1)
    for state, policy, stop_into, failed in product(
        RolloutState, OnFailure, (RolloutState.FAILED, RolloutState.CANCELED), (False, True)
    ):
        for each in product(numbers, repeat=6):
            if any(each):
                found = rollout(state, policy, stop_into=stop_into)
                happening = follows(found, counts(*each), failed=failed)
                assert happening is None or (state, happening) in TABLE


@pytest.mark.parametrize("state", [each for each in RolloutState if each is not RolloutState.WAITING])
def test_a_rollout_succeeds_when_every_machine_did(state: RolloutState) -> None:
    expected = None if state is RolloutState.SUCCESS else Happening.SUCCEEDED
    assert follows(rollout(state), counts(succeeded=3), failed=False) is expected


def test_machines_that_were_left_out_do_not_count() -> None:
    running = rollout(RolloutState.RUNNING)
    assert follows(running, counts(succeeded=3, left=2), failed=False) is Happening.SUCCEEDED
    assert follows(running, counts(succeeded=3, left=2, canceled=1), failed=False) is Happening.FAILED
    assert follows(running, counts(waiting=1, succeeded=3, left=2), failed=False) is None
    assert follows(running, counts(left=2), failed=False) is Happening.FAILED, "none of them succeeded"


def test_what_is_over_is_not_canceled() -> None:
    for state in OVER:
        with pytest.raises(Conflict, match=f"is {state}: it is over, and cannot be canceled"):
            advance(rollout(state), Happening.STOPPED)


def test_one_failure_stops_it_or_does_not_as_it_was_told() -> None:
    there = counts(waiting=5, running=7, failed=1)
    for state in (RolloutState.RUNNING, RolloutState.PAUSED):
        assert follows(rollout(state), there, failed=True) is Happening.STOPPED
        assert follows(rollout(state, OnFailure.CONTINUE), there, failed=True) is None
    assert follows(rollout(RolloutState.RUNNING), there, failed=False) is None, "it was noted, and a person resumed"


def test_what_is_told_to_stop_is_over_when_those_under_way_are() -> None:
    for stop_into, over in ((RolloutState.FAILED, Happening.FAILED), (RolloutState.CANCELED, Happening.CANCELED)):
        stopping = rollout(RolloutState.STOPPING, stop_into=stop_into)
        assert follows(stopping, counts(waiting=5, running=1, failed=1), failed=False) is None
        assert follows(stopping, counts(waiting=5, failed=1), failed=False) is over


def test_it_has_failed_when_all_are_over_and_one_did_not_succeed() -> None:
    running = rollout(RolloutState.RUNNING, OnFailure.CONTINUE)
    assert follows(running, counts(succeeded=4, failed=1), failed=True) is Happening.FAILED
    assert follows(running, counts(succeeded=4, canceled=1), failed=False) is Happening.FAILED
    assert follows(running, counts(waiting=1, succeeded=4, failed=1), failed=True) is None


def test_a_paused_rollout_with_machines_that_wait_stays_paused() -> None:
    assert follows(rollout(RolloutState.PAUSED), counts(waiting=1, succeeded=3), failed=False) is None


def test_so_many_begin_that_no_more_are_under_way_than_at_once() -> None:
    assert room(rollout(RolloutState.WAITING), counts(waiting=40), failed=False) == 8
    assert room(rollout(RolloutState.RUNNING), counts(waiting=40, running=3), failed=False) == 5
    assert room(rollout(RolloutState.RUNNING), counts(waiting=2, running=3), failed=False) == 2
    assert room(rollout(RolloutState.RUNNING), counts(waiting=9, running=11), failed=False) == 0, "retried by hand"
    assert room(rollout(RolloutState.RUNNING, max_parallel=0), counts(waiting=40, running=3), failed=False) == 40


def test_nothing_begins_behind_a_failure_nor_when_it_may_not() -> None:
    assert room(rollout(RolloutState.RUNNING), counts(waiting=40), failed=True) == 0
    assert room(rollout(RolloutState.RUNNING, OnFailure.CONTINUE), counts(waiting=40), failed=True) == 8
    for state in set(RolloutState) - {RolloutState.WAITING, RolloutState.RUNNING}:
        assert room(rollout(state), counts(waiting=40), failed=False) == 0


def test_names_are_sorted_as_people_do() -> None:
    names = ["node10", "node2", "Node1", "a", "rack2-9", "rack2-10", "9"]
    assert sorted(names, key=natural) == ["9", "a", "Node1", "node2", "node10", "rack2-9", "rack2-10"]
    assert min(["x" + "9" * 5_000, "x1", ""], key=natural) == ""


def test_the_diagram_in_the_docs_is_the_table() -> None:
    text = (ROOT / "docs" / "rollouts.md").read_text()
    shown = text.split("<!-- rollout:begin -->")[1].split("<!-- rollout:end -->")[0].strip()
    assert shown == mermaid().strip(), "paste the output of tinkbox.engine.rollouts.rules.mermaid() between the markers"
