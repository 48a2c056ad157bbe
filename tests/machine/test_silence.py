"""What a real machine's kernel says while an action runs, memory that runs out on it, and its silence: what is told of each."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.machine.lab import Lab, hold, mac, shell, until
from tests.machine.waiting import ONE, laboratory_with
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
BAD_SECTOR = "I/O error, dev vda, sector 2048 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2"


@pytest.fixture(scope="module")
def lab(waiting: Path) -> Iterator[Lab]:
    with laboratory_with(waiting, [ONE]) as made:
        yield made


def told(lab: Lab, rule: str, key: str = mac(ONE)) -> dict[str, Any] | None:
    """What the doctor says by a rule of the machine, or of a workflow."""
    answer = json.loads(lab.appliance._get(f"/v1/doctor?key={key}&listen=0"))
    return next((dict(each) for each in answer["diagnoses"] if each["rule"] == rule), None)


def test_memory_of_the_machine_that_runs_out_is_the_reason_with_the_kernels_line(lab: Lab) -> None:
    workflow = lab.workflow(ONE, shell("fill", "tail /dev/zero; echo ended; exit 3"))
    ended = lab.ended(workflow)
    assert ended.state is State.FAILED
    assert ended.failure is not None
    assert ended.failure.reason == "OutOfMemory"
    assert "memory ran out; its kernel said 'Out of memory: Killed process" in ended.failure.message
    found = until(lambda: told(lab, "OutOfMemory", workflow), "the kernel's line by syslog")
    assert "Memory ran out while task-1/fill ran, that of the machine. The kernel killed 'tail'" in found["cause"]


def test_what_the_kernel_says_of_a_disk_is_told_while_the_action_runs(lab: Lab) -> None:
    workflow = lab.workflow(ONE, hold("disk", lab.gate, f"echo '<3>{BAD_SECTOR}' > /dev/kmsg"))
    lab.gate.wait_for("began", "disk")
    found = until(lambda: told(lab, "DiskErrors"), "the doctor to tell")
    assert found["cause"].startswith(
        "Syslog from the machine's address says: The disk vda has errors while task-1/disk ran: "
    )
    assert BAD_SECTOR in found["evidence"][0]
    lab.gate.open("disk")
    assert lab.ended(workflow).state is State.SUCCESS


@pytest.mark.campaign
def test_a_machine_that_stands_still_is_told_as_silent(lab: Lab) -> None:
    lab.workflow(ONE, hold("stands", lab.gate))
    lab.gate.wait_for("began", "stands")
    (machine,) = lab.machines
    machine.freeze()
    found = until(lambda: told(lab, "SilentWorker"), "the doctor to tell")
    assert "the machine is off, or its cable is out" in found["cause"]
    machine.go_on()
    until(lambda: told(lab, "SilentWorker") is None, "it to be heard again")
    lab.gate.open("stands")
