"""Text in cells of a terminal."""

import pytest

from tinkbox.model.cells import beginning, cells, cut


def test_wide_letters_take_two_cells_and_marks_none() -> None:
    assert [cells(each) for each in ("abc", "日本", "é", "e\u0301", "a\u200db", "🚀")] == [3, 4, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "width", "fits"),
    [
        ("日本語", 5, "日本…"),
        ("日本語", 6, "日本語"),
        ("日本語", 4, "日…"),
        ("abc", 2, "a…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_what_is_cut_is_never_wider_and_says_so(text: str, width: int, fits: str) -> None:
    assert cut(text, width) == fits


def test_a_letter_keeps_the_marks_over_it_where_it_is_the_last_that_fits() -> None:
    assert beginning("ae\u0301i", 2) == "ae\u0301"
    assert beginning("abc", -1) == ""
