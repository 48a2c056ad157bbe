from typing import Any

import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.printing.formatting import MAX_DEPTH, MAX_TEXT, show, sprint, sprintln, text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "<no value>"),
        (True, "true"),
        (-5, "-5"),
        (1.5, "1.5"),
        (1e6, "1e+06"),
        ("a\n", "a\n"),
        ([], "[]"),
        ([1, "two", None, [True]], "[1 two <nil> [true]]"),
        ((1, 2), "[1 2]"),
        ({}, "map[]"),
        ({"b": 1, "a": {"c": None}}, "map[a:map[c:<nil>] b:1]"),
    ],
)
def test_an_action_shows_values_as_go_does(value: object, shown: str) -> None:
    assert text(value) == shown


def test_nil_is_shown_differently_as_an_argument() -> None:
    assert show(None) == "<nil>"
    assert sprint(None, "a", None) == "<nil>a<nil>"


def test_print_puts_spaces_between_what_is_no_string() -> None:
    assert sprint(1, 2, "a", "b", 3, None) == "1 2ab3 <nil>"
    assert sprint() == ""


def test_println_puts_spaces_everywhere() -> None:
    assert sprintln("a", "b", 1) == "a b 1\n"
    assert sprintln() == "\n"


def test_bytes_that_meet_in_a_text_become_a_character() -> None:
    assert sprint("\udcc3", "\udca9") == "é"


def test_a_text_has_an_end() -> None:
    half = "x" * (MAX_TEXT // 2)
    assert len(sprint(half, half)) == MAX_TEXT
    for refused in (lambda: sprint(half, half, "x"), lambda: text([half, half]), lambda: sprintln(half, half)):
        with pytest.raises(GoError, match="longer than 262144 characters"):
            refused()


def test_values_may_not_be_nested_for_ever() -> None:
    value: list[Any] = []
    for _ in range(MAX_DEPTH):
        value = [value]
    assert text(value).startswith("[" * MAX_DEPTH)
    with pytest.raises(GoError, match="nested more than 100 levels"):
        text([value])
    circle: dict[str, Any] = {}
    circle["again"] = circle
    with pytest.raises(GoError, match="nested more than 100 levels"):
        text(circle)


@pytest.mark.parametrize("value", [object(), [b""], {"a": 1j}, {1: 2}, 2**64])
def test_foreign_objects_cannot_be_shown(value: object) -> None:
    with pytest.raises(GoError):
        text(value)
