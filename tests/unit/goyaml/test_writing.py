"""What is written as YAML, and what is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.types.structs import NIL_SLICE, Struct
from tinkbox.gotemplate.values import GoError
from tinkbox.goyaml import TooMuch, read, write

MOST = 1 << 20
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"], include_characters="\n\t"), max_size=200)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(DOCUMENTS)
def test_what_was_written_can_be_read(document: object) -> None:
    assert read(write(document, MOST)) == document


def test_a_struct_has_the_names_of_its_tags_without_what_they_leave_out() -> None:
    inner = Struct("*t.Inner", {"IP": "", "UEFI": True}, {"uefi": True})
    outer = Struct("t.Outer", {"Name": "a", "DHCP": inner, "Extra": ""}, {"name": "a", "dhcp": inner})
    assert write([outer], MOST) == "- dhcp:\n    uefi: true\n  name: a\n"


def test_a_slice_that_was_never_made_is_null() -> None:
    assert write({"a": NIL_SLICE, "b": []}, MOST) == "a: null\nb: []\n"


def test_bytes_that_are_no_text_become_the_replacement_character() -> None:
    assert write("a\udcff", MOST) == "a\ufffd\n"


def test_many_blanks_beside_a_line_break_that_is_folded_take_no_time() -> None:
    # Looked for from each of them, the break would take their square: minutes.
    blanks = " " * 100_000
    assert write(f"{blanks}.\x85.", MOST) == f"'{blanks}.\n  .'\n"


def test_a_whole_number_as_a_key_is_text_as_in_json() -> None:
    assert write({2: "a", "10": "b"}, MOST) == '"2": a\n"10": b\n'


@pytest.mark.parametrize(
    "value", [math.nan, [math.inf], "\x7f", {"\x85": 1}, {"x" * 1023: 1}, {None: 1}, 1 << 64, object()]
)
def test_what_yaml_has_no_words_for_is_refused(value: object) -> None:
    with pytest.raises(GoError):
        write(value, MOST)


def test_a_value_within_itself_is_refused() -> None:
    value: dict[str, object] = {}
    value["a"] = value
    with pytest.raises(GoError, match="more than 100 levels"):
        write(value, MOST)


def test_there_is_a_bound_to_what_is_written() -> None:
    twice: list[object] = ["x"]
    for _ in range(60):
        twice = [twice, twice]
    nested: object = "\n" * 5000 + "x"
    for _ in range(90):
        nested = {"a": nested}
    for value in (twice, ["x" * 300], [1] * 200, nested, "\x07" * 200):
        with pytest.raises(TooMuch):
            write(value, 300)
