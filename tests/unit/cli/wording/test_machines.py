"""Where machines stand, in words that fit into a column."""

import pytest

from tinkbox.cli.wording.machines import short_stages, shown_by, standing
from tinkbox.model.boot import Stage
from tinkbox.model.machine_state import MachineState


@pytest.mark.parametrize("stage", Stage)
def test_every_stage_has_a_short_word(stage: Stage) -> None:
    assert 0 < len(short_stages()[stage]) <= 13


@pytest.mark.parametrize("state", MachineState)
def test_the_stage_is_told_of_a_boot_that_is_not_over_alone(state: MachineState) -> None:
    machine = {"state": state, "stage": Stage.KERNEL}
    told = f"{state}: kernel" if state in (MachineState.BOOTING, MachineState.STALLED) else state
    assert standing(machine) == told
    assert standing({"state": state, "stage": ""}) == state


def test_lists_show_a_machine_by_the_interface_that_the_appliance_tells_else_the_first() -> None:
    cards = [{"mac": "08:00:27:00:00:02"}, {"mac": "08:00:27:00:00:03"}]
    assert shown_by({"interfaces": cards, "mac": "08:00:27:00:00:03"}) == cards[1]
    assert shown_by({"interfaces": cards}) == cards[0], "of an earlier release"
