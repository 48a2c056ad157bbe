import math
from collections.abc import Callable

import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.execution.comparison import eq, ge, gt, le, lt, ne


def test_one_of_the_others_is_enough() -> None:
    assert eq(3, 1, 2, 3)
    assert not eq(3, 1, 2)
    assert ne(3, 1)
    assert not ne("a", "a")


def test_nothing_after_the_equal_one_is_looked_at() -> None:
    assert eq(1, 1, "a")
    with pytest.raises(GoError, match="incompatible types for comparison: int and string"):
        eq(1, 2, "a")


def test_nil_equals_nil_only() -> None:
    assert eq(None, None)
    assert not any(eq(None, each) or eq(each, None) for each in (0, "", False, 0.0, [], {}))


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (True, 1), ("1", 1), (False, 0.0), ([], 1), ("", {})])
def test_values_of_different_kinds_do_not_compare(first: object, second: object) -> None:
    for compare in (eq, ne):
        with pytest.raises(GoError, match="incompatible types"):
            compare(first, second)
    for order in (lt, le, gt, ge):
        with pytest.raises(GoError, match="for comparison"):
            order(first, second)


@pytest.mark.parametrize(("first", "second"), [([1], [1]), ({}, {}), ([], {})])
def test_slices_and_maps_do_not_compare(first: object, second: object) -> None:
    for compare in (eq, ne):
        with pytest.raises(GoError, match="non-comparable"):
            compare(first, second)


def test_a_comparison_needs_something_to_compare_with() -> None:
    with pytest.raises(GoError, match="missing argument"):
        eq(1)


ORDERS: list[tuple[Callable[[object, object], bool], tuple[bool, bool, bool]]] = [
    (lt, (True, False, False)),
    (le, (True, True, False)),
    (gt, (False, False, True)),
    (ge, (False, True, True)),
]


@pytest.mark.parametrize(("order", "expected"), ORDERS)
def test_numbers_and_strings_have_an_order(
    order: Callable[[object, object], bool], expected: tuple[bool, bool, bool]
) -> None:
    for less, more in ((1, 2), (-1.5, 2.5), ("Z", "a"), ("", "a"), ("\udcff", "\U0001f600")[::-1]):
        assert (order(less, more), order(less, less), order(more, less)) == expected, (less, more)


@pytest.mark.parametrize(("order", "expected"), ORDERS)
def test_nothing_else_has_one(order: Callable[[object, object], bool], expected: object) -> None:
    for value in (None, [], {}, True):
        with pytest.raises(GoError, match="invalid type for comparison"):
            order(value, value)


def test_orders_with_nan_are_those_of_go() -> None:
    assert [order(math.nan, 1.0) for order, _ in ORDERS] == [False, False, True, True]
