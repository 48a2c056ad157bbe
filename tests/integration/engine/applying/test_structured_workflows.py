"""Workflows of v1alpha2, which refer to Tasks: applied, run, compared and exported."""

import json

import pytest

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.applying.documents import files, machine, outcomes, pruning
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.exporting import parse_asked
from tinkbox.engine.documents.kubernetes import take
from tinkbox.model.errors import Invalid
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
    assert told.startswith(f"0.yaml:8, spec.tasks: Task wipe, 2.yaml:{line_of(TASK, '.task.spec.vars.other')}, ")
    assert 'spec.actions[0].args[1]: function "nosuch" not defined' in told
    (told,) = await problems(box, flow(), machine(1), TASK.replace(".task.spec.vars.other", ".task.spec.vars.none"))
    assert f"Task wipe, 2.yaml:{line_of(TASK, '.task.spec.vars.other')}, spec.actions[0].args[1]: at <" in told
    wrong = flow().replace('{word: "1"}', "{word: x,\n    b: '{{ nosuch }}'}")
    (told,) = await problems(box, wrong, machine(1), TASK)
    assert f"the Workflow, 0.yaml:{line_of(wrong, 'nosuch')}, spec.vars.b: function" in told
    await apply(box, TASK.replace(".task.spec.vars.other", "nosuch ."))
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
