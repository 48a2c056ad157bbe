"""Actions of which the machine goes away by a reset: the next boot completes them, with work left and without."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import rotation
from tests.machine.lab import PATIENCE, Lab, hold
from tests.machine.matrix import BY_ACTION, RETURNS
from tests.machine.waiting import ONE, laboratory_with
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = [pytest.mark.machine, rotation.mark(BY_ACTION, RETURNS)]
BEFORE, RESET, AFTER, REBOOT = "before", "reset", "after", "reboot"
INSTALLED = "tinkbox-demo: the installed system is up"


@dataclass(frozen=True)
class Reboots:
    """`left` is what the appliance said while the machine was away, `stages` the boots' timeline up to the end."""

    lab: Lab
    workflow: str
    left: dict[str, State]
    stages: list[str]


@pytest.fixture(scope="module")
def reboots(waiting: Path) -> Iterator[Reboots]:
    """A workflow that resets its machine in the middle, and has it rebooted at the end."""
    with laboratory_with(waiting, [ONE]) as lab:
        document = lab.json("hardware", "get", lab.seen(ONE).id)
        assert document["installed"] is False
        workflow = lab.workflow(
            ONE,
            hold(BEFORE, lab.gate),
            hold(RESET, lab.gate, reboot=True, volumes=["/proc:/machine"], then="echo b > /machine/sysrq-trigger"),
            hold(AFTER, lab.gate),
            hold(REBOOT, lab.gate, reboot=True, volumes=["/worker:/worker"], then="echo reboot > /worker/reboot"),
        )
        for name in (BEFORE, AFTER, REBOOT):
            lab.gate.open(name)
        (machine,) = lab.machines
        lab.gate.wait_for("began", RESET)
        left = lab.actions(workflow)
        lab.gate.open(RESET)
        machine.console.wait_for(INSTALLED, 2 * PATIENCE)
        lab.ended(workflow)
        yield Reboots(lab, workflow, left, lab.stages(ONE))


def test_action_is_leaving_before_its_machine_goes(reboots: Reboots) -> None:
    assert reboots.left == {BEFORE: State.SUCCESS, RESET: State.LEAVING, AFTER: State.PENDING, REBOOT: State.PENDING}


def test_every_action_ran_once_and_in_order(reboots: Reboots) -> None:
    gate = reboots.lab.gate
    for name in (BEFORE, RESET, AFTER, REBOOT):
        assert (gate.knocks("began", name), gate.knocks("ended", name)) == (1, 1), name
    assert reboots.lab.happened(reboots.workflow) == [
        ("workflow.started", None),
        ("action.started", BEFORE),
        ("action.succeeded", BEFORE),
        ("action.started", RESET),
        ("action.leaving", RESET),
        ("action.succeeded", RESET),
        ("action.started", AFTER),
        ("action.succeeded", AFTER),
        ("action.started", REBOOT),
        ("action.leaving", REBOOT),
        ("action.succeeded", REBOOT),
        ("workflow.succeeded", None),
    ]


def test_machine_boots_the_osie_while_work_is_left_and_then_its_disk(reboots: Reboots) -> None:
    told = [stage for stage in reboots.stages if stage in (Stage.SCRIPT, Stage.WORKER, Stage.LOCAL_DISK)]
    assert told == [Stage.SCRIPT, Stage.WORKER, Stage.SCRIPT, Stage.WORKER, Stage.LOCAL_DISK]


def test_machine_counts_as_installed_when_its_workflow_succeeded(reboots: Reboots) -> None:
    assert reboots.lab.state(reboots.workflow).state is State.SUCCESS
    document = reboots.lab.json("hardware", "get", reboots.lab.seen(ONE).id)
    assert (document["ticket"], document["installed"]) == (False, True)


def test_action_that_rebooted_its_machine_says_so(reboots: Reboots) -> None:
    (action,) = [
        each for each in reboots.lab.json("workflow", "get", reboots.workflow)["actions"] if each["name"] == RESET
    ]
    assert "the machine was seen booting again" in str(action)
