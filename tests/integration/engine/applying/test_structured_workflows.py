"""Workflows of v1alpha2, which refer to Tasks: applied, run, compared and exported."""

import json

import pytest

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.applying.documents import files, machine, outcomes, pruning
from tinkbox.engine.applying import applying
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.exporting import parse_asked
from tinkbox.engine.documents.kubernetes import take
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.workflow import State

TASK = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Task
metadata: {name: wipe}
spec:
  actions:
    - {name: first, image: hello-world, args: ["{{ .workflow.spec.vars.word }}", "{{ .task.spec.vars.other }}"]}
    - {name: second, image: "tools/second:v1", if: '{{ eq .hardware.metadata.name "node1" }}', background: true}
  vars: {other: "2"}
"""


def flow(number: int = 1, word: str = "1", name: str = "install-1") -> str:
    return f"""\
apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {{name: {name}, labels: {{a: b}}}}
spec:
  timeoutSeconds: 600
  vars: {{word: "{word}"}}
  tasks:
    - taskRef: {{name: wipe, namespace: default}}
      hardware: {{hardwareRef: {{name: node{number}, namespace: default}}, bootOptions: {{toggleNetboot: true}}}}
"""


async def apply(box: Appliance, *texts: str, wish: Wish | None = None) -> dict[str, str]:
    return outcomes(await box.applying.apply(files(*texts), wish or Wish(), "ann"))


async def problems(box: Appliance, *texts: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        await apply(box, *texts)
    return [str(each) for each in refused.value.problems]


async def test_its_tasks_are_filled_and_run(box: Appliance) -> None:
    assert await apply(box, flow(), TASK, machine(1, netboots=False)) == {
        "hardware/node1": "created",
        "task/wipe": "created",
        "workflow/install-1": "created",
    }
    workflow = await box.workflows.get("install-1")
    assert workflow.global_timeout == 600
    first, second = (each.action.spec for each in workflow.actions)
    assert (first.command, second.reboot) == (("1", "2"), True)
    assert workflow.actions[0].action.address == mac(1)
    assert workflow.template_name == "task wipe"
    assert box.machines.known.find("node1").hardware.interfaces[0].allow_pxe


OF_V1ALPHA2 = f"""\
apiVersion: tinkerbell.org/v1alpha2
kind: Hardware
metadata: {{name: node1}}
spec: {{networkInterfaces: {{"{mac(1)}": {{}}}}}}
"""


@pytest.mark.parametrize("document", [machine(1), OF_V1ALPHA2])
async def test_documents_that_name_no_namespace_are_seen_in_the_default_one(box: Appliance, document: str) -> None:
    named = "{{ .workflow.metadata.namespace }}/{{ .task.metadata.namespace }}/{{ .hardware.metadata.namespace }}"
    await apply(box, flow(), TASK.replace("{{ .workflow.spec.vars.word }}", named), document)
    workflow = await box.workflows.get("install-1")
    assert workflow.actions[0].action.spec.command[0] == "default/default/default"


async def test_the_second_time_nothing_is_made(box: Appliance) -> None:
    await apply(box, flow(), TASK, machine(1))
    assert set((await apply(box, flow(), TASK, machine(1))).values()) == {"unchanged"}
    assert await apply(box, flow()) == {"workflow/install-1": "unchanged"}
    assert len(await box.workflows.all()) == 1


async def test_one_that_is_not_over_cannot_be_disabled(box: Appliance) -> None:
    await apply(box, flow(), TASK, machine(1))
    (found,) = await problems(box, flow().replace("spec:\n", "spec:\n  disabled: true\n"))
    assert found.startswith("0.yaml:5, spec.disabled: workflow ")
    assert "`tinkbox workflow cancel " in found


async def test_they_are_made_in_the_order_of_their_creation_elsewhere_and_a_time_is_no_change(box: Appliance) -> None:
    times = {"install-1": "2026-05-04T12:30:01Z", "wipe-1": "2026-05-04T12:30:00Z"}
    documents = [flow(name=each).replace("{name", f"{{creationTimestamp: {at}, name") for each, at in times.items()]
    made = await apply(box, TASK, machine(1), *documents)
    assert list(made)[2:] == ["workflow/wipe-1", "workflow/install-1"]
    again = await apply(box, *(flow(name=each) for each in times))
    assert set(again.values()) == {"unchanged"}


async def test_changed_annotations_are_stored_and_exported(box: Appliance) -> None:
    noted = flow().replace("labels: {a: b}", "labels: {a: b}, annotations: {note: x}")
    await apply(box, noted, TASK, machine(1))
    assert await apply(box, noted) == {"workflow/install-1": "unchanged"}
    changed = noted.replace("note: x", "note: a longer one")
    for wish, outcome in ((Wish(rehearsal=True), "configured"), (Wish(), "configured"), (Wish(), "unchanged")):
        assert await apply(box, changed, wish=wish) == {"workflow/install-1": outcome}
    (found,) = (await box.exporting.export([parse_asked("workflow/install-1")], None)).documents
    assert found.manifest["metadata"]["annotations"] == {"note": "a longer one"}
    assert found.manifest["metadata"]["labels"] == {"a": "b"}
    assert found.manifest["spec"]["vars"] == {"word": "1"}
    assert await apply(box, flow(name="install-1")) == {"workflow/install-1": "configured"}


ANNOTATED = flow().replace(
    "{name: install-1, labels: {a: b}}", "\n  name: install-1\n  labels: {a: b}\n  annotations: {note: x}"
)
READS = [
    "{{ .workflow.metadata.annotations.note }}",
    '{{ index .workflow.metadata "annotations" | len }}',
    "{{ with $.workflow }}{{ .metadata.annotations.note }}{{ end }}",
]


@pytest.mark.parametrize("rehearsal", [False, True])
@pytest.mark.parametrize("text", READS)
async def test_a_workflow_says_that_it_keeps_the_annotations_that_its_task_reads(
    box: Appliance, text: str, rehearsal: bool
) -> None:
    await apply(box, ANNOTATED, TASK.replace('"{{ .task.spec.vars.other }}"', json.dumps(text)), machine(1))
    changed = ANNOTATED.replace("note: x", "note: z")
    workflow = await box.workflows.get("install-1")
    applied = await box.applying.apply(files(changed), Wish(rehearsal=rehearsal), "ann")
    assert outcomes(applied) == {"workflow/install-1": "configured"}
    (told,) = map(str, applied.notes)
    assert told == (
        f"0.yaml:{line_of(changed, 'name: install-1')}, metadata.annotations: the tasks of workflow install-1 keep the annotations "
        f"that they were made with. To run it with the changed ones, `tinkbox workflow cancel {workflow.id[:8]}` and "
        f"`tinkbox workflow delete {workflow.id[:8]}`, then apply this document again"
    )


async def test_what_a_workflow_says_of_its_kept_annotations_makes_it_anew(box: Appliance) -> None:
    reading = TASK.replace(".task.spec.vars.other", ".workflow.metadata.annotations.note")
    await apply(box, ANNOTATED, reading, machine(1))
    workflow = await box.workflows.get("install-1")
    await box.workflows.cancel(workflow.id)
    changed = ANNOTATED.replace("note: x", "note: z")
    (told,) = (await box.applying.apply(files(changed), Wish(), "ann")).notes
    assert f"ones, `tinkbox workflow delete {workflow.id[:8]}`, then" in str(told)
    await box.workflows.delete(workflow.id)
    assert await apply(box, changed) == {"workflow/install-1": "created"}
    assert (await box.workflows.get("install-1")).actions[0].action.spec.command == ("1", "z")


async def test_a_workflow_that_reads_its_own_annotations_says_that_it_keeps_them(box: Appliance) -> None:
    reading = ANNOTATED.replace('word: "1"', 'word: "{{ .workflow.metadata.annotations.note }}"')
    await apply(box, reading, TASK, machine(1))
    gone = reading.replace("  annotations: {note: x}", "  annotations: {}")
    assert gone != reading
    (told,) = (await box.applying.apply(files(gone), Wish(), "ann")).notes
    assert "metadata.annotations: the tasks of workflow install-1 keep the annotations that" in str(told)


@pytest.mark.parametrize(
    ("read", "change"),
    [("name", ("note: x", "note: z")), ("annotations.note", ("a: b", "a: c"))],
    ids=["no task reads the annotations", "only labels change"],
)
async def test_a_workflow_says_nothing_of_its_annotations_when(
    box: Appliance, read: str, change: tuple[str, str]
) -> None:
    await apply(box, ANNOTATED, TASK.replace(".task.spec.vars.other", f".workflow.metadata.{read}"), machine(1))
    applied = await box.applying.apply(files(ANNOTATED.replace(*change)), Wish(), "ann")
    assert outcomes(applied) == {"workflow/install-1": "configured"}
    assert not applied.notes


async def test_another_spec_is_refused_and_labels_change(box: Appliance) -> None:
    await apply(box, flow(), TASK, machine(1))
    applied = await box.applying.apply(files(flow(word="other")), Wish(), "ann")
    assert outcomes(applied) == {"workflow/install-1": "refused"}
    assert applied.results[0].why.startswith("its spec differs from the workflow of that name")
    assert await apply(box, flow().replace("a: b", "a: c")) == {"workflow/install-1": "configured"}


async def test_a_changed_task_is_no_change_of_its_workflows(box: Appliance) -> None:
    await apply(box, flow(), TASK, machine(1))
    assert await apply(box, flow(), TASK.replace("other: ", "more: x, other: ")) == {
        "task/wipe": "configured",
        "workflow/install-1": "unchanged",
    }


async def test_it_is_exported_as_it_was_given_until_it_is_deleted(box: Appliance) -> None:
    await apply(box, flow(), TASK, machine(1))
    (exported,) = (await box.exporting.export([parse_asked("workflow/install-1")], None)).documents
    assert exported.manifest["apiVersion"] == "tinkerbell.org/v1alpha2"
    assert exported.manifest["metadata"]["labels"] == {"a": "b"}
    assert await apply(box, json.dumps(exported.manifest)) == {"workflow/install-1": "unchanged"}
    workflow = await box.workflows.get("install-1")
    await box.workflows.cancel(workflow.id)
    await box.workflows.delete(workflow.id)
    assert await apply(box, flow(), wish=Wish(rehearsal=True)) == {"workflow/install-1": "created"}


async def test_what_it_refers_to_has_to_be_there(box: Appliance) -> None:
    (lacking,) = await problems(box, flow(), machine(1))
    assert lacking.startswith(
        "0.yaml:8, spec.tasks: spec.tasks[0]: task wipe of namespace default is neither known nor in"
    )
    (told,) = await problems(box, flow(2), TASK)
    assert "hardware node2 is neither known" in told


def line_of(document: str, text: str) -> int:
    return document[: document.index(text)].count("\n") + 1


async def test_what_cannot_be_filled_is_told(box: Appliance) -> None:
    (told,) = await problems(box, flow(), machine(1), TASK.replace(".task.spec.vars.other", "nosuch ."))
    place = f"2.yaml:{line_of(TASK, '.task.spec.vars.other')}, spec.actions[0].args[1]"
    assert told.startswith(f'{place}: function "nosuch" not defined')
    (told,) = await problems(box, flow(), machine(1), TASK.replace(".task.spec.vars.other", ".task.spec.vars.none"))
    assert f"Task wipe, 2.yaml:{line_of(TASK, '.task.spec.vars.other')}, spec.actions[0].args[1]: at <" in told
    wrong = flow().replace('{word: "1"}', "{word: x,\n    b: '{{ nosuch }}'}")
    (told,) = await problems(box, wrong, machine(1), TASK)
    assert f"the Workflow, 0.yaml:{line_of(wrong, 'nosuch')}, spec.vars.b: function" in told
    await apply(box, TASK.replace(".task.spec.vars.other", ".task.spec.vars.none"))
    (told,) = await problems(box, flow(), machine(1))
    assert told.startswith("0.yaml:8, spec.tasks: Task wipe, spec.actions[0].args[1]: ")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("{name: wipe, namespace: default}", "{}"), "spec.tasks[0].taskRef: the name of a Task is required"),
        (("hardwareRef: {name: node1, namespace: default}, ", ""), "spec.tasks[0]: agentID or hardwareRef says where"),
    ],
)
async def test_what_is_wrong_has_its_line(box: Appliance, change: tuple[str, str], told: str) -> None:
    assert change[0] in flow()
    found = await problems(box, flow().replace(*change), TASK, machine(1))
    assert told in "\n".join(found)


async def test_a_task_that_a_workflow_in_the_files_needs_is_not_pruned(box: Appliance) -> None:
    labelled = TASK.replace("{name: wipe}", "{name: wipe, labels: {team: lab}}")
    await apply(box, flow(), labelled, machine(1))
    with pytest.raises(Invalid) as refused:
        await apply(box, flow(), machine(1), wish=pruning("team=lab"))
    assert "task wipe would be pruned, and this workflow needs it" in str(refused.value.problems[0])
    assert await apply(box, machine(1), wish=pruning("team=lab")) == {
        "hardware/node1": "unchanged",
        "task/wipe": "pruned",
    }


async def test_an_agent_is_a_machine_by_its_address(box: Appliance) -> None:
    by_agent = flow().replace("      hardware:", f'      agentID: "{mac(1)}"\n      #')
    assert set((await apply(box, by_agent, TASK, machine(1))).values()) == {"created"}
    workflow = await box.workflows.get("install-1")
    assert workflow.state is State.PENDING
    assert workflow.actions[1].state is State.PENDING, "it sees its machine's name"


def test_other_commands_leave_it_to_apply() -> None:
    with pytest.raises(Invalid) as refused:
        take(flow(), "Workflow")
    assert str(refused.value.problems[0]) == "line 1: Workflow install-1 is left for `tinkbox apply`"


BAD_TASK = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Task
metadata: {name: bad}
spec:
  actions:
    - {name: one, image: a:v1, retries: 1000}
    - name: one
      image: "{{ if }}"
      args: ["{{ nosuch .hardware }}"]
    - {name: two}
"""


async def test_a_task_is_checked_when_it_is_applied(box: Appliance) -> None:
    wrong = [
        "0.yaml:6, spec.actions[0].retries: expected attempts after a failure as a whole number, at most 100",
        "0.yaml:8, spec.actions[1].image: missing value for if",
        '0.yaml:9, spec.actions[1].args[0]: function "nosuch" not defined',
        "0.yaml:6, spec.actions: two actions in a task cannot have same name: one",
        "0.yaml:10, spec.actions[2].image: invalid image name ''",
    ]
    for others in (
        [],
        ["apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata: {name: t}\nspec: {data: ''}\n"],
    ):
        found = await problems(box, BAD_TASK, *others)
        assert all(any(told.startswith(each) for told in found) for each in wrong), found
    assert not (await box.exporting.export([parse_asked("task")], None)).documents


async def test_what_a_placeholder_of_a_task_becomes_is_not_guessed(box: Appliance) -> None:
    actions = """\
    - {name: "{{ .x }}", image: "{{ .y }}", namespaces: {pid: "{{ .z }}"}, volumes: ["{{ .v }}"], if: "{{ .i }}"}
    - {name: "{{ .x }}", image: "{{ .y }}", env: {A: "{{ .task.spec.vars.a }}"}, command: "{{ .c }}"}
"""
    document = f"{TASK.split('    - ')[0]}{actions}  volumes: ['{{{{ .v }}}}']\n"
    applied = await box.applying.apply(files(document), Wish(strict=True), "ann")
    assert outcomes(applied) == {"task/wipe": "created"}
    assert not applied.notes


@pytest.mark.parametrize("spec", ["", "spec: {}\n", "spec: {actions: []}\n"])
async def test_a_task_without_actions_is_told_and_strictly_refused(box: Appliance, spec: str) -> None:
    document = TASK.split("spec:")[0] + spec
    with pytest.raises(Invalid):
        await apply(box, document, wish=Wish(strict=True))
    for outcome in ("created", "unchanged"):
        applied = await box.applying.apply(files(document), Wish(), "ann")
        assert outcomes(applied) == {"task/wipe": outcome}
        assert "there are none: a Workflow that names this Task does nothing by it" in str(applied.notes[-1])


async def test_a_task_of_an_earlier_release_stays_though_it_is_refused_by_now(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unchecked(*_: object) -> tuple[Problem, ...]:
        return ()

    with monkeypatch.context() as earlier:
        earlier.setattr(applying, "check_task", unchecked)
        await apply(box, BAD_TASK)
    labelled = BAD_TASK.replace("name: bad}", "name: bad, labels: {a: b}}")
    for document, outcome in ((BAD_TASK, "unchanged"), (labelled, "configured")):
        applied = await box.applying.apply(files(document), Wish(), "ann")
        assert outcomes(applied) == {"task/bad": outcome}
        assert "missing value for if" in "\n".join(map(str, applied.notes))
    assert "missing value for if" in "\n".join(await problems(box, BAD_TASK.replace("two", "three")))


@pytest.mark.parametrize("word", ["1", "{{ .hardware.metadata.name }}"])
@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("nowhere", "no machine has the agent id, MAC or address nowhere: push its hardware document first"),
        (
            "node1",
            f"no machine has the agent id, MAC or address node1: node1 is the name of a machine: give its MAC {mac(1)}",
        ),
        ("{{ .hardware.spec.agentID }}", "it takes no placeholders: give an agent id, a MAC or an address"),
    ],
)
async def test_an_agent_that_no_machine_has_is_told(box: Appliance, word: str, agent: str, told: str) -> None:
    by_agent = flow(word=word).replace("      hardware:", f'      agentID: "{agent}"\n      #')
    found = await problems(box, by_agent, TASK, machine(1))
    assert found == [f"0.yaml:8, spec.tasks: spec.tasks[0].agentID: {told}"]
