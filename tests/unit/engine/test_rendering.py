"""Templates of the 2020 form: what is accepted, and what is said of everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.engine.rendering import MAX_TEXT, check, render
from tinkbox.model.errors import Invalid
from tinkbox.model.template import Action, Definition, Task

FULL = """\
version: "0.1"
name: ubuntu_provisioning
global_timeout: 6000
tasks:
  - name: "os-installation"
    worker: {{.device_1}}
    volumes: ["/dev:/dev", "/lib/firmware:/lib/firmware:ro"]
    environment: {MIRROR_HOST: 192.168.1.2}
    actions:
      - name: "disk-wipe"
        image: disk-wipe
        timeout: 90
        command: ["sh", "-c", "echo hi"]
        on-timeout: ["sh", "-c", "echo too slow"]
        on-failure: ["sh", "-c", "echo failed"]
        environment: {K: v}
        volumes:
          - /statedir:/statedir
        pid: host
"""
SMALL = """\
version: "0.1"
name: small
tasks:
  - name: t
    worker: "{{ .device_1 }}"
    actions:
      - {name: a, image: x}
"""
MAC = "08:00:27:00:00:01"


def problems_of(text: str, devices: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        render(text, {"device_1": MAC} if devices is None else devices)
    return [str(problem) for problem in refusal.value.problems]


def test_the_form_of_2020_is_understood_whole() -> None:
    text, definition = render(FULL, {"device_1": MAC, "unused": "is fine"})
    assert text == FULL.replace("{{.device_1}}", MAC)
    action = Action(
        name="disk-wipe",
        image="disk-wipe",
        timeout=90,
        command=("sh", "-c", "echo hi"),
        on_timeout=("sh", "-c", "echo too slow"),
        on_failure=("sh", "-c", "echo failed"),
        volumes=("/statedir:/statedir",),
        environment={"K": "v"},
        pid="host",
    )
    task = Task(
        name="os-installation",
        worker=MAC,
        actions=(action,),
        volumes=("/dev:/dev", "/lib/firmware:/lib/firmware:ro"),
        environment={"MIRROR_HOST": "192.168.1.2"},
    )
    assert definition == Definition(name="ubuntu_provisioning", tasks=(task,), global_timeout=6000)


def test_a_template_is_checked_before_it_has_devices() -> None:
    check(FULL)
    with pytest.raises(Invalid):
        check(FULL.replace("image: disk-wipe", "image: Disk Wipe"))


@pytest.mark.parametrize("timeout", ["", "timeout: 0, ", "timeout:, "])
def test_no_timeout_means_one_hour(timeout: str) -> None:
    text = SMALL.replace("name: a, ", f"name: a, {timeout}")
    assert render(text, {"device_1": MAC})[1].tasks[0].actions[0].timeout == 3600


@pytest.mark.parametrize(
    ("literal", "value"),
    [("0644", "0644"), ("true", "true"), ("1e3", "1e3"), ("~", ""), ("", ""), ("null", ""), ("0x1F", "0x1F"),
     ("2020-07-28", "2020-07-28"), ("12:30:45", "12:30:45"), ("'quoted'", "quoted"), ("yes", "yes"), ("1_000", "1_000")],
)  # fmt: skip
def test_environment_values_keep_their_literal_text(literal: str, value: str) -> None:
    text = SMALL.replace("image: x", f"image: x, environment: {{V: {literal}}}")
    assert render(text, {"device_1": MAC})[1].tasks[0].actions[0].environment == {"V": value}


@given(value=st.from_regex(r"[A-Za-z0-9._/=+-]{1,20}", fullmatch=True))
def test_any_plain_value_stays_what_it_was(value: str) -> None:
    if value in ("null", "Null", "NULL", "-", "=", "---", "...") or value.startswith("-"):
        return
    text = SMALL.replace("image: x", f"image: x, environment: {{V: {value}}}")
    assert render(text, {"device_1": MAC})[1].tasks[0].actions[0].environment == {"V": value}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("name: small", "nme: small"), ["line 2, nme: unknown key nme; did you mean name?", "line 1, name: name cannot be empty"]),
        (("image: x", "imag: x"), ["line 7, tasks[0].actions[0].imag: unknown key imag; did you mean image?"]),
        (("image: x", "image: x, retries: 2"), ["line 7, tasks[0].actions[0].retries: unknown key retries"]),
        (("image: x", "image: Bad Name"), ["line 7, tasks[0].actions[0].image: invalid image name 'Bad Name'"]),
        (("image: x", "image: x, timeout: soon"), ["line 7, tasks[0].actions[0].timeout: expected seconds"]),
        (("image: x", "image: x, timeout: -1"), ["line 7, tasks[0].actions[0].timeout: expected seconds"]),
        (("image: x", "image: x, command: echo hi"), ["line 7, tasks[0].actions[0].command: expected a list of words"]),
        (("image: x", "image: x, volumes: [dev]"), ["line 7, tasks[0].actions[0].volumes: 'dev': expected /host/path"]),
        (("image: x", "image: x, volumes: [/dev]"), ["line 7, tasks[0].actions[0].volumes: '/dev': expected /host/path"]),
        (("image: x", "image: x, volumes: [/dev:dev]"), ["line 7, tasks[0].actions[0].volumes: '/dev:dev': expected"]),
        (("image: x", "image: x, pid: all"), ["line 7, tasks[0].actions[0].pid: expected host"]),
        (("image: x", "image: x, image: y"), ["line 7, tasks[0].actions[0].image: key image is given twice"]),
        (("image: x", "image: x, environment: [A]"), ["line 7, tasks[0].actions[0].environment: expected names with values"]),
        (('version: "0.1"\n', ""), ['line 1, version: invalid template version: none (it must be "0.1")']),
        (('version: "0.1"', "version: 2"), ["line 1, version: invalid template version: 2"]),
        (("name: t", f"name: {'t' * 200}"), ["line 4, tasks[0].name: name cannot be empty or have more than 199"]),
        (("    worker:", "    wrker:"), ["tasks[0].wrker: unknown key wrker; did you mean worker?", "tasks[0].worker: a task needs"]),
        (("tasks:", "services: []\ntasks:"), ["line 3, services: unknown key services"]),
        (("    worker", "\tworker"), ["line 5: a tab: YAML is indented with spaces"]),
        (("tasks:", "tasks: []\nx:"), ["line 4, x: unknown key", "tasks: template must have at least one task"]),
    ],
)  # fmt: skip
def test_each_problem_names_its_line_its_key_and_the_way_out(change: tuple[str, str], expected: list[str]) -> None:
    assert change[0] in SMALL
    found = problems_of(SMALL.replace(*change, 1))
    for text in expected:
        assert any(text in problem for problem in found), (text, found)


def test_all_problems_are_listed_at_once() -> None:
    text = SMALL.replace("image: x", "imag: x, timeout: soon").replace("name: small", "nme: small")
    assert len(problems_of(text)) == 5


def test_two_tasks_or_two_actions_of_one_name_are_refused() -> None:
    task = SMALL[SMALL.index("  - name: t") :]
    assert "line 8, tasks: two tasks in a template cannot have same name: t" in problems_of(SMALL + task)
    text = SMALL + "      - {name: a, image: y}\n"
    assert "line 8, tasks[0].actions: two actions in a task cannot have same name: a" in problems_of(text)


def test_a_placeholder_without_a_value_is_named_with_its_line() -> None:
    assert problems_of(SMALL, {"device_2": MAC}) == [
        "line 5, device_1: placeholder device_1 has no value: the -r map has device_2"
    ]


@pytest.mark.parametrize("inside", ["if .x", "device_1", ".a.b", "- .device_1 -", "", " index . 0 ", "env"])
def test_anything_but_a_plain_placeholder_is_refused(inside: str) -> None:
    found = problems_of(SMALL.replace("{{ .device_1 }}", "{{" + inside + "}}"))
    assert "line 5" in found[0]
    assert "placeholders are written {{.name}}" in found[0]


@pytest.mark.parametrize(
    "text", ["", "[]", "just text", "a: [", "a: b: c", "- a", "a: &x [*x]", "%YAML 9", "{" * 5000, "\x00"]
)
def test_what_is_no_template_is_refused(text: str) -> None:
    assert problems_of(text)


def test_an_alias_bomb_is_refused_before_it_is_expanded() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join(['*' + old] * 10)}]" for old, new in zip("abcdefghijk", "bcdefghijkl", strict=True)
    ]
    assert "aliases" in problems_of("\n".join(lines))[0]


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(Invalid, match="exceeds 256 KiB"):
        render(SMALL + "#" * MAX_TEXT, {"device_1": MAC})
    with pytest.raises(Invalid, match="exceeds 256 KiB"):
        render(SMALL, {"device_1": "x" * MAX_TEXT})


@given(text=st.text(max_size=200) | st.lists(st.sampled_from(SMALL.splitlines()), max_size=12).map("\n".join))
def test_no_text_does_anything_but_render_or_be_refused(text: str) -> None:
    try:
        render(text, {"device_1": MAC})
    except Invalid as refusal:
        assert refusal.problems  # noqa: PT017  the point is that nothing else is raised
