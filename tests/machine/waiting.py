"""Machines whose worker waits for work: booted once a run, saved with memory and the appliance's data, put back in seconds.

What is saved are two machines of one lab, booted over the network as any other.  Each has run an action, so its engine is
warm, and stands in an appliance that was killed: its worker dials again as soon as there is an appliance, as it does after
any outage.  Since its workflow was canceled it does not count as installed.
"""

import fcntl
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from examples.lab.machine import Machine, empty_disk
from tests.machine.lab import PATIENCE, Lab, hold, installed_disk, laboratory, shell, shown, until
from tinkbox.model.workflow import State

# One with SeaBIOS, and one with OVMF.
ONE, TWO = 1, 2
SECOND_DISK: Final = "/dev/vdb"
SECOND_DISK_BYTES: Final = 64 << 20
_DIALS = "trying again until it works"


def plug(lab: Lab, number: int, second: Path | None = None) -> Machine:
    """One of the two machines, off: /dev/vda has the demo's system, /dev/vdb what is in `second`, or nothing."""
    work = lab.work / f"machine{number}"
    disk = installed_disk(work / "disk.raw")
    second = second or empty_disk(work / "second.raw", SECOND_DISK_BYTES)
    extra = ("-drive", f"if=none,id=second,format=raw,file={second}", "-device", "virtio-blk-pci,drive=second")
    return lab.machine(number, "bios" if number == ONE else "uefi", memory=1024, disk=disk, extra=extra)


def save_waiting(folder: Path, shell_archive: Path) -> None:
    """Boot both machines, and save them in `folder`."""
    with laboratory() as lab:
        lab.route()
        lab.load(shell_archive)
        machines = {number: plug(lab, number) for number in (ONE, TWO)}
        workflows = {}
        for number, machine in machines.items():
            lab.push(number)
            workflows[number] = lab.workflow(number, shell("begin", "true"), hold(f"wait-{number}", lab.gate))
            machine.power_on()
        for number, workflow in workflows.items():
            lab.gate.wait_for("began", f"wait-{number}")
            lab.appliance.command("workflow", "cancel", workflow)
            assert lab.ended(workflow).state is State.CANCELED
        before = {number: shown(machine, _DIALS) for number, machine in machines.items()}
        lab.appliance.kill()
        for number, machine in machines.items():
            until(partial(_dials, machine, before[number]), "the worker to notice", PATIENCE)
            # Before it has become patient.
            machine.freeze()
        for number, machine in machines.items():
            machine.save(folder / str(number))
        keep = shutil.ignore_patterns("osie", "*.sock")
        shutil.copytree(lab.appliance.data, folder / "data", ignore=keep)


def _dials(machine: Machine, before: int) -> bool:
    """Whether its worker has said once more that nobody answers."""
    return shown(machine, _DIALS) > before


def saved_once(folder: Path, shell_archive: Path) -> Path:
    """The folder of the saved machines; the first process of a run that asks saves them, the others wait for that."""
    with (folder / "waiting.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        saved = folder / "waiting"
        if not saved.exists():
            begun = folder / "waiting-begun"
            shutil.rmtree(begun, ignore_errors=True)
            save_waiting(begun, shell_archive)
            begun.rename(saved)
        return saved


@contextmanager
def laboratory_with(
    saved: Path, numbers: Sequence[int], *, second: Path | None = None, hosting: bool = False
) -> Iterator[Lab]:
    """A lab in which these of the saved machines are on, their workers waiting; `second` is the first one's second disk."""
    with laboratory(hosting=hosting, data=saved / "data") as lab:
        lab.route()
        machines = [plug(lab, number, second if number == numbers[0] else None) for number in numbers]
        for number, machine in zip(numbers, machines, strict=True):
            machine.load(saved / str(number))
        for machine in machines:
            machine.go_on()
        yield lab
