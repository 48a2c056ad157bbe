"""Which of a worker's processes counts."""

import pytest

from tinkbox.model.session import is_later, new_instance


def test_the_process_that_was_started_later_is_the_later_one_whatever_their_names() -> None:
    first, second = new_instance(999, "z"), new_instance(1_000, "a")
    assert is_later(second, first)
    assert not is_later(first, second)
    assert not is_later(first, first)


@pytest.mark.parametrize("unnamed", ["", "one", "-1-one", "\u0663-one"])
def test_a_process_that_does_not_say_when_it_was_started_is_no_later_one(unnamed: str) -> None:
    assert not is_later(unnamed, "")
    assert is_later(new_instance(1, "a"), unnamed)
