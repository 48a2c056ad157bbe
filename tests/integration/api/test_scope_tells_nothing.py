"""Whoever has a scope is answered about what is outside of it as about what does not exist: the same status, in the same words.

From the table of routes, by every key that an outside machine, workflow or shell has, and by keys of nothing.
"""

import json
from typing import Any

import pytest

from tests.integration.api.test_access import NEEDED, REHEARSED
from tests.integration.api.test_scopes import IN, OUT, Rack, made, rack
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.engine.held import hold
from tests.integration.engine.serving import OWN

__all__ = ["rack"]
# What machine 2 is called, and what nothing is, of the same form.
PAIRS = [
    ("machine-2", "machine-9"),
    (mac(OUT), mac(9)),
    (mac(OUT).upper().replace(":", "-"), mac(9).upper().replace(":", "-")),
    ("172.30.0.12", "172.30.0.19"),
    (str(hardware(OUT)["id"]), str(hardware(9)["id"])),
]


async def same(rack: Rack, method: str, path: str, outside: str, nothing: str, wish: str = "null") -> tuple[int, Any]:
    """The answer about both, of which each key is taken out."""
    told = []
    for key in (outside, nothing):
        document = json.loads(wish.replace("KEY", key))
        status, answer = await rack.ask(method, path.replace("KEY", key), document)
        told.append((status, json.dumps(answer).replace(key, "KEY")))
    assert told[0] == told[1], (method, path, wish)
    return told[0]


@pytest.mark.parametrize(("outside", "nothing"), PAIRS, ids=lambda each: str(each))
async def test_no_route_tells_an_outside_machine_from_none(rack: Rack, outside: str, nothing: str) -> None:
    await made(rack.door, IN)
    for method, path in NEEDED:
        url = path.replace("{key}", "KEY").replace("{id}", "1").replace("{kind}", "hardware")
        await same(rack, method, url, outside, nothing, "null" if method == "GET" else "{}")
    for path in ("/v1/workflows?machine=KEY", "/v1/breakpoints?machine=KEY", "/v1/hardware?label=rack%3DKEY"):
        await same(rack, "GET", path, outside, nothing)
    for name, text in {
        "hello": HELLO,
        "named": HELLO.replace("{{.device_1}}", "KEY"),
        "serving": OWN.replace("worker: provisioner", "worker: KEY"),
    }.items():
        for key, kind in ((outside, "outside"), (nothing, "nothing")):
            wish = {"name": f"{name}-{kind}", "data": text.replace("KEY", key)}
            status, _ = await rack.door.ask("POST", "/v1/templates", wish)
            assert status in (201, 200, 422), name
    wishes: list[dict[str, Any]] = [
        {"template": "hello", "hardware": {"device_1": "KEY"}},
        {"template": "hello", "machine": "KEY"},
        {"template": "hello", "machine": "machine-1", "hardware": {"device_2": "KEY"}},
        {"template": "hello", "machine": "machine-1", "hardware": {"device_1": "KEY"}},
    ]
    for wish in wishes:
        for more in ({}, {"strict": True}, {"require_images": True}, {"breakpoints": {"before": ["KEY"]}}):
            status, _ = await same(rack, "POST", "/v1/workflows", outside, nothing, json.dumps({**wish, **more}))
            if status < 300:
                await rack.door.done("POST", "/v1/hardware/machine-1/retire", {"force": True})
                await rack.door.done("POST", "/v1/hardware/machine-1/return", {})
    for method, path in REHEARSED:
        wish = (
            json.dumps({**REHEARSED[method, path], "dry_run": True}).replace(mac(1), "KEY").replace("machine-1", "KEY")
        )
        await same(rack, method, path, outside, nothing, wish)
    for wish in ("named", "serving"):
        told = []
        for kind, key in (("outside", outside), ("nothing", nothing)):
            for given in ({"hardware": {"device_1": mac(IN)}}, {"machine": "machine-1"}):
                status, answer = await rack.ask("POST", "/v1/workflows", {"template": f"{wish}-{kind}", **given})
                told.append((status, json.dumps(answer).replace(key, "KEY").replace(f"{wish}-{kind}", "TEMPLATE")))
        assert told[:2] == told[2:], wish


async def test_no_route_tells_an_outside_workflow_or_shell_from_none(rack: Rack) -> None:
    await rack.door.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r2"}})
    offer = await hold(rack.door.box, str(hardware(IN)["id"]))
    opened = await rack.door.done("POST", f"/v1/workflows/{offer.workflow_id}/shells", {"tty": True})
    other = await made(rack.door, OUT)
    ids = (offer.workflow_id, other, opened["id"])
    nothing = "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f"
    for outside, none in [
        *((each, nothing) for each in ids),
        *((each[:8], nothing[:8]) for each in ids),
        ("hello_world_workflow", "bye_world_workflow__"),
    ]:
        for method, path in NEEDED:
            url = path.replace("{key}", "KEY").replace("{id}", "KEY").replace("{kind}", "workflow")
            # Each template may be seen.
            if "KEY" in url and "/templates/" not in url:
                await same(rack, method, url, outside, none, "null" if method == "GET" else "{}")
