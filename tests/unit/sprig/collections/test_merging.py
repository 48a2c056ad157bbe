"""Merging changes the first map, never the sources."""

from tinkbox.sprig.collections.merging import merge, merge_overwrite


def test_the_first_map_wins_and_is_changed() -> None:
    target: dict[str, object] = {"a": 1, "deep": {"x": 1}}
    source = {"a": 2, "b": 3, "deep": {"x": 2, "y": 3}}
    assert merge(target, source) is target
    assert target == {"a": 1, "b": 3, "deep": {"x": 1, "y": 3}}
    assert source == {"a": 2, "b": 3, "deep": {"x": 2, "y": 3}}


def test_the_last_map_wins_when_overwriting_even_with_nothing() -> None:
    target: dict[str, object] = {"a": 1, "b": 1, "c": 1, "deep": {"x": 1}}
    assert merge_overwrite(target, {"a": 2, "b": None}, {"c": "", "deep": {}}) == {
        "a": 2,
        "b": None,
        "c": "",
        "deep": {"x": 1},
    }


def test_empty_values_are_filled() -> None:
    assert merge({"a": "", "b": 0, "c": None, "d": {}}, {"a": "x", "b": 1, "c": [1], "d": {"e": 1}}) == {
        "a": "x",
        "b": 1,
        "c": [1],
        "d": {"e": 1},
    }
