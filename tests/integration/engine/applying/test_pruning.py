"""Which machines a Workflow keeps from being pruned: those that it was made with, whatever they are called by now."""

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, address, mac
from tests.integration.engine.applying.documents import files, flow, machine, outcomes, pruning, template
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.machines.changes import Change
from tinkbox.model.errors import Invalid

TASK = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Task
metadata: {name: wipe}
spec: {actions: [{name: first, image: hello-world}]}
"""
STRUCTURED = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {name: w}
spec:
  tasks:
    - {taskRef: {name: wipe}, hardware: {hardwareRef: {name: node3}}}
    - {taskRef: {name: wipe}, hardware: {hardwareRef: {name: node1}}}
"""
LAB = pruning("rack=r1")


async def apply(box: Appliance, *texts: str, wish: Wish | None = None) -> dict[str, str]:
    return outcomes(await box.applying.apply(files(*texts), wish or Wish(), "ann"))


async def refusals(box: Appliance, *texts: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        await apply(box, *texts, wish=LAB)
    return [str(each) for each in refused.value.problems]


def unseen(number: int, name: str = "", namespace: str = "", rack: str = "r1") -> str:
    """A machine that has no host name."""
    given = machine(number, rack).replace(f"        hostname: node{number}\n", "")
    space = f"namespace: {namespace}, " if namespace else ""
    return given.replace(f"name: node{number},", f"{space}name: {name or f'node{number}'},")


@pytest.mark.parametrize(
    ("workflow", "field"),
    [(flow(1, "w", device=3), "6, spec.hardwareRef"), (STRUCTURED, "6, spec.tasks")],
    ids=["v1alpha1", "v1alpha2"],
)
async def test_the_machine_of_a_workflow_is_needed_also_by_its_former_name(
    box: Appliance, workflow: str, field: str
) -> None:
    documents = unseen(3, rack="r2"), template(), TASK, workflow
    await apply(box, unseen(1), *documents)
    await box.workflows.cancel("w", "ann")
    await box.machine_changes.change("node1", Change(name="v2"))
    (told,) = await refusals(box, *documents)
    assert told.startswith(f"3.yaml:{field}: machine v2 would be pruned, and this workflow needs it")
    await box.departures.delete("v2", "ann")
    assert "hardware/v2" not in await apply(box, *documents, wish=LAB)


async def test_a_later_namesake_is_not_needed_by_a_workflow_that_runs_on_another(box: Appliance) -> None:
    workflow = flow(1, "w").replace("{name: w", "{namespace: a, name: w")
    documents = unseen(1), template(), workflow
    await apply(box, *documents)
    await apply(box, unseen(2, "node1", "a"))
    pruned = await apply(box, *documents, wish=LAB)
    assert pruned == {
        "hardware/node1": "pruned",
        "template/hello": "unchanged",
        "workflow/w": "unchanged",
    }
    assert [each.hardware.interfaces[0].mac for each in box.machines.known.all()] == [mac(1)]


async def test_what_has_the_name_of_a_machine_that_is_gone_is_needed(box: Appliance) -> None:
    """Another appliance has nothing else for the document."""
    documents = unseen(3, rack="r2"), template(), flow(1, "w", device=3)
    await apply(box, unseen(1), *documents)
    await box.workflows.cancel("w", "ann")
    await box.departures.delete("node1", "ann")
    await apply(box, unseen(2, "node1"))
    (told,) = await refusals(box, *documents)
    assert "spec.hardwareRef: machine node1 would be pruned" in told


async def test_a_machine_that_an_agent_is_named_by_is_needed(box: Appliance) -> None:
    by_agent = STRUCTURED.replace("hardware: {hardwareRef: {name: node1}}", f'agentID: "{mac(1)}"')
    documents = unseen(3, rack="r2"), TASK, by_agent
    await apply(box, unseen(1), *documents)
    await box.workflows.cancel("w", "ann")
    (told,) = await refusals(box, *documents)
    assert told.startswith("2.yaml:5, spec: machine node1 would be pruned")


@pytest.mark.parametrize("worker", [mac(2), address(2)])
async def test_a_machine_that_the_template_itself_names_as_a_worker_is_needed(box: Appliance, worker: str) -> None:
    documents = unseen(1, rack="r2"), template(text=HELLO.replace("{{.device_1}}", worker)), flow(1, "w")
    await apply(box, unseen(2), *documents)
    await box.workflows.cancel("w", "ann")
    (told,) = await refusals(box, *documents)
    assert told.startswith("2.yaml:5, spec: machine node2 would be pruned, and this workflow needs it")
    assert (await apply(box, unseen(2), *documents, wish=LAB))["hardware/node2"] == "unchanged"


async def test_a_machine_that_hosts_a_service_of_the_template_is_needed(box: Appliance) -> None:
    services = f'\nservices:\n  - {{name: files, image: nginx, worker: "{mac(2)}"}}\n'
    documents = unseen(1, rack="r2"), template(text=HELLO.rstrip() + services), flow(1, "w")
    await apply(box, unseen(2), *documents)
    await box.workflows.cancel("w", "ann")
    (told,) = await refusals(box, *documents)
    assert told.startswith("2.yaml:5, spec: machine node2 would be pruned, and this workflow needs it")


async def test_a_machine_that_the_template_names_no_more_is_pruned(box: Appliance) -> None:
    before = unseen(1, rack="r2"), template(text=HELLO.replace("{{.device_1}}", mac(2))), flow(1, "w")
    await apply(box, unseen(2), *before)
    await box.workflows.cancel("w", "ann")
    assert (await apply(box, before[0], template(), before[2], wish=LAB))["hardware/node2"] == "pruned"
