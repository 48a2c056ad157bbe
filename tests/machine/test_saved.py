"""A machine that was saved goes on where it was: what the waiting machines rely on."""

from pathlib import Path

import pytest

from examples.lab.firmware import Firmware
from examples.lab.machine import Machine
from examples.lab.network import Network
from tests import rotation
from tests.machine.disks import INSTALLED
from tests.machine.lab import PATIENCE, installed_disk, mac

pytestmark = pytest.mark.machine
KINDS: tuple[Firmware, ...] = ("bios", "uefi")
ASKS, PROMPT = "press Enter to activate this console", "# "


def machine(network: Network, folder: Path, firmware: Firmware) -> Machine:
    """One that boots the demo's system from its disk."""
    disk = installed_disk(folder / "disk.raw")
    return Machine(network, folder, mac=mac(1), firmware=firmware, memory=512, disk=disk, network_first=False)


@pytest.mark.parametrize("firmware", [pytest.param(each, marks=rotation.mark(each, KINDS)) for each in KINDS])
def test_saved_machine_goes_on_where_it_was(tmp_path: Path, firmware: Firmware) -> None:
    with Network() as network:
        with machine(network, tmp_path / "first", firmware) as first:
            first.power_on()
            first.console.wait_for(INSTALLED, PATIENCE)
            first.console.wait_for_text(ASKS, PATIENCE)
            first.type("\n")
            first.console.wait_for_text(PROMPT, PATIENCE)
            first.type("word=memory; echo disk >/kept\n")
            first.save(tmp_path / "saved")
            assert not first.running
            shown = first.console.lines
        with machine(network, tmp_path / "second", firmware) as second:
            second.load(tmp_path / "saved")
            assert second.console.lines == shown
            second.go_on()
            second.type("echo of $word and $(cat /kept)\n")
            second.console.wait_for("of memory and disk", PATIENCE)
            assert sum(INSTALLED in line for line in second.console.lines) == 1
