"""How rules are written, and what is said of what is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.routing.rule_syntax import MAX_DEPTH, Both, Call, Either, Expression, Not, parse_expression


def call(name: str, *values: str, column: int = 1, columns: tuple[int, ...] = ()) -> Call:
    return Call(name=name, column=column, values=values, columns=columns)


def shape(expression: Expression) -> object:
    """The expression without its columns."""
    match expression:
        case Call():
            return (expression.name, *expression.values)
        case Not(inner=inner):
            return {"not": shape(inner)}
        case Both(parts=parts):
            return {"and": [shape(part) for part in parts]}
        case Either(parts=parts):
            return {"or": [shape(part) for part in parts]}


A, B, C = ("A", "a"), ("B", "b"), ("C", "c")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A(`a`)", A),
        (" \t\r\n A ( `a` ) \n", A),
        ("((A(`a`)))", A),
        ("A(`a`) && B(`b`) && C(`c`)", {"and": [A, B, C]}),
        ("A(`a`)&&B(`b`)||C(`c`)", {"or": [{"and": [A, B]}, C]}),
        ("A(`a`) || B(`b`) && C(`c`)", {"or": [A, {"and": [B, C]}]}),
        ("(A(`a`) || B(`b`)) && C(`c`)", {"and": [{"or": [A, B]}, C]}),
        ("!A(`a`) && B(`b`)", {"and": [{"not": A}, B]}),
        ("!A(`a`) || !!B(`b`)", {"or": [{"not": A}, {"not": {"not": B}}]}),
        ("!(A(`a`) || B(`b`))", {"not": {"or": [A, B]}}),
        ("A()", ("A",)),
        ("A(`a`, `b` ,`c`)", ("A", "a", "b", "c")),
        ("A(`a`,)", A),
    ],
)
def test_operators_bind_as_in_go(text: str, expected: object) -> None:
    assert shape(parse_expression(text)) == expected


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ("``", ""),
        (r"`^a\.b$`", r"^a\.b$"),
        ('`a"b`', 'a"b'),
        ("`a\r\nb`", "a\nb"),
        ('"a"', "a"),
        (r'"a\"b"', 'a"b'),
        (r'"\x41\102\u0043\U00000044"', "ABCD"),
        (r'"\xc3\xa9"', "é"),
        (r'"a\tb\\"', "a\tb\\"),
        ('"`)"', "`)"),
        ('"é"', "é"),
    ],
)
def test_values_are_go_strings(value: str, meaning: str) -> None:
    assert parse_expression(f"A({value})") == call("A", meaning, columns=(3,))


def test_columns_count_characters_from_one() -> None:
    both = parse_expression("E(`x`) && F(`é`, `z`)")
    assert both == Both(
        parts=(call("E", "x", columns=(3,)), call("F", "é", "z", column=11, columns=(13, 18))),
    )


@pytest.mark.parametrize(
    ("text", "column", "hint"),
    [
        ("", 1, "the rule is empty"),
        (" \n ", 1, "the rule is empty"),
        ("A(`a`", 2, "no parenthesis ends the values of A"),
        ("A(", 3, "ends before the values of A"),
        ("A(`a`,", 7, "ends before the values of A"),
        ("A(,)", 3, "expected a value of A, found ,"),
        ("A(`a`,,)", 7, "expected a value of A, found ,"),
        ("A(`a` `b`)", 7, "expected a comma"),
        ("A(b)", 3, "expected a value of A, found b"),
        ("A(B(`b`))", 3, "expected a value of A, found B"),
        ("A", 2, "the values of A stand in parentheses"),
        ("A `a`", 3, "the values of A stand in parentheses"),
        ("A(`a`) && (B(`b`)", 11, "no parenthesis ends what this one begins"),
        ("(A(`a`) B(`b`))", 9, "expected && or || before B"),
        ("(A(`a`), B(`b`))", 8, "expected && or || before ,"),
        ("A(`a`))", 7, "no parenthesis was opened"),
        ("A(`a`) B(`b`)", 8, "expected && or || before B"),
        ("A(`a`) `b`", 8, "expected && or || before `b`"),
        ("A(`a`) !B(`b`)", 8, "expected && or || before !"),
        ("()", 2, "expected a matcher such as Host(`example.com`), found )"),
        ("A(`a`) &&", 10, "expected a matcher such as Host(`example.com`), found nothing"),
        ("A(`a`) && || B(`b`)", 11, "found ||"),
        ("`a`", 1, "expected a matcher such as Host(`example.com`), found `a`"),
        ("!", 2, "found nothing"),
        ("A(`a`) & B(`b`)", 8, "write && for and"),
        ("A(`a`) | B(`b`)", 8, "write || for or"),
        ("A(`a`) AND B(`b`)", 8, "write && for AND"),
        ("(A(`a`) or B(`b`))", 9, "write || for or"),
        ("not A(`a`)", 1, "write ! for not"),
        ("A('a')", 3, "not in single ones"),
        ("A(`a)", 3, "no back quote ends what begins here"),
        ('A("a)', 3, "no double quote ends what begins here"),
        ('A("a\n")', 3, "no double quote ends what begins here"),
        ('A("a\\")', 3, "no double quote ends what begins here"),
        (r'A("\q")', 3, "no string of Go's"),
        (r'A("\'")', 3, "no string of Go's"),
        ("Host(example.com)", 13, "values stand in back quotes"),
        ("Host:example.com", 5, "values stand in back quotes"),
        ("A(1)", 3, "values stand in back quotes"),
        ("A(`a`) /* b */", 8, "unexpected '/'"),
        ("A(`a`) \x00", 8, r"unexpected '\x00'"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_column(text: str, column: int, hint: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_expression(text)
    assert str(refusal.value).startswith(f"column {column}: ")
    assert hint in str(refusal.value)


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("!", ""), ("!(", ")")])
def test_depth_is_bounded_and_what_is_within_the_bound_is_read(opening: str, closing: str) -> None:
    times = MAX_DEPTH // len(opening)
    assert parse_expression(opening * times + "A(`a`)" + closing * times)
    with pytest.raises(Invalid, match=f"^column {MAX_DEPTH + 1}: more than 50 parentheses"):
        parse_expression(opening * (times + 1) + "A(`a`)" + closing * (times + 1))
    with pytest.raises(Invalid, match="more than 50"):
        parse_expression(opening * 100_000)


def test_siblings_do_not_add_to_the_depth() -> None:
    expression = parse_expression(" && ".join(["!(A(`a`))"] * 200))
    assert isinstance(expression, Both)
    assert len(expression.parts) == 200


PIECES = st.sampled_from(
    ["A", "Host", "(", ")", "!", "&&", "||", "&", ",", "`a`", '"b"', "`", '"', "\\", " ", "\n", "'", "é", "and"]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map("".join)))
def test_no_text_brings_the_parser_down(text: str) -> None:
    """Any text is an expression, or Invalid with a column of it."""
    try:
        parse_expression(text)
    except Invalid as refusal:
        column = int(str(refusal).removeprefix("column ").partition(":")[0])
        assert 1 <= column <= len(text) + 1
