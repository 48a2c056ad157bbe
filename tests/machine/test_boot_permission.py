"""Who has no permission to boot hears nothing at all; a workflow is the permission."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from examples.lab.machine import Machine
from tests.machine.lab import PATIENCE, Lab, laboratory, mac, shell, until
from tinkbox.model.boot import Stage

pytestmark = pytest.mark.machine
KNOWN, FORBIDDEN, STRANGER = 1, 2, 3
GIVEN_UP = "No more network devices"


@dataclass(frozen=True)
class Silence:
    """Machines that asked and gave up; `packets` is what was on the wire, one DHCP packet a line."""

    lab: Lab
    machines: dict[int, Machine]
    packets: list[str]


@contextmanager
def capture(lab: Lab) -> Iterator[Path]:
    """Every DHCP packet on the network, as lines of a file."""
    packets = lab.work / "packets"
    command = ["tcpdump", "-l", "-n", "-t", "-i", lab.network.interface, "udp port 67 or udp port 68"]
    with packets.open("wb") as file:
        lab.network.start(command, stdout=file)
    until(lambda: "listening on" in packets.read_text(), "the capture")
    yield packets


@pytest.fixture(scope="module")
def silence() -> Iterator[Silence]:
    with laboratory() as lab, capture(lab) as packets:
        lab.push(KNOWN)
        lab.push(FORBIDDEN, allow_pxe=False)
        lab.workflow(FORBIDDEN, shell("install", "true"))
        machines = {number: lab.machine(number, memory=512) for number in (KNOWN, FORBIDDEN, STRANGER)}
        for machine in machines.values():
            machine.power_on()
        for machine in machines.values():
            machine.console.wait_for(GIVEN_UP, PATIENCE)
        yield Silence(lab, machines, packets.read_text(errors="replace").splitlines())


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(KNOWN, id="known, without a workflow"),
        pytest.param(FORBIDDEN, id="with a workflow, netbooting forbidden"),
        pytest.param(STRANGER, id="unknown"),
    ],
)
def test_a_machine_without_permission_is_not_answered(silence: Silence, number: int) -> None:
    assert any(f"Request from {mac(number)}" in line for line in silence.packets), "it did not even ask"
    assert not [line for line in silence.packets if "Reply" in line]
    told = silence.machines[number].console.lines
    assert not [line for line in told if "Filename" in line or "Next server" in line or "172.30." in line]


def test_the_operator_sees_that_a_known_machine_asked_and_got_nothing(silence: Silence) -> None:
    for number in (KNOWN, FORBIDDEN):
        assert set(silence.lab.stages(number)) == {Stage.DISCOVER, Stage.IGNORED}
    snapshot = silence.lab.appliance.snapshot()
    assert mac(STRANGER) not in {each.mac for each in snapshot.machines}
    assert mac(STRANGER) in {each.mac for each in snapshot.strangers}


def test_a_workflow_is_the_permission(silence: Silence) -> None:
    """The same machine, which was just ignored, asks again."""
    silence.lab.route()
    silence.lab.workflow(KNOWN, shell("install", "true"))
    machine = silence.machines[KNOWN]
    machine.reset()
    machine.console.wait_for("booting the OSIE on behalf of workflow on-server001", PATIENCE)
    assert Stage.SCRIPT in silence.lab.stages(KNOWN)
    machine.power_off()
