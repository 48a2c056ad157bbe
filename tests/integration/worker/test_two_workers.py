"""Two workers with one credential: the machine's actions run exactly once, whoever begins them, and the other one ends.

The worker's own processes, a real engine, the appliance's own process.  Every action appends a line to a file of the host.
"""

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.integration.cli.serving import run_here, serving
from tests.integration.engine.appliance import mac
from tests.integration.worker.machine import Lab, Worker, until
from tinkbox.worker.main import SESSION_OVER

ACTIONS = [f"action-{number}" for number in range(1, 11)]
ROUNDS = [pytest.param(number, marks=[] if number == 1 else pytest.mark.campaign) for number in range(1, 11)]
WRONG_FOLDER = 1  # the exit status of a worker whose data folder is another's


@pytest.fixture(scope="module")
def lab_at_work(lab_of_module: Lab) -> Iterator[Lab]:
    """A machine of an appliance that serves, for this module."""
    with serving(lab_of_module.configuration):
        yield lab_of_module


def begin(lab: Lab) -> str:
    """Ten actions of which the first waits to be allowed; returns the workflow's id."""
    for mark in ("starts", "begun", "go"):
        (lab.marks / mark).unlink(missing_ok=True)
    wait = "/bin/busybox touch /marks/begun; while [ ! -e /marks/go ]; do /bin/busybox sleep 0.02; done"
    return lab.workflow(*(f"echo {name} >>/marks/starts; {wait}" for name in ACTIONS))


def finish(lab: Lab, workflow: str) -> None:
    """Let the actions end: each ran once."""
    lab.allow("go")
    assert lab.finished(workflow) == "SUCCESS"
    assert (lab.marks / "starts").read_text().split() == ACTIONS
    until(lambda: not lab.containers(), "the last container's removal")


def fresh(lab: Lab, *flags: str) -> None:
    """Give the machine's worker another credential, and an empty folder."""
    (lab.folder / "worker.json").write_text(lab.tinkbox("hardware", "credential", mac(1), *flags))
    shutil.rmtree(lab.folder / "worker", ignore_errors=True)


def told(lab: Lab) -> str:
    """What the doctor says of the machine."""
    return run_here("--data", str(lab.configuration.data), "doctor", mac(1)).out


@contextmanager
def other(lab: Lab, name: str, boot_id: str = "") -> Iterator[Worker]:
    """A second worker of the same engine, with the same credential and a folder of its own; `boot_id`: on another host."""
    folder = lab.folder / name
    folder.mkdir(exist_ok=True)
    shutil.copy(lab.folder / "worker.json", folder)
    with Lab(folder, lab.configuration, lab.engine).working(boot_id=boot_id) as worker:
        yield worker


@pytest.mark.parametrize("number", ROUNDS)
def test_of_two_that_are_started_together_one_works(lab_at_work: Lab, number: int) -> None:
    lab = lab_at_work
    fresh(lab)
    workflow = begin(lab)
    with lab.working() as one, other(lab, f"together-{number}") as two:
        until(lambda: lab.marked("begun"), "the first action")
        until(lambda: (one.status is None) != (two.status is None), "one of them to end")
        assert SESSION_OVER in (one.status, two.status)
        finish(lab, workflow)
        assert "used twice" in told(lab)


@pytest.mark.parametrize("number", ROUNDS)
def test_one_that_stands_still_keeps_its_machine_and_goes_on(lab_at_work: Lab, number: int) -> None:
    lab = lab_at_work
    fresh(lab)
    workflow = begin(lab)
    with lab.working() as frozen:
        until(lambda: lab.marked("begun"), "the first action")
        frozen.send(signal.SIGSTOP)
        with lab.working() as same_folder:
            assert same_folder.ended() == WRONG_FOLDER
        with other(lab, f"frozen-{number}") as two:
            assert two.ended() == SESSION_OVER
        frozen.send(signal.SIGCONT)
        finish(lab, workflow)
        assert frozen.status is None


@pytest.mark.parametrize("number", ROUNDS)
def test_one_that_stood_still_while_it_was_replaced_ends_and_touches_nothing(lab_at_work: Lab, number: int) -> None:
    lab = lab_at_work
    fresh(lab)
    lost = begin(lab)
    with lab.working() as frozen:
        until(lambda: lab.marked("begun"), "the first action")
        frozen.send(signal.SIGSTOP)
        (lab.folder / "worker").rename(lab.folder / f"frozen-worker-{number}")
        fresh(lab, "--rotate")
        with lab.working():
            assert lab.finished(lost) == "FAILED"
            assert lab.told(lost)["reason"] == "WorkerLost"
            workflow = begin(lab)
            until(lambda: lab.marked("begun"), "the first action of the new worker")
            running = lab.containers()
            frozen.send(signal.SIGCONT)
            assert frozen.ended() == SESSION_OVER
            assert lab.containers() == running
            finish(lab, workflow)


@pytest.mark.parametrize("number", ROUNDS)
def test_a_copied_folder_makes_no_second_worker(lab_at_work: Lab, number: int) -> None:
    lab = lab_at_work
    fresh(lab)
    workflow = begin(lab)
    with lab.working() as one:
        until(lambda: lab.marked("begun"), "the first action")
        copy = lab.folder / f"copied-{number}" / "worker"
        shutil.copytree(
            lab.folder / "worker", copy, ignore=shutil.ignore_patterns("workflow", "tools", "holds", "words")
        )
        with other(lab, copy.parent.name) as two:
            assert two.ended() == WRONG_FOLDER
        assert "is a copy of another worker's folder" in (copy.parent / "worker.log").read_text()
        finish(lab, workflow)
        assert one.status is None


@pytest.mark.parametrize("number", ROUNDS)
def test_one_on_another_host_gets_nothing(lab_at_work: Lab, number: int) -> None:
    lab = lab_at_work
    fresh(lab)
    workflow = begin(lab)
    with lab.working() as one:
        until(lambda: lab.marked("begun"), "the first action")
        with other(lab, f"elsewhere-{number}", boot_id="another") as two:
            assert two.ended() == SESSION_OVER
        machine = json.loads(lab.tinkbox("hardware", "get", mac(1), "--format", "json"))
        refused = [each for each in machine["timeline"] if each["stage"] == "its boot ticket was refused"][-1]
        assert refused["facts"]["exchanged_from"] == "127.0.0.1"
        finish(lab, workflow)
        assert one.status is None
