import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.execution.limits import Budget, Limits


def test_so_many_steps_are_allowed_and_no_more() -> None:
    budget = Budget(Limits(steps=3))
    budget.step()
    budget.step(2)
    with pytest.raises(GoError, match="more than 3 steps"):
        budget.step()


def test_so_many_levels_are_allowed_at_once() -> None:
    budget = Budget(Limits(depth=2))
    budget.enter()
    budget.enter()
    budget.leave()
    budget.enter()
    with pytest.raises(GoError, match="more than 2 levels deep"):
        budget.enter()


def test_the_output_is_counted_in_bytes() -> None:
    budget = Budget(Limits(output_bytes=4))
    budget.write("é")
    budget.write("ab")
    assert budget.output == ["é", "ab"]
    with pytest.raises(GoError, match="longer than 2 bytes"):
        Budget(Limits(output_bytes=2)).write("\udcff")
    with pytest.raises(GoError, match="longer than 4 bytes"):
        budget.write("c")


@pytest.mark.parametrize(
    ("value", "steps"),
    [
        ("x" * 63, 0),
        ("x" * 64, 1),
        ("x" * 640, 10),
        ([0] * 15, 0),
        ((0,) * 32, 2),
        ({str(n): 0 for n in range(16)}, 1),
        (9, 0),
    ],
)
def test_what_is_large_costs_steps(value: object, steps: int) -> None:
    Budget(Limits(steps=steps)).handle(value)
    if steps:
        with pytest.raises(GoError, match="steps"):
            Budget(Limits(steps=steps - 1)).handle(value)
        with pytest.raises(GoError, match="steps"):
            Budget(Limits(steps=steps - 1)).keep(value)


def test_no_function_makes_a_string_longer_than_the_output_may_be() -> None:
    budget = Budget(Limits(output_bytes=4))
    budget.keep("éé")
    with pytest.raises(GoError, match="the result is longer than 4 bytes"):
        budget.keep("éée")
