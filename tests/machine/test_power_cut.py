"""A machine loses power at work: that is told, and nothing is done twice that its template does not allow."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.machine.lab import Lab, hold, until
from tests.machine.waiting import ONE, laboratory_with
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
# Reported when the power went, in its middle, and at its end without anybody who could hear that.
PARTITION, COPY, WIPE, INSTALL = "partition", "copy", "wipe", "install"


@dataclass(frozen=True)
class PowerCut:
    """`boots` of the OSIE had been seen when the workflow was over."""

    lab: Lab
    workflow: str
    boots: int


@pytest.fixture(scope="module")
def power_cut(waiting: Path) -> Iterator[PowerCut]:
    """A workflow whose machine was without power twice, after the machine has booted again."""
    with laboratory_with(waiting, [ONE]) as lab:
        gate = lab.gate
        actions = [hold(PARTITION, gate), hold(COPY, gate, retries=1), hold(WIPE, gate), hold(INSTALL, gate)]
        workflow = lab.workflow(ONE, *actions)
        gate.open(PARTITION)
        gate.open(INSTALL)
        (machine,) = lab.machines

        gate.wait_for("began", COPY)
        # What it printed is on its way by itself, and would be lost with the power.
        until(lambda: f"{COPY} begins" in lab.appliance.command("workflow", "logs", workflow), "what it printed")
        machine.power_off()
        machine.power_on()
        gate.open(COPY)

        gate.wait_for("began", WIPE)
        lab.appliance.kill()
        gate.open(WIPE)
        gate.wait_for("ended", WIPE)
        machine.power_off()
        # Before the machine is back: firmware that nobody answers gives up, and nobody presses its button.
        lab.appliance.start_again()
        assert lab.state(workflow).state is State.RUNNING
        machine.power_on()
        lab.ended(workflow)
        yield PowerCut(lab, workflow, lab.stages(ONE).count(Stage.SCRIPT))


def test_only_action_with_retries_is_repeated(power_cut: PowerCut) -> None:
    gate = power_cut.lab.gate
    seen = {name: (gate.knocks("began", name), gate.knocks("ended", name)) for name in (PARTITION, COPY, WIPE, INSTALL)}
    assert seen == {PARTITION: (1, 1), COPY: (2, 1), WIPE: (1, 1), INSTALL: (0, 0)}
    assert power_cut.lab.happened(power_cut.workflow) == [
        ("workflow.started", None),
        ("action.started", PARTITION),
        ("action.succeeded", PARTITION),
        ("action.started", COPY),
        ("action.failed", COPY),
        ("action.started", COPY),
        ("action.succeeded", COPY),
        ("action.started", WIPE),
        ("action.failed", WIPE),
        ("workflow.failed", None),
    ]


def test_both_attempts_stay_on_record_with_the_reason(power_cut: PowerCut) -> None:
    events = [each for each in power_cut.lab.appliance.events(power_cut.workflow) if each.get("action") == COPY]
    lost = events[1]
    assert (lost["reason"], lost["next"]) == ("WorkerLost", "PENDING")
    tokens = [each["attempt"] for each in events]
    assert tokens[0] == tokens[1] != tokens[2] == tokens[3]
    printed = power_cut.lab.appliance.command("workflow", "logs", power_cut.workflow)
    assert [line for line in printed.splitlines() if line.startswith(f"{COPY} ")] == [
        f"{COPY} begins as {tokens[0]}",
        f"{COPY} begins as {tokens[2]}",
        f"{COPY} ends",
    ]


def test_actions_behind_a_failed_one_do_not_run(power_cut: PowerCut) -> None:
    assert power_cut.lab.actions(power_cut.workflow) == {
        PARTITION: State.SUCCESS,
        COPY: State.SUCCESS,
        WIPE: State.FAILED,
        INSTALL: State.PENDING,
    }


def test_operator_sees_that_the_machine_booted_again(power_cut: PowerCut) -> None:
    lab = power_cut.lab
    failure = lab.state(power_cut.workflow).failure
    assert failure is not None
    assert (failure.name, failure.reason) == (WIPE, "WorkerLost")
    for told in (lab.appliance.command("status"), lab.appliance.command("workflow", "state", power_cut.workflow)):
        assert "WorkerLost" in told
        assert "the machine booted again while this action ran" in told


def test_retry_resumes_without_another_boot(power_cut: PowerCut) -> None:
    lab = power_cut.lab
    assert power_cut.boots == 3
    lab.appliance.command("workflow", "retry", power_cut.workflow)
    assert lab.ended(power_cut.workflow).state is State.SUCCESS
    assert {name: lab.gate.knocks("ended", name) for name in (COPY, WIPE, INSTALL)} == {COPY: 1, WIPE: 2, INSTALL: 1}
    assert lab.stages(ONE).count(Stage.SCRIPT) == power_cut.boots
