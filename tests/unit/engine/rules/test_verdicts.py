"""What a verdict may say, and what follows from it."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from tests.unit.model.flows import NOW
from tinkbox.engine.rules.verdicts import (
    LOST,
    excuses,
    judged,
    may_end,
    resumes,
    runs_again,
    unconfirmed,
    warned_at,
)
from tinkbox.model.breakpoint import ON_EXPIRY, Hold, Kind, Verb, Verdict
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.workflow import FINAL, Outcome, State

FAILED = Outcome(state=State.FAILED, exit_code=3, reason="DiskNotFound", message="no disk")
SUCCEEDED = Outcome(state=State.SUCCESS, exit_code=0)
ALLOWED = {
    Kind.BEFORE: {"continue", "skip", "fail", "abort"},
    Kind.FAILURE: {"continue", "fail", "retry", "abort"},
    Kind.AFTER: {"continue", "fail", "retry", "abort"},
}


def held(kind: Kind, verdict: Verdict | None = None, **changes: object) -> Hold:
    ended = {Kind.BEFORE: None, Kind.FAILURE: FAILED, Kind.AFTER: SUCCEEDED}[kind]
    hold = Hold(
        attempt="x", workflow_id="w1", sequence=1, kind=kind, held_at=NOW, deadline=NOW + timedelta(seconds=600),
        timeout=600, outcome=ended, verdict=verdict,
    )  # fmt: skip
    return replace(hold, **changes)


def says(verb: Verb, **changes: object) -> Verdict:
    return Verdict(verb=verb, who="anna", **changes)


@pytest.mark.parametrize(("kind", "verb"), list(product(Kind, Verb)))
def test_each_kind_of_hold_has_its_verbs(kind: Kind, verb: Verb) -> None:
    if verb.value in ALLOWED[kind]:
        assert judged(says(verb, why="w"), held(kind)) == says(verb, why="w")
    else:
        with pytest.raises(Conflict, match=f"{verb} is no verdict"):
            judged(says(verb), held(kind))


@pytest.mark.parametrize("kind", list(Kind))
def test_whatever_ends_a_hold_by_itself_is_a_verdict_on_every_kind(kind: Kind) -> None:
    assert {verb.value for verb in ON_EXPIRY} == {"fail", "continue", "abort"} <= ALLOWED[kind]


@pytest.mark.parametrize(
    ("fresh", "in_place", "expected"), [(False, True, False), (True, True, True), (False, False, True)]
)
def test_a_retry_is_fresh_when_it_must_be(fresh: bool, in_place: bool, expected: bool) -> None:
    hold = held(Kind.FAILURE, in_place=in_place)
    assert judged(says(Verb.RETRY, fresh=fresh), hold).fresh is expected
    assert not judged(says(Verb.FAIL), hold).fresh


@pytest.mark.parametrize(
    "verdict",
    [
        says(Verb.CONTINUE, fresh=True),
        says(Verb.FAIL, command=("sh",)),
        says(Verb.ABORT, environment={"A": "b"}),
        says(Verb.RETRY, command=()),
        says(Verb.RETRY, command=("x",) * 257),
        says(Verb.RETRY, command=("a\0",)),
        says(Verb.RETRY, environment={"": "b"}),
        says(Verb.RETRY, environment={"A=": "b"}),
        says(Verb.RETRY, environment={"A\0": "b"}),
        says(Verb.RETRY, environment={"A": "b\0"}),
    ],
)
def test_what_no_process_can_be_given_is_refused(verdict: Verdict) -> None:
    with pytest.raises(Invalid):
        judged(verdict, held(Kind.FAILURE))


def test_a_long_story_is_cut_but_nothing_that_is_run() -> None:
    verdict = says(Verb.RETRY, why="w" * 9_999, command=("x",) * 256, environment={"A": "=b"})
    counts = judged(verdict, held(Kind.FAILURE))
    assert counts == replace(verdict, why="w" * 2_048)


@pytest.mark.parametrize(
    ("verb", "outcome", "expected"),
    [
        (Verb.CONTINUE, FAILED, True),
        (Verb.CONTINUE, replace(FAILED, state=State.TIMEOUT), True),
        (Verb.CONTINUE, SUCCEEDED, False),
        (Verb.CONTINUE, None, False),
        (Verb.RETRY, FAILED, False),
    ],
)
def test_only_who_makes_a_success_of_a_failure_excuses_it(verb: Verb, outcome: Outcome | None, expected: bool) -> None:
    assert excuses(says(verb), held(Kind.AFTER, outcome=outcome)) is expected


RUNNING = {(Kind.BEFORE, Verb.CONTINUE), (Kind.FAILURE, Verb.RETRY), (Kind.AFTER, Verb.RETRY)}
ENDING_WELL = {
    (Kind.BEFORE, Verb.SKIP), (Kind.FAILURE, Verb.CONTINUE), (Kind.AFTER, Verb.CONTINUE), (Kind.AFTER, Verb.RETRY),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(Kind))
def test_what_runs_and_what_succeeds_is_as_the_verdict_says(kind: Kind) -> None:
    assert not resumes(held(kind))
    for state in FINAL:
        assert may_end(held(kind), Outcome(state=state)) is (state is not State.SUCCESS)
    for verb in Verb:
        hold = held(kind, says(verb))
        if verb.value in ALLOWED[kind]:
            assert resumes(hold) is ((kind, verb) in RUNNING)
            assert may_end(hold, SUCCEEDED) is ((kind, verb) in ENDING_WELL)
        assert may_end(hold, FAILED)


@pytest.mark.parametrize("verb", list(Verb))
def test_only_a_retry_runs_again_and_never_what_nobody_knows_the_end_of(verb: Verb) -> None:
    retry = verb is Verb.RETRY
    assert runs_again(says(verb), FAILED) is retry
    assert runs_again(says(verb), SUCCEEDED) is retry
    assert not runs_again(says(verb), LOST)
    assert not runs_again(says(verb), Outcome(state=State.CANCELED))


@pytest.mark.parametrize(("timeout", "before"), [(600, 120), (10, 2), (1500, 300), (86_400, 300)])
def test_a_hold_is_warned_of_a_fifth_of_its_time_before_but_not_too_early(timeout: int, before: int) -> None:
    hold = held(Kind.FAILURE, timeout=timeout)
    assert hold.deadline - warned_at(hold) == timedelta(seconds=before)


@pytest.mark.parametrize("kind", list(Kind))
def test_what_nobody_confirmed_is_lost_unless_it_was_to_fail(kind: Kind) -> None:
    for verb in (Verb.CONTINUE, Verb.RETRY, Verb.SKIP):
        outcome = unconfirmed(held(kind, says(verb)))
        assert (outcome.state, outcome.reason) == (State.FAILED, "BreakpointLost")
        assert verb.value in outcome.message
    failed = unconfirmed(held(kind, says(Verb.FAIL)))
    assert failed.state is State.FAILED
    assert failed.reason == ("DiskNotFound" if kind is Kind.FAILURE else "FailedAtBreakpoint")
