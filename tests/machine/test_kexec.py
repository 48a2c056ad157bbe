"""A machine that goes over to its installed system by kexec, once it may; and one that goes away and never returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.lab.machine import Machine
from tests.machine.lab import PATIENCE, Lab, address, built, hold, installed_disk, laboratory, shell, shown
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
ONE = 1
FIRST, VANISH, LATER, KEXEC = "first", "vanish", "later", "kexec"
RETURN_SECONDS = 60
INSTALLED = "tinkbox-demo: the installed system is up"
ADDRESS = f"tinkbox-demo: the address is {address(ONE)}"


@dataclass(frozen=True)
class Departures:
    """Workflows in the order in which the machine did them; `machine` was powered on once more after the first."""

    lab: Lab
    machine: Machine
    vanished: str
    refused: str
    started: str


@pytest.fixture(scope="module")
def departures(shell_archive: Path) -> Iterator[Departures]:
    with laboratory() as lab:
        lab.route()
        lab.push(ONE)
        lab.load(shell_archive)
        lab.load(built("build/images/kexec.tar"))
        machine = lab.machine(ONE, memory=1024, disk=installed_disk(lab.work / "machine1" / "disk.raw"))
        power_off = {"volumes": ["/proc:/machine"], "then": "echo o > /machine/sysrq-trigger"}
        vanish = hold(VANISH, lab.gate, reboot=True, timeout=RETURN_SECONDS, **power_off)
        lab.gate.open(VANISH)
        # The first action waits for an engine that has just begun; the second shall not, in its short time.
        vanished = lab.workflow(ONE, shell(FIRST, "true"), vanish, hold(LATER, lab.gate))
        machine.power_on()
        machine.wait_until_off(PATIENCE)
        lab.ended(vanished)

        machine.power_off()
        refused = lab.workflow(ONE, kexec(KERNEL_PATH="/no-such-kernel"))
        started = lab.workflow(ONE, kexec())
        machine.power_on()
        lab.ended(started)
        machine.console.wait_for(ADDRESS, PATIENCE)
        yield Departures(lab, machine, vanished, refused, started)


def kexec(**changes: str) -> dict[str, Any]:
    """The action as its README shows it, for the disk that the demo installs."""
    environment = {"BLOCK_DEVICE": "/dev/vda1", "FS_TYPE": "vfat", "KERNEL_PATH": "/vmlinuz", "INITRD_PATH": "/initrd"}
    return {
        "name": KEXEC,
        "image": "kexec:v1",
        "timeout": 300,
        "reboot": True,
        "pid": "host",
        "volumes": ["/dev:/dev"],
        "environment": {**environment, "CMD_LINE": "console=ttyS0,115200 quiet", **changes},
    }


def test_the_installed_systems_first_contact_completes_it(departures: Departures) -> None:
    lab = departures.lab
    assert lab.state(departures.started).state is State.SUCCESS
    assert lab.happened(departures.started) == [
        ("workflow.started", None),
        ("action.started", KEXEC),
        ("action.leaving", KEXEC),
        ("action.succeeded", KEXEC),
        ("workflow.succeeded", None),
    ]


def test_no_firmware_is_between_the_osie_and_the_installed_system(departures: Departures) -> None:
    boots = [stage for stage in departures.lab.stages(ONE) if stage in (Stage.SCRIPT, Stage.LOCAL_DISK)]
    assert boots == [Stage.SCRIPT, Stage.SCRIPT]
    assert shown(departures.machine, "booting the OSIE on behalf of") == 1
    assert shown(departures.machine, INSTALLED) == 1
    assert departures.machine.running


def test_what_it_started_is_in_its_output(departures: Departures) -> None:
    printed = departures.lab.appliance.command("workflow", "logs", departures.started)
    assert "starting /vmlinuz of /dev/vda1: console=ttyS0,115200 quiet" in printed


def test_one_that_cannot_leave_fails_at_once_and_in_its_own_words(departures: Departures) -> None:
    failure = departures.lab.state(departures.refused).failure
    assert failure is not None
    assert (failure.name, failure.reason) == (KEXEC, "FileUnusable")
    assert "/no-such-kernel on /dev/vda1" in failure.message


def test_a_machine_that_never_returns_is_told(departures: Departures) -> None:
    lab = departures.lab
    assert lab.actions(departures.vanished) == {FIRST: State.SUCCESS, VANISH: State.FAILED, LATER: State.PENDING}
    for told in (lab.appliance.command("status"), lab.appliance.command("workflow", "state", departures.vanished)):
        assert "NeverReturned" in told
        assert f"was not seen again within {RETURN_SECONDS} seconds" in told
    assert lab.gate.knocks("began", VANISH) == 1
