"""Cutting and wrapping count bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import GoError, to_bytes
from tinkbox.sprig.text.text_layout import FUNCTIONS, abbrev, indent, substr, trunc, wrap, wrap_with


@given(st.integers(-20, 20), st.text(max_size=15))
def test_truncating_keeps_bytes_of_either_end(count: int, text: str) -> None:
    data = to_bytes(text)
    kept = to_bytes(trunc(count, text))
    assert kept == (data[:count] if count >= 0 else data[count:] if -count < len(data) else data)


@given(st.integers(4, 20), st.text("ab é", max_size=30))
def test_an_abbreviation_is_no_wider_than_asked(width: int, text: str) -> None:
    assert len(to_bytes(abbrev(width, text))) <= max(width, 0) or len(to_bytes(text)) <= width


@given(st.integers(1, 10), st.text("ab ", max_size=60))
def test_wrapping_loses_only_spaces(width: int, text: str) -> None:
    assert wrap(width, text).replace("\n", "").replace(" ", "") == text.replace(" ", "")
    assert wrap_with(width, "|", text).replace("|", "").replace(" ", "") == text.replace(" ", "")
    assert all(len(line) <= width for line in wrap_with(width, "|", text).split("|"))


def test_long_words_are_cut_only_with_a_separator() -> None:
    assert wrap(3, "abcdef gh") == "abcdef\ngh"
    assert wrap_with(3, "|", "abcdef gh") == "abc|def|gh"


def test_every_line_is_indented_also_the_empty_ones() -> None:
    assert indent(2, "a\n\nb") == "  a\n  \n  b"
    assert FUNCTIONS["nindent"](2, "a") == "\n  a"


@pytest.mark.parametrize(("start", "end"), [(2, 1), (4, 5), (-1, 4), (-1, -1)])
def test_a_piece_outside_of_the_text_is_an_error(start: int, end: int) -> None:
    with pytest.raises(GoError, match="out of range"):
        substr(start, end, "abc")
