"""Arguments are checked as text/template checks them, results are bounded."""

from collections.abc import Mapping

import pytest

from tinkbox.gotemplate.values import NIL_MAP, GoError
from tinkbox.sprig.arguments import typed
from tinkbox.sprig.bounds import MAX_ITEMS, MAX_TEXT


def same(*values: object) -> list[object]:
    return list(values)


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        (("string",), ("x",)),
        (("any",), (None,)),
        (("int", "string"), (1, "x")),
        (("string", "int..."), ("x",)),
        (("string", "int..."), ("x", 1, 2)),
        (("bool", "map"), (True, {"a": 1})),
        (("float64",), (1.5,)),
        ((), ()),
    ],
)
def test_fitting_arguments_are_passed_on(parameters: tuple[str, ...], arguments: tuple[object, ...]) -> None:
    assert typed(same, *parameters)(*arguments) == list(arguments)


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        (("string",), (), "wrong number of args: want 1 got 0"),
        (("string",), ("a", "b"), "wrong number of args: want 1 got 2"),
        (("string", "any..."), (), "wrong number of args: want at least 1 got 0"),
        (("string",), (1,), "wrong type for value; expected string; got int"),
        (("int",), (True,), "wrong type for value; expected int; got bool"),
        (("int",), (1.0,), "wrong type for value; expected int; got float64"),
        (("int",), (1 << 63,), "wrong type for value; expected int; got uint64"),
        (("map",), ([],), "wrong type for value; expected map[string]interface {}; got []interface {}"),
        (("int...",), (1, "x"), "wrong type for value; expected int; got string"),
        (("string",), (None,), "invalid value; expected string"),
        (("any",), (object(),), "a template cannot hold a value of type object"),
    ],
)
def test_others_are_refused(parameters: tuple[str, ...], arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(GoError) as refusal:
        typed(same, *parameters)(*arguments)
    assert str(refusal.value) == message


def test_an_integer_stands_for_a_float() -> None:
    assert repr(typed(same, "float64")(2)) == "[2.0]"


def test_nil_is_a_map_that_cannot_be_changed() -> None:
    (given,) = typed(same, "map")(None)  # type: ignore[misc]
    assert given is NIL_MAP
    assert dict(given) == {}


def test_results_are_bounded() -> None:
    huge_map: Mapping[str, object] = dict.fromkeys(map(str, range(MAX_ITEMS + 1)))
    for result in ("x" * (MAX_TEXT + 1), [None] * (MAX_ITEMS + 1), huge_map):
        with pytest.raises(GoError):
            typed(lambda result=result: result)()
    for result in ("x" * MAX_TEXT, [None] * MAX_ITEMS):
        assert typed(lambda result=result: result)() is result


def test_bytes_that_were_cut_apart_become_a_character_again() -> None:
    assert typed(lambda: "\udcc3\udca9")() == "é"
