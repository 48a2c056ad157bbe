import pytest

from tinkbox.gotemplate.parsing.lexer import Kind, tokens, word_length

QUIET = {Kind.LEFT, Kind.RIGHT, Kind.END}


def cut(source: str) -> list[tuple[Kind, str]]:
    return [(token.kind, token.text) for token in tokens(source) if token.kind not in QUIET]


def problem(source: str) -> tuple[str, int]:
    last = tokens(source)[-1]
    assert last.kind is Kind.ERROR
    return last.text, last.at


def test_text_and_actions_alternate() -> None:
    assert [token.kind for token in tokens("a{{.}}b")] == [
        Kind.TEXT,
        Kind.LEFT,
        Kind.DOT,
        Kind.RIGHT,
        Kind.TEXT,
        Kind.END,
    ]
    assert [token.at for token in tokens("a{{.}}b")] == [0, 1, 3, 4, 6, 7]


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("true", Kind.BOOL),
        ("nil", Kind.NIL),
        ("if", Kind.KEYWORD),
        ("define", Kind.KEYWORD),
        ("iffy", Kind.IDENTIFIER),
        ("é_1", Kind.IDENTIFIER),
        (".Name", Kind.FIELD),
        ("$", Kind.VARIABLE),
        ("$x1", Kind.VARIABLE),
        (".", Kind.DOT),
        (".5", Kind.NUMBER),
        ("-0x1F", Kind.NUMBER),
        ("1e+5", Kind.NUMBER),
        ("1_0", Kind.NUMBER),
        ("1+2i", Kind.COMPLEX),
        ("'a'", Kind.RUNE),
        ("'\\''", Kind.RUNE),
        ('"a\\"}}"', Kind.STRING),
        ("`a\n}}`", Kind.STRING),
        (":=", Kind.DECLARE),
        ("=", Kind.ASSIGN),
        ("|", Kind.PIPE),
        (",", Kind.CHARACTER),
        ("#", Kind.CHARACTER),
        (" \n", Kind.SPACE),
    ],
)
def test_each_token_has_its_kind(word: str, kind: Kind) -> None:
    assert cut("{{" + word + "}}") == [(kind, word)]


def test_fields_and_parentheses_are_tokens_of_their_own() -> None:
    assert cut("{{(a.b).c $x.d}}") == [
        (Kind.OPEN, "("),
        (Kind.IDENTIFIER, "a"),
        (Kind.FIELD, ".b"),
        (Kind.CLOSE, ")"),
        (Kind.FIELD, ".c"),
        (Kind.SPACE, " "),
        (Kind.VARIABLE, "$x"),
        (Kind.FIELD, ".d"),
    ]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("a \n{{- 1 -}}\t b", ["a", "1", "b"]),
        ("a {{- /* c */ -}} b", ["a", "b"]),
        ("a {{/* {{ */}} b", ["a ", " b"]),
        ("a {{-1}} b", ["a ", "-1", " b"]),
        (" {{- 1}}", ["1"]),
        ("a\xa0{{- 1}}", ["a\xa0", "1"]),
    ],
)
def test_markers_trim_the_space_beside_them(source: str, texts: list[str]) -> None:
    assert [text for kind, text in cut(source) if kind is not Kind.SPACE] == texts


@pytest.mark.parametrize(
    ("source", "message", "at"),
    [
        ("{{", "unclosed action", 2),
        ("{{.x", "unclosed action", 4),
        ("{{/* a", "unclosed comment", 2),
        ("{{/* a */ }}", "comment ends before closing delimiter", 2),
        ("{{(1}}", "unclosed left paren", 4),
        ("{{1)}}", "unexpected right paren", 3),
        ('{{"a\n"}}', "unterminated quoted string", 2),
        ('{{"a\\', "unterminated quoted string", 2),
        ("{{'a}}", "unterminated character constant", 2),
        ("{{`a", "unterminated raw quoted string", 2),
        ("{{:}}", "expected :=", 2),
        ("{{1a}}", 'bad number syntax: "1a"', 2),
        ("{{1+2}}", 'bad number syntax: "1+2"', 2),
        ("{{$x+1}}", "bad character U+002B '+'", 4),
        ("{{a\0}}", "bad character U+0000", 3),
        ("{{\xa0}}", "unrecognized character in action: U+00A0", 2),
        ("{{☺}}", "unrecognized character in action: U+263A '☺'", 2),
    ],
)
def test_what_is_no_token_ends_the_reading(source: str, message: str, at: int) -> None:
    text, place = problem(source)
    assert text == message
    assert abs(place - at) <= 2
    assert source[:place].count("\n") == 0


def test_words_are_letters_digits_and_underscores_of_all_languages() -> None:
    assert word_length("ab_1é٣.x", 0) == 6
    assert word_length("a²", 0) == 1
    assert word_length(".a", 0) == 0
