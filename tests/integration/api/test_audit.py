"""Every change over the operator door is a line of the audit, before it is made and when it is; so is every refused attempt."""

import asyncio
import getpass
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from tests.integration.api.door import TOKEN, Door
from tests.integration.api.test_access import NEEDED, REHEARSED
from tests.integration.api.test_departed_clients import CHANGES, Change
from tests.integration.api.test_shells import Held
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.engine.held import hold
from tinkbox.engine.audit import audit as audits
from tinkbox.engine.audit.fruitless import MANY, Fruitless
from tinkbox.model.access import Right
from tinkbox.model.audit import Act, Chain, Kind, Listing, digest_of, line_from_document
from tinkbox.model.documents.secret_fields import MASKED
from tinkbox.model.errors import Unavailable
from tinkbox.model.rates import Rate
from tinkbox.store.database import Store
from tinkbox.wire.list_total import HEADER

MACHINE = str(hardware(1)["id"])
EVERY = "every=1&sort=number"


async def lines(door: Door, query: str = EVERY) -> list[Any]:
    found: list[Any] = await door.done("GET", f"/v1/audit?{query}")
    return found


async def refused(door: Door) -> list[Any]:
    await door.box.audit.flush(all_of_them=True)
    return [each for each in await lines(door) if each["kind"] == "refused"]


async def test_change_is_a_line_before_and_one_after_it_is_made(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    asked, done = await lines(door)
    told = {"who": getpass.getuser(), "how": "socket", "from": "", "what": "POST /v1/hardware", "object": ""}
    assert told.items() <= asked.items()
    assert told.items() <= done.items()
    assert (asked["kind"], done["kind"], done["asked"], done["status"]) == ("asked", "done", asked["number"], 200)
    names = [MACHINE, "machine-1", mac(1), "172.30.0.11"]
    assert done["did"] == [{"what": "hardware pushed", "which": MACHINE, "names": names}]
    assert done["previous"] == asked["digest"]
    verdict = await door.done("GET", "/v1/audit/verify")
    whole = {"lines": 2, "first": 1, "last": 2, "wrong": 0, "problem": "", "digest": done["digest"], "goes_on_after": 0}
    assert verdict == {**whole, "deliveries": []}


async def test_line_says_who_showed_which_token_and_from_where(door: Door) -> None:
    headers = {"Authorization": "Bearer operate-token"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{door.url}/v1/hardware", json=hardware(1)) as response,
    ):
        assert response.status == 200
    assert {(each["who"], each["how"], each["from"]) for each in await lines(door)} == {
        ("who-may-operate", "token", "127.0.0.1")
    }


@pytest.mark.parametrize("change", CHANGES, ids=str)
async def test_every_route_that_changes_something_is_recorded(door: Door, change: Change) -> None:
    key = await change.before(door) if change.before else ""
    before = len(await lines(door))
    path = change.route.format(key=key, id=1, kind="workflowruleset") + change.query
    await door.done(change.method, path, change.document)
    asked, done = (await lines(door))[before:]
    assert (asked["kind"], done["kind"], done["asked"]) == ("asked", "done", asked["number"])
    assert done["what"] == asked["what"] == f"{change.method} {change.route}"
    assert done["status"] < 300
    if not change.route.startswith("/v1/images"):
        assert change.said in {each["what"] for each in done["did"]}
    if "{key}" in change.route:
        assert key in asked["object"]


async def test_every_route_with_another_method_than_get_is_recorded_for_who_may_change_something(door: Door) -> None:
    """From the table of routes: of what is asked wrongly there are two lines as well."""
    looking = {("POST", "/v1/images/absent")}
    for method, path in NEEDED:
        if method == "GET" or NEEDED[method, path] is Right.LOOK or (method, path) in looking:
            continue
        before = len(await lines(door))
        url = path.replace("{key}", "nothing").replace("{id}", "nothing").replace("{kind}", "nothing")
        await door.ask(method, url, {})
        new = (await lines(door))[before:]
        assert [each["kind"] for each in new] == ["asked", "done"], (method, path)
        assert new[0]["what"] == f"{method} {path}"


@pytest.mark.parametrize(("method", "path"), REHEARSED)
async def test_rehearsal_is_recorded_as_one_or_not_at_all(door: Door, method: str, path: str) -> None:
    await door.box.machine(1)
    await door.box.templates.create("hello", HELLO)
    asked = {**REHEARSED[method, path], "dry_run": True}
    await door.done(method, path, asked)
    assert (await lines(door))[-1]["why"] == "dry run: nothing was changed"
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer look-token"}) as session,
        session.request(method, door.url + path, json=asked) as response,
    ):
        assert response.status == 200
    assert len(await lines(door)) == 2, "who may only look changes nothing"


async def test_looking_is_not_recorded(door: Door) -> None:
    for path in ("/v1/hardware", "/v1/status", "/v1/audit", "/v1/audit/verify"):
        await door.done("GET", path)
    await door.ask("POST", "/v1/images/absent", {"digests": []})
    await door.ask("POST", "/v1/templates/validate", {"data": HELLO})
    assert await lines(door) == []


async def test_document_is_told_by_its_digest_before_and_after(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    pushed = (await lines(door))[-1]["changed"]
    await door.done("PATCH", f"/v1/hardware/{MACHINE}/labels", {"set": {"rack": "r1"}})
    labelled = (await lines(door))[-1]["changed"]
    await door.done("DELETE", "/v1/hardware/machine-1")
    deleted = (await lines(door))[-1]["changed"]
    stored = digest_of({"document": hardware(1), "labels": {}})
    assert pushed == [{"kind": "hardware", "key": MACHINE, "before": "", "after": stored}]
    assert labelled[0]["before"] == stored
    assert (
        labelled[0]["after"] == deleted[0]["before"] == digest_of({"document": hardware(1), "labels": {"rack": "r1"}})
    )
    assert deleted[0]["after"] == ""


async def told(door: Door, method: str, path: str, document: object = None) -> Any:
    """The line of a request that is done."""
    await door.done(method, path, document)
    return (await lines(door))[-1]


async def test_change_that_changes_no_document_is_told_in_words_or_by_its_fingerprint(door: Door) -> None:
    machine = await door.box.machine(1)
    hello = await door.box.workflow()
    accepted = await told(door, "PUT", "/v1/hardware/machine-1/tpm", {"sha256": "0" * 64})
    forgotten = await told(door, "DELETE", "/v1/hardware/machine-1/tpm")
    tpm = {"kind": "tpm", "key": machine}
    assert accepted["changed"] == [{**tpm, "before": "", "after": "0" * 64}]
    assert forgotten["changed"] == [{**tpm, "before": "0" * 64, "after": ""}]
    wish = {"on_failure": True, "before": ["second"], "timeout": "30m"}
    armed = await told(door, "POST", f"/v1/workflows/{hello}/breakpoints/arm", wish)
    assert armed["why"] == "on failure; before second; timeout 1800 s"
    assert (await told(door, "POST", f"/v1/workflows/{hello}/breakpoints/clear"))["why"] == "all of them"
    labels = {"set": {"rack": "r1", "row": "2"}, "remove": ["gpu"]}
    assert (await told(door, "PATCH", f"/v1/workflows/{hello}/labels", labels))["why"] == "rack=r1, row=2; gpu removed"
    await door.done("POST", f"/v1/workflows/{hello}/cancel")
    assert (await told(door, "POST", "/v1/hardware/machine-1/retire", {"reason": "a fan"}))["why"] == "a fan"
    collected = await told(door, "POST", "/v1/images/gc", {})
    assert collected["why"] == "freed 0 blobs of 0 bytes, and 0 images without a tag went for that"
    assert collected["did"] == [{"what": "images collected", "which": "registry"}]


async def test_verdict_is_told_with_its_action_and_why_and_without_what_may_be_secret(door: Door) -> None:
    held = await hold(door.box, await door.box.machine(1))
    wish = {
        "verb": "retry",
        "why": "again",
        "fresh": True,
        "command": ["sh", "-c", "x"],
        "environment": {"KEY": "hunter2"},
    }
    line = await told(door, "POST", f"/v1/workflows/{held.workflow_id}/breakpoints/verdict", wish)
    command = digest_of({"command": ["sh", "-c", "x"]})
    assert line["why"].endswith(f": retry in a fresh container; with the command {command}; with KEY; again")
    assert "hunter2" not in json.dumps(await lines(door))


async def test_what_people_say_of_a_hold_is_told_without_secrets(door: Door) -> None:
    held = await hold(door.box, await door.box.machine(1))
    token = held.metadata.removeprefix("/metadata/")
    places, said = f"/v1/workflows/{held.workflow_id}/breakpoints", f"with {token}"
    extended = await told(door, "POST", f"{places}/extend", {"seconds": 60, "why": said})
    decided = await told(door, "POST", f"{places}/verdict", {"verb": "fail", "why": said})
    for line in (extended, decided):
        assert line["why"].endswith(f"with {'*' * len(token)}")
    assert token not in json.dumps(await lines(door))


async def test_templates_and_workflows_are_told_by_their_digests(door: Door) -> None:
    await door.box.machine(1)
    made = (await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO}))["id"]
    new = (await lines(door))[-1]["changed"]
    await door.done("PUT", "/v1/templates/hello", {"data": HELLO + "# changed\n"})
    changed = (await lines(door))[-1]["changed"]
    wish = {"template": "hello", "hardware": {"device_1": "08:00:27:00:00:01"}}
    workflow = (await door.done("POST", "/v1/workflows", wish))["id"]
    created = (await lines(door))[-1]["changed"]
    await door.done("POST", f"/v1/workflows/{workflow}/cancel")
    canceled = (await lines(door))[-1]["changed"]
    await door.done("DELETE", "/v1/templates/hello")
    deleted = (await lines(door))[-1]["changed"]
    before = digest_of({"name": "hello", "data": HELLO, "labels": {}})
    assert new == [{"kind": "template", "key": made, "before": "", "after": before}]
    assert (changed[0]["before"], deleted[0]["before"]) == (before, changed[0]["after"])
    assert (created[0]["kind"], created[0]["key"], created[0]["before"]) == ("workflow", workflow, "")
    assert canceled[0]["before"] == created[0]["after"] != canceled[0]["after"]


async def test_applied_files_are_told_by_what_they_changed(door: Door) -> None:
    files = [{"name": "a.json", "text": json.dumps(hardware(1))}]
    await door.done("POST", "/v1/apply", {"files": files})
    (made,) = (await lines(door))[-1]["changed"]
    await door.done("POST", "/v1/apply", {"files": files})
    assert "changed" not in (await lines(door))[-1]
    other = hardware(1)
    other["metadata"] = {"instance": {"hostname": "other"}}
    await door.done("POST", "/v1/apply", {"files": [{"name": "a.json", "text": json.dumps(other)}]})
    (changed,) = (await lines(door))[-1]["changed"]
    assert (made["before"], changed["before"]) == ("", made["after"])
    assert changed["after"] == digest_of({"document": other, "labels": {}})


async def test_token_is_told_by_a_digest_that_has_nothing_of_its_text(door: Door) -> None:
    made = await door.done("POST", "/v1/tokens", {"name": "bert", "rights": ["look"]})
    (created,) = (await lines(door))[-1]["changed"]
    await door.done("DELETE", "/v1/tokens/bert")
    (revoked,) = (await lines(door))[-1]["changed"]
    names = ("id", "name", "rights", "means", "scope", "created_at", "expires_at", "by")
    assert created == {
        "kind": "token", "key": made["id"], "before": "", "after": digest_of({each: made[each] for each in names}),
    }  # fmt: skip
    assert (revoked["before"], revoked["after"]) == (created["after"], "")
    assert made["token"] not in json.dumps(await lines(door))


async def test_who_asks_beyond_a_scope_is_told_once(door: Door) -> None:
    await door.box.machine(1)
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer rack-token"}) as session,
        session.patch(f"{door.url}/v1/hardware/machine-1/labels", json={"set": {"rack": "r1"}}) as response,
    ):
        assert response.status == 404
        assert [each["status"] for each in await lines(door, "")] == [404]
    assert await refused(door) == []


async def test_deleting_a_workflow_deletes_none_of_its_lines(door: Door) -> None:
    await door.box.machine(1)
    made = await door.box.workflow()
    await door.done("POST", f"/v1/workflows/{made}/cancel")
    before = await lines(door)
    await door.done("DELETE", f"/v1/workflows/{made}")
    assert (await lines(door))[: len(before)] == before


async def until_told(door: Door, what: str) -> None:
    async with asyncio.timeout(60):
        while not [each for each in await lines(door) if (each["kind"], each["what"]) == ("done", what)]:
            await door.box.audit.changed(0.05)


async def test_reading_of_a_credential_and_of_a_recording_is_recorded(door: Door) -> None:
    held = Held(door, await door.box.machine(1), await hold(door.box, MACHINE))
    await door.done("GET", "/v1/hardware/machine-1/credential")
    assert (await lines(door))[-1]["did"] == [{"what": "credential given", "which": MACHINE}]
    opened = await held.open()
    async with held.attached(opened) as websocket:
        await websocket.receive()
        told = [(each["kind"], each["who"], each["how"], each["object"]) for each in await lines(door)]
        assert told[-1] == ("asked", "operator", "ticket", opened["id"]), "before the person leaves"
        assert (await lines(door, "object=machine-1&limit=1"))[0]["outcome"] == "under way"
        door.box.clock.forward(90)
    await until_told(door, "shell attached")
    (left,) = [each for each in await lines(door, "") if each["what"] == "shell attached"]
    assert (left["kind"], left["why"]) == ("done", "for 1m30s")
    assert {each["outcome"] for each in await lines(door) if each["kind"] == "asked"} == {"told"}
    async with door.local.get(f"http://tinkbox/v1/shells/{opened['id']}/recording") as response:
        assert response.status == 200
    assert {("GET /v1/shells/{id}/recording", opened["id"])} <= {
        (each["what"], each["object"]) for each in await lines(door) if each["kind"] == "done"
    }


async def test_reading_of_a_machines_secret_fields_is_recorded_of_who_may_and_where_there_are_any(door: Door) -> None:
    await door.box.machine(1)
    await door.done("GET", "/v1/hardware/machine-1")
    assert await lines(door) == [], "there was nothing secret"
    await door.done("POST", "/v1/hardware", {**hardware(2), "metadata": {"instance": {"userdata": "#cloud-config"}}})
    before = len(await lines(door))
    shown = await door.done("GET", "/v1/hardware/machine-2")
    asked, done = (await lines(door))[before:]
    assert (asked["kind"], done["kind"], done["what"]) == ("asked", "done", "GET /v1/hardware/{key}")
    assert done["did"] == [{"what": "secret fields read", "which": shown["id"]}]
    await door.done("GET", "/v1/hardware")
    headers = {"Authorization": "Bearer look-token"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{door.url}/v1/hardware/machine-2") as response,
    ):
        assert MASKED in await response.text()
    assert len(await lines(door)) == before + 2, "lists have no line, and neither has what is masked"


async def test_on_a_full_disk_a_machine_is_shown_without_its_secret_fields(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await door.done("POST", "/v1/hardware", {**hardware(2), "metadata": {"instance": {"userdata": "#cloud-config"}}})

    async def write(self: Store, use_case: Any) -> Any:
        raise Unavailable("cannot write: No space left on device")

    monkeypatch.setattr(Store, "write", write)
    shown = await door.done("GET", "/v1/hardware/machine-2")
    assert shown["document"]["metadata"]["instance"]["userdata"] == MASKED


async def test_refused_attempts_are_put_together_by_host_and_person(door: Door) -> None:
    async def ask(token: str, method: str, path: str) -> None:
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"} if token else {}) as session,
            session.request(method, door.url + path) as response,
        ):
            assert response.status in (401, 403)

    for _ in range(5):
        await ask("wrong", "GET", "/v1/hardware")
    await ask("", "GET", "/v1/hardware")
    for _ in range(3):
        await ask("look-token", "DELETE", "/v1/hardware/machine-1")
    stranger, person = await refused(door)
    assert (stranger["who"], stranger["from"], stranger["status"], stranger["times"]) == ("", "127.0.0.1", 401, 6)
    assert (person["who"], person["how"], person["status"], person["times"]) == ("who-may-look", "token", 403, 3)
    assert (person["what"], person["object"]) == ("DELETE /v1/hardware/{key}", "machine-1")
    assert "lacks the right to operate" in person["why"]
    assert "wrong" not in json.dumps(await lines(door)), "a token that is mistyped may be nearly right"


async def test_line_of_a_refused_attempt_has_the_path_and_the_reason_and_nothing_else_of_the_request(
    door: Door,
) -> None:
    headers = {"Authorization": "Bearer look-token", "X-More": "in-a-header"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(
            f"{door.url}/v1/hardware/machine-1/retire?why=in-the-query", json={"reason": "in-the-body"}
        ) as response,
    ):
        assert response.status == 403
    (line,) = await refused(door)
    assert set(line) == {
        "number", "at", "previous", "digest", "kind", "who", "how", "from", "what", "object", "status", "why",
    }  # fmt: skip
    assert (line["what"], line["object"]) == ("POST /v1/hardware/{key}/retire", "machine-1")
    assert line["why"].startswith("who-may-look (look) lacks the right to operate")


async def test_attempt_that_was_refused_is_not_hidden_by_others_of_the_same_person(door: Door) -> None:
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer look-token"}) as session:
        for method, path in (
            ("POST", "/v1/tokens"),
            ("POST", "/v1/tokens"),
            ("DELETE", "/v1/hardware/m1?force=1"),
            ("DELETE", "/v1/secrets/dbpw"),
        ):
            async with session.request(method, door.url + path, json={}) as response:
                assert response.status == 403
    assert [(each["what"], each["object"], each.get("times", 1)) for each in await refused(door)] == [
        ("POST /v1/tokens", "", 2),
        ("DELETE /v1/hardware/{key}", "m1", 1),
        ("DELETE /v1/secrets/{key}", "dbpw", 1),
    ]
    assert len(await lines(door, "object=dbpw")) == 1


async def test_requests_of_one_person_that_come_to_nothing_are_counted_and_changes_among_them_are_told(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door.box.audit, "_fruitless", Fruitless(Rate(burst=3, a_second=0.0)))
    for _ in range(40):
        status, _ = await door.ask("POST", f"/v1/workflows/{'%F0%9F%98%80' * 300}/cancel")
        assert status == 404
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.box.audit.flush(all_of_them=True)
    found = await lines(door)
    assert [(each["kind"], each["what"], each.get("status"), each.get("times", 1)) for each in found] == [
        *[("asked", "POST /v1/workflows/{key}/cancel", None, 1), ("done", "POST /v1/workflows/{key}/cancel", 404, 1)]
        * 3,
        ("asked", MANY, None, 1),
        ("done", "POST /v1/hardware", 200, 1),
        ("refused", "POST /v1/workflows/{key}/cancel", 404, 37),
        ("done", MANY, None, 38),
    ]
    many, pushed, counted, end = found[-4:]
    assert pushed["asked"] == end["asked"] == many["number"]
    assert pushed["did"][0]["which"] == MACHINE
    assert len(counted["object"]) < 100
    assert [each["number"] for each in await lines(door, "limit=1")] == [end["number"]]


async def test_same_reading_is_counted_and_another_one_has_lines_of_its_own(door: Door) -> None:
    await door.box.machine(1)
    await door.box.machine(2)
    for _ in range(5):
        await door.done("GET", "/v1/hardware/machine-1/credential")
    await door.done("GET", "/v1/hardware/machine-2/credential")
    await door.box.audit.flush(all_of_them=True)
    assert [(each["kind"], each["object"], each.get("times", 1)) for each in await lines(door)] == [
        ("asked", "machine-1", 1),
        ("done", "machine-1", 1),
        ("asked", "machine-2", 1),
        ("done", "machine-2", 1),
        ("done", "machine-1", 4),
    ]


async def test_change_that_is_not_made_tells_why(door: Door) -> None:
    await door.ask("DELETE", "/v1/hardware/nothing")
    done = (await lines(door))[-1]
    assert (done["status"], done["object"]) == (404, "nothing")
    assert "not found" in done["why"]


async def test_client_that_goes_away_before_its_request_is_whole_is_no_fault_of_the_appliance(
    door: Door, tmp_path: Path
) -> None:
    _, writer = await asyncio.open_unix_connection(tmp_path / "operator.sock")
    writer.write(b"POST /v1/hardware HTTP/1.1\r\nHost: tinkbox\r\nContent-Length: 1000\r\n\r\n{")
    await writer.drain()
    async with asyncio.timeout(60):
        while not await lines(door):
            await door.box.audit.changed(0.05)
        writer.close()
        while len(found := await lines(door)) < 2:
            await door.box.audit.changed(0.05)
    assert (found[-1]["status"], found[-1]["why"]) == (400, "the client went away before its request was whole")


async def test_what_cannot_be_recorded_is_not_done(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Unavailable("cannot write: No space left on device")
    written = Store.write

    async def write(self: Store, use_case: Any) -> Any:
        raise full

    monkeypatch.setattr(Store, "write", write)
    status, problem = await door.ask("POST", "/v1/hardware", hardware(1))
    assert status == 503
    assert problem["detail"].startswith("nothing was done, for the audit cannot record it: ")
    status, _ = await door.ask("POST", "/v1/images/gc", {})
    assert status == 200, "it may be what makes room"
    monkeypatch.setattr(Store, "write", written)
    assert await door.done("GET", "/v1/hardware") == []
    assert await lines(door) == []
    await door.box.audit.flush()
    assert [(each["kind"], each["what"]) for each in await lines(door)] == [
        ("asked", "POST /v1/images/gc"),
        ("done", "POST /v1/images/gc"),
    ]


async def test_attempt_of_unknown_end_is_left_when_the_appliance_ends_meanwhile(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def push(*_: object) -> None:
        begun.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(door.box.machines, "push", push)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(door.ask("POST", "/v1/hardware", hardware(1)))
        await begun.wait()
        asking.cancel()
    found = await lines(door, "sort=number")
    assert [(each["kind"], each["outcome"]) for each in found] == [("asked", "under way")], (
        "in the list without `every`"
    )
    (line,), _ = await door.box.audit.listed(Listing())
    after_a_restart = audits.Audit(door.box.store, door.box.wakeups, door.box.clock, lambda: 0.0)
    assert after_a_restart.standing(line) == "unknown"
    chain = Chain()
    chain.add(line_from_document(found[0]))
    assert chain.verdict().problem == "", "what a list says beside a line is no part of it"


async def test_list_has_what_is_asked_for(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    door.box.clock.forward(60)
    await door.done("POST", "/v1/hardware/machine-1/retire", {})
    await door.ask("DELETE", "/v1/hardware/other")
    assert [each["number"] for each in await lines(door, "")] == [6, 4, 2]
    assert [each["number"] for each in await lines(door, "object=machine-1")] == [4, 2]
    assert [each["number"] for each in await lines(door, f"object={MACHINE}&sort=number")] == [2, 4]
    assert [each["number"] for each in await lines(door, "what=retire&every=1")] == [4, 3]
    assert [each["number"] for each in await lines(door, "since=30s")] == [6, 4]
    assert [each["number"] for each in await lines(door, f"who={getpass.getuser()}&limit=1")] == [6]
    assert await lines(door, "who=nobody") == []
    async with door.local.get("http://tinkbox/v1/audit?limit=1&every=1") as response:
        assert (response.headers[HEADER], len(await response.json())) == ("6", 1)


async def test_mark_that_is_behind_the_last_line_is_told_as_a_line_that_is_gone(door: Door) -> None:
    empty = await door.done("GET", "/v1/audit/verify?after=7")
    way_out = "if it was there, lines at the end are gone. `tinkbox audit verify` examines those that are there"
    assert (empty["wrong"], empty["problem"]) == (1, f"there is no line 7, there are no lines: {way_out}")
    await door.done("POST", "/v1/hardware", hardware(1))
    told = f"there is no line 500, the last is line 2: {way_out}"
    verdict = await door.done("GET", "/v1/audit/verify?after=500")
    assert (verdict["wrong"], verdict["problem"]) == (3, told)
    assert (await door.done("GET", "/v1/audit/verify?after=2"))["problem"] == "", "the last line is a mark, too"
    status, problem = await door.ask("GET", "/v1/audit/export?after=500")
    assert (status, problem["detail"]) == (404, told.replace("line 2", "line 3"))
    assert await lines(door, "who=tinkbox") == [], "a number that somebody types has no line"


async def test_export_is_examined_without_the_appliance(door: Door) -> None:
    for _ in range(3):
        await door.done("POST", "/v1/hardware", hardware(1))
    async with door.local.get("http://tinkbox/v1/audit/export") as response:
        exported = [json.loads(each) for each in (await response.text()).splitlines()]
    assert [each["number"] for each in exported] == [*range(1, 8)], "the last of them tells of the export"
    chain = Chain()
    for each in exported:
        chain.add(line_from_document(each))
    assert chain.verdict().problem == ""


async def test_watch_tells_every_line_as_it_comes_and_goes_on_behind_one(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    headers = {"Last-Event-ID": "1"}
    async with door.local.get("http://tinkbox/v1/audit/watch", headers=headers) as response:
        told = b""
        while told.count(b"event: line") < 1:
            told += await response.content.readany()
        await door.done("DELETE", "/v1/hardware/machine-1")
        while told.count(b"event: line") < 3:
            told += await response.content.readany()
    assert told.startswith(b"id: 1\n\nid: 2\nevent: line\ndata: {")


async def test_watch_of_who_had_more_lines_than_there_are_begins_with_the_first(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    async with door.local.get("http://tinkbox/v1/audit/watch", headers={"Last-Event-ID": "300"}) as response:
        told = b""
        while told.count(b"event: line") < 2:
            told += await response.content.readany()
    assert told.startswith(b"id: 0\n\nid: 1\nevent: line\ndata: {")


def tampered(path: Path, *statements: str) -> None:
    """Do to the database what somebody does who knows SQL."""
    with closing(sqlite3.connect(path)) as database:
        triggers = [each for (each,) in database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'audit_is_%'")]
        for each in triggers:
            database.execute(f"DROP TRIGGER {each}")
        for each in statements:
            database.execute(each)
        database.commit()


@pytest.mark.parametrize(
    ("statements", "wrong"),
    [
        (["UPDATE audit SET line = replace(line, 'DELETE', 'PATCH') WHERE number = 5"], 5),
        (["UPDATE audit SET digest = replace(digest, substr(digest, 1, 1), 'x') WHERE number = 3"], 3),
        (["DELETE FROM audit WHERE number = 4"], 4),
        (["DELETE FROM audit WHERE number < 3"], 1),
        (
            [
                "UPDATE audit SET number = 100 WHERE number = 2",
                "UPDATE audit SET number = 2 WHERE number = 3",
                "UPDATE audit SET number = 3 WHERE number = 100",
            ],
            2,
        ),
    ],
    ids=["a changed line", "another digest", "a removed line", "removed first lines", "reordered lines"],
)
async def test_verify_names_the_first_line_that_is_wrong(
    door: Door, tmp_path: Path, statements: Sequence[str], wrong: int
) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/hardware/machine-1/retire", {})
    await door.done("DELETE", "/v1/hardware/machine-1")
    tampered(tmp_path / "tinkbox.sqlite", *statements)
    verdict = await door.done("GET", "/v1/audit/verify")
    assert (verdict["wrong"], bool(verdict["problem"])) == (wrong, True), verdict["problem"]
    # What goes on is not hidden by it, and the database counts for what it is.
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.execute("DELETE FROM audit")
        database.execute("UPDATE room SET octets = 0, number = 0 WHERE kind = 'audit'")
        database.commit()


async def test_no_statement_of_the_program_changes_or_deletes_a_line(door: Door, tmp_path: Path) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        for each in (
            "UPDATE audit SET line = '{}'",
            "DELETE FROM audit WHERE number = 1",
            "INSERT INTO audit (number, line, digest) VALUES (7, '{}', '')",
            "INSERT OR REPLACE INTO audit (number, line, digest) VALUES (1, '{}', '')",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="line of the audit"):
                database.execute(each)


async def test_list_of_all_that_a_request_did_is_in_as_many_lines_as_it_takes(door: Door) -> None:
    machines = [
        {"macs": [f"08:00:27:00:{each // 256:02x}:{each % 256:02x}"], "name": f"n{each}"} for each in range(250)
    ]
    await door.done("POST", "/v1/hardware/import", {"machines": machines})
    asked, *done = await lines(door)
    assert {each["asked"] for each in done} == {asked["number"]}
    assert sum(len(each["did"]) for each in done) == 250
    assert max(len(json.dumps(each)) for each in done) <= 8000, "syslog servers take it whole"
    assert sum(len(each["changed"]) for each in done) == 250


async def test_hostile_names_are_kept_short_and_whole(door: Door) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for name in ("x" * 5000, "a%0Ab%1B%5B2J", "%ED%A0%80", "%00"):
            async with session.delete(URL(f"{door.url}/v1/hardware/{name}", encoded=True)) as response:
                assert response.status in (404, 422), await response.text()
    assert max(len(json.dumps(each)) for each in await lines(door)) < 2500
    assert (await door.done("GET", "/v1/audit/verify"))["problem"] == ""


async def test_lines_are_deleted_for_their_age_once_a_line_says_so(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    box = door.box
    for _ in range(3):
        await door.done("POST", "/v1/hardware", hardware(1))
        box.clock.forward(86_400 * 30)
    kept = audits.timedelta(days=45)
    audit = audits.Audit(box.store, box.wakeups, box.clock, box.clock.steady, None, kept)
    assert await audit.delete_old() == 4
    assert await audit.delete_old() == 0, "a day's worth at a time"
    found = await lines(door)
    assert [each["number"] for each in found] == [5, 6, 7]
    assert (found[-1]["kind"], found[-1]["through"]) == ("cut", 4)
    assert (await door.done("GET", "/v1/audit/verify"))["problem"] == ""
    assert Act(kind=Kind.OWN).times == 1
