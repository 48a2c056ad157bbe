"""Whatever names a machine may stand wherever a machine is meant, and for its newest workflow."""

import json

import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, hardware, mac

# What a route has to be asked before it looks for what the key means.
BODIES = {
    "/v1/hardware/{key}": {
        "text": json.dumps(hardware(1)),
        "base": {"updated_at": "2026-01-01T00:00:00+00:00", "labels": {}},
    },
    "/labels": {"set": {"rack": "r1"}},
    "/tpm": {"sha256": "0" * 64},
    "/notes": {"text": "a new disk"},
    "/verdict": {"verb": "continue"},
}
NOT_FOUND = " 'nowhere' not found: "


def routes(door: Door) -> list[tuple[str, str]]:
    """Every route of one machine or workflow; what takes one away comes last, and the machine behind its workflow."""
    nouns = ("/v1/hardware/{key}", "/v1/workflows/{key}")
    found = {(each.method, each.path) for each in door.routes if each.path.startswith(nouns)}
    return sorted(
        found, key=lambda each: (each[0] == "DELETE", each[1].endswith("{key}"), each[1][:5] == "/v1/h", each)
    )


async def answer(door: Door, method: str, path: str, key: str) -> str:
    """Why it is refused, or nothing."""
    at = path.replace("{key}", key).replace("{id}", "1")
    body = next((each for end, each in BODIES.items() if path.endswith(end)), {})
    body = {"name": "machine-1"} if (method, path) == ("PATCH", "/v1/hardware/{key}") else body
    async with door.local.request(method, f"http://tinkbox{at}", json=None if method == "GET" else body) as response:
        return "" if response.ok else str(await response.json(content_type=None))


@pytest.mark.parametrize("name", ["machine-1", mac(1), mac(1).upper(), "172.30.0.11", "short id"])
async def test_every_route_takes_every_name_of_a_machine(door: Door, name: str) -> None:
    added = await door.done(
        "POST", "/v1/hardware/add", {"mac": mac(1), "name": "machine-1", "address": "172.30.0.11/24"}
    )
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    key = added["id"][:8] if name == "short id" else name
    told = {each: await answer(door, *each, key) for each in routes(door)}
    assert len(told) > 30
    assert {each: why for each, why in told.items() if f"{key!r} not found" in why} == {}
    assert {each for each in told if NOT_FOUND not in await answer(door, *each, "nowhere")} == set(), (
        "it was looked for"
    )
