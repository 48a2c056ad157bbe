"""Machines whose documents tell no MAC: they cannot boot by the network, and whatever shows or means machines takes them."""

from ipaddress import IPv4Address
from typing import Any

import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.documents.kubernetes import identity

AGENT, BARE = identity("default", "agent"), identity("default", "bare")
DOCUMENTS = """\
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata:
  name: agent
spec:
  agentID: agent-7
  interfaces:
    - dhcp:
        hostname: agent-host
        ip: {address: 172.30.0.77}
---
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata:
  name: bare
spec: {}
"""


@pytest.fixture
async def pushed(door: Door) -> Door:
    answer = await door.done("POST", "/v1/hardware", DOCUMENTS.encode())
    assert [(each["id"], each["name"], each["mac"]) for each in answer["pushed"]] == [
        (AGENT, "agent", ""),
        (BARE, "bare", ""),
    ]
    told = [(each["line"], each["key"]) for each in answer["notes"]]
    assert told == [(8, "spec.interfaces"), (16, "spec.interfaces")]
    assert all("tinkbox hardware credential" in each["text"] for each in answer["notes"])
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    return door


async def workflow(door: Door, device: str) -> Any:
    return await door.ask("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": device}})


async def test_lists_and_views_show_them(pushed: Door) -> None:
    for sort in ("name", "ip", "state", "since"):
        listed = await pushed.done("GET", f"/v1/hardware?sort={sort}")
        assert {each["name"]: each["mac"] for each in listed} == {"agent": "", "bare": ""}
    agent = await pushed.done("GET", "/v1/hardware/agent-host")
    assert agent["interfaces"] == [
        {"mac": "", "address": "172.30.0.77", "netmask": "", "gateway": "", "hostname": "agent-host"}
    ]
    assert (await pushed.done("GET", f"/v1/hardware/{BARE}"))["interfaces"] == []
    status = await pushed.done("GET", "/v1/status")
    assert {(each["mac"], each["hostname"], each["address"]) for each in status["machines"]} == {
        ("", "agent-host", "172.30.0.77"),
        ("", "", ""),
    }
    assert await pushed.done("GET", "/v1/hardware/bare/timeline") == []
    assert (await pushed.ask("GET", "/v1/seen/bare"))[0] == 404
    status_code, refused = await pushed.ask("GET", "/v1/doctor?machine=bare")
    assert (status_code, "tells no MAC" in refused["detail"]) == (409, True)
    assert await pushed.done("GET", "/v1/doctor")
    assert {each["name"] for each in await pushed.done("GET", "/v1/names/machine")} >= {"agent", "bare"}


@pytest.mark.parametrize("device", ["agent-7", "172.30.0.77", AGENT])
async def test_a_workflow_names_one_by_its_agent_id_its_address_or_its_id_and_its_worker_carries_it_out(
    pushed: Door, device: str
) -> None:
    status, made = await workflow(pushed, device)
    assert status == 201, made
    assert any("tinkbox hardware credential agent" in each["text"] for each in made["notes"])
    given = await pushed.done("GET", "/v1/hardware/agent/credential")
    assert given["worker"] == AGENT
    box = pushed.box
    offer = await box.offer(AGENT)
    assert offer is not None
    assert offer.workflow_id == made["id"]
    assert (await box.machines.get("agent")).last_contact is not None
    assert (await pushed.done("GET", "/v1/hardware/agent"))["state"] == "working"
    await box.machines.sessions.revoke([AGENT], "ann")
    assert (await pushed.done("GET", "/v1/status"))["machines"]


async def test_a_worker_that_moves_to_another_address_goes_on_when_its_host_is_seen_there(pushed: Door) -> None:
    box = pushed.box
    box.neighbours = {each: parse_mac("08:00:27:00:00:77") for each in ("10.0.0.5", "10.0.0.6")}
    box.neighbours["10.0.0.7"] = parse_mac("08:00:27:00:00:78")
    secret = await box.session(AGENT, address="10.0.0.5")
    for each in ("10.0.0.5", "10.0.0.6"):
        assert box.machines.authenticate(secret, "", each) == AGENT
    with pytest.raises(Exception, match="refused"):
        box.machines.authenticate(secret, "", "10.0.0.7")


async def test_a_name_in_a_template_is_answered_with_what_means_the_machine(pushed: Door) -> None:
    status, refused = await workflow(pushed, "agent")
    assert status == 422
    assert "agent is the name of a machine: give its agent id or id agent-7" in str(refused)


async def test_plans_rollouts_and_validations_name_one_by_its_id(pushed: Door) -> None:
    plan = await pushed.done("POST", "/v1/workflows/plan", {"template": "hello", "machine": "bare"})
    (shown,) = plan["machines"]
    assert (shown["mac"], shown["architecture"], plan["devices"]) == ("", "", {"device_1": BARE})
    assert [each["blocks"] for each in plan["obstacles"] if "cannot boot by the network" in each["text"]] == [False]
    wanted = {"template": "hello", "machines": ["agent", "bare"], "dry_run": True}
    rollout = await pushed.done("POST", "/v1/rollouts", wanted)
    assert [(each["name"], each["mac"]) for each in rollout["machines"]] == [("agent", ""), ("bare", "")]
    assert any(str(each).count("2 machines (agent, bare) cannot boot by the network") for each in rollout["warnings"])
    verdicts = await pushed.done("POST", "/v1/templates/validate", {"data": HELLO})
    assert {each["machine"]: each["problems"] for each in verdicts["verdicts"]} == {"agent": [], "bare": []}


async def test_one_gets_a_mac_and_is_deleted(pushed: Door) -> None:
    added = await pushed.done("PATCH", "/v1/hardware/bare", {"add_macs": ["08:00:27:00:00:09"]})
    assert (added["mac"], added["id"]) == ("08:00:27:00:00:09", BARE)
    assert (await pushed.done("GET", "/v1/hardware/08:00:27:00:00:09"))["name"] == "bare"
    assert (await pushed.done("DELETE", "/v1/hardware/agent"))["mac"] == ""


async def test_an_address_is_one_machines_also_without_a_mac(pushed: Door) -> None:
    other = DOCUMENTS.replace("name: agent", "name: other").replace("agentID: agent-7", "agentID: x")
    status, refused = await pushed.ask("POST", "/v1/hardware", other.encode())
    assert (status, "conflicting hardware IP address 172.30.0.77" in str(refused)) == (409, True)
    known = pushed.box.machines.known
    assert (known.reserves(IPv4Address("172.30.0.77")), known.reserves(IPv4Address("172.30.0.78"))) == (True, False)
    await pushed.done("DELETE", "/v1/hardware/agent")
    assert not known.reserves(IPv4Address("172.30.0.77"))


def parse_mac(text: str) -> Any:
    document = f'{{"id": "{AGENT}", "network": {{"interfaces": [{{"dhcp": {{"mac": "{text}"}}}}]}}}}'
    return parse_hardware(document).interfaces[0].mac
