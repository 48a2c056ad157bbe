"""A client that knows the operator door from `/openapi.json` alone, against a real appliance."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import aiohttp
import pytest

from tests.integration.api.described import Described
from tests.integration.api.door import TOKEN, Door, image_archive
from tests.integration.api.test_services import flow
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.engine.discovery.test_discovery import wait_here
from tests.integration.engine.held import hold
from tests.integration.registry.serving import system_image_archive
from tinkbox.model.boot import Stage
from tinkbox.model.journal import Seen
from tinkbox.model.leases import Lease, LeaseState
from tinkbox.wire.messages.journal import History

# What these must be asked with.
ASKED = {
    "/v1/services/logs": {"service": "receiver"},
    "/v1/images/descriptor": {"reference": "hello-world:v1"},
    "/v1/images/referrers": {"reference": "hello-world:v1"},
}
# Lists that have something in them below.
FILLED = {
    "/v1/breakpoints", "/v1/discovered", "/v1/hardware", "/v1/images", "/v1/leases", "/v1/lost-histories", "/v1/osie",
    "/v1/rollouts", "/v1/seen", "/v1/services", "/v1/system-images", "/v1/template-catalogue", "/v1/templates",
    "/v1/workflows",
}  # fmt: skip


@dataclass
class Client:
    """Asks what is described, and looks whether the answer is as described; `described` is the document."""

    door: Door
    described: Mapping[str, Any]

    def paths(self) -> list[str]:
        """Those that can be asked without knowing a key."""
        return [path for path, operations in self.described["paths"].items() if "get" in operations and "{" not in path]

    async def get(
        self, path: str, query: Mapping[str, str] | None = None, part: str = "", **keys: str
    ) -> tuple[int, Any]:
        """The status and the body, None where that is no JSON; raises AssertionError for an answer that is not described."""
        operation = self.described["paths"][path]["get"]
        named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
        assert named == set(keys)
        known = {each["name"] for each in operation["parameters"] if each["in"] == "query"}
        assert set(query or {}) <= known
        url = f"{self.door.url}{path.format(**keys)}"
        headers = {"Authorization": f"Bearer {TOKEN}", **({"Range": part} if part else {})}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(url, params=query) as response,
        ):
            body = await response.json(content_type=None) if response.content_type.endswith("json") else None
            Described(self.described).check("GET", path.format(**keys), response.status, response.content_type, body)
            return response.status, body


@pytest.fixture
async def client(door: Door) -> AsyncIterator[Client]:
    async with door.local.get("http://tinkbox/openapi.json") as response:
        assert (response.status, response.content_type) == (200, "application/json")
        yield Client(door, await response.json())


async def filled(door: Door) -> dict[str, str]:
    """An appliance with one of everything; returns the ids that keys are."""
    await hold(door.box, await door.box.machine(1))
    workflow, _ = await flow(door)
    for number in (3, 4):
        await door.done("POST", "/v1/hardware", hardware(number))
    await door.done("POST", "/v1/hardware/machine-3/notes", {"text": "its fan is loud"})
    await door.done("POST", "/v1/hardware/machine-4/retire", {"reason": "broken"})
    await door.done("PATCH", "/v1/hardware/machine-3/labels", {"set": {"rack": "r1"}})
    await door.done("POST", "/v1/templates", {"name": "one", "data": HELLO, "labels": {"for": "tests"}})
    asked = {"template": "one", "machines": ["machine-3"], "labels": {"rack": "r1"}}
    rollout = (await door.done("POST", "/v1/rollouts", asked))["id"]
    await door.done("POST", "/v1/images", image_archive())
    await door.done("POST", "/v1/images", system_image_archive("20261101"))
    door.box.machines.progress.saw(mac(3), Stage.LOADER, "PXEClient")
    await wait_here(door.box.discovery, 7)
    lost = (await door.done("GET", "/v1/hardware/machine-3"))["id"]
    await door.box.lost_histories.told(
        lost, History(boot_id="boot-1", seen=Seen(store="another", position=1, attempt="lost"), entries=())
    )
    until = door.box.clock() + timedelta(hours=1)
    door.lent.append(
        Lease(address=IPv4Address("172.30.0.100"), mac=mac(3), state=LeaseState.BOUND, until=until, seconds=3600)
    )
    return {"workflow": workflow, "rollout": rollout, "machine": lost}


async def test_every_get_answers_as_it_is_described(client: Client) -> None:
    await filled(client.door)
    asked = client.paths()
    assert len(asked) > 20
    for path in asked:
        status, body = await client.get(path, ASKED.get(path))
        assert status == 200, (path, body)
        assert body or path not in FILLED, path


async def test_what_must_be_asked_is_described_as_required(client: Client) -> None:
    required = {
        path: {each["name"] for each in client.described["paths"][path]["get"]["parameters"] if each.get("required")}
        for path in client.paths()
    }
    assert {path: names for path, names in required.items() if names} == {
        path: set(query) for path, query in ASKED.items()
    }


async def test_an_appliance_with_nothing_in_it_answers_as_it_is_described(client: Client) -> None:
    for path in client.paths():
        status, body = await client.get(path)
        assert status == (200 if path not in ASKED else 422), (path, body)


async def test_what_has_a_key_answers_as_it_is_described(client: Client) -> None:
    keys = await filled(client.door)
    held = (await client.get("/v1/breakpoints"))[1][0]["id"]
    system = (await client.get("/v1/system-images"))[1][0]
    wanted = {
        "hardware": ("machine-3", "machine-4"),
        "workflows": (keys["workflow"], held),
        "rollouts": (keys["rollout"],),
        "seen": (mac(3),),
        "tokens": ("bert",),
        "templates": ("one", "install"),
        "names": ("machine", "template"),
        "system-images": (f"{system['id']}:{system['tags'][0]}",),
        "images": ((await client.get("/v1/images/descriptor", {"reference": "hello-world:v1"}))[1]["digest"],),
    }
    asked = 0
    for path, operations in client.described["paths"].items():
        if "get" not in operations or "{key}" not in path:
            continue
        for key in wanted[path.split("/")[2]]:
            status, body = await client.get(path, key=key)
            refused = path.endswith("/credential") and key == "machine-4"  # which is retired
            assert status == (409 if refused else 200), (path, key, body)
            asked += 1
    assert asked > 25


async def test_refusals_are_as_they_are_described(client: Client) -> None:
    assert (await client.get("/v1/hardware/{key}", key="nobody"))[1]["type"] == "/problems/notfound"
    status, body = await client.get("/v1/hardware", {"sort": "colour"})
    assert (status, body["type"]) == (422, "/problems/invalid")


async def test_a_part_of_a_blob_and_one_that_is_not_there_are_as_they_are_described(client: Client) -> None:
    await client.door.done("POST", "/v1/images", image_archive())
    found = (await client.get("/v1/images/descriptor", {"reference": "hello-world:v1"}))[1]
    blob = "/v1/images/blobs/{key}"
    assert (await client.get(blob, part="bytes=0-9", key=found["digest"]))[0] == 206
    status, refusal = await client.get(blob, part=f"bytes={found['size']}-", key=found["digest"])
    assert (status, refusal["type"]) == (416, "/problems/requested-range-not-satisfiable")


async def test_who_shows_no_token_is_told_so_and_who_may_not_look_gets_no_description(client: Client) -> None:
    for token, expected in (("", 401), ("operate-token", 403), ("look-token", 200)):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{client.door.url}/openapi.json") as response,
        ):
            assert response.status == expected
            described = json.loads(await response.text())
    assert described == client.described
