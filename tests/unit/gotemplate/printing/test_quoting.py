import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.printing.quoting import can_backquote, quote, quote_rune, rune, unquote, unquote_rune
from tinkbox.gotemplate.types.kinds import joined, to_bytes

BYTES = st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("", '""'),
        ("a\"b'c\\", '"a\\"b\'c\\\\"'),
        ("\a\b\f\n\r\t\v\0\x7f", '"\\a\\b\\f\\n\\r\\t\\v\\x00\\x7f"'),
        ("é☺\U0001f600", '"é☺\U0001f600"'),
        ("\xa0\u2028\U000e0001", '"\\u00a0\\u2028\\U000e0001"'),
        ("\udcff\udc80", '"\\xff\\x80"'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_what_cannot_be_seen_is_escaped(value: str, shown: str) -> None:
    assert quote(value) == shown


def test_everything_beyond_ascii_can_be_escaped() -> None:
    assert quote("é\U0001f600", ascii_only=True) == '"\\u00e9\\U0001f600"'
    assert quote_rune(0xE9, ascii_only=True) == "'\\u00e9'"


@given(st.text(st.characters(exclude_categories=["Cs"]) | BYTES))
def test_what_is_quoted_can_be_read_again(value: str) -> None:
    assert unquote(quote(value)) == joined(value)
    assert to_bytes(unquote(quote(value, ascii_only=True)) or "") == to_bytes(value)


def test_a_character_is_quoted_in_its_own_way() -> None:
    assert [quote_rune(each) for each in (ord("'"), ord('"'), 10, 0x263A)] == ["'\\''", "'\"'", "'\\n'", "'☺'"]
    assert [rune(each) for each in (65, -1, 0xD800, 0x110000)] == ["A", "\ufffd", "\ufffd", "\ufffd"]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ('"a"', "a"),
        ('""', ""),
        ('`a\\n\r\n"`', 'a\\n\n"'),
        ('"\\x41\\101\\u263a\\U0001F600\\\\\\""', 'AA☺\U0001f600\\"'),
        ('"\\a\\b\\f\\n\\r\\t\\v"', "\a\b\f\n\r\t\v"),
        ('"\\xc3\\xa9"', "é"),
        ('"\\xff"', "\udcff"),
        ('"\\377"', "\udcff"),
    ],
)
def test_escapes_are_read(literal: str, value: str) -> None:
    assert unquote(literal) == value


@pytest.mark.parametrize(
    "literal",
    [
        '"\\z"',
        '"\\x4"',
        '"\\400"',
        '"\\08"',
        '"\\u12"',
        '"\\ud800"',
        '"\\U00110000"',
        '"\\\'"',
        '"a"b"',
        '"a\nb"',
        '"\\n"b"',
        '"\\n\n"',
    ],
)
def test_malformed_strings_have_no_value(literal: str) -> None:
    assert unquote(literal) is None


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ("'a'", 97),
        ("'é'", 0xE9),
        ("'\\n'", 10),
        ("'\\''", 39),
        ("'\"'", 34),
        ("'\\xff'", 255),
        ("'\\377'", 255),
        ("'\\u263a'", 0x263A),
    ],
)
def test_a_character_constant_is_its_code(literal: str, code: int) -> None:
    assert unquote_rune(literal) == code


@pytest.mark.parametrize(
    "literal", ["''", "'ab'", "'\\z'", "'\\\"'", "'\\ud800'", "'\\400'", "'''", "'\n'", "'\\n\\n'"]
)
def test_malformed_constants_have_none(literal: str) -> None:
    assert unquote_rune(literal) is None


def test_some_strings_cannot_stand_between_backquotes() -> None:
    assert all(can_backquote(each) for each in ("", 'a\tb"\\', "é☺"))
    assert not any(can_backquote(each) for each in ("`", "\n", "\x7f", "\ufeff", "\udcff", "\0"))
