"""What a workflow would do is told, and nothing is made."""

from tests.integration.engine.appliance import HELLO, Appliance, mac
from tinkbox.engine.views.workflow_plans import WorkflowPlan

WITH_DISKS = """\
version: "0.1"
name: install
breakpoint: {onFailure: true}
services:
  - {name: files, worker: provisioner, image: files:v1}
tasks:
  - name: all
    worker: "{{.device_1}}"
    actions:
      - {name: write, image: write:v1, disk: smallest, wipes: [smallest], timeout: 90, retries: 2}
      - {name: tell, image: "quay.io/x/tell:{{ .version }}"}
      - {name: never, image: never:v1, if: "false"}
"""
OSIE = ("x86_64",)
ASKING = """\
version: "0.1"
name: install
tasks:
  - name: all
    worker: "{{.device_1}}"
    actions:
      - {name: write, image: write:v1, environment: {METADATA: "http://172.30.0.1:50061/metadata"}}
"""
ASKS = "machine machine-1 asks for metadata at http://172.30.0.1:50061/metadata: its document has no metadata.instance"


async def planned(
    box: Appliance, machine: str = "machine-1", osie: tuple[str, ...] = OSIE, **given: str
) -> WorkflowPlan:
    return await box.workflow_plans.plan("install", machine, given, osie, "ann")


async def test_a_plan_is_what_would_be_made(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("install", WITH_DISKS)
    box.registry |= {"write:v1": "sha256:1", "files:v1": "sha256:2"}
    plan = await planned(box, version="v2", odd="x")
    assert not plan.blocked
    assert not plan.obstacles
    assert [
        (each.action, each.machine, each.image.digest, each.image.elsewhere, each.skipped) for each in plan.steps
    ] == [
        ("write", "machine-1", "sha256:1", False, False),
        ("tell", "machine-1", "", True, False),
        ("never", "machine-1", "", False, True),
    ]
    assert (plan.steps[0].disk, plan.steps[0].wipes, plan.steps[0].timeout, plan.steps[0].retries) == (
        "smallest",
        ("smallest",),
        90,
        2,
    )
    assert [(each.name, each.host, each.image.digest) for each in plan.services] == [
        ("files", "the appliance", "sha256:2")
    ]
    assert plan.devices == {"device_1": mac(1), "version": "v2", "odd": "x"}
    assert (plan.unused, plan.breakpoints.on_failure, plan.name) == (["odd"], True, "install")
    assert not await box.workflows.all()
    (record,) = box.machines.known.all()
    assert not record.ticket


async def test_what_stands_in_the_way_is_told_all_at_once(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("install", WITH_DISKS)
    plan = await planned(box, osie=(), version="v2")
    assert plan.blocked
    assert [each.text.split(":")[0] for each in plan.obstacles] == [
        "there is no OSIE for x86_64, which machine machine-1 boots",
        "image write",
        "image files",
    ]


async def test_a_workflow_before_it_makes_it_wait_and_does_not_block(box: Appliance) -> None:
    await box.machine(1)
    box.registry |= {"hello-world": "sha256:1", "tools/second:v1": "sha256:2"}
    await box.templates.create("install", HELLO)
    workflow = await box.workflow()
    plan = await planned(box)
    assert not plan.blocked
    assert [each.text for each in plan.obstacles] == [
        f"machine machine-1 has workflow {workflow[:8]} (hello_world_workflow) to finish first"
    ]


async def test_too_many_parameters_are_refused_before_each_is_looked_at(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("install", WITH_DISKS)
    plan = await planned(box, **{f"d{number}": "x" for number in range(300)})
    assert [each.text for each in plan.obstacles] == ["300 devices: at most 256 fit into one workflow"]
    assert (dict(plan.devices), list(plan.unused)) == ({}, [])


async def test_a_machine_that_is_unknown_and_a_parameter_that_is_missing_block(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("install", WITH_DISKS)
    assert (await planned(box, "nobody")).blocked
    missing = await planned(box)
    assert missing.blocked
    assert "version" in str(missing.obstacles[-1].problems)
    elsewhere = await planned(box, "", device_1=mac(9), version="v1")
    assert elsewhere.blocked
    assert "not found" in str(elsewhere.obstacles[-1].problems)


async def test_metadata_that_a_machine_would_not_be_given_is_a_note_and_blocks_nothing(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("install", ASKING)
    box.registry |= {"write:v1": "sha256:1"}
    plan = await planned(box)
    assert [each[: len(ASKS)] for each in plan.notes] == [ASKS]
    assert not plan.blocked
    assert not plan.obstacles
    made = await box.workflows.create("install", {"device_1": mac(1)})
    assert [each[: len(ASKS)] for each in await box.workflow_plans.warnings([made], OSIE)] == [ASKS]


async def test_a_workflow_with_metadata_of_its_own_gives_its_machine_some(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("install", f"{ASKING}metadata: {{hostname: node1}}\n")
    box.registry |= {"write:v1": "sha256:1"}
    assert not (await planned(box)).notes
    made = await box.workflows.create("install", {"device_1": mac(1)})
    assert await box.workflow_plans.warnings([made], OSIE) == []


async def test_what_several_new_workflows_lack_is_told_once(box: Appliance) -> None:
    await box.machine(1)
    await box.machine(2)
    await box.templates.create("install", ASKING)
    made = [await box.workflows.create("install", {"device_1": mac(number)}) for number in (1, 2)]
    image, metadata = await box.workflow_plans.warnings(made, OSIE)
    assert image == (
        "image write:v1 is not in the registry: push it there, or `tinkbox image load` it from a file; "
        "if you mean Docker Hub's, write docker.io/library/write:v1"
    )
    assert metadata.startswith("2 machines (machine-1, machine-2) ask for metadata at ")


async def test_a_plan_tells_what_the_workflow_would_ignore(box: Appliance) -> None:
    await box.machine(1)
    action = "{name: write, image: write:v1, timout: 9, timeout: 017}"
    text = f"{ASKING.split('      - ')[0]}      - {action}\nglobal_timout: 60\n"
    await box.templates.create("install", text)
    box.registry |= {"write:v1": "sha256:1"}
    plan = await planned(box)
    made = await box.workflows.prepare("install", {"device_1": mac(1)})
    assert [each.split(":")[0] for each in plan.notes] == [
        "line 7, tasks[0].actions[0].timout",
        "line 7, tasks[0].actions[0].timeout",
        "line 8, global_timout",
    ]
    assert list(plan.notes) == [str(each) for each in made.told]
    assert not plan.blocked
