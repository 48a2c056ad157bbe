"""The picture in memory of which services there are, and the appliance at a glance."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tests.integration.engine.appliance import Appliance, Clock, appliance
from tests.integration.engine.serving import HOST, MACHINE, OTHER, OWN, Host, hosts, served
from tinkbox.engine.services.routing_table import Hosted
from tinkbox.engine.services.services import Services
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.wire.messages.status import ServiceLine, WorkflowLine

RELAY = """\
version: "0.1"
name: relay
services: [{name: s, worker: provisioner, image: x}]
tasks:
  - {name: first, worker: "{{.device_1}}", actions: [{name: one, image: x}]}
  - {name: second, worker: "{{.host}}", actions: [{name: two, image: x}, {name: no, image: x, if: "false"}]}
"""
PLAIN = """{version: "0.1", name: plain, tasks: [{name: t, worker: "{{.device_1}}", actions: [{name: a, image: x}]}]}"""


class Picture:
    """A directory that remembers what it was told last."""

    def __init__(self) -> None:
        self.hosted: tuple[Hosted, ...] = ()
        self.replaced = 0
        self.renewed = asyncio.Event()

    def replace(self, hosted: Sequence[Hosted]) -> None:
        self.hosted = tuple(hosted)
        self.replaced += 1
        self.renewed.set()

    async def next(self, workflows: int) -> None:
        """Wait until it shows so many."""
        while len(self.hosted) != workflows:
            self.renewed.clear()
            await self.renewed.wait()

    def name_of(self, workflow_id: str) -> str:
        return workflow_id


def watched(box: Appliance) -> Picture:
    """Have the services of an appliance kept in a picture."""
    picture = Picture()
    box.services = Services(
        box.store, box.wakeups, box.machines, box.clock, picture, "172.30.0.1", lambda _: "", box.giving, box.masks
    )  # type: ignore[arg-type]
    return picture


async def test_the_picture_has_the_services_of_everything_that_is_not_over(box: Appliance) -> None:
    picture = watched(box)
    first, second = await served(box, RELAY), await served(box, OWN, machine=OTHER)
    waiting = await served(box)
    await box.workflow(PLAIN, device_1=OTHER)
    await box.workflows.cancel(second)
    await box.services.refresh()
    flow = await box.workflows.get(first)
    assert [(each.workflow_id, each.state, each.wanted) for each in picture.hosted] == [
        (first, State.PENDING, True),
        (waiting, State.PENDING, False),
    ]
    assert picture.hosted[0].services == flow.services
    assert picture.hosted[0].machines == frozenset(flow.workers())
    assert len(picture.hosted[0].machines) == 2


async def test_the_picture_tells_which_machines_have_to_do_with_a_workflow_next(box: Appliance) -> None:
    picture = watched(box)
    worker, second = await box.machine(MACHINE), await box.machine(HOST)
    first = await served(box, RELAY)
    following = await served(box, OWN)

    async def next_of() -> dict[str, frozenset[str]]:
        await box.services.refresh()
        return {each.workflow_id: each.next_of for each in picture.hosted}

    assert await next_of() == {first: {worker, second}, following: set()}
    await Host(box).obey()
    assert await box.finish(worker) == ["one"]
    assert await next_of() == {first: {second}, following: {worker}}
    assert [each.wanted for each in picture.hosted] == [True, True]


async def test_the_picture_is_renewed_by_everything_that_hosts_ask_and_say(box: Appliance) -> None:
    picture = watched(box)
    await served(box, OWN)
    ours = Host(box)
    await ours.ask()
    assert picture.hosted[0].services[0].standing.phase is Phase.STARTING
    await ours.say("", Phase.READY, address="10.213.0.2", ports=(80,))
    (status,) = picture.hosted[0].services
    assert (status.standing.phase, status.standing.address, status.ready_at) == (Phase.READY, "10.213.0.2", box.clock())
    renewed = picture.replaced
    await ours.ask()
    await ours.repeat()
    assert picture.replaced == renewed, "nothing new, nothing to do"
    await ours.say("", Phase.FAILED)
    assert picture.hosted[0].services[0].standing.phase is Phase.FAILED


async def test_a_workflow_that_could_not_begin_leaves_the_picture_at_once(box: Appliance) -> None:
    picture = watched(box)
    await served(box, OWN)
    ours = Host(box)
    await ours.ask()
    assert picture.hosted
    await ours.say("", Phase.FAILED)
    assert picture.hosted == ()


async def test_the_part_takes_over_what_others_commit(box: Appliance) -> None:
    picture = watched(box)
    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        running = parts.create_task(box.services.run())
        workflow_id = await served(box, OWN)
        await picture.next(1)
        await box.workflows.cancel(workflow_id)
        await picture.next(0)
        running.cancel()


async def test_an_appliance_that_starts_has_its_picture_before_anybody_asks(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        workflow_id = await served(box, OWN)
    async with appliance(tmp_path / "db", Clock()) as box:
        picture = watched(box)
        await box.services.load()
        assert [each.workflow_id for each in picture.hosted] == [workflow_id]
        assert len(box.services.host_id) == 16


async def test_without_services_a_look_is_one_question(box: Appliance) -> None:
    await box.machine(MACHINE)
    for _ in range(3):
        await box.workflow(PLAIN, device_1=MACHINE)
    asked: list[str] = []
    reader = box.store._reader
    await reader.call(lambda: reader.connection.set_trace_callback(asked.append))
    await box.services.refresh()
    assert await box.services.wanted("", "") is not None
    await reader.call(lambda: reader.connection.set_trace_callback(None))
    assert len([each for each in asked if "SELECT" in each]) == 2, asked


async def line(box: Appliance) -> WorkflowLine:
    (only,) = (await box.overview.snapshot("1")).workflows
    return only


async def test_services_are_shown_at_a_glance_by_the_names_of_their_hosts_until_the_workflow_is_over(
    box: Appliance,
) -> None:
    workflow_id = await served(box)
    ours, machine = await hosts(box)
    await machine.ask()
    await ours.ask()
    await ours.say("boot files", Phase.READY)
    await ours.say("boot files", Phase.RESTARTING, restarts=2, message="it ended with status 1")
    assert (await line(box)).services == (
        ServiceLine(
            name="boot files",
            host="provisioner",
            phase=Phase.RESTARTING,
            restarts=2,
            message="it ended with status 1",
            ready=True,
        ),
        ServiceLine(name="receiver", host="machine-9", phase=Phase.STARTING),
    )
    assert (await line(box)).failure is None
    await box.workflows.cancel(workflow_id)
    assert (await line(box)).services == ()
    assert (await line(box)).failure is None


async def test_a_service_that_kept_its_workflow_from_beginning_is_shown_as_the_failure(box: Appliance) -> None:
    await served(box)
    ours, _ = await hosts(box)
    await ours.ask()
    told = {"reason": "ServiceFailed", "message": "it ended", "exit_code": 3, "signal": "SIGHUP", "tail": ("a", "b")}
    await ours.say("boot files", Phase.FAILED, **told)
    failure = (await line(box)).failure
    assert failure is not None
    assert (failure.service, failure.task, failure.name, failure.reason) == ("boot files", "", "", "ServiceFailed")
    assert (failure.exit_code, failure.signal, failure.last_output) == (3, "SIGHUP", "b")
    assert failure.message == "service boot files: it ended; its last lines: a | b"
    assert "tinkbox service logs" in failure.hint
