"""The appliance at a glance, of a real engine."""

from dataclasses import replace

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.serving import Host
from tinkbox.engine.views.overview import LATELY, MAX_STRANGERS, SHOWN_OF_EACH, stranger_lines
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.wire.messages.status import StrangerLine, TaskLine, WorkflowLine

TRIED = """\
version: "0.1"
name: tried
global_timeout: 100
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: never, image: x, if: "false"}
      - {name: disk, image: x, retries: 1, timeout: 60}
      - {name: reboot, image: x, reboot: true, timeout: 30}
"""


async def line(box: Appliance) -> WorkflowLine:
    (only,) = (await box.overview.snapshot("1")).workflows
    return only


async def test_what_is_skipped_counts_as_done(box: Appliance) -> None:
    await box.machine(1)
    await box.workflow(TRIED)
    assert (await line(box)).tasks == (TaskLine(name="install", worker="machine-1", done=1, total=3, skipped=1),)


async def test_of_many_services_those_that_are_not_ready_are_shown_first(box: Appliance) -> None:
    await box.machine(1)
    services = "".join(
        f"  - {{name: s{number}, worker: provisioner, image: i}}\n" for number in range(SHOWN_OF_EACH + 2)
    )
    await box.workflow(f"{TRIED}services:\n{services}")
    host = Host(box)
    await host.ask()
    await host.say("s0", Phase.READY)
    await host.say("s1", Phase.READY)
    shown = await line(box)
    assert [each.name for each in shown.services] == [f"s{number}" for number in range(2, SHOWN_OF_EACH + 2)]
    assert shown.services_more == 2


async def test_an_action_that_is_tried_again_says_why_and_which_attempt_it_is(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow(TRIED)
    offer = await box.offer(worker)
    assert offer is not None
    running = (await line(box)).running
    assert running is not None
    assert (running.name, running.attempt, running.attempts, running.timeout) == ("disk", 1, 2, 60)
    await box.report(worker, offer, State.FAILED, reason="DiskNotFound", message="no disk", exit_code=3)
    for running_now in (False, True):
        shown = await line(box)
        assert shown.retried is not None
        assert (shown.retried.reason, shown.retried.attempt, shown.retried.attempts) == ("DiskNotFound", 1, 2)
        assert (shown.running is not None, shown.failure) == (running_now, None)
        offer = await box.offer(worker)
    assert offer is not None
    assert shown.running is not None
    assert shown.running.attempt == 2
    await box.report(worker, offer, State.FAILED, reason="OutOfMemory", signal="SIGKILL", tail=("a", "b"))
    shown = await line(box)
    assert shown.failure is not None
    assert (shown.retried, shown.running) == (None, None)
    assert (shown.failure.reason, shown.failure.signal, shown.failure.attempt) == ("OutOfMemory", "SIGKILL", 2)
    assert shown.failure.last_output == "b"
    assert "memory" in shown.failure.hint


async def test_a_machine_that_leaves_is_shown_from_then_on(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow(TRIED)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer)
    offer = await box.offer(worker)
    assert offer is not None
    box.clock.forward(5)
    await box.leave(worker, offer)
    running = (await line(box)).running
    assert running is not None
    assert (running.name, running.leaving, running.started_at) == ("reboot", True, box.clock())


async def test_a_workflow_that_is_stopped_says_into_what(box: Appliance) -> None:
    worker = await box.machine(1)
    workflow_id = await box.workflow(TRIED)
    await box.offer(worker)
    await box.workflows.cancel(workflow_id)
    shown = await line(box)
    assert (shown.state, shown.stop_into, shown.ended_at) == (State.STOPPING, State.CANCELED, None)


async def test_a_workflow_that_ran_out_of_time_between_two_actions_says_so(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.workflow(TRIED)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer)
    box.clock.forward(101)
    await box.deadlines.look()
    failure = (await line(box)).failure
    assert failure is not None
    assert (failure.name, failure.reason) == ("reboot", "Timeout")
    assert "global_timeout of 100 seconds" in failure.message
    assert failure.hint


async def test_machines_that_nobody_knows_are_shown_while_they_boot(box: Appliance) -> None:
    await box.machine(1)
    for number in (1, 9):
        box.machines.progress.saw(mac(number), Stage.DISCOVER, "PXE", asker=Asker.PXE)
    box.clock.forward(50)
    shown = await box.overview.snapshot("1")
    assert [each.stalled for each in shown.machines] == ["stalled here for 50 s"]
    assert shown.strangers == (
        StrangerLine(
            mac=mac(9),
            stage=Stage.DISCOVER,
            stage_at=shown.machines[0].stage_at,
            detail="PXE",
            stalled="stalled here for 50 s",
        ),
    )
    box.clock.forward(LATELY.total_seconds())
    assert (await box.overview.snapshot("1")).strangers == ()


async def test_of_an_unknown_machine_the_doctors_cause_and_remedy_are_shown_unless_it_says_no_more(
    box: Appliance,
) -> None:
    box.machines.progress.saw(mac(9), Stage.DISCOVER, "PXE", asker=Asker.PXE)
    wrong = Diagnosis(
        rule="WrongMac", gravity=Gravity.SUSPECT, cause="It may be node7.", evidence=("a",), remedy="Type this.",
        machine=mac(9),
    )  # fmt: skip
    (shown,) = stranger_lines(box.machines, box.clock(), {mac(9): wrong})
    assert (shown.diagnosis, shown.remedy) == ("It may be node7.", "Type this.")
    (shown,) = stranger_lines(box.machines, box.clock(), {mac(9): replace(wrong, rule="NotKnown")})
    assert (shown.diagnosis, shown.remedy) == ("", "")


async def test_of_many_strangers_the_last_seen_are_shown(box: Appliance) -> None:
    for number in range(MAX_STRANGERS + 5):
        box.machines.progress.saw(mac(number), Stage.IGNORED)
    shown = (await box.overview.snapshot("1")).strangers
    assert [each.mac for each in shown] == [mac(number) for number in reversed(range(5, MAX_STRANGERS + 5))]
