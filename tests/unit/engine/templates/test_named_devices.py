"""Which names of a template stand for machines."""

import pytest

from tests.processor_time import takes_at_most
from tinkbox.engine.templates.named_devices import device_names


def test_the_names_of_machines_are_those_of_workers_and_devices() -> None:
    text = """
    - worker: "{{.first}}"
    - {worker: {{ second }}, x: {{.other}}}
    - 'worker': '{{- .first }}'
      x: {{ upper .ignored }}{{ .device_7 }}
    """
    assert device_names(text) == ["first", "second", "device_7"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('worker: "{{ $.node }}"', ["node"]),
        ('worker: {{ index . "node" }}', ["node"]),
        ('worker: {{ get $ "node" | lower }}', ["node"]),
        ('worker: {{ default "x" .node }}', ["node"]),
        ('worker: {{ printf "%s" .node }}{{ .other }}', ["node", "other"]),
        ('worker: {{ printf "node" }}', []),
        ("worker: {{ if .flag }}{{ .one }}{{ else }}{{ .two }}{{ end }}", ["one", "two"]),
        ("worker: {{ with .node }}{{ . }}{{ end }}", ["node"]),
        ("{{ with .x }}{{ else }}worker: {{ .node }}{{ end }}", ["node"]),
        ("{{ with .machine }}worker: {{ .mac }}{{ end }}", []),
        ("{{ $w := .node }}worker: {{ $w }}", ["node"]),
        ("{{ $w := .node }}{{ $v := $w }}{{ with $u := $v }}worker: {{ $u }}{{ end }}", ["node"]),
        ("{{ range (list .a .b) }}worker: {{ . }}{{ end }}", ["a", "b"]),
        ("{{ range $i, $w := list .a .b }}worker: {{ $w }}{{ end }}", ["a", "b"]),
        ("{{ range .nodes }}worker: {{ . }}{{ end }}", []),
        ("{{ range list .a }}{{ if .x }}{{ end }}{{ end }}worker: {{ . }}", []),
        ("worker: {{ index .nodes 0 }}{{ .nodes | first }}", []),
        ('worker: {{ $w := get .machine "mac" }}{{ $w }}', []),
        ("worker: {{ $nothing }}", []),
        ("worker: {{ .node.mac }}", []),
        ("{{ end }}{{ else }}worker: {{ .node }}", ["node"]),
    ],
)
def test_the_worker_of_a_go_template_is_followed_to_the_data(text: str, names: list[str]) -> None:
    assert device_names(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("worker: {{ node | lower }}", ["node"]),
        ("worker: {{ lower(node) }}", ["node"]),
        ("worker: {{ node.lower() }}", ["node"]),
        ("worker: {{ node.mac }}", []),
        ('worker: {{ "%s" | format(node) }}', ["node"]),
        ('worker: {{ [node, "x"][0] }}', ["node"]),
        ("worker: {{ nodes | first }}{{ nodes[0] }}", []),
        ("worker: {{ node if flag else other }}", ["node", "other"]),
        ("worker: {{ node is defined and node or other }}", ["node", "other"]),
        ("worker: {{ default(value=node) }}", ["node"]),
        ("worker: {% if flag %}{{ one }}{% else %}{{ two }}{% endif %}", ["one", "two"]),
        ("{% set w = node %}worker: {{ w }}", ["node"]),
        ("{% set node = node | lower %}worker: {{ node }}", ["node"]),
        ("{% for d in [one, two] %}worker: {{ d }}{% endfor %}", ["one", "two"]),
        ("{% for d in nodes %}worker: {{ d }}{% endfor %}", []),
    ],
)
def test_the_worker_of_a_jinja_template_is_followed_to_the_data(text: str, names: list[str]) -> None:
    assert device_names(text) == names


@pytest.mark.parametrize(
    "action",
    [
        "{{ $.device_1 }}",
        "{{ $w := .device_1 }}",
        "{{ with .device_1 }}",
        '{{ default "x" .device_1 }}',
        '{{ index . "device_1" }}',
        "{{ range list .device_1 .device_1 }}",
        "{{ if .device_1 }}",
        "{% set w = device_1 %}",
        '{{ [device_1, "x"][0] }}',
        '{{ "%s" | format(device_1) }}',
        "{% for d in [device_1] %}",
        "{{ device_1.upper() }}",
        "{{ device_1[0] }}",
    ],
)
def test_a_numbered_device_stands_for_a_machine_in_any_action(action: str) -> None:
    assert device_names(f"name: {action}") == ["device_1"]


def test_what_is_no_action_names_no_machine() -> None:
    text = "device_1 {{/* device_2 */}}{# device_3 #}{% raw %}{{ device_4 }}{% endraw %}{{ hardware.device_5 }}"
    assert device_names(text) == []


@pytest.mark.parametrize(
    "piece",
    [
        "worker: {{ ",
        "worker: {{ .x }}",
        "{{ $a := $b }}",
        "{{ range .x }}worker: {{ . }}",
        "{% set a = b %}",
        "{% for ",
        "if ",
        "$ ",
        ". ",
        "x.",
        "'",
        '. "a',
        "| ",
        "{{ end }}",
    ],
)
@pytest.mark.parametrize("before", ["", "worker: {{ ", "worker: {% set "])
def test_hostile_text_takes_no_longer_than_other_text(before: str, piece: str) -> None:
    text = before + piece * (256 * 1024 // len(piece))
    assert takes_at_most(5, lambda: device_names(text))


def test_a_long_way_to_the_data_takes_no_longer_than_other_text() -> None:
    text = "".join(f"{{{{ $v{each} := $v{each - 1} }}}}worker: {{{{ $v{each} }}}}\n" for each in range(1, 5000))
    assert takes_at_most(5, lambda: device_names("{{ $v0 := .node }}" + text))
    assert device_names("{{ $v0 := .node }}" + text) == ["node"]
