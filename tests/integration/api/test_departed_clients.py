"""Every change over the operator's socket is in the log, with who made it, also when the client is gone before it is made."""

import asyncio
import getpass
import json
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from aiohttp import web

from tests.integration.api.door import Door, image_archive
from tests.integration.api.test_access import NEEDED
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.engine.applying.test_kept_documents import RULES
from tests.integration.engine.discovery.test_discovery import wait_here
from tests.integration.engine.held import hold
from tests.integration.engine.workflows.test_lost_histories import DONE, RETRIES, entry, told
from tinkbox.api import access
from tinkbox.api.long_answers import queue, take_turns
from tinkbox.door.problems import Handler, refusals_become_problems
from tinkbox.engine.applying.applying import Applying
from tinkbox.engine.machines.imports import Imports
from tinkbox.engine.rollouts.rollouts import Rollouts
from tinkbox.engine.templates.templates import Templates
from tinkbox.engine.views.workflow_plans import WorkflowPlans
from tinkbox.model.access import Caller, Right

MACHINE = str(UUID(int=1))
FORCE: dict[str, object] = {"force": True}
EDITED: dict[str, object] = {
    "text": json.dumps(hardware(1)),
    "base": {"updated_at": "2026-11-21T03:00:00+00:00", "labels": {}},
}
Document = dict[str, object]


@dataclass(frozen=True)
class Change:
    """What is asked and what the log then says; `before` makes the door ready and returns what stands for {key} and {id}."""

    method: str
    route: str
    said: str
    document: Document | bytes | None = None
    before: Callable[[Door], Awaitable[str]] | None = None
    query: str = ""

    def __str__(self) -> str:
        return f"{self.said} by {self.method} {self.route}"


async def machine(door: Door) -> str:
    return await door.box.machine(1)


async def retired(door: Door) -> str:
    await machine(door)
    await door.done("POST", f"/v1/hardware/{MACHINE}/retire", {})
    return MACHINE


async def noted(door: Door) -> str:
    await machine(door)
    await door.done("POST", f"/v1/hardware/{MACHINE}/notes", {"text": "new fan"})
    return MACHINE


async def at_work(door: Door) -> str:
    """A machine with a workflow that is not over."""
    await workflow(door)
    return MACHINE


async def token(door: Door) -> str:
    await door.done("POST", "/v1/tokens", {"name": "anna", "rights": ["look"]})
    return "anna"


async def template(door: Door) -> str:
    return str((await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO}))["id"])


async def both(door: Door) -> str:
    await machine(door)
    await template(door)
    return "hello"


async def workflow(door: Door) -> str:
    await both(door)
    asked = {"template": "hello", "hardware": {"device_1": mac(1)}}
    return str((await door.done("POST", "/v1/workflows", asked))["id"])


async def canceled(door: Door) -> str:
    made = await workflow(door)
    await door.done("POST", f"/v1/workflows/{made}/cancel")
    return made


async def held(door: Door) -> str:
    return (await hold(door.box, await machine(door))).workflow_id


async def lost(door: Door) -> str:
    await machine(door)
    made = await door.box.workflow(RETRIES)
    await told(door.box, MACHINE, entry(1, made, 0, "one", DONE))
    return made


async def lost_of_machine(door: Door) -> str:
    await lost(door)
    return MACHINE


async def stranger(door: Door) -> str:
    await wait_here(door.box.discovery, 7)
    return mac(7)


async def image(door: Door) -> str:
    await door.done("POST", "/v1/images", image_archive())
    return ""


async def secret_name(_: Door) -> str:
    return "password"


async def secret(door: Door) -> str:
    await door.done("PUT", "/v1/secrets/password", {"text": "correct-horse"})
    return "password"


async def kept_document(door: Door) -> str:
    await door.done("POST", "/v1/apply", {"files": [{"name": "a.yaml", "text": RULES}]})
    return "all"


async def rollout(door: Door) -> str:
    await both(door)
    return str((await door.done("POST", "/v1/rollouts", {"template": "hello", "machines": ["machine-1"]}))["id"])


async def paused(door: Door) -> str:
    made = await rollout(door)
    await door.done("POST", f"/v1/rollouts/{made}/pause")
    return made


async def stopped(door: Door) -> str:
    """A rollout that is over, whose machine was canceled."""
    made = await rollout(door)
    await door.box.progression.look()
    await door.done("POST", f"/v1/rollouts/{made}/cancel")
    for _ in range(2):  # its workflow is canceled, then what became of it is seen
        await door.box.progression.look()
    return made


HARDWARE, FLOW, ROLLOUT = "/v1/hardware/{key}", "/v1/workflows/{key}", "/v1/rollouts/{key}"
ARMED: Document = {"before": ["second"]}
CHANGES = [
    Change("POST", "/v1/tokens", "token created", {"name": "anna", "rights": ["look"]}),
    Change("DELETE", "/v1/tokens/{key}", "token revoked", None, token),
    Change("POST", "/v1/tokens/{key}/rotate", "token rotated", {}, token),
    Change("POST", "/v1/hardware", "hardware pushed", hardware(1)),
    Change("POST", "/v1/hardware/add", "hardware added", {"mac": mac(9), "address": "172.30.0.99/24"}),
    Change("POST", "/v1/hardware/import", "hardware made by import", {"machines": [{"macs": [mac(9)], "name": "n9"}]}),
    Change("PATCH", HARDWARE, "hardware edited", {"name": "other"}, machine),
    Change("PUT", HARDWARE, "hardware edited", EDITED, machine),
    Change("DELETE", HARDWARE, "hardware deleted", None, machine),
    Change("DELETE", HARDWARE, "workflow canceled", None, at_work, "?force=1"),
    Change("POST", f"{HARDWARE}/retire", "hardware retired", {}, machine),
    Change("POST", f"{HARDWARE}/retire", "workflow canceled", FORCE, at_work),
    Change("POST", f"{HARDWARE}/return", "hardware returned to service", None, retired),
    Change("POST", f"{HARDWARE}/notes", "hardware noted", {"text": "new disk"}, machine),
    Change("DELETE", f"{HARDWARE}/notes/{{id}}", "note 1 removed", None, noted),
    Change("PATCH", f"{HARDWARE}/labels", "hardware labelled", {"set": {"rack": "r1"}}, machine),
    Change("GET", f"{HARDWARE}/credential", "credential given", None, machine),
    Change("POST", f"{HARDWARE}/credential", "credential rotated", None, machine),
    Change("PUT", f"{HARDWARE}/tpm", "TPM accepted", {"sha256": "0" * 64}, machine),
    Change("DELETE", f"{HARDWARE}/tpm", "TPM forgotten", None, machine),
    Change("DELETE", f"{HARDWARE}/https", "HTTPS forgotten", None, machine),
    Change("POST", f"{HARDWARE}/discard-history", "lost history discarded", None, lost_of_machine),
    Change("POST", "/v1/discovered/{key}/accept", "hardware accepted", {}, stranger),
    Change("POST", "/v1/discovered/{key}/refuse", "unknown machine refused", None, stranger),
    Change("POST", "/v1/templates", "template created", {"name": "hello", "data": HELLO}),
    Change("PUT", "/v1/templates/{key}", "template changed", {"name": "other"}, template),
    Change("DELETE", "/v1/templates/{key}", "template deleted", None, template),
    Change("PATCH", "/v1/templates/{key}/labels", "template labelled", {"set": {"team": "a"}}, template),
    Change("POST", "/v1/workflows", "workflow created", {"template": "hello", "hardware": {"device_1": mac(1)}}, both),
    Change("DELETE", FLOW, "workflow deleted", None, canceled),
    Change("POST", f"{FLOW}/cancel", "workflow canceled", None, workflow),
    Change("POST", f"{FLOW}/retry", "workflow retried", None, canceled),
    Change("POST", f"{FLOW}/takeover", "lost history taken over", None, lost),
    Change("PATCH", f"{FLOW}/labels", "workflow labelled", {"set": {"batch": "b1"}}, workflow),
    Change("POST", f"{FLOW}/breakpoints/arm", "breakpoints armed", ARMED, workflow),
    Change("POST", f"{FLOW}/breakpoints/clear", "breakpoints cleared", None, workflow),
    Change("POST", f"{FLOW}/breakpoints/verdict", "held action decided (fail)", {"verb": "fail"}, held),
    Change("POST", f"{FLOW}/breakpoints/extend", "hold extended", {}, held),
    Change("POST", f"{FLOW}/shells", "shell opened", {}, held),
    Change("POST", "/v1/apply", "hardware created", {"files": [{"name": "a.json", "text": json.dumps(hardware(2))}]}),
    Change("POST", "/v1/rollouts", "rollout created", {"template": "hello", "machines": ["machine-1"]}, both),
    Change("DELETE", ROLLOUT, "rollout deleted", None, stopped),
    Change("POST", f"{ROLLOUT}/pause", "rollout paused", None, rollout),
    Change("POST", f"{ROLLOUT}/resume", "rollout resumed", {}, paused),
    Change("POST", f"{ROLLOUT}/cancel", "rollout canceled", None, rollout),
    Change("POST", f"{ROLLOUT}/retry", "rollout retried", {}, stopped),
    Change("PUT", "/v1/secrets/{key}", "secret set", {"text": "correct-horse"}, secret_name),
    Change("DELETE", "/v1/secrets/{key}", "secret deleted", None, secret),
    Change("DELETE", "/v1/documents/{kind}/{key}", "workflowruleset deleted", None, kept_document),
    Change("POST", "/v1/images", "images loaded", image_archive()),
    Change("POST", "/v1/images/gc", "blobs freed", {}),
    Change("DELETE", "/v1/images", "image deleted", None, image, "?reference=hello-world:v1"),
]


@asynccontextmanager
async def served(door: Door, folder: Path) -> AsyncIterator[tuple[Path, asyncio.Queue[None]]]:
    """The same routes at another socket, and a queue which gets an entry for each request whose handler has ended."""
    ended = asyncio.Queue[None]()

    @web.middleware
    async def note_end(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        finally:
            ended.put_nowait(None)

    application = web.Application(middlewares=[note_end, refusals_become_problems], client_max_size=0)
    application.add_routes(door.routes)
    take_turns(application, queue())
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    try:
        await web.UnixSite(runner, str(folder / "another.sock")).start()
        yield folder / "another.sock", ended
    finally:
        await runner.cleanup()


def request_of(change: Change, key: str) -> bytes:
    body = change.document if isinstance(change.document, bytes) else b""
    if isinstance(change.document, dict):
        body = json.dumps(change.document).encode()
    path = change.route.format(key=key, id=1, kind="workflowruleset") + change.query
    return f"{change.method} {path} HTTP/1.1\r\nHost: tinkbox\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("change", CHANGES, ids=str)
async def test_what_a_client_asked_for_before_it_went_away_is_in_the_log(
    door: Door, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    key = await change.before(door) if change.before else ""
    caplog.set_level(logging.INFO)
    caplog.clear()
    required, required_for = access.require, access.require_for

    def leave(request: web.Request) -> None:
        assert request.transport is not None
        request.transport.abort()

    def require(request: web.Request, right: Right, *, within_scope: bool) -> Caller:
        found = required(request, right, within_scope=within_scope)
        leave(request)
        return found

    def require_for(request: web.Request, *, changes: bool, right: Right = Right.OPERATE, within_scope: bool) -> Caller:
        found = required_for(request, changes=changes, right=right, within_scope=within_scope)
        leave(request)
        return found

    async with served(door, tmp_path) as (path, ended):
        # From where its right is looked at on, the client is gone.
        monkeypatch.setattr(access, "require", require)
        monkeypatch.setattr(access, "require_for", require_for)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(request_of(change, key))
            async with asyncio.timeout(60):
                await ended.get()
    assert any(each.startswith(f"{change.said} by {getpass.getuser()}: ") for each in caplog.messages), caplog.messages


def test_every_route_that_changes_something_is_tried() -> None:
    changing = {
        route
        for route, right in NEEDED.items()
        if right is not Right.LOOK and (route[0] != "GET" or "credential" in route[1])
    }
    changing.remove(("POST", "/v1/images/absent"))  # before an upload: it keeps blobs for an hour, and tells nobody
    assert {(each.method, each.route) for each in CHANGES} == changing


REHEARSED = [
    ("/v1/apply", {"dry_run": True, "files": [{"name": "a.json", "text": json.dumps(hardware(2))}]}),
    ("/v1/hardware/import", {"dry_run": True, "machines": [{"macs": [mac(9)], "name": "n9"}]}),
    ("/v1/workflows/plan", {"template": "hello", "machine": "machine-1"}),
    ("/v1/rollouts", {"dry_run": True, "template": "hello", "machines": ["machine-1"]}),
    ("/v1/templates/validate", {"template": "hello"}),
]


@pytest.mark.parametrize(("route", "document"), REHEARSED, ids=[route for route, _ in REHEARSED])
async def test_what_changes_nothing_is_given_up_when_its_client_goes_away(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str, document: Document
) -> None:
    await both(door)
    begun, given_up = asyncio.Event(), asyncio.Event()

    async def last(*_: object, **__: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    for holder, name in (
        (Applying, "apply"),
        (Imports, "preview"),
        (WorkflowPlans, "plan"),
        (Rollouts, "plan"),
        (Templates, "validate"),
    ):
        monkeypatch.setattr(holder, name, last)
    async with served(door, tmp_path) as (path, ended):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(request_of(Change("POST", route, "", document), ""))
            async with asyncio.timeout(60):
                await begun.wait()
        async with asyncio.timeout(60):
            await given_up.wait()
            await ended.get()
