"""Choices by emptiness, and giving up."""

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.defaults import FUNCTIONS, coalesce, default, empty

EMPTY: list[object] = [None, "", 0, 0.0, False, [], {}]
GIVEN: list[object] = ["0", -1, 0.5, True, [None], {"": None}]


def test_what_is_empty_is_replaced_by_the_default() -> None:
    assert [default("d", each) for each in EMPTY] == ["d"] * len(EMPTY)
    assert [default("d", each) for each in GIVEN] == GIVEN
    assert default("d") == "d"


def test_emptiness_is_the_same_for_all() -> None:
    assert all(map(empty, EMPTY))
    assert not any(map(empty, GIVEN))
    assert coalesce(*EMPTY, "first", "second") == "first"
    assert coalesce(*EMPTY) is None
    assert (FUNCTIONS["all"](*GIVEN), FUNCTIONS["all"](*GIVEN, 0)) == (True, False)
    assert (FUNCTIONS["any"](*EMPTY), FUNCTIONS["any"](*EMPTY, 1)) == (False, True)


def test_a_template_can_fail_with_its_own_words() -> None:
    with pytest.raises(GoError) as failure:
        FUNCTIONS["fail"]("no disk given")
    assert str(failure.value) == "no disk given"
