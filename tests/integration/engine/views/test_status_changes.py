"""What changed since a view looked last, of a real engine."""

import asyncio
import json
from dataclasses import dataclass
from uuid import UUID

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, mac
from tests.integration.engine.held import hold
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.engine.views import status_changes
from tinkbox.engine.views.status_changes import MACHINES_AT_ONCE, WORKFLOWS_AT_ONCE
from tinkbox.model.action_progress import Told
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.errors import Unavailable
from tinkbox.model.hardware import parse_hardware
from tinkbox.model.labels import LabelChange
from tinkbox.model.workflow import State
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.status import MachineLine, Snapshot, WorkLine, decode_snapshot, merged


@dataclass
class Looking:
    """A view: `now` is all that it knows, `told` what it was told last."""

    box: Appliance
    now: Snapshot | None = None
    told: Snapshot | None = None

    async def look(self) -> list[str]:
        """Ask what changed; returns the names of the machines that were told of."""
        place = self.now.place if self.now else ""
        self.told = decode_snapshot(await self.box.status_changes.after(place, "1", (), ()))
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
    assert work.template.startswith("t")
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer)
    box.clock.forward(9)
    offer = await box.offer(worker)
    assert offer is not None
    await view.look()
    assert (view.work(1).action, view.work(1).number, view.work(1).since) == ("second", 2, box.clock())
    await box.report(worker, offer, State.FAILED, reason="DiskNotFound", message="no disk", exit_code=3)
    await view.look()
    work = view.work(1)
    assert (work.state, work.reason, work.message, work.number) == (State.FAILED, "DiskNotFound", "no disk", 2)
    assert work.since == box.clock()
    await box.workflows.retry(work.id)
    await view.look()
    assert (view.work(1).state, view.work(1).reason) == (State.PENDING, "")


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


async def test_a_machine_that_is_pushed_again_has_its_work(box: Appliance) -> None:
    view = Looking(box)
    await box.machine(1)
    workflow = await box.workflow(HELLO)
    await box.workflows.cancel(workflow)
    await view.look()
    await box.machines.delete(mac(1))
    await view.look()
    await box.machine(1)
    await view.look()
    assert view.work(1).id == workflow


@pytest.mark.parametrize("place", ["", "x", "1/2/3", "0/0", "\u0661/1", "9" * 400])
async def test_a_place_that_is_unknown_is_answered_with_everything(box: Appliance, place: str) -> None:
    await box.machine(1)
    told = decode_snapshot(await box.status_changes.after(place, "1", (), ()))
    assert (len(told.machines), told.part) == (1, False)


async def test_a_place_of_another_life_or_of_the_future_is_answered_with_everything(box: Appliance) -> None:
    await box.machine(1)
    told = decode_snapshot(await box.status_changes.after("", "1", (), ()))
    life, number = told.place.split("/")
    for place in (f"{life}1/{number}", f"{life}/{int(number) + 1}", f"{life}/-1", f"{life}/"):
        assert len(decode_snapshot(await box.status_changes.after(place, "1", (), ())).machines) == 1


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


async def test_progress_and_stalls_are_told_though_nothing_else_happens(box: Appliance) -> None:
    view = Looking(box)
    worker = await box.machine(1)
    await box.machine(2)
    await box.workflow(HELLO)
    offer = await box.offer(worker)
    assert offer is not None
    box.machines.progress.saw(mac(2), Stage.DISCOVER, "PXE", asker=Asker.PXE)
    await view.look()
    telling = Telling(workflow_id=offer.workflow_id, boot_id="boot-1", progress=Told(done=4, total=9))
    await box.running_progress.tell(worker, offer.attempt, telling)
    assert await view.look() == ["machine-1"]
    progress = view.work(1).progress
    assert progress is not None
    assert (progress.done, progress.total) == (4, 9)
    assert await view.look() == []
    box.clock.forward(11)
    assert await view.look() == ["machine-2"]
    assert view.line(2).stalled == "stalled"
    box.clock.forward(11)
    assert await view.look() == [], "for how long is seen by its age"


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


async def test_views_that_look_at_once_are_told_the_same(box: Appliance) -> None:
    await box.machine(1)
    await box.workflow(HELLO)
    async with asyncio.TaskGroup() as group:
        looks = [group.create_task(box.status_changes.after("", "1", (), ())) for _ in range(3)]
    assert len({each.result() for each in looks}) == 1


async def test_what_is_sent_is_a_rate_of_some_seconds(box: Appliance) -> None:
    async def rate() -> float | None:
        return decode_snapshot(await box.status_changes.after("", "1", (), ())).health.sent

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
