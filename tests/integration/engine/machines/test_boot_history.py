"""Machines by what was seen of them, and the story of a boot as people read it."""

import json
from uuid import UUID

import pytest

from tests.integration.engine.appliance import Appliance, hardware, mac
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import NotFound
from tinkbox.model.workflow import State
from tinkbox.wire.syslog import Message, Severity


@pytest.fixture
def seen(box: Appliance) -> Seen:
    return Seen(box.store, box.machines, box.syslog, box.clock)


def say(box: Appliance, number: int, text: str, program: str = "kernel") -> None:
    message = Message(severity=Severity.ERROR, facility=0, program=program, text=text)
    box.syslog.said(mac(number), message)


async def test_known_machines_and_strangers_are_listed_with_where_they_stand(box: Appliance, seen: Seen) -> None:
    worker = await box.machine(1)
    assert await seen.all() == []
    box.machines.progress.saw(mac(1), Stage.DISCOVER, asker=Asker.PXE)
    box.clock.forward(50)
    box.machines.progress.saw(mac(9), Stage.IGNORED, "no hardware document names it")
    stranger, known = await seen.all()
    assert (stranger.newest.mac, stranger.newest.stage) == (mac(9), Stage.IGNORED)
    assert (stranger.hardware_id, stranger.hostname, stranger.stalled) == ("", "", "")
    assert (known.newest.mac, known.hardware_id, known.hostname) == (mac(1), worker, "machine-1")
    assert known.stalled == "stalled here for 50 s"
    assert await seen.get(mac(9).upper()) == stranger
    for key in (mac(1), worker, "machine-1", "172.30.0.11"):
        assert await seen.get(key) == known


async def test_where_a_machine_with_several_interfaces_stands_is_where_it_was_seen_last(
    box: Appliance, seen: Seen
) -> None:
    both = hardware(1)
    both["network"]["interfaces"] += hardware(2)["network"]["interfaces"]  # type: ignore[index]
    await box.machines.push(parse_hardware(json.dumps(both)))
    box.machines.progress.saw(mac(2), Stage.KERNEL)
    box.clock.forward(1)
    box.machines.progress.saw(mac(1), Stage.DISCOVER)
    assert (await seen.get(mac(2))).newest.mac == mac(1)
    assert [each.stage for each in await seen.story(mac(2))] == [Stage.KERNEL, Stage.DISCOVER]


async def test_what_was_never_seen_is_not_found(box: Appliance, seen: Seen) -> None:
    worker = await box.machine(1)
    for key in (mac(9), "nobody"):
        with pytest.raises(NotFound):
            await seen.story(key)
    with pytest.raises(NotFound, match="nothing was seen"):
        await seen.get(worker)
    assert await seen.story(worker) == []


async def test_a_machine_that_is_called_like_a_mac_that_nobody_has_is_found(box: Appliance, seen: Seen) -> None:
    document = json.dumps(hardware(1)).replace("machine-1", mac(9))
    await box.machines.push(parse_hardware(document))
    assert await seen.which(mac(9)) == (str(UUID(int=1)), (mac(1),))


async def test_the_story_tells_of_boots_actions_and_lines_as_they_came(box: Appliance, seen: Seen) -> None:
    worker = await box.machine(1)
    other = await box.machine(2)
    workflow_id = await box.workflow()
    box.machines.progress.saw(mac(1), Stage.RAMDISK)
    box.clock.forward(5)
    say(box, 1, "Linux version 6.1")
    say(box, 2, "somebody else")
    box.clock.forward(5)
    offer = await box.offer(worker)
    assert offer is not None
    box.clock.forward(2.5)
    await box.report(worker, offer, State.FAILED, reason="Signal", message="killed\x1b[2J")
    story = await seen.story(worker)
    assert [(each.stage, each.detail) for each in story] == [
        (Stage.RAMDISK, ""),
        (Stage.SYSLOG, "kernel: Linux version 6.1"),
        (Stage.WORKER, ""),
        (Stage.ACTION, "hello world/hello_world begun"),
        (Stage.ACTION, "hello world/hello_world FAILED after 2.5 s, Signal: 'killed [2J'"),
    ]
    assert story[1].facts == {"severity": 3, "program": "kernel"}
    assert story[3].facts == {
        "workflow": workflow_id, "task": "hello world", "action": "hello_world", "attempt": offer.attempt,
    }  # fmt: skip
    assert (story[4].facts["state"], story[4].facts["seconds"]) == (State.FAILED, 2.5)
    assert [each.detail for each in await seen.story(other)] == ["kernel: somebody else"]


async def test_an_action_that_runs_has_begun_and_not_ended(box: Appliance, seen: Seen) -> None:
    worker = await box.machine(1)
    await box.workflow()
    await box.offer(worker)
    assert [each.detail for each in await seen.story(worker)] == ["", "hello world/hello_world begun"]


async def test_as_many_lines_are_told_as_are_asked_for(box: Appliance, seen: Seen) -> None:
    box.machines.progress.saw(mac(9), Stage.DISCOVER)
    for number in range(30):
        say(box, 9, str(number), program="")
    lines = [each.detail for each in await seen.story(mac(9)) if each.stage is Stage.SYSLOG]
    assert lines == [str(number) for number in range(10, 30)]
    assert [each.stage for each in await seen.story(mac(9), 0)] == [Stage.DISCOVER]
