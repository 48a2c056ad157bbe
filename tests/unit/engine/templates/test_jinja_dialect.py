"""Jinja2 in its sandbox: what is there, what is not, and how it is said."""

import re

import pytest

from tinkbox.engine.templates.jinja_dialect import render_each
from tinkbox.gotemplate import GoError
from tinkbox.model.errors import Problem
from tinkbox.sprig import FUNCTIONS
from tinkbox.sprig.dates.times import Time

DATA = {"device_1": "08:00:27:00:00:01", "hardware": {"spec": {"disks": []}}}


def double(text: str) -> str:
    if text == "never":
        raise GoError("this cannot be doubled")
    return text * 2


def rendered(text: str, most: int = 1000) -> str:
    (result,) = render_each(text, [DATA], {"double": double}, most)
    return result if isinstance(result, str) else f"line {result.line}: {result.text}"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ device_1 }}\n", "08:00:27:00:00:01\n"),
        ("{{ double('a') }}{{ 'b' | double }}", "aabb"),
        ("a\n  {% if device_1 %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc\n"),
        ("{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "6"),
        ("{{ nothing is defined }} {{ nothing | default('x') }}", "False x"),
        ("{# gone #}{% raw %}{{.x}}{% endraw %}", "{{.x}}"),
        ("{{ hardware | tojson }}", '{"spec": {"disks": []}}'),
    ],
)
def test_a_template_is_filled(text: str, result: str) -> None:
    assert rendered(text) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ semver('v1.2.3').Major }} {{ semver('v1.2.3') }}", "1 1.2.3"),
        ("{{ [semver('1')] }}", "[*semver.Version(1.0.0)]"),
        ("{{ duration(95) }} {{ trunc(add(1, 2), 'abcdef') }} {{ add(1, 2) * 2 }}", "1m35s abc 6"),
        ("{{ split(',', 'a,b')._1 }} {{ sortAlpha(splitList(',', 'b,a')) }} {{ rest([]) | length }}", "b ['a', 'b'] 0"),
        ("{{ none | keys }} {{ round(2, 1) }}", "[] 2.0"),
    ],
)
def test_functions_take_what_jinja2_has(text: str, result: str) -> None:
    assert render_each(text, [DATA], FUNCTIONS, 1000) == [result]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n{{ device1 }}", "line 2: device1 has no value; did you mean device_1?"),
        ("\n\n{{ hardware.spc }}", "line 3: there is no spc in it; did you mean spec?"),
        ("{% for i in [1] %}\n{{ i.x }}{% endfor %}", "line 2: a number has no attribute x"),
        ("{{ 1 / 0 }}", "line 1: division by zero"),
        ("{{ double('never') }}", "line 1: this cannot be doubled"),
        ("{{ 'never' | double }}", "line 1: this cannot be doubled"),
        ("a\n{% if %}", "line 2: Expected an expression, got 'end of statement block'"),
        ("{{ x | nope }}", "line 1: No filter named 'nope'."),
        ("{{ 'ä' * 251 }}", "line None: the output is longer than 500 bytes"),
    ],
)
def test_what_is_wrong_says_where(text: str, said: str) -> None:
    assert rendered(text, 500) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ [1][5] }}", "a list has no element 5"),
        (
            "{{ now().AddDate(1, 1, 1) }}",
            "time.Time has no AddDate in Jinja2, where methods with arguments do not work",
        ),
        ("{{ 1() }}", "'int' object is not callable"),
        ("{{ now(1, 2, 3) }}", "now"),
        ("{{ range(10 ** 9) }}", "Range too big"),
    ],
)
def test_what_is_wrong_says_nothing_of_the_program(text: str, said: str) -> None:
    def now() -> Time:
        return Time(0)

    (problem,) = render_each(text, [DATA], {**FUNCTIONS, "now": now}, 1000)
    assert isinstance(problem, Problem)
    assert said in problem.text
    assert not re.search(r"tinkbox|<locals>|<lambda>|Error\b", problem.text)


@pytest.mark.parametrize("data", [[], [DATA]], ids=["read", "filled"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "\n{{ env('HOME') }}",
            "env is not available: it reads the environment of the appliance, which may hold secrets",
        ),
        ("\n{{ 'x' | expandenv }}", "expandenv is not available: it reads the environment"),
        ("\n{% if 0 %}{{ getHostByName('a') }}{% endif %}", "getHostByName is not available: it asks the network"),
        ("\n{% include 'x' %}", "{% include %} is not available: a template is one text"),
        ("\n{% import 'x' as x %}", "{% import %} is not available: a template is one text"),
        ("\n{% from 'x' import y %}", "{% from %} is not available: a template is one text"),
        ("\n{% extends 'x' %}", "{% extends %} is not available: a template is one text"),
    ],
)
def test_what_no_template_may_have_is_refused_by_its_name(text: str, said: str, data: list[dict[str, object]]) -> None:
    (problem,) = render_each(text, data, FUNCTIONS, 1000)
    assert isinstance(problem, Problem)
    assert problem.line == 2
    assert said in problem.text
    assert not problem.key


def test_a_name_of_ones_own_is_not_refused() -> None:
    text = "{% macro env(x) %}<{{ x }}>{% endmacro %}{{ env('a') }}{{ expandenv }}"
    assert render_each(text, [{"expandenv": "b"}], FUNCTIONS, 100) == ["<a>b"]


@pytest.mark.parametrize(
    "text",
    ["{{ ''.__class__ }}", "{{ double.__globals__ }}", "{{ self }}", "{{ cycler }}", "{{ double }}", "{{ lipsum() }}", "{{ [1] | random }}",
     "{% include 'x' %}", "{% import 'os' as x %}", "{{ hardware.update({}) }}", "{{ range(10 ** 9) }}", "{{ (1).real.__add__ }}",
     "{{ '{0.__class__}'.format(1) }}", "{{ hardware | attr('__class__') }}", "{{ [''.join] | pprint }}", "{{" + "(" * 9000],
)  # fmt: skip
def test_what_leads_out_of_the_sandbox_is_refused(text: str) -> None:
    assert rendered(text).startswith("line ")


def test_a_text_alone_is_only_read() -> None:
    assert render_each("{{ nothing }}", [], {}, 10) == []
    (problem,) = render_each("{{ nothing", [], {}, 10)
    assert isinstance(problem, Problem)
    assert problem.line == 1


def test_nothing_is_left_of_one_rendering_in_the_next() -> None:
    text = "{% set x = device_1 %}{{ x }}"
    assert render_each(text, [{"device_1": "a"}, {}, {"device_1": "b"}], {}, 10)[::2] == ["a", "b"]
