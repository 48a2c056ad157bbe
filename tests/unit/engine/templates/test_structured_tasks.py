"""A Workflow of v1alpha2 with its Tasks becomes the text of a template."""

from typing import Any

import pytest

from tinkbox.engine.templates.references import no_referents
from tinkbox.engine.templates.rendering import render
from tinkbox.engine.templates.structured_tasks import MAX_TEXTS, Entry, check_task, composed
from tinkbox.model.errors import Invalid
from tinkbox.model.template import Definition

HARDWARE = {
    "apiVersion": "tinkerbell.org/v1alpha2",
    "kind": "Hardware",
    "metadata": {"name": "node1"},
    "spec": {"arch": "x86_64", "networkInterfaces": {"52:54:00:41:05:c6": {"ipam": {"ipv4": {"address": "10.0.0.7"}}}}},
}


def task(*actions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "example"}, "spec": {"actions": list(actions), **spec}}


def action(**more: Any) -> dict[str, Any]:
    return {"name": "first", "image": "alpine", **more}


def workflow(count: int = 1, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "install"}, "spec": {"tasks": [{}] * count, **spec}}


async def read(flow: dict[str, Any], *tasks: dict[str, Any]) -> Definition:
    entries = [Entry(task=each, worker=f"w{number}", hardware=HARDWARE) for number, each in enumerate(tasks)]
    return (await render(await composed(flow, entries, marks_key=b"key", referents=no_referents), {})).definition


async def test_an_action_has_its_words_in_v1alpha1() -> None:
    flow = workflow(
        timeoutSeconds=600,
        globals={"env": {"A": "1", "B": "1"}, "volumes": ["/etc/data2:/data2:ro"]},
        tasks=[{"extra": {"env": {"C": "3"}, "volumes": ["/etc/data3:/data3"]}}],
    )
    full = action(
        command="/bin/sh",
        args=["-c", "true"],
        env={"D": "4"},
        volumes=["/var:/var"],
        namespaces={"network": "host", "pid": "host"},
        retries=4,
        timeoutSeconds=120,
        background=True,
    )
    found = await read(flow, task(full, env={"B": "2"}, volumes=["/x:/x"]))
    assert (found.name, found.global_timeout) == ("install", 600)
    (one,) = found.tasks
    assert (one.name, one.worker, one.environment) == ("example", "w0", {"A": "1", "B": "2", "C": "3"})
    assert one.volumes == ("/etc/data2:/data2:ro", "/x:/x", "/etc/data3:/data3")
    (made,) = one.actions
    assert (made.command, made.retries, made.timeout) == (("/bin/sh", "-c", "true"), 4, 120)
    assert (made.environment, made.volumes, made.pid, made.reboot) == ({"D": "4"}, ("/var:/var",), "host", True)


async def test_values_are_filled_from_machine_workflow_and_task() -> None:
    flow = workflow(globals={"templateMap": {"server": "{{ .hardware.spec.arch }}.example.org"}}, vars={"x": "y"})
    filled = action(
        args=[
            "{{ .task.spec.env.two }}",
            "{{ .workflow.spec.globals.templateMap.server }}",
            '{{ (index .hardware.spec.networkInterfaces "52:54:00:41:05:c6").ipam.ipv4.address }}',
            '{{ default "1" (dig "spec" "vars" "none" "" .workflow) }}',
        ]
    )
    found = await read(flow, task(filled, env={"two": "2"}))
    assert found.tasks[0].actions[0].command == ("2", "x86_64.example.org", "10.0.0.7", "1")


async def test_a_placeholder_that_leads_to_another_is_filled() -> None:
    """As `two: "{{ add 1 1 }}"` of upstream's docs/technical/v1alpha2/task.yaml, which its arguments refer to."""
    flow = workflow(
        globals={"env": {"A": "{{ .workflow.spec.vars.x }}0"}},
        vars={"x": "{{ add 2 3 }}", "y": "{{ .hardware.spec.arch }}"},
    )
    args = [
        "{{ .task.spec.env.two }}",
        '{{ index .task.spec.env "two" }}',
        '{{ dig "spec" "env" "four" "" .task }}',
        "{{ .workflow.spec.globals.env.A }}",
        "{{ (index .task.spec.actions 0).image }}",
    ]
    env = {"four": "{{ mul 2 .task.spec.env.two }}", "two": "{{ add 1 1 }}"}
    found = await read(flow, task(action(args=args, image="{{ .task.spec.env.four }}:v1"), env=env))
    assert found.tasks[0].actions[0].command == ("2", "2", "4", "50", "4:v1")
    assert found.tasks[0].environment == {"A": "50", "four": "4", "two": "2"}


@pytest.mark.parametrize(
    "env",
    [{"a": "{{ .task.spec.env.a }}"}, {"a": "{{ .task.spec.env.b }}", "b": "{{ .task.spec.env.a }}"}],
    ids=["itself", "each other"],
)
async def test_placeholders_that_lead_to_each_other_are_refused(env: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        await read(workflow(), task(action(), env=env))
    assert "Task example, spec.env.a: it leads to '{{ .task" in "\n".join(map(str, refused.value.problems))


async def test_a_text_may_lead_to_ten_others_in_a_row() -> None:
    def row(others: int) -> dict[str, str]:
        leading = {f"e{number}": f"{{{{ .task.spec.env.e{number + 1} }}}}" for number in range(others)}
        return leading | {f"e{others}": "{{ 1 }}"}

    found = await read(workflow(), task(action(), env=row(10)))
    assert found.tasks[0].environment["e0"] == "1"
    with pytest.raises(Invalid, match="cannot be filled"):
        await read(workflow(), task(action(), env=row(11)))


async def test_a_long_row_of_placeholders_ends() -> None:
    row = {f"e{number}": f"{{{{ .task.spec.env.e{number + 1} }}}}" for number in range(30)} | {"e30": "{{ 1 }}"}
    with pytest.raises(Invalid, match="cannot be filled"):
        await read(workflow(), task(action(), env=row))


async def test_what_is_filled_in_changes_nothing_but_its_value() -> None:
    odd = 'a"\n- b: {{ "{{" }} .x }} {% if %} {# c #}\U0001f600'
    found = await read(workflow(), task(action(args=[odd])))
    assert found.tasks[0].actions[0].command == ('a"\n- b: {{ .x }} {% if %} {# c #}\U0001f600',)


@pytest.mark.parametrize(
    ("condition", "skipped"),
    [
        ("", False),
        ("true", False),
        ("True", False),
        ("false", True),
        ("no", True),
        ('{{ eq .hardware.spec.arch "arm64" }}', True),
    ],
)
async def test_an_action_is_skipped_unless_its_condition_is_true(condition: str, skipped: bool) -> None:
    found = await read(workflow(), task(action(**{"if": condition})))
    assert bool(found.tasks[0].skipped) is skipped


async def test_the_same_task_for_two_machines_has_two_names() -> None:
    found = await read(workflow(2), task(action()), task(action()))
    assert [(each.name, each.worker) for each in found.tasks] == [("example", "w0"), ("example-2", "w1")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{{ if true }}", "Task example, spec.actions[0].args[0]: "),
        ("{{ nosuch . }}", "function"),
        ("\x1f{{ 1 }}", "a control character may not be in it"),
        ('{{ printf "%c" 31 }}', "a value has a control character"),
        ("{{ .references.secret.data.x }}", "Task example, spec.actions[0].args[0]: "),
    ],
)
async def test_what_is_wrong_says_in_which_document(text: str, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        await read(workflow(), task(action(args=[text])))
    assert told in "\n".join([str(refused.value), *map(str, refused.value.problems)])


@pytest.mark.parametrize("apart", [False, True])
async def test_of_texts_that_are_filled_together_the_one_that_cannot_be_is_told_with_its_place(apart: bool) -> None:
    args = ["{{- 1 -}}", "a\n{{ 2 -}}\n", "b\n\n{{ .task.none.x }}", "{{- 3 }}"]
    entry = Entry(task=task(action(args=args)), worker="w", hardware=HARDWARE, at=lambda key: f"t.yaml:7, {key}")
    with pytest.raises(Invalid) as refused:
        await composed(workflow(), [entry], marks_key=b"key", referents=no_referents, apart=apart)
    (told,) = refused.value.problems
    assert str(told).startswith("Task example, t.yaml:7, spec.actions[0].args[2]: ")


async def test_what_is_blank_between_texts_is_no_part_of_them() -> None:
    found = await read(workflow(), task(action(args=["{{- 1 -}}", " {{- 2 -}} ", "\n{{ 3 }}\n", "{{- 4 -}}"])))
    assert found.tasks[0].actions[0].command == ("1", "2", "\n3\n", "4")


async def test_placeholders_are_bounded() -> None:
    with pytest.raises(Invalid, match="more than 1000 texts"):
        await read(workflow(), task(action(args=["{{ 1 }}"] * (MAX_TEXTS + 1))))


async def refused(*actions: dict[str, Any], **spec: Any) -> list[str]:
    with pytest.raises(Invalid) as refusal:
        await check_task(task(*actions, **spec))
    return [str(each) for each in refusal.value.problems]


async def test_a_task_is_read_as_far_as_it_has_no_placeholders() -> None:
    found = await check_task(
        task(
            action(
                name="{{ .a }}",
                image="{{ .b }}",
                namespaces={"pid": "{{ .c }}"},
                volumes=["{{ .d }}"],
                args=["{{ .e }}"],
            ),
            action(
                name="{{ .a }}", retries="{{ 3 }}", timeoutSeconds="{{ 4 }}", env={"A": "{{ .f }}"}, command="{{ .g }}"
            ),
            volumes=["{{ .h }}"],
            env={"A": "{{ .i }}"},
        )
    )
    assert found == ()


async def test_what_is_wrong_with_a_task_is_told_in_its_own_words() -> None:
    told = await refused(
        action(retries=1000, namespaces={"pid": "odd"}, volumes=["odd"]),
        action(),
        action(name="", image="{{ if }}", args=["x", "{{ nosuch }}"]),
        "{{ .x }}",
        volumes=["odd"],
    )
    assert [each.split(":")[0] for each in told] == [
        "spec.actions[2].image",
        "spec.actions[2].args[1]",
        "spec.volumes",
        "spec.actions[0].volumes",
        "spec.actions[0].namespaces.pid",
        "spec.actions[0].retries",
        "spec.actions",
        "spec.actions[2].name",
        "spec.actions[3].name",
        "spec.actions[3].image",
    ]


async def test_what_is_ignored_of_a_task_is_told() -> None:
    (told,) = await check_task(task(action(timeoutSeconds=-3)))
    assert str(told) == "spec.actions[0].timeoutSeconds: -3 is one hour, as 0 is"
    for empty in ({}, {"spec": None}, {"spec": {"actions": []}}):
        (told,) = await check_task({"metadata": {"name": "example"}, **empty})
        assert told.key == "spec.actions"


async def test_a_task_with_too_many_texts_is_refused_before_they_are_read() -> None:
    (told,) = await refused(action(args=["{{ .x }}"] * (MAX_TEXTS + 1)))
    assert told == f"spec: more than {MAX_TEXTS} texts with placeholders"
