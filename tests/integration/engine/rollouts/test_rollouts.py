"""Rollouts over a real store: machines that succeed and fail, people who decide, and an appliance that is killed."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from uuid import UUID

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, Clock, appliance, hardware, mac
from tinkbox.engine.rollouts import progression, rollouts
from tinkbox.engine.rollouts.planning import KEYS_AT_ONCE, Plan, Wanted, chosen_machines
from tinkbox.engine.rollouts.rollouts import Standing
from tinkbox.engine.rules.arming import Change
from tinkbox.engine.workflows.obstacles import boot_obstacles
from tinkbox.model.audit import Listing
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Conflict, Invalid, NotFound, Unavailable
from tinkbox.model.hardware import Hardware
from tinkbox.model.labels import LabelChange, LabelKind, parse_selector
from tinkbox.model.listing import Order
from tinkbox.model.netboot import Netboot, OwnOsie
from tinkbox.model.notes import Retirement
from tinkbox.model.rollout import MAX_MACHINES, Member, OnFailure, Place, RolloutState
from tinkbox.model.workflow import FINAL, State, Workflow
from tinkbox.store.database import Tables

ONE = """\
version: "0.1"
name: one
tasks:
  - name: install
    worker: "{{.device_1}}"
    actions:
      - {name: write, image: x, disk: smallest, wipes: [smallest]}
      - {name: second, image: x}
"""
WITH_PARAMETER = ONE.replace("image: x}", "image: '{{.image}}'}")
FIXED = ONE.replace("{{.device_1}}", mac(1))
RENDERS_FOR_ONE = ONE.replace("name: one", 'name: {{ if eq .device_1 "08:00:27:00:00:02" }}{{ fail "no" }}{{ end }}one')


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Appliance]:
    async with appliance(tmp_path / "db") as box:
        await box.templates.create("one", ONE)
        yield box


async def prepared(box: Appliance, number: int) -> list[str]:
    """So many machines; returns their ids."""
    return [await box.machine(each) for each in range(1, number + 1)]


def wanted(machines: Sequence[str] = (), **more: object) -> Wanted:
    return Wanted(template="one", machines=machines, **more)


async def go_on(box: Appliance) -> None:
    """Let all rollouts do what they can do now."""
    while await box.progression.look():
        pass


async def unfinished(box: Appliance) -> list[Workflow]:
    return [each for each in await box.workflows.all() if each.state not in FINAL]


async def carry_out(box: Appliance, failing: Sequence[str] = ()) -> int:
    """Every machine does what it has to do, or fails; returns how many had something to do."""
    begun = await unfinished(box)
    for workflow in begun:
        (worker,) = workflow.workers()
        while (offer := await box.offer(worker)) is not None:
            state = State.FAILED if worker in failing else State.SUCCESS
            await box.report(worker, offer, state, message="no disk" if worker in failing else "")
    return len(begun)


async def to_its_end(box: Appliance, failing: Sequence[str] = ()) -> list[int]:
    """Let rollouts go on until they do no more; returns how many machines were under way each time."""
    rounds = []
    await go_on(box)
    while number := await carry_out(box, failing):
        rounds.append(number)
        await go_on(box)
    return rounds


async def standing(box: Appliance, key: str) -> Standing:
    found = await box.rollouts.get(key)
    counts = found.counts
    assert counts.total == sum(counts.of(each) for each in Place)
    return found


async def places(box: Appliance, key: str) -> dict[str, Place]:
    return {each.name: each.place for each in (await box.rollouts.members(key)).members}


async def each_machine_once(box: Appliance, machines: Sequence[str]) -> None:
    """No workflow is lost or doubled."""
    workers = [worker for each in await box.workflows.all() for worker in each.workers()]
    assert sorted(workers) == sorted(machines)


async def test_forty_machines_eight_at_a_time_and_three_that_fail_are_carried_through(box: Appliance) -> None:
    ids = await prepared(box, 40)
    made = await box.rollouts.create(wanted(ids, max_parallel=8, on_failure=OnFailure.CONTINUE), "ann")
    key = made.rollout.id
    assert made.rollout.state is RolloutState.WAITING
    assert made.counts.waiting == 40
    assert await to_its_end(box, failing=ids[3:6]) == [8, 8, 8, 8, 8]
    end = await standing(box, key)
    assert end.rollout.state is RolloutState.FAILED
    assert (end.counts.succeeded, end.counts.unsuccessful, end.counts.waiting) == (37, 3, 0)
    assert [(each.name, each.place, each.message) for each in end.unsuccessful] == [
        (f"machine-{number}", Place.FAILED, "install/write: no disk") for number in (4, 5, 6)
    ]
    await each_machine_once(box, ids)


async def test_a_failure_stops_it_and_those_under_way_end(box: Appliance) -> None:
    ids = await prepared(box, 40)
    key = (await box.rollouts.create(wanted(ids, max_parallel=8), "ann")).rollout.id
    await go_on(box)
    offer = await box.offer(ids[3])
    assert offer is not None
    await box.report(ids[3], offer, State.FAILED)
    await go_on(box)
    stopping = await standing(box, key)
    assert stopping.rollout.state is RolloutState.STOPPING
    assert (stopping.counts.under_way, stopping.counts.waiting) == (7, 32)
    assert await to_its_end(box) == [7]
    end = await standing(box, key)
    assert end.rollout.state is RolloutState.FAILED
    assert (end.counts.succeeded, end.counts.unsuccessful, end.counts.waiting) == (7, 1, 32)
    assert [each.name for each in end.waiting][:2] == ["machine-9", "machine-10"]


async def test_a_retry_resumes_what_failed_and_goes_on_with_the_rest(box: Appliance) -> None:
    ids = await prepared(box, 12)
    key = (await box.rollouts.create(wanted(ids, max_parallel=4), "ann")).rollout.id
    await to_its_end(box, failing=ids[:2])
    assert (await standing(box, key)).counts.waiting == 8
    assert (await box.rollouts.retry(key)).rollout.state is RolloutState.RUNNING
    assert await to_its_end(box) == [4, 4, 2]
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.SUCCESS, 12)
    await each_machine_once(box, ids)
    with pytest.raises(Conflict, match="is SUCCESS"):
        await box.rollouts.retry(key)


async def test_a_machine_on_which_another_workflow_ran_since_is_not_retried(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids)
    box.clock.forward(1)
    newer = await box.workflows.create("one", {"device_1": mac(1)})
    await carry_out(box)
    with pytest.raises(Invalid, match="nothing was begun: 1 machine of 2 cannot begin") as refused:
        await box.rollouts.retry(key)
    assert f"workflow {newer[:8]} " in str(refused.value.problems[0])
    assert "ran since: SUCCESS" in str(refused.value.problems[0])
    await box.rollouts.retry(key, skip_refused=True)
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.FAILED, 1)


async def test_a_machine_that_waited_and_that_another_workflow_installed_meanwhile_is_not_resumed(
    box: Appliance,
) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    box.clock.forward(1)
    other = await box.workflows.create("one", {"device_1": mac(2)})
    await carry_out(box)
    for again in (box.rollouts.resume, box.rollouts.retry):
        with pytest.raises(Invalid, match="nothing was begun: 1 machine of") as refused:
            await again(key)
        (problem,) = refused.value.problems
        assert str(problem).startswith(f"machine-2: workflow {other[:8]} (one) ran since: SUCCESS. Where this one")
        assert "`tinkbox workflow create -t one machine-2`" in str(problem)
    assert [each.name for each in (await standing(box, key)).waiting] == ["machine-2", "machine-3"]
    await box.rollouts.resume(key, skip_refused=True)
    assert await to_its_end(box) == [1]
    end = await standing(box, key)
    assert {each.name: each.place for each in end.unsuccessful} == {
        "machine-1": Place.FAILED,
        "machine-2": Place.CANCELED,
    }
    with pytest.raises(Invalid, match="1 machine of 2 cannot begin"):
        await box.rollouts.retry(key)


async def rename(box: Appliance, number: int, name: str) -> None:
    document = json.dumps(hardware(number)).replace(f"machine-{number}", name)
    await box.machines.push(parse_hardware(document))


async def test_machines_are_shown_by_their_names_of_today(box: Appliance) -> None:
    ids = await prepared(box, 4)
    key = (await box.rollouts.create(wanted(ids, max_parallel=3, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await go_on(box)
    offer = await box.offer(ids[0])
    assert offer is not None
    await box.report(ids[0], offer, State.FAILED, message="no disk")
    for number, name in ((1, "machine-2"), (2, "machine-1"), (4, "node9")):
        await rename(box, number, name)
    at = await standing(box, key)
    assert [(each.name, each.machine) for each in at.unsuccessful] == [("machine-2", ids[0])]
    assert [(each.name, each.machine) for each in at.under_way] == [("machine-1", ids[1]), ("machine-3", ids[2])]
    assert [each.name for each in at.waiting] == ["node9"]
    members = (await box.rollouts.members(key)).members
    assert [each.name for each in members] == ["machine-2", "machine-1", "machine-3", "node9"]


async def test_a_machine_that_is_gone_does_not_read_as_the_one_that_has_its_name_today(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    await box.machines.delete(ids[0])
    assert [each.name for each in (await standing(box, key)).unsuccessful] == ["machine-1"]
    await rename(box, 2, "machine-1")
    assert [each.name for each in (await standing(box, key)).unsuccessful] == ["machine-1 (deleted)"]
    members = (await box.rollouts.members(key)).members
    assert [each.name for each in members] == ["machine-1 (deleted)", "machine-1"]


async def test_a_refused_machine_is_named_as_today_and_its_reason_is_kept_with_what_means_it_later(
    box: Appliance,
) -> None:
    ids = await prepared(box, 4)
    key = (await box.rollouts.create(wanted(ids, max_parallel=2), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    box.clock.forward(1)
    for number in (1, 3):
        await box.workflows.create("one", {"device_1": mac(number)})
    await carry_out(box)
    for number, name in ((1, "machine-3"), (3, "machine-1")):
        await rename(box, number, name)
    with pytest.raises(Invalid) as refused:
        await box.rollouts.retry(key)
    told = {each.key: each.text.partition("create -t one ")[2].partition("`")[0] for each in refused.value.problems}
    assert told == {"machine-3": "machine-3", "machine-1": "machine-1"}
    await rename(box, 4, "machine-1")
    with pytest.raises(Invalid) as refused:
        await box.rollouts.resume(key)
    assert f"`tinkbox workflow create -t one {ids[2]}`" in refused.value.problems[0].text, "two have the name"
    await rename(box, 4, "machine-4")
    resumed = await box.rollouts.resume(key, skip_refused=True)
    assert [(each.name, each.machine) for each in resumed.refused] == [("machine-1", ids[2])]
    (kept,) = [each.message for each in (await box.rollouts.members(key)).members if each.machine == ids[2]]
    assert kept.startswith("left out: workflow")
    assert f"`tinkbox workflow create -t one {ids[2]}`" in kept
    assert "machine-" not in kept


@pytest.mark.parametrize("deleted_first", [False, True])
async def test_a_machine_whose_own_workflow_was_deleted_is_not_retried_over_what_another_one_did(
    box: Appliance, *, deleted_first: bool
) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    (failed,) = (await standing(box, key)).unsuccessful
    box.clock.forward(1)
    if deleted_first:
        await box.workflows.delete(failed.workflow_id)
    await box.workflows.create("one", {"device_1": mac(1)})
    await carry_out(box)
    if not deleted_first:
        await box.workflows.delete(failed.workflow_id)
    with pytest.raises(Invalid, match="nothing was begun: 1 machine of 1 cannot begin") as refused:
        await box.rollouts.retry(key)
    assert "ran since: SUCCESS" in str(refused.value.problems[0])


@pytest.mark.parametrize("own_deleted", [False, True])
async def test_what_another_workflow_did_counts_also_when_it_was_deleted(box: Appliance, *, own_deleted: bool) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    (failed,) = (await standing(box, key)).unsuccessful
    for number, again in ((2, box.rollouts.resume), (1, box.rollouts.retry)):
        box.clock.forward(1)
        other = await box.workflows.create("one", {"device_1": mac(number)})
        await carry_out(box)
        await box.workflows.delete(other)
        if number == 1 and own_deleted:
            await box.workflows.delete(failed.workflow_id)
        with pytest.raises(Invalid, match=f"{3 - number} machines? of") as refused:
            await again(key)
        assert f"machine-{number}: a workflow ran since that was deleted" in "".join(map(str, refused.value.problems))


async def test_a_machine_whose_own_workflow_alone_was_deleted_gets_another_one(box: Appliance) -> None:
    ids = await prepared(box, 1)
    box.clock.forward(1)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    box.clock.forward(1)
    await to_its_end(box, failing=ids)
    (failed,) = (await standing(box, key)).unsuccessful
    await box.workflows.delete(failed.workflow_id)
    await box.rollouts.retry(key)
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS


async def test_what_ran_on_a_machine_before_its_rollout_was_made_does_not_count(box: Appliance) -> None:
    ids = await prepared(box, 2)
    await box.workflows.create("one", {"device_1": mac(2)})
    await carry_out(box)
    box.clock.forward(1)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    await box.rollouts.resume(key)
    assert await to_its_end(box) == [1]


async def test_a_rollout_that_a_failure_stopped_can_go_on_without_the_machine(box: Appliance) -> None:
    ids = await prepared(box, 6)
    key = (await box.rollouts.create(wanted(ids, max_parallel=2), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    assert (await standing(box, key)).rollout.state is RolloutState.FAILED
    await box.rollouts.resume(key)
    assert await to_its_end(box) == [2, 2]
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.FAILED, 5)
    with pytest.raises(Conflict, match="rollout retry"):
        await box.rollouts.resume(key)


async def test_a_workflow_that_is_retried_by_hand_counts_again(box: Appliance) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids[1:2])
    (failed,) = (await standing(box, key)).unsuccessful
    await box.workflows.retry(failed.workflow_id)
    again = await standing(box, key)
    assert (again.rollout.state, again.counts.under_way) == (RolloutState.FAILED, 1)
    with pytest.raises(Conflict, match=r"1 machine of it, retried already, did not end yet: `tinkbox rollout watch"):
        await box.rollouts.retry(key)
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS


async def test_a_pause_lets_those_under_way_end_and_no_other_begin(box: Appliance) -> None:
    ids = await prepared(box, 8)
    key = (await box.rollouts.create(wanted(ids, max_parallel=3), "ann")).rollout.id
    await go_on(box)
    await box.rollouts.pause(key)
    assert await to_its_end(box) == [3]
    paused = await standing(box, key)
    assert (paused.rollout.state, paused.counts.succeeded, paused.counts.waiting) == (RolloutState.PAUSED, 3, 5)
    with pytest.raises(Conflict, match="is PAUSED: it cannot be paused"):
        await box.rollouts.pause(key)
    await box.rollouts.resume(key)
    assert await to_its_end(box) == [3, 2]
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS


async def test_a_pause_counts_for_a_machine_that_is_about_to_begin(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    create = box.workflows.create

    async def pausing(*given: object, **named: object) -> str:
        if (await box.rollouts.get(key)).rollout.state is not RolloutState.PAUSED:
            await box.rollouts.pause(key)
        return await create(*given, **named)

    monkeypatch.setattr(box.workflows, "create", pausing)
    await go_on(box)
    assert (await standing(box, key)).counts.waiting == 2
    assert await box.workflows.all() == []


async def test_a_failure_counts_for_a_machine_that_is_about_to_begin(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    create = box.workflows.create

    async def failing(*given: object, **named: object) -> str:
        await carry_out(box, failing=ids)
        return await create(*given, **named)

    monkeypatch.setattr(box.workflows, "create", failing)
    await go_on(box)
    await go_on(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.unsuccessful, end.counts.waiting) == (RolloutState.FAILED, 1, 2)


async def test_a_cancel_ends_the_workflows_under_way(box: Appliance) -> None:
    ids = await prepared(box, 6)
    key = (await box.rollouts.create(wanted(ids, max_parallel=3), "ann")).rollout.id
    await go_on(box)
    offer = await box.offer(ids[0])
    assert offer is not None
    assert (await box.rollouts.cancel(key)).rollout.state is RolloutState.STOPPING
    await go_on(box)
    stopping = await standing(box, key)
    assert (stopping.rollout.state, stopping.counts.of(Place.STOPPING)) == (RolloutState.STOPPING, 1)
    await box.report(ids[0], offer, State.CANCELED)
    await go_on(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.of(Place.CANCELED), end.counts.waiting) == (RolloutState.CANCELED, 3, 3)
    with pytest.raises(Conflict, match="is CANCELED"):
        await box.rollouts.cancel(key)
    await box.rollouts.retry(key)
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS
    await each_machine_once(box, ids)


async def test_what_waits_for_its_retry_when_that_is_canceled_is_as_its_workflow_is(box: Appliance) -> None:
    ids = await prepared(box, 4)
    key = (await box.rollouts.create(wanted(ids, max_parallel=2), "ann")).rollout.id
    await go_on(box)
    await box.rollouts.cancel(key)
    await go_on(box)
    await box.workflows.delete("machine-2")
    await go_on(box)
    await box.rollouts.retry(key)
    assert (await standing(box, key)).counts.waiting == 4
    await box.rollouts.cancel(key)
    await go_on(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.of(Place.CANCELED), end.counts.waiting) == (RolloutState.CANCELED, 2, 2)
    assert [(each.name, each.message) for each in end.unsuccessful] == [
        ("machine-1", "the workflow was canceled"),
        ("machine-2", "its workflow was deleted"),
    ]
    await box.rollouts.retry(key)
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS


async def test_what_waits_for_its_retry_when_another_fails_has_failed_still(box: Appliance) -> None:
    ids = await prepared(box, 6)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    await box.rollouts.retry(key)
    await box.workflow(device_1=1)  # for which the first waits
    assert (await standing(box, key)).counts.unsuccessful == 0
    await to_its_end(box, failing=ids[1:2])
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.unsuccessful, end.counts.waiting) == (RolloutState.FAILED, 2, 4)
    assert [(each.name, each.message) for each in end.unsuccessful] == [
        (name, "install/write: no disk") for name in ("machine-1", "machine-2")
    ]


@pytest.mark.parametrize("again", ["resume", "retry"])
async def test_nothing_goes_on_before_a_cancel_is_carried_out(box: Appliance, again: str) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await go_on(box)
    offer = await box.offer(ids[0])
    assert offer is not None
    take_up = getattr(box.rollouts, again)
    await box.rollouts.cancel(key)
    way_out = rf"is being canceled: `tinkbox rollout watch {key[:8]}` tells when it is over; {again} it then"
    with pytest.raises(Conflict, match=way_out):
        await take_up(key)
    await go_on(box)
    with pytest.raises(Conflict, match=way_out):
        await take_up(key)  # its machine was told to stop
    await box.report(ids[0], offer, State.CANCELED)
    await go_on(box)
    assert (await standing(box, key)).counts.of(Place.CANCELED) == 1
    assert (await take_up(key)).rollout.state is RolloutState.RUNNING


async def test_a_retry_counts_what_was_canceled_behind_its_last_action_as_done(box: Appliance) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await go_on(box)
    first = (await standing(box, key)).under_way[0].workflow_id
    while (offer := await box.offer(ids[0])) is not None:
        if offer.action.index + 1 == len((await box.workflows.get(first)).actions):
            await box.rollouts.cancel(key)
            await go_on(box)
        await box.report(ids[0], offer)
    await go_on(box)
    assert (await box.workflows.get(first)).state is State.CANCELED
    assert (await standing(box, key)).rollout.state is RolloutState.CANCELED
    await box.rollouts.retry(key)
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.SUCCESS, 3)
    await each_machine_once(box, ids)


async def test_the_log_says_what_a_rollout_did_with_a_workflow(
    box: Appliance, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await prepared(box, 1)
    made = (await box.rollouts.create(wanted(["machine-1"]), "ann")).rollout
    await go_on(box)
    (workflow,) = await unfinished(box)
    await box.rollouts.cancel(made.id)
    await go_on(box)
    await go_on(box)
    await box.rollouts.retry(made.id)
    await go_on(box)
    name = f"rollout {made.short}"
    said = [each.getMessage() for each in caplog.records if each.name == progression.__name__]
    assert said == [f"workflow {what} by {name}: {workflow.id}" for what in ("created", "canceled", "retried")]


async def test_the_audit_says_what_a_rollout_did_with_each_workflow_and_who_made_it(box: Appliance) -> None:
    ids = await prepared(box, 2)
    made = (await box.rollouts.create(wanted(ids[:1]), "anna")).rollout
    await go_on(box)
    (workflow,) = await box.workflows.all()
    await box.rollouts.cancel(made.id)
    await go_on(box)
    await go_on(box)
    await box.rollouts.retry(made.id)
    await go_on(box)
    found, _ = await box.audit.listed(Listing(object=workflow.id, order=Order("number")))
    lines = [each.document() for each in found]
    assert [(each["kind"], each["who"], each["what"]) for each in lines] == [
        ("own", "tinkbox", f"workflow {done}") for done in ("created", "canceled", "retried")
    ]
    assert {each["why"] for each in lines} == {f"rollout {made.id}, which anna made"}
    (created,), (canceled,), (retried,) = [each["changed"] for each in lines]
    assert (created["before"], canceled["before"], retried["before"]) == ("", created["after"], canceled["after"])
    for name in (made.id, "one", mac(1), "machine-1"):
        assert len((await box.audit.listed(Listing(object=name)))[0]) == 3, name


async def test_a_rollout_of_which_nothing_has_begun_is_canceled_at_once(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    await box.rollouts.cancel(key)
    await go_on(box)
    assert (await standing(box, key)).rollout.state is RolloutState.CANCELED
    assert await box.workflows.all() == []


async def test_a_workflow_that_a_person_cancels_stops_no_rollout(box: Appliance) -> None:
    ids = await prepared(box, 4)
    key = (await box.rollouts.create(wanted(ids, max_parallel=2), "ann")).rollout.id
    await go_on(box)
    first = (await standing(box, key)).under_way[0]
    await box.workflows.cancel(first.workflow_id)
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.FAILED, 3)
    assert [(each.place, each.reason) for each in end.unsuccessful] == [(Place.CANCELED, "Canceled")]


@pytest.mark.parametrize("policy", OnFailure)
async def test_every_machine_has_one_workflow_wherever_the_appliance_is_killed(
    tmp_path: Path, policy: OnFailure
) -> None:
    numbers, clock, name = count(1), Clock(), ""
    machines: list[str] = []

    async def life(step: int) -> bool:
        """From one start to a kill; True at the end."""
        nonlocal name, machines
        async with appliance(tmp_path / "db", clock, numbers) as box:
            if not name:
                machines = await prepared(box, 10)
                await box.templates.create("one", ONE)
                made = await box.rollouts.create(wanted(machines, max_parallel=3, on_failure=policy), "ann")
                name = made.rollout.id
            died = await until_killed(box, step)
            for each in await unfinished(box):
                assert each.name == "one"
            if died:
                return False
            await to_its_end(box)
            return (await box.rollouts.get(name)).rollout.state is RolloutState.SUCCESS

    for step in range(40):
        if await life(step):
            break
    else:
        pytest.fail("it came to no end")
    async with appliance(tmp_path / "db", clock, numbers) as box:
        await each_machine_once(box, machines)


async def until_killed(box: Appliance, step: int) -> bool:
    """Go on until transaction `step` of it, before or after which the process dies; False when there are fewer."""
    write, left = box.store.write, iter(range(step // 2, -1, -1))

    async def dying(use_case: object) -> object:
        if next(left, -1) == 0:
            if step % 2:
                await write(use_case)
            raise Unavailable("killed")
        return await write(use_case)

    box.store.write = dying  # type: ignore[method-assign]
    try:
        await to_its_end(box)
    except Unavailable:
        return True
    finally:
        box.store.write = write  # type: ignore[method-assign]
    return False


async def test_two_rollouts_share_no_machine_that_waits_or_works(box: Appliance) -> None:
    ids = await prepared(box, 4)
    first = (await box.rollouts.create(wanted(ids[:3], max_parallel=1), "ann")).rollout
    await go_on(box)
    with pytest.raises(Invalid, match="2 machines of 3 cannot begin; --skip-refused") as refused:
        await box.rollouts.create(wanted([ids[0], ids[2], ids[3]]), "bob")
    reasons = {each.key: each.text for each in refused.value.problems}
    assert "is not over: `tinkbox workflow watch" in reasons["machine-1"]
    assert reasons["machine-3"].startswith(f"it waits in rollout {first.short}")
    second = (await box.rollouts.create(wanted([ids[0], ids[2], ids[3]]), "bob", skip_refused=True)).rollout
    assert list(await places(box, second.id)) == ["machine-4"]
    await to_its_end(box)
    for each in (first, second):
        assert (await standing(box, each.id)).rollout.state is RolloutState.SUCCESS
    await each_machine_once(box, ids)


async def test_two_rollouts_that_are_made_at_the_same_time_share_no_machine(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await prepared(box, 1)
    plan = box.rollouts.plan

    async def overtaken(*given: object) -> object:
        made = await plan(*given)
        monkeypatch.setattr(box.rollouts, "plan", plan)
        await box.rollouts.create(wanted(ids), "bob")
        return made

    monkeypatch.setattr(box.rollouts, "plan", overtaken)
    with pytest.raises(Invalid, match="nothing was begun"):
        await box.rollouts.create(wanted(ids), "ann")
    assert len(await box.rollouts.all()) == 1


async def test_a_machine_that_is_busy_by_then_waits_and_others_come_first(box: Appliance) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    other = await box.workflow(HELLO, device_1=2)
    await go_on(box)
    await box.finish(ids[0])
    await go_on(box)
    assert await places(box, key) == {
        "machine-1": Place.SUCCESS,
        "machine-2": Place.WAITING,
        "machine-3": Place.PENDING,
    }
    await box.finish(ids[2])
    await go_on(box)
    assert (await standing(box, key)).rollout.state is RolloutState.RUNNING
    await box.workflows.cancel(other)
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS


async def test_a_machine_that_gets_another_workflow_when_it_is_about_to_begin_waits(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await prepared(box, 1)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    create = box.workflows.create

    async def overtaken(*given: object, **named: object) -> str:
        monkeypatch.setattr(box.workflows, "create", create)
        await box.workflow(HELLO, device_1=1)
        return await create(*given, **named)

    monkeypatch.setattr(box.workflows, "create", overtaken)
    await go_on(box)
    assert (await standing(box, key)).counts.waiting == 1
    assert [each.name for each in await box.workflows.all()] == ["hello_world_workflow"]
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS


async def test_a_failure_that_was_not_noted_yet_stops_a_rollout_that_is_resumed(box: Appliance) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await go_on(box)
    await box.rollouts.pause(key)
    await carry_out(box, failing=ids)
    await box.rollouts.resume(key)
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.waiting) == (RolloutState.FAILED, 2)


async def test_a_machine_that_is_retired_is_refused_and_canceled_when_that_happens_before_its_turn(
    box: Appliance,
) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    retirement = Retirement(at=box.clock(), who="ann")
    await box.store.write(lambda tables: tables.retirements.put(ids[1], retirement))
    await box.machines.refresh(ids[1:2])
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.FAILED, 2)
    assert [(each.place, each.message) for each in end.unsuccessful] == [
        (Place.CANCELED, "the machine was retired before its turn")
    ]
    (refused,) = (await box.rollouts.plan(wanted(ids))).refused
    assert refused.why.startswith("it is retired: `tinkbox hardware return machine-2`")


async def retire(box: Appliance, machine: str) -> None:
    await box.store.write(lambda tables: tables.retirements.put(machine, Retirement(at=box.clock(), who="ann")))
    await box.machines.refresh([machine])


async def test_a_retry_leaves_out_what_is_out_of_service_and_the_rollout_can_succeed(box: Appliance) -> None:
    ids = await prepared(box, 4)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids[:3])
    await retire(box, ids[0])
    await box.workflows.delete((await standing(box, key)).unsuccessful[1].workflow_id)
    await box.machines.delete(ids[1])
    await box.rollouts.retry(key)
    assert await to_its_end(box) == [1]
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded, end.counts.left) == (RolloutState.SUCCESS, 2, 2)
    assert [(each.name, each.place, each.message) for each in end.unsuccessful] == [
        ("machine-1", Place.LEFT, "install/write: no disk"),
        ("machine-2", Place.LEFT, "install/write: no disk"),
    ]


async def test_a_retry_with_nothing_but_machines_out_of_service_ends_the_rollout(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await go_on(box)
    await carry_out(box, failing=ids[:1])
    await retire(box, ids[0])
    await box.rollouts.retry(key)  # before it was noted why
    await go_on(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.unsuccessful[0].message) == (RolloutState.SUCCESS, "install/write: no disk")


async def test_a_machine_that_is_left_out_before_it_began_has_a_reason(box: Appliance) -> None:
    ids = await prepared(box, 5)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    await box.rollouts.retry(key)
    await box.workflow(device_1=1)  # for which the first waits
    await to_its_end(box, failing=ids[1:2])
    await box.rollouts.retry(key)
    await to_its_end(box, failing=ids[1:2])
    await retire(box, ids[3])
    await box.machines.delete(ids[4])
    await box.rollouts.retry(key)
    told = {each.name: each.message for each in (await box.rollouts.members(key)).members if each.place is Place.LEFT}
    assert told == {
        "machine-4": "the machine was retired before its turn",
        "machine-5": "the machine was deleted before its turn",
    }
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded, end.counts.left) == (RolloutState.SUCCESS, 3, 2)
    assert [each.message for each in end.unsuccessful] == list(told.values())
    assert not await box.progression.look()


async def test_a_retry_of_a_rollout_that_goes_on_without_failures_says_so(box: Appliance) -> None:
    ids = await prepared(box, 2)
    made = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout
    with pytest.raises(Conflict, match="is WAITING"):
        await box.rollouts.retry(made.id)
    await go_on(box)
    with pytest.raises(Conflict, match=f"rollout {made.short} is RUNNING: no machine of it has failed"):
        await box.rollouts.retry(made.id)
    await box.rollouts.pause(made.id)
    with pytest.raises(Conflict, match="no machine of it has failed"):
        await box.rollouts.retry(made.id)
    assert (await standing(box, made.id)).rollout.state is RolloutState.PAUSED


async def test_a_machine_that_is_back_in_service_is_retried_with_the_others(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids)
    await retire(box, ids[0])
    await box.rollouts.retry(key)
    await to_its_end(box, failing=ids)
    assert (await places(box, key)) == {"machine-1": Place.LEFT, "machine-2": Place.FAILED}
    await box.store.write(lambda tables: tables.retirements.remove(ids[0]))
    await box.machines.refresh(ids[:1])
    await box.rollouts.retry(key)
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.SUCCESS, 2)


async def test_why_a_retry_cannot_make_another_workflow_is_told(box: Appliance) -> None:
    ids = await prepared(box, 1)
    await box.templates.create("fixed", FIXED)
    key = (await box.rollouts.create(Wanted(template="fixed", machines=ids), "ann")).rollout.id
    await go_on(box)
    await box.workflows.delete((await standing(box, key)).under_way[0].workflow_id)
    await go_on(box)
    await box.machines.push(_moved(hardware(1), mac(9)))
    await box.rollouts.retry(key)
    await go_on(box)
    (failed,) = (await standing(box, key)).unsuccessful
    assert failed.place is Place.FAILED
    assert "push its hardware document first" in failed.message


async def test_a_machine_that_is_deleted_before_its_turn_is_canceled(box: Appliance) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await go_on(box)
    await box.machines.delete(ids[1])
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.FAILED, 2)
    assert [(each.name, each.place, each.message) for each in end.unsuccessful] == [
        ("machine-2", Place.CANCELED, "the machine was deleted before its turn")
    ]


@pytest.mark.parametrize("anew", [False, True])
async def test_a_machine_that_was_deleted_since_it_failed_is_left_out_of_a_retry(box: Appliance, anew: bool) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids)
    await box.machines.delete(ids[1])
    if anew:
        box.clock.forward(1)
        assert await box.machine(2) == ids[1]
    await box.rollouts.retry(key)
    assert (await places(box, key))["machine-2 (deleted)" if anew else "machine-2"] is Place.LEFT
    await to_its_end(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded, len(await box.workflows.all())) == (RolloutState.SUCCESS, 1, 2)


async def test_a_machine_that_was_deleted_and_registered_anew_before_it_is_tried_again_is_canceled(
    box: Appliance,
) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids)
    await box.rollouts.retry(key)
    await register_anew(box, 2)
    await to_its_end(box)
    end = await standing(box, key)
    assert [(each.name, each.place, each.message) for each in end.unsuccessful] == [
        ("machine-2 (deleted)", Place.CANCELED, "the machine was deleted and registered anew before its turn")
    ]


async def register_anew(box: Appliance, number: int) -> None:
    """Another machine, with another MAC, under the id of this one, which is deleted."""
    await box.machines.delete(str(UUID(int=number)))
    box.clock.forward(1)
    await box.machines.push(_moved(hardware(number), mac(99), mac(number)))


@pytest.mark.parametrize("again", ["resume", "retry"])
async def test_a_machine_that_was_registered_anew_before_it_had_a_workflow_does_not_begin(
    box: Appliance, again: str
) -> None:
    ids = await prepared(box, 3)
    box.clock.forward(1)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    await register_anew(box, 2)
    box.clock.forward(1)
    await box.machines.push(_moved(hardware(3), mac(98), mac(3)))  # an edit makes no other machine
    await (box.rollouts.resume(key) if again == "resume" else box.rollouts.retry(key))
    assert not (await box.rollouts.plan(wanted(ids[1:2]))).refused, "what has its id now waits for nothing"
    await to_its_end(box)
    end = await standing(box, key)
    (new,) = [each for each in end.unsuccessful if each.name == "machine-2 (deleted)"]
    place = Place.CANCELED if again == "resume" else Place.LEFT
    assert (new.place, new.workflow_id) == (place, "")
    assert new.message == "the machine was deleted and registered anew before its turn"
    assert (await places(box, key))["machine-3"] is Place.SUCCESS
    await each_machine_once(box, [ids[0], ids[2]])
    if again == "resume":
        await box.rollouts.retry(key)
        assert (await places(box, key))["machine-2 (deleted)"] is Place.LEFT


async def test_a_machine_that_is_registered_anew_when_it_is_about_to_begin_does_not(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids[1:]), "ann")).rollout.id
    prepare = box.workflows.prepare

    async def overtaken(*given: object, **more: object) -> object:
        made = await prepare(*given, **more)
        await register_anew(box, 2)
        return made

    monkeypatch.setattr(box.workflows, "prepare", overtaken)
    await go_on(box)
    assert await places(box, key) == {"machine-2 (deleted)": Place.CANCELED}
    assert await box.workflows.all() == []


async def test_a_machine_that_was_registered_anew_has_not_failed_where_the_template_is_nothing_for_it(
    box: Appliance,
) -> None:
    await box.templates.update("one", data=RENDERS_FOR_ONE.replace(mac(2), mac(99)))
    await prepared(box, 2)
    key = (await box.rollouts.create(wanted(["machine-2"]), "ann")).rollout.id
    await register_anew(box, 2)
    await go_on(box)
    assert await places(box, key) == {"machine-2 (deleted)": Place.CANCELED}


async def test_a_machine_that_is_registered_anew_after_its_workflow_was_deleted_is_left_out_of_a_retry(
    box: Appliance,
) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids)
    await box.workflows.delete((await standing(box, key)).unsuccessful[1].workflow_id)
    await register_anew(box, 2)
    await box.rollouts.retry(key)
    assert (await places(box, key))["machine-2 (deleted)"] is Place.LEFT


async def test_a_workflow_that_is_deleted_leaves_its_machine_canceled_and_a_retry_makes_another(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    await go_on(box)
    await box.workflows.delete((await standing(box, key)).under_way[0].workflow_id)
    await to_its_end(box)
    (gone,) = (await standing(box, key)).unsuccessful
    assert (gone.place, gone.message) == (Place.CANCELED, "its workflow was deleted")
    await box.rollouts.retry(key)
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS
    await each_machine_once(box, ids)


async def test_a_rollout_keeps_how_its_machines_ended_when_their_workflows_are_gone(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    for each in await box.workflows.all():
        await box.workflows.delete(each.id)
    await go_on(box)
    end = await standing(box, key)
    assert (end.rollout.state, end.counts.succeeded) == (RolloutState.FAILED, 1)
    assert end.unsuccessful[0].message == "install/write: no disk"


async def test_a_template_that_is_changed_or_deleted_changes_nothing_for_machines_that_wait(box: Appliance) -> None:
    ids = await prepared(box, 3)
    await box.rollouts.create(wanted(ids, max_parallel=1), "ann")
    await go_on(box)
    await box.templates.update("one", data=ONE.replace("name: one", "name: another"))
    await box.finish(ids[0])
    await go_on(box)
    await box.templates.delete("one")
    await to_its_end(box)
    assert [each.name for each in await box.workflows.all()] == ["one"] * 3


async def test_what_cannot_be_made_any_more_when_it_is_its_turn_is_a_failure(box: Appliance) -> None:
    ids = await prepared(box, 3)
    await box.templates.create("with", WITH_PARAMETER)
    await box.templates.create("fixed", FIXED)
    made = await box.rollouts.create(
        Wanted(template="fixed", machines=ids[:1], on_failure=OnFailure.CONTINUE, max_parallel=1), "ann"
    )
    await box.machines.push(_moved(hardware(1), mac(9)))
    await go_on(box)
    (failed,) = (await standing(box, made.rollout.id)).unsuccessful
    assert failed.place is Place.FAILED
    assert "push its hardware document first" in failed.message
    assert failed.workflow_id == ""
    assert (await standing(box, made.rollout.id)).rollout.state is RolloutState.FAILED


def _moved(document: dict[str, object], to: str, first: str = mac(1)) -> Hardware:
    """The machine with another MAC than its `first`."""
    return parse_hardware(json.dumps(document).replace(first, to))


async def test_machines_begin_in_the_order_of_their_names_or_as_they_are_named(box: Appliance) -> None:
    ids = await prepared(box, 12)
    for each in ids:
        await box.machines.label(each, LabelChange(set=(("rack", "r1" if each != ids[4] else "r2"),)))
    plan = await box.rollouts.plan(wanted(selector=parse_selector("rack=r1")))
    assert [each.name for each in plan.machines] == [f"machine-{number}" for number in range(1, 13) if number != 5]
    plan = await box.rollouts.plan(wanted(["machine-10", mac(2), ids[4], ids[1]]))
    assert [each.name for each in plan.machines] == ["machine-10", "machine-2", "machine-5"]
    plan = await box.rollouts.plan(wanted(["machine-3"], selector=parse_selector("rack=r1")))
    assert [each.name for each in plan.machines][:2] == ["machine-3", "machine-1"]


async def test_a_preview_makes_nothing_and_tells_what_would_be_wiped(box: Appliance) -> None:
    ids = await prepared(box, 2)
    plan = await box.rollouts.plan(wanted(ids))
    assert [(each.action, each.disk, each.wipes) for each in plan.steps] == [
        ("write", "smallest", ("smallest",)),
        ("second", "", ()),
    ]
    assert plan.wipes == {"smallest": 2}
    assert (plan.device, plan.machines[0].mac, plan.parameters) == ("device_1", mac(1), {})
    assert await box.workflows.all() == []
    assert await box.rollouts.all() == []


async def test_disks_of_machines_that_are_refused_are_not_counted(box: Appliance) -> None:
    ids = await prepared(box, 4)
    await box.workflows.create("one", {"device_1": mac(2)})
    await retire(box, ids[2])
    plan = await box.rollouts.plan(wanted(ids))
    assert ([each.name for each in plan.machines], len(plan.refused)) == (["machine-1", "machine-4"], 2)
    assert plan.wipes == {"smallest": 2}


async def test_a_parameter_that_the_template_does_not_use_is_told(box: Appliance) -> None:
    ids = await prepared(box, 2)
    box.registry |= {"x": "sha256:1", "y": "sha256:2"}
    await box.templates.create("two", WITH_PARAMETER)
    asked = Wanted(template="two", machines=ids, parameters={"image": "y", "imgae": "z"})
    assert box.rollouts.warnings(await box.rollouts.plan(asked), ["x86_64"]) == [
        "template two does not use the parameter imgae"
    ]
    assert box.rollouts.warnings(await box.rollouts.plan(replace(asked, parameters={"image": "y"})), ["x86_64"]) == []


async def test_what_is_ignored_of_the_template_is_told_once_and_refused_where_that_is_wanted(box: Appliance) -> None:
    ids = await prepared(box, 2)
    await box.templates.create("odd", ONE.replace("    actions:", "    extra: 1\n    actions:"))
    asked = Wanted(template="odd", machines=ids)
    told = [each for each in box.rollouts.warnings(await box.rollouts.plan(asked), ["x86_64"]) if "extra" in each]
    line = "line 6, tasks[0].extra: unknown key extra is ignored; "
    assert [each.startswith(f"template odd: {line}") for each in told] == [True]
    plan = await box.rollouts.plan(replace(asked, strict=True))
    assert (plan.machines, [line in each.why for each in plan.refused]) == ((), [True, True])
    with pytest.raises(Invalid):
        await box.rollouts.create_one(replace(asked, machines=ids[:1], strict=True))
    made = await box.rollouts.create_one(replace(asked, machines=ids[:1]))
    assert [each.key for each in made.ignored] == ["tasks[0].extra"]


async def test_images_that_are_required_are_refused_before_anything_begins(box: Appliance) -> None:
    ids = await prepared(box, 2)
    await box.templates.create("two", WITH_PARAMETER)
    asked = Wanted(template="two", machines=ids, parameters={"image": "y"}, require_images=True)
    box.registry |= {"x": "sha256:1"}
    for refused in (
        box.rollouts.rehearse(asked, "ann"),
        box.rollouts.create(asked, "ann"),
        box.rollouts.create_one(replace(asked, machines=ids[:1]), "ann"),
    ):
        with pytest.raises(Invalid) as refusal:
            await refused
        assert [each.text.split(":")[0] for each in refusal.value.problems] == ["image y is not in the registry"]
    assert (await box.rollouts.all(), await box.workflows.all()) == ([], [])
    box.registry |= {"y": "sha256:2"}
    assert (await box.rollouts.create(asked, "ann")).counts.total == 2


async def test_metadata_that_machines_would_not_be_given_is_told_once_for_all_of_them(box: Appliance) -> None:
    ids = await prepared(box, 2)
    text = WITH_PARAMETER.replace("image: x", "image: x, environment: {MIRROR_HOST: 172.30.0.1}", 1)
    assert text != WITH_PARAMETER
    box.registry |= {"x": "sha256:1", "y": "sha256:2"}
    await box.templates.create("two", text)
    asked = Wanted(template="two", machines=ids, parameters={"image": "y"})
    (told,) = box.rollouts.warnings(await box.rollouts.plan(asked), ["x86_64"])
    assert told.startswith(
        "2 machines (machine-1, machine-2) ask for metadata at MIRROR_HOST 172.30.0.1: its document "
    )


async def test_what_keeps_machines_from_beginning_is_told_once_for_all_of_them(box: Appliance) -> None:
    ids = await prepared(box, 7)
    await box.templates.create("two", f"{WITH_PARAMETER}services:\n  - {{name: s, worker: provisioner, image: s}}\n")
    asked = Wanted(template="two", machines=ids, parameters={"image": "y"})
    first = "machine-1, machine-2, machine-3, machine-4"
    assert box.rollouts.warnings(await box.rollouts.plan(asked), ()) == [
        f"there is no OSIE for x86_64, which 7 machines ({first}, machine-5 and 2 more) boot: `tinkbox osie build` makes one",
        *(
            f"image {name} is not in the registry: push it there, or `tinkbox image load` it from a file; "
            f"if you mean Docker Hub's, write docker.io/library/{name}"
            for name in ("x", "y", "s")
        ),
    ]
    box.registry |= {"x": "sha256:1", "y": "sha256:2", "s": "sha256:3"}
    assert box.rollouts.warnings(await box.rollouts.plan(asked), ["x86_64"]) == []
    (machine,) = (await box.rollouts.plan(replace(asked, machines=ids[:1]))).machines
    silent = [replace(each, allow_pxe=False) for each in machine.hardware.interfaces]
    mute = replace(machine.hardware, interfaces=tuple(silent))
    assert list(boot_obstacles([mute], ["x86_64"], box.machines.known.key)) == [
        "no card of machine machine-1 may netboot: allow it in its document, `tinkbox hardware edit machine-1`"
    ]
    so_called = replace(mute, name=mac(2), document={**mute.document, "name": mac(2)})
    assert list(boot_obstacles([so_called], ["x86_64"], box.machines.known.key)) == [
        f"no card of machine {mac(2)} may netboot: allow it in its document, `tinkbox hardware edit {ids[0]}`"
    ], "its name is the MAC of another one"
    own = {
        "away": Netboot(file="x"),
        "script": Netboot(script="shell\n"),
        "osie": Netboot(osie=OwnOsie(kernel="k", initramfs="i")),
    }
    of = {
        name: replace(
            machine.hardware, interfaces=tuple(replace(each, netboot=boots) for each in machine.hardware.interfaces)
        )
        for name, boots in own.items()
    }
    assert list(boot_obstacles([of["away"]], ["x86_64"], box.machines.known.key)) == [
        (
            "machine machine-1 cannot boot from here, for its document names another boot server: "
            "take tftp_server_name and boot_file_name out, `tinkbox hardware edit machine-1`"
        )
    ]
    assert list(boot_obstacles([of["script"], of["osie"]], [], box.machines.known.key)) == [], (
        "they need no OSIE of ours"
    )


async def test_machines_that_cannot_begin_are_refused_with_their_reasons_before_anything_begins(
    box: Appliance,
) -> None:
    ids = await prepared(box, 3)
    await box.templates.create("some", RENDERS_FOR_ONE)
    plan = await box.rollouts.plan(Wanted(template="some", machines=[*ids, "nowhere"]))
    assert [each.name for each in plan.machines] == ["machine-1", "machine-3"]
    assert [each.name for each in plan.refused] == ["nowhere", "machine-2"]
    assert "not found" in plan.refused[0].why
    await box.templates.create("fixed", FIXED)
    plan = await box.rollouts.plan(Wanted(template="fixed", machines=ids))
    assert [each.name for each in plan.machines] == ["machine-1"]
    assert "has nothing to do for this machine: its tasks are for 08:00:27:00:00:01" in plan.refused[0].why
    with pytest.raises(Invalid, match="nothing was begun"):
        await box.rollouts.create(Wanted(template="fixed", machines=ids), "ann")
    with pytest.raises(Invalid, match="nothing was begun"):
        await box.rollouts.create(Wanted(template="one", machines=["nowhere"]), "ann", skip_refused=True)
    assert await box.rollouts.all() == []


async def test_a_parameter_that_is_missing_is_told_once_with_what_to_type(box: Appliance) -> None:
    ids = await prepared(box, 3)
    await box.templates.create("two", WITH_PARAMETER)
    with pytest.raises(Invalid) as refused:
        await box.rollouts.create(Wanted(template="two", machines=ids), "ann")
    (problem,) = refused.value.problems
    assert problem.key == "all 3 machines"
    assert "placeholder image has no value: give it with --set image=VALUE" in problem.text


async def test_a_template_for_several_machines_needs_the_others_by_name(box: Appliance) -> None:
    ids = await prepared(box, 3)
    await box.templates.create("relay", RELAY)
    with pytest.raises(Invalid, match="for 2 machines, a, b"):
        await box.rollouts.plan(Wanted(template="relay", machines=ids))
    with pytest.raises(Invalid, match="-r says already which machine a is"):
        await box.rollouts.plan(Wanted(template="relay", machines=ids, parameters={"a": mac(1), "b": mac(2)}))
    plan = await box.rollouts.plan(Wanted(template="relay", machines=ids[1:], parameters={"b": mac(1)}))
    assert (plan.device, plan.machines[0].mac, plan.parameters) == ("a", mac(2), {"b": mac(1)})
    with pytest.raises(NotFound):
        await box.rollouts.plan(Wanted(template="none", machines=ids))
    with pytest.raises(Invalid, match="no machine has the labels rack=r9"):
        await box.rollouts.plan(wanted(selector=parse_selector("rack=r9")))
    with pytest.raises(Invalid, match="no machine is named"):
        await box.rollouts.plan(wanted())


async def test_parameters_breakpoints_and_labels_are_for_every_workflow(box: Appliance) -> None:
    ids = await prepared(box, 2)
    await box.templates.create("with", WITH_PARAMETER)
    asked = Wanted(
        template="with",
        machines=ids,
        parameters={"image": "y"},
        labels={"team": "a"},
        breakpoints=Change(on_failure=True, before=("second",), timeout=60),
        confirm_wipe=True,
    )
    rollout = (await box.rollouts.create(asked, "ann")).rollout
    await go_on(box)
    made = await box.workflows.all()
    assert [each.actions[1].action.spec.image for each in made] == ["y", "y"]
    assert [each.wipe_confirmed for each in made] == [True, True]

    def question(tables: Tables) -> list[object]:
        return [(tables.labels.of(LabelKind.WORKFLOW, each.id), tables.holds.armed(each.id)) for each in made]

    for labels, armed in await box.store.read(question):  # type: ignore[misc]
        assert labels == {"team": "a", "rollout": rollout.short}
        assert (armed.on_failure, armed.before, armed.timeout) == (True, ("install/second",), 60)
    with pytest.raises(Invalid, match="nothing was begun") as refused:
        await box.rollouts.create(
            Wanted(template="one", machines=ids, breakpoints=Change(before=("nosuch",))), "ann", skip_refused=True
        )
    assert "nosuch" in refused.value.problems[0].text


async def test_a_rollout_is_known_by_its_id_the_beginning_of_it_and_its_template(box: Appliance) -> None:
    ids = await prepared(box, 2)
    first = (await box.rollouts.create(wanted(ids[:1]), "ann")).rollout
    second = (await box.rollouts.create(wanted(ids[1:]), "ann")).rollout
    for key in (first.id, first.short):
        assert (await box.rollouts.get(key)).rollout.id == first.id
    assert (await box.rollouts.get("one")).rollout.id == second.id
    with pytest.raises(Conflict):
        await box.rollouts.get("0000")
    with pytest.raises(NotFound):
        await box.rollouts.get("nosuch")


async def test_a_rollout_is_deleted_when_it_is_over_and_its_workflows_stay(box: Appliance) -> None:
    ids = await prepared(box, 1)
    key = (await box.rollouts.create(wanted(ids), "ann")).rollout.id
    with pytest.raises(Conflict, match="it can be deleted when it is over"):
        await box.rollouts.delete(key)
    await to_its_end(box)
    assert await box.rollouts.delete(key) == key
    assert await box.rollouts.all() == []
    assert len(await box.workflows.all()) == 1


async def test_the_oldest_that_are_over_go_when_there_are_too_many(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await prepared(box, 4)
    monkeypatch.setattr(rollouts, "KEPT", 2)
    waiting = (await box.rollouts.create(wanted(ids[:1]), "ann")).rollout.id
    made = []
    for each in ids[1:]:
        made.append((await box.rollouts.create(wanted([each]), "ann")).rollout.id)
        await go_on(box)
        await box.finish(each)
        await go_on(box)
    assert [each.rollout.id for each in await box.rollouts.all()] == [waiting, made[-1]]
    monkeypatch.setattr(rollouts, "MAX_UNFINISHED", 1)
    with pytest.raises(Conflict, match="1 rollouts are not over"):
        await box.rollouts.create(wanted(ids[1:2]), "ann")


async def test_the_part_goes_on_by_itself(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progression, "PAUSE", 0.0)
    ids = await prepared(box, 3)
    async with asyncio.timeout(30), asyncio.TaskGroup() as parts:
        part = parts.create_task(box.progression.run())
        key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
        while (await box.rollouts.get(key)).rollout.state is not RolloutState.SUCCESS:
            for each in ids:
                await box.finish(each)
            await asyncio.sleep(0)
        part.cancel()


async def test_a_look_at_which_nothing_happened_needs_no_writer(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await prepared(box, 4)
    under_way = (await box.rollouts.create(wanted(ids[:2], max_parallel=1), "ann")).rollout.id
    paused = (await box.rollouts.create(wanted(ids[2:]), "ann")).rollout.id
    await box.rollouts.pause(paused)
    await go_on(box)
    written, write = 0, box.store.write

    async def counted(use_case: Callable[[Tables], object]) -> object:
        nonlocal written
        written += 1
        return await write(use_case)

    monkeypatch.setattr(box.store, "write", counted)
    for _ in range(3):
        await go_on(box)
    assert written == 0
    monkeypatch.undo()
    await box.finish(ids[0])
    await go_on(box)
    assert await places(box, under_way) == {"machine-1": Place.SUCCESS, "machine-2": Place.PENDING}
    assert await places(box, paused) == {"machine-3": Place.WAITING, "machine-4": Place.WAITING}


async def test_members_are_told_with_their_places(box: Appliance) -> None:
    await prepared(box, 2)
    key = (await box.rollouts.create(wanted([str(UUID(int=2)), str(UUID(int=1))]), "ann")).rollout.id
    assert (await box.rollouts.members(key)).members == [
        Member(position=0, machine=str(UUID(int=2)), name="machine-2", registered=box.clock()),
        Member(position=1, machine=str(UUID(int=1)), name="machine-1", registered=box.clock()),
    ]


async def test_too_many_names_are_refused_before_one_is_looked_up(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(box.machines.known, "find", asked.append)
    with pytest.raises(Invalid, match="10001 machines: a rollout has at most 10000"):
        await box.rollouts.plan(wanted(["nobody"] * (MAX_MACHINES + 1)))
    assert asked == []


async def test_others_have_their_turn_while_names_are_looked_up(box: Appliance) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as group:
        task = group.create_task(other())
        found, refused = await chosen_machines(box.machines.known, wanted([*map(str, range(20 * KEYS_AT_ONCE))] * 2))
        task.cancel()
    assert (found, len(refused)) == ([], 20 * KEYS_AT_ONCE)
    assert turns >= 19


async def test_a_rollout_that_goes_on_again_takes_no_machine_of_another(box: Appliance) -> None:
    ids = await prepared(box, 3)
    first = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout
    await go_on(box)
    await box.rollouts.cancel(first.id)
    await go_on(box)
    await carry_out(box)
    await go_on(box)
    assert (await standing(box, first.id)).rollout.state is RolloutState.CANCELED
    second = (await box.rollouts.create(wanted(ids[:2], max_parallel=1), "bob")).rollout
    await go_on(box)
    with pytest.raises(Invalid, match="1 machine of 2 cannot begin; --skip-refused") as refused:
        await box.rollouts.resume(first.id)
    (waiting,) = refused.value.problems
    assert (waiting.key, waiting.text[:32]) == ("machine-2", f"it waits in rollout {second.short}: `t")
    with pytest.raises(Invalid, match="2 machines of 3 cannot begin") as refused:
        await box.rollouts.retry(first.id)
    assert {each.key: "is not over" in each.text for each in refused.value.problems} == {
        "machine-1": True,
        "machine-2": False,
    }
    assert (await standing(box, first.id)).rollout.state is RolloutState.CANCELED
    resumed = await box.rollouts.retry(first.id, skip_refused=True)
    assert [each.name for each in resumed.refused] == ["machine-1", "machine-2"]
    await to_its_end(box)
    assert await places(box, first.id) == {
        "machine-1": Place.CANCELED,
        "machine-2": Place.CANCELED,
        "machine-3": Place.SUCCESS,
    }
    told = {each.name: each.message for each in (await box.rollouts.members(first.id)).members}
    assert told["machine-2"].startswith(f"left out: it waits in rollout {second.short}")
    done = [worker for each in await box.workflows.all() if each.state is State.SUCCESS for worker in each.workers()]
    assert sorted(done) == sorted(ids)
    # Another that is over holds them no more.
    await box.rollouts.retry(first.id)


async def test_an_earlier_workflow_is_not_retried_while_its_machine_waits_in_a_rollout(box: Appliance) -> None:
    ids = await prepared(box, 2)
    earlier = await box.workflows.create("one", {"device_1": mac(2)})
    await carry_out(box, failing=ids)
    made = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout
    await go_on(box)
    for key in (earlier, "machine-2"):
        with pytest.raises(Conflict, match=f"machine-2 waits in rollout {made.short}: `tinkbox rollout get"):
            await box.workflows.retry(key)
    assert [each.id for each in await unfinished(box) if each.id == earlier] == []
    await box.rollouts.cancel(made.id)
    await carry_out(box)
    await go_on(box)
    assert await box.workflows.retry(earlier) == earlier


async def test_a_machine_without_a_workflow_is_told_the_rollout_in_which_it_waits(box: Appliance) -> None:
    ids = await prepared(box, 2)
    made = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout
    await go_on(box)
    told = (
        f"^machine machine-2 has no workflow yet: it waits in rollout {made.short}. `tinkbox rollout get {made.short}` shows "
        f"that, `tinkbox rollout cancel {made.short}` ends it for all its machines, and `tinkbox hardware retire machine-2 "
        "--force` has it go on without this one$"
    )
    for asked in (box.workflows.get, box.workflows.cancel, box.workflows.retry, box.workflows.delete):
        with pytest.raises(NotFound, match=told):
            await asked("machine-2")
    await box.rollouts.cancel(made.id)
    with pytest.raises(NotFound, match="machine-2 has no workflow: `tinkbox workflow create"):
        await box.workflows.cancel("machine-2")


async def test_a_rollout_that_holds_its_machines_is_resumed_and_retried_whatever_they_do_themselves(
    box: Appliance,
) -> None:
    ids = await prepared(box, 3)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1, on_failure=OnFailure.CONTINUE), "ann")).rollout.id
    await go_on(box)
    await carry_out(box, failing=ids[:1])
    await go_on(box)
    await box.rollouts.pause(key)
    await box.workflows.create("one", {"device_1": mac(3)})
    await box.rollouts.retry(key)
    await box.rollouts.resume(key)
    await to_its_end(box)
    assert (await standing(box, key)).rollout.state is RolloutState.SUCCESS


async def test_a_rollout_that_was_stopped_is_not_resumed_with_machines_that_another_workflow_has(
    box: Appliance,
) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1), "ann")).rollout.id
    await to_its_end(box, failing=ids[:1])
    await box.workflows.create("one", {"device_1": mac(2)})
    with pytest.raises(Invalid, match=r"1 machine of 1 cannot begin$") as refused:
        await box.rollouts.resume(key, skip_refused=True)
    assert "is not over: `tinkbox workflow watch" in refused.value.problems[0].text
    await carry_out(box)
    await box.rollouts.resume(key)


async def test_of_two_workflows_for_one_machine_that_are_made_at_once_one_is_refused(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have seen the machine idle before either is made."""
    (machine,) = await prepared(box, 1)
    seen, plan = asyncio.Barrier(2), box.rollouts.plan

    async def planned_by_both(*asked: object) -> Plan:
        found = await plan(*asked)
        assert not found.refused
        await seen.wait()
        return found

    monkeypatch.setattr(box.rollouts, "plan", planned_by_both)
    results: list[str | Conflict] = []

    async def create(who: str) -> None:
        try:
            results.append((await box.rollouts.create_one(wanted([machine]), who)).id)
        except Conflict as refusal:
            results.append(refusal)

    async with asyncio.TaskGroup() as group:
        for who in ("ann", "bob"):
            group.create_task(create(who))
    (made,) = [each for each in results if isinstance(each, str)]
    (refused,) = [each for each in results if isinstance(each, Conflict)]
    assert str(refused).startswith("nothing was begun: machine machine-1 has other work: ")
    assert f"workflow {made[:8]} " in str(refused)
    assert [each.id for each in await box.workflows.all()] == [made]


async def test_a_workflow_for_a_machine_is_refused_while_that_waits_in_a_rollout(box: Appliance) -> None:
    ids = await prepared(box, 2)
    key = (await box.rollouts.create(wanted(ids, max_parallel=1))).rollout.id
    with pytest.raises(Conflict, match=f"machine-2 has other work: it waits in rollout {key[:8]}"):
        await box.rollouts.create_one(wanted(ids[1:]))


@pytest.mark.parametrize("how", ["retired", "deleted"])
@pytest.mark.parametrize("skip_refused", [False, True])
async def test_a_machine_that_goes_out_of_service_while_a_rollout_is_made_gets_not_into_it(
    box: Appliance, monkeypatch: pytest.MonkeyPatch, how: str, skip_refused: bool
) -> None:
    ids = await prepared(box, 2)
    plan = box.rollouts.plan

    async def overtaken(*given: object) -> object:
        made = await plan(*given)
        await (box.departures.retire if how == "retired" else box.departures.delete)("machine-2", "bob")
        return made

    monkeypatch.setattr(box.rollouts, "plan", overtaken)
    if skip_refused:
        made = await box.rollouts.create(wanted(ids), "ann", skip_refused=True)
        assert list(await places(box, made.rollout.id)) == ["machine-1"]
        return
    with pytest.raises(Invalid, match="1 machine of 2 cannot begin") as refused:
        await box.rollouts.create(wanted(ids), "ann")
    assert how in refused.value.problems[0].text
    assert await box.rollouts.all() == []


async def change_the_template(box: Appliance) -> None:
    await box.templates.update("one", data=ONE.replace("[smallest]", "[largest]"))


async def make_another_template(box: Appliance) -> None:
    await box.templates.delete("one")
    await box.templates.create("one", ONE.replace("name: write", "name: other"))


async def wipe_another_disk(box: Appliance) -> None:
    await box.machines.label(str(UUID(int=2)), LabelChange(set=(("disk", "largest"),)))


async def rename_a_machine(box: Appliance) -> None:
    await rename(box, 2, "another")


async def register_a_machine_anew(box: Appliance) -> None:
    await box.machines.delete(str(UUID(int=2)))
    box.clock.forward(1)
    await box.machine(2)


async def take_a_machine(box: Appliance) -> None:
    await box.workflows.create("one", {"device_1": mac(2)})


LABELLED = "{{ if hasKey .hardware.metadata `labels` }}largest{{ else }}smallest{{ end }}"


@pytest.mark.parametrize(
    "change",
    [
        change_the_template,
        make_another_template,
        wipe_another_disk,
        rename_a_machine,
        register_a_machine_anew,
        take_a_machine,
    ],
)
async def test_what_was_said_yes_to_is_done_only_while_it_is_the_same(
    box: Appliance, change: Callable[[Appliance], Awaitable[None]]
) -> None:
    await box.templates.update("one", data=ONE.replace("[smallest]", f"['{LABELLED}']"))
    ids = await prepared(box, 3)
    asked = wanted(ids[:2], max_parallel=1)
    shown = (await box.rollouts.plan(asked)).digest
    await change(box)
    with pytest.raises(Conflict, match="what would be done has changed since it was shown: look at it again"):
        await box.rollouts.create(asked, "ann", skip_refused=True, digest=shown)
    assert await box.rollouts.all() == []
    newest = (await box.rollouts.plan(asked)).digest
    assert (len(newest), newest == shown) == (32, False)
    made = await box.rollouts.create(asked, "ann", skip_refused=True, digest=newest)
    assert made.counts.waiting == (1 if change is take_a_machine else 2)


async def test_a_machine_that_is_taken_after_the_last_look_is_not_what_was_said_yes_to(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, plan = wanted(await prepared(box, 2)), box.rollouts.plan
    shown = (await plan(asked)).digest

    async def overtaken(*given: object) -> object:
        made = await plan(*given)
        await take_a_machine(box)
        return made

    monkeypatch.setattr(box.rollouts, "plan", overtaken)
    with pytest.raises(Conflict, match="has changed since it was shown"):
        await box.rollouts.create(asked, "ann", skip_refused=True, digest=shown)
    assert await box.rollouts.all() == []


async def test_what_does_not_change_what_would_be_done_does_not_change_what_stands_for_it(box: Appliance) -> None:
    asked = wanted(await prepared(box, 2))
    shown = (await box.rollouts.plan(asked)).digest
    box.clock.forward(60)
    await box.machine(2)  # pushed once more
    await box.templates.create("another", ONE)
    await box.machine(3)
    assert (await box.rollouts.plan(asked)).digest == shown
    assert (await box.rollouts.plan(wanted(asked.machines[::-1]))).digest != shown
    assert (await box.rollouts.plan(wanted(asked.machines, parameters={"a": "b"}))).digest != shown


async def test_time_and_chance_in_a_template_do_not_change_what_was_said_yes_to(box: Appliance) -> None:
    text = ONE.replace("image: x", 'image: x, environment: {AT: "{{ now }}", TOKEN: "{{ randAlphaNum 20 }}"}')
    assert text != ONE
    await box.templates.update("one", data=text)
    asked = wanted(await prepared(box, 2))
    shown = (await box.rollouts.plan(asked)).digest
    box.clock.forward(60)
    await box.rollouts.create(asked, "ann", digest=shown)
    await go_on(box)
    made = await box.workflows.all()
    assert len({each.actions[0].action.spec.environment["TOKEN"] for each in made}) == len(made) == 2


async def test_the_name_of_a_template_comes_before_the_beginning_of_an_id(box: Appliance) -> None:
    ids = [await box.machine(number) for number in (1, 2)]
    first = (await box.rollouts.create(wanted(ids[:1]), "ann")).rollout.id
    await box.templates.create(first[:8], ONE)
    assert (await box.rollouts.get(first[:8])).rollout.id == first, "there is no rollout of that template yet"
    second = (await box.rollouts.create(replace(wanted(ids[1:]), template=first[:8]), "ann")).rollout.id
    assert (await box.rollouts.pause(first[:8])).rollout.id == second
    assert (await box.rollouts.get(first)).rollout.state is not RolloutState.PAUSED
    with pytest.raises(NotFound):
        await box.rollouts.get(first[:3])  # too few letters for an id


async def test_a_rollout_needs_its_images_until_it_is_over(box: Appliance) -> None:
    ids = await prepared(box, 2)
    digest = f"sha256:{2:064x}"
    await box.templates.create("pinned", WITH_PARAMETER.replace("'{{.image}}'", "'h/ro@{{.dig}}'"))
    made = await box.rollouts.create(Wanted(template="pinned", machines=ids, parameters={"dig": digest}), "ann")
    key = made.rollout.id

    async def needed() -> set[tuple[str, str]]:
        found = await box.store.read(lambda tables: tables.images.needed_by_rollouts())
        assert {(each.rollout_id, each.template) for each in found} <= {(key, "pinned")}
        return {(each.image, each.digest) for each in found}

    assert {("h/ro", digest), ("x", "")} <= await needed(), "before a machine began"
    await go_on(box)
    await box.rollouts.pause(key)
    assert ("h/ro", digest) in await needed()
    await box.rollouts.cancel(key)
    await go_on(box)
    await go_on(box)
    assert (await standing(box, key)).rollout.state is RolloutState.CANCELED
    assert await needed() == set()
