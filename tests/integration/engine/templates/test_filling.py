"""Whatever makes a workflow, or tells what would be made: its template is filled from the machine that runs it."""

import json
from collections.abc import Mapping

import pytest

from tests.integration.engine.appliance import Appliance, address, mac
from tests.integration.engine.applying.documents import API, files, machine, template
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.creation import Creating
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.model.errors import Invalid
from tinkbox.model.workflow import Workflow

FK = """\
version: "0.1"
name: fk
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - name: write
        image: tools/write:v1
        environment:
          IMG_URL: "http://{{ .artifact_server }}/u.gz"
          HOSTNAME: {{ (index .Hardware.Interfaces 0).DHCP.Hostname }}
"""
REPORT = """\
  - name: report
    worker: "{{.artifact_server}}"
    actions:
      - {name: tell, image: "tools/tell:v1"}
"""
TOLD = (
    f"the template is filled from node2 ({mac(2)}), the worker of its first task: .Hardware and .hardware are that machine also "
    f"in the tasks of node1 ({mac(1)})"
)
DEVICES = [
    {"artifact_server": address(1), "device_1": mac(2)},
    {"device_1": mac(2), "artifact_server": address(1)},
]
WRONG = {"artifact_server": "10.99.0.1", "device_1": mac(9)}
NOT_FOUND = f"hardware mentioned with reference {mac(9)} not found: push its hardware document first"


def flow(devices: Mapping[str, str], name: str = "install") -> str:
    spec = {"templateRef": "fk", "hardwareMap": dict(devices)}
    return json.dumps({"apiVersion": API, "kind": "Workflow", "metadata": {"name": name}, "spec": spec})


async def site(box: Appliance, text: str = FK) -> None:
    await box.applying.apply(files(template("fk", text), machine(1), machine(2)), Wish(), "ann")


def hostname(workflow: Workflow) -> str:
    return workflow.actions[0].action.spec.environment["HOSTNAME"]


@pytest.mark.parametrize("devices", DEVICES)
async def test_any_order_of_the_map_gives_the_machine_that_runs_it_on_every_way(
    box: Appliance, devices: dict[str, str]
) -> None:
    await site(box, FK + REPORT)
    by_hand = await box.workflows.prepare("fk", devices)
    assert [each.text for each in by_hand.notes] == [TOLD]
    made = [await box.workflows.get(await box.workflows.create("fk", devices))]
    created = await box.creation.create(flow(devices, "created"), Creating(who="ann"))
    assert [each.text for each in created.notes] == [f"template fk: {TOLD}"]
    for wish in (Wish(rehearsal=True), Wish()):
        applied = await box.applying.apply(files(flow(devices, "applied")), wish, "ann")
        assert [each.text for each in applied.notes if "filled" in each.text] == [f"template fk: {TOLD}"]
    made += [await box.workflows.get(name) for name in ("created", "applied")]
    assert [hostname(each) for each in made] == ["node2"] * 3
    plan = await box.workflow_plans.plan("fk", "", devices, ("x86_64",), "ann")
    assert TOLD in plan.notes
    known = [each.hardware for each in box.machines.known.all()]
    verdicts = await box.templates.validate(FK + REPORT, known, devices, "ann")
    assert [each.text for each in verdicts.remarks.notes] == [TOLD]
    assert [each.machine and each.machine.name for each in verdicts] == ["node2"]


async def test_the_machine_that_is_said_is_seen_by_whatever_runs_first(box: Appliance) -> None:
    head, install = FK.split("  - name: install")
    await site(box, f"{head}{REPORT}  - name: install{install}")
    said = {"artifact_server": address(1)}
    plan = await box.workflow_plans.plan("fk", "node2", said, ("x86_64",), "ann")
    assert [each.machine for each in plan.steps] == ["node1", "node2"]
    assert not [each for each in plan.notes if "filled" in each]
    made = await box.rollouts.create_one(Wanted(template="fk", machines=("node2",), parameters=said))
    _, write = (await box.workflows.get(made.id)).actions
    assert write.action.spec.environment["HOSTNAME"] == "node2"


async def test_an_unknown_machine_is_named_on_every_way(box: Appliance) -> None:
    await site(box)
    with pytest.raises(Invalid) as refused:
        await box.workflows.create("fk", WRONG)
    assert [str(each) for each in refused.value.problems] == [f"device_1: {NOT_FOUND}"]
    plan = await box.workflow_plans.plan("fk", "", WRONG, ("x86_64",), "ann")
    assert [str(each) for each in plan.obstacles[0].problems] == [f"device_1: {NOT_FOUND}"]
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(flow(WRONG)), Wish(), "ann")
    assert [each.text for each in refused.value.problems] == [f"template fk: device_1: {NOT_FOUND}"]
    with pytest.raises(Invalid) as refused:
        await box.creation.create(flow(WRONG), Creating(who="ann"))
    assert [each.text for each in refused.value.problems] == [f"template fk: device_1: {NOT_FOUND}"]
    (verdict,) = await box.templates.validate(FK, [], WRONG, "ann")
    assert [str(each) for each in verdict.problems] == [f"device_1: {NOT_FOUND}"]


async def test_the_name_of_a_machine_is_answered_with_its_mac(box: Appliance) -> None:
    await site(box)
    with pytest.raises(Invalid) as refused:
        await box.workflows.create("fk", {"artifact_server": "10.99.0.1", "device_1": "node2"})
    assert f"node2 is the name of a machine: give its MAC {mac(2)}" in str(refused.value.problems[0])


async def test_a_worker_that_depends_on_the_machine_is_refused_with_the_way_out(box: Appliance) -> None:
    await site(box, FK.replace('"{{.device_1}}"', '"{{ (index .Hardware.Interfaces 0).DHCP.MAC }}"'))
    for devices in DEVICES:
        with pytest.raises(Invalid) as refused:
            await box.applying.apply(files(flow(devices)), Wish(), "ann")
        (problem,) = refused.value.problems
        assert problem.key.endswith("spec")
        assert f"node1 ({mac(1)})" in problem.text
        assert f"node2 ({mac(2)})" in problem.text
        assert "hardwareRef" in problem.text
    said = flow(DEVICES[0]).replace('"templateRef"', '"hardwareRef": "node2", "templateRef"')
    await box.applying.apply(files(said), Wish(), "ann")
    assert hostname(await box.workflows.get("install")) == "node2"
