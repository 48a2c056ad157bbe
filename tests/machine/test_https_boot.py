"""A machine that is enrolled at its first boot comes by HTTPS from then on, and believes no other authority."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from examples.lab.firmware import Firmware
from examples.lab.machine import Machine
from tests.machine.lab import PATIENCE, Lab, laboratory, mac, shell, until
from tinkbox.model.boot import Stage

ENROLLS = "boot: {https: enroll}\n"
ONE = 1
# What must not be read by whoever listens on the wire: the script's first words, and the names of what it loads.
PLAIN = (b"#!ipxe", b"GET /boot/osie/", b"/script.ipxe?", b"etc/tinkbox/worker.json")
# Nor at its first boot, which comes by HTTP: what its worker and its engine say.
OF_WORKERS = (b" /worker/session", b" /worker/next", b" /worker/attempts", b" /worker/services", b" /v2/", b"Bearer ")


@contextmanager
def listened(lab: Lab, pcap: Path) -> Iterator[None]:
    """Keep everything that goes over the machines' network by HTTP."""
    said = pcap.with_suffix(".log")
    command = [
        "tcpdump",
        "-U",
        "-Z",
        "root",
        "-i",
        lab.network.interface,
        "-w",
        str(pcap),
        "tcp port 80 or tcp port 443",
    ]
    with said.open("wb") as log:
        process = lab.network.start(command, stdout=log)
    until(lambda: b"listening on" in said.read_bytes(), "tcpdump")
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def enrolled(lab: Lab, firmware: Firmware, pcap: Path) -> Machine:
    """A machine whose worker enrolled it, and ended a workflow; it is off.  `pcap` has what went over the wire."""
    lab.push(ONE)
    workflow = lab.workflow(ONE, shell("install", "true"))
    machine = lab.machine(ONE, firmware, memory=3072)
    with listened(lab, pcap):
        machine.power_on()
        until(lambda: Stage.ENROLLED in lab.stages(ONE), "the firmware to be enrolled", 3 * PATIENCE)
        lab.ended(workflow)
    machine.power_off()
    return machine


def new_stages(lab: Lab, before: int) -> list[str]:
    return lab.stages(ONE)[before:]


def remedies(lab: Lab) -> list[str]:
    """What the doctor's rounds advise about the machine now."""
    return [str(each["remedy"]) for each in lab.appliance.conditions() if each["machine"] == mac(ONE)]


@pytest.mark.machine
@pytest.mark.campaign
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("firmware", ["uefi", "uefi-rom", "uefi-http"])
def test_the_second_boot_is_by_https_and_another_authority_is_not_believed(firmware: Firmware, tmp_path: Path) -> None:
    with laboratory(configured=ENROLLS) as lab:
        machine = enrolled(lab, firmware, tmp_path / "first.pcap")
        wire = (tmp_path / "first.pcap").read_bytes()
        assert b"#!ipxe" in wire, "the first script is plain"
        assert [each for each in OF_WORKERS if each in wire] == []
        assert lab.appliance.hardware(mac(ONE))["https"]["tls"] == "enrolled"

        lab.workflow(ONE, shell("again", "true"))
        before = len(lab.stages(ONE))
        with listened(lab, tmp_path / "second.pcap"):
            machine.power_on()
            until(lambda: Stage.RAMDISK in new_stages(lab, before), "the ramdisk over HTTPS", 3 * PATIENCE)
            until(lambda: Stage.WORKER in new_stages(lab, before), "the worker", PATIENCE)
        machine.power_off()
        wire = (tmp_path / "second.pcap").read_bytes()
        assert len(wire) > 10 << 20, "the ramdisk passed by"
        assert [each for each in PLAIN if each in wire] == []
        assert {Stage.HTTPS_WANTED, Stage.STEP_FAILED}.isdisjoint(new_stages(lab, before))

        # Whoever answers in the appliance's place has another authority.
        lab.appliance.kill()
        shutil.rmtree(lab.appliance.data / "tls")
        lab.appliance.command("authority", "--forget")
        lab.appliance.start_again()
        lab.workflow(ONE, shell("third", "true"))
        before = len(lab.stages(ONE))
        machine.power_on()
        until(lambda: any("by HTTPS alone" in each for each in remedies(lab)), "the doctor", PATIENCE)
        assert {Stage.SCRIPT, Stage.KERNEL, Stage.TICKET}.isdisjoint(new_stages(lab, before))

        # The way back: it boots by HTTP once, and is enrolled anew.
        machine.power_off()
        lab.appliance.command("hardware", "https", mac(ONE), "--forget")
        before = len(lab.stages(ONE))
        machine.power_on()
        until(lambda: Stage.ENROLLED in new_stages(lab, before), "the new authority in its firmware", 3 * PATIENCE)
