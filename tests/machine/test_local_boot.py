"""The way back to the disk: each firmware finds its own, one that fails is followed by the next, and what worked is kept."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from examples.lab.firmware import Firmware
from tests import rotation
from tests.machine.disks import INSTALLED, installed_before, under_a_name_of_its_own
from tests.machine.lab import PATIENCE, Lab, installed_disk, laboratory, mac, until
from tests.machine.matrix import EXIT, FALLBACK, SANBOOT, WAYS
from tinkbox.model.boot import Stage

pytestmark = pytest.mark.machine
ONE = 1
# What UEFI firmware says when it finds nothing to boot any more: its shell, or its menu.
NOTHING_TO_BOOT = "UEFI Interactive Shell"


def disk(lab: Lab) -> Path:
    return installed_disk(lab.work / "machine1" / "disk.raw")


def firmware_traits(lab: Lab) -> dict[str, Any]:
    machine = lab.json("hardware", "get", mac(ONE))
    learned: dict[str, Any] = machine["habits"]
    return learned


def kept(lab: Lab) -> list[tuple[str, bool]]:
    """The same of the way to the disk as it would survive the appliance's death: it is saved a moment later."""
    with closing(sqlite3.connect(f"file:{lab.appliance.data / 'tinkbox.sqlite'}?mode=ro", uri=True)) as store:
        found = store.execute("SELECT local_boot, proven FROM habit WHERE mac = ?", (mac(ONE),)).fetchall()
    return [(way, bool(proven)) for way, proven in found]


def ways(lab: Lab) -> list[str]:
    """The ways that the machine was told, in their order."""
    seen = lab.appliance.timeline(mac(ONE))
    return [each["facts"]["way"] for each in seen if each["stage"] == Stage.LOCAL_DISK]


def until_up(lab: Lab) -> None:
    """Until the disk's system has asked for its address."""
    until(lambda: lab.stages(ONE)[-1:] and Stage.DISK_BOOTED in since_told(lab), "the disk's system to be seen")


def since_told(lab: Lab) -> list[str]:
    stages = lab.stages(ONE)
    return stages[len(stages) - 1 - stages[::-1].index(Stage.LOCAL_DISK) :] if Stage.LOCAL_DISK in stages else []


@pytest.mark.parametrize(
    ("firmware", "way"),
    [
        pytest.param("bios", SANBOOT, marks=rotation.mark(SANBOOT, WAYS)),
        pytest.param("uefi", EXIT, marks=rotation.mark(EXIT, WAYS)),
    ],
)
def test_first_way_of_each_firmware_boots_an_ordinary_disk(firmware: Firmware, way: str) -> None:
    with laboratory() as lab:
        installed_before(lab, ONE)
        machine = lab.machine(ONE, firmware, memory=512, disk=disk(lab))
        machine.power_on()
        machine.console.wait_for(INSTALLED, PATIENCE)
        until_up(lab)
        assert firmware_traits(lab) == {"secure_boot": False, "local_boot": way, "proven": True}
        assert set(ways(lab)) == {way}


@rotation.mark(FALLBACK, WAYS)
def test_next_way_is_tried_and_the_one_that_works_is_kept() -> None:
    with laboratory() as lab:
        installed_before(lab, ONE)
        machine = lab.machine(ONE, "uefi", memory=512, disk=under_a_name_of_its_own(disk(lab)))
        machine.power_on()
        machine.console.wait_for(NOTHING_TO_BOOT, PATIENCE)
        assert set(ways(lab)) == {"exit"}
        machine.reset()
        machine.console.wait_for(INSTALLED, PATIENCE)
        until_up(lab)
        assert ways(lab)[-1] == "grub"
        assert firmware_traits(lab) == {"secure_boot": False, "local_boot": "grub", "proven": True}
        until(lambda: kept(lab) == [("grub", True)], "what was learned to be on disk")
        lab.appliance.kill()
        lab.appliance.start_again()
        machine.power_off()
        machine.power_on()
        machine.console.wait_for(INSTALLED, PATIENCE)
        until_up(lab)
        assert ways(lab)[-1] == "grub"
        assert firmware_traits(lab)["proven"]
