"""Lines of a terminal, measured in columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.view.snapshots import NOW, ago
from tinkbox.model.cells import cells
from tinkbox.view.lines import (
    clean,
    coded,
    cut,
    elapsed,
    fitted,
    flowed,
    folded,
    followed,
    joined,
    line_width,
    plain,
    wrapped,
)

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs", "Mn", "Me", "Cf"]), max_size=60)


@given(TEXT, st.integers(0, 40))
def test_fitted_text_has_exactly_its_width(text: str, width: int) -> None:
    assert cells(fitted(text, width)) == width


@given(st.lists(TEXT, max_size=4), st.integers(0, 40))
def test_a_cut_line_is_not_wider_than_the_terminal(texts: list[str], width: int) -> None:
    line = tuple((each, "") for each in texts)
    assert line_width(cut(line, width)) <= width
    if line_width(line) <= width:
        assert cut(line, width) == line


@given(TEXT, st.integers(1, 40))
def test_wrapping_loses_no_letter_and_fits(text: str, width: int) -> None:
    lines = [plain(each) for each in wrapped(text, width)]
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cells(each) <= max(width, 2) for each in lines)


def test_wrapped_lines_are_indented_and_break_between_words() -> None:
    assert [plain(each) for each in wrapped("one two three", 10, "  ")] == ["  one two", "  three"]


def test_what_is_cut_says_so() -> None:
    assert (fitted("abcdef", 4), fitted("ab", 4), fitted("ab", 4, right=True)) == ("abc…", "ab  ", "  ab")
    assert plain(cut((("abc", ""), ("def", "")), 4)) == "abc…"


def test_no_control_character_reaches_the_terminal() -> None:
    assert clean("\x1b[2Ja\nb\x07\x9b") == "[2Ja b"
    assert clean("x" * 500, 10) == "xxxxxxxxx…"
    assert clean("x x x x x x", 10) == "x x x x x…", "also where a blank is the last that fits"
    assert clean(" x x x x x ", 10) == "x x x x x"


def test_a_style_is_a_code_and_a_selected_line_is_reversed() -> None:
    assert coded((("a", "red"), ("b", ""))) == "\x1b[31ma\x1b[0mb"
    assert coded((("a", "red"), ("b", "")), selected=True) == "\x1b[7;31ma\x1b[0m\x1b[7mb\x1b[0m"


def test_empty_pieces_leave_no_gap() -> None:
    assert plain(joined([(("a", ""),), (), (("b", ""),)])) == "a  b"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(7, "0:07"), (723, "12:03"), (3723, "1:02:03"), (172_800, "2 d 0 h"), (-5, "0:00")],
)
def test_a_duration_reads_as_a_clock(seconds: int, shown: str) -> None:
    assert elapsed(ago(seconds), NOW) == shown


def test_without_colours_lines_are_still_bold_dim_and_reversed() -> None:
    line = (("a", "bold red"), ("b", "dim"), ("c", "red"))
    assert coded(line, colours=False) == "\x1b[1ma\x1b[0m\x1b[2mb\x1b[0mc"
    assert coded(line[2:], selected=True, colours=False) == "\x1b[7mc\x1b[0m"


@pytest.mark.parametrize("width", [1, 2, 10, 20, 80])
def test_what_follows_flows_or_is_folded_loses_no_letter_and_fits(width: int) -> None:
    text = "one 機械 three four five-and-twenty " + "x" * 30
    for head in ((), (("head  ", ""),)):
        lines = followed(head, text, width)
        assert "".join(map(plain, lines)).replace(" ", "") == ("head" if head else "") + text.replace(" ", "")
        assert width < 10 or all(line_width(each) <= width for each in lines)
    lines = flowed([(each, "") for each in ["", *text.split()]], width)
    assert "".join(map(plain, lines)).replace(" ", "") == text.replace(" ", "")
    assert width < 10 or all(line_width(each) <= width for each in lines)
    assert "".join(folded(text, width)) == text
    assert width < 2 or all(cells(each) <= width for each in folded(text, width))


def test_what_follows_is_a_column_where_there_is_room_and_stands_below_where_there_is_not() -> None:
    assert [*map(plain, followed((("1/2  ", ""),), "it was not there", 15))] == ["1/2  it was not", "     there"]
    assert [*map(plain, followed((("1/2 disk  ", ""),), "it was", 12))] == ["1/2 disk", "    it was"]
