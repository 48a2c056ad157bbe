"""Maps are changed where Sprig changes them, and only there."""

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.collections.dicts import FUNCTIONS, deep_copy, dig, keys, values


def test_set_and_unset_change_the_map_they_are_given() -> None:
    target: dict[str, object] = {"a": 1}
    assert FUNCTIONS["set"](target, "b", 2) is target
    assert FUNCTIONS["unset"](target, "a") is target
    assert target == {"b": 2}


def test_pick_and_omit_give_new_maps() -> None:
    source: dict[str, object] = {"a": 1, "b": 2}
    picked, left = FUNCTIONS["pick"](source, "a", "zz"), FUNCTIONS["omit"](source, "a", "zz")
    assert (picked, left, source) == ({"a": 1}, {"b": 2}, {"a": 1, "b": 2})


def test_keys_and_values_have_an_order() -> None:
    source: dict[str, object] = {"b": 1, "a": 2, "c": 0}
    assert (keys(source), values(source)) == (["a", "b", "c"], [2, 1, 0])


def test_a_copy_shares_nothing() -> None:
    source = {"list": [{"deep": 1}]}
    copy = deep_copy(source)
    source["list"][0]["deep"] = 2
    assert copy == {"list": [{"deep": 1}]}


def test_digging_gives_the_default_only_for_missing_keys() -> None:
    source = {"a": {"b": None}}
    assert dig("a", "b", "default", source) is None
    assert dig("a", "x", "default", source) == "default"
    with pytest.raises(GoError, match=r"not map\[string\]interface"):
        dig("a", "b", "c", "default", source)


def test_a_nil_map_can_be_read_but_not_set() -> None:
    assert (FUNCTIONS["get"](None, "a"), FUNCTIONS["hasKey"](None, "a"), FUNCTIONS["keys"](None)) == ("", False, [])
    with pytest.raises(GoError, match="it is nil"):
        FUNCTIONS["set"](None, "a", 1)
