"""A token with a scope sees and changes the machines with its labels, what is done with them, and nothing else."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, RELAY, hardware, mac
from tests.integration.engine.held import hold
from tinkbox.model.telling import OUTSIDE
from tinkbox.model.workflow import State
from tinkbox.wire.syslog import Message, Severity

IN, OUT = 1, 2
TPM = "ab" * 32
# What decides which host counts as the machine, and gets its work.
LETTING_IN = (("PUT", "tpm"), ("DELETE", "tpm"), ("DELETE", "https"))


class Rack:
    """Asks with every right for the machines with rack=r1: machine 1 is one, machine 2 is not."""

    def __init__(self, door: Door, session: aiohttp.ClientSession) -> None:
        self.door, self.session = door, session

    async def ask(self, method: str, path: str, document: object = None) -> tuple[int, Any]:
        async with self.session.request(method, self.door.url + path, json=document) as response:
            text = await response.text()
            return response.status, json.loads(text) if text.startswith(("{", "[")) else text

    async def done(self, method: str, path: str, document: object = None) -> Any:
        status, answer = await self.ask(method, path, document)
        assert status < 300, answer
        return answer


@pytest.fixture
async def rack(door: Door) -> AsyncIterator[Rack]:
    for number in (IN, OUT):
        await door.done("POST", "/v1/hardware", hardware(number))
    await door.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r1"}})
    await door.done("PATCH", "/v1/hardware/machine-2/labels", {"set": {"rack": "r2"}})
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer rack-token"}) as session:
        yield Rack(door, session)


async def made(door: Door, number: int) -> str:
    wish = {"template": "hello", "hardware": {"device_1": mac(number)}}
    return str((await door.done("POST", "/v1/workflows", wish))["id"])


async def test_machines_are_listed_shown_and_labelled_within_the_scope_alone(rack: Rack) -> None:
    assert [each["name"] for each in await rack.done("GET", "/v1/hardware")] == ["machine-1"]
    assert await rack.done("GET", "/v1/hardware?label=rack%3Dr2") == []
    assert (await rack.done("GET", "/v1/hardware/machine-1"))["name"] == "machine-1"
    await rack.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"gpu": "no"}})
    for key in ("machine-2", hardware(OUT)["id"], mac(OUT), "172.30.0.12"):
        for method, path in (("GET", ""), ("PATCH", "/labels"), ("GET", "/credential"), ("GET", "/timeline")):
            document = {"set": {"rack": "r1"}} if method == "PATCH" else None
            status, problem = await rack.ask(method, f"/v1/hardware/{key}{path}", document)
            assert status == 404, (key, path)
            assert problem["detail"].startswith("no machine ")
    assert (await rack.door.done("GET", "/v1/hardware/machine-2"))["labels"] == {"rack": "r2"}


async def test_what_is_outside_of_the_scope_is_told_as_what_does_not_exist(rack: Rack) -> None:
    for key in ("machine-2", "machine-9", "0", "machine"):
        status, problem = await rack.ask("GET", f"/v1/hardware/{key}")
        assert (status, problem["detail"]) == (404, f"no machine '{key}' within the scope of of-rack-r1, rack=r1")


async def test_workflows_are_listed_shown_and_changed_within_the_scope_alone(rack: Rack) -> None:
    inside, outside = await made(rack.door, IN), await made(rack.door, OUT)
    assert [each["id"] for each in await rack.done("GET", "/v1/workflows")] == [inside]
    assert await rack.done("GET", "/v1/workflows?machine=machine-1") != []
    assert (await rack.ask("GET", "/v1/workflows?machine=machine-2"))[0] == 404
    for path in ("", "/state", "/events", "/logs", "/data", "/breakpoints", "/shells"):
        assert (await rack.ask("GET", f"/v1/workflows/{inside}{path}"))[0] == 200, path
        assert (await rack.ask("GET", f"/v1/workflows/{outside}{path}"))[0] == 404, path
    for method, path in (("POST", "/cancel"), ("POST", "/retry"), ("DELETE", ""), ("POST", "/breakpoints/clear")):
        assert (await rack.ask(method, f"/v1/workflows/{outside}{path}"))[0] == 404, path
    await rack.done("POST", f"/v1/workflows/{inside}/cancel")
    states = {each["id"]: each["state"] for each in await rack.door.done("GET", "/v1/workflows")}
    assert states[inside] != states[outside] == "PENDING"


async def test_a_name_that_workflows_share_means_the_one_within_the_scope(rack: Rack) -> None:
    inside, _ = await made(rack.door, IN), await made(rack.door, OUT)
    assert (await rack.done("GET", "/v1/workflows/hello_world_workflow"))["id"] == inside
    assert (await rack.done("GET", f"/v1/workflows/{inside[:8]}"))["id"] == inside
    assert (await rack.done("GET", "/v1/workflows/machine-1"))["id"] == inside
    await rack.done("POST", "/v1/workflows/hello_world_workflow/cancel")
    again = await made(rack.door, IN)
    assert (await rack.done("GET", "/v1/workflows/hello_world_workflow"))["id"] == again
    status, problem = await rack.ask("POST", "/v1/workflows/hello_world_workflow/cancel")
    assert (status, "2 workflows are called" in problem["detail"]) == (409, True)


async def test_a_key_means_the_workflow_to_which_it_can_be_done_as_it_does_without_a_scope(rack: Rack) -> None:
    waits, canceled = await made(rack.door, IN), await made(rack.door, IN)
    await made(rack.door, OUT)
    await rack.door.done("POST", f"/v1/workflows/{canceled}/cancel")
    for key in ("machine-1", mac(IN), "hello_world_workflow"):
        for to_change, meant in (("", canceled), ("?to_change=0", canceled), ("?to_change=unfinished", waits)):
            told = await rack.done("GET", f"/v1/workflows/{key}/state{to_change}")
            assert told["workflow_id"] == meant, (key, to_change)
    for to_change in ("1", "delete"):
        path = f"/v1/workflows/hello_world_workflow/state?to_change={to_change}"
        status, problem = await rack.ask("GET", path)
        assert (status, "2 workflows are called" in problem["detail"]) == (409, True), to_change
    status, problem = await rack.ask("GET", f"/v1/workflows/{waits}/state?to_change=nonsense")
    assert (status, "to_change is one of" in problem["detail"]) == (422, True)


async def test_a_machine_s_name_means_the_one_within_the_scope(rack: Rack) -> None:
    document = hardware(OUT)
    document["network"]["interfaces"][0]["dhcp"]["hostname"] = "machine-1"
    await rack.door.done("POST", "/v1/hardware", document)
    assert (await rack.door.ask("GET", "/v1/hardware/machine-1"))[0] == 409
    assert (await rack.done("GET", "/v1/hardware/machine-1"))["id"] == hardware(IN)["id"]
    assert (await rack.done("GET", "/v1/hardware/00000000"))["id"] == hardware(IN)["id"]


async def test_a_workflow_that_has_work_outside_of_the_scope_is_outside(rack: Rack) -> None:
    await rack.door.done("POST", "/v1/templates", {"name": "relay", "data": RELAY})
    wish = {"template": "relay", "hardware": {"a": mac(IN), "b": mac(OUT)}}
    both = (await rack.door.done("POST", "/v1/workflows", wish))["id"]
    assert await rack.done("GET", "/v1/workflows") == []
    assert (await rack.ask("GET", f"/v1/workflows/{both}"))[0] == 404


async def test_workflows_are_made_for_machines_of_the_scope_alone(rack: Rack) -> None:
    await rack.door.done("POST", "/v1/templates", {"name": "relay", "data": RELAY})
    named = HELLO.replace("{{.device_1}}", mac(OUT))
    await rack.door.done("POST", "/v1/templates", {"name": "named", "data": named})
    refused: list[tuple[dict[str, object], int]] = [
        ({"template": "hello", "hardware": {"device_1": mac(OUT)}}, 422),
        ({"template": "hello", "hardware": {"device_1": "172.30.0.12"}}, 422),
        ({"template": "hello", "machine": "machine-2"}, 404),
        ({"template": "relay", "hardware": {"a": mac(IN), "b": mac(OUT)}}, 422),
        ({"template": "named", "hardware": {"device_1": mac(IN)}}, 422),
        ({"documents": "kind: Workflow"}, 403),
    ]
    for wish, status in refused:
        got, answer = await rack.ask("POST", "/v1/workflows", wish)
        assert got == status, (wish, answer)
    assert await rack.door.done("GET", "/v1/workflows") == []
    await rack.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(IN)}})
    assert len(await rack.done("GET", "/v1/workflows")) == 1


async def test_a_machine_is_taken_into_work_by_its_name_too(rack: Rack) -> None:
    made_one = await rack.done("POST", "/v1/workflows", {"template": "hello", "machine": "machine-1"})
    assert [each["id"] for each in await rack.done("GET", "/v1/workflows")] == [made_one["id"]]


async def test_what_work_on_machines_of_the_scope_would_be_is_told(rack: Rack) -> None:
    named = HELLO.replace("{{.device_1}}", mac(OUT))
    await rack.door.done("POST", "/v1/templates", {"name": "named", "data": named})
    wish = {"template": "hello", "machines": ["machine-1"], "dry_run": True}
    plan = await rack.done("POST", "/v1/rollouts", wish)
    assert ([each["name"] for each in plan["machines"]], plan["refused"]) == (["machine-1"], [])
    told = []
    for key in ("machine-2", "machine-9", mac(OUT), mac(9)):
        answer = await rack.done("POST", "/v1/rollouts", {**wish, "machines": [key]})
        assert answer["machines"] == []
        (refused,) = answer["refused"]
        told.append((refused["id"], refused["why"].replace(key, "KEY")))
    assert len(set(told)) == 1
    selected = await rack.done("POST", "/v1/rollouts", {**wish, "machines": [], "selector": "rack"})
    assert [each["name"] for each in selected["machines"]] == ["machine-1"]
    assert (await rack.ask("POST", "/v1/rollouts", {**wish, "machines": [], "selector": "rack=r2"}))[0] == 422
    (refused,) = (await rack.done("POST", "/v1/rollouts", {**wish, "template": "named"}))["refused"]
    assert refused["name"] == "machine-1"
    status, problem = await rack.ask("POST", "/v1/rollouts", {**wish, "dry_run": False})
    assert (status, "one machine at a time, `tinkbox workflow create -t" in problem["detail"]) == (403, True)


async def test_holds_and_shells_are_of_the_scope_alone(rack: Rack) -> None:
    await rack.door.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r2"}})
    offer = await hold(rack.door.box, hardware(IN)["id"])
    assert await rack.done("GET", "/v1/breakpoints") == []
    assert len(await rack.door.done("GET", "/v1/breakpoints")) == 1
    for method, path in (("POST", "/shells"), ("POST", "/breakpoints/verdict"), ("POST", "/breakpoints/extend")):
        status, _ = await rack.ask(method, f"/v1/workflows/{offer.workflow_id}{path}", {})
        assert status == 404, path
    opened = await rack.door.done("POST", f"/v1/workflows/{offer.workflow_id}/shells", {"tty": True})
    assert (await rack.ask("GET", f"/v1/shells/{opened['id']}/recording"))[0] == 404


async def test_that_work_outside_has_a_machine_within_is_told_and_whom_to_ask(rack: Rack) -> None:
    mine = await made(rack.door, IN)
    worker = str(hardware(IN)["id"])
    offer = await rack.door.box.offer(worker)
    assert offer is not None
    await rack.door.box.report(worker, offer, State.FAILED, reason="Mine", message="of my own")
    shown = await rack.done("GET", "/v1/hardware/machine-1")
    assert shown["failure"] == {"workflow_id": mine, "reason": "Mine", "message": "hello world/hello_world: of my own"}
    await rack.door.done("POST", "/v1/templates", {"name": "relay", "data": RELAY})
    both = {"template": "relay", "hardware": {"a": mac(IN), "b": mac(OUT)}}
    await rack.door.done("POST", "/v1/workflows", both)
    why = f"this is not done because of {OUTSIDE}"
    for method, path, wish in (
        ("GET", "/v1/hardware/machine-1?to_change=delete", None),
        ("GET", "/v1/hardware/machine-1?to_change=retire", None),
        ("GET", "/v1/hardware/machine-1/credential", None),
        ("POST", "/v1/hardware/machine-1/credential", None),
        ("PUT", "/v1/hardware/machine-1/tpm", {"sha256": TPM}),
        ("DELETE", "/v1/hardware/machine-1/tpm", None),
        ("DELETE", "/v1/hardware/machine-1/https", None),
        ("POST", "/v1/workflows", {"template": "hello", "machine": "machine-1"}),
        ("POST", f"/v1/workflows/{mine}/retry", None),
    ):
        status, problem = await rack.ask(method, path, wish)
        assert (status, problem["detail"]) == (409, why), path
    assert (await rack.done("GET", f"/v1/workflows/{mine}/state"))["overtaken"] == OUTSIDE
    behind = await made(rack.door, IN)
    assert (await rack.done("GET", f"/v1/workflows/{behind}/state"))["waiting"] == OUTSIDE
    offer = await rack.door.box.offer(worker)
    assert offer is not None
    await rack.door.box.report(worker, offer, State.FAILED, reason="Theirs", message="a secret")
    await rack.door.done("DELETE", f"/v1/workflows/{behind}")
    shown = await rack.done("GET", "/v1/hardware/machine-1")
    assert shown["failure"] == {"workflow_id": "", "reason": "", "message": OUTSIDE}
    assert shown["state"] == "failed"
    await rack.done("POST", "/v1/hardware/machine-1/credential")


async def test_what_makes_another_host_the_machine_is_refused_for_a_scope_before_its_turn_in_a_rollout(
    rack: Rack,
) -> None:
    await rack.door.done("PUT", "/v1/hardware/machine-1/tpm", {"sha256": TPM})
    wish = {"template": "hello", "machines": ["machine-2", "machine-1"], "max_parallel": 1}
    rollout = (await rack.door.done("POST", "/v1/rollouts", wish))["id"]
    told = await rack.door.done("GET", "/v1/hardware/machine-1/timeline")
    for method, path in (("GET", "credential"), ("POST", "credential"), *LETTING_IN):
        wanted = {"sha256": "0" * 64} if method == "PUT" else None
        status, problem = await rack.ask(method, f"/v1/hardware/machine-1/{path}", wanted)
        assert (status, problem["detail"]) == (409, f"this is not done because of {OUTSIDE}"), path
    assert (await rack.door.done("GET", "/v1/hardware/machine-1"))["tpm"]["accepted"] == TPM
    assert await rack.door.done("GET", "/v1/hardware/machine-1/timeline") == told
    await rack.door.done("POST", f"/v1/rollouts/{rollout}/cancel")
    for method, path in LETTING_IN:
        await rack.done(method, f"/v1/hardware/machine-1/{path}", {"sha256": TPM} if method == "PUT" else None)


async def test_a_machine_means_its_newest_workflow_within_the_scope(rack: Rack) -> None:
    mine = await made(rack.door, IN)
    await rack.door.done("POST", "/v1/templates", {"name": "relay", "data": RELAY})
    both = {"template": "relay", "hardware": {"a": mac(IN), "b": mac(OUT)}}
    await rack.door.done("POST", "/v1/workflows", both)
    assert (await rack.done("GET", "/v1/workflows/machine-1"))["id"] == mine
    assert (await rack.done("POST", "/v1/workflows/machine-1/cancel"))["id"] == mine


async def test_the_timeline_tells_of_work_within_the_scope(rack: Rack) -> None:
    worker, box = str(hardware(IN)["id"]), rack.door.box
    mine = await made(rack.door, IN)
    offer = await box.offer(worker)
    assert offer is not None
    box.syslog.said(mac(IN), Message(facility=1, severity=Severity.NOTICE, program="tinkbox", text="it begins"))
    box.clock.forward(1)
    await box.report(worker, offer, State.FAILED, reason="Mine", message="of my own")
    box.clock.forward(1)
    box.syslog.said(mac(IN), Message(facility=1, severity=Severity.NOTICE, program="tinkbox", text="it asks for work"))
    told = await rack.done("GET", "/v1/hardware/machine-1/timeline")
    assert [each["detail"] for each in told if each["stage"] in ("action", "said")] == [
        "hello world/hello_world begun",
        "tinkbox: it begins",
        "hello world/hello_world FAILED after 1.0 s, Mine: 'of my own'",
    ]
    assert {each["facts"]["workflow"] for each in told if each["stage"] == "action"} == {mine}


async def test_a_machine_is_named_among_those_within_the_scope(rack: Rack) -> None:
    document = hardware(OUT)
    document["network"]["interfaces"][0]["dhcp"]["hostname"] = "machine-1"
    await rack.door.done("POST", "/v1/hardware", document)
    for status in (
        await rack.done("GET", "/v1/hardware/machine-1"),
        *(await rack.done("GET", "/v1/hardware")),
        await rack.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"gpu": "no"}}),
        await rack.done("DELETE", "/v1/hardware/machine-1/https"),
        await rack.done("DELETE", "/v1/hardware/machine-1/tpm"),
    ):
        assert status["key"] == "machine-1"
    identity = hardware(IN)["id"]
    assert (await rack.door.done("GET", f"/v1/hardware/{identity}"))["key"] == identity
    mine = await made(rack.door, IN)
    await rack.door.done("POST", f"/v1/hardware/{identity}/retire", {"force": True})
    for method, path in (("GET", "/v1/hardware/machine-1/credential"), ("POST", f"/v1/workflows/{mine}/retry")):
        status, problem = await rack.ask(method, path)
        assert (status, "`tinkbox hardware return machine-1` takes it" in problem["detail"]) == (409, True), problem


async def test_a_machine_that_leaves_the_scope_is_out_of_it_at_once(rack: Rack) -> None:
    await rack.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r9"}})
    assert await rack.done("GET", "/v1/hardware") == []
    assert (await rack.ask("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r1"}}))[0] == 404
