"""The table of an attempt's states on its machine."""

from collections import defaultdict
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.worker.transitions import TABLE, AttemptEvent, AttemptState, NoSuchStep, advance, mermaid

STEPS = {
    "OFFERED": {
        "begins": "RUNNING", "reaches a breakpoint": "HELD", "is to run on": "RESUMING",
        "told to stop, or late": "STOPPING", "had ended": "ENDED", "engine stays away": "ENDED",
    },
    "RUNNING": {
        "succeeds": "ENDED", "fails": "KEEPING", "fails, nothing more to keep": "HOOK", "reaches a breakpoint": "HELD",
        "machine leaves": "LEAVING", "told to stop, or late": "STOPPING", "not wanted any more": "STOPPING",
        "engine stays away": "ENDED",
    },
    "HELD": {
        "is to run on": "RESUMING", "is to run no more": "CLOSING", "told to stop, or late": "STOPPING",
        "not wanted any more": "STOPPING",
    },
    "RESUMING": {
        "runs on": "RUNNING", "reaches a breakpoint": "HELD", "fails": "KEEPING", "not wanted any more": "STOPPING",
    },
    "CLOSING": {
        "succeeds": "ENDED", "to be tried anew": "ENDED", "fails": "KEEPING", "fails, nothing more to keep": "HOOK",
        "not wanted any more": "STOPPING",
    },
    "LEAVING": {"machine goes": "AWAY", "told to stop, or late": "STOPPING"},
    "STOPPING": {"is stopped": "KEEPING", "engine stays away": "ENDED"},
    "KEEPING": {"data is kept, or cannot be": "HOOK"},
    "HOOK": {"hook ends": "ENDED"},
    "ENDED": {"report is answered": "OVER"},
    "AWAY": {},
    "OVER": {},
}  # fmt: skip
FINAL = {AttemptState.AWAY, AttemptState.OVER}


@pytest.mark.parametrize(("state", "event"), list(product(AttemptState, AttemptEvent)))
def test_every_pair_is_either_a_step_or_refused(state: AttemptState, event: AttemptEvent) -> None:
    expected = STEPS[state.value].get(event.value)
    if expected is None:
        with pytest.raises(NoSuchStep, match=state.value):
            advance(state, event)
    else:
        assert advance(state, event) == expected


@given(st.lists(st.sampled_from(AttemptEvent), max_size=60))
def test_random_events_never_leave_the_table(events: list[AttemptEvent]) -> None:
    state = AttemptState.OFFERED
    for event in events:
        try:
            state = advance(state, event)
        except NoSuchStep:
            assert (state, event) not in TABLE
        assert state in AttemptState


@given(st.data())
def test_random_runs_end_only_where_nothing_is_left_to_do(data: st.DataObject) -> None:
    state, seen = AttemptState.OFFERED, [AttemptState.OFFERED]
    while (ways := [event for before, event in TABLE if before is state]) and len(seen) < 100:
        state = advance(state, data.draw(st.sampled_from(ways)))
        seen.append(state)
    assert len(seen) == 100 or state in FINAL
    assert AttemptState.OFFERED not in seen[1:]


def behind(state: AttemptState) -> set[AttemptState]:
    """Every state that can follow this one, sooner or later."""
    following = defaultdict(set)
    for (before, _), after in TABLE.items():
        following[before].add(after)
    found: set[AttemptState] = set()
    ahead = [state]
    while ahead:
        new = following[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def test_every_state_can_be_reached_and_from_each_there_is_a_way_to_an_end() -> None:
    assert behind(AttemptState.OFFERED) == set(AttemptState) - {AttemptState.OFFERED}
    assert all(behind(state) & FINAL for state in set(AttemptState) - FINAL)


def test_nothing_is_begun_any_more_once_an_attempt_is_being_ended() -> None:
    begins = {AttemptState.RUNNING, AttemptState.RESUMING, AttemptState.HELD}
    for state in (AttemptState.STOPPING, AttemptState.CLOSING, AttemptState.KEEPING, AttemptState.HOOK):
        assert not behind(state) & begins
    assert not behind(AttemptState.LEAVING) & begins


def test_only_a_begin_or_a_resumption_makes_an_attempt_run() -> None:
    ways = {event for (_, event), after in TABLE.items() if after is AttemptState.RUNNING}
    assert ways == {AttemptEvent.BEGINS, AttemptEvent.RUNS}


def test_diagram_shows_every_step() -> None:
    lines = mermaid().splitlines()
    assert sum(" --> " in line and "[*]" not in line for line in lines) == len(TABLE)
    assert {line.strip() for line in lines if line.endswith("[*]")} == {"AWAY --> [*]", "OVER --> [*]"}
