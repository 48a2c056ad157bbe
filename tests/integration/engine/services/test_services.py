"""The services of workflows: what their hosts are told, and what follows from what they say."""

import asyncio

import pytest

from tests.integration.engine.appliance import ADDRESS, DOMAIN, RELAY, Appliance, address
from tests.integration.engine.serving import HOST, OTHER, OWN, SERVED, Host, hosts, phases, served, told_of
from tinkbox.model.errors import Conflict, Invalid, NotFound
from tinkbox.model.services import Phase, Restarted, Standing
from tinkbox.model.workflow import State

READY = Phase.READY


async def test_the_first_action_is_offered_when_every_service_is_ready_and_not_before(box: Appliance) -> None:
    workflow_id, worker = await served(box), await box.machine(1)
    ours, machine = await hosts(box)
    assert await box.offer(worker) is None
    assert [await ours.ask(), await machine.ask()] == [["boot files"], ["receiver"]]
    assert await box.offer(worker) is None
    await ours.say("boot files", READY)
    assert await box.offer(worker) is None
    await machine.say("receiver", Phase.STARTING)
    assert await box.offer(worker) is None
    await machine.say("receiver", READY)
    offer = await box.offer(worker)
    assert offer is not None
    assert offer.workflow_id == workflow_id


async def test_the_waiting_worker_is_woken_by_the_last_service_that_becomes_ready(box: Appliance) -> None:
    await served(box)
    worker = await box.machine(1)
    ours, machine = await hosts(box)
    await ours.ask()
    await machine.ask()
    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        waiting = parts.create_task(box.attempts.wait(worker, 60))
        await asyncio.sleep(0)
        await ours.say("boot files", READY)
        assert not waiting.done()
        await machine.say("receiver", READY)
        await waiting


@pytest.mark.parametrize("phase", [Phase.UNHEALTHY, Phase.RESTARTING, Phase.EXITED, Phase.FAILED, Phase.STARTING])
async def test_what_becomes_of_a_service_after_it_was_ready_does_not_hold_its_workflow(
    box: Appliance, phase: Phase
) -> None:
    workflow_id, worker = await served(box, OWN), await box.machine(1)
    ours, _ = await hosts(box)
    await ours.ask()
    await ours.say("", READY)
    await ours.say("", phase, reason="ServiceFailed", message="gone")
    assert (await box.workflows.get(workflow_id)).state is State.PENDING
    assert await box.finish(worker) == ["one"]
    assert (await box.workflows.get(workflow_id)).state is State.SUCCESS


async def test_one_that_exits_well_counts_as_ready(box: Appliance) -> None:
    workflow_id, worker = await served(box, OWN), await box.machine(1)
    ours, _ = await hosts(box)
    await ours.ask()
    await ours.say("", Phase.EXITED, exit_code=0)
    assert await box.offer(worker) is not None
    assert await told_of(box, workflow_id) == ["starting boot files", "ready boot files", "exited boot files"]


async def test_a_host_is_told_who_the_appliance_is_and_that_it_was_told(box: Appliance) -> None:
    workflow_id = await served(box)
    ours = Host(box)
    (status, _) = (await box.workflows.get(workflow_id)).services
    assert (status.begun_at, status.standing.phase) == (None, Phase.PENDING)
    box.clock.forward(5)
    await ours.ask()
    told = ours.told()
    assert (told.workflow_id, told.service, told.run) == (workflow_id, status.service, status.standing.run)
    assert told.hosts == {f"{workflow_id}.{DOMAIN}": ADDRESS}
    (status, other) = (await box.workflows.get(workflow_id)).services
    assert (status.begun_at, status.changed_at, status.standing.phase) == (box.clock(), box.clock(), Phase.STARTING)
    assert other.begun_at is None
    assert await told_of(box, workflow_id) == ["starting boot files"]
    begun = box.clock()
    box.clock.forward(5)
    assert await box.services.wanted("", ours.wanted.mark) is None
    assert await box.services.wanted("", "") == ours.wanted
    (status, _) = (await box.workflows.get(workflow_id)).services
    assert status.begun_at == begun
    assert await told_of(box, workflow_id) == ["starting boot files"]


async def test_a_host_that_forgot_is_told_how_far_a_service_had_come(box: Appliance) -> None:
    await served(box)
    ours, _ = await hosts(box)
    await ours.ask()
    mark = ours.wanted.mark
    await ours.say("boot files", Phase.RESTARTING, restarts=3)
    await Host(box).ask()
    assert await box.services.wanted("", mark) is None, "what a host says itself is no news for it"
    wanted = await box.services.wanted("", "")
    assert wanted is not None
    assert [(each.restarts, each.phase) for each in wanted.services] == [(3, Phase.RESTARTING)]


async def test_restarts_that_follow_each_other_quickly_are_each_told_once(box: Appliance) -> None:
    workflow_id = await served(box, OWN)
    ours, _ = await hosts(box)
    await ours.ask()
    for restarts in (1, 2, 2, 4):
        await ours.say("", Phase.RESTARTING, restarts=restarts, exit_code=restarts)
    told = [each.data for each in await box.workflows.events(workflow_id) if each.kind == "service.restarting"]
    assert [(each["restarts"], each.get("exit_code")) for each in told] == [(1, 1), (2, 2), (3, None), (4, 4)]
    missed = tuple(Restarted(number=each, exit_code=each, message=f"end {each}") for each in (4, 5, 6))
    await ours.say("", READY, restarts=6, restarted=missed)
    told = [each.data for each in await box.workflows.events(workflow_id) if each.kind == "service.restarting"]
    assert [(each["restarts"], each["message"]) for each in told[4:]] == [(5, "end 5"), (6, "end 6")]


async def test_a_service_that_comes_and_goes_for_ever_fills_no_disk(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinkbox.engine.services.services.MAX_EVENTS", 20)
    workflow_id = await served(box, OWN)
    ours, _ = await hosts(box)
    await ours.ask()
    for _ in range(30):
        await ours.say("", Phase.RESTARTING)
        await ours.say("", READY)
    assert len(await told_of(box, workflow_id)) < 20


async def test_times_are_noted_once(box: Appliance) -> None:
    workflow_id = await served(box, OWN)
    ours, _ = await hosts(box)
    await ours.ask()
    moments = []
    for phase in (READY, READY, Phase.RESTARTING, READY):
        box.clock.forward(10)
        moments.append(box.clock())
        await ours.say("", phase, message=f"at {len(moments)}")
    (status,) = (await box.workflows.get(workflow_id)).services
    assert (status.ready_at, status.changed_at) == (moments[0], moments[3])
    assert status.standing.message == "at 4"
    assert await told_of(box, workflow_id) == [
        "starting boot files", "ready boot files", "restarting boot files", "ready boot files",
    ]  # fmt: skip


async def test_what_is_said_twice_is_not_written_twice(box: Appliance) -> None:
    workflow_id = await served(box, OWN)
    ours, _ = await hosts(box)
    await ours.ask()
    await ours.say("", READY)
    before = await box.workflows.newest_event(), await box.workflows.get(workflow_id)
    writes = box.store._writer.connection.total_changes
    for _ in range(3):
        await ours.repeat()
    assert (await box.workflows.newest_event(), await box.workflows.get(workflow_id)) == before
    assert box.store._writer.connection.total_changes == writes


async def test_a_host_says_nothing_about_what_another_one_has(box: Appliance) -> None:
    workflow_id = await served(box)
    ours, machine = await hosts(box)
    await ours.ask()
    await machine.ask()
    stranger = Host(box, await box.machine(1))
    run = ours.told().run
    for host in (machine, stranger):
        await box.services.observed(host.id, (Standing(run=run, phase=READY), Standing(run="never", phase=READY)))
        with pytest.raises(NotFound, match="no such run"):
            await box.services.output(host.id, run, 0, b"x")
        with pytest.raises(NotFound, match="no such run"):
            await box.services.keep_data(host.id, run, b"")
    assert await phases(box, workflow_id) == ["STARTING", "STARTING"]
    assert await stranger.ask() == []


async def test_a_machine_is_reached_at_its_own_address_and_nowhere_else(box: Appliance) -> None:
    workflow_id = await served(box)
    ours, machine = await hosts(box)
    await ours.ask()
    await machine.ask()
    for claimed, taken in ((address(HOST), address(HOST)), ("127.0.0.1", ""), (ADDRESS, ""), ("", "")):
        await machine.say("receiver", READY, address=claimed, ports=(80,))
        standing = (await box.workflows.get(workflow_id)).services[1].standing
        assert (standing.address, standing.ports) == (taken, (80,))
    await ours.say("boot files", READY, address="10.213.0.2")
    assert (await box.workflows.get(workflow_id)).services[0].standing.address == "10.213.0.2"


@pytest.mark.parametrize("where", [0, 1])
async def test_one_that_is_given_up_before_it_was_ready_ends_the_workflow_before_it_begins(
    box: Appliance, where: int
) -> None:
    workflow_id, worker = await served(box), await box.machine(1)
    both = await hosts(box)
    names = [(await host.ask())[0] for host in both]
    await both[1 - where].say("", READY)
    await both[where].say(
        "", Phase.FAILED, reason="ImageNotFound", message="no such image", tail=("a", "b"), exit_code=3
    )
    over = await box.workflows.get(workflow_id)
    assert (over.state, over.reason, over.service) == (State.FAILED, "ImageNotFound", names[where])
    assert over.message == f"service {names[where]}: no such image; its last lines: a | b"
    assert [each.state for each in over.actions] == [State.PENDING, State.PENDING]
    (end,) = [event for event in await box.workflows.events(workflow_id) if event.kind == "workflow.failed"]
    assert (end.data["reason"], end.data["message"]) == (over.reason, over.message)
    assert await phases(box, workflow_id) == (["FAILED", "STOPPING"] if where == 0 else ["STOPPING", "FAILED"])
    assert await box.offer(worker) is None
    assert [await host.ask() for host in both] == [[], []]
    assert (await box.machines.get(worker)).ticket, "a failure can be retried"


async def test_several_that_fail_at_once_end_the_workflow_once(box: Appliance) -> None:
    text = SERVED.replace('"{{.host}}"', "provisioner")
    workflow_id = await served(box, text)
    ours, _ = await hosts(box)
    assert await ours.ask() == ["boot files", "receiver"]
    gone = [Standing(run=each.run, phase=Phase.FAILED, reason="R", message="m") for each in ours.wanted.services]
    await box.services.observed("", tuple(gone))
    assert (await box.workflows.get(workflow_id)).service == "boot files"
    assert await phases(box, workflow_id) == ["FAILED", "FAILED"]
    kinds = [event.kind for event in await box.workflows.events(workflow_id)]
    assert kinds.count("workflow.failed") == 1


async def test_services_wait_for_the_turn_of_their_workflow(box: Appliance) -> None:
    first, second = await served(box), await served(box)
    elsewhere = await served(box, machine=OTHER)
    ours, machine = await hosts(box)
    worker = await box.machine(1)
    assert await ours.ask() == ["boot files", "boot files"]
    assert {each.workflow_id for each in ours.wanted.services} == {first, elsewhere}
    for host in (ours, machine):
        await host.obey()
    assert await box.finish(worker) == ["one", "two"]
    assert await phases(box, second) == ["PENDING", "PENDING"]
    going = await box.workflows.get(elsewhere)
    box.clock.forward(5)
    await ours.ask()
    assert await box.workflows.get(elsewhere) == going, "what was begun is not begun again"
    assert [each.workflow_id for each in ours.wanted.services] == [second, elsewhere]
    assert await phases(box, second) == ["STARTING", "PENDING"]
    assert await box.offer(worker) is None


async def test_services_are_there_until_the_last_machine_is_done(box: Appliance) -> None:
    text = RELAY.replace("tasks:", "services: [{name: s, worker: provisioner, image: x}]\ntasks:")
    first, second = await box.machine(1), await box.machine(2)
    workflow_id = await box.workflow(text, a=1, b=2)
    ours = Host(box)
    await ours.obey()
    for worker, actions in ((first, ["one", "two"]), (second, ["three"]), (first, ["four"])):
        assert await ours.ask() == ["s"]
        assert await box.finish(worker) == actions
    assert await ours.ask() == []
    assert await phases(box, workflow_id) == ["STOPPING"]
    await ours.obey()
    assert await phases(box, workflow_id) == ["STOPPED"]


async def test_services_go_on_while_their_workflow_is_told_to_stop(box: Appliance) -> None:
    workflow_id, worker = await served(box), await box.machine(1)
    both = await hosts(box)
    for host in both:
        await host.obey()
    offer = await box.offer(worker)
    assert offer is not None
    await box.workflows.cancel(workflow_id)
    assert (await box.workflows.get(workflow_id)).state is State.STOPPING
    assert [await host.ask() for host in both] == [["boot files"], ["receiver"]]
    await box.report(worker, offer, State.CANCELED)
    assert [await host.ask() for host in both] == [[], []]
    assert await phases(box, workflow_id) == ["STOPPING", "STOPPING"]


async def test_cancelling_what_has_not_begun_ends_what_was_started_for_it(box: Appliance) -> None:
    workflow_id = await served(box)
    ours = Host(box)
    await ours.ask()
    await ours.say("boot files", READY)
    await box.workflows.cancel(workflow_id)
    assert await ours.ask() == []
    assert await phases(box, workflow_id) == ["STOPPING", "STOPPED"], "nobody was told of the other"
    await ours.repeat()
    assert await phases(box, workflow_id) == ["STOPPING", "STOPPED"], "it is not ready any more, whatever its host says"
    ours.has.clear()
    await ours.repeat()
    assert await phases(box, workflow_id) == ["STOPPED", "STOPPED"]
    assert await told_of(box, workflow_id) == [
        "starting boot files", "ready boot files", "stopping boot files", "stopped receiver", "stopped boot files",
    ]  # fmt: skip


async def test_what_ended_by_itself_stays_so_when_its_workflow_is_over(box: Appliance) -> None:
    workflow_id = await served(box)
    ours, machine = await hosts(box)
    await ours.ask()
    await machine.ask()
    await ours.say("boot files", Phase.EXITED, exit_code=0)
    await box.workflows.cancel(workflow_id)
    await machine.say("receiver", Phase.FAILED, exit_code=1)
    for host in (ours, machine):
        host.has.clear()
        await host.repeat()
    assert await phases(box, workflow_id) == ["EXITED", "FAILED"]


async def test_one_that_exits_because_it_is_told_to_end_was_not_ready(box: Appliance) -> None:
    workflow_id = await served(box, OWN)
    ours = Host(box)
    await ours.ask()
    await box.workflows.cancel(workflow_id)
    await ours.say("", Phase.EXITED, exit_code=0)
    (status,) = (await box.workflows.get(workflow_id)).services
    assert (status.standing.phase, status.ready_at) == (Phase.EXITED, None)
    assert await told_of(box, workflow_id) == ["starting boot files", "stopping boot files", "exited boot files"]


async def test_what_is_deleted_is_not_wanted_and_what_its_host_still_says_of_it_is_heeded_no_more(
    box: Appliance,
) -> None:
    workflow_id = await served(box)
    ours, _ = await hosts(box)
    await ours.ask()
    run = ours.told().run
    await box.workflows.delete(workflow_id)
    assert await ours.ask() == []
    await box.services.observed("", (Standing(run=run, phase=READY),))
    with pytest.raises(NotFound):
        await box.services.output("", run, 0, b"x")
    with pytest.raises(NotFound):
        await box.services.keep_data("", run, b"")


async def test_a_retry_starts_every_service_anew_and_waits_for_it(box: Appliance) -> None:
    workflow_id, worker = await served(box), await box.machine(1)
    both = await hosts(box)
    for host in both:
        await host.obey()
    offer = await box.offer(worker)
    assert offer is not None
    await box.report(worker, offer, State.FAILED)
    old = [host.told().run for host in both]
    await box.workflows.retry(workflow_id)
    assert await phases(box, workflow_id) == ["PENDING", "PENDING"]
    assert await box.offer(worker) is None
    ours, machine = both
    assert [await host.ask() for host in both] == [["boot files"], ["receiver"]]
    assert not {host.told().run for host in both} & set(old)
    for host in both:
        # What the host has still is the old run, and does not count for the new one.
        await host.repeat()
    assert await phases(box, workflow_id) == ["STARTING", "STARTING"]
    assert await box.offer(worker) is None
    await ours.obey()
    await machine.obey()
    assert [run.status.standing.phase for run in await box.runs(workflow_id, "receiver")] == ["STOPPED", "READY"]
    assert await box.finish(worker) == ["one", "two"]


async def test_a_workflow_that_could_not_begin_is_taken_up_again_as_if_nothing_had_been(box: Appliance) -> None:
    workflow_id, worker = await served(box, OWN), await box.machine(1)
    ours = Host(box)
    await ours.ask()
    await ours.say("", Phase.FAILED, reason="ServiceFailed", message="it ended with status 1")
    await box.workflows.retry(workflow_id)
    again = await box.workflows.get(workflow_id)
    assert (again.state, again.reason, again.message, again.service) == (State.PENDING, "", "", "")
    await ours.obey()
    assert await box.finish(worker) == ["one"]


async def test_a_machine_that_hosts_services_cannot_be_forgotten_before_their_workflow_is_over(box: Appliance) -> None:
    workflow_id = await served(box)
    _, machine = await hosts(box)
    with pytest.raises(Conflict, match=workflow_id):
        await box.machines.delete(machine.id)
    await box.workflows.cancel(workflow_id)
    await box.machines.delete(machine.id)
    assert await phases(box, workflow_id) == ["STOPPED", "STOPPED"]


async def test_a_service_on_a_host_that_nobody_knows_is_refused_with_everything_else(box: Appliance) -> None:
    await box.machine(1)
    with pytest.raises(Invalid, match="hosts of its services"):
        await box.workflow(SERVED, device_1=1, host=HOST)
    assert await box.workflows.all() == []
