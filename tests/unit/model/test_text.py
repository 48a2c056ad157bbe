"""Text from strangers, and small words for people."""

from tinkbox.model.text import (
    briefly,
    clean,
    clean_block,
    condensed,
    counted,
    escaped,
    is_clean_block,
    last_lines,
    one_line,
    printable,
    quoted,
)


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
