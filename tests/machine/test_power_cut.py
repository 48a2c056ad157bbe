"""A machine loses power in the middle of an action: that is told, and nothing is done twice."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machine.lab import Lab, hold, laboratory
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
ONE = 1


@dataclass(frozen=True)
class PowerCut:
    lab: Lab
    workflow: str


@pytest.fixture(scope="module")
def power_cut(shell_archive: Path) -> Iterator[PowerCut]:
    """A workflow whose machine was without power for a moment, after the machine has booted again."""
    with laboratory() as lab:
        lab.route()
        lab.push(ONE)
        lab.load(shell_archive)
        workflow = lab.workflow(ONE, hold("wipe", lab.gate), hold("install", lab.gate))
        lab.gate.open("install")
        machine = lab.machine(ONE)
        machine.power_on()
        lab.gate.wait_for("began", "wipe")
        machine.power_off()
        assert lab.state(workflow).state is State.RUNNING
        # Were the action repeated, this time nothing would hold it.
        lab.gate.open("wipe")
        machine.power_on()
        lab.ended(workflow)
        yield PowerCut(lab, workflow)


def test_the_action_is_not_repeated(power_cut: PowerCut) -> None:
    gate = power_cut.lab.gate
    assert [gate.knocks("began", "wipe"), gate.knocks("ended", "wipe")] == [1, 0]
    events = power_cut.lab.appliance.events(power_cut.workflow)
    assert [(each["kind"], each.get("action")) for each in events if each["kind"] != "workflow.created"] == [
        ("workflow.started", None),
        ("action.started", "wipe"),
        ("action.failed", "wipe"),
        ("workflow.failed", None),
    ]


def test_what_would_have_come_next_does_not_happen(power_cut: PowerCut) -> None:
    assert power_cut.lab.gate.knocks("began", "install") == 0
    actions = power_cut.lab.json("workflow", "get", power_cut.workflow)[0]["actions"]
    assert [(each["name"], each["state"]) for each in actions] == [("wipe", "FAILED"), ("install", "PENDING")]


def test_the_operator_is_told_what_happened(power_cut: PowerCut) -> None:
    lab = power_cut.lab
    failure = lab.state(power_cut.workflow).failure
    assert failure is not None
    assert (failure.name, failure.reason) == ("wipe", "WorkerLost")
    assert "it was not repeated" in failure.message
    for told in (lab.appliance.command("status"), lab.appliance.command("workflow", "state", power_cut.workflow)):
        assert "WorkerLost" in told
        assert "the machine booted again while this action ran" in told


def test_the_machine_is_ready_for_what_the_operator_decides(power_cut: PowerCut) -> None:
    lab = power_cut.lab
    boots = lab.stages(ONE).count(Stage.SCRIPT)
    assert boots == 2
    lab.gate.open("repair")
    assert lab.ended(lab.workflow(ONE, hold("repair", lab.gate))).state is State.SUCCESS
    assert lab.stages(ONE).count(Stage.SCRIPT) == boots, "it booted again, and there was no need to"
