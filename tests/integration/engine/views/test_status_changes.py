"""What changed since a view looked last, of a real engine."""

import asyncio
import json
from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, mac
from tests.integration.engine.held import hold
from tests.integration.engine.serving import OWN, hosts, served
from tinkbox.api.routes.workflows.breakpoints import FILTERS as BREAKPOINTS
from tinkbox.api.routes.workflows.breakpoints import breakpoints_document
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.engine.views import status_changes
from tinkbox.engine.views.status_changes import MACHINES_AT_ONCE, WORKFLOWS_AT_ONCE
from tinkbox.model.actions.progress import Told
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Verb, Verdict
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Unavailable
from tinkbox.model.labels import LabelChange
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.machine_state import MachineState
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.view.standing import Standing, standing_of
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.status import MachineLine, Snapshot, WorkLine, decode_snapshot, merged
from tinkbox.wire.polling import SILENT_SECONDS


@dataclass
class Looking:
    """A view: `now` is all that it knows, `told` what it was told last."""

    box: Appliance
    now: Snapshot | None = None
    told: Snapshot | None = None

    async def look(self) -> list[str]:
        """Ask what changed; returns the names of the machines that were told of."""
        place = self.now.place if self.now else ""
        self.told = decode_snapshot(await self.box.status_changes.after(place, "1", (), (), examined=True))
        self.now = merged(self.now, self.told) if self.now else self.told
        return [each.hostname for each in self.told.machines]

    def line(self, number: int) -> MachineLine:
        assert self.now is not None
        return next(each for each in self.now.machines if each.id == str(UUID(int=number)))

    def work(self, number: int) -> WorkLine:
        work = self.line(number).work
        assert work is not None
        return work


async def push_many(box: Appliance, number: int) -> None:
    """The machines from 1 to this number, without addresses."""
    machines = []
    for each in range(1, number + 1):
        document = {
            "id": str(UUID(int=each)),
            "network": {"interfaces": [{"dhcp": {"mac": many_mac(each), "hostname": f"machine-{each}"}}]},
        }
        machines.append(parse_hardware(json.dumps(document)))
    await box.machines.push(*machines)


def many_mac(number: int) -> str:
    return f"08:00:27:00:{number >> 8:02x}:{number & 255:02x}"


async def test_first_everything_is_told_and_then_only_what_changed(box: Appliance) -> None:
    view = Looking(box)
    workers = [await box.machine(number) for number in (1, 2, 3)]
    workflow = await box.workflow(HELLO)
    assert await view.look() == ["machine-1", "machine-2", "machine-3"]
    assert await view.look() == []
    assert (view.work(1).state, view.line(2).work) == (State.PENDING, None)
    await box.offer(workers[0])
    assert await view.look() == ["machine-1"]
    assert (view.work(1).id, view.work(1).state) == (workflow, State.RUNNING)
    await box.machines.label(mac(2), LabelChange(set={"rack": "r1"}, removed=()))
    assert await view.look() == ["machine-2"]
    assert view.line(2).labels == {"rack": "r1"}


async def test_a_line_has_the_action_its_place_and_the_reason(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    await box.workflow(HELLO)
    await view.look()
    work = view.work(1)
    assert (work.name, work.action, work.number, work.total) == ("hello_world_workflow", "hello_world", 1, 2)
    assert work.done == 0
    assert work.template.startswith("t")
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer)
    box.clock.forward(9)
    offer = await box.offer(worker)
    assert offer is not None
    await view.look()
    assert (view.work(1).action, view.work(1).number, view.work(1).since) == ("second", 2, box.clock())
    assert (view.work(1).done, view.work(1).total) == (1, 2), "as lists of workflows count"
    await box.report(worker, offer, State.FAILED, reason="DiskNotFound", message="no disk", exit_code=3)
    await view.look()
    work = view.work(1)
    assert (work.state, work.reason, work.message, work.number) == (State.FAILED, "DiskNotFound", "no disk", 2)
    assert work.since == box.clock()
    await box.workflows.retry(work.id)
    await view.look()
    assert (view.work(1).state, view.work(1).reason) == (State.PENDING, "")


async def test_a_line_of_what_failed_tells_when_its_template_was_changed_or_deleted(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    await box.workflow(HELLO)
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED)
    await view.look()
    name = view.work(1).template
    assert not view.work(1).template_changed
    box.clock.forward(1)
    await box.templates.update(name, data=HELLO.replace("timeout: 60", "timeout: 90"))
    assert await view.look() == ["machine-1"]
    assert view.work(1).template_changed
    await box.templates.delete(name)
    await view.look()
    assert view.work(1).template_changed


async def test_what_is_under_way_comes_before_what_waits_and_that_before_what_is_over(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    first = await box.workflow(HELLO)
    second = await box.workflow(HELLO)
    await view.look()
    assert view.work(1).id == first, "the next in the queue"
    await box.workflows.cancel(first)
    await view.look()
    assert view.work(1).id == second
    await box.offer(worker)
    third = await box.workflow(HELLO)
    await view.look()
    assert (view.work(1).id, view.work(1).state) == (second, State.RUNNING)
    await box.workflows.cancel(third)
    await view.look()
    assert view.work(1).id == second
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED)
    await view.look()
    assert (view.work(1).id, view.work(1).state) == (third, State.CANCELED), "the newest of what is over"


async def test_a_deleted_workflow_leaves_the_one_before_it(box: Appliance) -> None:
    view = Looking(box)
    await box.machine(1)
    first, second = await box.workflow(HELLO), await box.workflow(HELLO)
    for each in (first, second):
        await box.workflows.cancel(each)
    await view.look()
    assert view.work(1).id == second
    await box.workflows.delete(second)
    await view.look()
    assert view.work(1).id == first
    await box.workflows.delete(first)
    assert await view.look() == ["machine-1"]
    assert view.line(1).work is None


async def test_a_workflow_that_is_deleted_while_another_is_created_is_missed_by_nobody(box: Appliance) -> None:
    view = Looking(box)
    await box.machine(1)
    await box.machine(2)
    gone = await box.workflow(HELLO)
    await box.workflows.cancel(gone)
    await view.look()
    await box.workflows.delete(gone)
    await box.workflow(HELLO, device_1=2)
    assert await view.look() == ["machine-1", "machine-2"]
    assert view.line(1).work is None


async def test_each_machine_of_a_workflow_is_told_and_whose_turn_it_is(box: Appliance) -> None:
    view = Looking(box)
    first, _ = await box.machine(1), await box.machine(2)
    workflow = await box.workflow(RELAY, a=1, b=2)
    await view.look()
    assert (view.work(1).id, view.work(2).id) == (workflow, workflow)
    assert (view.work(1).elsewhere, view.work(2).elsewhere) == ("", "machine-1")
    for _ in range(2):
        offer = await box.offer(first)
        assert offer is not None
        await box.report(first, offer)
    assert await view.look() == ["machine-1", "machine-2"]
    assert (view.work(1).elsewhere, view.work(2).elsewhere) == ("machine-2", "")


async def test_machines_that_come_and_go(box: Appliance) -> None:
    view = Looking(box)
    await box.machine(1)
    await view.look()
    await box.machine(2)
    assert await view.look() == ["machine-2"]
    await box.machines.delete(mac(1))
    assert await view.look() == []
    assert view.told is not None
    assert view.told.gone == (str(UUID(int=1)),)
    assert view.now is not None
    assert [each.hostname for each in view.now.machines] == ["machine-2"]
    await box.machine(1)
    assert await view.look() == ["machine-1"]


async def test_a_machine_that_comes_back_into_service_has_its_work(box: Appliance) -> None:
    view = Looking(box)
    await box.machine(1)
    workflow = await box.workflow(HELLO)
    await box.workflows.cancel(workflow)
    await view.look()
    await box.departures.retire(mac(1), "ann")
    await view.look()
    await box.departures.give_back(mac(1), "ann")
    await view.look()
    assert view.work(1).id == workflow


@pytest.mark.parametrize("looked_between", [True, False])
async def test_a_machine_that_is_registered_again_has_none_of_the_work_of_the_deleted_one(
    box: Appliance, looked_between: bool
) -> None:
    view = Looking(box)
    await box.machine(1)
    await box.workflows.cancel(await box.workflow(HELLO))
    await view.look()
    await box.machines.delete(mac(1))
    if looked_between:
        await view.look()
    box.clock.forward(1)
    await box.machine(1)
    await view.look()
    assert view.line(1).work is None
    workflow = await box.workflow(HELLO.replace("name: hello", "name: again"))
    await view.look()
    assert view.work(1).id == workflow


@pytest.mark.parametrize("place", ["", "x", "1/2/3", "0/0", "\u0661/1", "9" * 400])
async def test_a_place_that_is_unknown_is_answered_with_everything(box: Appliance, place: str) -> None:
    await box.machine(1)
    told = decode_snapshot(await box.status_changes.after(place, "1", (), (), examined=True))
    assert (len(told.machines), told.part) == (1, False)


async def test_a_place_of_another_life_or_of_the_future_is_answered_with_everything(box: Appliance) -> None:
    await box.machine(1)
    told = decode_snapshot(await box.status_changes.after("", "1", (), (), examined=True))
    life, number = told.place.split("/")
    for place in (f"{life}1/{number}", f"{life}/{int(number) + 1}", f"{life}/-1", f"{life}/"):
        assert len(decode_snapshot(await box.status_changes.after(place, "1", (), (), examined=True)).machines) == 1


async def test_a_view_that_looked_before_too_many_went_is_told_everything(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_changes, "KEPT_GONE", 3)
    view, late = Looking(box), Looking(box)
    await push_many(box, 5)
    await view.look()
    await late.look()
    for number in range(1, 5):
        await box.machines.delete(str(UUID(int=number)))
        if number == 1:
            await view.look()
    await view.look()
    await late.look()
    for each in (view, late):
        assert each.now is not None
        assert [line.id for line in each.now.machines] == [str(UUID(int=5))]
    assert view.told is not None
    assert late.told is not None
    assert (view.told.part, late.told.part) == (True, False)


async def test_more_machines_and_workflows_than_are_looked_at_at_once(box: Appliance) -> None:
    number = MACHINES_AT_ONCE + 3
    await push_many(box, number)
    for each in range(1, WORKFLOWS_AT_ONCE + 3):
        await box.workflow(HELLO, device_1=each)
    view = Looking(box)
    assert len(await view.look()) == number
    assert view.now is not None
    assert sum(each.work is not None for each in view.now.machines) == WORKFLOWS_AT_ONCE + 2


async def test_others_have_their_turn_while_many_lines_are_made(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await push_many(box, MACHINES_AT_ONCE + 3)
    turns, seen = 0, set[int]()
    encode = status_changes.encode_machine

    def encoded(line: MachineLine) -> str:
        seen.add(turns)
        return encode(line)

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(status_changes, "encode_machine", encoded)
    async with asyncio.TaskGroup() as group:
        other = group.create_task(take_turns())
        await Looking(box).look()
        other.cancel()
    assert len(seen) > 1


async def test_progress_and_stalls_are_told_though_nothing_else_happens(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    await box.machine(2)
    await box.workflow(HELLO)
    offer = await box.offer(worker)
    assert offer is not None
    box.machines.progress.saw(mac(2), Stage.DECLINED, "172.30.0.12")
    await view.look()
    telling = Telling(workflow_id=offer.workflow_id, boot_id="boot-1", progress=Told(done=4, total=9))
    await box.running_progress.tell(worker, offer.attempt, telling)
    assert await view.look() == ["machine-1"]
    progress = view.work(1).progress
    assert progress is not None
    assert (progress.done, progress.total) == (4, 9)
    assert await view.look() == []
    box.clock.forward(21)
    box.machines.progress.heard(worker)
    assert await view.look() == ["machine-2"]
    assert view.line(2).stalled == "stalled"
    box.clock.forward(2)
    assert await view.look() == [], "for how long is seen by its age"


async def test_a_worker_that_works_and_is_silent_has_since_when(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    await box.workflow(HELLO)
    offer = await box.offer(worker)
    assert offer is not None
    await view.look()
    heard = box.clock()
    box.clock.forward(SILENT_SECONDS)
    assert await view.look() == []
    box.clock.forward(1)
    assert await view.look() == ["machine-1"]
    assert view.line(1).silent_since == heard
    box.clock.forward(60)
    assert await view.look() == [], "for how long is seen by since when"
    box.machines.progress.heard(worker)
    assert await view.look() == ["machine-1"]
    assert view.line(1).silent_since is None


async def test_a_worker_that_has_nothing_to_do_is_not_silent(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    await box.workflow(HELLO)
    await box.finish(worker)
    await view.look()
    box.clock.forward(3600)
    await view.look()
    assert view.line(1).silent_since is None


async def test_another_cause_is_told_and_another_figure_of_the_same_is_not(box: Appliance) -> None:
    view = Looking(box)
    await box.machine(1)
    await view.look()
    found = Diagnosis(
        rule="SilentLoader",
        gravity=Gravity.SUSPECT,
        cause="Its boot loader is silent.",
        evidence=("a",),
        remedy="Look at its screen.",
        machine=mac(1),
    )
    box.diagnoses = {mac(1): found, mac(9): replace(found, machine=mac(9))}
    assert await view.look() == ["machine-1"]
    assert view.line(1).diagnosis == "Its boot loader is silent."
    box.diagnoses = {mac(1): replace(found, evidence=("b",))}
    assert await view.look() == []
    box.diagnoses = {}
    assert await view.look() == ["machine-1"]
    assert view.line(1).diagnosis == ""


async def test_a_held_action_says_where_until_when_and_what_then(box: Appliance) -> None:
    view = Looking(box)
    await hold(box, await box.machine(1))
    await view.look()
    work = view.work(1)
    assert (work.held, work.on_expiry, work.state) == ("failure", "fail", State.RUNNING)
    assert (work.since, (work.deadline - box.clock()).total_seconds() if work.deadline else 0) == (box.clock(), 1800)


async def test_a_workflow_says_which_services_it_waits_for(box: Appliance) -> None:
    view = Looking(box)
    await box.machine(1)
    await box.workflow(f"{HELLO}services: [{{name: files, worker: provisioner, image: i}}]\n")
    await view.look()
    assert view.work(1).awaited == ("files",)


async def test_a_workflow_that_a_service_kept_from_beginning_names_it(box: Appliance) -> None:
    view = Looking(box)
    workflow_id = await served(box, OWN)
    ours, _ = await hosts(box)
    await ours.ask()
    await view.look()
    assert view.work(1).service == ""
    await ours.say("boot files", Phase.FAILED, reason="ServiceFailed", message="it ended 6 times")
    await view.look()
    assert (view.work(1).reason, view.work(1).service) == ("ServiceFailed", "boot files")
    await box.workflows.retry(workflow_id)
    await view.look()
    assert view.work(1).service == ""


async def test_views_that_look_at_once_are_told_the_same(box: Appliance) -> None:
    await box.machine(1)
    await box.workflow(HELLO)
    async with asyncio.TaskGroup() as group:
        looks = [group.create_task(box.status_changes.after("", "1", (), (), examined=True)) for _ in range(3)]
    assert len({each.result() for each in looks}) == 1


async def test_what_is_sent_is_a_rate_of_some_seconds(box: Appliance) -> None:
    async def rate() -> float | None:
        return decode_snapshot(await box.status_changes.after("", "1", (), (), examined=True)).health.sent

    for seconds, octets, expected in (
        (0, 1_000, None),
        (0.5, 2_000, None),
        (0.5, 3_000, 2_000.0),
        (2, 3_000, 0.0),
        (60, 9_000, None),
        (1, 9_500, 500.0),
        (1, 100, None),
    ):
        box.clock.seconds += seconds
        box.octets_sent = octets
        assert await rate() == expected, seconds


async def test_every_line_has_the_same_name_of_a_template_whatever_becomes_of_it(box: Appliance) -> None:
    view = Looking(box)
    for number in (1, 2, 3):
        await box.machine(number)
    await box.templates.create("hello", HELLO)
    for number in (1, 2):
        await box.workflows.create("hello", {"device_1": mac(number)})
    await view.look()
    await box.templates.update("hello", name="renamed")
    assert await view.look() == ["machine-1", "machine-2"]
    await box.workflows.create("renamed", {"device_1": mac(3)})
    await view.look()
    assert [view.work(number).template for number in (1, 2, 3)] == ["renamed"] * 3
    await box.templates.update("renamed", name="hello")
    await view.look()
    await box.templates.delete("hello")
    assert await view.look() == ["machine-3"]
    fresh = Looking(box)
    await fresh.look()
    assert [fresh.work(number).template for number in (1, 2, 3)] == ["hello", "hello", "renamed"]
    assert [view.work(number).template for number in (1, 2, 3)] == ["hello", "hello", "renamed"]


async def test_machines_that_wait_for_their_turn_in_a_rollout_say_so(box: Appliance) -> None:
    view = Looking(box)
    for number in (1, 2):
        await box.machine(number)
    await box.templates.create("hello", HELLO)
    await view.look()
    wanted = Wanted(template="hello", machines=(mac(1), mac(2)), max_parallel=1)
    rollout = (await box.rollouts.create(wanted, "ann")).rollout
    assert await view.look() == ["machine-1", "machine-2"]
    assert [view.line(number).rollout for number in (1, 2)] == [rollout.id, rollout.id]
    await box.progression.look()
    assert await view.look() == ["machine-1"]
    assert (view.line(1).rollout, view.work(1).state, view.line(2).rollout) == ("", State.PENDING, rollout.id)
    for change, is_paused in ((box.rollouts.pause, True), (box.rollouts.resume, False)):
        assert view.line(2).rollout_paused is not is_paused
        await change(rollout.id)
        assert await view.look() == ["machine-2"]
        assert view.line(2).rollout_paused is is_paused
    await box.rollouts.cancel(rollout.id)
    await box.progression.look()
    await view.look()
    assert (view.line(2).rollout, view.line(2).work) == ("", None)


async def test_what_was_found_before_looking_failed_is_told_by_the_next_look(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = Looking(box)
    await box.machine(1)
    await view.look()
    await box.machines.label(mac(1), LabelChange(set=(("rack", "r1"),)))
    worker = await box.machine(2)
    await box.workflow(HELLO, device_1=2)
    for failing in ("_question", "_works"):
        with monkeypatch.context() as patch:
            owner = box.status_changes.__class__ if failing == "_question" else status_changes
            patch.setattr(owner, failing, _fails)
            with pytest.raises(Unavailable):
                await view.look()
    assert await view.look() == ["machine-1", "machine-2"]
    assert (view.line(1).labels, view.work(2).state) == ({"rack": "r1"}, State.PENDING)
    await box.offer(worker)
    assert await view.look() == ["machine-2"]


def _fails(*_: object, **__: object) -> None:
    raise Unavailable("the disk is away")


async def test_a_line_has_the_state_of_its_machine_in_lists(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    await box.machine(2)

    async def agrees() -> str:
        await view.look()
        listed = {each.hardware.id: each.state for each in await box.machines.listed()}
        assert {each.id: each.state for each in view.now.machines} == listed  # type: ignore[union-attr]
        return view.line(1).state

    assert await agrees() == "idle"
    workflow = await box.workflow(HELLO)
    assert await agrees() == "waiting"
    offer = await box.offer(worker)
    assert offer is not None
    assert await agrees() == "working", "however its worker came to begin"
    await box.report(worker, offer, State.FAILED, reason="DiskNotFound", message="no disk", exit_code=3)
    assert await agrees() == "failed"
    await box.workflows.retry(workflow)
    assert await agrees() == "waiting"
    await box.finish(worker)
    assert await agrees() == "installed"
    await box.workflows.cancel(await box.workflow(HELLO))
    assert await agrees() == "installed", "nothing of it had begun"
    await hold(box, worker)
    assert await agrees() == "held"
    workflow = view.work(1).id
    await box.workflows.cancel(workflow)
    await agrees()
    box.clock.forward(6)
    await box.workflows.cancel(workflow, force=True)
    assert await agrees() == "idle", "it was broken off"


async def test_a_machine_that_has_its_turn_later_still_waits(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.machine(2)
    await box.workflow(RELAY, a=1, b=2)
    await box.offer(worker)
    assert [each.state for each in await box.machines.listed()] == ["working", "waiting"]


async def test_a_machine_that_did_its_part_works_and_the_next_waits_until_it_begins(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    parts = "- {name: %s, worker: '{{.%s}}', actions: [{name: one, image: x}]}"
    await box.workflow(f"version: '0.1'\nname: two\ntasks:\n{parts % ('t', 'a')}\n{parts % ('u', 'b')}\n", a=1, b=2)
    view = Looking(box)

    async def states() -> list[str]:
        await view.look()
        listed = [str(each.state) for each in await box.machines.listed()]
        assert [view.line(1).state, view.line(2).state] == listed
        return listed

    offer = await box.offer(first)
    assert offer is not None
    await box.report(first, offer, State.SUCCESS)
    assert await states() == ["working", "waiting"], "the second was never seen"
    offer = await box.offer(second)
    assert offer is not None
    assert await states() == ["working", "working"]
    await box.report(second, offer, State.SUCCESS)
    assert await states() == ["installed", "installed"]


@pytest.mark.parametrize("how", ["decided", "stopped"])
async def test_held_is_everywhere_what_waits_for_a_verdict(box: Appliance, how: str) -> None:
    view = Looking(box)
    offer = await hold(box, await box.machine(1))

    async def held() -> list[bool]:
        await view.look()
        line = view.line(1)
        workflows = (await box.workflows.found(WorkflowListing(states=(State.HELD,)))).pages
        (standing,) = await box.breakpoints.all()
        return [
            [each.id async for page in workflows for each in page] == [offer.workflow_id],
            (await box.machines.listed())[0].state is MachineState.HELD,
            line.state == MachineState.HELD,
            standing_of(line) is Standing.HELD,
            "HELD" in BREAKPOINTS["state"](breakpoints_document(standing)),
        ]

    assert await held() == [True] * 5
    if how == "decided":
        await box.breakpoints.resolve(offer.workflow_id, Verdict(verb=Verb.RETRY, who="ann"))
    else:
        await box.workflows.cancel(offer.workflow_id)
    assert await held() == [False] * 5
    assert view.line(1).state == "working"
    assert standing_of(view.line(1)) is (Standing.RUNNING if how == "decided" else Standing.STOPPING)


async def test_lines_are_ready_before_a_view_asks_first(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    await box.machine(1)
    await box.workflow(HELLO)
    read, is_read = status_changes._works, asyncio.Event()

    def reading(*arguments: object, **named: object) -> object:
        asyncio.run_coroutine_threadsafe(noted(), loop)
        return read(*arguments, **named)  # type: ignore[arg-type]

    async def noted() -> None:
        is_read.set()

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(status_changes, "_works", reading)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(box.status_changes.run())
        async with asyncio.timeout(20):
            await is_read.wait()
        assert await Looking(box).look() == ["machine-1"]
        monkeypatch.setattr(status_changes, "_works", None)
        assert await Looking(box).look() == ["machine-1"], "nothing is read again"
        assert not running.done(), "a part of the appliance never ends"
        running.cancel()
