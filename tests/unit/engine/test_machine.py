"""The transition tables."""

from itertools import product

import pytest

from tinkbox.engine.machine import ACTION, ENDING, WORKFLOW, Happening, Table, advance, mermaid
from tinkbox.model.errors import Conflict
from tinkbox.model.workflow import FINAL, State

ALLOWED = {
    ("PENDING", "started"): "RUNNING",
    ("RUNNING", "succeeded"): "SUCCESS",
    ("RUNNING", "failed"): "FAILED",
    ("RUNNING", "timed out"): "TIMEOUT",
}


@pytest.mark.parametrize("table", [ACTION, WORKFLOW])
@pytest.mark.parametrize(("state", "happening"), list(product(State, Happening)))
def test_every_pair_is_either_a_step_or_a_refusal(table: Table, state: State, happening: Happening) -> None:
    expected = ALLOWED.get((state.value, happening.value))
    if expected is None:
        with pytest.raises(Conflict):
            advance(table, state, happening)
    else:
        assert advance(table, state, happening) == expected


def test_final_states_have_no_way_out() -> None:
    for table in (ACTION, WORKFLOW):
        assert not FINAL & {before for before, _ in table}


def test_every_end_of_an_attempt_is_something_that_can_happen() -> None:
    assert {advance(ACTION, State.RUNNING, happening) for happening in ENDING.values()} == FINAL == set(ENDING)


def test_the_diagrams_show_every_step() -> None:
    assert mermaid().count("RUNNING --> FAILED: failed") == 2
