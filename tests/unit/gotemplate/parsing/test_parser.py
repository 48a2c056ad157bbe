import pytest

from tinkbox.gotemplate.errors import TemplateError
from tinkbox.gotemplate.parsing.nodes import Block, Branch, Invocation, Range, Text
from tinkbox.gotemplate.parsing.parser import read


def body(source: str) -> Block:
    return read(source, "t", ["print"]).definitions["t"]


def test_an_else_if_is_another_arm() -> None:
    (branch,) = body("{{if 1}}a{{else if 2}}b{{else}}c{{end}}")
    assert isinstance(branch, Branch)
    assert [(str(pipeline), [str(each) for each in block]) for pipeline, block in branch.arms] == [
        ("1", ["a"]),
        ("2", ["b"]),
    ]
    assert [str(each) for each in branch.otherwise] == ["c"]
    assert not branch.changes_dot


def test_a_with_changes_dot_and_has_its_own_else() -> None:
    (branch,) = body("{{with 1}}a{{else with 2}}b{{end}}")
    assert isinstance(branch, Branch)
    assert branch.changes_dot
    assert (len(branch.arms), branch.otherwise) == (2, ())


def test_a_range_has_a_body_and_an_else() -> None:
    (loop,) = body("{{range .}}a{{else}}b{{end}}")
    assert isinstance(loop, Range)
    assert ([str(each) for each in loop.body], [str(each) for each in loop.otherwise]) == (["a"], ["b"])


def test_templates_are_kept_by_name() -> None:
    source = read('x{{define "a"}}A{{end}}{{block `b` .}}B{{end}}y', "t", ())
    assert {name: [str(each) for each in block] for name, block in source.definitions.items()} == {
        "a": ["A"],
        "b": ["B"],
        "t": ["x", "{{template `b` .}}", "y"],
    }
    assert isinstance(source.definitions["t"][1], Invocation)


def test_an_empty_definition_gives_way_to_another_and_never_takes_its_place() -> None:
    for source in ('{{define "a"}} {{end}}{{define "a"}}A{{end}}', '{{define "a"}}A{{end}}{{define "a"}} {{end}}'):
        assert read(source, "t", ()).definitions["a"] == (Text(source.index("A"), "A"),)
    own = read('{{define "t"}}A{{end}} ', "t", ())
    assert [str(each) for each in own.definitions["t"]] == ["A"]


def test_the_functions_that_are_used_are_collected() -> None:
    assert read('{{define "a"}}{{print 1}}{{end}}', "t", ["print", "println"]).functions == {"print": 16}


def test_an_else_chain_of_any_length_is_not_deep() -> None:
    (branch,) = body("{{if 1}}" + "{{else if 1}}" * 500 + "{{end}}")
    assert isinstance(branch, Branch)
    assert len(branch.arms) == 501


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{end}}", "unexpected {{end}}"),
        ("{{else}}", "unexpected {{else}}"),
        ("{{if 1}}", "unexpected EOF"),
        ("{{if 1}}{{else}}{{else}}{{end}}", "expected end; found {{else}}"),
        ("{{if 1}}{{else with 1}}{{end}}", 'unexpected "with" in input'),
        ("{{with 1}}{{else if 1}}{{end}}", 'unexpected "if" in input'),
        ("{{range 1}}{{else if 1}}{{end}}", 'unexpected "if" in input'),
        ("{{if 1}}{{end 1}}", 'unexpected "1" in end'),
        ("{{if 1}}{{else 1}}{{end}}", 'unexpected "1" in else'),
        ("{{if}}{{end}}", "missing value for if"),
        ("{{break}}", "{{break}} outside {{range}}"),
        ("{{range 1}}{{else}}{{continue}}{{end}}", "{{continue}} outside {{range}}"),
        ("{{range 1}}{{block `a` .}}{{break}}{{end}}{{end}}", "{{break}} outside {{range}}"),
        ("{{range 1}}{{break 1}}{{end}}", 'unexpected "1" in {{break}}'),
        ("{{define a}}{{end}}", 'unexpected "a" in define clause'),
        ("{{define `a` 1}}{{end}}", 'unexpected "1" in define clause'),
        ("{{define `a`}}{{else}}{{end}}", "unexpected {{else}} in define clause"),
        ("{{if 1}}{{define `a`}}{{end}}{{end}}", 'unexpected "define" in command'),
        ("{{block `a`}}{{end}}", "missing value for block clause"),
        ("{{block `a` .}}{{else}}{{end}}", "unexpected {{else}} in block clause"),
        ("{{template a}}", 'unexpected "a" in template clause'),
        ("{{template `a` . }}{{template `b` |}}", 'unexpected "|" in template clause'),
        ("{{define `a`}}1{{end}}{{define `a`}}2{{end}}", 'multiple definition of template "a"'),
        ("{{$x := 1}}{{define `a`}}{{$x}}{{end}}", 'undefined variable "$x"'),
        ("{{if $x := 1}}{{end}}{{$x}}", 'undefined variable "$x"'),
        ("{{if 1}}" * 101, "the source is nested more than 100 levels deep"),
        ("{{block `a` .}}" * 101, "the source is nested more than 100 levels deep"),
    ],
)
def test_what_is_no_template_is_refused(source: str, problem: str) -> None:
    with pytest.raises(TemplateError) as caught:
        body(source)
    assert caught.value.problem == problem


def test_the_error_stands_where_the_problem_is() -> None:
    with pytest.raises(TemplateError) as caught:
        read("a\n{{if 1}}\n é{{foo}}", "boot", ["for"])
    assert str(caught.value) == 'template: boot:3:5: function "foo" not defined; did you mean "for"?'
