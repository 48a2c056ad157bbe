import pytest

from tinkbox.gotemplate import GoError, Limits, Template, TemplateError, parse


def test_a_template_can_be_rendered_again_and_again() -> None:
    template = parse("{{.a}}{{$x := 1}}{{$x}}")
    assert isinstance(template, Template)
    assert [template.render({"a": each}) for each in ("b", 2)] == ["b1", "21"]


def test_functions_are_those_of_go_and_those_given_which_come_first() -> None:
    functions = {"upper": lambda text: text.upper(), "and": lambda *values: len(values), "len": lambda value: "own"}
    source = '{{upper "a"}}{{and 0 0 0}}{{len 5}}{{printf "%d" 1}}'
    assert parse(source, functions=functions).render(None) == "A3own1"


def test_an_unknown_function_is_an_error_of_parsing_that_names_the_nearest() -> None:
    with pytest.raises(TemplateError) as caught:
        parse("\n {{uper .}}", "disk", {"upper": lambda text: text})
    error = caught.value
    assert (error.line, error.column, error.name) == (2, 4, "disk")
    assert error.problem == 'function "uper" not defined; did you mean "upper"?'


def test_an_error_of_rendering_tells_where_and_why() -> None:
    def fail(message: object) -> object:
        raise GoError(str(message))

    with pytest.raises(TemplateError) as caught:
        parse("a\n{{.s}}{{fail .s}}", "disk", {"fail": fail}).render({"s": "no disk"})
    assert str(caught.value) == "template: disk:2:9: at <fail .s>: error calling fail: no disk"


def test_a_function_that_recurses_too_deeply_is_an_error() -> None:
    def endless(value: object) -> object:
        return endless([value])

    with pytest.raises(TemplateError, match="at <endless 1>: nested too deeply"):
        parse("{{endless 1}}", functions={"endless": endless}).render(None)


def test_a_bug_in_a_function_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        parse("{{bug 1}}", functions={"bug": lambda value: value / 0}).render(None)


def test_limits_are_those_of_the_caller() -> None:
    template = parse("{{range .}}x{{end}}")
    assert template.render(1000) == "x" * 1000
    with pytest.raises(TemplateError, match="longer than 999 bytes"):
        template.render(1000, Limits(output_bytes=999))


def test_there_are_limits_even_if_none_are_given() -> None:
    with pytest.raises(TemplateError, match="more than 100000 steps"):
        parse("{{range .}}{{end}}").render(10**18)
    with pytest.raises(TemplateError, match="longer than 262144 bytes"):
        parse("{{range 3}}{{$}}{{end}}").render("x" * 100_000)


def test_the_deepest_source_that_can_be_parsed_needs_no_more_than_the_deepest_rendering() -> None:
    for source in ("{{" + "(" * 98 + "1" + ")" * 98 + "}}", "{{if 1}}" * 98 + "1" + "{{end}}" * 98):
        assert parse(source).render(None) == "1"
    assert parse("{{" + "(print " * 98 + "1" + ")" * 98 + "}}").render(None) == "1"


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert (
        parse('{{slice "é" 0 1}}|{{slice "é" 0 1}}{{slice "é" 1}}|{{"\\xff\\xfe"}}').render(None)
        == "\ufffd|é|\ufffd\ufffd"
    )
    assert parse("{{.}}").render("\ud800") == "\ufffd"
