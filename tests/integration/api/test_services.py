"""Services as an operator sees them: where they stand, and what they print, over a real engine and store."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from tests.integration.api.door import Door
from tests.integration.api.resuming import Resuming
from tests.integration.engine.appliance import mac
from tinkbox.cli.wording.events import told
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.model.errors import NotFound
from tinkbox.model.services import APPLIANCE, Phase, Standing
from tinkbox.store import output

SOON = 60.0
FLOW = """\
version: "0.1"
name: "{name}"
services:
  - name: boot files
    worker: provisioner
    image: boot-files:v1
    labels: ["traefik.http.routers.boot.rule=PathPrefix(`/boot`)", "tinkbox.public=true"]
  - name: receiver
    worker: "{{{{.device_1}}}}"
    image: receiver:v1
    urls: ["http://{{{{ workflow_id }}}}.workflows.tinkbox.internal/password"]
tasks:
  - {{name: t, worker: "{{{{.device_1}}}}", actions: [{{name: a, image: x, timeout: 60}}]}}
"""


class Host:
    """One that hosts services: what it was told of, by the services' names."""

    def __init__(self, door: Door, host: str = APPLIANCE) -> None:
        self.services = door.box.services
        self.host = host
        self.runs: dict[str, str] = {}
        self.stands: dict[str, Standing] = {}
        self.offsets: dict[str, int] = {}

    async def begin(self) -> None:
        wanted = await self.services.wanted(self.host, "")
        assert wanted is not None
        self.runs = {each.service.spec.name: each.run for each in wanted.services}

    async def say(self, name: str, phase: Phase, **told: object) -> None:
        """Say where a service stands, and the others as before."""
        run = self.runs[name]
        before = self.stands.get(run, Standing(run=run, phase=Phase.PENDING))
        self.stands[run] = replace(before, phase=phase, **told)
        await self.services.observed(self.host, tuple(self.stands.values()))

    async def print(self, name: str, said: bytes) -> None:
        run = self.runs[name]
        self.offsets[run] = await self.services.output(self.host, run, self.offsets.get(run, 0), said)


async def flow(door: Door, name: str = "ubuntu") -> tuple[str, str]:
    """A workflow of machine 1 with two services; returns its id and the machine's."""
    machine = await door.box.machine(1)
    return await door.box.workflow(FLOW.format(name=name), device_1=1), machine


def logs_of(key: str, *, follow: bool = False) -> str:
    return "http://tinkbox/v1/services/logs?" + urlencode({"service": key, "follow": int(follow)})


async def text(door: Door, key: str) -> bytes:
    async with door.local.get(logs_of(key)) as response:
        assert (response.status, response.content_type) == (200, "text/plain")
        return await response.read()


async def test_services_that_nobody_began_with_are_listed_with_where_they_belong(door: Door) -> None:
    assert await door.done("GET", "/v1/services") == []
    workflow_id, machine = await flow(door)
    boot, receiver = await door.done("GET", "/v1/services")
    assert boot == {
        "id": f"{workflow_id}/boot files", "workflow_id": workflow_id, "workflow": "ubuntu", "workflow_state": "PENDING",
        "url": f"http://{workflow_id}.workflows.tinkbox.internal", "name": "boot files", "host": "provisioner",
        "machine": "", "image": "boot-files:v1", "digest": "", "state": "PENDING", "restarts": 0, "begun_at": None, "ready_at": None,
        "changed_at": None, "exit_code": None, "signal": "", "reason": "", "message": "", "hint": "", "last_output": [],
        "output_bytes": 0, "run": boot["run"], "routes": ["PathPrefix(`/boot`)"], "address": "", "ports": [],
    }  # fmt: skip
    assert (receiver["host"], receiver["machine"]) == ("machine-1", machine)
    assert receiver["routes"] == [f"http://{workflow_id}.workflows.tinkbox.internal/password"]
    assert boot["run"] not in ("", receiver["run"])


async def test_the_proposals_own_domain_is_told_when_a_workflow_is_made_unless_it_is_ours(door: Door) -> None:
    await door.box.machine(1)
    for domain, expected in (("workflows.tinkerbell.local", [True]), ("workflows.tinkbox.internal", [])):
        text = FLOW.format(name=domain).replace("workflows.tinkbox.internal", domain)
        await door.done("POST", "/v1/templates", {"name": domain, "data": text})
        made = await door.done("POST", "/v1/workflows", {"template": domain, "hardware": {"device_1": mac(1)}})
        notes = [each["text"] for each in made.get("notes", ()) if "set services.domain" in each["text"]]
        assert [domain in each for each in notes] == expected


async def test_those_of_one_machine_are_listed_by_whatever_it_is_called(door: Door) -> None:
    _, machine = await flow(door)
    for key in (machine, "machine-1", "MACHINE-1", "172.30.0.11", "08:00:27:00:00:01"):
        assert [each["name"] for each in await door.done("GET", f"/v1/services?machine={key}")] == ["receiver"], key
    assert [each["name"] for each in await door.done("GET", "/v1/services?machine=provisioner")] == ["boot files"]
    assert await door.done("GET", "/v1/services?machine=machine-2") == []


async def test_where_a_service_stands_is_told_as_its_host_says(door: Door) -> None:
    await flow(door)
    host = Host(door)
    await host.begin()
    door.box.clock.forward(3)
    await host.say("boot files", Phase.READY, address="10.213.0.2", ports=(8080, 9090))
    door.box.clock.forward(60)
    await host.say("boot files", Phase.RESTARTING, restarts=1, exit_code=3, reason="NonZeroExit", tail=("a", "b"))
    await host.print("boot files", b"a\nb\n")
    boot, receiver = await door.done("GET", "/v1/services")
    assert (boot["state"], boot["restarts"], boot["exit_code"], boot["last_output"]) == ("RESTARTING", 1, 3, ["a", "b"])
    assert (boot["address"], boot["ports"], boot["output_bytes"]) == ("10.213.0.2", [8080, 9090], 4)
    assert [boot[name] for name in ("begun_at", "ready_at", "changed_at")] == [
        f"2026-11-21T03:0{time}+00:00" for time in ("0:00", "0:03", "1:03")
    ]
    assert boot["hint"].startswith("read what it printed")
    assert (receiver["state"], receiver["begun_at"]) == ("PENDING", None)


async def test_a_workflow_that_waits_for_its_services_says_so_until_they_are_ready(door: Door) -> None:
    workflow_id, machine = await flow(door)
    appliance, worker = Host(door), Host(door, machine)
    await appliance.begin()

    async def why() -> tuple[str, str]:
        started = (await door.done("GET", f"/v1/workflows/{workflow_id}/state"))["conditions"][0]
        return started["reason"], started["message"]

    await appliance.say("boot files", Phase.STARTING, message="fetching image")
    assert await why() == (
        "WaitingForServices",
        (
            "waiting for service boot files on the appliance, which is STARTING, as its host says: 'fetching image'; service receiver, which machine-1 "
            "has not begun; machine-1, never seen"
        ),
    )
    (line,) = (await door.box.overview.snapshot("1")).workflows
    assert [(each.name, each.phase, each.host, each.ready) for each in line.services] == [
        ("boot files", Phase.STARTING, "provisioner", False),
        ("receiver", Phase.PENDING, "machine-1", False),
    ]
    await worker.begin()
    await appliance.say("boot files", Phase.READY)
    await worker.say("receiver", Phase.READY)
    assert await why() == ("Pending", "waiting for machine-1, never seen")


async def test_a_workflow_has_its_services_with_it(door: Door) -> None:
    workflow_id, _ = await flow(door)
    workflow = await door.done("GET", f"/v1/workflows/{workflow_id}")
    listed = await door.done("GET", f"/v1/services?workflow={workflow_id[:8]}")
    assert [
        {name: each[name] for name in service} for service, each in zip(workflow["services"], listed, strict=True)
    ] == (workflow["services"])
    assert [each["host"] for each in workflow["services"]] == ["provisioner", "machine-1"]


async def test_those_of_one_workflow_can_be_asked_for_though_it_is_over(door: Door) -> None:
    first, _ = await flow(door, "first + 1/é & more")
    second, _ = await flow(door, "second")
    await door.done("POST", f"/v1/workflows/{first}/cancel")
    listed = await door.done("GET", "/v1/services?" + urlencode({"workflow": "first + 1/é & more"}))
    assert [(each["workflow_id"], each["state"]) for each in listed] == [(first, "STOPPED")] * 2
    assert {each["workflow_id"] for each in await door.done("GET", "/v1/services?workflow=second")} == {second}
    status, problem = await door.ask("GET", "/v1/services?workflow=third")
    assert (status, problem["type"]) == (404, "/problems/notfound")


async def test_what_a_service_prints_is_read_by_the_name_of_it(door: Door) -> None:
    workflow_id, machine = await flow(door)
    appliance, worker = Host(door), Host(door, machine)
    await appliance.begin()
    await worker.begin()
    await appliance.print("boot files", b"serving\n")
    await worker.print("receiver", b"listening")
    keys = ("boot files", f"{workflow_id}/boot files", f"{workflow_id[:6]}/boot files", "ubuntu/boot files")
    assert [await text(door, key) for key in keys] == [b"==> boot files <==\nserving\n"] * 4
    assert await text(door, "receiver") == b"==> receiver <==\nlistening"


@pytest.mark.parametrize("query", ["", "?service="])
async def test_logs_of_nothing_are_refused_and_say_what_to_give(door: Door, query: str) -> None:
    status, problem = await door.ask("GET", f"/v1/services/logs{query}")
    assert (status, problem["detail"]) == (422, "which service? give ?service=[WORKFLOW/]SERVICE")


@pytest.mark.parametrize("key", ["nothing", "ubuntu/nothing", "nothing/receiver", "/", "ubuntu/"])
async def test_logs_of_a_service_that_is_not_there_are_404(door: Door, key: str) -> None:
    await flow(door)
    status, problem = await door.ask("GET", "/v1/services/logs?" + urlencode({"service": key, "follow": 1}))
    assert (status, problem["type"]) == (404, "/problems/notfound")


async def test_output_is_followed_until_the_service_ended_with_its_workflow(door: Door) -> None:
    workflow_id, _ = await flow(door)
    host = Host(door)
    await host.begin()
    async with asyncio.timeout(SOON), door.local.get(logs_of("boot files", follow=True)) as response:
        await host.print("boot files", b"10 %\r")
        assert await response.content.readuntil(b"\r") == b"==> boot files <==\n10 %\r"
        # Another workflow's service that is called so is not this one.
        other, _ = await flow(door, "other")
        await host.print("boot files", b"\xff")
        await door.done("POST", f"/v1/workflows/{workflow_id}/cancel")
        assert (await door.done("GET", "/v1/services"))[0]["state"] == "STOPPING"
        await host.print("boot files", b"bye")
        await host.say("boot files", Phase.STOPPED, exit_code=143)
        assert await response.content.read() == b"\xffbye"
    assert await text(door, f"{other}/boot files") == b""


async def test_a_service_whose_workflow_is_deleted_ends_its_output(door: Door) -> None:
    workflow_id, _ = await flow(door)
    async with asyncio.timeout(SOON), door.local.get(logs_of("boot files", follow=True)) as response:
        await door.done("DELETE", f"/v1/workflows/{workflow_id}")
        assert await response.content.read() == b""


async def test_output_resumes_at_every_piece_also_in_the_run_of_a_retry(door: Door) -> None:
    workflow_id, _ = await flow(door)
    host, reader = Host(door), Resuming(door, "http://tinkbox/v1/services/logs?service=boot+files", "number")
    await host.begin()
    for said in (b"one \xff", b"two"):
        await host.print("boot files", said)
        assert not await reader.read(follow=True, pieces=1)
    await host.say("boot files", Phase.FAILED, exit_code=1, reason="NonZeroExit")
    assert await reader.read(follow=True, pieces=1)
    await door.done("POST", f"/v1/workflows/{workflow_id}/retry")
    await host.begin()
    for said in (b"again", b"!"):
        await host.print("boot files", said)
        assert not await reader.read(follow=True, pieces=1)
    await door.done("POST", f"/v1/workflows/{workflow_id}/cancel")
    await host.say("boot files", Phase.STOPPED)
    assert await reader.read(follow=True, pieces=1)
    assert reader.text() == {1: b"one \xfftwo", 2: b"again!"}
    assert [each["run"] for each in reader.pieces[::2]] == [*dict.fromkeys(each["run"] for each in reader.pieces)]
    assert await text(door, "boot files") == b"==> boot files <==\none \xfftwo==> boot files, run 2 <==\nagain!"


async def test_what_was_not_kept_of_the_output_is_told(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "HEAD", 1000)
    monkeypatch.setattr(output, "TAIL", 1000)
    monkeypatch.setattr(output, "BLOCK", 0)
    await flow(door)
    host = Host(door)
    await host.begin()
    for offset in range(0, 5000, 500):
        await host.print("boot files", f"from {offset:<495}".encode())
    assert b" ".join((await text(door, "boot files")).split()) == (
        b"==> boot files <== from 0 from 500 [3000 bytes were not kept] from 4000 from 4500"
    )


async def test_the_client_speaks_of_services_as_the_door_does(door: Door) -> None:
    workflow_id, _ = await flow(door, "a+b & c=d%20/é")
    host = Host(door)
    await host.begin()
    await host.print("boot files", b"hello")
    await host.say("boot files", Phase.EXITED, exit_code=0)
    async with asyncio.timeout(SOON), Operator(LastingConnection(socket=door.path)) as operator:
        assert await operator.services.all() == await operator.services.all("a+b & c=d%20/é")
        for key in ("boot files", "a+b & c=d%20/é/boot files", f"{workflow_id}/boot files"):
            pieces = [each async for each in operator.services.output(key, follow=True)]
            assert [(place, piece and piece["output"]) for place, piece in pieces] == [("0", None), ("5", "aGVsbG8=")]
        with pytest.raises(NotFound, match="nothing"):
            await operator.services.all("nothing")


async def test_metrics_count_the_services_of_workflows_that_are_not_over(door: Door) -> None:
    workflow_id, _ = await flow(door)
    over, _ = await flow(door, "over")
    host = Host(door)
    await host.begin()
    await host.say("boot files", Phase.READY)
    await host.print("boot files", b"12345")

    async def counted() -> Sequence[str]:
        async with door.local.get("http://tinkbox/metrics") as response:
            lines = (await response.text()).splitlines()
        return [line.removeprefix("tinkbox_services") for line in lines
                if line.startswith("tinkbox_services{") and not line.endswith(" 0")]  # fmt: skip

    assert await counted() == ['{phase="PENDING"} 3', '{phase="READY"} 1']
    await door.done("POST", f"/v1/workflows/{over}/cancel")
    assert await counted() == ['{phase="PENDING"} 1', '{phase="READY"} 1']
    await door.done("POST", f"/v1/workflows/{workflow_id}/cancel")
    assert await counted() == []


async def test_what_becomes_of_a_service_is_told_among_the_events_of_its_workflow(door: Door) -> None:
    workflow_id, _ = await flow(door)
    host = Host(door)
    await host.begin()
    door.box.clock.forward(3.25)
    await host.say("boot files", Phase.READY)
    await host.say("boot files", Phase.UNHEALTHY, message="its health check fails: connection refused")
    await host.say("boot files", Phase.READY, message="")
    await host.say("boot files", Phase.RESTARTING, restarts=1, exit_code=1, tail=("bad",),
                   message="ended with exit code 1 (bad): started again in 1 s")  # fmt: skip
    await host.say("boot files", Phase.EXITED, exit_code=0, message="")
    happened = await door.done("GET", f"/v1/workflows/{workflow_id}/events?after=1")
    assert [(each["kind"], told(each)) for each in happened] == [
        ("service.starting", "starting"),
        ("service.ready", "ready after 3.2 s"),
        ("service.unhealthy", "not healthy any more: its health check fails: connection refused"),
        ("service.ready", "ready"),
        ("service.restarting", "ended with exit code 1 (bad): started again in 1 s (restarts so far: 1)"),
        ("service.exited", "done after exit 0: bad"),
    ]


async def test_a_workflow_that_a_service_keeps_from_beginning_says_so_everywhere(door: Door) -> None:
    workflow_id, _ = await flow(door)
    host = Host(door)
    await host.begin()
    await host.say("boot files", Phase.FAILED, exit_code=1, reason="ServiceFailed", message="it ended 6 times",
                   tail=("no such file",))  # fmt: skip
    state = await door.done("GET", f"/v1/workflows/{workflow_id}/state")
    assert (state["state"], state["reason"], state["service"]) == ("FAILED", "ServiceFailed", "boot files")
    assert state["message"] == "service boot files: it ended 6 times; its last lines: no such file"
    snapshot = await door.box.overview.snapshot("1")
    (line,) = snapshot.workflows
    assert (line.failure.service, line.failure.last_output, line.services) == ("boot files", "no such file", ())
