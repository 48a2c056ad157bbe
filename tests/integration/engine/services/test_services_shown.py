"""What people see of the services of workflows, and who is woken for it."""

import asyncio
from uuid import UUID

import pytest

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.serving import OTHER, OWN, Host, served
from tinkbox.engine.wakeups import CHANGES
from tinkbox.model.errors import NotFound
from tinkbox.model.services import APPLIANCE, Phase
from tinkbox.model.workflow import State


async def test_output_is_taken_once_and_kept_by_run_until_the_workflow_is_deleted(box: Appliance) -> None:
    workflow_id = await served(box, OWN)
    ours = Host(box)
    await ours.ask()
    first = ours.told().run
    assert await box.services.output("", first, 0, b"hello ") == 6
    assert await box.services.output("", first, 0, b"hello ") == 6
    assert await box.services.output("", first, 9, b"gap") == 6
    assert await box.services.output("", first, 3, b"lo world") == 11
    await box.workflows.cancel(workflow_id)
    await box.workflows.retry(workflow_id)
    await ours.ask()
    await box.services.output("", ours.told().run, 0, b"again")
    assert await box.services.output("", first, 11, b"!") == 12, "its last words may come late"
    old, new = await box.services.logs("boot files", {first: 6})
    assert (old.workflow_id, old.run, old.status.output_length) == (workflow_id, first, 12)
    assert b"".join(piece.chunk for piece in old.pieces) == b"world!"
    assert (new.run, b"".join(piece.chunk for piece in new.pieces)) == (ours.told().run, b"again")


async def test_a_service_is_found_by_its_workflow_or_as_the_newest_of_its_name(box: Appliance) -> None:
    old, new = await served(box), await served(box, OWN, machine=OTHER)
    for key, workflow_id in (
        ("receiver", old), ("boot files", new), ("served/boot files", old), ("own/boot files", new),
        (f"{old}/boot files", old), (f"{old[:8]}/receiver", old), (f"{new}/boot files", new),
    ):  # fmt: skip
        assert {each.workflow_id for each in await box.services.logs(key, {})} == {workflow_id}, key
    for key in ("other", f"{new}/receiver", "own/receiver", "nobody/boot files", ""):
        with pytest.raises(NotFound, match="service list"):
            await box.services.logs(key, {})


async def test_names_with_slashes_are_found_as_well(box: Appliance) -> None:
    await box.machine(1)
    await box.templates.create("slashes", OWN.replace("boot files", "boot/files").replace("name: own", "name: a"))
    workflow_id = await box.workflows.create("slashes", {"device_1": mac(1)}, name="x/y")
    other = await box.workflows.create("slashes", {"device_1": mac(1)}, name="z")
    for key, found in (("boot/files", other), ("z/boot/files", other), (f"{workflow_id}/boot/files", workflow_id)):
        assert {each.workflow_id for each in await box.services.logs(key, {})} == {found}
    assert [each.workflow for each in await box.services.all("x/y")] == ["x/y"]


async def test_services_are_listed_with_their_workflows(box: Appliance) -> None:
    first, second = await served(box), await served(box, OWN, machine=OTHER)
    await box.workflow("""{version: "0.1", name: plain, tasks: [{name: t, worker: "{{.device_1}}", actions: [{name: a, image: x}]}]}""", device_1=1)  # fmt: skip
    await Host(box).ask()
    await box.workflows.cancel(second)
    found = [
        (each.workflow_id, each.workflow, each.state, each.status.service.spec.name, each.status.standing.phase)
        for each in await box.services.all()
    ]
    assert found == [
        (first, "served", State.PENDING, "boot files", Phase.STARTING),
        (first, "served", State.PENDING, "receiver", Phase.PENDING),
        (second, "own", State.CANCELED, "boot files", Phase.STOPPING),
    ]
    assert [each.workflow_id for each in await box.services.all("own")] == [second]
    assert await box.services.all("plain") == []
    with pytest.raises(NotFound):
        await box.services.all("nobody")


@pytest.mark.parametrize("what", ["create", "cancel", "retry", "delete", "ended"])
async def test_hosts_are_woken_when_something_else_may_be_wanted(box: Appliance, what: str) -> None:
    workflow_id, worker = await served(box, OWN), await box.machine(1)
    ours = Host(box)
    await ours.obey()
    offer = await box.offer(worker) if what == "ended" else None
    if what == "retry":
        await box.workflows.cancel(workflow_id)
    await box.services.refresh()
    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        running = parts.create_task(box.services.run())
        waiting = parts.create_task(box.services.wait(APPLIANCE, 60))
        await asyncio.sleep(0)
        if what == "create":
            await served(box, OWN, machine=OTHER)
        elif offer is not None:
            await box.report(worker, offer, State.FAILED)
        else:
            await {"cancel": box.workflows.cancel, "retry": box.workflows.retry, "delete": box.workflows.delete}[what](workflow_id)  # fmt: skip
        await waiting
        running.cancel()


async def test_hosts_sleep_through_what_is_no_matter_of_theirs(box: Appliance) -> None:
    await served(box, OWN)
    ours = Host(box)
    await ours.obey()
    async with asyncio.TaskGroup() as parts:
        waiting = [parts.create_task(box.services.wait(host, 60)) for host in (APPLIANCE, str(UUID(int=OTHER)))]
        await asyncio.sleep(0)
        await box.machine(OTHER)
        await box.workflow(device_1=OTHER)
        await box.services.refresh()
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)
        for task in waiting:
            task.cancel()


async def test_whoever_watches_learns_of_every_change(box: Appliance) -> None:
    await served(box, OWN)
    ours = Host(box)
    await ours.ask()
    run = ours.told().run
    for change in (
        lambda: ours.say("", Phase.STARTING, message="fetching"),
        lambda: box.services.output("", run, 0, b"x"),
        lambda: ours.write(a="1"),
    ):
        async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
            waiting = parts.create_task(box.wakeups.wait(CHANGES, 60))
            await asyncio.sleep(0)
            await change()
            await waiting
