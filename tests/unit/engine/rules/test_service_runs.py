"""What is noted of what hosts say of their services."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.engine.rules.service_runs import noted, passed, told_to_end
from tinkbox.model.services import MAX_RESTARTS, Phase, Restarted, Standing

ENDED = ("EXITED", "FAILED", "STOPPED")


def stands(phase: str, **told: object) -> Standing:
    return Standing(run="r1", phase=Phase(phase), **told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "said", "over", "after"),
    [
        ("STARTING", "READY", False, "READY"),
        ("READY", "UNHEALTHY", False, "UNHEALTHY"),
        ("READY", "STARTING", False, "STARTING"),
        ("READY", "FAILED", False, "FAILED"),
        ("STARTING", "STARTING", False, None),
        # Told of it, its host has not come to it.
        ("STARTING", "PENDING", False, None),
        ("READY", "PENDING", False, "STARTING"),
        # Only the end of the workflow stops a service.
        ("READY", "STOPPING", False, None),
        ("READY", "STOPPED", False, None),
        ("READY", None, False, None),
        # What is over is nothing but ended.
        ("STOPPING", "READY", True, None),
        ("STOPPING", "STARTING", True, None),
        ("READY", "READY", True, "STOPPING"),
        ("STOPPING", "STOPPED", True, "STOPPED"),
        ("STOPPING", "EXITED", True, "EXITED"),
        ("STOPPING", "FAILED", True, "FAILED"),
        ("STOPPING", None, True, "STOPPED"),
        # An end is final.
        *[(ended, said, over, None) for ended in ENDED for said in ("READY", "STARTING", None) for over in (False, True)],
        ("EXITED", "STOPPED", True, None),
        ("FAILED", "EXITED", False, None),
    ],
)  # fmt: skip
def test_what_a_host_says_is_noted_as_far_as_it_can_be(
    before: str, said: str | None, over: bool, after: str | None
) -> None:
    found = noted(stands(before), None if said is None else stands(said), over=over)
    assert found == (None if after is None else stands(after))


def test_details_are_news_even_of_what_has_ended_so() -> None:
    for phase in ("STARTING", "FAILED"):
        said = stands(phase, message="no such image", tail=("a",))
        assert noted(stands(phase), said, over=False) == said


def test_what_is_gone_has_no_address_and_keeps_what_was_last_known() -> None:
    before = stands("READY", address="10.213.0.2", restarts=2, exit_code=1, tail=("x",))
    assert noted(before, None, over=True) == replace(before, phase=Phase.STOPPED, address="")


@pytest.mark.parametrize("phase", [each.value for each in Phase if each.value not in ENDED])
def test_what_was_never_begun_is_stopped_at_once_and_anything_else_told_to_end(phase: str) -> None:
    assert told_to_end(stands(phase)).phase == ("STOPPED" if phase == "PENDING" else "STOPPING")


PHASES = st.sampled_from(list(Phase))


@given(st.lists(st.tuples(st.none() | PHASES, st.integers(0, 3)), max_size=12), st.integers(0, 12))
def test_however_reports_are_lost_doubled_and_late_an_end_stays_and_what_is_over_ends(
    reports: list[tuple[Phase | None, int]], end: int
) -> None:
    standing = told_to_end(stands("PENDING")) if end == 0 else stands("STARTING")
    for number, (phase, restarts) in enumerate(reports, 1):
        if number == end and standing.phase.value not in ENDED:
            standing = told_to_end(standing)
        over, said = number >= end, None if phase is None else stands(phase, restarts=restarts)
        after = noted(standing, said, over=over)
        if after is not None:
            assert standing.phase.value not in ENDED or after.phase is standing.phase
            assert after != standing, "only news is noted"
            standing = after
        assert standing.phase is not Phase.PENDING
        assert over or standing.phase.value not in ("STOPPING", "STOPPED")
        assert not over or standing.phase.value in ("STOPPING", *ENDED)
        assert noted(standing, said, over=over) is None, "the same again is no news"


def told(before: Standing, after: Standing, *, first_ready: bool = False) -> list[str]:
    return [phase.value for phase, _ in passed(before, after, first_ready=first_ready)]


def test_every_phase_is_told_once() -> None:
    for before, after in product(Phase, Phase):
        assert told(stands(before), stands(after)) == ([] if before is after else [after.value])


def test_what_a_host_came_through_meanwhile_is_told_as_well() -> None:
    assert told(stands("STARTING"), stands("EXITED"), first_ready=True) == ["READY", "EXITED"]
    assert told(stands("STARTING"), stands("UNHEALTHY"), first_ready=True) == ["READY", "UNHEALTHY"]
    assert told(stands("STARTING"), stands("READY"), first_ready=True) == ["READY"]
    assert told(stands("READY"), stands("READY", restarts=1)) == ["RESTARTING", "READY"]
    assert told(stands("READY"), stands("RESTARTING", restarts=1)) == ["RESTARTING"]
    assert told(stands("RESTARTING"), stands("STARTING", restarts=1)) == ["RESTARTING", "STARTING"]
    assert told(stands("RESTARTING", restarts=1), stands("STARTING", restarts=1)) == ["STARTING"]
    assert told(stands("READY", restarts=1), stands("READY", restarts=1, message="x")) == []


def test_each_restart_is_told_once_and_in_order() -> None:
    ends = tuple(Restarted(number=number, exit_code=number, message=f"end {number}") for number in (1, 2, 3))
    second = stands("RESTARTING", restarts=2, exit_code=2, message="end 2", tail=("last",), restarted=ends[:2])
    found = passed(stands("RESTARTING", restarts=1), second, first_ready=False)
    assert found == [(Phase.RESTARTING, second)]
    third = stands("FAILED", restarts=3, exit_code=9, message="over", restarted=ends)
    found = passed(stands("STARTING"), third, first_ready=False)
    assert [(phase, stood.restarts, stood.exit_code, stood.message) for phase, stood in found] == [
        (Phase.RESTARTING, 1, 1, "end 1"),
        (Phase.RESTARTING, 2, 2, "end 2"),
        (Phase.RESTARTING, 3, 3, "end 3"),
        (Phase.FAILED, 3, 9, "over"),
    ]
    # A host of an earlier release tells of the newest alone.
    old = passed(stands("READY"), stands("RESTARTING", restarts=2, message="x"), first_ready=False)
    assert [(stood.restarts, stood.message) for _, stood in old] == [(1, ""), (2, "x")]


def test_a_host_that_counts_nonsense_fills_no_history() -> None:
    assert len(passed(stands("READY"), stands("READY", restarts=2**60), first_ready=False)) == MAX_RESTARTS + 1


def test_restarts_that_are_told_again_are_no_news() -> None:
    before = stands("READY", restarts=1)
    assert noted(before, replace(before, restarted=(Restarted(number=1, message="x"),)), over=False) is None
