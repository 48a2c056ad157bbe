"""Which language a template is in, and what shows it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.engine.templates.dialects import (
    Dialect,
    Placeholder,
    as_go,
    device_names,
    find_dialect,
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
        ("{{ index .Hardware.Disks 0 }}", Dialect.GO, None),
        ('{{ "{% if %}" }}', Dialect.GO, None),
        ("echo ${#list[@]} '{%s}' {{ upper `x` }}", Dialect.GO, None),
        ("{{ (index .x 0) }}", Dialect.GO, None),
        ("{{ device_1 }}", Dialect.JINJA, "{{ device_1 }} on line 1"),
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
    - 'worker': '{{- .first }}'
      x: {{ upper .ignored }}{{ .device_7 }}
    """
    assert device_names(text) == ["first", "second", "device_7"]


@pytest.mark.parametrize(
    "piece", ["{{", "{%", "{#", "{% raw %}", "{%\n", "{{/*", "{{ '", "{% if ", "worker: {{ ", "}}{{.x", "{{x}}{{.x}}"]
)
def test_hostile_text_takes_no_longer_than_other_text(piece: str) -> None:
    text = piece * (256 * 1024 // len(piece))
    begin = time.process_time()
    try:
        dialect, _ = find_dialect(text, FUNCTIONS)
        placeholders(text, dialect)
        device_names(text)
        as_go(text)
    except Invalid:
        pass
    assert time.process_time() - begin < 5


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


def test_words_of_a_template_are_names_and_no_texts() -> None:
    assert words('plain {{ .disk | default "sda" }} {% if ver %}y{% endif %} {{ .disk }}') == [
        "disk",
        "default",
        "ver",
        "endif",
    ]
