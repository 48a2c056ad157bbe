"""Workflows from their creation to their end, over a real store."""

import json
from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, appliance, hardware, mac
from tinkbox.engine.workflows.workflows import MAX_DEVICES
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.workflow import State


async def test_a_workflow_is_what_its_template_was_when_it_was_created(box: Appliance) -> None:
    worker = await box.machine(1)
    template = await box.templates.create("hello", HELLO)
    workflow_id = await box.workflows.create("hello", {"device_1": mac(1)})
    await box.templates.update(template, data=HELLO.replace("hello-world", "something-else"))
    workflow = await box.workflows.get(workflow_id)
    assert workflow.text == HELLO.replace("{{.device_1}}", mac(1))
    offer = await box.offer(worker)
    assert offer is not None
    assert offer.action.spec.image == "hello-world"
    await box.templates.delete(template)
    assert (await box.workflows.get(workflow_id)).text == workflow.text


async def test_a_plan_that_is_far_larger_than_its_text_is_refused_before_it_is_stored(box: Appliance) -> None:
    await box.machine(1)
    small = HELLO.replace("    actions:", "    environment: {LARGE: VALUE}\n    actions:", 1)
    small += "".join(f"      - {{name: a{number}, image: x}}\n" for number in range(1000))
    with pytest.raises(Invalid) as refusal:
        await box.templates.create("early", small.replace("VALUE", "y" * 10_000))
    assert "each of its 1002 actions gets a copy" in str(refusal.value.problems[0])
    await box.templates.create("late", small.replace("VALUE", '{{ repeat 10000 "y" }}'))
    with pytest.raises(Invalid) as refusal:
        await box.workflows.create("late", {"device_1": mac(1)})
    assert "each of its 1002 actions gets a copy" in str(refusal.value.problems[0])
    assert await box.workflows.all() == []


async def test_actions_run_in_order_and_end_the_workflow(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow_id = await box.workflow()
    assert await box.finish(worker) == ["hello_world", "second"]
    workflow = await box.workflows.get(workflow_id)
    assert workflow.state is State.SUCCESS
    kinds = [event.kind for event in await box.workflows.events(workflow_id)]
    assert kinds == [
        "workflow.created", "workflow.started", "action.started", "action.succeeded", "action.started",
        "action.succeeded", "workflow.succeeded",
    ]  # fmt: skip
    assert [event.number for event in await box.workflows.events(workflow_id)] == list(range(1, 8))


async def test_environment_values_keep_their_literal_text(box: Appliance) -> None:
    await box.machine(1)
    workflow = await box.workflows.get(await box.workflow())
    assert workflow.actions[1].action.spec.environment == {"MODE": "0644"}
    assert workflow.actions[1].action.spec.timeout == 3600


async def test_tasks_are_handed_over_between_machines_at_any_point(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    await box.workflow(RELAY, a=1, b=2)
    assert await box.offer(second) is None
    assert await box.finish(first) == ["one", "two"]
    assert await box.offer(first) is None
    assert await box.finish(second) == ["three"]
    assert await box.finish(first) == ["four"]


async def test_a_machine_that_has_done_its_part_goes_on_with_its_next_workflow(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    await box.workflow(RELAY, a=1, b=2)
    following = await box.workflow(device_1=2)
    await box.finish(first)
    assert await box.finish(second) == ["three", "hello_world", "second"]
    assert (await box.workflows.get(following)).state is State.SUCCESS


async def test_a_machines_workflows_run_in_the_order_in_which_they_were_created(box: Appliance) -> None:
    worker = await box.machine(1)
    older, newer = await box.workflow(), await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    assert offer.workflow_id == older
    await box.report(worker, offer, State.FAILED, reason="Broken")
    offer = await box.offer(worker)
    assert offer is not None
    assert offer.workflow_id == newer, "a workflow that is over must not block the next"


async def test_a_failure_ends_the_workflow_and_is_told_in_plain_words(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow_id = await box.workflow()
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(
        worker, offer, State.FAILED, exit_code=3, reason="DiskNotFound", message="no /dev/sda", tail=("x",)
    )
    assert (await box.workflows.get(workflow_id)).state is State.FAILED
    assert await box.offer(worker) is None
    (line,) = (await box.overview.snapshot("1")).workflows
    assert line.failure is not None
    assert (line.failure.reason, line.failure.message, line.failure.last_output) == ("DiskNotFound", "no /dev/sda", "x")


async def test_unknown_hardware_is_named_and_nothing_is_stored(box: Appliance) -> None:
    await box.templates.create("hello", HELLO)
    with pytest.raises(Invalid) as refusal:
        await box.workflows.create("hello", {"device_1": mac(9)})
    assert "hardware mentioned with reference 08:00:27:00:00:09 not found" in str(refusal.value.problems[0])
    with pytest.raises(Invalid) as refusal:
        await box.workflows.create("hello", {"device_2": mac(9)})
    assert "device_1 has no value" in str(refusal.value.problems[0])
    with pytest.raises(NotFound):
        await box.workflows.create("nothing", {})
    assert await box.workflows.all() == []


async def test_the_name_of_a_machine_is_refused_with_its_mac(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("hello", HELLO)
    with pytest.raises(Invalid) as refusal:
        await box.workflows.create("hello", {"device_1": "machine-1"})
    assert f"machine-1 is the name of a machine: give its MAC {mac(1)}" in str(refusal.value.problems[0])


async def test_a_workflow_without_actions_is_refused(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("idle", HELLO.partition("    actions:")[0])
    with pytest.raises(Invalid, match="no actions"):
        await box.workflows.create("idle", {"device_1": mac(1)})
    assert await box.workflows.all() == []


async def test_devices_are_bounded(box: Appliance) -> None:
    devices = {f"device_{number}": mac(1) for number in range(MAX_DEVICES)}
    with pytest.raises(NotFound):
        await box.workflows.create("nothing", devices)
    with pytest.raises(Invalid, match=f"at most {MAX_DEVICES}"):
        await box.workflows.create("nothing", {**devices, "one_more": mac(1)})


@pytest.mark.parametrize(
    ("name", "devices", "said"),
    [
        ("é" * 127, {}, "no name of a workflow: it has more than 253 bytes"),
        ("", {"d" * 200: "x"}, "the name of a device, 'dd.*more than 199 bytes"),
        ("", {"a": "x" * 131_073, "b": "x" * 131_072}, "the values of all devices have more than 256"),
    ],
)
async def test_what_lists_show_is_bounded(box: Appliance, name: str, devices: dict[str, str], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        await box.workflows.create("nothing", devices, name=name)
    shorter = {each[:199]: value[:131_072] for each, value in devices.items()}
    with pytest.raises(NotFound):
        await box.workflows.create("nothing", shorter, name=name[:99])


async def test_a_workflow_is_found_by_a_unique_beginning_or_its_name(box: Appliance) -> None:
    await box.machine(1)
    older, newer = await box.workflow(), await box.workflow()
    assert (await box.workflows.get(older[:8])).id == older
    assert (await box.workflows.get("hello_world_workflow")).id == newer
    with pytest.raises(Conflict, match="ambiguous"):
        await box.workflows.get("0000000")
    with pytest.raises(NotFound):
        await box.workflows.get("ffffff")


async def test_a_name_comes_before_the_beginning_of_an_id(box: Appliance) -> None:
    for number in (1, 2):
        await box.machine(number)
    first = await box.workflow(device_1=1)
    await box.machines.push(parse_hardware(json.dumps(hardware(2)).replace("machine-2", first[:8])))
    with pytest.raises(NotFound, match=f"machine {first[:8]} has no workflow"):
        await box.workflows.cancel(first[:8])
    second = await box.workflow(device_1=2)
    assert (await box.workflows.cancel(first[:8])).id == second
    assert (await box.workflows.get(first[:9])).id == first
    with pytest.raises(NotFound):
        await box.workflows.get(first[:3])  # too few letters for an id


async def test_what_changes_a_workflow_takes_no_name_that_several_have(box: Appliance) -> None:
    name, changes = "hello_world_workflow", box.workflows
    await box.machine(1)
    older, newer = await box.workflow(), await box.workflow()
    with pytest.raises(Conflict, match=f"2 workflows that are not over are called '{name}': {newer[:8]} "):
        await changes.cancel(name)
    for change in (changes.retry, changes.delete):
        with pytest.raises(Conflict, match=f"2 workflows are called '{name}'"):
            await change(name)
    with pytest.raises(Conflict, match=f"2 workflows are called '{name}'"):
        await box.lost_histories.take_over(name, "ann")
    assert {(await changes.get(each)).state for each in (older, newer)} == {State.PENDING}
    await changes.cancel(older)
    assert (await changes.cancel(name)).id == newer, "the only one that is not over"
    assert await changes.delete("machine-1") == newer, "a machine means its newest"
    assert await changes.delete(name) == older, "the only one so called"


async def test_only_what_does_not_run_can_be_deleted(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow_id = await box.workflow()
    offer = await box.offer(worker)
    with pytest.raises(Conflict, match="running"):
        await box.workflows.delete(workflow_id)
    assert offer is not None
    await box.report(worker, offer, State.FAILED)
    await box.workflows.delete(workflow_id)
    with pytest.raises(NotFound):
        await box.workflows.get(workflow_id)


async def test_everything_is_there_again_after_a_restart(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        worker = await box.machine(1)
        workflow_id = await box.workflow()
        secret = await box.session(worker)
        offer = await box.offer(worker)
    async with appliance(tmp_path / "db") as box:
        assert await box.offer(worker) == offer
        assert (await box.workflows.get(workflow_id)).state is State.RUNNING
        assert box.machines.authenticate(secret, "", "127.0.0.1") == worker


async def test_a_retry_has_the_moment_and_the_passwords_of_its_workflow(box: Appliance) -> None:
    values = 'environment: {AT: "{{ now }}", TOKEN: "{{ randAlphaNum 20 }}"}'
    worker = await box.machine(1)
    created = box.clock().strftime("%Y-%m-%d %H:%M:%S")
    workflow_id = await box.workflow(
        HELLO.replace("image: hello-world", f"image: hello-world\n        {values}"), device_1=1
    )
    first = await box.offer(worker)
    assert first is not None
    assert first.action.spec.environment["AT"].startswith(created)
    await box.report(worker, first, State.FAILED)
    box.clock.forward(3600)
    await box.workflows.retry(workflow_id)
    again = await box.offer(worker)
    assert again is not None
    assert again.action.spec.environment == first.action.spec.environment
