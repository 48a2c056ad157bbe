"""A machine that hosts services of its workflow beside its actions, on a real engine."""

import json

import pytest

from tests.integration.cli.serving import serving
from tests.integration.worker.machine import Lab, Worker, until

LASTS = "echo up; : >/marks/$TINKBOX_SERVICE; trap 'exit 0' TERM; while true; do /bin/busybox sleep 0.1; done"


def service(lab: Lab, workflow: str, name: str) -> dict[str, object]:
    listed = json.loads(lab.tinkbox("service", "list", workflow, "--format", "json"))
    (found,) = [each for each in listed if each["name"] == name]
    return dict(found)


def test_what_a_service_on_the_machine_writes_is_there_for_an_action_and_nothing_is_left_of_it(lab: Lab) -> None:
    receive = f"echo $TINKBOX_SERVICE >/workflow/made; {LASTS}"
    action = "read made </workflow/made; echo $made >/marks/read"
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow(action, services={"maker": receive})
        assert lab.finished(workflow) == "SUCCESS"
        until(lambda: lab.containers() == [], "the end of the service")
        assert (lab.marks / "read").read_text() == "maker\n"
        assert lab.tinkbox("service", "logs", f"{workflow}/maker") == "up\n"
        until(lambda: service(lab, workflow, "maker")["state"] == "STOPPED", "the word of its end")


def test_an_action_begins_when_the_services_on_its_machine_are_there(lab: Lab) -> None:
    with serving(lab.configuration), lab.working():
        workflow = lab.workflow("[ -e /marks/one ] && [ -e /marks/other ]", services={"one": LASTS, "other": LASTS})
        assert lab.finished(workflow) == "SUCCESS"


def test_a_worker_that_is_killed_finds_its_services_and_its_action_as_they_were(lab: Lab) -> None:
    count = f"echo once >>/marks/starts; {LASTS}"
    hold = "echo begun >/marks/begun; while [ ! -e /marks/go ]; do /bin/busybox sleep 0.1; done"
    with serving(lab.configuration):
        with lab.working() as worker:
            workflow = lab.workflow(hold, services={"counted": count})
            until(lambda: lab.marked("begun"), "the action")
            before = lab.containers()
            worker.kill()
        assert sorted(lab.containers()) == sorted(before)
        with lab.working():
            lab.allow("go")
            assert lab.finished(workflow) == "SUCCESS"
            until(lambda: lab.containers() == [], "the end of the service")
    assert (lab.marks / "starts").read_text() == "once\n"


@pytest.mark.parametrize("end", [Worker.stop, Worker.kill])
def test_services_run_on_when_their_worker_ends(lab: Lab, end: object) -> None:
    hold = "echo begun >/marks/begun; while [ ! -e /marks/go ]; do /bin/busybox sleep 0.1; done"
    with serving(lab.configuration), lab.working() as worker:
        workflow = lab.workflow(hold, services={"lasting": LASTS})
        until(lambda: lab.marked("begun"), "the action")
        end(worker)  # type: ignore[operator]
        running = lab.engine.cli("ps", "-q", "--filter", "label=tinkbox.service=lasting").stdout.split()
        assert len(running) == 1
        lab.tinkbox("workflow", "cancel", workflow)
        with lab.working():
            assert lab.finished(workflow) == "CANCELED"
            until(lambda: lab.containers() == [], "the end of the service")
