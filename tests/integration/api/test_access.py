"""Who may use the operator door for what, and how much it takes in."""

import asyncio
import getpass
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.integration.api.door import PEOPLE, TOKEN, Door
from tests.integration.engine.appliance import HELLO, hardware, mac
from tinkbox.api.access import TICKETED, bearer_only, caller
from tinkbox.api.requests import MAX_DOCUMENT
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Right

LOOK, OPERATE, ATTACH, PUSH, ADMIN = Right.LOOK, Right.OPERATE, Right.ATTACH, Right.PUSH, Right.ADMIN
# What each route needs: whoever adds one decides it here as well, and on purpose.
NEEDED = {
    ("GET", "/healthz"): LOOK,
    ("GET", "/metrics"): LOOK,
    ("GET", "/openapi.json"): LOOK,
    ("GET", "/v1/status"): LOOK,
    ("GET", "/v1/events"): LOOK,
    ("GET", "/v1/audit"): Right.AUDIT,
    ("GET", "/v1/audit/watch"): Right.AUDIT,
    ("GET", "/v1/audit/export"): Right.AUDIT,
    ("GET", "/v1/audit/verify"): Right.AUDIT,
    ("GET", "/v1/hardware"): LOOK,
    ("POST", "/v1/hardware"): OPERATE,
    ("POST", "/v1/hardware/add"): OPERATE,
    ("GET", "/v1/hardware/{key}/workflows"): LOOK,
    ("GET", "/v1/hardware/{key}"): LOOK,
    ("DELETE", "/v1/hardware/{key}"): OPERATE,
    ("GET", "/v1/hardware/{key}/credential"): OPERATE,
    ("POST", "/v1/hardware/{key}/credential"): OPERATE,
    ("GET", "/v1/hardware/{key}/at-work"): OPERATE,
    ("PUT", "/v1/hardware/{key}/tpm"): OPERATE,
    ("DELETE", "/v1/hardware/{key}/tpm"): OPERATE,
    ("DELETE", "/v1/hardware/{key}/https"): OPERATE,
    ("POST", "/v1/hardware/{key}/discard-history"): OPERATE,
    ("GET", "/v1/hardware/{key}/timeline"): LOOK,
    ("GET", "/v1/rollouts"): LOOK,
    ("GET", "/v1/rollouts/{key}"): LOOK,
    ("GET", "/v1/rollouts/{key}/machines"): LOOK,
    ("POST", "/v1/rollouts"): OPERATE,
    ("DELETE", "/v1/rollouts/{key}"): OPERATE,
    ("POST", "/v1/rollouts/{key}/pause"): OPERATE,
    ("POST", "/v1/rollouts/{key}/resume"): OPERATE,
    ("POST", "/v1/rollouts/{key}/cancel"): OPERATE,
    ("POST", "/v1/rollouts/{key}/retry"): OPERATE,
    ("GET", "/v1/discovered"): LOOK,
    ("POST", "/v1/discovered/{key}/accept"): OPERATE,
    ("POST", "/v1/discovered/{key}/refuse"): OPERATE,
    ("GET", "/v1/leases"): LOOK,
    ("GET", "/v1/doctor"): LOOK,
    ("GET", "/v1/seen"): LOOK,
    ("GET", "/v1/seen/{key}"): LOOK,
    ("GET", "/v1/template-catalogue"): LOOK,
    ("GET", "/v1/templates"): LOOK,
    ("POST", "/v1/templates"): OPERATE,
    ("POST", "/v1/templates/validate"): LOOK,
    ("GET", "/v1/templates/{key}"): LOOK,
    ("PUT", "/v1/templates/{key}"): OPERATE,
    ("DELETE", "/v1/templates/{key}"): OPERATE,
    ("GET", "/v1/workflows"): LOOK,
    ("POST", "/v1/workflows"): OPERATE,
    ("POST", "/v1/apply"): OPERATE,
    ("GET", "/v1/export"): LOOK,
    ("GET", "/v1/documents"): LOOK,
    ("DELETE", "/v1/documents/{kind}/{key}"): OPERATE,
    ("POST", "/v1/workflows/plan"): LOOK,
    ("GET", "/v1/workflows/{key}"): LOOK,
    ("DELETE", "/v1/workflows/{key}"): OPERATE,
    ("POST", "/v1/workflows/{key}/cancel"): OPERATE,
    ("POST", "/v1/workflows/{key}/retry"): OPERATE,
    ("POST", "/v1/workflows/{key}/takeover"): OPERATE,
    ("PATCH", "/v1/hardware/{key}/labels"): OPERATE,
    ("POST", "/v1/hardware/import"): OPERATE,
    ("PATCH", "/v1/hardware/{key}"): OPERATE,
    ("PUT", "/v1/hardware/{key}"): OPERATE,
    ("POST", "/v1/hardware/{key}/retire"): OPERATE,
    ("POST", "/v1/hardware/{key}/return"): OPERATE,
    ("GET", "/v1/hardware/{key}/notes"): LOOK,
    ("POST", "/v1/hardware/{key}/notes"): OPERATE,
    ("DELETE", "/v1/hardware/{key}/notes/{id}"): OPERATE,
    ("PATCH", "/v1/templates/{key}/labels"): OPERATE,
    ("PATCH", "/v1/workflows/{key}/labels"): OPERATE,
    ("GET", "/v1/lost-histories"): LOOK,
    ("GET", "/v1/workflows/{key}/state"): LOOK,
    ("GET", "/v1/workflows/{key}/events"): LOOK,
    ("GET", "/v1/workflows/{key}/logs"): LOOK,
    ("GET", "/v1/workflows/{key}/data"): LOOK,
    ("GET", "/v1/workflows/{key}/data/versions"): LOOK,
    ("GET", "/v1/breakpoints"): LOOK,
    ("GET", "/v1/workflows/{key}/breakpoints"): LOOK,
    ("POST", "/v1/workflows/{key}/breakpoints/arm"): OPERATE,
    ("POST", "/v1/workflows/{key}/breakpoints/clear"): OPERATE,
    ("POST", "/v1/workflows/{key}/breakpoints/verdict"): OPERATE,
    ("POST", "/v1/workflows/{key}/breakpoints/extend"): OPERATE,
    ("GET", "/v1/workflows/{key}/shells"): ATTACH,
    ("POST", "/v1/workflows/{key}/shells"): ATTACH,
    ("GET", "/v1/shells/{id}/recording"): ATTACH,
    ("GET", "/v1/system-images/{key}"): LOOK,
    ("GET", "/v1/images"): LOOK,
    ("GET", "/v1/images/descriptor"): LOOK,
    ("GET", "/v1/images/referrers"): LOOK,
    ("GET", "/v1/images/blobs/{key}"): LOOK,
    ("POST", "/v1/images/absent"): PUSH,
    ("GET", "/v1/images/room"): LOOK,
    ("POST", "/v1/images/gc"): PUSH,
    ("GET", "/v1/system-images"): LOOK,
    ("POST", "/v1/images"): PUSH,
    ("DELETE", "/v1/images"): PUSH,
    ("GET", "/v1/osie"): LOOK,
    ("GET", "/v1/names/{key}"): LOOK,
    ("GET", "/v1/metadata/defaults"): LOOK,
    ("GET", "/v1/services"): LOOK,
    ("GET", "/v1/secrets"): Right.SECRETS,
    ("PUT", "/v1/secrets/{key}"): Right.SECRETS,
    ("DELETE", "/v1/secrets/{key}"): Right.SECRETS,
    ("GET", "/v1/services/logs"): LOOK,
    ("GET", "/v1/tokens"): ADMIN,
    ("POST", "/v1/tokens"): ADMIN,
    ("GET", "/v1/tokens/{key}/machines"): ADMIN,
    ("DELETE", "/v1/tokens/{key}"): ADMIN,
    ("POST", "/v1/tokens/{key}/rotate"): ADMIN,
}
# What answers those who have a scope, of its machines alone; all else refuses them: whoever adds a route decides it.
SCOPED = {
    ("GET", "/healthz"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/status"),
    ("GET", "/v1/events"),
    ("GET", "/v1/doctor"),
    ("GET", "/v1/hardware"),
    ("GET", "/v1/hardware/{key}"),
    ("GET", "/v1/hardware/{key}/workflows"),
    ("GET", "/v1/hardware/{key}/credential"),
    ("POST", "/v1/hardware/{key}/credential"),
    ("GET", "/v1/hardware/{key}/at-work"),
    ("PUT", "/v1/hardware/{key}/tpm"),
    ("DELETE", "/v1/hardware/{key}/tpm"),
    ("DELETE", "/v1/hardware/{key}/https"),
    ("GET", "/v1/hardware/{key}/timeline"),
    ("GET", "/v1/hardware/{key}/notes"),
    ("POST", "/v1/hardware/{key}/notes"),
    ("DELETE", "/v1/hardware/{key}/notes/{id}"),
    ("PATCH", "/v1/hardware/{key}/labels"),
    ("GET", "/v1/template-catalogue"),
    ("GET", "/v1/templates"),
    ("GET", "/v1/templates/{key}"),
    ("POST", "/v1/rollouts"),
    ("GET", "/v1/workflows"),
    ("POST", "/v1/workflows"),
    ("GET", "/v1/workflows/{key}"),
    ("DELETE", "/v1/workflows/{key}"),
    ("POST", "/v1/workflows/{key}/cancel"),
    ("POST", "/v1/workflows/{key}/retry"),
    ("PATCH", "/v1/workflows/{key}/labels"),
    ("GET", "/v1/workflows/{key}/state"),
    ("GET", "/v1/workflows/{key}/events"),
    ("GET", "/v1/workflows/{key}/logs"),
    ("GET", "/v1/workflows/{key}/data"),
    ("GET", "/v1/workflows/{key}/data/versions"),
    ("GET", "/v1/breakpoints"),
    ("GET", "/v1/workflows/{key}/breakpoints"),
    ("POST", "/v1/workflows/{key}/breakpoints/arm"),
    ("POST", "/v1/workflows/{key}/breakpoints/clear"),
    ("POST", "/v1/workflows/{key}/breakpoints/verdict"),
    ("POST", "/v1/workflows/{key}/breakpoints/extend"),
    ("GET", "/v1/workflows/{key}/shells"),
    ("POST", "/v1/workflows/{key}/shells"),
    ("GET", "/v1/shells/{id}/recording"),
}

# What is for everybody whose token is known, whatever its rights and scope.
FOR_ANY = {("GET", "/v1/authority")}

# What is for everybody, who has no token yet.
OPEN = {("GET", "/v1/login"), ("POST", "/v1/login")}

# What changes nothing with `dry_run`, and needs no more than LOOK then.
REHEARSED: dict[tuple[str, str], dict[str, object]] = {
    ("POST", "/v1/apply"): {"files": [{"name": "a.json", "text": json.dumps(hardware(2))}]},
    ("POST", "/v1/hardware/import"): {"machines": [{"macs": ["08:00:27:00:00:02"], "name": "node2"}]},
    ("POST", "/v1/rollouts"): {"template": "hello", "machines": ["machine-1"]},
}


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer täglich",
    ],
)
@pytest.mark.parametrize("path", ["/v1/hardware", "/v1/events", "/v1/nothing"])
async def test_over_tcp_nothing_is_answered_without_the_token(door: Door, header: str | None, path: str) -> None:
    headers = {} if header is None else {"Authorization": header}
    async with aiohttp.ClientSession() as session, session.get(door.url + path, headers=headers) as response:
        assert (response.status, response.content_type) == (401, "application/problem+json")
        assert response.headers["WWW-Authenticate"] == "Bearer"
        problem = await response.json(content_type=None)
    assert problem["type"] == "/problems/denied"
    assert TOKEN not in str(problem)


async def test_a_wrong_token_is_told_apart_from_none(door: Door) -> None:
    async def told(headers: dict[str, str]) -> str:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{door.url}/v1/hardware", headers=headers) as response,
        ):
            return str((await response.json(content_type=None))["detail"])

    places = (
        "The operator's is in DATA/operator.token on the appliance. There `tinkbox token list` shows all others, and "
        "`tinkbox token create NAME --right look` makes one"
    )
    assert await told({}) == f"a token is needed. {places}"
    assert await told({"Authorization": "Bearer wrong"}) == (
        f"the token is not known here: it is another appliance's, was revoked, or has expired. {places}"
    )


async def test_a_denied_request_changes_nothing(door: Door) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{door.url}/v1/hardware", json=hardware(1), headers={"Authorization": "Bearer x"}) as response,
    ):
        assert response.status == 401
    assert await door.done("GET", "/v1/hardware") == []


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER "])
async def test_with_the_token_tcp_does_what_the_socket_does(door: Door, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        async with session.post(f"{door.url}/v1/hardware", json=hardware(1)) as response:
            assert response.status == 200
        async with session.get(f"{door.url}/v1/hardware") as response:
            assert await response.json() == await door.done("GET", "/v1/hardware")


async def test_a_document_that_is_too_large_is_refused_and_says_the_limit(door: Door) -> None:
    status, problem = await door.ask("POST", "/v1/hardware", b" " * (MAX_DOCUMENT + 1))
    assert (status, problem["type"]) == (413, "/problems/toolarge")
    assert str(MAX_DOCUMENT) in problem["detail"]


async def test_a_document_much_too_large_still_gets_its_answer(door: Door) -> None:
    status, _ = await door.ask("POST", "/v1/templates", b" " * (8 * MAX_DOCUMENT))
    assert status == 413


async def test_the_largest_document_is_read_whole(door: Door) -> None:
    status, problem = await door.ask("POST", "/v1/hardware", b" " * (MAX_DOCUMENT - 1) + b"{")
    assert (status, problem["detail"][:12]) == (422, "invalid json")


async def test_a_body_in_another_encoding_than_utf_8_is_refused(door: Door) -> None:
    status, problem = await door.ask("POST", "/v1/workflows", '{"template": "x"}'.encode("utf-16"))
    assert (status, problem["detail"][:12]) == (422, "invalid json")


async def test_every_route_has_its_right(door: Door) -> None:
    assert {(each.method, each.path) for each in door.routes} == {*NEEDED, *FOR_ANY, *OPEN, ("GET", TICKETED)}


@pytest.mark.parametrize(("method", "path"), NEEDED)
async def test_a_route_answers_those_who_have_its_right_and_nobody_else(door: Door, method: str, path: str) -> None:
    document = {} if (method, path) in REHEARSED else None
    url = door.url + path.replace("{key}", "nothing").replace("{id}", "nothing")
    for right in Right:
        headers = {"Authorization": f"Bearer {right}-token"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, url, json=document) as response,
        ):
            if right is NEEDED[method, path]:
                assert response.status not in (401, 403), right
                continue
            assert (response.status, response.content_type) == (403, "application/problem+json"), right
            problem = await response.json(content_type=None)
        assert problem["type"] == "/problems/forbidden"
        needed = NEEDED[method, path]
        assert f"who-may-{right} ({right}) lacks the right to {needed}" in problem["detail"]
        both = ",".join(each for each in Right if each in (right, needed))
        assert f"`tinkbox token create NAME --right {both}`" in problem["detail"]


@pytest.mark.parametrize(("method", "path"), NEEDED)
async def test_a_token_with_a_scope_is_refused_where_a_route_does_not_keep_to_it(
    door: Door, method: str, path: str
) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    url = door.url + path.replace("{key}", "machine-1").replace("{id}", "nothing")
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer rack-token"}) as session,
        session.request(method, url, json={} if (method, path) in REHEARSED else None) as response,
    ):
        if (method, path) in SCOPED:
            assert response.status != 403, await response.text()
            assert "{key}" not in path or response.status == 404 or path.startswith("/v1/templates"), response.status
            return
        assert response.status == 403
        told = (await response.json(content_type=None))["detail"]
    assert told == (
        f"of-rack-r1 has the scope rack=r1, and {method} {path} is about more than the machines with these labels: a token "
        f"without a scope may ask for it, and who may admin makes one, `tinkbox token create NAME --right {NEEDED[method, path]}`"
    )


@pytest.mark.parametrize(("method", "path"), NEEDED)
async def test_no_token_is_advised_that_would_be_refused_for_its_scope(door: Door, method: str, path: str) -> None:
    url = door.url + path.replace("{key}", "machine-1").replace("{id}", "nothing")
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer none-of-r1-token"}) as session,
        session.request(method, url, json={} if (method, path) in REHEARSED else None) as response,
    ):
        assert response.status == 403
        told = (await response.json(content_type=None))["detail"]
    advised = " -l rack=r1" if (method, path) in SCOPED else ""
    assert told.endswith(f"`tinkbox token create NAME --right {NEEDED[method, path]}{advised}`")


@pytest.mark.parametrize("path", [path for _, path in sorted(FOR_ANY)])
async def test_what_is_for_every_token_answers_those_of_any_right_and_scope_and_nobody_else(
    door: Door, path: str
) -> None:
    for token in (*(f"{right}-token" for right in Right), "rack-token"):
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(headers=headers) as session, session.get(door.url + path) as response:
            assert response.status == 200, token
    async with aiohttp.ClientSession() as session, session.get(door.url + path) as response:
        assert response.status == 401


@pytest.mark.parametrize(("method", "path"), REHEARSED)
async def test_what_changes_nothing_is_for_those_who_may_look_too(door: Door, method: str, path: str) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    asked = {**REHEARSED[method, path], "dry_run": True}
    for right in Right:
        headers = {"Authorization": f"Bearer {right}-token"}
        async with aiohttp.ClientSession(headers=headers) as session:
            async with session.request(method, door.url + path, json=asked) as response:
                assert response.status == (200 if right in (LOOK, OPERATE) else 403), right
                if right not in (LOOK, OPERATE):
                    both = "lacks the right to operate, or, for what changes nothing, to look: "
                    assert both in (await response.json(content_type=None))["detail"]
            if right is not OPERATE:
                for changing in ({**asked, "dry_run": False}, REHEARSED[method, path]):
                    async with session.request(method, door.url + path, json=changing) as response:
                        problem = await response.json(content_type=None)
                        assert response.status == 403, right
                        assert "lacks the right to operate" in problem["detail"]
    assert [each["id"] for each in await door.done("GET", "/v1/hardware")] == [hardware(1)["id"]]
    assert await door.done("GET", "/v1/rollouts") == []


async def test_who_may_only_operate_reads_nothing_by_changing_it(door: Door) -> None:
    """User-data and templates may have secrets: they are for those who may look."""
    machine = hardware(1)
    machine["metadata"] = {"instance": {"userdata": "TOPSECRET"}}
    await door.done("POST", "/v1/hardware", machine)
    await door.done("POST", "/v1/hardware/machine-1/notes", {"text": "TOPSECRET"})
    await door.done("POST", "/v1/templates", {"name": "hello", "data": f"# TOPSECRET\n{HELLO}"})
    template = "apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata: {name: hello}\nspec: {data: '%s'}\n"
    files = [{"name": "a.yaml", "text": template % "version: x"}]
    asked: list[tuple[str, str, dict[str, object]]] = [
        ("PATCH", "/v1/hardware/machine-1/labels", {"set": {"a": "b"}}),
        ("PATCH", "/v1/hardware/machine-1", {"disks": ["/dev/sda"]}),
        ("POST", "/v1/hardware/machine-1/notes", {"text": "seen"}),
        ("POST", "/v1/hardware/machine-1/retire", {}),
        ("POST", "/v1/hardware/machine-1/return", {}),
        ("PATCH", "/v1/templates/hello/labels", {"set": {"a": "b"}}),
        ("POST", "/v1/apply", {"files": files, "dry_run": True, "diff": True}),
    ]
    told: dict[Right, str] = {}
    for rights in ([OPERATE], None):
        headers = {"Authorization": f"Bearer {OPERATE}-token"} if rights else {"Authorization": f"Bearer {TOKEN}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            said = ""
            for method, path, document in asked:
                async with session.request(method, door.url + path, json=document) as response:
                    said += await response.text()
            told[OPERATE if rights else LOOK] = said
    assert "TOPSECRET" not in told[OPERATE]
    assert "TOPSECRET" in told[LOOK]


def declared_flow(template: str) -> str:
    head = "apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow\nmetadata: {name: one}\n"
    return f'{head}spec: {{templateRef: {template}, hardwareRef: machine-1, hardwareMap: {{device_1: "{mac(1)}"}}}}\n'


async def asked_by(door: Door, right: Right, path: str, document: dict[str, object]) -> str:
    """What a person with this right, or with all of them, is answered over TCP."""
    token = TOKEN if right is LOOK else f"{right}-token"
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
        session.post(door.url + path, json=document) as response,
    ):
        return await response.text()


async def test_who_may_only_operate_sees_neither_what_is_rendered_nor_what_was_stored_before(door: Door) -> None:
    """Previews fill templates with documents of machines, and the answers of changes are no records of machines."""
    machine = hardware(1)
    machine["metadata"] = {"instance": {"userdata": "topsecret"}}
    await door.done("POST", "/v1/hardware", machine)
    image = HELLO.replace("image: hello-world", "image: '{{ printf \"%x\" .Hardware.UserData }}'")
    failing = "{{ fail .Hardware.UserData }}"
    for name, text in (("hello", image), ("failing", failing)):
        await door.done("POST", "/v1/templates", {"name": name, "data": text})
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    await door.done("POST", f"/v1/workflows/{made['id']}/cancel")
    for kind, key in (("hardware", "machine-1"), ("templates", "hello"), ("workflows", made["id"])):
        await door.done("PATCH", f"/v1/{kind}/{key}/labels", {"set": {"secret": "topsecret"}})
    applied = {"files": [{"name": "a.yaml", "text": declared_flow("hello")}], "dry_run": True}
    for refused in (
        ("/v1/rollouts", {"template": "hello", "machines": ["machine-1"], "dry_run": True, "require_images": True}),
        ("/v1/apply", {**applied, "require_images": True}),
        ("/v1/apply", applied),
    ):
        told_to = {each: await asked_by(door, each, *refused) for each in (OPERATE, LOOK)}
        assert [b"topsecret".hex() in told_to[each] for each in (OPERATE, LOOK)] == [False, True], refused
    labels = {"set": {"a": "b"}}
    listed = {"macs": [mac(1)], "name": "another", "address": "172.30.0.99", "labels": {"secret": "x"}}
    asked: list[tuple[str, str, dict[str, object]]] = [
        ("POST", "/v1/rollouts", {"template": "hello", "machines": ["machine-1"], "dry_run": True}),
        ("POST", "/v1/rollouts", {"template": "failing", "machines": ["machine-1"], "dry_run": True}),
        ("POST", "/v1/hardware/import", {"machines": [listed], "dry_run": True}),
        ("POST", "/v1/hardware/import", {"machines": [listed]}),
        ("PATCH", "/v1/hardware/machine-1/labels", labels),
        ("PATCH", "/v1/templates/hello/labels", labels),
        ("PATCH", f"/v1/workflows/{made['id']}/labels", labels),
        ("PATCH", "/v1/hardware/machine-1", {"disks": ["/dev/sda"]}),
        ("POST", "/v1/hardware/machine-1/retire", {}),
        ("POST", "/v1/hardware/machine-1/return", {}),
        ("PUT", "/v1/hardware/machine-1/tpm", {"sha256": "0" * 64}),
        ("DELETE", "/v1/hardware/machine-1/tpm", {}),
        ("DELETE", "/v1/hardware/machine-1/https", {}),
    ]
    told: dict[Right, list[str]] = {}
    for right, token in ((OPERATE, f"{OPERATE}-token"), (LOOK, TOKEN)):
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
            told[right] = []
            for method, path, document in asked:
                async with session.request(method, door.url + path, json=document) as response:
                    assert response.status == 200, (path, await response.text())
                    told[right].append(await response.text())
    secrets = ("topsecret", b"topsecret".hex(), "172.30.0.11")
    for answer in told[OPERATE]:
        assert not any(each in answer for each in secrets), answer
    for answer in told[LOOK]:
        assert any(each in answer for each in secrets), answer
    plan, refused, preview = map(json.loads, told[OPERATE][:3])
    assert (plan["actions"], plan["wipes"], plan["warnings"]) == (None, None, None)
    assert [each["name"] for each in plan["machines"]] == ["machine-1"]
    assert refused["refused"][0]["why"].startswith("the template cannot be used for it")
    assert preview["machines"][0]["changes"] == ["name", "ip", "label"]
    machine_1 = {"id": hardware(1)["id"], "name": "machine-1", "mac": mac(1)}
    assert json.loads(told[OPERATE][4]) == {**machine_1, "labels": {"a": "b"}}
    assert json.loads(told[OPERATE][8]) == {**machine_1, "canceled": [], "stopping": []}


async def test_who_may_only_operate_is_shown_the_note_just_made_and_no_other(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/hardware/machine-1/notes", {"text": "a secret"})
    headers = {"Authorization": f"Bearer {OPERATE}-token"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{door.url}/v1/hardware/machine-1/notes", json={"text": "moved"}) as response,
    ):
        assert [each["text"] for each in (await response.json())["notes"]] == ["moved"]


async def test_whoever_may_look_may_ask_for_the_head_alone(door: Door) -> None:
    for right, status in ((LOOK, 200), (OPERATE, 403)):
        headers = {"Authorization": f"Bearer {right}-token"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.head(f"{door.url}/v1/hardware") as response,
        ):
            assert response.status == status


@pytest.mark.parametrize(("method", "path"), [each for each in NEEDED if each[0] == "GET"])
async def test_an_answer_to_a_question_for_the_head_has_no_body_that_the_next_answer_begins_with(
    door: Door, method: str, path: str
) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    flow = await door.done("POST", "/v1/workflows", {"template": "hello", "machine": "machine-1"})
    key = flow["id"] if "/workflows/" in path else "hello" if "/templates/" in path else "machine-1"
    asked = path.replace("{key}", key).replace("{id}", "nothing").replace("{kind}", "template")
    host, port = door.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"Host: box\r\nAuthorization: Bearer {TOKEN}\r\n"
    writer.write(
        f"HEAD {asked} HTTP/1.1\r\n{head}\r\nGET /healthz HTTP/1.1\r\nConnection: close\r\n{head}\r\n".encode()
    )
    async with asyncio.timeout(60):
        _, _, behind = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert behind == b"" or behind.startswith(b"HTTP/1.1 200 OK\r\n"), asked


async def who(request: web.Request) -> web.Response:
    return web.json_response(caller(request).name)


async def let_in(_: web.Request) -> web.Response:
    return web.json_response("somebody with a ticket")


@pytest.fixture
async def guarded() -> AsyncIterator[str]:
    """The URL of an application behind the guard, that says who asks."""
    application = web.Application(middlewares=[refusals_become_problems, bearer_only(PEOPLE.bearer, RefusedTokens())])
    application.add_routes([web.get("/who", who), web.get(TICKETED, let_in), web.get("/v1/shells/{id}", let_in)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_a_token_has_its_persons_name(guarded: str) -> None:
    for token, name in ((TOKEN, "operator"), ("look-token", "who-may-look")):
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(headers=headers) as session, session.get(f"{guarded}/who") as response:
            assert await response.json() == name


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/shells/x/attach?ticket=t", 200),
        ("/v1/shells/x/attach?ticket=", 401),
        ("/v1/shells/x/attach", 401),
        ("/v1/shells/x?ticket=t", 401),
        ("/v1/shells/x/attach/?ticket=t", 401),
        ("/who?ticket=t", 401),
    ],
)
async def test_a_ticket_stands_in_for_a_token_where_a_shell_is_attached_to_and_nowhere_else(
    guarded: str, path: str, status: int
) -> None:
    async with aiohttp.ClientSession() as session, session.get(guarded + path) as response:
        assert response.status == status


@pytest.mark.parametrize("known", [True, False])
async def test_on_the_unix_socket_the_user_of_this_host_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    def nobody(uid: int) -> None:
        raise KeyError(uid)

    if not known:
        monkeypatch.setattr("tinkbox.api.access.pwd.getpwuid", nobody)
    application = web.Application()
    application.add_routes([web.get("/who", who)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.UnixSite(runner, str(tmp_path / "s")).start()
    connector = aiohttp.UnixConnector(str(tmp_path / "s"))
    async with aiohttp.ClientSession(connector=connector) as session, session.get("http://x/who") as response:
        assert await response.json() == (getpass.getuser() if known else f"uid {os.getuid()}")
    await runner.cleanup()


async def test_what_came_past_no_guard_over_tcp_is_nobodys() -> None:
    application = web.Application(middlewares=[refusals_become_problems])
    application.add_routes([web.get("/who", who)])
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{runner.addresses[0][1]}/who") as response,
    ):
        assert response.status == 401
    await runner.cleanup()
