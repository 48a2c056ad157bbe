"""Stopping and leaving: the appliance's orders, the worker's process, a real engine."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from tests.integration.cli.serving import serving
from tests.integration.docker_engine import DockerEngine
from tests.integration.engine.appliance import mac
from tests.integration.runtime.test_engine_messages import bad_registry
from tests.integration.worker.machine import IMAGE, Lab, until
from tests.workers import door_of
from tinkbox.wire.messages.worker import Hello, decode_credential
from tinkbox.worker.files.failure_files import Told, Words

LASTING = "echo begun; echo 1 >/workflow/half; echo Halfway >/dev/reason; /bin/busybox touch /marks/begun\n"
FOR_EVER = "trap 'exit 143' TERM\n" + LASTING + "while true; do /bin/busybox sleep 0.1; done"
DEAF = LASTING + "while true; do /bin/busybox sleep 0.1; done"  # to SIGTERM, as a shell is that is process 1
NOTE = "echo start >>/marks/starts\n"


def state(lab: Lab, workflow: str) -> str:
    listed = json.loads(lab.tinkbox("workflow", "list", "--format", "json"))
    return next(str(each["state"]) for each in listed if each["id"] == workflow)


def kinds(lab: Lab, workflow: str) -> list[str]:
    return [str(event["kind"]) for event in lab.events(workflow)]


def begun(lab: Lab, name: str = "begun") -> None:
    until(lambda: lab.marked(name), "the action")


def test_a_canceled_workflow_stops_its_container_and_the_machine_is_free_for_the_next(lab: Lab) -> None:
    hook = ["/bin/busybox", "touch", "/marks/hooked"]
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(DEAF, **{"on-failure": hook, "on-timeout": hook})
        following = lab.workflow("echo next")
        begun(lab)
        lab.tinkbox("workflow", "cancel", workflow)
        assert lab.finished(workflow) == "CANCELED"
        assert lab.finished(following) == "SUCCESS"
        told = lab.told(workflow)
        assert (told["state"], told["reason"]) == ("CANCELED", "Canceled")
        assert told["message"].endswith("the action said: Halfway")
        assert "begun" in lab.tinkbox("workflow", "logs", workflow)
        assert "version: 1" in lab.tinkbox("workflow", "data", workflow, "-l")
        until(lambda: lab.containers() == [], "the containers' removal")
    assert not lab.marked("hooked")


def test_an_order_comes_through_after_the_appliance_was_killed(lab: Lab) -> None:
    with lab.working() as worker:
        with serving(lab.configuration) as appliance:
            workflow = lab.workflow(FOR_EVER)
            begun(lab)
            appliance.kill()
            appliance.wait()
        until(lambda: "does not answer" in worker.said, "the worker to notice")
        with serving(lab.configuration):
            lab.tinkbox("workflow", "cancel", workflow)
            assert lab.finished(workflow) == "CANCELED"
            assert lab.told(workflow)["reason"] == "Canceled"


def test_an_order_is_found_by_a_worker_that_was_dead_when_it_was_given(lab: Lab) -> None:
    with serving(lab.configuration):
        with lab.working() as worker:
            workflow = lab.workflow(FOR_EVER)
            begun(lab)
            worker.kill()
        lab.tinkbox("workflow", "cancel", workflow)
        with lab.working():
            assert lab.finished(workflow) == "CANCELED"
            assert lab.told(workflow)["message"].endswith("the action said: Halfway")
            until(lambda: lab.containers() == [], "the container's removal")


async def test_a_cancellation_ends_the_wait_for_an_image(lab: Lab) -> None:
    with serving(lab.configuration), lab.working() as worker:
        async with bad_registry() as host:
            workflow = await asyncio.to_thread(lab.workflow, "true", image=f"{host}/silent/image:v1")
            await asyncio.to_thread(until, lambda: "fetching image" in worker.said, "the pull")
            await asyncio.to_thread(lab.tinkbox, "workflow", "cancel", workflow)
            assert await asyncio.to_thread(lab.finished, workflow) == "CANCELED"


def test_a_cancellation_ends_a_hook_whose_failure_stays_the_reason(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow("exit 3", **{"on-failure": ["/bin/busybox", "sh", "-c", FOR_EVER]})
        begun(lab)
        lab.tinkbox("workflow", "cancel", workflow)
        assert lab.finished(workflow) == "CANCELED"
        told = lab.told(workflow)
        assert (told["reason"], told["exit_code"]) == ("NonZeroExit", 3)
        assert "on-failure was stopped: " in told["message"]
        assert "begun" in lab.tinkbox("workflow", "logs", workflow)


def test_a_workflow_that_takes_too_long_stops_its_action_and_runs_on_timeout(lab: Lab) -> None:
    hook = ["/bin/busybox", "sh", "-c", "echo hurried; /bin/busybox touch /marks/hurried"]
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(FOR_EVER, global_timeout=8, **{"on-timeout": hook})
        assert lab.finished(workflow) == "TIMEOUT"
        assert lab.told(workflow)["reason"] == "Timeout"
        assert "hurried" in lab.tinkbox("workflow", "logs", workflow)
    assert lab.marked("hurried")


def test_an_engine_that_is_gone_when_the_time_is_up_is_the_reason(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(FOR_EVER, timeout=12)
        begun(lab)
        lab.engine.kill()
        try:
            assert lab.finished(workflow) == "TIMEOUT"
        finally:
            lab.engine.start()
        told = lab.told(workflow)
        assert told["reason"] == "EngineGone"
        assert "whether its container still runs is not known" in told["message"]
        assert lab.finished(lab.workflow("echo next")) == "SUCCESS"


def test_an_action_that_reboots_is_leaving_before_it_starts_and_the_worker_ends(lab: Lab) -> None:
    with serving(lab.configuration):
        with lab.working() as worker:
            volumes = [f"{lab.folder / 'worker'}:/worker", f"{lab.marks}:/marks"]
            workflow = lab.workflow(NOTE + "echo reboot >/worker/reboot", NOTE, reboot=True, volumes=volumes)
            assert worker.ended() == 0
        assert kinds(lab, workflow)[-1] == "action.leaving"
        with lab.working() as again:
            assert again.ended() == 0
        assert kinds(lab, workflow)[-1] == "action.leaving"
        assert state(lab, workflow) == "RUNNING"
    assert (lab.marks / "starts").read_text().split() == ["start"]


async def test_a_machine_that_comes_back_completes_the_action_whose_worker_was_killed(lab: Lab) -> None:
    def leave() -> str:
        with lab.working() as worker:
            workflow = lab.workflow(NOTE + "/bin/busybox touch /marks/begun", "true", reboot=True)
            begun(lab)
            worker.kill()
        with lab.working() as worker:
            until(lambda: "waiting for the machine to go away" in worker.said, "the worker to wait")
        return workflow

    with serving(lab.configuration):
        workflow = await asyncio.to_thread(leave)
        assert (lab.marks / "starts").read_text().split() == ["start"]
        async with door_of(decode_credential(lab.tinkbox("hardware", "credential", mac(1))), "another boot") as door:
            offer = await door.next(Hello(boot_id="another boot"))
        assert offer is not None
        assert (offer.action.spec.name, offer.left) == ("action-2", False)
        assert "action.succeeded" in await asyncio.to_thread(kinds, lab, workflow)


def test_a_reboot_that_fails_is_a_failure(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow("echo NoKexec >/dev/reason; exit 2", reboot=True)
        assert lab.finished(workflow) == "FAILED"
        told = lab.told(workflow)
    assert (told["reason"], told["exit_code"]) == ("NoKexec", 2)


def test_words_are_heard_from_a_read_only_root(docker_engine: DockerEngine, lab: Lab, tmp_path: Path) -> None:
    words = Words(tmp_path / "words")
    mounts = words.prepare("a1", "action", (), bounded=False)
    options: list[Any] = [f"--volume={source}:{target}" for target, source in mounts.items()]
    script = "echo ReadOnly >/dev/reason; echo said >/tinkerbell/failure-message; echo no >/file; exit 1"
    with serving(lab.configuration):
        image = f"127.0.0.1:{lab.configuration.http_port}/{IMAGE}"
        docker_engine.cli("pull", image)
        command = ["run", "--rm", "--read-only", "--network=host", "--user", str(os.getuid() + 1000), *options, image]
        docker_engine.cli(*command, "/bin/busybox", "sh", "-c", script, check=False)
    assert words.told("a1", "action") == Told("ReadOnly", "said")
