"""Where machines stand, in words that fit into a column."""

import pytest

from tinkbox.cli.wording.machines import machine_name, short_stages, standing
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


def test_a_machine_is_called_by_the_first_name_that_it_has() -> None:
    names = {"name": "node7", "hostname": "n", "mac": "08:00:27:00:00:01", "id": "0eba0bf8-3772"}
    called = []
    for name in names:
        called.append(machine_name(names))
        names = {**names, name: ""}
    assert called == ["node7", "n", "08:00:27:00:00:01", "0eba0bf8"]
