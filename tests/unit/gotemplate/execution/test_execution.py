from collections.abc import Callable

import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.execution.execution import Execution
from tinkbox.gotemplate.execution.functions import BUILTINS, arity
from tinkbox.gotemplate.execution.limits import Budget, Limits
from tinkbox.gotemplate.parsing.parser import read


def boom(*_: object) -> object:
    raise GoError("boom")


FUNCTIONS: dict[str, Callable[..., object]] = {
    **BUILTINS,
    "boom": boom,
    "list": lambda *values: list(values),
    "alien": object,
}
KNOWN = {name: (function, arity(function)) for name, function in FUNCTIONS.items()}


def execution(source: str, limits: Limits | None = None) -> Execution:
    return Execution(read(source, "t", [*FUNCTIONS, "and", "or"]).definitions, KNOWN, Budget(limits or Limits()))


def run(source: str, data: object = None, limits: Limits | None = None) -> str:
    return execution(source, limits).run("t", data)


def failure(source: str, data: object = None, limits: Limits | None = None) -> tuple[str, str]:
    failing = execution(source, limits)
    with pytest.raises(GoError) as caught:
        failing.run("t", data)
    at, shown = failing.place()
    assert 0 <= at <= len(source)
    return str(caught.value), shown


def test_a_range_goes_through_slices_maps_and_numbers() -> None:
    assert run("{{range $i, $x := .}}{{$i}}={{$x}};{{end}}", ["a", None]) == "0=a;1=<no value>;"
    assert run("{{range $k, $v := .}}{{$k}}={{$v}};{{end}}", {"b": 1, "a": 2}) == "a=2;b=1;"
    assert run("{{range $x := .}}{{$x}}{{.}};{{end}}", {"b": 1, "a": 2}) == "22;11;"
    assert run("{{range 3}}{{.}}{{end}}") == "012"
    for nothing in (0, -1, None, [], {}, ()):
        assert run("{{range .}}x{{else}}none{{end}}", nothing) == "none"


@pytest.mark.parametrize("value", [True, 1.0, "abc"])
def test_nothing_else_can_be_gone_through(value: object) -> None:
    problem, shown = failure("{{range .}}{{end}}", value)
    assert problem.startswith("range can't iterate over")
    assert shown == "range ."


def test_a_number_gives_one_variable_only() -> None:
    assert failure("{{range $i, $x := 3}}{{end}}")[0] == "can't use 3 to iterate over more than one variable"


def test_break_and_continue_concern_the_innermost_range() -> None:
    assert run("{{range 3}}{{range 3}}{{if eq . 1}}{{break}}{{end}}{{.}}{{end}};{{end}}") == "0;0;0;"
    assert run("{{range 3}}{{range 3}}{{with eq . 1}}{{continue}}{{end}}{{.}}{{end}};{{end}}") == "02;02;02;"
    assert run("{{range 2}}{{range .}}{{else}}{{break}}{{end}}x{{end}}") == "xx"
    assert run("{{range 2}}{{range 0}}{{else}}{{continue}}{{end}}x{{end}}") == ""


def test_variables_live_to_the_end_of_their_block() -> None:
    assert run("{{$x := 1}}{{if 1}}{{$x := 2}}{{$x}}{{end}}{{$x}}") == "21"
    assert run("{{$x := 1}}{{if 1}}{{$x = 2}}{{$x}}{{end}}{{$x}}") == "22"
    assert run("{{$x := 0}}{{range $x = .}}{{end}}{{$x}}", [1, 2]) == "2"
    assert run("{{range $x := .}}{{else}}{{$x}}{{end}}", []) == "[]"
    assert run("{{$i := 0}}{{$x := 0}}{{range $i, $x = .}}{{end}}{{$i}}{{$x}}", ["a", "b"]) == "1b"
    assert run("{{$x := 0}}{{$y := 0}}{{range $x = .}}{{$y}}{{$y := 5}}{{$y}}{{end}}", [1, 2]) == "0505"
    assert failure("{{$x = 1}}") == ("undefined variable: $x", "$x")


def test_with_changes_dot_and_if_does_not() -> None:
    assert run("{{with .a}}{{.}}{{$.b}}{{end}}{{if .a}}{{.b}}{{end}}", {"a": 1, "b": 2}) == "122"
    assert run("{{with .a}}x{{else with .b}}{{.}}{{else}}y{{end}}", {"a": 0, "b": 2}) == "2"
    assert run("{{with .a}}x{{else}}{{.b}}{{end}}", {"a": 0, "b": 2}) == "2"


def test_a_template_gets_its_data_and_no_variables() -> None:
    source = '{{define "a"}}<{{.}}{{$}}>{{end}}{{$x := 1}}{{template "a" $x}}{{template "a"}}{{$x}}'
    assert run(source) == "<11><<no value><no value>>1"
    assert failure('{{template "houst"}}{{define "house"}}x{{end}}') == (
        'template "houst" not defined; did you mean "house"?',
        '{{template "houst"}}',
    )


def test_a_missing_key_is_named_with_the_nearest_one() -> None:
    assert failure("{{.a.hostnam}}", {"a": {"hostname": 1}}) == (
        'map has no entry for key "hostnam"; did you mean "hostname"?',
        ".a.hostnam",
    )
    assert failure("{{(.a).x}}", {"a": {}}) == ('map has no entry for key "x"', "(.a).x")
    assert failure("{{$.x}}", None) == ('nil data; no entry for key "x"', "$.x")
    assert failure("{{.a.b}}", {"a": 5}) == ("can't evaluate field b in type int", ".a.b")


def test_only_functions_take_arguments() -> None:
    for source in ("{{. 1}}", "{{$ 1}}", "{{(1) 2}}", '{{"x" 1}}', "{{1 | (print)}}"):
        assert failure(source, {"a": 1})[0].startswith("can't give argument to non-function")
    for source in ("{{.a 1}}", "{{1 | .a}}", "{{$.a 1}}"):
        assert failure(source, {"a": 1})[0] == "a has arguments but cannot be invoked as function"
    assert failure("{{nil}}")[0] == "nil is not a command"


def test_the_last_argument_comes_through_the_pipe() -> None:
    assert run('{{"b" | printf "%s%s" "a"}}{{print nil}}') == "ab<nil>"
    assert failure("{{1 | ne 1 2}}")[0] == "wrong number of args for ne: want 2 got 3"


def test_and_and_or_stop_at_the_operand_that_decides() -> None:
    assert run("{{and 1 0 boom}}{{or 0 2 boom}}{{and 1 2}}{{or 0 false}}") == "022false"
    assert run("{{3 | and 1}}{{3 | or 0}}{{3 | and 0}}{{3 | or 1}}") == "3301"
    assert run("{{and nil 1}}") == "<no value>"
    assert failure("{{and 1 boom}}")[0] == "error calling boom: boom"
    assert failure("{{or}}")[0] == "wrong number of args for or: want at least 1 got 0"


def test_a_function_that_fails_is_named() -> None:
    assert failure("{{1 | boom 2 | print}}") == ("error calling boom: boom", "boom 2")
    assert failure("{{alien}}")[0].startswith("error calling alien: a template cannot hold")


def test_a_long_piece_of_source_is_shown_in_part() -> None:
    shown = failure("{{boom " + "1 " * 60 + "}}")[1]
    assert (len(shown), shown[-1]) == (60, "…")


def test_every_way_of_going_on_for_ever_ends() -> None:
    for source in ("{{range .}}{{end}}", "{{range .}}x{{end}}", "{{range .}}{{$x := 1}}{{end}}"):
        assert "more than 500 steps" in failure(source, 10**9, Limits(steps=500))[0]
    loop = '{{define "a"}}{{template "a"}}{{end}}{{template "a"}}'
    assert "more than 9 levels deep" in failure(loop, None, Limits(depth=9))[0]
    assert "longer than 10 bytes" in failure("{{range .}}xx{{end}}", 10, Limits(output_bytes=10))[0]
    assert "longer than 10 bytes" in failure('{{print "123456" "78901"}}', 10, Limits(output_bytes=10))[0]
    assert "steps" in failure("{{range .}}{{end}}", [0] * 100, Limits(steps=100))[0]


def test_steps_are_counted_as_the_limits_say() -> None:
    source = "a{{if true}}{{print 1}}{{end}}{{range 2}}b{{end}}"
    needed = 1 + (1 + 1) + (1 + 1 + 1) + (1 + 1) + 2 * (1 + 1)
    assert run(source, None, Limits(steps=needed)) == "a1bb"
    assert "steps" in failure(source, None, Limits(steps=needed - 1))[0]
    assert "steps" in failure("{{len .}}", "x" * 640, Limits(steps=12))[0]
    assert run("{{len .}}", "x" * 640, Limits(steps=13)) == "640"
