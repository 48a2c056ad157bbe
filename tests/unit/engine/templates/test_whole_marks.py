"""A secret's mark stays whole in templates of both languages, or the template is refused with the line and the function."""

import pytest

from tinkbox.engine.templates import jinja_dialect
from tinkbox.engine.templates.go_dialect import GoTemplate, Yaml, own_functions
from tinkbox.engine.templates.secret_marks import MARKS_KEY
from tinkbox.model.errors import Invalid
from tinkbox.model.secret import Form, mark_of

KEY = bytes(32)
RAW, ENCODED = mark_of(KEY, "x"), mark_of(KEY, "x", Form.BASE64)
DATA = {MARKS_KEY: KEY.hex(), "piece": RAW[-20:], "word": "TBsecret"}


def go(text: str) -> str:
    return GoTemplate(text).render(DATA)


def jinja(text: str) -> str:
    (result,) = jinja_dialect.render_each(text, [DATA], own_functions(Yaml()), 10_000)
    return result if isinstance(result, str) else f"line {result.line}: {result.text}"


@pytest.mark.parametrize(
    ("pipe", "function"),
    [
        ('secret "x" | trunc 8', "trunc"),
        ('secret "x" | trunc -4', "trunc"),
        ('secret "x" | trunc 500', "trunc"),
        ('secret "x" | substr 0 6', "substr"),
        ('secret "x" | replace "tbsecret" ""', "replace"),
        ('secret "x" | b64enc | b64enc', "b64enc"),
        ('secret "x" | b64dec', "b64dec"),
        ('print "user:" (secret "x") | b64enc', "b64enc"),
        ('secret "x" | b32enc', "b32enc"),
        ('secret "x" | sha256sum', "sha256sum"),
        ('htpasswd "ann" (secret "x")', "htpasswd"),
        ('list (secret "x") | join "," | trunc 9', "trunc"),
        ('dict "a" (secret "x") | toJson | upper', "upper"),
        ('slice (secret "x") 3', "slice"),
        ('index (secret "x") 0', "index"),
        ('printf "%.5s" (secret "x")', "printf"),
        ('printf "%.*s" 5 (secret "x")', "printf"),
        ('printf "%x" (secret "x")', "printf"),
        ('printf "%[1]s%[1]x" (secret "x")', "printf"),
        ('eq (secret "x") "a"', "eq"),
        ('len (secret "x")', "len"),
        ('now.Format (secret "x")', "Format"),
        ('secret "x" | urlquery', "urlquery"),
    ],
)
def test_a_function_of_go_that_would_change_a_secret_is_refused(pipe: str, function: str) -> None:
    with pytest.raises(Invalid) as refused:
        go("first\n{{ " + pipe + " }}")
    (problem,) = refused.value.problems
    assert problem.line == 2
    assert f"error calling {function}: " in problem.text
    assert "secret: its value is not known" in problem.text.replace(
        " that is encoded so already, or that is beside other text", ""
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('{{ secret "x" }}', RAW),
        ('{{ secret "x" | b64enc }} {{ secret "x" | b64enc | b64dec }}', f"{ENCODED} {RAW}"),
        ('{{ printf "%s:%d" (secret "x") 5 }}', f"{RAW}:5"),
        ('{{ cat "a" (secret "x") | quote }}', f'"a {RAW}"'),
        ('{{ list (secret "x") "b" | join "," | indent 2 }}', f"  {RAW},b"),
        ('{{ dict "a" (secret "x") | toJson }}', f'{{"a":"{RAW}"}}'),
        ('{{ dict "a" (secret "x") | toYaml }}', f"a: {RAW}"),
        ('{{ default "a" (secret "x") }}{{ ternary "b" (secret "x") true }}', f"{RAW}b"),
        ('{{ range list (secret "x") }}{{ . }}{{ end }}{{ index (dict "a" (secret "x")) "a" }}', f"{RAW}{RAW}"),
        ('{{ if secret "x" }}{{ trunc 2 "abc" }}{{ end }}', "ab"),
    ],
)
def test_a_secret_passes_through_what_keeps_it_in_go(text: str, result: str) -> None:
    assert go(text) == result


@pytest.mark.parametrize(
    "text",
    [
        "{{ secret('x')[:8] }}",
        "{{ secret('x')[0] }}",
        "{{ ('a' ~ secret('x'))[3:] }}",
        "{{ secret('x') | upper }}",
        "{{ secret('x') | trim }}",
        "{{ secret('x') | first }}",
        "{{ secret('x') | list }}",
        "{{ secret('x') | b64enc | b64enc }}",
        "{{ secret('x') | replace('tbsecret', '') }}",
        "{{ secret('x').upper() }}",
        "{{ secret('x')['upper']() }}",
        "{{ secret('x').split('.')[1] }}",
        "{{ (secret('x') | attr('upper'))() }}",
        "{% set change = secret('x').upper %}{{ change() }}",
        "{{ '{:.5}'.format(secret('x')) }}",
        "{{ '{a:.5}'.format_map({'a': secret('x')}) }}",
        "{{ '%.5s' % secret('x') }}",
        "{{ '%.5s' | format(secret('x')) }}",
        "{{ [secret('x')] | map('upper') | join }}",
        "{{ [secret('x')] | map('truncate', 9) | join }}",
        "{% for letter in secret('x') %}{{ letter }} {% endfor %}",
        "{% filter upper %}{{ secret('x') }}{% endfilter %}",
        "{% set kept %}{{ secret('x') }}{% endset %}{{ kept[:8] }}",
        "{% macro cut(text) %}{{ text[:8] }}{% endmacro %}{{ cut(secret('x')) }}",
        "{% if secret('x') == 'a' %}b{% endif %}",
        "{% if 'tb' in secret('x') %}b{% endif %}",
    ],
)
def test_what_would_change_a_secret_in_jinja2_is_refused(text: str) -> None:
    said = jinja("first\n" + text)
    assert said.startswith("line 2: ")
    assert "its value is not known when the template is filled" in said


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ secret('x') }} {{ secret('x') | b64enc }}", f"{RAW} {ENCODED}"),
        ("{{ 'a' ~ secret('x') }}{{ '%s' % secret('x') }}{{ 'b' + secret('x') }}", f"a{RAW}{RAW}b{RAW}"),
        ("{{ [secret('x'), 'b'] | join(',') }} {{ ','.join([secret('x')]) }}", f"{RAW},b {RAW}"),
        ("{{ {'a': secret('x')} | tojson }}", f'{{"a": "{RAW}"}}'),
        ("{% for name, value in {'a': secret('x')}.items() %}{{ name }}={{ value }}{% endfor %}", f"a={RAW}"),
        ("{% macro shown(text) %}<{{ text }}>{% endmacro %}{{ shown(secret('x')) }}", f"<{RAW}>"),
        ("{% set ns = namespace(a=secret('x')) %}{{ ns.a if ns.a is defined }}", RAW),
        ("{{ [{'a': secret('x'), 'n': 1}] | selectattr('n', 'eq', 1) | map(attribute='a') | join }}", RAW),
        ("{{ 'abc'[:2] }}{{ 'a' in 'abc' }}{{ secret('x') | default('b') }}", f"abTrue{RAW}"),
    ],
)
def test_a_secret_passes_through_what_keeps_it_in_jinja2(text: str, result: str) -> None:
    assert jinja(text) == result


@pytest.mark.parametrize("name", ["piece", "word"])
def test_a_piece_of_a_mark_is_refused_however_it_came_there(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        go('{{ secret "x" }}\n{{ .' + name + " }}")
    assert [(each.line, each.text[:19]) for each in refused.value.problems] == [(2, "a piece of what sta")]
    assert jinja("{{ secret('x') }}\n{{ " + name + " }}").startswith("line 2: a piece of what stands for a secret")
    assert go("{{ ." + name + " }}") == DATA[name]
