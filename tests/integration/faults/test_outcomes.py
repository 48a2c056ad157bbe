"""What becomes of a workflow by what becomes of its service: the appliance's own process, and a real engine."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.lab.network import Network
from tests.integration.docker_engine import HEARD, docker_engine_in
from tests.integration.engine.appliance import hardware
from tests.integration.faults.hosting import READY, SHELL, STAGES, Hosting, hosting_in, service, workflow_with
from tests.integration.faults.wire import Exchange
from tests.integration.worker.machine import IMAGE

DEADLINE = 240.0
SLEEP = "while :; do /bin/busybox sleep 0.1; done"
TOUCHED = {"test": ["CMD", "/bin/busybox", "test", "-e", "/healthy"], "interval": "1s", "retries": 1}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`service` and `workflow` are their states, `reason` and `said` what the workflow says of it."""

    service: str
    workflow: str = "PENDING"
    reason: str = ""
    said: tuple[str, ...] = ()
    seconds: float = 0.0


CASES: Mapping[str, tuple[Mapping[str, object], Outcome]] = {
    "no health check": (service(f"trap 'exit 0' TERM; {SLEEP}"), Outcome(service="READY", seconds=1.0)),
    "healthy after 20 seconds": (
        service(f"trap 'exit 0' TERM; /bin/busybox sleep 20; >/healthy; {SLEEP}", healthcheck=TOUCHED),
        Outcome(service="READY", seconds=20.0),
    ),
    "never healthy": (
        service(f"trap 'exit 0' TERM; echo waiting for godot; {SLEEP}", healthcheck=TOUCHED, timeout=25),
        Outcome(
            service="STOPPED",
            workflow="FAILED",
            reason="ServiceNotReady",
            said=("service web was not ready within 25 seconds", "waiting for godot"),
        ),
    ),
    "exits 0": (service("echo done"), Outcome(service="EXITED")),
    "exits 1 for ever": (
        service(f"echo no such file; {HEARD}; exit 1", restart="on-failure:2"),
        Outcome(
            service="FAILED",
            workflow="FAILED",
            reason="ServiceFailed",
            said=("service web: ended with exit code 1", "after 2 restarts in a row", "no such file"),
        ),
    ),
    "image missing": (
        service("true", image="tools/nowhere:v1"),
        Outcome(service="FAILED", workflow="FAILED", reason="ImageNotFound", said=("service web", "tools/nowhere")),
    ),
    "ignores SIGTERM": (service(f"trap '' TERM; {SLEEP}"), Outcome(service="READY")),
}


async def nothing(hosting: Hosting, exchange: Exchange | None) -> None:
    """Nothing goes wrong here but what services do."""


@pytest.fixture
async def hosting(tmp_path: Path) -> AsyncIterator[Hosting]:
    with (
        Network() as network,
        docker_engine_in(network=network.path) as engine,
        tempfile.TemporaryDirectory(prefix="tinkbox-hosting-") as sockets,
    ):
        async with hosting_in(tmp_path, Path(sockets), network, engine, "", STAGES[READY], nothing) as hosting:
            yield hosting


async def test_each_has_the_outcome_that_is_documented(hosting: Hosting) -> None:
    operator = hosting.operator
    workflows = {}
    for number, (case, (wanted, _)) in enumerate(CASES.items(), start=1):
        await operator.hardware.push(json.dumps(hardware(number)).encode())
        task = {
            "name": "task",
            "worker": "{{.device_1}}",
            "actions": [{"name": "look", "image": IMAGE, "command": [*SHELL, ":"]}],
        }
        workflows[case] = await workflow_with(operator, wanted, task, number)
    for case, (_, outcome) in CASES.items():
        await becomes(hosting, workflows[case], outcome, case)
    await ends_when_canceled(hosting, workflows)


async def becomes(hosting: Hosting, workflow: str, outcome: Outcome, case: str) -> None:
    """Wait until the service stands where it should, and compare."""
    operator = hosting.operator
    (stands,) = await eventually(
        lambda: operator.services.all(workflow),
        lambda one: one[0]["state"] == outcome.service,
        f"the outcome of {case}",
    )
    told = await eventually(
        lambda: operator.workflows.get(workflow),
        lambda it: it["state"] == outcome.workflow,
        f"what {case} means for it",
    )
    if outcome.reason:
        (why,) = [each for each in told["conditions"] if each["type"] == "Succeeded"]
        assert why["reason"] == outcome.reason, case
        assert all(text in why["message"] for text in outcome.said), (case, why["message"])
    else:
        assert stands["ready_at"] is not None, case
    if outcome.seconds:
        (ready,) = [each for each in await operator.workflows.events(workflow) if each["kind"] == "service.ready"]
        assert ready["seconds"] >= outcome.seconds, case


async def ends_when_canceled(hosting: Hosting, workflows: Mapping[str, str]) -> None:
    """Whatever is left is ended, also what does not hear SIGTERM, and nothing stays behind."""
    for case, (_, outcome) in CASES.items():
        if outcome.workflow == "PENDING":
            await hosting.operator.workflows.cancel(workflows[case])
    (deaf,) = await eventually(
        lambda: hosting.operator.services.all(workflows["ignores SIGTERM"]),
        lambda one: one[0]["state"] == "STOPPED",
        "its end by force",
    )
    assert (deaf["exit_code"], deaf["signal"]) == (137, "SIGKILL")
    await eventually(lambda: asyncio.to_thread(hosting.left), lambda left: not left, "the engine to be empty")
    states = {case: (await hosting.operator.services.all(workflow))[0]["state"] for case, workflow in workflows.items()}
    assert states == {
        case: outcome.service if outcome.service in ("EXITED", "FAILED") else "STOPPED"
        for case, (_, outcome) in CASES.items()
    }


async def eventually(ask: Callable[[], Awaitable[Any]], done: Callable[[Any], bool], what: str) -> Any:
    """Ask until it is so; returns the answer."""
    answer = None
    try:
        async with asyncio.timeout(DEADLINE):
            while True:
                answer = await ask()
                if done(answer):
                    return answer
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"waited {DEADLINE:.0f} s for {what}: {answer}") from None
