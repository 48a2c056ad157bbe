import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.execution.functions import BUILTINS, arity

GO = "call eq ge gt html index js le len lt ne not print printf println slice urlquery"


def call(name: str, *arguments: object) -> object:
    return BUILTINS[name](*arguments)


def test_the_builtins_are_those_of_go_but_for_and_and_or() -> None:
    assert set(BUILTINS) == set(GO.split())


def test_an_index_goes_into_slices_maps_and_bytes() -> None:
    assert call("index", [1, {"a": "é"}], 1, "a", 1) == 0xA9
    assert call("index", {"a": 1}, "b") is None
    assert call("index", (1, 2), 0) == 1
    assert call("index", 5) == 5


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((None,), "index of untyped nil"),
        (([None], 0, 0), "index of nil pointer"),
        (([1], 1), "index out of range: 1"),
        (([1], -1), "index out of range: -1"),
        (("a", 1), "index out of range: 1"),
        (([1], "0"), "cannot index slice/array with type string"),
        (([1], True), "cannot index slice/array with type bool"),
        (([1], None), "cannot index slice/array with type <nil>"),
        (({}, 1), "value has type int; should be string"),
        ((5, 1), "can't index item of type int"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(arguments: tuple[object, ...], problem: str) -> None:
    with pytest.raises(GoError) as caught:
        call("index", *arguments)
    assert str(caught.value) == problem


def test_a_slice_is_a_part_by_elements_or_bytes() -> None:
    assert call("slice", "hello", 1, 3) == "el"
    assert call("slice", "hello", 5) == ""
    assert call("slice", "hello") == "hello"
    assert call("slice", "é", 1) == "\udca9"
    assert call("slice", (1, 2, 3), 1) == (2, 3)
    assert call("slice", [1, 2, 3], 0, 1, 3) == [1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("abc", 2, 1), "invalid slice index: 2 > 1"),
        (([1, 2, 3], 0, 2, 1), "invalid slice index: 2 > 1"),
        (("abc", 4), "index out of range: 4"),
        (("abc", 0, 1, 2), "cannot 3-index slice a string"),
        (([], 0, 0, 0, 0), "too many slice indexes: 4"),
        ((None,), "can't slice item of type <nil>"),
        (({}, 1), "can't slice item of type map[string]interface {}"),
    ],
)
def test_a_slice_that_does_not_fit_is_refused(arguments: tuple[object, ...], problem: str) -> None:
    with pytest.raises(GoError) as caught:
        call("slice", *arguments)
    assert str(caught.value) == problem


def test_a_length_counts_bytes_elements_or_entries() -> None:
    assert [call("len", each) for each in ("é", [1, 2, 3], (), {"a": 1})] == [2, 3, 0, 1]
    with pytest.raises(GoError, match="len of type int"):
        call("len", 5)


def test_not_turns_truth_around() -> None:
    assert [call("not", each) for each in (0, "a", None, [])] == [True, False, True, True]


def test_printing_is_that_of_fmt() -> None:
    assert call("print", 1, 2, "a", "b", 3) == "1 2ab3"
    assert call("println", "a", 1) == "a 1\n"
    assert call("printf", "%03d|%s", 7, "x") == "007|x"
    with pytest.raises(GoError, match="expected string; got int"):
        call("printf", 1)


def test_no_value_can_be_called() -> None:
    with pytest.raises(GoError, match="non-function of type string"):
        call("call", "x", 1)


def test_the_arity_is_read_off_the_signature() -> None:
    def optional(first: object, /, second: object = None, *, keyword: object = None) -> None: ...

    fixed = arity(lambda first, second: None)
    assert (fixed.least, fixed.most) == (2, 2)
    assert (arity(optional).least, arity(optional).most) == (1, 2)
    assert (arity(BUILTINS["printf"]).least, arity(BUILTINS["printf"]).most) == (1, None)


def test_a_wrong_number_of_arguments_is_refused() -> None:
    arity(lambda a, b: None).check("f", 2)
    arity(lambda a, *b: None).check("f", 9)
    for function, count, problem in (
        (lambda a, b: None, 3, "wrong number of args for f: want 2 got 3"),
        (lambda a, b: None, 1, "wrong number of args for f: want 2 got 1"),
        (lambda a, b=1: None, 3, "wrong number of args for f: want 1 to 2 got 3"),
        (lambda a, *b: None, 0, "wrong number of args for f: want at least 1 got 0"),
    ):
        with pytest.raises(GoError) as caught:
            arity(function).check("f", count)
        assert str(caught.value) == problem
