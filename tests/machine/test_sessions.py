"""A machine's session is ended while it works: its worker gets another by itself, in the same boot."""

from pathlib import Path

import pytest

from tests.machine.lab import hold, mac, shell
from tests.machine.waiting import ONE, laboratory_with
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
LOST = "lost"


def test_machine_whose_credential_is_rotated_loses_its_action_and_works_on(waiting: Path) -> None:
    with laboratory_with(waiting, [ONE]) as lab:
        lost = lab.workflow(ONE, hold(LOST, lab.gate))
        lab.gate.wait_for("began", LOST)
        lab.appliance.command("hardware", "credential", "--rotate", mac(ONE))
        assert lab.ended(lost).state is State.FAILED
        assert "WorkerLost" in lab.appliance.command("workflow", "state", lost)
        following = lab.workflow(ONE, shell("next", "true"))
        assert lab.ended(following).state is State.SUCCESS
        stages = lab.stages(ONE)
        assert (stages.count(Stage.SCRIPT), stages.count(Stage.SESSION)) == (1, 2)
        (machine,) = lab.machines
        assert not [line for line in machine.console.lines if "not found" in line], "the OSIE lacks a program"
