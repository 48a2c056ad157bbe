"""The boot doctor at the operator door."""

import asyncio

import aiohttp
import pytest

from tests.integration.api.door import TOKEN, Door
from tests.integration.api.test_scopes import IN, OUT, Rack, made, rack
from tests.integration.engine.appliance import HELLO, RELAY, address, hardware, mac
from tinkbox.engine.doctor.surveys import Surveys
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.condition_events import Lasting
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.limits import EXAMINATIONS
from tinkbox.model.sightings import OTHER_HOST
from tinkbox.model.telling import OUTSIDE
from tinkbox.model.workflow import State

__all__ = ["rack"]


async def test_the_doctor_says_what_is_wrong_with_whom(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    door.box.machines.progress.saw(mac(1), Stage.DISCOVER, "PXE", asker=Asker.PXE.value, architecture=7)
    told = await door.done("GET", "/v1/doctor")
    assert {key: value for key, value in told.items() if key != "diagnoses"} == {
        "at": "2026-11-21T03:00:00+00:00",
        "mode": "reservation",
        "machine": "",
        "workflow": "",
        "machines": 1,
        "workflows": 0,
        "unasked": "",
        "examined": [
            "the appliance (disk, OSIE, limits, memory, interfaces, firewall, clock, database, images, engine)",
            "other DHCP servers",
            "1 machine by what was seen of it",
            "0 workflows under way or waiting",
        ],
        "unexamined": [],
        "appliance": [],
        "servers": [],
    }
    (found,) = told["diagnoses"]
    assert set(found) == {
        "rule", "gravity", "machine", "name", "workflow", "subject", "since", "cause", "evidence", "remedy",
    }  # fmt: skip
    assert (found["rule"], found["gravity"], found["machine"]) == ("NotPermitted", "suspect", mac(1))
    assert found["evidence"][0] == "2026-11-21 03:00:00 asked for an address: PXE"
    of_one = await door.done("GET", f"/v1/doctor?machine={mac(1)}")
    assert (of_one["machine"], of_one["diagnoses"]) == (mac(1), [found])


async def test_another_server_of_before_the_start_is_not_told_beside_the_answer_of_a_network_that_shows_none(
    door: Door,
) -> None:
    told = {"rule": "OtherServer", "gravity": "fault", "message": "It is there.", "subject": "", "evidence": ["seen"]}
    lasting = {("OtherServer", "", "", ""): Lasting(since=door.box.clock(), told=told)}
    await door.box.store.write(lambda tables: tables.conditions.save(lasting, ()))
    await door.rounds.recall()
    before = await door.done("GET", "/v1/doctor?listen=0")
    assert [each["rule"] for each in before["diagnoses"]] == ["OtherServer"]
    assert (await door.done("GET", "/v1/doctor"))["diagnoses"] == []


async def test_a_machine_that_nobody_knows_nor_saw_is_not_found(door: Door) -> None:
    assert (await door.ask("GET", "/v1/doctor?machine=08:00:27:00:00:63"))[0] == 404


async def test_a_person_for_whom_enough_examinations_run_is_told_which_limit_and_others_are_answered(
    door: Door,
) -> None:
    assert door.examinations.take("who-may-look", EXAMINATIONS.each)
    url = f"{door.url}/v1/doctor"
    async with aiohttp.ClientSession() as session:
        async with session.get(url, headers={"Authorization": "Bearer look-token"}) as refused:
            assert (refused.status, "Retry-After" in refused.headers) == (429, True)
            assert "limits.examinations in tinkbox.yaml" in await refused.text()
        async with session.get(url, headers={"Authorization": f"Bearer {TOKEN}"}) as answered:
            assert answered.status == 200


async def test_an_examination_ends_when_its_client_is_gone(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def endless(*_: object, **named: object) -> None:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()

    monkeypatch.setattr(Surveys, "get", endless)
    _, writer = await asyncio.open_unix_connection(door.path)
    writer.write(b"GET /v1/doctor HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(60):
        await asked.wait()
        assert door.examinations.used == 1
        writer.close()
        await gone.wait()
    assert door.examinations.used == 0


@pytest.mark.parametrize("given", ["9999", "-1", "1e9", "", "yes"])
async def test_what_listen_is_not_is_refused_with_what_it_is(door: Door, given: str) -> None:
    status, problem = await door.ask("GET", f"/v1/doctor?listen={given}")
    assert (status, problem["detail"]) == (422, f"listen is one of 0, 1, not '{given}'")


async def test_a_workflow_is_examined_by_its_key_alone_or_by_a_key_of_either(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    wanted = {"template": "hello", "hardware": {"device_1": mac(1)}}
    flow = (await door.done("POST", "/v1/workflows", wanted))["id"]
    for query in (f"workflow={flow[:8]}", "key=hello_world_workflow", f"key={flow}"):
        told = await door.done("GET", f"/v1/doctor?{query}&listen=0")
        assert (told["machine"], told["workflow"], told["workflows"], told["machines"]) == ("", flow, 1, 1)
        assert ("ImageMissing", flow) in [(each["rule"], each["workflow"]) for each in told["diagnoses"]]
        assert {"what": "other DHCP servers", "why": "the appliance has not asked for them yet"} in told["unexamined"]
    of_machine = await door.done("GET", "/v1/doctor?key=machine-1")
    assert (of_machine["machine"], of_machine["workflow"]) == ("machine-1", "")
    for query, status in (("workflow=nothing", 404), ("key=nothing", 404), (f"key={flow}&machine={mac(1)}", 422)):
        assert (await door.ask("GET", f"/v1/doctor?{query}"))[0] == status, query


def boots(rack: Rack, number: int) -> None:
    rack.door.box.machines.progress.saw(mac(number), Stage.DISCOVER, "PXE", asker=Asker.PXE.value, architecture=7)


async def test_a_token_with_a_scope_has_its_machines_and_workflows_examined_alone(rack: Rack) -> None:
    for number in (IN, OUT, 9):
        boots(rack, number)
    for query in ("", f"?machine={mac(IN)}", "?key=machine-1"):
        told = await rack.done("GET", f"/v1/doctor{query}")
        assert [(each["rule"], each["machine"], each["name"]) for each in told["diagnoses"]] == [
            ("NotPermitted", mac(IN), "machine-1")
        ], query
        assert (told["machines"], told["appliance"], told["servers"], told["unasked"]) == (1, [], [], "")
        assert told["unexamined"][-1]["what"] == "what is outside of the scope of your token"
    mine = await made(rack.door, IN)
    offer = await rack.door.box.offer(str(hardware(IN)["id"]))
    assert offer is not None
    await rack.door.box.report(str(hardware(IN)["id"]), offer, State.FAILED, reason="Mine", message="of my own")
    for query in (f"?workflow={mine}", f"?key={mine[:13]}", ""):
        told = await rack.done("GET", f"/v1/doctor{query}")
        assert [each["workflow"] for each in told["diagnoses"]] == [mine], query
        assert "of my own" in told["diagnoses"][0]["cause"]


async def test_what_the_doctor_says_within_a_scope_is_the_same_whatever_is_outside(rack: Rack) -> None:
    boots(rack, IN)
    mine = await made(rack.door, IN)
    urls = ("/v1/doctor", "/v1/doctor?key=machine-1", f"/v1/doctor?workflow={mine}")
    before = [await rack.done("GET", each) for each in urls]
    for number in (OUT, 8, 9):
        boots(rack, number)
    other = await made(rack.door, OUT)
    offer = await rack.door.box.offer(str(hardware(OUT)["id"]))
    assert offer is not None
    await rack.door.box.report(str(hardware(OUT)["id"]), offer, State.FAILED, reason="Theirs", message="a secret")
    await rack.door.done("DELETE", f"/v1/workflows/{other}")
    found = Diagnosis(
        rule="DiskFull", gravity=Gravity.FAULT, cause="It is full.", evidence=("0 B",), remedy="Free some."
    )
    rack.door.found.append(found)
    await rack.door.rounds.round()
    assert [await rack.done("GET", each) for each in urls] == before


async def test_a_boot_that_another_host_was_seen_in_last_is_not_examined_within_a_scope_and_it_is_said_why(
    rack: Rack,
) -> None:
    boots(rack, IN)
    rack.door.box.machines.timeline.saw(
        mac(IN), Stage.SCRIPT, f"by another host, {mac(OUT)}", **{OTHER_HOST: mac(OUT), "neighbour": mac(OUT)}
    )
    for query in ("", f"?machine={mac(IN)}", "?key=machine-1"):
        told = await rack.done("GET", f"/v1/doctor{query}")
        assert told["unexamined"][0] == {
            "what": "how machine machine-1 boots",
            "why": "what was seen of it last may be of another host, which a token with a scope is not told: ask a person "
            "whose token has none",
        }, query
        assert (told["machines"], told["examined"][0]) == (0, "0 machines by what was seen of them"), query
        assert (mac(OUT) in str(told), "machine-2" in str(told)) == (False, False), query


async def test_a_machine_that_is_busy_with_work_outside_is_told_to_be_so_by_the_doctor(rack: Rack) -> None:
    worker = str(hardware(IN)["id"])
    await rack.door.done("POST", "/v1/templates", {"name": "relay", "data": RELAY})
    both = {"template": "relay", "hardware": {"a": mac(IN), "b": mac(OUT)}}
    theirs = (await rack.door.done("POST", "/v1/workflows", both))["id"]
    offer = await rack.door.box.offer(worker)
    assert offer is not None
    behind = await made(rack.door, IN)
    for query in ("", "?key=machine-1"):
        told = await rack.done("GET", f"/v1/doctor{query}")
        assert {"what": "the work of machine machine-1", "why": f"it is {OUTSIDE}"} in told["unexamined"], query
        assert theirs[:8] not in str(told).replace(behind, "")
    told = await rack.done("GET", f"/v1/doctor?workflow={behind}")
    assert {"what": "the work of machine machine-1", "why": f"it waits for {OUTSIDE}"} in told["unexamined"]
    assert (told["workflow"], mac(OUT) in str(told), address(OUT) in str(told)) == (behind, False, False)
