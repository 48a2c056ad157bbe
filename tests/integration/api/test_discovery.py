"""Machines that nobody knows, on the operator door."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.api.door import Door, open_door
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.engine.discovery.test_discovery import pxe, wait_here, what
from tinkbox.model.hardware import Interface
from tinkbox.wire.messages.inventory import Told

ACCEPT, REFUSE = f"/v1/discovered/{mac(7)}/accept", f"/v1/discovered/{mac(7)}/refuse"


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path) as opened:
        yield opened


async def test_who_boots_and_who_waits_is_listed(door: Door) -> None:
    assert await door.done("GET", "/v1/discovered") == []
    await wait_here(door.box.discovery, 7)
    door.box.discovery.plan(pxe(8), Interface(mac=mac(8)), "eth1")
    waiting, asking = await door.done("GET", "/v1/discovered")
    assert (waiting["mac"], waiting["standing"], waiting["port"]) == (mac(7), "waiting", "eth1")
    assert waiting["inventory"]["disks"] == [
        {"device": "/dev/vda", "size": 10 * 2**30, "serial": "disk-7", "model": "", "rotational": False}
    ]
    assert "disk-7" in waiting["summary"]
    assert "token" not in waiting
    assert (asking["mac"], asking["standing"], asking["inventory"], asking["summary"]) == (mac(8), "asking", None, "")


async def test_accepted_it_is_hardware_with_what_it_told_and_its_workflow(door: Door) -> None:
    await door.box.templates.create("hello", HELLO)
    await wait_here(door.box.discovery, 7)
    wanted = {"name": "node", "address": "172.30.0.20/24", "template": "hello", "hardware": {"device_1": mac(7)}}
    status, accepted = await door.ask("POST", ACCEPT, wanted)
    assert (status, accepted["name"]) == (201, "node")
    machine = await door.done("GET", f"/v1/hardware/{accepted['id']}")
    assert machine["interfaces"][0] == {
        "mac": mac(7),
        "address": "172.30.0.20",
        "netmask": "255.255.255.0",
        "gateway": "",
        "hostname": "node",
    }
    assert machine["inventory"]["serial"] == "S-7"
    assert machine["inventory"]["told_at"] == "2026-11-21T03:00:00+00:00"
    assert machine["habits"] == {"secure_boot": False, "local_boot": "", "proven": False}
    assert (await door.done("GET", f"/v1/workflows/{accepted['workflow']}"))["devices"] == {"device_1": mac(7)}
    assert await door.done("GET", "/v1/discovered") == []


async def test_without_a_word_it_is_called_after_its_mac_and_has_no_workflow(door: Door) -> None:
    await wait_here(door.box.discovery, 7)
    accepted = await door.done("POST", ACCEPT)
    assert (accepted["name"], accepted["workflow"]) == ("machine-08-00-27-00-00-07", "")


async def test_accepted_it_can_be_installed_by_its_name(door: Door) -> None:
    await wait_here(door.box.discovery, 7)
    accepted = await door.done("POST", ACCEPT, {"name": "node7"})
    machine = await door.done("GET", "/v1/hardware/node7")
    asked = {"device_1": machine["interfaces"][0]["mac"], "image": "debian-13", "hostname": "node7"}
    made = await door.done("POST", "/v1/workflows", {"template": "install", "hardware": asked})
    assert await door.done("GET", "/v1/hardware/node7/workflows") == [{"id": made["id"]}]
    (image, boot) = (await door.done("GET", f"/v1/workflows/{made['id']}"))["actions"]
    assert (image["worker"], boot["worker"]) == (accepted["id"], accepted["id"])


async def test_accepted_twice_is_a_conflict_that_names_the_machine(door: Door) -> None:
    await wait_here(door.box.discovery, 7)
    accepted = await door.done("POST", ACCEPT)
    status, problem = await door.ask("POST", ACCEPT)
    assert status == 409
    assert accepted["id"] in problem["detail"]


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"template": "missing"}, 404),
        ({"name": "No Name"}, 422),
        ({"nmae": "x"}, 422),
        ({"name": 7}, 422),
        ({"hardware": ["x"]}, 422),
        ({"address": "10.0.0.1"}, 422),
    ],
)
async def test_what_cannot_be_is_refused_and_it_waits_on(door: Door, wanted: dict[str, object], status: int) -> None:
    await wait_here(door.box.discovery, 7)
    assert (await door.ask("POST", ACCEPT, wanted))[0] == status
    assert [each["standing"] for each in await door.done("GET", "/v1/discovered")] == ["waiting"]


async def test_a_machine_never_seen_or_no_mac_cannot_be_accepted(door: Door) -> None:
    assert (await door.ask("POST", ACCEPT))[0] == 404
    assert (await door.ask("POST", "/v1/discovered/machine-7/accept"))[0] == 422


async def test_a_refused_machine_is_shown_as_that(door: Door) -> None:
    await wait_here(door.box.discovery, 7)
    assert await door.done("POST", REFUSE) == {"mac": mac(7)}
    assert [each["standing"] for each in await door.done("GET", "/v1/discovered")] == ["refused"]
    await door.done("POST", "/v1/hardware", hardware(1))
    assert (await door.ask("POST", f"/v1/discovered/{mac(1)}/refuse"))[0] == 409


async def test_what_a_known_machine_told_is_shown(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.box.discovery.told(door.box.machines.known.holder(mac(1)), Told(boot_id="b", inventory=what(1)))
    assert (await door.done("GET", f"/v1/hardware/{mac(1)}"))["inventory"]["serial"] == "S-1"
