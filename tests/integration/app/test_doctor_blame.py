"""A fault of the appliance is told in the same words wherever a machine that suffers from it is told of, with real machines."""

import json
from collections.abc import Iterator

import pytest

from examples.lab.network import BRIDGE
from tests.integration.app.doctor_lab import DoctorLab, doctor_lab, until
from tests.machine.lab import mac

LACKS_A_KERNEL, NEVER_CAME = 1, 2


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    with doctor_lab(tmp_path_factory.mktemp("blame")) as made:
        made.host("172.30.0.9")  # so that the bridge has a link
        yield made


def state(lab: DoctorLab, number: int) -> str:
    """The diagnosis of `tinkbox workflow state`; empty: none."""
    (flow,) = [each["id"] for each in lab.ask("GET", "/v1/workflows") if mac(number) in str(each)]
    return str((lab.ask("GET", f"/v1/workflows/{flow}/state")["diagnosis"] or {"cause": ""})["cause"])


def why(lab: DoctorLab, number: int) -> str:
    """What `tinkbox status` says of a machine."""
    shown = json.loads(lab.appliance.command("status", "-o", "json"))["machines"]
    (line,) = [each for each in shown if each["mac"] == mac(number)]
    return str(line["why"])


def doctor(lab: DoctorLab, number: int) -> str:
    """The first line of `tinkbox doctor` of a machine."""
    return str(lab.doctor(number).document["diagnoses"][0]["cause"])


def test_a_kernel_that_is_gone_is_told_as_the_damaged_osie_and_not_as_a_step_that_failed(lab: DoctorLab) -> None:
    lab.known(LACKS_A_KERNEL)
    box = lab.served(LACKS_A_KERNEL)
    assert box.script()
    (lab.appliance.data / "osie" / "x86_64" / "vmlinuz").unlink()
    assert not box.fetches("/boot/osie/x86_64/vmlinuz")
    assert box.fetches(f"/boot/{mac(LACKS_A_KERNEL).replace(':', '-')}/failed?step=kernel&error=2d0c613b")
    until(
        lambda: why(lab, LACKS_A_KERNEL).startswith("The OSIE for x86_64 is damaged (vmlinuz)"), "the OSIE to be blamed"
    )
    assert {state(lab, LACKS_A_KERNEL), doctor(lab, LACKS_A_KERNEL)} == {why(lab, LACKS_A_KERNEL)}
    everything = lab.doctor()
    assert "OsieDamaged" in everything.of()
    assert everything.of(LACKS_A_KERNEL) == {}, "it is said once, of the appliance"


def test_a_machine_that_cannot_be_seen_is_told_the_interface_that_is_down(lab: DoctorLab) -> None:
    lab.known(NEVER_CAME)
    assert state(lab, NEVER_CAME) == "", "somebody may be about to switch it on"
    lab.network.run(["ip", "link", "set", BRIDGE, "down"])
    down = "The appliance's interface lab is down: no machine on it can reach the appliance."
    until(lambda: state(lab, NEVER_CAME) == down, "the interface to be blamed")
    assert doctor(lab, NEVER_CAME) == down
    lab.network.run(["ip", "link", "set", BRIDGE, "up"])
    until(lambda: state(lab, NEVER_CAME) != down, "the interface to be up")
