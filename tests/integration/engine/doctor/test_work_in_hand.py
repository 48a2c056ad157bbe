"""Workflows as the doctor looks at them: what they wait for, what is wrong with them, and what a round of them costs."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, address, appliance, hardware, mac
from tests.integration.engine.doctor.test_examiner import World
from tinkbox import __version__
from tinkbox.engine.doctor.doctor import work_rules
from tinkbox.engine.doctor.examiner import FULL_LOOKS
from tinkbox.engine.doctor.rounds import Rounds
from tinkbox.engine.doctor.rules.kernel import MOST_DISKS
from tinkbox.engine.timeline.syslog import LINES_READ
from tinkbox.model.boot import Stage
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.engine_trouble import EngineFault, EngineTrouble
from tinkbox.model.errors import Conflict, NotFound, Unavailable
from tinkbox.model.images.mirrors import MirrorFault, MirrorTrouble
from tinkbox.model.reasons import Reason
from tinkbox.model.services import APPLIANCE, Phase, Standing
from tinkbox.model.session import TicketRefusal
from tinkbox.model.telling import Telling
from tinkbox.model.vitals import Vitals
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import Hello
from tinkbox.wire.polling import POLL_SECONDS
from tinkbox.wire.syslog import Message, Severity

SERVED = (
    HELLO
    + """\
services:
  - {name: db, image: db, worker: provisioner, timeout: 100}
"""
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        for image in ("hello-world", "tools/second:v1", "x", "db"):
            box.registry[image] = f"sha256:{image}"
        yield World(box)


async def told(world: World, workflow: str) -> list[tuple[str, Gravity]]:
    found = await world.examiner.examine_workflow(workflow)
    assert (found.workflow, found.workflows) == (workflow, 1)
    return [(each.rule, each.gravity) for each in found.diagnoses]


async def waits(world: World, workflow: str) -> str:
    return (await world.box.work_in_hand.waits(workflow)).text


async def test_a_pending_workflow_says_which_machine_it_waits_for_and_where_that_is(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    flow = await box.workflow()
    assert await waits(world, flow) == "machine-1, never seen"
    assert await told(world, flow) == [("Waiting", Gravity.HARMLESS)]
    box.clock.forward(60)
    assert await told(world, flow) == [("NeverSeen", Gravity.SUSPECT)]
    world.asks(mac(1))
    for stage in (Stage.OFFERED, Stage.LEASED, Stage.SCRIPT, Stage.KERNEL, Stage.RAMDISK):
        box.machines.progress.saw(mac(1), stage)
    assert await waits(world, flow) == "machine-1, last seen 0 s ago: fetched the OSIE"
    assert await told(world, flow) == [("Waiting", Gravity.HARMLESS)]
    box.clock.forward(700)
    assert await waits(world, flow) == "machine-1, last seen 11 min ago: fetched the OSIE; stalled here for 11 min 40 s"


@pytest.mark.parametrize(("version", "told_of"), [("0.0.9", True), (__version__, False), ("", False)])
async def test_a_worker_of_another_version_is_suspect_and_one_that_tells_none_is_not(
    world: World, version: str, told_of: bool
) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    await box.session(worker)
    assert await box.attempts.offer(worker, Hello(boot_id="boot-1", version=version)) is not None

    async def found() -> list[Diagnosis]:
        examined = await world.examiner.examine_workflow(flow)
        return [each for each in examined.diagnoses if each.rule == "OtherWorker"]

    assert [each.gravity for each in await found()] == [Gravity.SUSPECT] * told_of
    if told_of:
        (told,) = await found()
        assert "the appliance, 0.0.9:" in told.cause
        assert "`tinkbox osie build`" in told.remedy
        box.machines.progress.contact(worker, "boot-1", "0.1.1\x1b[2J" * 100)
        (told,) = await found()
        assert "\x1b" not in told.cause
        assert len(told.cause) < 600
        await box.session(worker, "boot-2")
        box.machines.progress.contact(worker, "boot-2")
        assert not await found()


async def test_an_action_that_runs_silently_is_told_with_its_last_line_and_only_when_asked(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    await box.session(worker)
    offer = await box.offer(worker)
    assert offer is not None
    fetching = b"self-test\nfetching test plan from http://172.30.0.77:8000/plan\n"

    async def running() -> list[str]:
        box.machines.progress.contact(worker, "boot-1")
        both = [await world.examiner.examine_workflow(flow), await world.examiner.examine(mac(1))]
        of_workflow, of_machine = ([each.cause for each in found.diagnoses if each.rule == "Running"] for found in both)
        assert of_workflow == of_machine
        assert await world.examiner.round() == ()
        assert await world.examiner.diagnosis_of(flow) is None
        return of_workflow

    box.clock.forward(59)
    assert await running() == []
    box.clock.forward(1)
    begun = "Action 'hello world/hello_world' of workflow 'hello_world_workflow' runs for"
    assert await running() == [f"{begun} 1:00, and printed nothing yet."]
    await box.attempts.output(worker, offer.attempt, 0, fetching)
    box.clock.forward(50)
    assert await running() == []
    box.clock.forward(88)
    assert await running() == [
        f"{begun} 3:18, and printed nothing for 2:18; its last line: 'fetching test plan from http://172.30.0.77:8000/plan'."
    ]


async def test_a_workflow_behind_another_one_names_that_and_does_not_judge_it_by_its_machine(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    first, second = await box.workflow(), await box.workflow()
    await box.session(worker)
    assert await box.offer(worker) is not None
    expected = f"machine-1, which does workflow 'hello_world_workflow' ({first[:8]}, RUNNING, at 'hello world/hello_world') first"
    assert await box.work_in_hand.waits(second) == Telling(text=expected, of=(first,))
    assert await box.work_in_hand.waits(first) == Telling()
    assert [(each.id, each.before, each.waits) for each in await box.work_in_hand.under_way()] == [
        (first, (), ""),
        (second, (first,), expected),
    ]
    assert await told(world, second) == [("Waiting", Gravity.HARMLESS)]


async def test_a_workflow_that_goes_on_at_another_machine_waits_for_that(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    await box.machine(2)
    flow = await box.workflow(RELAY, a=1, b=2)
    await box.session(worker)
    assert await box.finish(worker) == ["one", "two"]
    assert await waits(world, flow) == "machine-2, never seen"
    work = await box.work_in_hand.of_machines([worker])
    assert work == {}, "it stands at the other machine"


async def test_what_the_workflow_before_it_waits_for_is_told_as_well(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    await box.machine(2)
    ahead = await box.workflow(RELAY, a=2, b=1)
    second = await box.workflow(RELAY, a=1, b=1)
    told_of = await box.work_in_hand.waits(second)
    assert told_of.text.endswith("first; that one waits for machine-2, never seen")
    assert told_of.of == (ahead,)


async def test_each_workflow_that_is_named_in_what_one_waits_for_is_told_by_its_id(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    await box.machine(2)
    furthest = await box.workflow(device_1=2)
    between = await box.workflow(RELAY, a=2, b=1)
    last = await box.workflow(RELAY, a=1, b=2)
    told_of = await box.work_in_hand.waits(last)
    assert all(each[:8] in told_of.text for each in (between, furthest))
    assert told_of.of == (between, furthest)


async def test_a_missing_image_is_a_fault_of_the_workflow_before_anything_asks_for_it(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    del box.registry["tools/second:v1"]
    box.damaged["hello-world"] = "1 of its 2 layers is damaged"
    flow = await box.workflow()
    world.asks(mac(1))
    found = (await world.examiner.examine_workflow(flow)).diagnoses
    assert [(each.rule, each.gravity, each.workflow, each.machine) for each in found] == [
        ("ImageMissing", Gravity.FAULT, flow, mac(1)),
        ("ImageMissing", Gravity.FAULT, flow, mac(1)),
    ]
    assert [each.cause.partition(": ")[2] for each in found] == [
        "image hello-world.",
        "image tools/second:v1 is not in the registry.",
    ]
    assert [each.rule for each in await world.examiner.round()] == ["ImageMissing"], "that of its next action"
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert wrong.rule == "ImageMissing"


async def test_a_running_action_of_which_the_disk_keeps_nothing_says_so_and_a_waiting_one_does_not(
    world: World,
) -> None:
    box, worker = world.box, await world.box.machine(1)
    running, pending = await box.workflow(), await box.workflow()
    await box.session(worker)
    assert await box.offer(worker) is not None
    assert await world.examiner.diagnosis_of(running) is None
    world.unkept = (box.clock(), "the appliance's disk is full: free room where its data folder is")
    wrong = await world.examiner.diagnosis_of(running)
    assert wrong is not None
    assert (wrong.rule, wrong.workflow) == ("OutputNotKept", running)
    assert "is not kept: the appliance cannot write it since " in wrong.cause
    assert await told(world, running) == [("OutputNotKept", Gravity.FAULT)]
    assert await told(world, pending) == [("Waiting", Gravity.HARMLESS)]


async def test_a_failed_workflow_is_never_beside_nothing_wrong(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    await box.session(worker)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(
        worker, offer, State.FAILED, reason="NonZeroExit", message="exit code 3", tail=("a", "b", "c", "d", "e")
    )
    assert await told(world, flow) == [("WorkflowFailed", Gravity.FAULT)]
    assert [(each.rule, each.gravity) for each in (await world.examiner.examine(mac(1))).diagnoses] == [
        ("WorkflowFailed", Gravity.FAULT)
    ]
    (of_all,) = (await world.examiner.examine()).diagnoses
    assert (of_all.rule, of_all.gravity, of_all.workflow) == ("WorkflowFailed", Gravity.SUSPECT, flow)
    assert of_all.cause.endswith("ended as FAILED at action 'hello world/hello_world': NonZeroExit: 'exit code 3'.")
    assert [each for each in of_all.evidence if "printed" in each] == [f"it printed: {each}" for each in "bcde"]
    assert await world.examiner.round() == (), "it is over: the status of the machine says so"
    box.clock.forward(86_401)
    assert await world.rules() == []
    assert await told(world, flow) == [("WorkflowFailed", Gravity.SUSPECT)]


async def test_the_state_of_a_workflow_whose_image_did_not_come_names_the_mirror_that_is_away(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    box.registry["quay.io/tools/wipe:v1"] = "sha256:wipe"
    flow = await box.workflow(HELLO.replace("image: hello-world", "image: quay.io/tools/wipe:v1"))
    await box.session(worker)
    offer = await box.offer(worker)
    assert offer is not None
    away = MirrorTrouble(
        host="quay.io",
        url="http://mirror.lab.example:5000",
        fault=MirrorFault.REFUSED,
        why="Connection refused",
        since=box.clock(),
        at=box.clock(),
        looked=True,
    )
    pull = Reason.IMAGE_PULL_FAILED
    await box.report(worker, offer, State.FAILED, reason=pull.value, message="HTTP 424", hint=pull.hint)
    assert await told(world, flow) == [("WorkflowFailed", Gravity.FAULT)]
    world.measured = Vitals(at=box.clock(), mirrors=(away,))
    assert await told(world, flow) == [("MirrorAway", Gravity.FAULT), ("WorkflowFailed", Gravity.FAULT)]
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert (wrong.rule, wrong.workflow) == ("MirrorAway", flow)
    survey = (await world.examiner.examine()).diagnoses
    assert [each.rule for each in survey] == ["MirrorAway", "WorkflowFailed"], "the mirror once"


async def test_the_state_of_an_action_that_runs_names_no_suspicion_about_the_boot_before(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    world.asks(mac(1))
    box.machines.progress.saw(mac(1), Stage.CLOCK, offset=-90_000)
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert wrong.rule == "ClockWrong"
    await box.session(worker)
    assert await box.offer(worker) is not None
    assert await world.examiner.diagnosis_of(flow) is None
    box.clock.forward(120)
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert wrong.rule == "SilentWorker"


async def test_the_state_of_an_action_that_runs_names_nothing_about_another_card_of_its_machine(world: World) -> None:
    box = world.box
    first, second = hardware(1), hardware(2)
    cards = [each["network"]["interfaces"][0] for each in (first, second)]  # type: ignore[index]  # as they are made
    await box.machines.push(parse_hardware(json.dumps({**first, "network": {"interfaces": cards}})))
    worker, flow = str(first["id"]), await box.workflow()
    world.asks(mac(2))
    world.asks(mac(1))
    box.clock.forward(100)
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert wrong.rule == "Stalled"
    await box.session(worker)
    assert await box.offer(worker) is not None
    assert ("Stalled", Gravity.SUSPECT) in await told(world, flow)
    assert await world.examiner.diagnosis_of(flow) is None


async def test_what_the_kernel_says_during_an_action_comes_along(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    world.asks(mac(1))
    early = Message(facility=0, severity=Severity.ERROR, program="kernel", text="long before")
    box.syslog.said(mac(1), early)
    box.clock.forward(5)
    await box.session(worker)
    assert await box.offer(worker) is not None
    (work,) = await box.work_in_hand.under_way()
    assert not box.work_in_hand.warned(work)
    box.clock.forward(5)
    for program, severity, text in (
        ("kernel", Severity.ERROR, "Out of memory: Killed process 77 (dd)"),
        ("kernel", Severity.INFORMATIONAL, "usb 1-1: new device"),
        ("worker", Severity.ERROR, "not the kernel"),
    ):
        box.syslog.said(mac(1), Message(facility=0, severity=severity, program=program, text=text))
    assert box.work_in_hand.warned(work)
    patient = await box.work_in_hand.patient(flow)
    assert [each.text for each in patient.work.kernel] == [
        "Out of memory: Killed process 77 (dd)",
        "usb 1-1: new device",
    ]


async def test_what_syslog_says_of_a_running_action_is_its_diagnosis_with_whose_word_it_is(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    world.asks(mac(1))
    await box.session(worker)
    assert await box.offer(worker) is not None
    box.clock.forward(5)
    line = Message(facility=0, severity=Severity.ERROR, program="kernel", text="I/O error, dev sda, sector 1")
    box.syslog.said(mac(1), line)
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert (wrong.rule, wrong.gravity) == ("DiskErrors", Gravity.SUSPECT)
    assert wrong.cause.startswith("Syslog from the machine's address says: The disk sda has errors")
    box.clock.forward(30)
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert (wrong.rule, wrong.gravity) == ("DiskErrors", Gravity.FAULT)
    assert wrong.cause.startswith("The disk sda has errors")


async def test_what_was_said_while_the_worker_worked_on_is_not_why_it_fell_silent(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    world.asks(mac(1))
    await box.session(worker)
    assert await box.offer(worker) is not None
    box.clock.forward(5)
    text = "Out of memory: Killed process 77 (dd)"
    box.syslog.said(mac(1), Message(facility=0, severity=Severity.ERROR, program="kernel", text=text))
    for each in range(2 * LINES_READ):
        storm = Message(
            facility=0, severity=Severity.ERROR, program="kernel", text=f"I/O error, dev vd{each}, sector 1"
        )
        box.syslog.said(mac(1), storm)
    box.clock.forward(100)
    box.machines.progress.heard(worker)
    for silent in (25, 600):
        box.clock.forward(silent)
        wrong = await world.examiner.diagnosis_of(flow)
        assert wrong is not None
        assert wrong.rule == "SilentWorker"
        every = (await world.examiner.examine_either(flow)).diagnoses
        assert [each.rule for each in every if each.gravity is Gravity.FAULT] == ["SilentWorker"][: silent == 600]
        memory = next(each for each in every if each.rule == "OutOfMemory")
        assert (memory.gravity, memory.leads) == (Gravity.SUSPECT, False)
        assert "its worker was in touch all the same" in memory.evidence[-1]
        assert len([each for each in every if each.rule == "DiskErrors"]) == MOST_DISKS


async def test_a_key_means_a_machine_or_a_workflow_and_never_both(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    examiner = world.examiner
    assert (await examiner.examine_either("machine-1")).workflow == ""
    for key in (flow, "hello_world_workflow", flow[:10]):
        assert (await examiner.examine_either(key)).workflow == flow
    assert (await examiner.examine_either(mac(1))).workflow == ""
    with pytest.raises(NotFound, match="'nothing' is no machine and no workflow"):
        await examiner.examine_either("nothing")
    named = await box.workflows.create(f"t{abs(hash(HELLO))}", {"device_1": mac(1)}, name="machine-1")
    with pytest.raises(
        Conflict, match=f"'machine-1' means machine machine-1 and workflow {named[:8]}: type `tinkbox doctor {worker}`"
    ):
        await examiner.examine_either("machine-1")


async def test_a_name_that_several_workflows_have_means_the_newest_and_the_others_are_named(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    first, second = await box.workflow(), await box.workflow()
    found = await world.examiner.examine_either("hello_world_workflow")
    others = ("1 other workflow called 'hello_world_workflow'", f"only the newest is; {first[:8]}, PENDING")
    assert (found.workflow, others in found.unexamined) == (second, True)
    assert not [
        each for each, _ in (await world.examiner.examine_either(second)).unexamined if "other workflow" in each
    ]


async def test_an_unanswered_question_for_other_servers_is_not_asked_where_nobody_listens(world: World) -> None:
    world.answered.clear()
    found = await world.examiner.examine(listens=False)
    assert ("other DHCP servers", "the appliance has not asked for them yet") in found.unexamined
    assert world.asking == 0


async def busy(box: Appliance, number: int) -> list[str]:
    """So many machines, each of which runs an action; returns their workflows."""
    flows = []
    for each in range(1, number + 1):
        worker = await box.machine(each)
        flows.append(await box.workflow(device_1=each))
        await box.session(worker)
        assert await box.offer(worker) is not None
    return flows


async def test_a_round_over_healthy_machines_reads_no_timeline_and_no_workflow_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = world.box
    flows = await busy(box, 20)
    examiner = world.examiner
    assert await examiner.round() == ()
    reads = 0
    read = box.store.read

    async def counted(question: object) -> object:
        nonlocal reads
        reads += 1
        return await read(question)  # type: ignore[arg-type]

    monkeypatch.setattr(box.store, "read", counted)
    assert await examiner.round() == ()
    assert reads <= 3, "what is not over, the services and queues of those, what takes room on the disk"
    reads = 0
    box.clock.forward(120)  # every worker is silent
    found = await examiner.round()
    assert {(each.rule, each.workflow) for each in found} == {("SilentWorker", each) for each in flows}
    assert reads > 20


async def test_of_very_many_machines_in_trouble_so_many_are_read_in_a_round_and_the_others_in_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.engine.doctor.examiner.FULL_LOOKS", 7)
    assert FULL_LOOKS == 100
    await busy(world.box, 20)
    world.box.clock.forward(120)
    examiner = world.examiner
    rounds = [await examiner.round() for _ in range(4)]
    assert [len({each.machine for each in found}) for found in rounds] == [20, 20, 20, 20]
    assert len({each.workflow for each in rounds[-1]}) == 20


async def test_a_service_with_trouble_is_told_in_a_round(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    flow = await box.workflow(SERVED)
    assert "service db, which the appliance has not begun" in await waits(world, flow)
    assert await box.services.wanted(APPLIANCE, "") is not None
    (run,) = await box.runs(flow, "db")
    standing = Standing(run=run.token, phase=Phase.STARTING, reason="ImageNotFound", message="no image db here")
    await box.services.observed(APPLIANCE, (standing,))
    found: list[Diagnosis] = [*await world.examiner.round()]
    assert [(each.rule, each.gravity, each.subject) for each in found] == [("ServiceNotReady", Gravity.SUSPECT, "db")]
    assert "service db on the appliance, which is STARTING, as its host says: 'no image db here'" in await waits(
        world, flow
    )


async def test_the_remedy_of_a_failed_service_has_the_command_for_its_output(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    flow = await box.workflow(SERVED)
    assert await box.services.wanted(APPLIANCE, "") is not None
    (run,) = await box.runs(flow, "db")
    standing = Standing(run=run.token, phase=Phase.FAILED, reason=Reason.SERVICE_FAILED, message="it ended 6 times")
    await box.services.observed(APPLIANCE, (standing,))
    found = await world.examiner.examine_workflow(flow)
    (failed,) = (each for each in found.diagnoses if each.rule == "WorkflowFailed")
    assert failed.remedy.startswith(f"Read what it printed: `tinkbox service logs {flow[:8]}/db`.")


def test_rules_of_work_are_asked_where_no_boot_is_known() -> None:
    names = {each.name for each in work_rules()}
    assert names >= {"SilentWorker", "ImageMissing", "ServiceNotReady", "WorkflowFailed", "Waiting"}


async def test_a_missing_image_does_not_hide_that_the_machine_is_not_there(world: World) -> None:
    await world.box.machine(1)
    del world.box.registry["hello-world"]
    flow = await world.box.workflow()
    world.box.clock.forward(60)
    assert await told(world, flow) == [("ImageMissing", Gravity.FAULT), ("NeverSeen", Gravity.SUSPECT)]


async def test_a_ready_service_whose_engine_dies_is_told_while_its_workflow_runs(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow(SERVED)
    assert await box.services.wanted(APPLIANCE, "") is not None
    (run,) = await box.runs(flow, "db")
    ready = Standing(run=run.token, phase=Phase.READY)
    await box.services.observed(APPLIANCE, (ready,))
    await box.session(worker)
    assert await box.offer(worker) is not None
    assert await world.examiner.round() == ()
    away = replace(ready, reason=Reason.ENGINE_GONE, message="no Docker engine answers at unix:///x")
    await box.services.observed(APPLIANCE, (away,))
    (found,) = await world.examiner.round()
    assert (found.rule, found.gravity, found.subject, found.workflow) == ("ServiceGone", Gravity.FAULT, "db", flow)
    assert found.remedy.startswith("`tinkbox doctor` says what is wrong with the appliance's container engine")
    wrong = await world.examiner.diagnosis_of(flow)
    assert wrong is not None
    assert wrong.rule == "ServiceGone"
    await box.services.observed(APPLIANCE, (replace(ready, phase=Phase.EXITED),))
    assert await world.examiner.round() == (), "it ended by itself, and well"


async def test_appliances_engine_is_told_as_away_also_of_a_workflow_that_failed_for_it(world: World) -> None:
    box = world.box
    await box.machine(1)
    flow = await box.workflow(SERVED)
    assert await box.services.wanted(APPLIANCE, "") is not None
    (run,) = await box.runs(flow, "db")
    message = "no Docker engine answers at unix:///x"
    gone = Standing(run=run.token, phase=Phase.FAILED, reason=Reason.ENGINE_GONE, message=message)
    await box.services.observed(APPLIANCE, (gone,))
    assert (await box.workflows.get(flow)).state is State.FAILED
    engine = EngineTrouble(fault=EngineFault.NO_SOCKET, why=message, url="unix:///x")
    world.measured = Vitals(at=box.clock(), engine=engine)
    assert [rule for rule, _ in await told(world, flow)] == ["EngineAway", "WorkflowFailed"]
    world.measured = Vitals(at=box.clock())
    assert [rule for rule, _ in await told(world, flow)] == ["WorkflowFailed"]


async def test_changed_template_is_told_with_a_failure(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    await box.session(worker)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED, reason="NonZeroExit", message="exit code 3")
    box.clock.forward(5)
    (template,) = await box.templates.all()
    text = (await box.templates.get(template.id)).data
    await box.templates.update(template.id, data=text.replace("timeout: 60", "timeout: 90"))
    (failed,) = (await world.examiner.examine_workflow(flow)).diagnoses
    assert f"But template '{template.name}' was changed since: a retry runs the text of before" in failed.remedy
    assert f"`tinkbox workflow create -t {template.name} machine-1` makes a workflow of the new one." in failed.remedy


async def test_the_engine_of_a_machine_that_is_away_is_told_until_it_answers(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    await box.session(worker)
    assert await box.offer(worker) is not None
    box.attempts.engine_is_away(worker, 10)
    (found,) = await world.examiner.round()
    assert (found.rule, found.workflow, found.machine) == ("MachineEngineAway", flow, mac(1))
    assert "does not answer for 0:10, and 'hello world/hello_world' needs it" in found.cause
    box.attempts.engine_is_away(worker, 0)
    assert await world.examiner.round() == ()


async def test_a_failed_workflow_that_another_one_followed_is_not_advised_to_be_retried(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    await box.session(worker)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED, reason="NonZeroExit", message="exit code 3")
    (failed,) = (await world.examiner.examine_workflow(flow)).diagnoses
    assert (
        f"`tinkbox workflow retry {flow[:8]}` resumes at this action, with the text that the template had."
        in failed.remedy
    )
    following = await box.workflow()
    (failed,) = (await world.examiner.examine_workflow(flow)).diagnoses
    assert "workflow retry" not in failed.remedy
    assert f"It is not retried: workflow {following[:8]}" in failed.remedy


async def test_what_other_workers_were_refused_before_is_no_diagnosis_of_what_runs(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    world.asks(mac(1))
    await box.session(worker)
    box.clock.forward(5)
    why = TicketRefusal.USED.value
    box.machines.progress.saw(mac(1), Stage.TICKET_REFUSED, why, why=why, address="172.30.0.66")
    box.clock.forward(60)
    flow = await box.workflow()
    box.machines.progress.saw(mac(1), Stage.SESSION, "from 172.30.0.21")
    assert await box.offer(worker) is not None
    assert await world.examiner.diagnosis_of(flow) is None
    assert ("TicketRefused", Gravity.SUSPECT) in await told(world, flow)


async def test_second_host_at_the_address_of_a_worker_is_named_and_is_suspect_once_the_worker_is_back(
    world: World,
) -> None:
    box, worker, here = world.box, await world.box.machine(1), address(1)
    await box.machine(2)
    box.neighbours[here] = mac(1)
    world.asks(mac(1))
    flow = await box.workflow()
    secret = await box.session(worker, address=here)
    assert await box.offer(worker) is not None
    for _ in range(3):
        box.clock.forward(12)
        box.neighbours[here] = mac(2)
        with pytest.raises(Unavailable, match="not that of the machine"):
            box.machines.authenticate(secret, "", here)
    refused, silent = (await world.examiner.examine_workflow(flow)).diagnoses
    assert (silent.rule, silent.gravity) == ("SilentWorker", Gravity.FAULT)
    assert f"two hosts have the address {here}, and {mac(2)}" in silent.cause
    assert "machine-2 answers for it" in silent.cause
    assert (refused.rule, refused.gravity) == ("TicketRefused", Gravity.FAULT)
    assert refused.cause.startswith(f"Two hosts have the address {here}: {mac(2)}")
    assert "machine-2 answered for it beside this machine" in refused.cause
    box.neighbours[here] = mac(1)
    box.clock.forward(3)
    box.machines.authenticate(secret, "", here)
    box.machines.progress.heard(worker)
    assert await told(world, flow) == [("TicketRefused", Gravity.SUSPECT)]
    assert await world.examiner.diagnosis_of(flow) is None


async def test_boot_that_stands_still_is_harmless_once_its_workflow_was_canceled(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    flow = await box.workflow()
    world.asks(mac(1))
    for stage in (Stage.OFFERED, Stage.LEASED, Stage.SCRIPT):
        box.machines.progress.saw(mac(1), stage)
    box.clock.forward(120)

    async def found() -> list[tuple[str, Gravity]]:
        return [(each.rule, each.gravity) for each in (await world.examiner.examine(mac(1))).diagnoses]

    assert await found() == [("Stalled", Gravity.SUSPECT)]
    await box.workflows.cancel(flow)
    assert await found() == [("Stalled", Gravity.HARMLESS)]
    assert [each.rule for each in await world.examiner.round() if each.machine] == []


async def test_the_faults_of_the_appliance_are_told_beside_those_of_a_machine_and_a_workflow(world: World) -> None:
    box, _ = world.box, await world.box.machine(1)
    flow = await box.workflow()
    world.premises = replace(world.premises, mode="proxy")
    for found in (await world.examiner.examine(mac(1)), await world.examiner.examine_workflow(flow)):
        assert [each.rule for each in found.appliance] == ["NobodyGivesAddresses"]
        assert "the appliance itself" in found.examined
    assert (await world.examiner.examine()).appliance == ()


async def test_a_failed_action_that_reached_nothing_has_the_gateway_of_its_machine_asked_for(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    flow = await box.workflow()
    await box.session(worker)
    offer = await box.offer(worker)
    assert offer is not None
    known = box.machines.known.find(worker)
    gateway = known.hardware.interfaces[0].gateway
    assert gateway is not None
    await box.report(worker, offer, State.FAILED, reason="NonZeroExit", message="curl: (7) No route to host")
    assert await told(world, flow) == [("WorkflowFailed", Gravity.FAULT)]
    world.neighbours[gateway] = False
    found = [("GatewayAway", Gravity.FAULT), ("WorkflowFailed", Gravity.FAULT)]
    assert await told(world, flow) == found
    assert [(each.rule, each.gravity) for each in (await world.examiner.examine(mac(1))).diagnoses] == found
    first = await world.examiner.diagnosis_of(flow)
    assert first is not None
    assert first.rule == "GatewayAway"


async def test_a_failure_has_the_diagnosis_that_was_found_since_its_action_began_and_no_earlier_one(
    world: World,
) -> None:
    box, worker, examiner = world.box, await world.box.machine(1), world.examiner
    rounds = Rounds(examiner.round, examiner.listen, box.store, box.wakeups, box.clock)
    box.cause = rounds.cause
    digest = box.registry.pop("hello-world")
    flow = await box.workflow()
    await box.session(worker)

    async def diagnoses() -> list[object]:
        events = await box.workflows.events(flow)
        return [each.data.get("diagnosis") for each in events if each.kind == "action.failed"]

    await rounds.round()
    assert "cannot have an image that it needs" in rounds.cause(flow, None)
    box.clock.forward(1)
    box.registry["hello-world"] = digest
    offer = await box.offer(worker)
    assert offer is not None
    box.clock.forward(1)
    await box.report(worker, offer, State.FAILED, reason=Reason.NON_ZERO_EXIT, message="exit code 3")
    assert await diagnoses() == [None]
    await box.workflows.retry(flow)
    offer = await box.offer(worker)
    assert offer is not None
    box.clock.forward(20)
    box.attempts.engine_is_away(worker, 10)
    await rounds.round()
    await box.report(worker, offer, State.FAILED, reason=Reason.ENGINE_GONE)
    _, told = await diagnoses()
    assert "does not answer for 0:10" in str(told)


async def test_a_deadline_has_no_diagnosis_of_before_its_action_began(world: World) -> None:
    box, worker, examiner = world.box, await world.box.machine(1), world.examiner
    rounds = Rounds(examiner.round, examiner.listen, box.store, box.wakeups, box.clock)
    box.cause = rounds.cause
    del box.registry["hello-world"]
    flow = await box.workflow()
    await box.session(worker)
    await rounds.round()
    box.clock.forward(1)
    assert await box.offer(worker) is not None
    box.clock.forward(3600)
    await box.deadlines.look()
    (ended,) = [each for each in await box.workflows.events(flow) if each.kind == "workflow.timeout"]
    assert "diagnosis" not in ended.data


async def test_an_idle_worker_that_ended_is_told_once_a_workflow_waits_for_its_machine(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    await box.session(worker)
    assert await box.offer(worker) is None
    box.clock.forward(240)
    examiner = world.examiner
    assert await examiner.round() == (), "no workflow waits for it"
    flow = await box.workflow()
    assert await examiner.round() == (), "somebody may be on the way to switch it on"
    box.clock.forward(60)
    assert [(each.rule, each.gravity, each.leads) for each in await examiner.round()] == [
        ("SilentWorker", Gravity.SUSPECT, True),
        ("NeverSeen", Gravity.SUSPECT, True),
    ]
    assert (await told(world, flow))[0] == ("SilentWorker", Gravity.SUSPECT)
    assert (await examiner.examine("machine-1")).diagnoses[0].rule == "SilentWorker"
    world.asks(mac(1))
    assert "SilentWorker" not in {each.rule for each in await examiner.round()}, "it boots"
    assert await box.offer(worker, "boot-2") is not None
    assert "SilentWorker" not in {each.rule for each in await examiner.round()}


async def test_an_idle_worker_asks_seldom_and_is_no_silent_one(world: World) -> None:
    box, worker = world.box, await world.box.machine(1)
    await box.session(worker)
    assert await box.offer(worker) is None
    flow = await box.workflow()
    box.clock.forward(POLL_SECONDS + 5)
    assert await told(world, flow) == [("Waiting", Gravity.HARMLESS)]
    box.clock.forward(10)
    assert await told(world, flow) == [("SilentWorker", Gravity.SUSPECT)]
