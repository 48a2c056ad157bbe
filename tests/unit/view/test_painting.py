"""Only what differs is written."""

from tinkbox.view.painting import painted

A, B, C = (((text, ""),) for text in "abc")


def test_the_first_picture_begins_on_an_empty_screen() -> None:
    assert painted((), [(A, False), (B, False)]) == "\x1b[2J\x1b[1;1H\x1b[Ka\x1b[2;1H\x1b[Kb"


def test_a_picture_that_is_the_same_costs_nothing() -> None:
    assert painted([(A, False), (B, True)], [(A, False), (B, True)]) == ""


def test_a_line_that_differs_is_written_alone() -> None:
    assert painted([(A, False), (B, False)], [(A, False), (C, False)]) == "\x1b[2;1H\x1b[Kc"
    assert painted([(A, False), (B, False)], [(A, False), (B, True)]) == "\x1b[2;1H\x1b[K\x1b[7mb\x1b[0m"


def test_nothing_is_erased_behind_a_full_line() -> None:
    """There the cursor of xterm still stands on the last letter."""
    full = (("a" * 80, ""),)
    assert painted([(A, False)], [(full, False)]).endswith("a")
