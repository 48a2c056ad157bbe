"""The routes by which machines are imported, edited, retired, deleted, and noted about."""

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import aiohttp
import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.loop_turns import AtOnce
from tinkbox.api.routes.machines import hardware_changes
from tinkbox.engine import engine
from tinkbox.engine.machines.imports import Imported, Imports
from tinkbox.model.errors import Problem
from tinkbox.model.hardware import Hardware
from tinkbox.model.labels import MAX_LABELS
from tinkbox.model.machine_lists import MAX_LIST, MAX_LIST_VALUES, MOST_LISTED, ListedMachine
from tinkbox.model.workflow import State

MACHINE = str(UUID(int=1))


def listed(number: int, **fields: object) -> dict[str, object]:
    return {
        "macs": [mac(number)],
        "name": f"node{number}",
        "address": f"172.30.0.{number}/24",
        "line": number,
        **fields,
    }


FAR = "10.9.0.5"


async def workflow(door: Door) -> str:
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    return str(made["id"])


async def test_a_list_is_shown_stored_and_unchanged(door: Door) -> None:
    machines = [listed(11, labels={"rack": "r1"}, notes=["loud"]), listed(12)]
    for asked, outcome in (({"dry_run": True}, "made"), ({}, "made"), ({"update": True}, "unchanged")):
        done = (await door.done("POST", "/v1/hardware/import", {"machines": machines, **asked}))["machines"]
        assert [each["outcome"] for each in done] == [outcome] * 2
    first = done[0]
    assert (first["mac"], first["name"], first["address"], first["line"]) == (mac(11), "node11", "172.30.0.11", 11)
    assert (first["changes"], first["why"], first["labels"]) == ([], "", {"rack": "r1"})
    shown = await door.done("GET", "/v1/hardware/node11")
    assert (shown["id"], shown["labels"], [each["text"] for each in shown["notes"]]) == (
        first["id"],
        {"rack": "r1"},
        ["loud"],
    )
    assert len(await door.done("GET", "/v1/hardware")) == 2


async def test_the_routers_of_a_machine_arrive_with_it(door: Door) -> None:
    machines = [listed(11, routers=["10.9.0.1", "172.30.0.9"])]
    assert (await door.done("POST", "/v1/hardware/import", {"machines": machines}))["machines"][0]["outcome"] == "made"
    shown = await door.done("GET", "/v1/hardware/node11")
    assert "172.30.0.9" in json.dumps(shown)


async def test_a_machine_that_is_registered_again_has_not_failed_as_the_deleted_one_had(door: Door) -> None:
    async def standing() -> tuple[str, str, str, bool]:
        (shown,) = await door.done("GET", "/v1/hardware")
        (line,) = (await door.done("GET", "/v1/status?after="))["machines"]
        (one,) = [await door.done("GET", f"/v1/hardware/{MACHINE}")]
        return shown["state"], one["state"], line["state"], "work" in line

    async def fails() -> None:
        offer = await door.box.offer(MACHINE)
        assert offer is not None
        await door.box.report(MACHINE, offer, State.FAILED, exit_code=1)

    await door.done("POST", "/v1/hardware", hardware(1))
    await workflow(door)
    await fails()
    assert await standing() == ("failed", "failed", "failed", True)
    await door.done("DELETE", f"/v1/hardware/{MACHINE}")
    door.box.clock.forward(1)
    await door.done("POST", "/v1/hardware", hardware(1))
    assert await standing() == ("idle", "idle", "idle", False)
    # The document is pushed once more: it is the same machine still.
    await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    await fails()
    await door.done("POST", "/v1/hardware", hardware(1))
    assert await standing() == ("failed", "failed", "failed", True)


async def test_one_that_cannot_be_is_422_with_its_line_and_stores_nothing(door: Door) -> None:
    machines = [listed(11), listed(12, address="172.30.0.11/24"), listed(13, name="Node_13")]
    status, answer = await door.ask("POST", "/v1/hardware/import", {"machines": machines})
    assert (status, [each["line"] for each in answer["problems"]]) == (422, [13])
    status, answer = await door.ask("POST", "/v1/hardware/import", {"machines": machines[:2]})
    assert (status, [each["line"] for each in answer["problems"]]) == (422, [12])
    assert await door.done("GET", "/v1/hardware") == []
    done = await door.done("POST", "/v1/hardware/import", {"machines": machines[:2], "skip_invalid": True})
    assert [each["outcome"] for each in done["machines"]] == ["made", "refused"]


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"machines": {}},
        {"machines": ["x"]},
        {"machines": [{}]},
        {"machines": [{"macs": "x"}]},
        {"machines": [{"mac": mac(1)}]},
        {"machines": [listed(1, labels={"a b": "c"})]},
        {"machines": [listed(1, notes=["a\u001b[2J"])]},
        {"machines": [listed(1, address=7)]},
        {"machines": [listed(1, line="x")]},
        {"machines": [listed(1)], "force": True},
        {"machines": [listed(1)], "update": "yes"},
    ],
    ids=str,
)
async def test_what_is_no_list_is_422(door: Door, document: dict[str, Any]) -> None:
    assert (await door.ask("POST", "/v1/hardware/import", document))[0] == 422
    assert await door.done("GET", "/v1/hardware") == []


@pytest.mark.parametrize("asked", [{}, {"update": True, "skip_invalid": True}, {"dry_run": True}])
async def test_an_empty_list_is_answered_with_nothing(door: Door, asked: dict[str, bool]) -> None:
    async with asyncio.timeout(60):
        assert await door.done("POST", "/v1/hardware/import", {"machines": [], **asked}) == {"machines": []}


async def test_a_list_is_bounded(door: Door) -> None:
    machines = [{"macs": ["02:00:00:00:00:01"]}] * (MOST_LISTED + 1)
    status, answer = await door.ask("POST", "/v1/hardware/import", {"machines": machines})
    assert (status, answer["detail"]) == (413, f"{MOST_LISTED + 1} machines at once: at most {MOST_LISTED}")
    status, answer = await door.ask("POST", "/v1/hardware/import", b" " * (MAX_LIST + 1))
    assert (status, answer["detail"]) == (413, f"{MAX_LIST + 1} bytes: at most {MAX_LIST} are taken here")
    status, answer = await door.ask("POST", "/v1/hardware/import", b'{"machines": [' + b"0," * MAX_LIST_VALUES + b"0]}")
    assert (status, answer["detail"]) == (413, f"invalid json: more than {MAX_LIST_VALUES} values")


async def test_a_list_has_as_many_machines_with_as_many_labels_as_machines_may_have(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    previewed = list[int]()

    async def noted(_: Imports, listed: Sequence[ListedMachine], **__: object) -> list[Imported]:
        previewed.append(sum(len(each.labels) for each in listed))
        return []

    monkeypatch.setattr(Imports, "preview", noted)
    labels = {f"site.example/label-{each:03}": f"a-value-of-{each:05}" for each in range(MAX_LABELS)}
    machines = [
        {"macs": [f"02:00:00:00:{each >> 8:02x}:{each & 255:02x}"], "labels": labels} for each in range(MOST_LISTED)
    ]
    await door.done("POST", "/v1/hardware/import", {"machines": machines, "dry_run": True})
    assert previewed == [MOST_LISTED * MAX_LABELS]


async def test_values_are_changed_and_a_document_is_replaced(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    changes = {"name": "node1", "add_macs": [mac(9)], "labels": {"set": {"rack": "r1"}}, "disks": ["/dev/sda"]}
    changed = await door.done("PATCH", "/v1/hardware/machine-1", changes)
    assert (changed["name"], changed["labels"], changed["interfaces"][1]["mac"]) == ("node1", {"rack": "r1"}, mac(9))
    assert changed["changed"]
    same = await door.done("PATCH", "/v1/hardware/node1", {"name": "node1", "labels": {"set": {"rack": "r1"}}})
    assert (same["changed"], same["document"]) == (False, changed["document"])
    base = {"updated_at": changed["updated_at"], "labels": changed["labels"]}
    written = {**changed["document"], "more": 1}
    door.box.clock.forward(1)
    replaced = await door.done("PUT", "/v1/hardware/node1", {"text": json.dumps(written), "base": base})
    assert (replaced["document"], replaced["notes"]) == (written, [])
    status, answer = await door.ask("PUT", "/v1/hardware/node1", {"text": json.dumps(written), "base": base})
    assert (status, "was changed meanwhile" in answer["detail"]) == (409, True)


async def test_labels_that_were_shown_and_are_left_out_of_the_document_are_gone(door: Door) -> None:
    await door.done("POST", "/v1/hardware/add", {"mac": mac(1), "name": "node1", "labels": {"rack": "r1"}})
    await door.done("POST", "/v1/hardware", hardware(2))
    await door.done("PATCH", "/v1/hardware/machine-2/labels", {"set": {"rack": "r2"}})
    for key, left in (("node1", {}), ("machine-2", {"rack": "r2"})):
        shown = await door.done("GET", f"/v1/hardware/{key}")
        written = dict(shown["document"])
        if "metadata" in written:
            written["metadata"] = {name: each for name, each in written["metadata"].items() if name != "labels"}
        base = {"updated_at": shown["updated_at"], "labels": shown["labels"]}
        replaced = await door.done("PUT", f"/v1/hardware/{key}", {"text": json.dumps(written), "base": base})
        assert replaced["labels"] == left, "a document of 2020 did not show them"


async def test_the_document_has_the_labels_that_the_machine_has_by_now(door: Door) -> None:
    await door.done("POST", "/v1/hardware/add", {"mac": mac(1), "name": "node1"})
    await door.done("POST", "/v1/hardware", {**hardware(2), "labels": {"rack": "r1"}})
    await door.done("POST", "/v1/hardware", hardware(3))
    for key in ("node1", "machine-2", "machine-3"):
        await door.done("PATCH", f"/v1/hardware/{key}/labels", {"set": {"rack": "r2"}})
    labelled = {key: (await door.done("GET", f"/v1/hardware/{key}"))["document"] for key in ("node1", "machine-2")}
    assert (labelled["node1"]["metadata"]["labels"], labelled["machine-2"]["labels"]) == ({"rack": "r2"},) * 2
    assert "labels" not in (await door.done("GET", "/v1/hardware/machine-3"))["document"], "that is one of 2020"
    await door.done("PATCH", "/v1/hardware/node1/labels", {"remove": ["rack"]})
    assert "labels" not in (await door.done("GET", "/v1/hardware/node1"))["document"]["metadata"]


@pytest.mark.parametrize(
    ("method", "document"),
    [
        ("PATCH", {}),
        ("PATCH", {"force": True}),
        ("PATCH", {"nmae": "x"}),
        ("PATCH", {"gateway": "x"}),
        ("PATCH", {"add_macs": ["x"]}),
        ("PATCH", {"labels": ["x"]}),
        ("PATCH", {"labels": {"set": {}}}),
        ("PATCH", {"disks": ["sda"]}),
        ("PATCH", {"ssh_keys": ["x"]}),
        ("PUT", {}),
        ("PUT", {"text": "{}", "base": {}}),
        ("PUT", {"text": "{}", "base": {"updated_at": "now"}}),
        ("PUT", {"text": "{}", "base": {"updated_at": "2026-11-21T03:00:00+00:00"}}),
        ("PUT", {"text": json.dumps(hardware(2)), "base": {"updated_at": "2026-11-21T03:00:00+00:00"}}),
    ],
    ids=str,
)
async def test_what_is_no_change_is_422_and_changes_nothing(door: Door, method: str, document: dict[str, Any]) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    assert (await door.ask(method, "/v1/hardware/machine-1", document))[0] == 422
    assert (await door.done("GET", "/v1/hardware/machine-1"))["document"] == hardware(1)


async def test_a_retired_machine_leaves_the_lists_and_stays_on_record(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    made = await workflow(door)
    status, answer = await door.ask("POST", "/v1/hardware/machine-1/retire", {"reason": "broken"})
    assert (status, made in answer["detail"]) == (409, True)
    retired = await door.done("POST", "/v1/hardware/machine-1/retire", {"reason": "broken", "force": True})
    assert (retired["state"], retired["retired"]["reason"], retired["canceled"]) == ("retired", "broken", [made])
    assert await door.done("GET", "/v1/hardware") == []
    (listed_one,) = await door.done("GET", "/v1/hardware?state=retired")
    assert listed_one["id"] == MACHINE
    assert (await door.done("GET", "/v1/hardware/machine-1"))["retired"]["who"] == retired["retired"]["who"]
    assert (await door.done("GET", f"/v1/workflows/{made}"))["state"] == "CANCELED"
    back = await door.done("POST", "/v1/hardware/machine-1/return", {})
    assert back["retired"] is None
    assert len(await door.done("GET", "/v1/hardware")) == 1


async def test_a_machine_in_the_middle_of_something_is_deleted_with_force(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    made = await workflow(door)
    assert (await door.ask("DELETE", "/v1/hardware/machine-1"))[0] == 409
    for no in ("0", "false", "False", "no", "OFF"):
        assert (await door.ask("DELETE", f"/v1/hardware/machine-1?force={no}"))[0] == 409, no
    for neither in ("", "maybe", "2", "force"):
        status, problem = await door.ask("DELETE", f"/v1/hardware/machine-1?force={neither}")
        assert (status, problem["detail"].startswith("force is one of 1, true,")) == (422, True), neither
    deleted = await door.done("DELETE", "/v1/hardware/machine-1?force=True")
    assert deleted == {"id": MACHINE, "name": "machine-1", "mac": mac(1), "canceled": [made]}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("leaving", ["delete", "retire"])
async def test_a_machine_that_was_registered_anew_since_it_was_looked_up_stays(
    door: Door, leaving: str, force: bool
) -> None:
    async def leaves(created_at: str) -> tuple[int, Any]:
        if leaving == "retire":
            return await door.ask("POST", f"/v1/hardware/{found}/retire", {"force": force, "created_at": created_at})
        query = urlencode({"force": int(force), "created_at": created_at})
        return await door.ask("DELETE", f"/v1/hardware/{found}?{query}")

    added = {"mac": mac(1), "name": "node1"}
    first = await door.done("POST", "/v1/hardware/add", added)
    found = first["id"]
    await door.done("DELETE", "/v1/hardware/node1")
    door.box.clock.forward(1)
    anew = await door.done("POST", "/v1/hardware/add", added)
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    assert anew["id"] == found
    status, problem = await leaves(first["created_at"])
    told = "machine node1 was deleted and registered anew since it was looked up"
    assert (status, problem["detail"]) == (409, told)
    assert (await door.done("GET", f"/v1/workflows/{made['id']}"))["state"] == "PENDING"
    assert (await door.done("GET", "/v1/hardware/node1"))["retired"] is None
    assert (await leaves("yesterday"))[0] == 422
    await door.done("POST", f"/v1/workflows/{made['id']}/cancel")
    assert (await leaves(anew["created_at"]))[0] == 200


async def test_notes_come_and_go(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    assert await door.done("GET", "/v1/hardware/machine-1/notes") == {"notes": []}
    (note,) = (await door.done("POST", "/v1/hardware/machine-1/notes", {"text": "loud"}))["notes"]
    assert (note["number"], note["text"], note["at"]) == (1, "loud", "2026-11-21T03:00:00+00:00")
    for number, status in (("2", 404), ("x", 422), ("-1", 422), ("1" * 30, 422)):
        assert (await door.ask("DELETE", f"/v1/hardware/machine-1/notes/{number}"))[0] == status
    assert await door.done("DELETE", "/v1/hardware/machine-1/notes/1") == {"notes": []}
    for document in ({}, {"text": ""}, {"text": 7}, {"text": "x", "who": "y"}):
        assert (await door.ask("POST", "/v1/hardware/machine-1/notes", document))[0] == 422


async def test_who_may_only_look_changes_nothing(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    headers = {"Authorization": "Bearer look-token"}
    asked = [
        ("POST", "/v1/hardware/import", 403),
        ("PATCH", "/v1/hardware/machine-1", 403),
        ("PUT", "/v1/hardware/machine-1", 403),
        ("DELETE", "/v1/hardware/machine-1", 403),
        ("POST", "/v1/hardware/machine-1/retire", 403),
        ("POST", "/v1/hardware/machine-1/return", 403),
        ("POST", "/v1/hardware/machine-1/notes", 403),
        ("DELETE", "/v1/hardware/machine-1/notes/1", 403),
        ("GET", "/v1/hardware/machine-1/notes", 200),
    ]
    async with aiohttp.ClientSession(headers=headers) as session:
        for method, path, expected in asked:
            async with session.request(method, f"{door.url}{path}", data=b"{}") as response:
                assert response.status == expected, (method, path)


async def test_every_change_is_in_the_log_with_who_did_it(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tinkbox.api.changes")
    await door.done("POST", "/v1/hardware/import", {"machines": [listed(1)]})
    await door.done("PATCH", "/v1/hardware/node1", {"name": "node2"})
    await door.done("POST", "/v1/hardware/node2/notes", {"text": "loud"})
    await door.done("POST", "/v1/hardware/node2/retire", {})
    await door.done("POST", "/v1/hardware/node2/return", {})
    await door.done("DELETE", "/v1/hardware/node2")
    said = [record.message.partition(" by ")[0] for record in caplog.records]
    assert said == [
        "hardware made",
        "hardware edited",
        "hardware noted",
        "hardware retired",
        "hardware returned to service",
        "hardware deleted",
    ]


async def test_a_retry_is_refused_when_the_machine_was_deleted_or_registered_anew(door: Door) -> None:
    await door.box.machine(1)
    made = await workflow(door)
    await door.done("POST", f"/v1/workflows/{made}/cancel")
    await door.done("DELETE", f"/v1/hardware/{MACHINE}")
    for anew in (False, True):
        if anew:
            await door.box.machine(1)
        status, answer = await door.ask("POST", f"/v1/workflows/{made}/retry")
        assert (status, "make a new workflow" in answer["detail"]) == (409, True)
    path = "/v1/workflows/machine-1/state"
    assert (await door.done("GET", path))["workflow_id"] == made
    for meant in ("1", "unfinished"):
        status, refused = await door.ask("GET", f"{path}?to_change={meant}")
        assert (status, "registered anew since workflow" in refused["detail"]) == (404, True)
    assert (await door.ask("GET", f"{path}?to_change=all"))[0] == 422


async def test_one_dry_run_of_an_import_is_made_for_each_person_at_a_time(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    previewed, read, listed = AtOnce(), list[int](), hardware_changes._listed

    def noted(entries: object) -> list[ListedMachine]:
        read.append(previewed.running)
        return listed(entries)

    async def slow(*_: object, **__: object) -> list[Imported]:
        await previewed.work()
        return []

    monkeypatch.setattr(hardware_changes, "_listed", noted)
    monkeypatch.setattr(Imports, "preview", slow)
    async with asyncio.TaskGroup() as asking:
        for _ in range(3):
            asking.create_task(
                door.done("POST", "/v1/hardware/import", {"machines": [{"macs": [mac(1)]}], "dry_run": True})
            )
    assert read == [0] * 3, "the next list is read when the last one was answered"


async def test_what_there_is_to_say_of_an_address_is_told_by_what_imports_and_what_changes(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(machine: Hardware, *_: object) -> Iterator[Problem]:
        yield from (Problem(text=f"{each.address} is odd") for each in machine.interfaces if str(each.address) == FAR)

    monkeypatch.setattr(engine, "notes_on", odd)
    for dry_run in (True, False):
        asked = {"machines": [listed(11, address=f"{FAR}/24"), listed(12)], "dry_run": dry_run}
        made = (await door.done("POST", "/v1/hardware/import", asked))["machines"]
        assert [each["notes"] for each in made] == [[f"{FAR} is odd"], []]
    changed = await door.done("PATCH", "/v1/hardware/node11", {"name": "node13"})
    assert [each["text"] for each in changed["notes"]] == [f"{FAR} is odd"]
    changed = await door.done("PATCH", "/v1/hardware/node13", {"address": "172.30.0.13/24"})
    assert changed["notes"] == []


async def test_a_change_is_answered_with_the_state_and_failure_that_the_machine_is_shown_with(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await workflow(door)
    offer = await door.box.offer(MACHINE)
    assert offer is not None
    await door.box.report(MACHINE, offer, State.FAILED, reason="Mine", message="of my own")
    path = f"/v1/hardware/{MACHINE}"
    for method, url, wish in (
        ("PATCH", f"{path}/labels", {"set": {"rack": "r1"}}),
        ("PATCH", path, {"disks": ["/dev/sda"]}),
        ("PUT", f"{path}/tpm", {"sha256": "ab" * 32}),
        ("DELETE", f"{path}/tpm", None),
        ("DELETE", f"{path}/https", None),
    ):
        told = await door.done(method, url, wish)
        shown = await door.done("GET", path)
        assert shown["state"] == "failed"
        assert {name: told[name] for name in shown if name in told and name != "notes"} == {
            name: value for name, value in shown.items() if name in told and name != "notes"
        }, url
