"""An action's disk and its progress, on a real engine."""

import asyncio
import json
from collections.abc import Iterator

import pytest

from tests.integration.cli.serving import serving
from tests.integration.worker.machine import Lab, until
from tinkbox.model.disks.disks import Refused
from tinkbox.worker.host.chosen_disk import find_disk

WAIT = "while [ ! -e /marks/{0} ]; do /bin/busybox sleep 0.02; done\n"


@pytest.fixture(scope="module")
def machine(lab_of_module: Lab) -> Iterator[Lab]:
    """A machine of an appliance that is on; its worker is each test's."""
    with serving(lab_of_module.configuration):
        yield lab_of_module


def far(lab: Lab, workflow: str) -> tuple[int, int, str] | None:
    """How far the appliance says that the running action is."""
    told = lab.stands(workflow).get("action_progress")
    return told and (told["done"], told["total"], told["unit"])


def test_progress_is_shown_while_the_action_runs_also_by_a_worker_that_was_killed(machine: Lab) -> None:
    script = (
        "echo 1 4 files >/dev/progress\n"
        + WAIT.format("more")
        + "echo 3 4 files >>/tinkerbell/progress\n"
        + WAIT.format("end")
    )
    with machine.working() as worker:
        workflow = machine.workflow(script, volumes=["/dev:/dev", f"{machine.marks}:/marks"])
        until(lambda: far(machine, workflow) == (1, 4, "files"), "the first word")
        assert "25 %" in machine.tinkbox("workflow", "state", workflow)
        worker.kill()
    with machine.working():
        machine.allow("more")
        until(lambda: far(machine, workflow) == (3, 4, "files"), "the second word")
        assert "75 %" in machine.tinkbox("status")
        shown = json.loads(machine.tinkbox("workflow", "get", workflow, "--format", "json"))
        assert shown["actions"][0]["progress"]["done"] == 3
        machine.allow("end")
        assert machine.finished(workflow) == "SUCCESS"
    assert far(machine, workflow) is None


def test_the_disk_that_is_meant_is_in_the_environment_or_the_action_fails(machine: Lab) -> None:
    found = asyncio.run(find_disk("smallest"))
    with machine.working():
        none = machine.workflow("true", disk="serial=no-such-serial")
        assert machine.finished(none) == "FAILED"
        told = machine.told(none)
        assert told["reason"] == "NoSuchDisk"
        assert told["message"].startswith("no disk of this machine is meant by 'serial=no-such-serial': it has ")
        some = machine.workflow("echo $TINKBOX_DISK $DEST_DISK >/marks/disk", disk="smallest")
        if isinstance(found, Refused):
            assert machine.finished(some) == "FAILED"
            assert machine.told(some)["reason"] == found.reason
        else:
            assert machine.finished(some) == "SUCCESS"
            assert (machine.marks / "disk").read_text() == f"{found} {found}\n"
