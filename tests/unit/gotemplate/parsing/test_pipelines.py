import pytest

from tinkbox.gotemplate.errors import TemplateError
from tinkbox.gotemplate.parsing.lexer import Kind
from tinkbox.gotemplate.parsing.nodes import Chain, Command, Dot, Field, Function, Literal, Nil, Pipeline, Variable
from tinkbox.gotemplate.parsing.pipelines import PipelineReader
from tinkbox.gotemplate.parsing.reader import TokenReader


def reading(source: str) -> PipelineReader:
    reader = TokenReader("{{" + source + "}}", "t")
    reader.next()
    return PipelineReader(reader, ["print", "printf"])


def pipeline(source: str, context: str = "command") -> Pipeline:
    return reading(source).pipeline(context, Kind.RIGHT)


def operands(source: str) -> tuple[object, ...]:
    (command,) = pipeline(source).commands
    return command.operands


def test_operands_are_what_spaces_part() -> None:
    assert operands(". nil .a.b $.c print") == (
        Dot(2),
        Nil(4),
        Field(8, ("a", "b")),
        Variable(13, "$", ("c",)),
        Function(17, "print"),
    )


def test_literals_have_their_values() -> None:
    found = operands(r'true false 1 1.5 "\n" `\n` ' + "'a'")
    values = [each.value for each in found if isinstance(each, Literal)]
    assert values == [True, False, 1, 1.5, "\n", "\\n", 97]
    assert [type(each) for each in values] == [bool, bool, int, float, str, str, int]


def test_fields_follow_parentheses_and_functions() -> None:
    inner = Pipeline(3, (), False, (Command(3, (Dot(3),)),))
    assert operands("(.).a.b print.c") == (Chain(5, inner, ("a", "b")), Chain(15, Function(10, "print"), ("c",)))


def test_pipes_part_commands() -> None:
    assert [str(each) for each in pipeline(".a | print 1|print").commands] == [".a", "print 1", "print"]
    assert len(pipeline(".a |").commands) == 1


def test_variables_are_declared_or_set() -> None:
    declared, assigned = pipeline("$x := 1"), pipeline("$ = 1")
    assert (declared.variables, declared.assigns) == ((Variable(2, "$x"),), False)
    assert (assigned.variables, assigned.assigns) == ((Variable(2, "$"),), True)
    both = pipeline("$i, $x := .", "range")
    assert [each.name for each in both.variables] == ["$i", "$x"]
    assert not pipeline("$ | print").variables


def test_a_variable_is_known_to_the_end_of_its_scope() -> None:
    reader = TokenReader("{{$x := $x}}{{$x}}{{$x}}", "t")
    pipelines = PipelineReader(reader, ())

    def action() -> Pipeline:
        reader.next()
        return pipelines.pipeline("command", Kind.RIGHT)

    with pipelines.scope():
        action()
        with pipelines.scope():
            action()
    with pytest.raises(TemplateError, match='undefined variable "\\$x"'):
        action()


def test_a_template_of_its_own_knows_only_the_dollar() -> None:
    reader = TokenReader("{{$x := 1}}{{$}}{{$x}}{{$x}}", "t")
    pipelines = PipelineReader(reader, ())

    def action() -> Pipeline:
        reader.next()
        return pipelines.pipeline("command", Kind.RIGHT)

    action()
    with pipelines.own_variables():
        action()
        with pytest.raises(TemplateError, match="undefined variable"):
            action()
    assert PipelineReader(TokenReader("", "t"), ()).used == {}


def test_the_functions_that_are_used_are_collected() -> None:
    pipelines = reading("print (printf 1) | print")
    pipelines.pipeline("command", Kind.RIGHT)
    assert set(pipelines.used) == {"print", "printf"}


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("", "missing value for command"),
        ("$x :=", "missing value for command"),
        ("prinf 1", 'function "prinf" not defined; did you mean "print'),
        ("$x", 'undefined variable "$x"'),
        ("$x, $y := 1", "too many declarations in command"),
        ("1 | 2", "non executable command in pipeline stage 2"),
        ("1 | print | .", "non executable command in pipeline stage 3"),
        ("| 1", 'unexpected "|" in command'),
        ("1 | | 2", 'unexpected "|" in command'),
        ('"a""b"', 'unexpected "\\"b\\"" in operand'),
        ("1.x", 'bad number syntax: "1.x"'),
        ('"a".x', 'unexpected . after term "\\"a\\""'),
        ("nil.x", 'unexpected . after term "nil"'),
        ("()", "missing value for parenthesized pipeline"),
        ("if", 'unexpected "if" in command'),
        ("08", 'illegal number syntax: "08"'),
        ("1i", "complex numbers are not supported"),
        ("1+2i", "complex numbers are not supported"),
        ("'ab'", "malformed character constant: 'ab'"),
        ('"\\z"', "invalid syntax"),
        ("#", 'unexpected "#" in command'),
        ("(" * 101 + "1" + ")" * 101, "the source is nested more than 100 levels deep"),
    ],
)
def test_what_is_no_pipeline_is_refused(source: str, problem: str) -> None:
    with pytest.raises(TemplateError) as caught:
        pipeline(source)
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("$a, $b, $c := .", "too many declarations in range"),
        ("$a, 1", "range can only initialize variables"),
        ("$a, $b", 'undefined variable "$b"'),
        ("$alpha := $alpho", 'undefined variable "$alpho"; did you mean "$alpha"?'),
    ],
)
def test_a_range_declares_two_variables_at_most(source: str, problem: str) -> None:
    with pytest.raises(TemplateError) as caught:
        pipeline(source, "range")
    assert caught.value.problem == problem
