"""Case mapping is one character for one."""

import sys

from tinkbox.sprig.text.lettercase import lower, swapcase, title, to_lower, to_title, to_upper, untitle, upper, valid


def test_no_character_becomes_two() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        assert len(to_upper(character)) == len(to_lower(character)) == len(to_title(character)) == 1


def test_special_letters_map_as_in_go() -> None:
    assert upper("straße ǆ ŉ ᾳ ı") == "STRAßE Ǆ ŉ ᾼ I"
    assert lower("İ ẞ ΑΣ") == "i ß ας"[:4] + "ασ"
    assert title("ǆ ßa o'neil foo_bar 1x") == "ǅ ßa O'Neil Foo_bar 1x"


def test_words_are_separated_by_spaces_to_untitle_and_swapcase() -> None:
    assert untitle("Hello-World Foo") == "hello-World foo"
    assert swapcase("hELLO wORLD Ab") == "Hello World aB"


def test_bytes_that_are_no_text_are_replaced_one_by_one() -> None:
    assert valid("a\udce2\udc82b") == "a\ufffd\ufffdb"
    assert valid("\udcc3\udca9") == "é"
    assert upper("é\udcff") == "É\ufffd"
