"""Breakpoints, holds and verdicts as values."""

from datetime import timedelta

import pytest

from tests.unit.model.flows import NOW, action
from tinkbox.model.breakpoint import (
    VERDICTS,
    Armed,
    Breakpoints,
    Hold,
    Kind,
    Verb,
    Verdict,
    failed_at_breakpoint,
    verdicts,
)
from tinkbox.model.workflow import Outcome, State

FULL = Breakpoints(on_failure=True, before=("t/a0",), after=("t/a1", "t/a0"))


@pytest.mark.parametrize(
    ("index", "last", "armed"),
    [
        (0, True, Armed(before=True, after=True, on_failure=True)),
        (0, False, Armed(before=True, after=True)),
        (1, True, Armed(after=True, on_failure=True)),
        (2, False, Armed()),
    ],
)
def test_breakpoints_apply_to_an_action_by_its_full_name(index: int, last: bool, armed: Armed) -> None:
    assert FULL.of(action(index), last_attempt=last) == armed
    assert FULL.of(action(index, task="u"), last_attempt=False) == Armed()


def test_anything_is_armed_as_soon_as_one_thing_is() -> None:
    assert not Breakpoints(timeout=5, on_expiry=Verb.ABORT).anything
    assert not Armed().anything
    for one in ({"on_failure": True}, {"before": ("t/a",)}, {"after": ("t/a",)}):
        assert Breakpoints(**one).anything  # type: ignore[arg-type]
    for name in ("before", "after", "on_failure"):
        assert Armed(**{name: True}).anything


def test_a_hold_lasts_until_it_is_over() -> None:
    later = NOW + timedelta(seconds=90)
    hold = Hold(attempt="x", workflow_id="w", sequence=1, kind=Kind.AFTER, held_at=NOW, deadline=later, timeout=90)
    assert hold.lasted(later) == 90
    over = Hold(
        attempt="x", workflow_id="w", sequence=1, kind=Kind.AFTER, held_at=NOW, deadline=later, timeout=90,
        ended_at=NOW + timedelta(seconds=7),
    )  # fmt: skip
    assert over.lasted(later) == 7


@pytest.mark.parametrize("state", [State.FAILED, State.TIMEOUT])
def test_what_failed_by_itself_keeps_its_own_words(state: State) -> None:
    outcome = Outcome(state=state, exit_code=7, reason="NonZeroExit", message="no disk", tail=("boom",))
    assert failed_at_breakpoint(outcome, Verdict(verb=Verb.FAIL, who="anna")) == outcome


def test_what_had_not_failed_says_who_let_it_fail() -> None:
    after = failed_at_breakpoint(
        Outcome(state=State.SUCCESS, exit_code=0), Verdict(verb=Verb.FAIL, who="anna", why="wrong")
    )
    assert (after.state, after.exit_code, after.reason) == (State.FAILED, 0, "FailedAtBreakpoint")
    assert after.message == "anna let it fail at a breakpoint: wrong"
    before = failed_at_breakpoint(None, Verdict(verb=Verb.FAIL, who="anna"))
    assert (before.state, before.exit_code, before.message) == (State.FAILED, None, "anna let it fail at a breakpoint")
    expired = failed_at_breakpoint(None, Verdict(verb=Verb.FAIL, who="deadline"))
    assert (expired.reason, "nobody decided" in expired.message) == ("BreakpointExpired", True)


def test_verdicts_are_listed_the_likeliest_first_and_for_documents_in_one_order() -> None:
    assert {kind: [verb.value for verb in VERDICTS[kind]] for kind in Kind} == {
        Kind.BEFORE: ["continue", "skip", "fail", "abort"],
        Kind.FAILURE: ["retry", "continue", "fail", "abort"],
        Kind.AFTER: ["continue", "retry", "fail", "abort"],
    }
    assert [verb.value for verb in verdicts(Kind.BEFORE)] == ["continue", "skip", "fail", "abort"]
    for kind in (Kind.FAILURE, Kind.AFTER):
        assert [verb.value for verb in verdicts(kind)] == ["continue", "fail", "retry", "abort"]
