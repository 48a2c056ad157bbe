"""Strings are trimmed, split, joined and quoted as in Go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.text.strings import FUNCTIONS, cat, join, quote, repeat, sort_alpha, split_list, splitn, squote, trim

TEXT = st.text("ab,é", max_size=12)


@given(st.text(",", min_size=1, max_size=2), TEXT)
def test_what_was_split_can_be_joined(separator: str, text: str) -> None:
    assert join(separator, split_list(separator, text)) == text


@given(st.sampled_from(["", ",", "a,"]), st.integers(1, 5), TEXT)
def test_no_more_pieces_than_asked_and_nothing_lost(separator: str, limit: int, text: str) -> None:
    pieces = splitn(separator, limit, text)
    assert len(pieces) <= limit
    assert separator.join(pieces.values()) == text
    assert list(pieces) == [f"_{index}" for index in range(len(pieces))]


def test_go_has_other_white_space_than_python() -> None:
    assert trim("\u00a0\u3000 x\x1f\x85") == "x\x1f"


def test_nil_is_left_out() -> None:
    assert (quote("a", None, 1), squote(None, "a"), cat(None, 1, "b"), join("-", [1, None])) == (
        '"a" "1"',
        "'a'",
        "1 b",
        "1",
    )


def test_texts_are_sorted_by_their_bytes() -> None:
    assert sort_alpha(["\udcff", "\U0001f600", "z", 10, "é"]) == ["10", "z", "é", "\U0001f600", "\udcff"]


def test_nothing_can_be_repeated_less_than_never() -> None:
    assert repeat(0, "x") == ""
    with pytest.raises(GoError, match="negative"):
        repeat(-1, "x")


def test_an_empty_text_is_found_everywhere() -> None:
    assert FUNCTIONS["replace"]("", "-", "ab") == "-a-b-"
