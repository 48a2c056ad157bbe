"""Power that fails while a system is installed: the next boot goes on, or it is said what has to be done."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from examples.demo.operator import Command
from examples.lab.machine import Machine
from tests.machine.installing import Site, bootable, seeded, site
from tests.machine.lab import hostname, shown, until
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = [pytest.mark.machine, pytest.mark.campaign, pytest.mark.timeout(7200)]
NUMBER: Final = 1
IMAGE_BYTES: Final = 2 << 30
# Of the image's root file system; ext4 counts its blocks in the superblock.
SUPERBLOCK: Final = 262_144 * 512 + 1024
# Seconds between two looks: what is waited for can be over in a moment.
SOON: Final = 0.005


@pytest.fixture(scope="module")
def home() -> Iterator[Site]:
    with site("debian-13") as made:
        yield made


class Story:
    """One installation, and the power cuts in it."""

    def __init__(self, home: Site, command: Command, machine: Machine) -> None:
        self.home = home
        self.command = command
        self.machine = machine
        self.workflow = home.workflow(command)
        self._listed = 0

    def cut(self, when: Callable[[], object], what: str) -> None:
        """Pull the plug as soon as it is so, and press the button again."""
        until(when, what, every=SOON)
        self.machine.power_off()

    def stages(self) -> list[str]:
        return self.home.lab.stages(NUMBER)

    def state(self, action: str) -> State:
        return self.home.lab.actions(self.workflow)[action]

    def written(self, part: float) -> bool:
        """Whether that part of the image is on the disk."""
        if not self._listed:
            found = self.home.progress(self.workflow)
            self._listed = found[1] // 2 if found else 0
        return bool(self._listed) and self.machine.disk.stat().st_blocks * 512 > part * self._listed

    def done(self) -> float:
        """How much of writing and reading back is done, as the action tells."""
        found = self.home.progress(self.workflow)
        return found[0] / found[1] if found else 0.0


def grown(disk: Path) -> bool:
    with disk.open("rb") as file:
        file.seek(SUPERBLOCK)
        blocks = struct.unpack_from("<I", file.read(64), 4)[0]
    return bool(blocks * 4096 > IMAGE_BYTES)


def test_power_may_fail_at_any_point_of_an_installation(home: Site) -> None:
    lab = home.lab
    lab.push(NUMBER)
    command = home.begins("debian-13", NUMBER, "--no-wait")
    command.succeed()
    with home.machine(NUMBER) as machine:
        story = Story(home, command, machine)

        machine.power_on()
        story.cut(lambda: Stage.KERNEL in story.stages(), "the kernel to be fetched")
        assert lab.state(story.workflow).state in (State.PENDING, State.RUNNING)
        machine.power_on()

        # Nobody can tell by the disk what was written when: so the action fails, and a person decides.
        in_action: dict[str, Callable[[], object]] = {
            "before the first frame": lambda: story.state("image") is State.RUNNING,
            "a tenth is written": lambda: story.written(0.1),
            "half is written": lambda: story.written(0.5),
            "nine tenths are written": lambda: story.written(0.9),
            "it is read back": lambda: story.done() > 0.55,
            "its file system has grown": lambda: grown(machine.disk) and story.done() > 0.55,
            "the seed is written": lambda: seeded(machine.disk) and story.done() > 0.55,
        }
        for what, when in in_action.items():
            story.cut(when, what)
            assert lab.state(story.workflow).state is State.RUNNING
            assert what == "the seed is written" or not bootable(machine.disk), f"bootable when {what}"
            machine.power_on()
            ended = lab.ended(story.workflow)
            assert (ended.state, ended.failure and ended.failure.reason) == (State.FAILED, "WorkerLost"), what
            told = lab.appliance.command("workflow", "state", story.workflow)
            assert "the machine booted again while this action ran" in told
            assert " workflow retry" in told
            lab.appliance.command("workflow", "retry", story.workflow)

        story.cut(lambda: story.state("first boot") is State.LEAVING, "the reboot")
        kept = home.logs(story.workflow)
        assert "were on the disk already, from an earlier attempt" in kept
        machine.power_on()
        story.cut(lambda: shown(machine, "Booting `Debian") or shown(machine, "Linux version"), "the system's kernel")
        assert story.state("first boot") is State.LEAVING
        machine.power_on()
        story.cut(lambda: shown(machine, "running 'modules:config'"), "cloud-init")
        assert story.state("first boot") is State.LEAVING
        machine.power_on()
        ended = lab.ended(story.workflow)
        told = lab.appliance.command("workflow", "state", story.workflow)
        if ended.state is not State.SUCCESS:
            # cloud-init makes the host keys once, and the power went before they had reached the disk.
            assert "CloudInitFailed" in told, told
            assert "its host keys are empty files" in told
            machine.power_off()
            lab.appliance.command("workflow", "retry", story.workflow, "--from", "image")
            machine.power_on()
            assert lab.ended(story.workflow).state is State.SUCCESS
        assert home.on(NUMBER, "hostname") == hostname(NUMBER)
        until(lambda: Stage.PHONED_HOME in story.stages(), "its phone-home")
