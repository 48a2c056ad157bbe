"""What follows when an attempt ends or a workflow is told to stop."""

import asyncio
import json
import re
from dataclasses import replace

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, address, hardware, mac
from tests.integration.engine.flows import LIMITED, REBOOT, RETRIES
from tinkbox.engine.workflows.retries import create_command
from tinkbox.model.boot import Boot
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Conflict
from tinkbox.model.machine_state import MachineState
from tinkbox.model.reasons import Reason
from tinkbox.model.telling import Telling
from tinkbox.model.workflow import State
from tinkbox.store.workflows import WorkflowTable
from tinkbox.wire.messages.worker import Offer, Order


async def begun(box: Appliance, text: str = HELLO, boot_id: str = "boot-1") -> tuple[str, Offer]:
    worker = await box.machine(1)
    await box.workflow(text)
    offer = await box.offer(worker, boot_id)
    assert offer is not None
    return worker, offer


async def again(box: Appliance, worker: str, boot_id: str = "boot-1") -> Offer:
    offer = await box.offer(worker, boot_id)
    assert offer is not None
    return offer


async def states(box: Appliance, key: str) -> list[str]:
    workflow = await box.workflows.get(key)
    return [workflow.state, *(each.state for each in workflow.actions)]


async def told(box: Appliance, key: str) -> list[str]:
    return [event.kind for event in await box.workflows.events(key)]


def netboot(box: Appliance, number: int = 1) -> Boot | None:
    plan = box.dhcp_plan(number)
    return plan.boot if plan else None


async def test_a_failure_is_tried_again_as_often_as_the_template_says(box: Appliance) -> None:
    worker, offer = await begun(box, RETRIES)
    tokens = [offer.attempt]
    for state in (State.FAILED, State.TIMEOUT):
        await box.report(worker, offer, state, reason="Flaky")
        assert await states(box, offer.workflow_id) == ["RUNNING", "PENDING", "PENDING"]
        offer = await again(box, worker)
        assert offer.action.spec.name == "flaky"
        tokens.append(offer.attempt)
    assert len(set(tokens)) == 3
    await box.report(worker, offer, State.FAILED, reason="Broken")
    assert await states(box, offer.workflow_id) == ["FAILED", "FAILED", "PENDING"]
    workflow = await box.workflows.get(offer.workflow_id)
    assert workflow.actions[0].failures == 3
    tried = await box.workflows.attempts(offer.workflow_id)
    assert [(each.token, each.outcome and each.outcome.reason) for each in tried] == [
        (tokens[0], "Flaky"), (tokens[1], "Flaky"), (tokens[2], "Broken"),
    ]  # fmt: skip
    following = [event.data.get("next") for event in await box.workflows.events(offer.workflow_id)]
    assert [each for each in following if each] == ["PENDING", "PENDING"]


async def test_a_lost_worker_has_its_action_repeated_only_when_the_template_allows_it(box: Appliance) -> None:
    worker, offer = await begun(box, RETRIES)
    repeated = await again(box, worker, "boot-2")
    assert (repeated.action.spec.name, repeated.workflow_id) == ("flaky", offer.workflow_id)
    assert repeated.attempt != offer.attempt
    await box.report(worker, repeated, boot_id="boot-2")
    last = await again(box, worker, "boot-2")
    assert last.action.spec.name == "last"
    assert await box.offer(worker, "boot-3") is None
    assert await states(box, offer.workflow_id) == ["FAILED", "SUCCESS", "FAILED"]


async def test_the_report_of_an_earlier_attempt_comes_too_late(box: Appliance) -> None:
    worker, offer = await begun(box, RETRIES)
    await box.report(worker, offer, State.FAILED)
    second = await again(box, worker)
    await box.report(worker, offer, State.FAILED)  # doubled on its way
    with pytest.raises(Conflict, match="too late"):
        await box.report(worker, offer, State.SUCCESS)
    await box.report(worker, second)
    assert await states(box, offer.workflow_id) == ["RUNNING", "SUCCESS", "PENDING"]


@pytest.mark.parametrize(
    ("reason", "own", "expected"),
    [
        ("NoSpace", "", Reason.NO_SPACE.hint),
        ("DiskNotFound", "", ""),
        ("DiskNotFound", "use /dev/vda", "use /dev/vda"),
        ("ImageNotFound", "correct the address", "correct the address"),
    ],
)
async def test_the_actions_own_hint_is_kept_and_else_that_of_a_reason_of_ours(
    box: Appliance, reason: str, own: str, expected: str
) -> None:
    worker, offer = await begun(box)
    for _ in range(2):  # the hint does not make a doubled report another one
        await box.report(worker, offer, State.FAILED, reason=reason, hint=own)
    outcome = (await box.workflows.get(offer.workflow_id)).actions[0].outcome
    assert outcome is not None
    assert outcome.hint == expected
    (event,) = [each for each in await box.workflows.events(offer.workflow_id) if each.kind == "action.failed"]
    assert event.data["hint"] == expected


async def test_a_report_of_another_boot_is_refused(box: Appliance) -> None:
    worker, offer = await begun(box)
    with pytest.raises(Conflict, match="another boot"):
        await box.report(worker, offer, boot_id="boot-0")
    assert await states(box, offer.workflow_id) == ["RUNNING", "RUNNING", "PENDING"]


async def test_the_worker_of_an_earlier_boot_gets_and_breaks_nothing(box: Appliance) -> None:
    worker, _ = await begun(box, RETRIES)
    offer = await again(box, worker, "boot-2")
    with pytest.raises(Conflict, match="another boot of its machine"):
        await box.offer(worker, "boot-1")
    assert (await again(box, worker, "boot-2")).attempt == offer.attempt


async def test_a_pending_workflow_is_canceled_at_once_and_its_ticket_withdrawn(box: Appliance) -> None:
    worker = await box.machine(1)
    key = await box.workflow()
    assert netboot(box) is Boot.OSIE
    assert (await box.workflows.cancel(key[:8])).id == key
    assert await states(box, key) == ["CANCELED", "PENDING", "PENDING"]
    assert await told(box, key) == ["workflow.created", "workflow.canceled"]
    assert netboot(box) is None
    assert await box.offer(worker) is None
    with pytest.raises(Conflict, match="over already"):
        await box.workflows.cancel(key)


async def test_a_running_action_is_stopped_first_and_then_the_machine_is_free(box: Appliance) -> None:
    worker, offer = await begun(box)
    following = await box.workflow()
    assert await box.stop_order(worker, offer) is None
    for _ in range(2):
        await box.workflows.cancel(offer.workflow_id)
    assert await states(box, offer.workflow_id) == ["STOPPING", "RUNNING", "PENDING"]
    assert await box.stop_order(worker, offer) == Order(state=State.CANCELED, message="the workflow was canceled")
    assert (await again(box, worker)).attempt == offer.attempt, "a worker that comes back stops what it had begun"
    with pytest.raises(Conflict, match="stopping"):
        await box.workflows.delete(offer.workflow_id)
    await box.report(worker, offer, State.CANCELED, reason="Canceled", exit_code=143)
    assert await states(box, offer.workflow_id) == ["CANCELED", "CANCELED", "PENDING"]
    assert (await told(box, offer.workflow_id))[-3:] == ["workflow.stopping", "action.canceled", "workflow.canceled"]
    assert (await again(box, worker)).workflow_id == following


@pytest.mark.parametrize("state", [State.SUCCESS, State.FAILED, State.TIMEOUT])
async def test_what_ends_by_itself_while_it_is_stopped_ends_the_workflow_as_canceled(
    box: Appliance, state: State
) -> None:
    worker, offer = await begun(box, RETRIES)
    await box.workflows.cancel(offer.workflow_id)
    await box.report(worker, offer, state)
    assert await states(box, offer.workflow_id) == ["CANCELED", state, "PENDING"]
    assert await box.offer(worker) is None


async def test_a_machine_that_boots_while_it_is_stopped_ends_the_workflow_as_canceled(box: Appliance) -> None:
    worker, offer = await begun(box, RETRIES)
    await box.workflows.cancel(offer.workflow_id)
    assert await box.offer(worker, "boot-2") is None
    assert await states(box, offer.workflow_id) == ["CANCELED", "FAILED", "PENDING"]


async def test_between_two_actions_a_workflow_is_canceled_at_once(box: Appliance) -> None:
    worker, offer = await begun(box)
    await box.report(worker, offer)
    await box.workflows.cancel(offer.workflow_id)
    assert await states(box, offer.workflow_id) == ["CANCELED", "SUCCESS", "PENDING"]
    assert netboot(box) is None


async def test_a_machine_that_goes_away_is_not_waited_for_when_its_workflow_is_canceled(box: Appliance) -> None:
    worker, offer = await begun(box, LIMITED)
    await box.report(worker, offer)
    offer = await again(box, worker)
    await box.leave(worker, offer)
    await box.workflows.cancel(offer.workflow_id)
    assert await states(box, offer.workflow_id) == ["CANCELED", "SUCCESS", "CANCELED"]
    order = await box.stop_order(worker, offer)
    assert order is not None
    assert order.state is State.CANCELED
    with pytest.raises(Conflict, match="CANCELED cannot"):
        await box.leave(worker, offer)


async def test_the_ticket_stays_when_another_workflow_needs_the_machine(box: Appliance) -> None:
    await box.machine(1)
    key = await box.workflow()
    await box.workflow()
    await box.workflows.cancel(key)
    assert netboot(box) is Boot.OSIE


async def test_a_stopping_workflow_holds_nobody_up_who_had_not_begun(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    relay = await box.workflow(RELAY, a=1, b=2)
    await box.workflow(device_1=2)
    assert await box.offer(first) is not None
    assert await box.offer(second) is None
    await box.workflows.cancel(relay)
    offer = await box.offer(second)
    assert offer is not None
    assert offer.workflow_id != relay


async def test_whoever_waits_for_an_order_is_woken(box: Appliance) -> None:
    worker, offer = await begun(box)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(box.attempts.wait(worker, 60))
        await asyncio.sleep(0)
        await box.workflows.cancel(offer.workflow_id)
        await waiting


async def test_an_attempt_that_is_over_is_ordered_to_end(box: Appliance) -> None:
    worker, offer = await begun(box, REBOOT)
    await box.report(worker, offer, State.TIMEOUT)
    order = await box.stop_order(worker, offer)
    assert order is not None
    assert order.state is State.TIMEOUT


async def test_a_canceled_workflow_is_taken_up_again_where_it_stopped(box: Appliance) -> None:
    worker, offer = await begun(box)
    await box.report(worker, offer)
    await box.workflows.cancel(offer.workflow_id)
    assert netboot(box) is None
    await box.workflows.retry(offer.workflow_id)
    assert netboot(box) is Boot.OSIE
    assert await states(box, offer.workflow_id) == ["PENDING", "SUCCESS", "PENDING"]
    assert await box.finish(worker) == ["second"]
    assert await states(box, offer.workflow_id) == ["SUCCESS", "SUCCESS", "SUCCESS"]


async def test_a_retry_begins_anew_and_hides_nothing(box: Appliance) -> None:
    worker, offer = await begun(box, RETRIES)
    await box.attempts.output(worker, offer.attempt, 0, b"first try\n")
    for _ in range(3):
        offer = await again(box, worker)
        await box.report(worker, offer, State.FAILED, reason="Broken")
    box.clock.forward(3600)
    await box.workflows.retry(offer.workflow_id)
    workflow = await box.workflows.get(offer.workflow_id)
    assert (workflow.started_at, workflow.updated_at) == (None, box.clock())
    assert [(each.state, each.failures, each.attempt, each.outcome) for each in workflow.actions] == [
        (State.PENDING, 0, "", None), (State.PENDING, 0, "", None),
    ]  # fmt: skip
    assert await box.finish(worker) == ["flaky", "last"]
    assert len(await box.workflows.attempts(offer.workflow_id)) == 5
    outputs = await box.workflows.output(offer.workflow_id, {})
    assert outputs[0].pieces[0].chunk == b"first try\n"
    kinds = await told(box, offer.workflow_id)
    assert kinds.count("workflow.started") == 2
    assert kinds.count("workflow.retried") == 1


async def test_an_earlier_action_can_be_chosen_and_what_was_done_since_is_done_again(box: Appliance) -> None:
    worker, offer = await begun(box)
    await box.report(worker, offer)
    offer = await again(box, worker)
    await box.report(worker, offer, State.FAILED)
    waiting = await box.workflow()
    with pytest.raises(Conflict, match="is PENDING"):
        await box.workflows.retry(waiting)
    await box.workflows.cancel(waiting)
    await box.workflows.retry(offer.workflow_id, "hello world/hello_world")
    (event,) = [each for each in await box.workflows.events(offer.workflow_id) if each.kind == "workflow.retried"]
    assert event.data == {"from": 0, "runs": []}
    assert await box.finish(worker) == ["hello_world", "second"]


async def test_a_workflow_is_not_retried_while_another_one_has_its_machine(box: Appliance) -> None:
    worker, failed = await begun(box)
    await box.report(worker, failed, State.FAILED)
    box.clock.forward(1)
    newer = await box.workflow()
    not_retried = (
        rf"{failed.workflow_id} is not retried: on machine machine-1 workflow {newer[:8]} \(hello_world_workflow\)"
    )
    with pytest.raises(
        Conflict, match=rf"{not_retried} waits to begin: `tinkbox workflow cancel {newer[:8]}` takes it away"
    ):
        await box.workflows.retry(failed.workflow_id)
    running = await again(box, worker)
    with pytest.raises(Conflict, match=f"{not_retried} is RUNNING: `tinkbox workflow watch"):
        await box.workflows.retry(failed.workflow_id)
    assert (await again(box, worker)).attempt == running.attempt


@pytest.mark.parametrize("end", [State.SUCCESS, State.FAILED])
async def test_a_workflow_is_not_retried_on_whose_machine_another_one_ran_since(box: Appliance, end: State) -> None:
    worker, failed = await begun(box)
    await box.report(worker, failed, State.FAILED)
    box.clock.forward(1)
    newer = await box.workflow()
    offer = await again(box, worker)
    if end is State.SUCCESS:
        await box.finish(worker)
    else:
        await box.report(worker, offer, State.FAILED)
    for first in (None, "hello world/hello_world"):
        with pytest.raises(Conflict, match=rf"{newer[:8]} \(hello_world_workflow\) ran since: {end}. .* makes it anew"):
            await box.workflows.retry(failed.workflow_id, first)
    old = await box.workflows.get(failed.workflow_id)
    assert old.state is State.FAILED
    overtaken = await box.workflows.overtaken(old)
    assert f"`tinkbox workflow create -t {old.template_name} machine-1`" in overtaken.text
    assert overtaken.of == (newer,)
    assert await box.workflows.overtaken(await box.workflows.get(newer)) == Telling()
    if end is State.FAILED:
        assert await box.workflows.retry(newer) == newer


async def test_retry_of_a_workflow_whose_template_was_changed_since_is_told_with_the_command_for_the_new_text(
    box: Appliance,
) -> None:
    worker, failed = await begun(box)
    await box.report(worker, failed, State.FAILED)
    old = await box.workflows.get(failed.workflow_id)
    assert await box.workflows.template_changed(old) == ""
    assert await box.workflows.way_to_change(old) == (
        f"if the template is to blame: `tinkbox template update {old.template_name} -f FILE`, then `tinkbox workflow create -t {old.template_name} "
        "machine-1` runs the new text; a retry keeps the old one"
    )
    box.clock.forward(1)
    template = await box.templates.get(old.template_name)
    await box.templates.update(old.template_name, data=template.data.replace("timeout: 60", "timeout: 90"))
    changed = await box.workflows.template_changed(old)
    assert changed == (
        f"template '{old.template_name}' was changed since: a retry runs the text of before; `tinkbox workflow create -t {old.template_name} "
        "machine-1` makes a workflow of the new one"
    )
    await box.workflows.retry(failed.workflow_id)
    assert await box.workflows.template_changed(await box.workflows.get(failed.workflow_id)) == changed
    again = await box.workflow(template.data)
    assert await box.workflows.template_changed(await box.workflows.get(again)) == ""


async def test_a_deleted_template_is_told_and_one_of_the_program_is_no_deleted_one(box: Appliance) -> None:
    worker, failed = await begun(box)
    await box.report(worker, failed, State.FAILED)
    old = await box.workflows.get(failed.workflow_id)
    await box.templates.delete(old.template_name)
    deleted = f"template '{old.template_name}' was deleted since: a retry runs the text of before all the same"
    assert await box.workflows.template_changed(old) == deleted
    assert await box.workflows.way_to_change(old) == ""
    of_the_program = replace(old, template_id="install", template_name="install")
    assert await box.workflows.template_changed(of_the_program) == ""
    assert await box.workflows.way_to_change(of_the_program) == ""
    assert await box.workflows.retry(failed.workflow_id) == failed.workflow_id


@pytest.mark.parametrize(
    ("devices", "command"),
    [
        ({"device_1": mac(1)}, "-t os machine-1"),
        ({"device_1": str(mac(1)).upper()}, "-t os machine-1"),
        ({"device_1": address(1)}, "-t os machine-1"),
        ({}, "-t os machine-1"),
        ({"device_1": mac(1), "url": "http://x"}, """-t os -r '{"url": "http://x"}' machine-1"""),
        ({"device_1": mac(1), "of": "`a'b"}, """-t os -r '{"of": "\\u0060a'"'"'b"}' machine-1"""),
        ({"url": "x"}, """-t os -r '{"url": "x"}'"""),
        ({"a": mac(1), "b": address(1)}, f"""-t os -r '{{"a": "{mac(1)}", "b": "{address(1)}"}}'"""),
        ({"device_1": mac(1), "long": "x" * 1_000}, "-t os -r JSON machine-1"),
    ],
)
def test_command_that_makes_a_workflow_once_more_has_all_its_parameters(devices: dict[str, str], command: str) -> None:
    machine = parse_hardware(json.dumps(hardware(1)))
    assert create_command("os", devices, machine) == f"tinkbox workflow create {command}"


@pytest.mark.parametrize("going", [False, True])
async def test_a_workflow_that_ran_since_and_was_deleted_is_not_forgotten(
    box: Appliance, monkeypatch: pytest.MonkeyPatch, *, going: bool
) -> None:
    worker, failed = await begun(box)
    await box.report(worker, failed, State.FAILED)
    newer = await box.workflow()
    await again(box, worker)
    await box.finish(worker)
    if going:  # the appliance ended in the middle of deleting it
        monkeypatch.setattr(WorkflowTable, "delete", lambda *_: None)
    await box.workflows.delete(newer)
    with pytest.raises(
        Conflict, match=r"not retried: on machine machine-1 a workflow ran since that was deleted\. .* anew"
    ):
        await box.workflows.retry(failed.workflow_id)


async def test_a_deleted_workflow_that_ran_before_does_not_keep_one_from_being_retried(box: Appliance) -> None:
    worker, older = await begun(box)
    await box.report(worker, older)
    await box.finish(worker)
    await box.workflow()
    await box.report(worker, failed := await again(box, worker), State.FAILED)
    await box.workflows.delete(older.workflow_id)
    assert await box.workflows.retry(failed.workflow_id) == failed.workflow_id


async def test_what_is_meant_for_a_run_is_refused_in_the_next(box: Appliance) -> None:
    worker, failed = await begun(box)
    key = failed.workflow_id
    await box.report(worker, failed, State.FAILED)
    seen = (await box.workflows.get(key)).run
    assert await box.workflows.retry(key, run=seen) == key
    for change in (box.workflows.cancel, box.workflows.delete):
        for run in (seen, 0):
            with pytest.raises(Conflict, match="was retried meanwhile, and is PENDING: look at it again"):
                await change(key, run=run)
    await box.report(worker, await again(box, worker), State.FAILED)
    with pytest.raises(Conflict, match="was retried meanwhile, and is FAILED"):
        await box.workflows.retry(key, run=seen)
    assert (await box.workflows.get(key)).run > seen


async def test_the_newest_workflow_of_a_machine_is_the_one_that_was_made_or_retried_last(box: Appliance) -> None:
    worker, failed = await begun(box)
    await box.report(worker, failed, State.FAILED)
    await box.workflows.cancel(newer := await box.workflow())
    assert (await box.workflows.get("machine-1")).id == newer
    await box.workflows.retry(failed.workflow_id)
    await box.report(worker, await again(box, worker), State.FAILED)
    assert (await box.workflows.get("machine-1")).id == failed.workflow_id
    assert (await box.machines.standing(worker)).state is MachineState.FAILED


async def test_what_another_workflow_that_never_began_waited_for_does_not_count(box: Appliance) -> None:
    worker, failed = await begun(box)
    await box.report(worker, failed, State.FAILED)
    box.clock.forward(1)
    await box.workflows.cancel(await box.workflow())
    assert await box.workflows.retry(failed.workflow_id) == failed.workflow_id


async def test_a_succeeded_workflow_is_not_retried(box: Appliance) -> None:
    worker, offer = await begun(box)
    await box.finish(worker)
    name = (await box.workflows.get(offer.workflow_id)).template_name
    anew = f"`tinkbox workflow create -t {name} machine-1` makes a new one, to run it once more"
    with pytest.raises(Conflict, match=re.escape(anew)):
        await box.workflows.retry(offer.workflow_id)


async def test_the_next_machine_is_woken_at_once_when_its_turn_comes(box: Appliance) -> None:
    first, second = [await box.machine(number) for number in (1, 2)]
    await box.workflow(RELAY, a=1, b=2)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(box.attempts.wait(second, 60))
        await asyncio.sleep(0)
        assert await box.finish(first) == ["one", "two"]
        await waiting
    assert await box.finish(second) == ["three"]


async def test_who_waited_in_a_workflow_that_failed_is_woken_for_the_next(box: Appliance) -> None:
    first, second = [await box.machine(number) for number in (1, 2)]
    await box.workflow(RELAY, a=1, b=2)
    following = await box.workflow(HELLO, device_1=2)
    offer = await again(box, first)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(box.attempts.wait(second, 60))
        await asyncio.sleep(0)
        await box.report(first, offer, State.FAILED)
        await waiting
    assert (await again(box, second)).workflow_id == following


@pytest.mark.parametrize("state", [State.FAILED, State.TIMEOUT, State.SUCCESS])
async def test_a_bad_end_has_what_the_doctor_said_then(box: Appliance, state: State) -> None:
    worker, offer = await begun(box)
    box.told_of[offer.workflow_id] = "The machine ran out of memory."
    await box.report(worker, offer, state, reason="" if state is State.SUCCESS else "Broken")
    events = await box.workflows.events(offer.workflow_id)
    said = {each.kind: each.data["diagnosis"] for each in events if "diagnosis" in each.data}
    kinds = {State.FAILED: "failed", State.TIMEOUT: "timeout"}
    bad = [f"{what}.{kinds[state]}" for what in ("action", "workflow")] if state in kinds else []
    assert said == dict.fromkeys(bad, "The machine ran out of memory.")


async def test_a_deadline_has_what_the_doctor_said_then(box: Appliance) -> None:
    _, offer = await begun(box)
    box.told_of[offer.workflow_id] = "The machine is silent."
    box.clock.forward(3600)
    await box.deadlines.look()
    events = await box.workflows.events(offer.workflow_id)
    assert [each.kind for each in events if each.data.get("diagnosis") == "The machine is silent."]
