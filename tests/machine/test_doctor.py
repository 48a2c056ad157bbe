"""Faults for which it takes real firmware, a real kernel or the OSIE, and what the doctor said of each.

Those that real clients can have without a machine are in tests/integration/app/test_doctor.py.
"""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from examples.lab.network import BRIDGE
from tests import rotation
from tests.machine.disks import installed_before
from tests.machine.hosts import Host
from tests.machine.lab import PATIENCE, Lab, built, laboratory, mac, osie_without_worker, shell, until
from tinkbox.model.boot import Stage
from tinkbox.osie.image import describe, read, write
from tinkbox.wire.cpio import archive

pytestmark = [pytest.mark.machine, pytest.mark.timeout(1200)]
ONE = 1
YEAR = timedelta(days=365.25)
OTHER = "172.30.0.3"
DISK_TO_WRITE = "/dev/sdz"
CABLE = "tap1"  # of a lab's first machine
# Each takes a boot or several, and a run takes one of them.
FAULTS = SECURE, FOREIGN_LOADER, LOOP, OLD_CLOCK, SILENT, LITTLE_MEMORY, MISSING = (
    *("secure boot", "foreign loader", "boot loop"),
    *("old clock", "silent worker", "little memory", "missing files"),
)


def osie_with(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The built OSIE with other programs: what follows in a ramdisk takes the place of what is there."""
    osie = folder / "x86_64"
    shutil.copytree(built("build/osie/x86_64"), osie)
    with (osie / "initramfs").open("ab") as ramdisk:
        ramdisk.write(b"\0" * (-ramdisk.tell() % 4) + archive(files, mode=0o755))
    image = read(osie)
    write(replace(image, files={**image.files, "initramfs": describe(osie / "initramfs")}), osie)
    return folder


def diagnosed(lab: Lab, number: int, rule: str) -> dict[str, dict[str, Any]]:
    """What the doctor says of a machine, by rule, as soon as this rule is among them."""

    def look() -> dict[str, dict[str, Any]] | None:
        found = {each["rule"]: each for each in lab.appliance.doctor(mac(number))}
        return found if rule in found else None

    return until(look, f"the doctor to say {rule}", PATIENCE)


def said(lab: Lab, number: int, rule: str) -> dict[str, Any]:
    """The diagnosis of this rule, as soon as the doctor has it."""
    return diagnosed(lab, number, rule)[rule]


def concluded(lab: Lab, number: int, rule: str, words: str, evidence: str = "") -> dict[str, Any]:
    """The same, as soon as its cause has these words, and its evidence those."""

    def fits(told: dict[str, Any]) -> bool:
        return told["rule"] == rule and words in told["cause"] and any(evidence in each for each in told["evidence"])

    return until(
        lambda: next(filter(fits, lab.appliance.doctor(mac(number))), None),
        f"the doctor to say {rule}: {words}",
        PATIENCE,
    )


@rotation.mark(SECURE, FAULTS)
def test_doctor_names_secure_boot_that_refuses_ipxe() -> None:
    with laboratory() as lab:
        lab.push(ONE)
        lab.workflow(ONE, shell("install", "true"))
        lab.machine(ONE, "secure", memory=1024).power_on()
        found = diagnosed(lab, ONE, "SecureBoot")
        assert "refuses snponly.efi, which is not signed" in found["SecureBoot"]["cause"]
        assert "bytes" in found["SecureBoot"]["evidence"][0]
        # The firmware's size probe came before, and is no trouble.
        assert found["SizeProbe"]["gravity"] == "harmless"


@rotation.mark(FOREIGN_LOADER, FAULTS)
def test_doctor_names_the_wrong_loader_of_another_server(tmp_path: Path) -> None:
    """The other server gives every machine the same file, as many a guide has it; we only answer machines with work."""
    with laboratory(configured="dhcp: {mode: proxy}\n") as lab, Host(lab.network, [(BRIDGE, OTHER)]) as other:
        command = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--pid-file=", "--user=root"]
        where = [
            "--interface=eth0",
            "--bind-interfaces",
            "--leasefile-ro",
            "--dhcp-range=172.30.0.200,172.30.0.220,10m",
        ]
        other.start(*command, *where, f"--dhcp-boot=undionly.kpxe,{lab.network.address},{lab.network.address}")
        lab.push(ONE, ip=None)
        lab.machine(ONE, "uefi", memory=1024).power_on()
        found = said(lab, ONE, "WrongLoader")
        assert (found["gravity"], "undionly.kpxe is no program" in found["cause"]) == ("fault", True)


@rotation.mark(LOOP, FAULTS)
def test_doctor_names_a_boot_loop(tmp_path: Path) -> None:
    with laboratory(osie_without_worker(tmp_path)) as lab:
        lab.route()
        lab.push(ONE)
        lab.workflow(ONE, shell("install", "true"))
        lab.machine(ONE, memory=512).power_on()
        found = said(lab, ONE, "BootLoop")
        assert found["gravity"] == "fault"
        assert sum("a boot that ended with" in each for each in found["evidence"]) == 3
        # iPXE says how much memory there is.
        (script, *_) = [each for each in lab.appliance.timeline(mac(ONE)) if each["stage"] == Stage.SCRIPT]
        assert script["facts"]["memory"] == 512


@rotation.mark(OLD_CLOCK, FAULTS)
def test_doctor_names_an_old_clock_and_a_missing_disk(shell_archive: Path) -> None:
    with laboratory() as lab:
        lab.route()
        lab.load(shell_archive)
        lab.push(ONE)
        missing = f"echo DiskNotFound > /dev/reason; echo 'cannot open {DISK_TO_WRITE}' > /dev/message; exit 1"
        lab.workflow(ONE, shell("write", f"[ -b {DISK_TO_WRITE} ] || {{ {missing}; }}"))
        # SeaBIOS, when it finds nothing to boot, begins anew instead of standing still.
        past = datetime.now(UTC) - 25.5 * YEAR
        extra = ["-rtc", f"base={past:%Y-%m-%d}", "-boot", "reboot-timeout=2000"]
        machine = lab.machine(ONE, memory=2048, extra=extra)
        machine.power_on()
        clock = said(lab, ONE, "ClockWrong")
        assert "25 years behind" in clock["cause"]
        disk = said(lab, ONE, "DiskNotFound")
        assert any(DISK_TO_WRITE in each for each in disk["evidence"])
        # A workflow that succeeds without having written anything, and a machine that is then left to its empty disk.
        lab.ended(lab.workflow(ONE, shell("nothing", "true")))
        machine.reset()
        found = until(
            lambda: next((each for each in lab.appliance.doctor(mac(ONE)) if "came back" in each["cause"]), None),
            "the machine to come back from its disk",
            PATIENCE,
        )
        assert (found["rule"], found["gravity"]) == ("DiskNotFound", "fault")


@rotation.mark(SILENT, FAULTS)
def test_doctor_names_a_silent_worker(tmp_path: Path) -> None:
    """A worker that ends at once, and a cable that is pulled when the OSIE was fetched."""
    with laboratory(osie_with(tmp_path, {"usr/bin/tinkbox": b"#!/bin/sh\nexit 1\n"})) as lab:
        lab.route()
        lab.push(ONE)
        lab.workflow(ONE, shell("install", "true"))
        machine = lab.machine(ONE, memory=1024)
        machine.power_on()
        found = concluded(lab, ONE, "SilentOsie", "its worker cannot start: 'the worker ended with status 1, with ")
        assert (found["gravity"], "it said: (nothing)'" in found["cause"]) == ("fault", True)
        assert "the worker ended with status 1" in lab.appliance.command("hardware", "get", mac(ONE))
        machine.reset()
        # With firmware for its cards, which may be what its worker lacked, and is the last that it fetches.
        until(lambda: Stage.FIRMWARE in lab.stages(ONE), "the machine to fetch the OSIE again", PATIENCE)
        # The appliance's interface keeps its link, as by the cable of another machine.
        lab.network.run(["ip", "link", "add", "other", "up", "master", BRIDGE, "type", "veth", "peer", "name", "end"])
        lab.network.run(["ip", "link", "set", "end", "up"])
        lab.network.run(["ip", "link", "set", CABLE, "down"])
        # Whether it asked for its credential as well, which iPXE does at once, is chance.
        fetched = "The machine fetched the OSIE, and "
        until(
            lambda: said(lab, ONE, "SilentOsie")["cause"].startswith(fetched), f"the doctor to say: {fetched}", PATIENCE
        )
        assert lab.stages(ONE).count(Stage.CLOCK) == 1


@rotation.mark(LITTLE_MEMORY, FAULTS)
def test_doctor_names_too_little_memory() -> None:
    with laboratory() as lab:
        lab.route()
        lab.push(ONE)
        lab.workflow(ONE, shell("install", "true"))
        machine = lab.machine(ONE, memory=512)
        machine.power_on()
        found = said(lab, ONE, "RamdiskTooLarge")
        assert "memory of 512 MiB" in found["cause"]
        machine.console.wait_for("Initramfs unpacking failed", PATIENCE)
        assert Stage.WORKER not in lab.stages(ONE)


@rotation.mark(MISSING, FAULTS)
def test_doctor_names_the_step_of_a_boot_that_failed() -> None:
    with laboratory() as lab:
        lab.route()
        lab.push(ONE)
        workflow = lab.workflow(ONE, shell("install", "true"))
        served = lab.appliance.data / "osie" / "x86_64"
        (served / "vmlinuz").rename(lab.work / "vmlinuz")
        machine = lab.machine(ONE, memory=512)
        machine.power_on()
        # What the machine says is evidence of what the appliance knows by then of its own files.
        found = concluded(lab, ONE, "OsieDamaged", "damaged (vmlinuz)", "could not load the kernel: not found")
        assert found["gravity"] == "fault"
        assert any("http://ipxe.org/2d0c613b" in each for each in found["evidence"])
        assert "osie build" in found["remedy"]
        stages = lab.stages(ONE)
        assert stages[stages.index(Stage.SCRIPT) + 1] == Stage.STEP_FAILED
        (lab.work / "vmlinuz").rename(served / "vmlinuz")
        (served / "initramfs").rename(lab.work / "initramfs")
        machine.reset()
        concluded(lab, ONE, "OsieDamaged", "damaged (initramfs)", "could not load the ramdisk: not found")
        lab.appliance.command("workflow", "cancel", workflow)
        machine.power_off()
        installed_before(lab, ONE)
        machine.power_on()
        found = concluded(lab, ONE, "DiskDoesNotBoot", "does not boot: not bootable")
        assert (found["gravity"], "told to boot its disk" in found["evidence"][0]) == ("fault", True)
