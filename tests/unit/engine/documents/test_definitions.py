"""Rendered templates: what is accepted, and what is said of everything else."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import processor_seconds, takes_at_most
from tests.unit.engine.template_texts import MAC
from tests.unit.engine.template_texts import SMALL as TEMPLATE
from tinkbox.engine.documents.definitions import read_definition
from tinkbox.model.actions.action import Action
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


@pytest.mark.parametrize(
    "version", ["version: '1.0'", "version: 1.0", "version: 0.1.0", "version: v2", "version:", "# none"]
)
def test_any_version_is_taken(version: str) -> None:
    read = read_definition(FULL.replace('version: "0.1"', version))
    assert (read, read.ignored) == (read_definition(FULL), ())


def ignored_of(text: str) -> list[str]:
    return [str(each) for each in read_definition(text).ignored]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("image: x", "image: x, args: [a]"), "line 7, tasks[0].actions[0].args: unknown key args is ignored; here it is command"),
        (("image: x", "image: x, timout: 5"), "line 7, tasks[0].actions[0].timout: unknown key timout is ignored; did you mean timeout?"),
        (("image: x", "image: x, retry: 5"), "line 7, tasks[0].actions[0].retry: unknown key retry is ignored; did you mean retries?"),
        (("image: x", "image: x, ipc: 5"), "line 7, tasks[0].actions[0].ipc: unknown key ipc is ignored; known here: "),
        (("image: x", "image: x, namespaces: {ipc: host}"), "namespaces.ipc: unknown key ipc is ignored; known here: network, pid"),
        (("tasks:", "description: [{a: 1, a: 2}]\ntasks:"), "line 3, description: unknown key description is ignored; known here: "),
        (("    worker", "    workers: [a]\n    worker"), "line 5, tasks[0].workers: unknown key workers is ignored; did you mean worker?"),
        (("image: x", "image: x, command: [a, ~, b]"), "line 7, tasks[0].actions[0].command[1]: an item with nothing in it is ignored"),
    ],
)  # fmt: skip
def test_a_key_that_is_not_known_is_ignored_and_told(change: tuple[str, str], told: str) -> None:
    assert change[0] in SMALL
    (found,) = ignored_of(SMALL.replace(*change, 1))
    assert told in found


def test_binary_is_decoded() -> None:
    assert action_with("environment: {A: !!binary aGk=}").environment == {"A": "hi"}
    (problem,) = problems_of(SMALL.replace("image: x", "image: x, environment: {A: !!binary aGk}"))
    assert "tasks[0].actions[0].environment.A: what follows !!binary is not the base64 of a text" in problem


def test_a_key_for_aliases_is_not_told() -> None:
    read = read_definition(
        SMALL.replace("tasks:", "x-env: &env {A: b}\ntasks:", 1).replace("image: x", "image: x, environment: *env")
    )
    assert read.tasks[0].actions[0].environment == {"A": "b"}
    assert read.ignored == ()


def test_of_very_many_ignored_keys_some_are_told() -> None:
    text = SMALL + "".join(f"k{number}: 1\n" for number in range(10_000))
    told = ignored_of(text)
    assert len(told) == 101
    assert told[-1].endswith("more is ignored from here on, and is not listed")
    assert takes_at_most(5, lambda: ignored_of(text))
    (long,) = ignored_of(SMALL + "? " + "k" * 10_000 + "\n: 1\n")
    assert len(long) < 500


def test_an_empty_item_of_a_list_is_none() -> None:
    read = read_definition(SMALL.replace("image: x", "image: x, command: [a, ~, b, '']"))
    assert read.tasks[0].actions[0].command == ("a", "b", "")
    assert ignored_of(SMALL + "      -\n") == ["line 8, tasks[0].actions[1]: an item with nothing in it is ignored"]
    assert not read_definition(SMALL[: SMALL.index("    actions")] + "    actions: []\n").tasks[0].actions


@pytest.mark.parametrize(
    ("more", "told"),
    [("---\n", []), ("---\n# the end\n", []), ("...\n", []), ("---\n---\n", []),
     ("---\nname: [\n", ["line 8: a template is one document: what begins here is ignored"]),
     ("---\na: *nothing\n", ["line 8: a template is one document: what begins here is ignored"]),
     ("...\n---\na: b\n", ["line 9: a template is one document: what begins here is ignored"])],
)  # fmt: skip
def test_the_first_document_counts(more: str, told: list[str]) -> None:
    read = read_definition(SMALL + more)
    assert (read, [str(each) for each in read.ignored]) == (read_definition(SMALL), told)


@pytest.mark.parametrize(
    "text",
    [
        f"\ufeff{SMALL}",
        SMALL.replace("\n", "\r\n"),
        f"# a\n\n---\n# b\n{SMALL}",
        SMALL.replace("name: small", "name:\tsmall\t# c"),
    ],
)
def test_a_template_is_yaml_as_go_reads_it(text: str) -> None:
    assert read_definition(text) == read_definition(SMALL)


MERGED = """\
x-action: &action {image: x, timeout: 5, environment: {A: b}}
x-env: &env {A: one, B: one}
x-more: &more {B: two, C: two}
name: merged
tasks:
  - name: t
    worker: w
    environment: {<<: [*env, *more], A: own}
    actions:
      - {<<: *action, name: a, timeout: 6}
      - name: b
        <<: {<<: *action, image: y}
        environment: {<<: *more}
"""


def test_merge_keys_are_as_yaml_v3_has_them() -> None:
    (task,) = read_definition(MERGED).tasks
    assert task.environment == {"A": "own", "B": "one", "C": "two"}
    first, second = task.actions
    assert (first.name, first.image, first.timeout, first.environment) == ("a", "x", 6, {"A": "b"})
    assert (second.image, second.timeout, second.environment) == ("y", 5, {"B": "two", "C": "two"})


@pytest.mark.parametrize(
    ("seconds", "read", "told"),
    [("60.0", 60, ""), ("0x3C", 60, ""), ("1_000", 1000, ""), ("0o17", 15, ""), ("0b11", 3, ""), ("6e1", 60, ""), ("'60'", 60, ""),
     ("017", 15, "017 is read as 15 seconds"), ("1.5", 1, "1.5 is read as 1 second"), ("08", 8, ""), ("-5", 3600, "-5 is one hour, as 0 is"),
     ("9999999999", 999_999_999, "9999999999 is read as 999999999 seconds"), ("1e300", 999_999_999, "1e300 is read as"), ("0", 3600, "")],
)  # fmt: skip
def test_seconds_are_numbers_as_go_decodes_them(seconds: str, read: int, told: str) -> None:
    definition = read_definition(SMALL.replace("image: x", f"image: x, timeout: {seconds}"))
    assert definition.tasks[0].actions[0].timeout == read
    assert [told in str(each) for each in definition.ignored] == [True] * bool(told)


def test_a_negative_time_limit_is_told_as_what_it_is() -> None:
    definition = read_definition(f"{SMALL.replace('image: x', 'image: x, timeout: -1')}global_timeout: -5\n")
    assert (definition.global_timeout, definition.tasks[0].actions[0].timeout) == (0, 3600)
    assert sorted(each.text for each in definition.ignored) == ["-1 is one hour, as 0 is", "-5 is no limit"]


@pytest.mark.parametrize("seconds", ["true", "1m", "soon", "0x", "_1", ".inf", "12:30", "2026-01-01", "[1]", "'0x'"])
def test_what_is_no_number_is_no_seconds(seconds: str) -> None:
    assert "timeout: expected" in problems_of(SMALL.replace("image: x", f"image: x, timeout: {seconds}"))[0]


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
    ("text", "pid", "network"),
    [("namespaces: {network: none}", "", "none"), ("namespaces: {network: bridge, pid: private}", "private", "bridge"),
     ("namespaces: {network: host}", "", ""), ("pid: 'container:other'", "container:other", ""),
     ("pid: host, namespaces: {pid: 'container:other', network: 'container:other'}", "container:other", "container:other")],
)  # fmt: skip
def test_namespaces_are_what_the_engine_takes(text: str, pid: str, network: str) -> None:
    action = action_with(text)
    assert (action.pid, action.network) == (pid, network)


@pytest.mark.parametrize("volume", ["/data", "data:/data", "/a:/data:ro,z", "/a:/b:rslave", "data:/data:nocopy"])
def test_volumes_are_what_the_engine_takes(volume: str) -> None:
    assert action_with(f"volumes: ['{volume}']").volumes == (volume,)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("name: small", "nme: small"), ["line 2, nme: unknown key nme is ignored; did you mean name?", "line 1, name: name cannot be empty"]),
        (("name: small", 'name: "a\\0b"'), ["line 2, name: 'a\\x00b' is no name of a workflow: it may only have letters that can be shown"]),
        (("name: small", "name: -rf"), ["line 2, name: '-rf' is no name of a workflow: it may not begin with a dash"]),
        (("image: x", "imag: x"), ["line 7, tasks[0].actions[0].imag: unknown key imag is ignored; did you mean image?"]),
        (("image: x", "image: x, retries: two"), ["line 7, tasks[0].actions[0].retries: expected attempts after a failure"]),
        (("image: x", "image: x, retries: 101"), ["line 7, tasks[0].actions[0].retries: expected attempts after a failure"]),
        (("image: x", "image: x, if: maybe"), ["line 7, tasks[0].actions[0].if: expected true or false, not 'maybe'"]),
        (("image: x", "image: x, reboot: soon"), ["line 7, tasks[0].actions[0].reboot: expected true or false"]),
        (("image: x", "image: Bad Name"), ["line 7, tasks[0].actions[0].image: invalid image name 'Bad Name'"]),
        (("image: x", "image: x, timeout: soon"), ["line 7, tasks[0].actions[0].timeout: expected seconds"]),
        (("image: x", "image: x, timeout: 1m"), ["line 7, tasks[0].actions[0].timeout: expected seconds as a whole number, such as 600"]),
        (("image: x", "image: x, retrys: 2"), ["line 7, tasks[0].actions[0].retrys: unknown key retrys; did you mean retries?"]),
        (("image: x", "image: x, wipe: [/dev/sda]"), ["line 7, tasks[0].actions[0].wipe: unknown key wipe; did you mean wipes?"]),
        (("tasks:", "breakpiont: {onFailure: true}\ntasks:"), ["line 3, breakpiont: unknown key breakpiont; did you mean breakpoint?"]),
        (("tasks:", "Services: []\ntasks:"), ["line 3, Services: unknown key Services; did you mean services?"]),
        (("image: x", "image: x, command: echo hi"), ["line 7, tasks[0].actions[0].command: expected a list of words"]),
        (("image: x", "image: x, volumes: [dev]"), ["line 7, tasks[0].actions[0].volumes: 'dev': the path in the container must be absolute"]),
        (("image: x", "image: x, volumes: ['/dev:ro']"), ["line 7, tasks[0].actions[0].volumes: '/dev:ro': it has a mode (ro)"]),
        (("image: x", "image: x, volumes: [/dev:dev]"), ["line 7, tasks[0].actions[0].volumes: '/dev:dev': the path in the container must"]),
        (("image: x", "image: x, pid: all"), ["line 7, tasks[0].actions[0].pid: expected host, container:NAME or private, not 'all'"]),
        (("image: x", "image: x, namespaces: {network: a/b}"), ["actions[0].namespaces.network: expected host, none, bridge, container:NAME or the name"]),
        (("image: x", "image: x, image: y"), ["line 7, tasks[0].actions[0].image: key image is given twice"]),
        (("image: x", "image: x, environment: [A]"), ["line 7, tasks[0].actions[0].environment: expected names with values"]),
        (('version: "0.1"', "version: [1]"), ["line 1, version: expected text"]),
        (("name: t", f"name: {'t' * 200}"), ["line 4, tasks[0].name: name cannot be empty or have more than 199"]),
        (("    worker:", "    wrker:"), ["tasks[0].wrker: unknown key wrker is ignored; did you mean worker?", "tasks[0].worker: a task needs"]),
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
        (("tasks:", "tasks: []\ny:"), ["line 4, y: unknown key y is ignored", "tasks: template must have at least one task"]),
        (("tasks:", "---\ntasks:"), ["line 3: a template is one document"]),
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

    def read() -> None:
        with suppress(Invalid):
            read_definition(MANY[kind])

    assert takes_at_most(3 * processor_seconds(lambda: compose(MANY[kind])) + 1, read)


@pytest.mark.parametrize("text", ["", "# nothing", "~", "[]", "just text", "- a"])
def test_what_is_no_template_is_refused(text: str) -> None:
    assert problems_of(text)
