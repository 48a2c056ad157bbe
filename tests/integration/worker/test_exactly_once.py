"""Delivery at least once, effect exactly once: the worker's own process, a real engine, the appliance's own process.

Each action notes every start of it in /marks/starts.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.integration.cli.serving import serving
from tests.integration.docker_engine import docker_engine_in
from tests.integration.worker.conftest import lab_in
from tests.integration.worker.machine import Lab, until
from tinkbox.wire.messages.session import INSTANCE

NOTE = "echo start >>/marks/starts\n"
SLOW = NOTE + (
    "echo begun; i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done\n"
    "touch /marks/begun; while [ ! -e /marks/go ]; do /bin/busybox sleep 0.02; done; echo over\n"
).replace("touch", "/bin/busybox touch")
WHOLE = "".join(f"{line}\n" for line in ("begun", *(f"line {number}" for number in range(2000)), "over"))


def starts(lab: Lab) -> int:
    return len((lab.marks / "starts").read_text().split())


def output(lab: Lab, workflow: str) -> str:
    return lab.tinkbox("workflow", "logs", workflow)


def test_a_workflow_runs_to_its_end_and_leaves_no_container(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(NOTE + "echo one", NOTE + "echo two", NOTE + "echo three")
        assert lab.finished(workflow) == "SUCCESS"
        shown = output(lab, workflow)
        until(lambda: lab.containers() == [], "the last container's removal")
    assert starts(lab) == 3
    assert shown.index("one") < shown.index("two") < shown.index("three")


def test_the_appliance_is_killed_during_an_action(lab: Lab) -> None:
    with lab.working():
        with serving(lab.configuration) as appliance:
            workflow = lab.workflow(SLOW, NOTE + "echo next")
            until(lambda: lab.marked("begun"), "the action")
            appliance.kill()
            appliance.wait()
        with serving(lab.configuration):
            lab.allow("go")
            assert lab.finished(workflow) == "SUCCESS"
            shown = output(lab, workflow)
    assert starts(lab) == 2
    assert WHOLE in shown
    assert shown.count("line 1999") == 1


def test_an_action_ends_while_the_appliance_is_away(lab: Lab) -> None:
    with lab.working() as worker:
        with serving(lab.configuration) as appliance:
            workflow = lab.workflow(SLOW)
            until(lambda: lab.marked("begun"), "the action")
            appliance.kill()
            appliance.wait()
        lab.allow("go")
        until(lambda: "does not answer" in worker.said, "the worker to notice")
        with serving(lab.configuration):
            assert lab.finished(workflow) == "SUCCESS"
            shown = output(lab, workflow)
    assert starts(lab) == 1
    assert WHOLE in shown


def test_the_worker_is_killed_during_an_action(lab: Lab) -> None:
    with serving(lab.configuration):
        with lab.working() as worker:
            workflow = lab.workflow(SLOW, NOTE + "echo next")
            until(lambda: lab.marked("begun"), "the action")
            worker.kill()
        with lab.working():
            lab.allow("go")
            assert lab.finished(workflow) == "SUCCESS"
            shown = output(lab, workflow)
    assert starts(lab) == 2
    assert WHOLE in shown
    assert shown.count("begun") == 1


def test_the_worker_is_dead_when_its_action_ends(lab: Lab) -> None:
    with serving(lab.configuration):
        with lab.working() as worker:
            workflow = lab.workflow(SLOW)
            until(lambda: lab.marked("begun"), "the action")
            worker.kill()
        (container,) = lab.containers()
        lab.allow("go")
        lab.engine.cli("wait", container)
        with lab.working():
            assert lab.finished(workflow) == "SUCCESS"
            assert WHOLE in output(lab, workflow)
    assert starts(lab) == 1


def test_the_engine_is_killed_during_an_action(lab: Lab) -> None:
    with serving(lab.configuration), lab.working() as worker:
        workflow = lab.workflow(SLOW)
        until(lambda: lab.marked("begun"), "the action")
        lab.engine.kill()
        until(lambda: "trying again" in worker.said, "the worker to notice")
        lab.engine.start()
        assert lab.finished(workflow) == "FAILED"
        (told,) = [event for event in lab.events(workflow) if event["kind"] == "action.failed"]
    assert told["reason"] == "EngineRestarted"
    assert starts(lab) == 1


@pytest.mark.parametrize("helper", [True, False])
def test_the_engine_is_killed_before_it_wrote_down_that_the_action_began(lab: Lab, helper: bool) -> None:
    with serving(lab.configuration):
        with lab.working() as worker:
            workflow = lab.workflow(SLOW, helper=helper)
            until(lambda: lab.marked("begun"), "the action")
            worker.kill()
        (container,) = lab.containers()
        lab.engine.kill()
        lab.engine.forget_start(container)
        lab.engine.start()
        with lab.working():
            assert lab.finished(workflow) == "FAILED"
            (told,) = [event for event in lab.events(workflow) if event["kind"] == "action.failed"]
    assert told["reason"] == "EngineRestarted"
    assert starts(lab) == 1


@pytest.mark.parametrize("helper", [True, False])
def test_the_engine_forgets_an_action_that_goes_on_without_it(tmp_path: Path, helper: bool) -> None:
    with docker_engine_in(live_restore=True) as engine, lab_in(tmp_path, engine) as lab, serving(lab.configuration):
        with lab.working() as worker:
            workflow = lab.workflow(SLOW, helper=helper)
            until(lambda: lab.marked("begun"), "the action")
            worker.kill()
        (container,) = lab.containers()
        process = engine.cli("inspect", "--format", "{{.State.Pid}}", container).stdout.strip()
        engine.kill_daemon()
        engine.forget_start(container)
        engine.start_daemon()
        with lab.working():
            assert lab.finished(workflow) == "FAILED"
            (told,) = [event for event in lab.events(workflow) if event["kind"] == "action.failed"]

        def goes_on() -> bool:
            look = engine.beside(["test", "-d", f"/proc/{process}"])
            return subprocess.run(look, check=False, timeout=60).returncode == 0

        if helper:
            until(lambda: not goes_on(), "the helper to end it")
        else:
            assert goes_on()
    assert told["reason"] == "EngineRestarted"
    assert ("may still run" in told["message"]) == (not helper)
    assert starts(lab) == 1


@pytest.mark.parametrize("trap", ["", "trap 'exit 143' TERM\n", "trap '' TERM\n"])
def test_an_engine_that_is_told_to_end_is_the_reason_of_the_action_that_it_ended(lab: Lab, trap: str) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(trap + SLOW)
        until(lambda: lab.marked("begun"), "the action")
        lab.engine.restart()
        assert lab.finished(workflow) == "FAILED"
        (told,) = [event for event in lab.events(workflow) if event["kind"] == "action.failed"]
    assert (told["reason"], told["exit_code"] in (143, 137)) == ("EngineRestarted", True)
    assert starts(lab) == 1


def test_a_container_that_somebody_kills_did_not_end_with_its_engine(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(SLOW)
        until(lambda: lab.marked("begun"), "the action")
        (container,) = lab.containers()
        lab.engine.cli("stop", container)
        assert lab.finished(workflow) == "FAILED"
        (told,) = [event for event in lab.events(workflow) if event["kind"] == "action.failed"]
    assert (told["reason"], told["exit_code"]) == ("Signal", 143)


async def test_the_answer_to_every_report_is_lost_once(lab: Lab) -> None:
    with serving(lab.configuration):
        async with losing_answers(lab, "/report") as (url, lost):
            with lab.working(url):
                workflow = await asyncio.to_thread(lab.workflow, NOTE + "echo one", NOTE + "echo two")
                assert await asyncio.to_thread(lab.finished, workflow) == "SUCCESS"
                shown = await asyncio.to_thread(output, lab, workflow)
    assert len(lost) == 2
    assert starts(lab) == 2
    assert shown.count("one") == 1


@asynccontextmanager
async def losing_answers(lab: Lab, words: str) -> AsyncIterator[tuple[str, set[str]]]:
    """A way to the node door that hangs up instead of answering, the first time a path with `words` is asked."""
    lost: set[str] = set()
    door = f"http://127.0.0.1:{lab.configuration.http_port}"

    async def pass_on(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name: request.headers.get(name, "") for name in ("Authorization", INSTANCE)}
        async with session.request(request.method, door + request.path_qs, data=body, headers=headers) as answer:
            content = await answer.read()
        if words in request.path and request.path not in lost:
            lost.add(request.path)
            assert request.transport is not None
            request.transport.close()
        return web.Response(status=answer.status, body=content, content_type=answer.content_type)

    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", pass_on)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with aiohttp.ClientSession() as session:
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}", lost
        finally:
            await runner.cleanup()
