"""Every route of the operator door, over a real engine and store."""

import asyncio
import base64
import errno
import getpass
import hashlib
import json
import logging
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from tests.integration.api.door import OSIE, Door, image_archive
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.registry.serving import system_image_archive
from tinkbox.engine.templates.validation import Verdict
from tinkbox.engine.workflows.workflows import PAGE
from tinkbox.model.boot import Stage
from tinkbox.model.journal import Seen
from tinkbox.model.workflow import State
from tinkbox.unwritable import file_size_limit
from tinkbox.wire import ephemeral_data as bundle
from tinkbox.wire.messages.journal import History
from tinkbox.wire.messages.status import decode_snapshot
from tinkbox.wire.messages.worker import TlsDoor, decode_credential

MACHINE = str(UUID(int=1))
LEARNED = {"inventory": None, "notes": [], "habits": {"secure_boot": False, "local_boot": "", "proven": False}}

# What the list of workflows leaves out.
PLAN = {"actions", "conditions", "services", "text"}


async def prepared(door: Door) -> tuple[str, str]:
    """A machine, a template, and a workflow of them; returns the ids of template and workflow."""
    await door.done("POST", "/v1/hardware", hardware(1))
    template = (await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO}))["id"]
    workflow = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    return template, workflow["id"]


async def test_a_machines_life(door: Door) -> None:
    assert (await door.done("POST", "/v1/hardware", hardware(1)))["id"] == MACHINE
    (listed,) = await door.done("GET", "/v1/hardware")
    assert listed["document"] == hardware(1)
    network = {"netmask": "255.255.255.0", "gateway": "172.30.0.1"}
    card = {"mac": mac(1), "address": "172.30.0.11", **network, "hostname": "machine-1"}
    assert listed["interfaces"] == [card]
    assert (listed["ticket"], listed["installed"], listed["boots"], listed["parked"]) == (False, False, 0, "")
    for key in (MACHINE, MACHINE[:8], mac(1), "172.30.0.11", "machine-1"):
        assert await door.done("GET", f"/v1/hardware/{key}") == {**listed, **LEARNED}
    door.box.machines.progress.saw(mac(1), Stage.LOADER, "PXEClient")
    (seen,) = await door.done("GET", f"/v1/hardware/{mac(1)}/timeline")
    assert (seen["at"], seen["stage"], seen["detail"]) == ("2026-11-21T03:00:00+00:00", Stage.LOADER, "PXEClient")
    assert (await door.done("DELETE", "/v1/hardware/machine-1"))["id"] == MACHINE
    assert (await door.ask("GET", f"/v1/hardware/{MACHINE}"))[0] == 404
    assert await door.done("GET", "/v1/hardware") == []


async def test_a_credential_is_what_the_node_door_accepts(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    credential = await door.done("GET", f"/v1/hardware/{mac(1)}/credential")
    assert set(credential) == {"server", "registry", "worker", "token"}
    assert (credential["server"], credential["registry"]) == ("http://172.30.0.1", "172.30.0.1")
    for method in ("GET", "POST"):
        made = await door.done(method, f"/v1/hardware/{mac(1)}/credential")
        secret = await door.box.exchange(made["token"])
        assert door.box.machines.authenticate(secret, "", "127.0.0.1") == made["worker"] == MACHINE


async def test_a_credential_is_for_https_where_the_node_door_speaks_that(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    door.tls.append(TlsDoor(server="https://172.30.0.1:8443", registry="172.30.0.1:8443", authority="PEM\n"))
    for method in ("GET", "POST"):
        made = decode_credential(json.dumps(await door.done(method, f"/v1/hardware/{mac(1)}/credential")))
        assert (made.server, made.registry) == ("https://172.30.0.1:8443", "172.30.0.1:8443")
        assert (made.authority, made.url_for_others) == ("PEM\n", "http://172.30.0.1")
        assert await door.box.exchange(made.token)


async def test_a_templates_life(door: Door) -> None:
    created = {"id": (await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO}))["id"]}
    template = await door.done("GET", "/v1/templates/hello")
    assert (template["id"], template["name"], template["data"]) == (created["id"], "hello", HELLO)
    listed = {name: value for name, value in template.items() if name != "data"}
    assert await door.done("GET", "/v1/templates") == [listed], "lists have no texts, which may be long"
    assert await door.done("PUT", "/v1/templates/hello", {"name": "renamed"}) == created
    changed = HELLO.replace("600", "700")
    await door.done("PUT", f"/v1/templates/{created['id'][:8]}", {"name": None, "data": changed})
    assert (await door.done("GET", "/v1/templates/renamed"))["data"] == changed
    assert (await door.ask("PUT", "/v1/templates/renamed", {}))[0] == 422
    assert (await door.ask("POST", "/v1/templates", {"name": "renamed", "data": HELLO}))[0] == 409
    assert await door.done("DELETE", "/v1/templates/renamed") == created
    assert await door.done("GET", "/v1/templates") == []


async def test_a_template_is_validated_without_being_stored(door: Door) -> None:
    assert await door.done("POST", "/v1/templates/validate", {"data": HELLO}) == {"verdicts": [], "notes": []}
    status, problem = await door.ask("POST", "/v1/templates/validate", {"data": HELLO.replace("image", "imag")})
    assert (status, problem["type"]) == (422, "/problems/invalid")
    assert await door.done("GET", "/v1/templates") == []


async def test_a_validation_ends_when_whoever_asked_is_gone(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(*_: object) -> list[Verdict]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return []

    monkeypatch.setattr(door.box.templates, "validate", endless)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(door.ask("POST", "/v1/templates/validate", {"data": HELLO}))
        await begun.wait()
        asking.cancel()
        await ended.wait()


async def test_a_workflows_life(door: Door) -> None:
    template, workflow_id = await prepared(door)
    path = f"/v1/workflows/{workflow_id}"
    workflow = await door.done("GET", path)
    assert (workflow["state"], workflow["template_id"]) == ("PENDING", template)
    assert workflow["devices"] == {"device_1": mac(1)}
    assert workflow["text"] == HELLO.replace("{{.device_1}}", mac(1))
    assert [each["name"] for each in workflow["actions"]] == ["hello_world", "second"]
    assert workflow.pop("attempts") == []
    (listed,) = await door.done("GET", "/v1/workflows")
    assert listed == {name: value for name, value in workflow.items() if name not in PLAN} | {
        "reason": "",
        "message": "",
        "actions_done": 0,
        "actions_total": 2,
        "progress": 0,
        "current_task": "hello world",
        "current_action": "hello_world",
        "current_worker": MACHINE,
        "current_action_state": "PENDING",
        "template_name": "hello",
        "machines": [{"id": MACHINE, "name": "machine-1", "hostname": "machine-1", "mac": mac(1)}],
    }
    stands = await door.done("GET", f"{path}/state")
    assert (stands.pop("diagnosis")["rule"], stands.pop("waiting")) == (
        "ImageMissing",
        "machine-1, never seen",
    )
    assert stands == {
        "workflow_id": workflow_id,
        "run": workflow["run"],
        "name": workflow["name"],
        "template_name": "hello",
        "machines": [{"id": MACHINE, "name": "machine-1", "hostname": "machine-1", "mac": mac(1)}],
        "state": "PENDING",
        "actions_done": 0,
        "actions_total": 2,
        "progress": 0,
        "current_task": "hello world",
        "current_action": "hello_world",
        "current_worker": MACHINE,
        "current_action_state": "PENDING",
        "failures": 0,
        "failed_attempts": 0,
        "retries": 0,
        "reason": "",
        "message": "",
        "hint": "",
        "exit_code": None,
        "signal": "",
        "last_output": [],
        "held": None,
        "conditions": workflow["conditions"],
    }
    offer = await door.box.offer(MACHINE)
    assert offer is not None
    await door.box.attempts.output(MACHINE, offer.attempt, 0, b"hello\n")
    archive = bundle.encode([bundle.Entry(path="data", content=b'{"a": 1}'), bundle.Entry(path="to", link="data")])
    await door.box.attempts.keep_data(MACHINE, offer.attempt, archive)
    assert (await door.ask("DELETE", path))[0] == 409
    door.box.clock.forward(90)
    await door.box.report(MACHINE, offer)
    offer = await door.box.offer(MACHINE)
    assert offer is not None
    await door.box.report(MACHINE, offer, State.FAILED, exit_code=3, reason="DiskNotFound", message="no disk")

    state = await door.done("GET", f"{path}/state")
    assert (state["state"], state["progress"], state["current_action"]) == ("FAILED", 50, "second")
    assert (state["current_action_state"], state["reason"], state["message"]) == ("FAILED", "DiskNotFound", "no disk")
    events = await door.done("GET", f"{path}/events")
    assert [(each["number"], each["kind"]) for each in events] == [
        (1, "workflow.created"), (2, "workflow.started"), (3, "action.started"), (4, "action.succeeded"),
        (5, "action.started"), (6, "action.failed"), (7, "workflow.failed"),
    ]  # fmt: skip
    assert await door.done("GET", f"{path}/events?after=5") == events[5:]
    assert await door.done("GET", f"{path}/events?after=7") == []
    assert (await door.ask("GET", f"{path}/events?after=last"))[0] == 422
    assert (events[3]["seconds"], events[3]["worker"], events[3]["action"]) == (90.0, MACHINE, "hello_world")
    data = await door.done("GET", f"{path}/data")
    digest = hashlib.sha256(b'{"a": 1}').hexdigest()  # what sha256sum prints of the saved file
    assert data["files"][0] == {
        "path": "data", "mode": 0o644, "size": 8, "sha256": digest, "content": base64.b64encode(b'{"a": 1}').decode(),
    }  # fmt: skip
    assert (data["version"], data["files"][1]) == (1, {"path": "to", "link": "data"})
    assert await door.done("GET", f"{path}/data?version=1") == data
    assert (await door.ask("GET", f"{path}/data?version=2"))[0] == 404
    assert (await door.ask("GET", f"{path}/data?version=-1"))[0] == 422
    assert (data["worker"], data["task"], data["action"]) == (MACHINE, "hello world", "hello_world")
    (version,) = await door.done("GET", f"{path}/data/versions")
    assert (version["version"], version["kept"], version["sha256"]) == (1, True, data["sha256"])
    assert version["files"] == [
        {"path": "data", "mode": 0o644, "size": 8, "sha256": digest},
        {"path": "to", "link": "data"},
    ]
    async with door.local.get(f"http://tinkbox{path}/logs") as response:
        assert response.content_type == "text/plain"
        assert await response.text() == "==> hello world / hello_world <==\nhello\n"
    assert await door.done("DELETE", path) == {"id": workflow_id}
    assert (await door.ask("GET", path))[0] == 404


async def test_a_workflow_is_canceled_at_once_or_when_its_action_has_stopped(door: Door) -> None:
    _, workflow_id = await prepared(door)
    path = f"/v1/workflows/{workflow_id}"
    offer = await door.box.offer(MACHINE)
    assert offer is not None
    for _ in range(2):
        assert await door.done("POST", f"{path}/cancel") == {"id": workflow_id, "state": "STOPPING"}
    await door.box.report(MACHINE, offer, State.CANCELED, reason="Canceled")
    workflow = await door.done("GET", path)
    assert (workflow["state"], workflow["attempts"][0]["state"]) == ("CANCELED", "CANCELED")
    succeeded = next(each for each in workflow["conditions"] if each["type"] == "Succeeded")
    assert (succeeded["status"], succeeded["reason"]) == ("False", "Canceled")
    status, problem = await door.ask("POST", f"{path}/cancel")
    assert (status, problem["type"]) == (409, "/problems/conflict")
    waiting = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    canceled = await door.done("POST", f"/v1/workflows/{waiting['id']}/cancel")
    assert canceled == {"id": waiting["id"], "state": "CANCELED"}
    assert (await door.ask("POST", "/v1/workflows/nothing/cancel"))[0] == 404


async def test_a_workflow_whose_machine_is_silent_is_canceled_by_force(door: Door) -> None:
    _, workflow_id = await prepared(door)
    path = f"/v1/workflows/{workflow_id}/cancel"
    assert await door.box.offer(MACHINE) is not None
    assert (await door.ask("POST", path, {"force": "yes"}))[0] == 422
    assert await door.done("POST", path, {"force": False}) == {"id": workflow_id, "state": "STOPPING"}
    door.box.clock.forward(6)
    why = "the worker of machine-1 did not answer: what it began may run on there until it is in touch again or the machine boots"
    assert await door.done("POST", path, {"force": True}) == {"id": workflow_id, "state": "CANCELED", "runs_on": why}


async def test_a_persons_word_that_disks_may_go_is_given_with_a_workflow_or_a_retry(door: Door) -> None:
    _, workflow_id = await prepared(door)
    offer = await door.box.offer(MACHINE)
    assert offer is not None
    await door.box.report(MACHINE, offer, State.FAILED, reason="DiskNotEmpty")
    path = f"/v1/workflows/{workflow_id}"
    assert not (await door.box.workflows.get(workflow_id)).wipe_confirmed
    assert (await door.ask("POST", f"{path}/retry", {"confirm_wipe": "yes"}))[0] == 422
    await door.done("POST", f"{path}/retry", {"confirm_wipe": True})
    assert (await door.box.workflows.get(workflow_id)).wipe_confirmed
    asked = {"template": "hello", "hardware": {"device_1": mac(1)}, "confirm_wipe": True}
    made = await door.done("POST", "/v1/workflows", asked)
    assert (await door.box.workflows.get(made["id"])).wipe_confirmed
    assert (await door.ask("POST", "/v1/workflows", {**asked, "confirm_wipe": 1}))[0] == 422


async def test_a_failed_workflow_is_retried_and_its_attempts_stay_visible(door: Door) -> None:
    _, workflow_id = await prepared(door)
    path = f"/v1/workflows/{workflow_id}"
    assert (await door.ask("POST", f"{path}/retry"))[0] == 409
    for outcome in (State.SUCCESS, State.FAILED):
        offer = await door.box.offer(MACHINE)
        assert offer is not None
        await door.box.report(MACHINE, offer, outcome, reason="" if outcome is State.SUCCESS else "DiskNotFound")
    assert await door.done("POST", f"{path}/retry") == {"id": workflow_id, "state": "PENDING"}
    offer = await door.box.offer(MACHINE)
    assert offer is not None
    assert offer.action.spec.name == "second"
    await door.box.report(MACHINE, offer, State.FAILED, reason="DiskTooSmall", exit_code=3)
    for refused in ({"from": "third"}, {"from": 7}, {"from": ""}):
        assert (await door.ask("POST", f"{path}/retry", refused))[0] in (404, 422)
    retried = await door.done("POST", f"{path}/retry", {"from": "hello world/hello_world"})
    assert retried["state"] == "PENDING"
    assert await door.box.finish(MACHINE) == ["hello_world", "second"]
    workflow = await door.done("GET", path)
    assert workflow["state"] == "SUCCESS"
    assert [(each["action"], each["number"], each["state"]) for each in workflow["attempts"]] == [
        ("hello_world", 1, "SUCCESS"), ("second", 1, "FAILED"), ("second", 2, "FAILED"),
        ("hello_world", 2, "SUCCESS"), ("second", 3, "SUCCESS"),
    ]  # fmt: skip
    failed = workflow["attempts"][2]["outcome"]
    assert (failed["reason"], failed["exit_code"]) == ("DiskTooSmall", 3)


async def test_a_long_list_of_workflows_is_told_page_by_page(door: Door) -> None:
    assert await door.done("GET", "/v1/workflows") == []
    await prepared(door)
    for _ in range(PAGE):
        await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    listed = await door.done("GET", "/v1/workflows")
    assert len({each["id"] for each in listed}) == PAGE + 1
    assert [each["created_at"] for each in listed] == sorted(each["created_at"] for each in listed)


async def test_lists_stay_short_whatever_a_template_an_action_and_a_person_say(door: Door) -> None:
    await prepared(door)
    await door.box.finish(MACHINE)
    large = "x" * 8_000
    tasks = "".join(
        f"  - {{name: t{n}, worker: '{mac(1)}', actions: [{{name: a, image: i, command: [{large}]}}]}}\n"
        for n in range(30)
    )
    await door.done("PUT", "/v1/templates/hello", {"data": f'version: "0.1"\nname: many\ntasks:\n{tasks}'})
    asked = {"template": "hello", "hardware": {"device_1": mac(1), "about": large}}
    path = f"/v1/workflows/{(await door.done('POST', '/v1/workflows', asked))['id']}"
    offer = await door.box.offer(MACHINE)
    assert offer is not None
    await door.box.report(MACHINE, offer, State.FAILED, reason="DiskNotFound", message=large)
    *_, listed = await door.done("GET", "/v1/workflows")
    assert (listed["state"], listed["reason"], listed["actions_total"]) == ("FAILED", "DiskNotFound", 30)
    assert (listed["current_task"], listed["current_action_state"]) == ("t0", "FAILED")
    assert listed["message"].startswith("t0/a: xxx")
    assert listed["message"].endswith("x…")
    assert listed["devices"] == {"device_1": mac(1), "about": "x" * 199 + "…"}
    assert len(json.dumps(listed)) < 2_000
    whole = await door.done("GET", path)
    assert (len(whole["actions"]), whole["devices"]["about"]) == (30, large)
    *_, line = (await door.box.overview.snapshot("1")).workflows
    assert (len(line.tasks), line.tasks_before, line.tasks_after) == (20, 0, 10)


async def test_nothing_in_a_workflow_changes_with_its_template(door: Door) -> None:
    template, workflow_id = await prepared(door)
    before = await door.done("GET", f"/v1/workflows/{workflow_id}")
    await door.done("PUT", f"/v1/templates/{template}", {"data": HELLO.replace("hello-world", "other")})
    assert await door.done("GET", f"/v1/workflows/{workflow_id}") == before
    await door.done("DELETE", f"/v1/templates/{template}")
    assert await door.done("GET", f"/v1/workflows/{workflow_id}") == before


async def test_data_that_was_never_written_is_version_0(door: Door) -> None:
    _, workflow_id = await prepared(door)
    assert await door.done("GET", f"/v1/workflows/{workflow_id}/data") == {"version": 0, "files": []}


async def test_the_log_names_who_changes_what(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    template, workflow_id = await prepared(door)
    await door.done("PUT", f"/v1/templates/{template}", {"data": HELLO.replace("hello-world", "other")})
    await door.done("GET", f"/v1/hardware/{MACHINE}/credential")
    await door.done("POST", f"/v1/hardware/{MACHINE}/credential")
    await door.done("PUT", f"/v1/hardware/{MACHINE}/tpm", {"sha256": "0" * 64})
    await door.done("DELETE", f"/v1/hardware/{MACHINE}/tpm")
    await door.done("POST", f"/v1/workflows/{workflow_id}/cancel")
    await door.done("POST", f"/v1/workflows/{workflow_id}/retry")
    await door.done("POST", f"/v1/workflows/{workflow_id}/cancel")
    headers = {"Authorization": "Bearer operate-token"}
    async with aiohttp.ClientSession(headers=headers) as session:
        for path in (f"workflows/{workflow_id}", f"templates/{template}", f"hardware/{MACHINE}"):
            async with session.delete(f"{door.url}/v1/{path}") as response:
                assert response.status == 200
    me = getpass.getuser()
    assert [each.getMessage() for each in caplog.records if each.name == "tinkbox.api.changes"] == [
        f"hardware pushed by {me}: {MACHINE}",
        f"template created by {me}: {template}, hello",
        f"workflow created by {me}: {workflow_id}",
        f"template changed by {me}: {template}",
        f"credential given by {me}: {MACHINE}",
        f"credential rotated by {me}: {MACHINE}",
        f"TPM accepted by {me}: {MACHINE}",
        f"TPM forgotten by {me}: {MACHINE}",
        f"workflow canceled by {me}: {workflow_id}",
        f"workflow retried by {me}: {workflow_id}",
        f"workflow canceled by {me}: {workflow_id}",
        f"workflow deleted by who-may-operate (token): {workflow_id}",
        f"template deleted by who-may-operate (token): {template}",
        f"hardware deleted by who-may-operate (token): {MACHINE}",
    ]


async def test_the_log_names_who_decides_about_a_history_whose_workflow_is_unknown(
    door: Door, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await prepared(door)
    seen = Seen(store="another", position=1, attempt="lost")
    await door.box.lost_histories.told(MACHINE, History(boot_id="boot-1", seen=seen, entries=()))
    await door.done("POST", f"/v1/hardware/{MACHINE}/discard-history")
    assert caplog.messages[-1] == f"lost history discarded by {getpass.getuser()}: {MACHINE}"


async def test_the_log_names_who_loads_and_deletes_images(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await door.done("POST", "/v1/images", image_archive("tools/one:v1"))
    headers = {"Authorization": "Bearer push-token"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.delete(f"{door.url}/v1/images?reference=tools/one:v1") as response,
    ):
        assert response.status == 200
    said = [each.getMessage() for each in caplog.records if each.getMessage().startswith("image")]
    assert said == [
        f"images loaded by {getpass.getuser()}: tools/one:v1",
        "image deleted by who-may-push: tools/one:v1",
    ]


async def test_images_are_loaded_listed_and_deleted(door: Door) -> None:
    assert await door.done("POST", "/v1/images", image_archive("tools/one:v1")) == {
        "loaded": ["tools/one:v1"],
        "notes": [],
    }
    (image,) = await door.done("GET", "/v1/images")
    assert (image["name"], image["tag"]) == ("tools/one", "v1")
    assert set(image) == {"name", "tag", "digest", "size", "pushed_at", "kind", "problem"}
    status, problem = await door.ask("DELETE", "/v1/images")
    assert (status, problem["detail"]) == (422, "which image? give ?reference=name:tag")
    assert (await door.ask("DELETE", "/v1/images?reference=tools%2Ftwo:v1"))[0] == 404
    await door.done("DELETE", "/v1/images?reference=tools%2Fone%3Av1")
    assert await door.done("GET", "/v1/images") == []


async def test_an_image_is_read_blob_by_blob(door: Door) -> None:
    await door.done("POST", "/v1/images?name=quay.io/tools/one:v1", image_archive("other:v1"))
    found = await door.done("GET", "/v1/images/descriptor?reference=quay.io/tools/one:v1")
    assert (found["reference"], found["size"] > 0) == ("quay.io/tools/one:v1", True)
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer look-token"}) as session:
        async with session.get(f"{door.url}/v1/images/blobs/{found['digest']}") as response:
            content = await response.read()
        assert f"sha256:{hashlib.sha256(content).hexdigest()}" == found["digest"]
        headers = {"Range": "bytes=5-"}
        async with session.get(f"{door.url}/v1/images/blobs/{found['digest']}", headers=headers) as response:
            assert (response.status, await response.read()) == (206, content[5:])
    manifest = json.loads(content)
    lost = f"sha256:{'0' * 64}"
    needed = [each["digest"] for each in (manifest["config"], *manifest["layers"])]
    assert await door.done("POST", "/v1/images/absent", {"digests": [*needed, lost]}) == {"absent": [lost]}
    assert (await door.ask("POST", "/v1/images/absent", {"digests": ["sha256:../../x"]}))[0] == 422
    assert (await door.ask("GET", "/v1/images/descriptor?reference=none:v1"))[0] == 404
    assert await door.done("GET", "/v1/images/referrers?reference=quay.io/tools/one:v1") == {"referrers": []}
    assert (await door.ask("GET", "/v1/images/referrers?reference=none:v1"))[0] == 404
    assert (await door.ask("GET", f"/v1/images/blobs/{lost}"))[0] == 404


async def test_a_blob_that_cannot_be_opened_is_told_and_marked(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    await door.done("POST", "/v1/images?name=quay.io/tools/one:v1", image_archive("other:v1"))
    digest = (await door.done("GET", "/v1/images/descriptor?reference=quay.io/tools/one:v1"))["digest"]
    unreadable, opened = await door.images.blob(digest), Path.open

    def open_path(path: Path, *arguments: Any, **named: Any) -> Any:
        if path == unreadable:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **named)

    with monkeypatch.context() as context:
        context.setattr(Path, "open", open_path)
        for _ in range(2):
            status, problem = await door.ask("GET", f"/v1/images/blobs/{digest}")
            assert (status, problem["detail"].split(":")[0]) == (503, f"{unreadable} cannot be opened")
        (image,) = await door.done("GET", "/v1/images")
        assert "damaged" in image["problem"]


async def test_room_of_images_is_told_and_freed(door: Door) -> None:
    for tag in ("v1", "v2"):
        await door.done("POST", "/v1/images", image_archive(f"tools/one:{tag}"))
    room = await door.done("GET", "/v1/images/room")
    assert (room["blobs"], room["incoming"], room["reserve"], room["most"]) == (3, 0, 0, None)
    assert room["size"] > 0
    assert room["file_size_limit"] == file_size_limit()
    deleted = await door.done("DELETE", "/v1/images?reference=tools%2Fone%3Av1")
    assert [each["text"] for each in deleted["notes"]] == [
        "tools/one:v1 was deleted, and the image stays as tools/one:v2"
    ]
    nothing = {"blobs": 0, "size": 0}
    for dry_run in (True, False):
        answer = await door.done("POST", "/v1/images/gc", {"dry_run": dry_run})
        assert answer == {
            "dry_run": dry_run, "images": 0, "freed": nothing, "promised": nothing, "unknown": nothing,
            "untagged": {"images": 0, "size": 0}, "notes": [],
        }  # fmt: skip
    await door.done("POST", "/v1/images/gc", {"untagged": True, "now": True})
    for wrong in ("now", "untagged"):
        assert (await door.ask("POST", "/v1/images/gc", {wrong: "yes"}))[0] == 422
    assert (await door.ask("POST", "/v1/images/gc", {"dry_run": "yes"}))[0] == 422


@pytest.mark.parametrize("damage", ["nothing", "noise", "cut"])
async def test_a_damaged_archive_is_refused_and_nothing_is_stored(door: Door, damage: str) -> None:
    archive = {"nothing": b"", "noise": b"\x00\xff" * 5000, "cut": image_archive()[:1500]}[damage]
    status, problem = await door.ask("POST", "/v1/images", archive)
    assert (status, problem["type"]) == (422, "/problems/invalid")
    assert "\n" not in problem["detail"]
    assert await door.done("GET", "/v1/images") == []


async def test_the_rest_answers(door: Door) -> None:
    _, workflow_id = await prepared(door)
    assert (await door.done("GET", "/healthz"))["status"] == "ok"
    assert await door.done("GET", "/v1/osie") == [OSIE]
    async with door.local.get("http://tinkbox/v1/status") as response:
        snapshot = decode_snapshot(await response.read())
    assert ([each.id for each in snapshot.machines], [each.id for each in snapshot.workflows]) == (
        [MACHINE],
        [workflow_id],
    )
    assert (await door.ask("GET", "/v1/nothing"))[0] == 404
    status, problem = await door.ask("PATCH", "/v1/hardware")
    assert (status, problem["type"]) == (405, "/problems/method-not-allowed")
    assert problem["detail"] == "there is no PATCH /v1/hardware here, only GET, HEAD, POST"
    async with door.local.patch("http://tinkbox/v1/hardware") as response:
        assert response.headers["Allow"] == "GET,HEAD,POST"


# Whose bodies are what people wrote or packed, and have rules of their own.
DOCUMENTS = {("POST", "/v1/hardware"), ("POST", "/v1/images")}


async def test_every_route_refuses_a_name_of_its_query_that_it_does_not_know(door: Door) -> None:
    assert len(door.routes) > 80
    for route in door.routes:
        path = route.path.replace("{key}", "nowhere").replace("{id}", "1")
        status, problem = await door.ask(route.method, f"{path}?dry_rum=1")
        assert status == 422, (route.method, route.path)
        assert problem["detail"].startswith("'dry_rum' means nothing here: "), problem["detail"]


async def test_every_route_refuses_a_name_of_its_body_that_it_does_not_know(door: Door) -> None:
    changing = [each for each in door.routes if each.method != "GET" and (each.method, each.path) not in DOCUMENTS]
    assert len(changing) > 40
    for route in changing:
        path = route.path.replace("{key}", "nowhere").replace("{id}", "1")
        status, problem = await door.ask(route.method, path, {"dry_rum": True})
        assert status == 422, (route.method, route.path)
        assert problem["detail"].startswith("'dry_rum' means nothing here: "), problem["detail"]


async def test_what_is_misspelt_makes_no_workflow(door: Door) -> None:
    template, workflow_id = await prepared(door)
    for misspelt in ({"dry_run": True}, {"breakpoint": {}}, {"label": {"a": "b"}}):
        asked = {"template": template, "hardware": {"device_1": mac(1)}, **misspelt}
        assert (await door.ask("POST", "/v1/workflows", asked))[0] == 422
    assert [each["id"] for each in await door.done("GET", "/v1/workflows")] == [workflow_id]


async def test_a_workflow_for_a_machine_is_refused_where_that_has_other_work(door: Door) -> None:
    template, workflow_id = await prepared(door)
    for key in ("machine-1", mac(1)):
        status, problem = await door.ask("POST", "/v1/workflows", {"template": template, "machine": key})
        assert (status, problem["type"]) == (409, "/problems/conflict")
        assert problem["detail"].startswith("nothing was begun: machine machine-1 has other work: ")
        assert f"workflow {workflow_id[:8]} " in problem["detail"]
    await door.done("DELETE", f"/v1/workflows/{workflow_id}")
    made = await door.done(
        "POST", "/v1/workflows", {"template": template, "machine": "machine-1", "labels": {"a": "b"}}
    )
    workflow = await door.done("GET", f"/v1/workflows/{made['id']}")
    assert (workflow["devices"], workflow["labels"]) == ({"device_1": mac(1)}, {"a": "b"})
    assert (await door.ask("POST", "/v1/workflows", {"template": template, "machine": "nowhere"}))[0] == 422
    queued = {"template": template, "hardware": {"device_1": mac(1)}}
    assert (await door.ask("POST", "/v1/workflows", queued))[0] == 201, "by -r it queues, as in 2020"


async def test_every_problem_of_a_document_is_listed(door: Door) -> None:
    document = hardware(1)
    document["network"] = {
        "interfaces": [{"dhcp": {"mac": "zz", "hostname": 5}}, {"dhcp": {"mac": mac(2), "ip": {"address": "1.2.3"}}}]
    }
    status, problem = await door.ask("POST", "/v1/hardware", document)
    assert (status, problem["type"], problem["status"]) == (422, "/problems/invalid", 422)
    assert [each["key"] for each in problem["problems"]] == [
        "network.interfaces[0].dhcp.hostname", "network.interfaces[0].dhcp.mac",
        "network.interfaces[1].dhcp.ip.address",
    ]  # fmt: skip
    broken = HELLO.replace("image: hello-world", "imag: hello-world").replace("timeout: 60\n", "timeout: soon\n")
    status, problem = await door.ask("POST", "/v1/templates", {"name": "x", "data": broken})
    assert status == 422
    assert [(each["line"], each["key"]) for each in problem["problems"]] == [
        (8, "tasks[0].actions[0].image"), (9, "tasks[0].actions[0].imag"), (10, "tasks[0].actions[0].timeout"),
    ]  # fmt: skip
    assert await door.done("GET", "/v1/hardware") == []
    assert await door.done("GET", "/v1/templates") == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/hardware", b"no json"),
        ("/v1/hardware", b"\xff\xfe"),
        ("/v1/hardware", b"[" * 100_000),
        ("/v1/hardware", b"[]"),
        ("/v1/hardware", b"{}"),
        ("/v1/hardware", b'{"id": "00000000-0000-0000-0000-000000000001", "network": 3}'),
        ("/v1/hardware", b'{"id": "\\ud800"}'),
        ("/v1/hardware", b'{"kind": "Hardware", "metadata": {"name": "a\\ud800"}}'),
        ("/v1/hardware", b'{"kind": "Hardware", "metadata": {"name": "a", "namespace": "\\ud800"}}'),
        ("/v1/hardware", b'{"kind": "Hardware", "metadata": {"name": "a\\u0000"}}'),
        ("/v1/hardware", b'apiVersion: tinkerbell.org/v1alpha1\nkind: Hardware\nmetadata: {name: "a\\ud800"}'),
        ("/v1/templates", b"[]"),
        ("/v1/templates", b'{"name": "x"}'),
        ("/v1/templates", b'{"name": 1, "data": "x"}'),
        ("/v1/templates", b'{"name": "x", "data": "a: \\ud800"}'),
        ("/v1/templates", b'{"name": "x", "data": "a: \\u0000"}'),
        ("/v1/workflows", b'{"template": "x"}'),
        ("/v1/workflows", b'{"template": "x", "hardware": ["device_1"]}'),
        ("/v1/workflows", b'{"template": "x", "hardware": {"device_1": "\\udfff"}}'),
        ("/v1/workflows", b'{"hardware": {}}'),
    ],
)
async def test_what_is_no_document_is_422_and_stores_nothing(door: Door, path: str, body: bytes) -> None:
    status, problem = await door.ask("POST", path, body)
    assert (status, problem["type"]) == (422, "/problems/invalid")
    assert await door.done("GET", path) == []


async def test_text_in_a_hardware_document_may_be_any_text(door: Door) -> None:
    document = hardware(1) | {"metadata": {"note": "\ud800 \x00 täglich \U0001f600"}}
    await door.done("POST", "/v1/hardware", document)
    assert (await door.done("GET", f"/v1/hardware/{MACHINE}"))["document"] == document


async def test_system_images_are_listed_with_what_they_are(door: Door) -> None:
    await door.done("POST", "/v1/images", system_image_archive("1", "latest"))
    (image,) = await door.done("GET", "/v1/system-images")
    assert set(image) == {"id", "reference", "tags", "digest", "size", "pushed_at", "config", "problem"}
    assert (image["id"], image["tags"], image["config"]["version"]) == ("lab", ["1", "latest"], "1")
    assert image["problem"] == ""
