import pytest

from tinkbox.gotemplate.errors import TemplateError
from tinkbox.gotemplate.parsing.lexer import Kind
from tinkbox.gotemplate.parsing.reader import MAX_NESTING, TokenReader


def test_spaces_are_passed_over_but_can_be_seen() -> None:
    reader = TokenReader("{{ a  b }}", "t")
    assert reader.next().kind is Kind.LEFT
    assert reader.here().kind is Kind.SPACE
    assert [reader.peek(ahead).text for ahead in range(3)] == ["a", "b", "}}"]
    assert [reader.next().text for _ in range(3)] == ["a", "b", "}}"]


def test_the_last_token_is_given_again_and_again() -> None:
    reader = TokenReader("a", "t")
    assert [reader.next().kind for _ in range(3)] == [Kind.TEXT, Kind.END, Kind.END]
    assert reader.peek(5).kind is Kind.END


def test_a_token_of_another_kind_is_refused_where_it_stands() -> None:
    reader = TokenReader("{{\n " + "x" * 30, "boot")
    assert reader.expect(Kind.LEFT, "action").text == "{{"
    with pytest.raises(TemplateError) as caught:
        reader.expect(Kind.RIGHT, "define clause")
    assert str(caught.value) == f'template: boot:2:2: unexpected "{"x" * 20}" in define clause'
    with pytest.raises(TemplateError, match="unclosed action"):
        reader.expect(Kind.RIGHT, "define clause")
    with pytest.raises(TemplateError, match="unexpected EOF in clause"):
        TokenReader("", "t").expect(Kind.TEXT, "clause")


def test_levels_are_counted_while_they_are_open() -> None:
    reader = TokenReader("a", "t")

    def descend(levels: int) -> None:
        with reader.nested(reader.here()):
            if levels > 1:
                descend(levels - 1)

    descend(MAX_NESTING)
    descend(MAX_NESTING)
    with pytest.raises(TemplateError, match="more than 100 levels deep"):
        descend(MAX_NESTING + 1)
