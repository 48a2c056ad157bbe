"""Text from strangers."""

from tinkbox.model.text import one_line


def test_text_becomes_one_line_that_can_be_shown() -> None:
    assert one_line("  a\x1b[2J\nb\u202ec\x00 ", 50) == "a [2J b c"


def test_text_is_cut_before_it_is_looked_at() -> None:
    assert one_line("x" * 1_000_000, 3) == "xxx"
