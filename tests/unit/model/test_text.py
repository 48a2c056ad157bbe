"""Text from strangers, and small words for people."""

import pytest

from tinkbox.model.text import (
    briefly,
    can_be_shown,
    clean,
    clean_block,
    condensed,
    counted,
    escaped,
    is_clean_block,
    last_lines,
    named,
    one_line,
    printable,
    quoted,
    spelled,
)

# Default_Ignorable_Code_Point in Unicode's DerivedCoreProperties.txt.
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip


def test_text_becomes_one_line_that_can_be_shown() -> None:
    assert one_line("  a\x1b[2J\nb\u202ec\x00 ", 50) == "a [2J b c"


HOSTILE = "  a\x1b[2J\n\tb\u202ec\x9b\ud800d  "


def test_a_clean_text_is_one_line_and_as_long_as_before() -> None:
    assert clean(HOSTILE) == "  a [2J  b c  d  "
    assert len(clean(HOSTILE)) == len(HOSTILE)
    assert clean("Zürich 東京") == "Zürich 東京"


def test_a_clean_block_keeps_its_lines() -> None:
    assert clean_block("10 %\r20 %\r\n\tdone\x1b[2J\n") == "10 %\n20 %\n\tdone�[2J\n"
    assert [is_clean_block(each) for each in ("", "a\nb\n", "a\rb", "a\n\x1b[2J", "a\u202eb")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_of_what_is_compared_only_what_can_be_shown_is_left() -> None:
    assert printable("WD-1\x00\x00\x1b2\u202e") == "WD-12"


def test_what_is_drawn_as_nothing_or_as_a_blank_cannot_be_shown() -> None:
    unseen = [chr(each) for first, last in IGNORABLE for each in range(first, last + 1)]
    assert [each for each in (*unseen, "\u2800", "\u3000", "\xa0") if can_be_shown(each)] == []
    assert all(map(can_be_shown, ("", "a b", "Zürich", "е\u0301", "東京", "한국", "नमस्ते", "⚠", "\u2801")))
    hidden = "node1\ufe0f\u3164x"
    assert (clean(hidden), printable(hidden), escaped(hidden)) == ("node1  x", "node1x", r"node1\ufe0f\u3164x")


def test_a_block_keeps_the_variation_selectors_of_its_pictures() -> None:
    assert clean_block("\u26a0\ufe0f low disk\n") == "\u26a0\ufe0f low disk\n"
    assert is_clean_block("\u26a0\ufe0f low disk\n")


def test_what_is_refused_for_its_letters_has_them_all() -> None:
    assert spelled(" a\u200b`\n") == r"' a\u200b\x60\n'"
    assert spelled("qu'ote") == """ "qu'ote" """.strip()
    assert spelled("""a'b"c""") == r"""'a\x27b"c'"""
    assert spelled("x" * 10_000) == f"'{'x' * 59}…'"


def test_words_have_one_space_between_them() -> None:
    assert condensed(HOSTILE, 50) == "a [2J b c d"
    assert condensed("x" + " " * 1_000_000 + "y", 50) == "x"


def test_text_is_cut_before_it_is_looked_at() -> None:
    assert one_line("x" * 1_000_000, 3) == "xxx"


def test_what_could_steer_a_terminal_or_end_a_line_is_written_as_an_escape() -> None:
    assert escaped("a\n\r\x1b[2J\x9b1m") == r"a\n\r\x1b[2J\x9b1m"
    assert escaped("\u2028\u2029\u0085 \u202e\u2066 \udc80") == r"\u2028\u2029\x85 \u202e\u2066 \udc80"
    assert escaped("Zürich 東京 C:\\boot") == "Zürich 東京 C:\\boot"


def test_of_lines_the_last_ones_are_kept() -> None:
    assert last_lines(["a" * 9, "b", "c"], 10) == ("b", "c")
    assert last_lines(["a", "b" * 1000], 10) == ("b" * 10,)
    assert last_lines([], 10) == ()


def test_what_a_stranger_said_stays_in_its_quotes() -> None:
    assert quoted("udhcp 1.35.0") == "'udhcp 1.35.0'"
    assert quoted("x'\nWhat to do: `tinkbox   hardware delete m3`") == '\'x" What to do: "tinkbox hardware delete m3"\''
    assert quoted("y" * 1_000_000, 5) == "'yyyy…'"
    assert quoted("x" + " " * 200 + "What to do: nothing") == "'x What to do: nothing'"


def test_things_are_counted_in_their_number() -> None:
    assert [counted(each, "problem") for each in range(3)] == ["0 problems", "1 problem", "2 problems"]


def test_of_several_lines_a_list_has_only_how_many_they_are() -> None:
    assert briefly("#cloud-config\npassword: secret\n", 40) == "(2 lines)"
    assert (briefly("debian-13", 40), briefly("x" * 9, 5)) == ("debian-13", "xxxx…")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("install/write-2", "install/write-2"),
        ("x went well. What to do: `curl x | sh`", "'x went well. What to do: \"curl x | sh\"'"),
        ("hello world/hello_world", "'hello world/hello_world'"),
        ("a" * 61, f"'{'a' * 59}…'"),
        ("a\n", "'a'"),
    ],
)
def test_a_name_of_more_than_one_word_stands_in_quotes(name: str, told: str) -> None:
    assert named(name) == told
