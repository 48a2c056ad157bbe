"""Functions on lists give new lists."""

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.collections.lists import FUNCTIONS, chunk, concat, cut, has, uniq, without

CHANGING: list[tuple[str, tuple[object, ...]]] = [
    ("append", (4,)),
    ("prepend", (0,)),
    ("reverse", ()),
    ("rest", ()),
    ("initial", ()),
    ("uniq", ()),
    ("compact", ()),
    ("without", (1,)),
    ("slice", (1,)),
]


@pytest.mark.parametrize(("name", "arguments"), CHANGING)
def test_the_list_that_was_given_stays_as_it_was(name: str, arguments: tuple[object, ...]) -> None:
    given: list[object] = [1, None, 1]
    result = FUNCTIONS[name](given, *arguments)
    assert isinstance(result, list)
    result.append("more")
    assert given == [1, None, 1]


@pytest.mark.parametrize("name", ["first", "mustFirst", "rest", "uniq", "mustHas", "concat", "reverse"])
def test_what_is_no_list_is_refused(name: str) -> None:
    with pytest.raises(GoError, match="on type string"):
        FUNCTIONS[name](*(["needle"] if name == "mustHas" else []), "text")


def test_equal_elements_are_of_one_kind() -> None:
    assert uniq([1, True, 1.0, "1", 1, [1], [1]]) == [1, True, 1.0, "1", [1]]
    assert without([1, "1", None, [2]], 1, [2]) == ["1", None]
    assert (has(1, [True]), has([1], [[1]]), has(None, None)) == (False, True, False)


def test_the_last_chunk_may_be_shorter() -> None:
    assert chunk(2, [1, 2, 3]) == [[1, 2], [3]]
    for size in (0, -1):
        with pytest.raises(GoError, match="at least one"):
            chunk(size, [1, 2, 3])


def test_a_slice_stays_within_the_list() -> None:
    assert (cut([1, 2, 3], 1), cut([1, 2, 3], 1, 2), cut([], 7)) == ([2, 3], [2], None)
    with pytest.raises(GoError, match="out of range"):
        cut([1, 2, 3], 0, 4)


def test_lists_are_joined_in_order() -> None:
    assert concat([1], [], [[2]], [None]) == [1, [2], None]
