"""Equality as reflect.DeepEqual has it."""

import math

from tinkbox.sprig.collections.equality import Distinct, deep_equal


def test_kinds_differ_although_python_finds_them_equal() -> None:
    assert not deep_equal(1, True)
    assert not deep_equal(1, 1.0)
    assert not deep_equal(None, [])
    assert not deep_equal({"a": [0]}, {"a": [False]})


def test_content_is_compared_to_the_bottom() -> None:
    assert deep_equal({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})
    assert not deep_equal({"a": [1, {"b": None}]}, {"a": [1, {"b": 0}]})
    assert not deep_equal([1], [1, 2])
    assert not deep_equal({"a": 1}, {"b": 1})


def test_nan_equals_nothing_but_what_holds_it_equals_itself() -> None:
    holder = [math.nan]
    assert not deep_equal(math.nan, math.nan)
    assert not deep_equal([math.nan], [math.nan])
    assert deep_equal(holder, holder)


def test_a_set_of_values_follows_the_same_equality() -> None:
    values = Distinct([1, "1", [1], {"a": None}, math.nan, None])
    assert [each in values for each in (1, "1", [1], {"a": None}, None)] == [True] * 5
    assert [each in values for each in (1.0, True, "a", [2], {}, math.nan)] == [False] * 6
