"""The transition tables."""

from itertools import product

import pytest

from tinkbox.engine.rules.transitions import ACTION, ENDING, WORKFLOW, Happening, Table, advance, mermaid
from tinkbox.model.errors import Conflict
from tinkbox.model.workflow import FINAL, State

ENDS = {"succeeded": "SUCCESS", "failed": "FAILED", "timed out": "TIMEOUT", "canceled": "CANCELED"}
BEGUN = ("RUNNING", "HELD", "LEAVING")
STEPS_OF_ACTIONS = {
    ("PENDING", "started"): "RUNNING",
    ("RUNNING", "machine leaves"): "LEAVING",
    **{(state, "held"): "HELD" for state in ("RUNNING", "LEAVING")},
    ("HELD", "resumed"): "RUNNING",
    ("HELD", "machine leaves"): "LEAVING",
    **{(state, happening): end for state in BEGUN for happening, end in ENDS.items()},
    **{(state, "tried again"): "PENDING" for state in BEGUN},
    **{(state, "retried"): "PENDING" for state in ENDS.values()},
}
STEPS_OF_WORKFLOWS = {
    ("PENDING", "started"): "RUNNING",
    ("PENDING", "canceled"): "CANCELED",
    ("PENDING", "failed"): "FAILED",
    **{("RUNNING", happening): end for happening, end in ENDS.items()},
    ("RUNNING", "told to stop"): "STOPPING",
    ("STOPPING", "timed out"): "TIMEOUT",
    ("STOPPING", "canceled"): "CANCELED",
    **{(state, "retried"): "PENDING" for state in ("FAILED", "TIMEOUT", "CANCELED")},
}


@pytest.mark.parametrize(("table", "steps"), [(ACTION, STEPS_OF_ACTIONS), (WORKFLOW, STEPS_OF_WORKFLOWS)])
@pytest.mark.parametrize(("state", "happening"), list(product(State, Happening)))
def test_every_pair_is_either_a_step_or_a_refusal(
    table: Table, steps: dict[tuple[str, str], str], state: State, happening: Happening
) -> None:
    expected = steps.get((state.value, happening.value))
    if expected is None:
        with pytest.raises(Conflict):
            advance(table, state, happening)
    else:
        assert advance(table, state, happening) == expected


def test_success_is_final_and_only_a_person_leads_out_of_another_end() -> None:
    out = {(state, happening) for state, happening in WORKFLOW if state in FINAL}
    assert out == {(state, Happening.RETRIED) for state in FINAL - {State.SUCCESS}}
    assert {happening for state, happening in ACTION if state in FINAL} == {Happening.RETRIED}
    assert not {State.SKIPPED} & {state for state, _ in ACTION}


def test_every_end_of_an_attempt_is_something_that_can_happen() -> None:
    for state in map(State, BEGUN):
        assert {advance(ACTION, state, happening) for happening in ENDING.values()} == FINAL == set(ENDING)


def test_the_diagrams_show_every_step() -> None:
    assert mermaid().count("RUNNING --> FAILED: failed") == 2
