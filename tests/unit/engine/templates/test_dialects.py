"""Which language a template is in, and what shows it."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import takes_at_most
from tinkbox.engine.templates.dialects import (
    Dialect,
    Placeholder,
    as_go,
    device_names,
    find_dialect,
    mentioned_devices,
    placeholders,
    unmentioned,
    words,
)
from tinkbox.model.errors import Invalid

FUNCTIONS = {"index", "upper", "title", "print"}


@pytest.mark.parametrize(
    ("text", "dialect", "shown"),
    [
        ("no marks", Dialect.GO, None),
        ("a\n{{.device_1}}", Dialect.GO, "{{.device_1}} on line 2"),
        ("{{- .device_1 -}}", Dialect.GO, "{{- .device_1 -}} on line 1"),
        ("{{ $x := 1 }}", Dialect.GO, "{{ $x := 1 }} on line 1"),
        ("{{/* {% if %} */}}", Dialect.GO, "{{/* {% if %} */}} on line 1"),
        ("{{ if true }}x{{ end }}", Dialect.GO, "{{ if true }} on line 1"),
        ("{{end}}", Dialect.GO, "{{end}} on line 1"),
        ("{{ index .Hardware.Disks 0 }}", Dialect.GO, "{{ index .Hardware.Disks 0 }} on line 1"),
        ('{{ "{% if %}" }}', Dialect.GO, None),
        ("echo ${#list[@]} '{%s}' {{ upper `x` }}", Dialect.GO, "{{ upper `x` }} on line 1"),
        ("{{ (index .x 0) }}", Dialect.GO, "{{ (index .x 0) }} on line 1"),
        ("{{ upper (x) }}{{ (x) }}", Dialect.GO, None),
        ('{{ "a" | default .x }}', Dialect.GO, '{{ "a" | default .x }} on line 1'),
        ("{{ not .x }}", Dialect.GO, "{{ not .x }} on line 1"),
        ("{{ myFunc .x }}", Dialect.GO, "{{ myFunc .x }} on line 1"),
        ("{{ myFunc .x | upper }}{% if y %}", Dialect.GO, "{{ myFunc .x | upper }} on line 1"),
        ("{{ x | default('.y $z') }}", Dialect.JINJA, "{{ x | default('.y $z') }} on line 1"),
        ("{{ device_1 }}", Dialect.JINJA, "{{ device_1 }} on line 1"),
        ("{{ upper() }}", Dialect.JINJA, "{{ upper() }} on line 1"),
        ("{{ upper( ) | lower }}", Dialect.JINJA, "{{ upper( ) | lower }} on line 1"),
        ("{{ upper(.x) }}", Dialect.GO, "{{ upper(.x) }} on line 1"),
        ("{{ index }}{{ device_1 }}", Dialect.JINJA, "{{ device_1 }} on line 1"),
        ("a\n\n{%- for x in y %}", Dialect.JINJA, "{%- for x in y %} on line 3"),
        ("{# a comment\n#}", Dialect.JINJA, "{# a comment on line 1"),
        ("{% raw %}{{.x}}{% endraw %}", Dialect.JINJA, "{% raw %}{{.x}} on line 1"),
        ("{{ range(3) | list }}{{ x }}", Dialect.JINJA, "{{ x }} on line 1"),
        ("{{ not x }}{{ hardware.spec }}", Dialect.JINJA, "{{ hardware.spec }} on line 1"),
        ('{{ nosuch "a" }}', Dialect.GO, '{{ nosuch "a" }} on line 1'),
        ("{{ nosuch (index .x 0).y }}", Dialect.GO, "{{ nosuch (index .x 0).y }} on line 1"),
        ("{{- nosuch ( .x ) }}{{.y}}", Dialect.GO, "{{- nosuch ( .x ) }} on line 1"),
        ("{{ nosuch $x }}{{ nosuch 1 }}", Dialect.GO, "{{ nosuch $x }} on line 1"),
        ("{{ joiner (x) }}{{ f ('a', x) }}", Dialect.JINJA, "{{ joiner (x) }} on line 1"),
        ("{{ x ~ 'a' }}{{ x -1 }}{{ x if y }}", Dialect.JINJA, "{{ x ~ 'a' }} on line 1"),
        ("{{", Dialect.GO, None),
        ("{{ x }}{{.y}}\n{{- z -}}{{- .x -}}", Dialect.EITHER, None),
        ("{{ x }}{{.index}}", Dialect.EITHER, None),
        ("{{.x}} ${#list[@]} '{%s}' {{ x }}", Dialect.EITHER, None),
    ],
)
def test_a_dialect_is_found_by_its_marks(text: str, dialect: Dialect, shown: str | None) -> None:
    found, mark = find_dialect(text, FUNCTIONS)
    assert (found, str(mark) if mark else None) == (dialect, shown)


def test_a_text_in_both_names_the_first_line_of_each() -> None:
    with pytest.raises(Invalid, match="mixes two languages") as refusal:
        find_dialect("{{ upper }}\n{% if x %}\n{{.a}}{{.b}}\n{{ y }}", FUNCTIONS)
    assert [str(problem) for problem in refusal.value.problems] == [
        "line 2: {% if x %} is of Jinja2",
        "line 3: {{.a}} is of a Go template",
    ]


CLOUD_INIT = """\
worker: {{.device_1}}
environment:
  USER_DATA: |
    ## template: jinja
    {% if distro == "debian" %}
    {# a comment #}
    - echo ${#list[@]} #}
    {% endif %}
command:
  - |-  # for the shell
    {%- for x in y %}
    {{ index .Hardware.Disks 0 }}
{{- if .more }}
    {% endfor %}
{{- end }}
  - &a >
    {# folded #}
  - "{% if quoted %}"
  - echo {% plain %}  # {# also this #}
"""


def test_jinja_in_a_text_that_a_go_template_embeds_is_text() -> None:
    found, mark = find_dialect(CLOUD_INIT, FUNCTIONS)
    assert (found, str(mark)) == (Dialect.GO, "{{.device_1}} on line 1")
    crlf, _ = find_dialect(CLOUD_INIT.replace("\n", "\r\n"), FUNCTIONS)
    assert crlf is Dialect.GO


def test_a_shells_expansion_is_no_comment_of_jinja() -> None:
    assert find_dialect("command: [sh, -c, 'echo ${#a[@]} #}']\nb: ${#c}", FUNCTIONS) == (Dialect.GO, None)


def test_without_placeholders_an_embedded_text_stays_as_it_is() -> None:
    text = "worker: 08:00:27:00:00:01\nUSER_DATA: |\n  {% if x %}\n  {# y #}\n"
    assert find_dialect(text, FUNCTIONS) == (Dialect.GO, None)
    assert placeholders(text, Dialect.GO) == []


@pytest.mark.parametrize(
    "line",
    [
        "{% if x %}",
        "  {% if x %}",
        "{# x #}",
        "  - a: |\n      text\n    {% if x %}",
        "a: b|\n  {% if x %}",
        "- {% if x %}",
        "a: {% if x %}b{% endif %}",
        "  - a: {# x #} b",
        "a: 5 > 4 |\n  {# x #}",
    ],
)
def test_a_statement_that_begins_a_line_of_the_template_itself_is_of_jinja(line: str) -> None:
    assert find_dialect(f"a: b\n{line}\n", FUNCTIONS)[0] is Dialect.JINJA
    with pytest.raises(Invalid, match="mixes two languages"):
        find_dialect(f"a: {{{{.b}}}}\n{line}\n", FUNCTIONS)


@pytest.mark.parametrize("line", ['a: "{% if x %}b{% endif %}"', "a: b{% if x %}c{% endif %}", "- echo {# x #} 'y'"])
def test_within_a_value_a_statement_counts_where_there_is_no_other_mark(line: str) -> None:
    assert find_dialect(line, FUNCTIONS)[0] is Dialect.JINJA
    assert find_dialect(f"{line}\nc: {{{{ x }}}}", FUNCTIONS)[0] is Dialect.JINJA
    assert find_dialect(f"{line}\nc: {{{{.x}}}}", FUNCTIONS)[0] is Dialect.GO


def test_a_jinja_template_stays_one_wherever_its_statements_are() -> None:
    text = "worker: {{ device_1 }}\nUSER_DATA: |\n  {% for x in y %}\n  {{ x.z }}\n  {% endfor %}\n"
    assert find_dialect(text, FUNCTIONS)[0] is Dialect.JINJA


def test_what_another_program_fills_in_is_said_in_either_language() -> None:
    assert find_dialect("{{ x }}{% raw %}{{.State}}{% endraw %}", FUNCTIONS)[0] is Dialect.JINJA
    assert find_dialect('{{.x}}{{ "{{" }} ds.name }}\n{{ "{%" }} if x %}', FUNCTIONS)[0] is Dialect.GO
    with pytest.raises(Invalid, match="raw") as refusal:
        find_dialect("{{.x}}{{ ds.name }}", FUNCTIONS)
    assert '{{ "{{" }}' in str(refusal.value)


def test_the_placeholders_of_a_go_template_are_also_those_between_jinjas_braces() -> None:
    text = "{% if {{.x}} %}{# {{.y}} #}{% raw %}{{.z}}{% endraw %}"
    assert placeholders(text, Dialect.GO) == [Placeholder(name=name, line=1) for name in "xyz"]


@pytest.mark.parametrize(
    ("more", "go", "jinja"),
    [
        ("{{ .b | upper }}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{ y.z }}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{ y | upper }}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{% if y %}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{# y #}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{/* y */}}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{ if .y }}{{ end }}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{ else }}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{ upper }}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{ true }}", "line 2: {{.a}}", "line 1: {{ x }}"),
        ('{{ "y" }}', "line 2: {{.a}}", "line 1: {{ x }}"),
        ("{{}}", "line 2: {{.a}}", "line 1: {{ x }}"),
    ],
)
def test_whatever_is_more_than_a_name_has_to_be_in_one_language(more: str, go: str, jinja: str) -> None:
    assert find_dialect("{{ x }}\n{{.a}}\n", FUNCTIONS) == (Dialect.EITHER, None)
    with pytest.raises(Invalid, match="mixes two languages") as refusal:
        find_dialect(f"{{{{ x }}}}\n{{{{.a}}}}\n{more}", FUNCTIONS)
    assert [str(problem) for problem in refusal.value.problems] == [
        f"{jinja} is of Jinja2",
        f"{go} is of a Go template",
    ]


@pytest.mark.parametrize(
    ("text", "go"),
    [
        ("nothing", "nothing"),
        ("a {{x}}{{ y }}\n{{.z}} b", "a {{.x}}{{ .y }}\n{{.z}} b"),
        ("{{- x -}}{{-y-}}{{-z }}{{+ a }}", "{{-  .x  -}}{{- .y -}}{{- .z }}{{ .a }}"),
        ("{{- .x -}}{{\n  y\n}} {{ y", "{{- .x -}}{{\n  .y\n}} {{ .y"),
    ],
)
def test_names_in_either_language_become_a_go_template(text: str, go: str) -> None:
    assert as_go(text) == go
    assert as_go(go) == go


@pytest.mark.parametrize(
    ("text", "dialect", "found"),
    [
        ("a\n{{.x}}{{ .y }}\n{{- .z -}}", Dialect.GO, [("x", 2), ("y", 2), ("z", 3)]),
        ("nothing", Dialect.GO, []),
        ("{{.x.y}}", Dialect.GO, None),
        ("{{.x}}{{ if .y }}", Dialect.GO, None),
        ("{{ index .x 0 }}", Dialect.GO, None),
        ("{{}}", Dialect.GO, None),
        ("{{ x }}\n{{-y-}}", Dialect.JINJA, [("x", 1), ("y", 2)]),
        ("{{ x.y }}", Dialect.JINJA, None),
        ("{{ x | upper }}", Dialect.JINJA, None),
        ("{{ x }}{% if y %}", Dialect.JINJA, None),
        ("{{ x }}{# y #}", Dialect.JINJA, None),
        ("{{ x }}\n{{-y-}}{{.z}}", Dialect.EITHER, [("x", 1), ("y", 2), ("z", 2)]),
        ("{{ x }}{{ end }}", Dialect.EITHER, None),
        ("{{ x }}{% if y %}", Dialect.EITHER, None),
    ],
)
def test_the_placeholders_of_a_text_with_nothing_else_are_listed(
    text: str, dialect: Dialect, found: list[tuple[str, int]] | None
) -> None:
    expected = None if found is None else [Placeholder(name=name, line=line) for name, line in found]
    assert placeholders(text, dialect) == expected


def test_the_names_of_machines_are_those_of_workers_and_devices() -> None:
    text = """
    - worker: "{{.first}}"
    - {worker: {{ second }}, x: {{.other}}}
    - 'worker': '{{- $.third }}'
      x: {{ upper .ignored }}{{ .device_7 }}{{ if hasKey . "device_8" }}{{ upper .device_9 }}{{ end }} device_10
    """
    assert device_names(text) == ["first", "second", "third", "device_7"]
    assert mentioned_devices(text) == ["first", "second", "third", "device_7", "device_8", "device_9"]


@pytest.mark.parametrize(
    "piece",
    [
        "{{",
        "{%",
        "{#",
        "{% raw %}",
        "{%\n",
        "{{/*",
        "{{ '",
        "{% if ",
        "worker: {{ ",
        "}}{{.x",
        "{{x}}{{.x}}",
        "a: |",
        "a: |\n {# ",
        "& ",
        "- ",
        "\n- - - - |\n{{",
        "- {#\n#}",
    ],
)
def test_hostile_text_takes_no_longer_than_other_text(piece: str) -> None:
    text = piece * (256 * 1024 // len(piece))

    def read() -> None:
        with suppress(Invalid):
            dialect, _ = find_dialect(text, FUNCTIONS)
            placeholders(text, dialect)
            mentioned_devices(text)
            as_go(text)

    assert takes_at_most(5, read)


@given(
    text=st.lists(
        st.sampled_from(
            ["{{", "}}", "{%", "%}", "{#", "#}", " ", "\n", ".x", "x", "if", "raw", "'", "-", "{{x}}", "{{- .y -}}"]
        )
    ).map("".join)
)
def test_any_text_has_a_dialect_or_is_refused(text: str) -> None:
    try:
        dialect, mark = find_dialect(text, FUNCTIONS)
    except Invalid as refusal:
        assert len(refusal.problems) == 2  # noqa: PT017  the point is that nothing else is raised
    else:
        assert mark is None or (mark.dialect is dialect and 1 <= mark.line <= text.count("\n") + 1)
        names = placeholders(text, dialect)
        if dialect is Dialect.EITHER:
            assert find_dialect(as_go(text), FUNCTIONS)[0] is Dialect.GO
            assert placeholders(as_go(text), Dialect.GO) == names


def test_names_that_a_template_does_not_mention_are_told() -> None:
    text = '# plain\nworker: {{.device_1}}\nx: {{ index . "a-b" }} {% if ver %}y{% endif %}\n'
    assert unmentioned(text, ["device_1", "device", "a-b", "ver", "plain"]) == ["device", "plain"]


def test_what_stands_between_jinjas_braces_is_mentioned_in_a_go_template() -> None:
    text = "{# {{ .a }} #}{% raw %}{{ .b }}{% endraw %}{% if {{ .c }} %}"
    assert unmentioned(text, ["a", "b", "c", "d"]) == ["d"]


def test_words_of_a_template_are_names_and_no_texts() -> None:
    assert words('plain {{ .disk | default "sda" }} {% if ver %}y{% endif %} {{ .disk }}') == [
        "disk",
        "default",
        "ver",
        "endif",
    ]


def test_an_entry_of_the_data_is_a_word_of_a_template() -> None:
    assert words('{{ index . "node" }}{{ get $ `disk` }}{{ eq .a "text" }}') == [
        "index",
        "node",
        "get",
        "disk",
        "eq",
        "a",
    ]
