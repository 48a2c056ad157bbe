"""What is armed of a workflow, and how it changes."""

import pytest

from tests.unit.model.flows import action, status, workflow
from tinkbox.engine.rules.arming import Change, armed, armed_of, cleared
from tinkbox.model.breakpoint import Armed, Breakpoints, Verb
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.workflow import State

NOTHING = Breakpoints()
FLOW = workflow(
    State.RUNNING,
    [
        status(State.SUCCESS),
        status(State.RUNNING, 1),
        status(State.PENDING, 2),
        status(State.PENDING, action=action(3, name="a2", task="u")),
        status(State.SKIPPED, 4),
    ],
)
FULL = Breakpoints(on_failure=True, before=("t/a1", "t/a2"), after=("u/a2",), timeout=60, on_expiry=Verb.ABORT)


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        (NOTHING, Change(on_failure=True), Breakpoints(on_failure=True)),
        (NOTHING, Change(before=("a1", "t/a1", "t/a2")), Breakpoints(before=("t/a1", "t/a2"))),
        (NOTHING, Change(timeout=1, on_expiry=Verb.CONTINUE), Breakpoints(timeout=1, on_expiry=Verb.CONTINUE)),
        (NOTHING, Change(timeout=604_800), Breakpoints(timeout=604_800)),
        (FULL, Change(on_failure=False), Breakpoints(before=FULL.before, after=FULL.after, timeout=60, on_expiry=Verb.ABORT)),
        (FULL, Change(before=("u/a2", "t/a1")),
         Breakpoints(on_failure=True, before=("t/a1", "t/a2", "u/a2"), after=("u/a2",), timeout=60, on_expiry=Verb.ABORT)),
    ],
)  # fmt: skip
def test_what_is_armed_comes_to_what_was(before: Breakpoints, change: Change, after: Breakpoints) -> None:
    assert armed(before, change, FLOW) == after


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (None, NOTHING),
        (Change(on_failure=True), Breakpoints(before=FULL.before, after=FULL.after, timeout=60, on_expiry=Verb.ABORT)),
        (
            Change(before=("a1", "u/a2"), after=("u/a2",)),
            Breakpoints(on_failure=True, before=("t/a2",), timeout=60, on_expiry=Verb.ABORT),
        ),
        (Change(before=("a0", "a4")), FULL),
        (Change(), FULL),
    ],
)
def test_what_is_cleared_is_no_more_and_the_rest_stays(change: Change | None, after: Breakpoints) -> None:
    assert cleared(FULL, change, FLOW) == after


@pytest.mark.parametrize(
    ("change", "refusal", "words"),
    [
        (Change(), Invalid, "nothing to arm"),
        (Change(timeout=0), Invalid, "not 0"),
        (Change(timeout=604_801), Invalid, "not 604801"),
        (Change(on_expiry=Verb.SKIP), Invalid, "not with skip"),
        (Change(before=("a2",)), Conflict, "2 actions are called a2"),
        (Change(after=("a9",)), NotFound, "there is no action a9: there are t/a0"),
        (Change(before=("a0",)), Conflict, "t/a0 is done already"),
        (Change(after=("a4",)), Conflict, "t/a4 is skipped"),
    ],
)
def test_what_cannot_be_armed_says_why(change: Change, refusal: type[Exception], words: str) -> None:
    with pytest.raises(refusal, match=words):
        armed(NOTHING, change, FLOW)


def test_nothing_can_be_cleared_of_an_action_that_is_not_there() -> None:
    with pytest.raises(NotFound):
        cleared(FULL, Change(before=("a9",)), FLOW)
    with pytest.raises(Conflict):
        cleared(FULL, Change(after=("a2",)), FLOW)


@pytest.mark.parametrize(("failures", "last"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_failure_is_held_only_where_no_retry_follows(failures: int, last: bool) -> None:
    planned = action(1, retries=2)
    assert armed_of(FULL, planned, failures) == Armed(before=True, on_failure=last)
    assert armed_of(NOTHING, planned, failures) == Armed()
