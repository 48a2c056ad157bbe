"""Rendered templates: what is accepted, and what is said of everything else."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.engine.template_texts import MAC
from tests.unit.engine.template_texts import SMALL as TEMPLATE
from tinkbox.engine.documents.definitions import read_definition
from tinkbox.model.action import Action
from tinkbox.model.breakpoint import Breakpoints, Verb
from tinkbox.model.errors import Invalid
from tinkbox.model.template import Definition, Task
from tinkbox.yaml_nodes import compose

SMALL = TEMPLATE.replace("{{ .device_1 }}", MAC)
FULL = """\
version: "0.1"
name: ubuntu_provisioning
global_timeout: 6000
tasks:
  - name: "os-installation"
    worker: 08:00:27:00:00:01
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
        retries: 2
        if: "true"
        reboot: true
        helper: false
"""


TWO_TASKS = (
    SMALL
    + SMALL[SMALL.index("  - name: t") :].replace("name: t", "name: u").rstrip()
    + ("\n      - {name: only, image: x}\n")
)


def problems_of(text: str) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        read_definition(text)
    return [str(problem) for problem in refusal.value.problems]


def action_with(text: str) -> Action:
    return read_definition(SMALL.replace("image: x", f"image: x, {text}")).tasks[0].actions[0]


def test_the_disks_that_an_action_wipes_are_named_by_their_paths() -> None:
    assert action_with("wipes: [/dev/sda, /dev/disk/by-id/nvme-x]").wipes == ("/dev/sda", "/dev/disk/by-id/nvme-x")
    assert action_with("wipes: []").wipes == ()
    assert action_with("retries: 0").wipes == ()


def test_disks_are_named_by_what_they_are() -> None:
    action = action_with('disk: "size>=200G   rotational=no", wipes: [smallest, serial=S3Z1]')
    assert (action.disk, action.wipes) == ("size>=200G rotational=no", ("smallest", "serial=S3Z1"))
    assert action_with("disk: /dev/disk/by-id/nvme-x").disk == "/dev/disk/by-id/nvme-x"
    assert [action_with(each).disk for each in ("disk: ", 'disk: " "', "retries: 0")] == ["", "", ""]


@pytest.mark.parametrize(
    ("disk", "problem"),
    [
        ("serail=x", "line 7, tasks[0].actions[0].disk: 'serail=x': a disk has no serail; did you mean serial?"),
        ("sda", "'sda': expected the disk's path below /dev, such as /dev/sda, or smallest, largest, only"),
        ("[smallest]", "tasks[0].actions[0].disk: expected"),
    ],
)
def test_a_disk_that_is_named_wrongly_is_refused_with_its_line(disk: str, problem: str) -> None:
    (found,) = problems_of(SMALL.replace("image: x", f"image: x, disk: {disk}"))
    assert problem in found


@pytest.mark.parametrize(
    ("disks", "problem"),
    [
        ("[smalest]", "did you mean smallest?"),
        ("[smallest, ' smallest']", "the same disk twice: smallest"),
        ("[sda]", "'sda': expected the disk's path below /dev, such as /dev/sda"),
        ("[/dev/../etc/passwd]", "expected the disk's path below /dev"),
        ("[/dev/sda/]", "expected the disk's path below /dev"),
        ("[/dev]", "expected the disk's path below /dev"),
        ("[/etc/passwd]", "expected the disk's path below /dev"),
        (f"[/dev/{'x' * 200}]", "expected the disk's path below /dev"),
        ("[/dev/sda, /dev/sda]", "the same disk twice"),
        (f"[{', '.join(f'/dev/d{number}' for number in range(65))}]", "at most 64 disks, not 65"),
        ("/dev/sda", "expected a list"),
    ],
)
def test_what_names_no_disk_is_refused(disks: str, problem: str) -> None:
    (found,) = problems_of(SMALL.replace("image: x", f"image: x, wipes: {disks}"))
    assert "tasks[0].actions[0].wipes" in found
    assert problem in found


@pytest.mark.parametrize("version", ['"1.0"', "1.0", "0.1"])
def test_the_version_of_tinkerbells_documentation_means_the_same(version: str) -> None:
    assert read_definition(FULL.replace('"0.1"', version)) == read_definition(FULL)


def test_every_key_is_understood() -> None:
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
        retries=2,
        reboot=True,
        helper=False,
    )
    task = Task(
        name="os-installation",
        worker=MAC,
        actions=(action,),
        volumes=("/dev:/dev", "/lib/firmware:/lib/firmware:ro"),
        environment={"MIRROR_HOST": "192.168.1.2"},
    )
    assert read_definition(FULL) == Definition(name="ubuntu_provisioning", tasks=(task,), global_timeout=6000)


@pytest.mark.parametrize("timeout", ["", "timeout: 0, ", "timeout:, "])
def test_no_timeout_means_one_hour(timeout: str) -> None:
    text = SMALL.replace("name: a, ", f"name: a, {timeout}")
    assert read_definition(text).tasks[0].actions[0].timeout == 3600


@pytest.mark.parametrize(
    ("literal", "value"),
    [("0644", "0644"), ("true", "true"), ("1e3", "1e3"), ("~", ""), ("", ""), ("null", ""), ("0x1F", "0x1F"),
     ("2020-07-28", "2020-07-28"), ("12:30:45", "12:30:45"), ("'quoted'", "quoted"), ("yes", "yes"), ("1_000", "1_000")],
)  # fmt: skip
def test_environment_values_keep_their_literal_text(literal: str, value: str) -> None:
    assert action_with(f"environment: {{V: {literal}}}").environment == {"V": value}


@given(value=st.from_regex(r"[A-Za-z0-9._/=+-]{1,20}", fullmatch=True))
def test_any_plain_value_stays_what_it_was(value: str) -> None:
    if value in ("null", "Null", "NULL", "-", "=", "---", "...") or value.startswith("-"):
        return
    assert action_with(f"environment: {{V: {value}}}").environment == {"V": value}


@pytest.mark.parametrize(
    ("text", "applies"),
    [("if: ''", True), ("if:", True), ("if: true", True), ("if: 'True'", True), ("if: false", False), ("if: 'FALSE '", False)],
)  # fmt: skip
def test_an_action_applies_unless_its_if_is_false(text: str, applies: bool) -> None:
    (task,) = read_definition(SMALL.replace("image: x", f"image: x, {text}")).tasks
    assert task.skipped == (frozenset() if applies else {"a"})


@pytest.mark.parametrize(
    ("text", "pid"),
    [("pid: host", "host"), ("pid: ''", ""), ("namespaces: {network: host}", ""), ("namespaces:", ""),
     ("pid: '', namespaces: {pid: host}", "host"), ("pid: host, namespaces: {network: host}", "host")],
)  # fmt: skip
def test_the_namespaces_of_today_beat_the_pid_of_before(text: str, pid: str) -> None:
    assert action_with(text).pid == pid


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("name: small", "nme: small"), ["line 2, nme: unknown key nme; did you mean name?", "line 1, name: name cannot be empty"]),
        (("name: small", 'name: "a\\0b"'), ["line 2, name: 'a\\x00b' is no name of a workflow: it may only have letters that can be shown"]),
        (("name: small", "name: -rf"), ["line 2, name: '-rf' is no name of a workflow: it may not begin with a dash"]),
        (("image: x", "imag: x"), ["line 7, tasks[0].actions[0].imag: unknown key imag; did you mean image?"]),
        (("image: x", "image: x, args: [a]"), ["line 7, tasks[0].actions[0].args: unknown key args; here it is command"]),
        (("image: x", "image: x, retries: two"), ["line 7, tasks[0].actions[0].retries: expected attempts after a failure"]),
        (("image: x", "image: x, retries: 101"), ["line 7, tasks[0].actions[0].retries: expected attempts after a failure"]),
        (("image: x", "image: x, if: maybe"), ["line 7, tasks[0].actions[0].if: expected true or false, not 'maybe'"]),
        (("image: x", "image: x, reboot: soon"), ["line 7, tasks[0].actions[0].reboot: expected true or false"]),
        (("image: x", "image: Bad Name"), ["line 7, tasks[0].actions[0].image: invalid image name 'Bad Name'"]),
        (("image: x", "image: x, timeout: soon"), ["line 7, tasks[0].actions[0].timeout: expected seconds"]),
        (("image: x", "image: x, timeout: -1"), ["line 7, tasks[0].actions[0].timeout: expected seconds"]),
        (("image: x", "image: x, command: echo hi"), ["line 7, tasks[0].actions[0].command: expected a list of words"]),
        (("image: x", "image: x, volumes: [dev]"), ["line 7, tasks[0].actions[0].volumes: 'dev': expected /host/path"]),
        (("image: x", "image: x, volumes: [/dev]"), ["line 7, tasks[0].actions[0].volumes: '/dev': expected /host/path"]),
        (("image: x", "image: x, volumes: [/dev:dev]"), ["line 7, tasks[0].actions[0].volumes: '/dev:dev': expected"]),
        (("image: x", "image: x, pid: all"), ["line 7, tasks[0].actions[0].pid: expected host, not 'all'"]),
        (("image: x", "image: x, namespaces: {network: none}"), ["actions[0].namespaces.network: expected host, not 'none': actions always have"]),
        (("image: x", "image: x, namespaces: {ipc: host}"), ["actions[0].namespaces.ipc: unknown key ipc; known here: network, pid"]),
        (("image: x", "image: x, image: y"), ["line 7, tasks[0].actions[0].image: key image is given twice"]),
        (("image: x", "image: x, environment: [A]"), ["line 7, tasks[0].actions[0].environment: expected names with values"]),
        (('version: "0.1"\n', ""), ['line 1, version: invalid template version: none (it must be "0.1")']),
        (('version: "0.1"', "version: 1.1"), ["line 1, version: invalid template version: 1.1"]),
        (('version: "0.1"', "version: 2"), ["line 1, version: invalid template version: 2"]),
        (("name: t", f"name: {'t' * 200}"), ["line 4, tasks[0].name: name cannot be empty or have more than 199"]),
        (("    worker:", "    wrker:"), ["tasks[0].wrker: unknown key wrker; did you mean worker?", "tasks[0].worker: a task needs"]),
        (("tasks:", "breakpoint: {onFailures: true}\ntasks:"), ["line 3, breakpoint.onFailures: unknown key onFailures; did you mean onFailure?"]),
        (("tasks:", "breakpoint: true\ntasks:"), ["line 3, breakpoint: expected keys with values: onFailure, before, after"]),
        (("tasks:", "breakpoint: {onFailure: maybe}\ntasks:"), ["line 3, breakpoint.onFailure: expected true or false, not 'maybe'"]),
        (("tasks:", "breakpoint:\n  before: [a,\n    b]\ntasks:"), ["line 5, breakpoint.before[1]: there is no action 'b' in this template"]),
        (("tasks:", "breakpoint: {after: [x/a]}\ntasks:"), ["line 3, breakpoint.after[0]: there is no action 'x/a'"]),
        (("tasks:", "breakpoint: {after: a}\ntasks:"), ["line 3, breakpoint.after: expected a list"]),
        (("tasks:", "breakpoint: {before: [[a]]}\ntasks:"), ["line 3, breakpoint.before[0]: expected text"]),
        (("tasks:", "breakpoint: {timeout: 30min}\ntasks:"), ["line 3, breakpoint.timeout: '30min' is no duration: write 90s, 30m"]),
        (("tasks:", "breakpoint: {timeout: 0}\ntasks:"), ["line 3, breakpoint.timeout: expected 1s to 7d, not 0"]),
        (("tasks:", "breakpoint: {timeout: 8d}\ntasks:"), ["line 3, breakpoint.timeout: expected 1s to 7d, not 8d"]),
        (("tasks:", "breakpoint: {onExpiry: retry}\ntasks:"), ["line 3, breakpoint.onExpiry: expected fail, continue, abort, not 'retry'"]),
        (("image: x", "image: x, helper: none"), ["line 7, tasks[0].actions[0].helper: expected true or false, not 'none'"]),
        (("    worker", "\tworker"), ["line 5: a tab: YAML is indented with spaces"]),
        (("tasks:", "tasks: []\nx:"), ["line 4, x: unknown key", "tasks: template must have at least one task"]),
        (("tasks:", "---\ntasks:"), ["line 4: a template is one document"]),
    ],
)  # fmt: skip
def test_each_problem_names_its_line_its_key_and_the_way_out(change: tuple[str, str], expected: list[str]) -> None:
    assert change[0] in SMALL
    found = problems_of(SMALL.replace(*change, 1))
    for text in expected:
        assert any(text in problem for problem in found), (text, found)


def breakpoints_with(text: str) -> Breakpoints:
    return read_definition(TWO_TASKS.replace("tasks:", f"breakpoint: {text}\ntasks:", 1)).breakpoints


@pytest.mark.parametrize("text", ["", "~", "{}", "{onFailure: false, before: [], after: , timeout: , onExpiry: ''}"])
def test_a_template_arms_nothing_unless_it_says_so(text: str) -> None:
    assert (
        breakpoints_with(text) == Breakpoints(timeout=1800, on_expiry=Verb.FAIL) == read_definition(SMALL).breakpoints
    )


def test_breakpoints_name_actions_with_or_without_their_task() -> None:
    armed = breakpoints_with(
        "{onFailure: true, before: [u/a, only, u/only], after: [t/a], timeout: 1h30m, onExpiry: abort}"
    )
    assert armed == Breakpoints(
        on_failure=True, before=("u/a", "u/only"), after=("t/a",), timeout=5400, on_expiry=Verb.ABORT
    )
    assert breakpoints_with("{timeout: 90}").timeout == 90


def test_a_breakpoint_at_a_name_that_two_actions_have_is_refused() -> None:
    found = problems_of(TWO_TASKS.replace("tasks:", "breakpoint: {before: [a]}\ntasks:", 1))
    assert found == ["line 3, breakpoint.before[0]: 2 actions are called a: name the task as well, as task/action"]


@pytest.mark.parametrize(("text", "helper"), [("helper: true", True), ("helper:", True), ("helper: False", False)])
def test_an_action_has_its_helper_unless_it_says_otherwise(text: str, helper: bool) -> None:
    assert action_with(text).helper is helper


def test_all_problems_are_listed_at_once_in_the_order_of_their_lines() -> None:
    found = problems_of(SMALL.replace("image: x", "imag: x, timeout: soon").replace("name: small", "nme: small"))
    assert [problem.split(",")[0] for problem in found] == ["line 1", "line 2", "line 7", "line 7", "line 7"]


def test_two_tasks_or_two_actions_of_one_name_are_refused() -> None:
    task = SMALL[SMALL.index("  - name: t") :]
    assert "line 8, tasks: two tasks in a template cannot have same name: t" in problems_of(SMALL + task)
    text = SMALL + "      - {name: a, image: y}\n"
    assert "line 8, tasks[0].actions: two actions in a task cannot have same name: a" in problems_of(text)


NAMES = range(12_000)
WITH_SERVICE = SMALL + "services:\n  - {name: s, worker: w, image: x, volumes: [VOLUMES]}\n"
MANY = {
    "disks": SMALL.replace("image: x", f"image: x, wipes: [{', '.join(f'/dev/{n // 2:x}' for n in NAMES)}]"),
    "volumes of a service": WITH_SERVICE.replace("VOLUMES", ", ".join(f"v:/{n:x}" for n in NAMES)),
}


@pytest.mark.parametrize("kind", MANY)
def test_many_names_are_compared_as_fast_as_few(kind: str) -> None:
    """So many that comparing each with each takes longer than to read them."""
    begin = time.process_time()
    with suppress(Invalid):
        read_definition(MANY[kind])
    whole = time.process_time() - begin
    begin = time.process_time()
    compose(MANY[kind])
    assert whole < 3 * (time.process_time() - begin) + 1


@pytest.mark.parametrize("text", ["", "# nothing", "~", "[]", "just text", "- a"])
def test_what_is_no_template_is_refused(text: str) -> None:
    assert problems_of(text)
