"""A machine that goes over to its installed system by kexec, once it may; and one that goes away and never returns."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from examples.lab.machine import Machine
from tests.machine.disks import INSTALLED
from tests.machine.lab import PATIENCE, Lab, address, built, hold, shell, shown
from tests.machine.waiting import ONE, TWO, laboratory_with
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
FIRST, VANISH, LATER, KEXEC = "first", "vanish", "later", "kexec"
RETURN_SECONDS = 60
ADDRESS = f"tinkbox-demo: the address is {address(ONE)}"


@dataclass(frozen=True)
class Departures:
    """What `machine` was to start, in this order; another machine `vanished` meanwhile."""

    lab: Lab
    machine: Machine
    vanished: str
    refused: str
    started: str


@pytest.fixture(scope="module")
def departures(waiting: Path) -> Iterator[Departures]:
    with laboratory_with(waiting, [ONE, TWO]) as lab:
        machine, other = lab.machines
        lab.load(built("build/images/kexec.tar"))
        vanish = hold(VANISH, lab.gate, reboot=True, timeout=RETURN_SECONDS)
        vanished = lab.workflow(TWO, shell(FIRST, "true"), vanish, hold(LATER, lab.gate))
        lab.gate.wait_for("began", VANISH)
        other.power_off()
        refused = lab.workflow(ONE, kexec(KERNEL_PATH="/no-such-kernel"))
        started = lab.workflow(ONE, kexec())
        lab.ended(started)
        machine.console.wait_for(ADDRESS, PATIENCE)
        lab.ended(vanished)
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


def test_first_contact_of_the_installed_system_completes_the_action(departures: Departures) -> None:
    lab = departures.lab
    assert lab.state(departures.started).state is State.SUCCESS
    assert lab.happened(departures.started) == [
        ("workflow.started", None),
        ("action.started", KEXEC),
        ("action.leaving", KEXEC),
        ("action.succeeded", KEXEC),
        ("workflow.succeeded", None),
    ]


def test_kexec_runs_no_firmware(departures: Departures) -> None:
    boots = [stage for stage in departures.lab.stages(ONE) if stage in (Stage.SCRIPT, Stage.LOCAL_DISK)]
    assert boots == [Stage.SCRIPT]
    assert shown(departures.machine, "booting the OSIE on behalf of") == 1
    assert shown(departures.machine, INSTALLED) == 1
    assert departures.machine.running


def test_output_names_the_kernel_that_was_started(departures: Departures) -> None:
    printed = departures.lab.appliance.command("workflow", "logs", departures.started)
    assert "starting /vmlinuz of /dev/vda1: console=ttyS0,115200 quiet" in printed


def test_unusable_kernel_fails_the_action_at_once(departures: Departures) -> None:
    failure = departures.lab.state(departures.refused).failure
    assert failure is not None
    assert (failure.name, failure.reason) == (KEXEC, "FileUnusable")
    assert "/no-such-kernel on /dev/vda1" in failure.message


def test_machine_that_never_returns_is_reported(departures: Departures) -> None:
    lab = departures.lab
    assert lab.actions(departures.vanished) == {FIRST: State.SUCCESS, VANISH: State.FAILED, LATER: State.PENDING}
    for told in (lab.appliance.command("status"), lab.appliance.command("workflow", "state", departures.vanished)):
        assert "NeverReturned" in told
        assert f"was not seen again within {RETURN_SECONDS} seconds" in told
    assert lab.gate.knocks("began", VANISH) == 1
