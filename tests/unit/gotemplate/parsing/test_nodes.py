import pytest

from tinkbox.gotemplate.parsing.nodes import Action, Text, is_empty
from tinkbox.gotemplate.parsing.parser import read

FUNCTIONS = ["print", "index"]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{ .a.b }}", ".a.b"),
        ("{{print  .  nil `r` 'c' 1.50 true $.x}}", "print . nil `r` 'c' 1.50 true $.x"),
        ("{{(index .a 0).b.c | print}}", "(index .a 0).b.c | print"),
        ("{{print.x}}", "print.x"),
        ("{{print (.a|print)}}", "print (.a | print)"),
        ("{{$x := 1}}", "$x := 1"),
        ("{{$x = .}}", "$x = ."),
        ("{{if .a}}b{{end}}", "if .a"),
        ("{{with .a}}b{{else with .c}}{{end}}", "with .a"),
        ("{{range $i, $x := .l}}{{end}}", "range $i, $x := .l"),
        ('{{template "a"}}', '{{template "a"}}'),
        ("{{template `a` .x}}", "{{template `a` .x}}"),
        ("text", "text"),
    ],
)
def test_a_statement_shows_its_source(source: str, shown: str) -> None:
    (statement,) = read(source, "t", FUNCTIONS).definitions["t"]
    assert str(statement) == shown


def test_a_jump_shows_its_keyword() -> None:
    (loop,) = read("{{range .}}{{break}}{{continue}}{{end}}", "t", ()).definitions["t"]
    assert [str(each) for each in loop.body] == ["break", "continue"]  # type: ignore[union-attr]


def test_a_template_of_space_only_is_empty() -> None:
    (action,) = read("{{1}}", "t", ()).definitions["t"]
    assert isinstance(action, Action)
    assert is_empty(())
    assert is_empty((Text(0, " \t\r\n\v\f"), Text(0, "\x85\xa0\u2003\u3000")))
    assert not any(is_empty((Text(0, " "), each)) for each in (Text(0, "\x1c"), Text(0, "."), action))
