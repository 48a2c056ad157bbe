"""The doctor's rules about what boot scripts tell of themselves, and about disks that do not boot."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.engine.boot_story import (
    BEGIN,
    KNOWN,
    OSIE,
    answered,
    appliance,
    asked,
    case,
    fetched,
    osie_boot,
    seen,
)
from tinkbox.engine.doctor.doctor import diagnose, faults
from tinkbox.engine.doctor.rules.boot_step import (
    DISK_BOOTS_WITHIN,
    boot_step_failed,
    disk_does_not_boot,
    silent_disk,
)
from tinkbox.model.boot import Asker, Stage, Step, StepError
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import Interface
from tinkbox.model.netboot import Netboot, OwnOsie
from tinkbox.model.sightings import Sighting
from tinkbox.model.vitals import DamagedFile, Vitals
from tinkbox.wire.boot_scripts.failed_steps import FailedStep

WITHIN = DISK_BOOTS_WITHIN.total_seconds()
SCRIPT = [asked(0, Asker.IPXE), *answered(1), seen(3, Stage.SCRIPT)]
TO_DISK = [asked(100, Asker.IPXE), *answered(101), seen(103, Stage.LOCAL_DISK, way="sanboot")]


def failed(second: float, step: Step, *codes: str, count: int = 1) -> Sighting:
    told = FailedStep(step=step, codes=codes)
    more = {"count": count, "lasted": 12.0} if count > 1 else {}
    return seen(second, Stage.STEP_FAILED, told.detail, **told.facts, **more)


def test_what_grub_tells_by_tftp_is_none_of_a_boot_whose_script_came_by_http() -> None:
    told = FailedStep(step=Step.RAMDISK, codes=())
    by_grub = seen(5, Stage.STEP_FAILED, told.detail, **told.facts, over="tftp")
    assert not list(boot_step_failed(case(*SCRIPT, by_grub)))
    (own,) = boot_step_failed(case(*SCRIPT, failed(4, Step.KERNEL, "2d0c613b"), by_grub))
    assert "could not load the kernel" in own.cause, "it does not hide the machine's own word"
    script = [asked(0), *answered(1), seen(3, Stage.SCRIPT, file="grub/boot.cfg")]
    assert list(boot_step_failed(case(*script, by_grub)))


def test_step_that_failed_is_told_at_once_with_its_error_and_how_often() -> None:
    (found,) = boot_step_failed(case(*SCRIPT, failed(4, Step.KERNEL, "2d0c613b", count=3)))
    assert (found.gravity, found.cause) == (Gravity.FAULT, "The machine could not load the kernel: not found.")
    assert found.evidence == (
        "2026-11-21 03:00:04 a step of its boot failed: it could not load the kernel: not found (http://ipxe.org/2d0c613b)",
        "it told so 3 times, for the last time at 2026-11-21 03:00:16",
    )
    assert "Another host may have said so" in found.remedy


@pytest.mark.parametrize(
    ("known", "missing"),
    [
        ({}, False),
        ({"osie": ()}, True),
        ({"osie": (replace(OSIE, architecture="aarch64"),)}, True),
        ({"damaged": "x86_64"}, True),
        ({"damaged": "aarch64"}, False),
        ({"interface": None, "discovers": True}, False),
        ({"interface": None, "damaged": "x86_64"}, True),
    ],
)
def test_files_of_the_osie_are_missing_only_where_the_appliance_knows(known: dict[str, Any], *, missing: bool) -> None:
    damaged = known.pop("damaged", "")
    kernel = DamagedFile(path=f"/data/osie/{damaged}/vmlinuz", how="it is missing")
    own = faults(appliance(vitals=Vitals(at=BEGIN, damaged_osie=(kernel,)))) if damaged else ()
    (found,) = boot_step_failed(case(*SCRIPT, failed(4, Step.KERNEL, "2d0c613b"), faults=own, **known))
    assert ("Files of the OSIE are missing" in found.remedy) is missing
    assert "`tinkbox osie list`" in found.remedy


@pytest.mark.parametrize(
    ("step", "code", "words"),
    [
        (Step.KERNEL, "4c0a6035", "error counters"),
        (Step.RAMDISK, "0f0a6039", "error counters"),
        (Step.RAMDISK, "34182006", "2 GB of memory"),
        (Step.RAMDISK, "31000006", "2 GB of memory"),
        (Step.KERNEL, "2e008081", "arch in its hardware document"),
        (Step.BOOT, "7f04828e", "Secure Boot"),
        (Step.CREDENTIAL, "2d0c613b", "boot it once more"),
        (Step.SCRIPT, "3e11623b", "`tinkbox service logs`"),
        (Step.KERNEL, "1d0c6139", "answered with an error"),
        (Step.KERNEL, "ff000000", "Its screen shows the error"),
        (Step.HTTPS, "0216eb8f", " --forget`"),
        (Step.HTTPS, "3c0d6142", "has no HTTPS"),
        (Step.HTTPS, "4c0a6035", "error counters"),
        (Step.KERNEL, "", "`tinkbox osie list`"),
    ],
)
def test_each_error_has_a_remedy(step: Step, code: str, words: str) -> None:
    (found,) = boot_step_failed(case(*SCRIPT, failed(4, step, *([code] if code else []))))
    assert words in found.remedy


def test_a_kernel_of_which_no_packet_got_there_is_told_until_it_did() -> None:
    told = seen(24, Stage.STEP_FAILED, "told", step=Step.KERNEL.name, error=StepError.NOT_TAKEN.name)
    (found,) = boot_step_failed(case(*SCRIPT, told))
    assert found.cause == "The machine could not load the kernel: no packet with it got there."
    assert "ping -M do -s 1472" in found.remedy
    assert not list(boot_step_failed(case(*SCRIPT, told, seen(60, Stage.KERNEL))))


@pytest.mark.parametrize("stage", [Stage.RAMDISK, Stage.FIRMWARE, Stage.TICKET, Stage.CLOCK])
def test_what_another_host_fetched_shows_nothing_of_the_boot(stage: Stage) -> None:
    told = failed(4, Step.KERNEL, "2d0c613b")
    assert list(boot_step_failed(case(*SCRIPT, told, seen(9, stage, other_host="02:00:00:00:00:99"))))
    assert not list(boot_step_failed(case(*SCRIPT, told, seen(9, stage))))


@pytest.mark.parametrize("step", [Step.KERNEL, Step.RAMDISK, Step.CREDENTIAL, Step.BOOT, Step.SCRIPT])
def test_a_system_that_was_on_the_disk_before_hides_no_step_that_failed(step: Step) -> None:
    told, booted = failed(4, step, "2d0c613b"), seen(30, Stage.DISK_BOOTED)
    assert list(boot_step_failed(case(*SCRIPT, told, booted)))
    assert not list(boot_step_failed(case(*SCRIPT, told, asked(20), seen(25, Stage.LOCAL_DISK), booted)))


@pytest.mark.parametrize("error", StepError)
@pytest.mark.parametrize("step", Step)
def test_no_step_and_no_error_is_without_words(step: Step, error: StepError) -> None:
    told = seen(4, Stage.STEP_FAILED, "told", step=step.name, error=error.name)
    (found,) = [*boot_step_failed(case(*SCRIPT, told)), *disk_does_not_boot(case(*SCRIPT, told))]
    assert found.remedy
    assert str(error) in found.cause or (error, step) in (
        (StepError.UNTOLD, Step.DISK),
        (StepError.UNTOLD, Step.LOADER),
    )


def test_what_a_document_names_is_corrected_there() -> None:
    for own, step, words in (
        (Netboot(osie=OwnOsie(kernel="http://lab/k", initramfs="http://lab/i")), Step.KERNEL, "netboot.osie"),
        (Netboot(script_url="http://lab/x"), Step.SCRIPT, "netboot.ipxe.url"),
    ):
        interface = Interface(mac=KNOWN.mac, address=KNOWN.address, netboot=own)
        (found,) = boot_step_failed(case(*SCRIPT, failed(4, step, "2d0c613b"), interface=interface))
        assert words in found.remedy


def test_step_that_went_well_after_all_is_no_fault() -> None:
    begun = [*SCRIPT, failed(4, Step.KERNEL, "4c0a6035"), seen(9, Stage.KERNEL)]
    assert list(boot_step_failed(case(*begun)))  # the kernel itself may be what cannot be started
    assert not list(boot_step_failed(case(*begun, seen(10, Stage.RAMDISK))))
    assert not list(boot_step_failed(case(*SCRIPT)))


def test_step_is_still_told_when_the_machine_begins_anew() -> None:
    again = [asked(60, Asker.IPXE), *answered(61)]
    assert list(boot_step_failed(case(*SCRIPT, failed(4, Step.KERNEL, "2d0c613b"), *again)))
    assert not list(boot_step_failed(case(*SCRIPT, failed(4, Step.KERNEL, "2d0c613b"), *osie_boot(60))))


def test_facts_that_no_script_tells_are_passed_over() -> None:
    assert not list(boot_step_failed(case(*SCRIPT, seen(4, Stage.STEP_FAILED, "x", step="x", error="y"))))


def test_disk_that_iPXE_cannot_boot_is_a_fault_at_once() -> None:  # noqa: N802 - its name
    report = failed(104, Step.DISK, "1d852039", "1d852039")
    (found,) = disk_does_not_boot(case(*TO_DISK, report))
    assert (found.gravity, found.cause) == (Gravity.FAULT, "The machine's disk does not boot: not bootable.")
    assert found.evidence[0].endswith("told to boot its disk")
    assert "not bootable (http://ipxe.org/1d852039)" in found.evidence[1]
    assert not list(boot_step_failed(case(*TO_DISK, report)))
    assert not list(disk_does_not_boot(case(*TO_DISK, report, seen(130, Stage.DISK_BOOTED))))
    # It came back, which DiskNotFound says.
    assert not list(disk_does_not_boot(case(*TO_DISK, report, asked(130, Asker.IPXE))))


def test_silence_after_the_first_boot_from_a_new_disk_is_suspect() -> None:
    told = [*osie_boot(0), seen(60, Stage.ACTION, "install SUCCESS"), *TO_DISK]
    assert not list(silent_disk(case(*told, installed=True, after=WITHIN)))
    (found,) = silent_disk(case(*told, installed=True, after=WITHIN + 20))
    assert (found.gravity, "static address" in found.remedy) == (Gravity.SUSPECT, True)
    assert found.evidence[0].endswith("told to boot its disk")
    assert "200 s later" in found.evidence[1]
    assert list(silent_disk(case(*told, left=True, after=WITHIN + 20)))
    assert [each.rule for each in diagnose(case(*told, installed=True, after=WITHIN + 20))] == ["SilentDisk"]


WORKED = [
    *osie_boot(0),
    seen(36, Stage.TICKET),
    seen(37, Stage.SESSION),
    seen(41, Stage.ACTION, "task/sleep begun"),
    seen(60, Stage.ACTION, "task/sleep SUCCESS after 19.0 s"),
]


@pytest.mark.parametrize(
    "boot",
    [
        [asked(100), *answered(101), fetched(102), asked(103, Asker.IPXE), *answered(104)],
        [asked(700), *answered(701), fetched(702), asked(703, Asker.IPXE), *answered(704)],
        [asked(100, Asker.IPXE), *answered(101)],
        [seen(100, Stage.DISK_BOOTED, "172.30.0.21, 'udhcp 1.36.1'", vendor_class="udhcp 1.36.1")],
        [],
    ],
    ids=["firmware", "later", "iPXE in the card", "a plain DHCP client", "by another DHCP server"],
)
def test_a_machine_whose_workflow_ended_and_that_is_silent_at_its_disk_is_suspect(boot: list[Sighting]) -> None:
    at = (boot[-1].at - BEGIN).total_seconds() + 2 if boot else 100
    told = [*WORKED, *boot, seen(at, Stage.LOCAL_DISK, "exit", way="exit")]
    heard = told[-1].at
    found = diagnose(case(*told, installed=True, ticket=False, heard_at=heard, after=209))
    assert [each.rule for each in found] == ["SilentDisk"]
    assert "209 s later" in found[0].evidence[1]


def test_a_system_that_asked_for_an_address_before_firmware_did_is_installed_and_runs() -> None:
    ran = [*WORKED, seen(100, Stage.DISK_BOOTED)]
    again = [asked(200), *answered(201), seen(210, Stage.LOCAL_DISK, way="exit")]
    assert not list(silent_disk(case(*ran, *again, installed=True, after=WITHIN + 20)))
    by_another_server = seen(2000, Stage.LOCAL_DISK, way="exit")
    assert not list(silent_disk(case(*ran, by_another_server, installed=True, after=WITHIN + 20)))


def test_firmware_that_asks_once_more_on_its_way_to_the_disk_is_told_as_well() -> None:
    twice = [*osie_boot(0), *TO_DISK, asked(160, Asker.HTTP), seen(161, Stage.LOCAL_DISK, way="exit")]
    assert list(silent_disk(case(*twice, installed=True, after=WITHIN + 20)))


def test_machine_that_boots_its_disk_as_ever_is_not_suspect() -> None:
    silent = WITHIN + 20
    for before in (
        [],  # it was installed long ago
        [*osie_boot(0), seen(50, Stage.LOCAL_DISK), seen(90, Stage.DISK_BOOTED)],
        [*osie_boot(-2000), seen(-1000, Stage.LOCAL_DISK, way="sanboot")],
    ):
        assert not list(silent_disk(case(*before, *TO_DISK, installed=True, after=silent)))
    told = [*osie_boot(0), *TO_DISK]
    assert not list(silent_disk(case(*told, after=silent)))  # no workflow ended
    assert not list(silent_disk(case(*told, seen(150, Stage.PHONED_HOME), installed=True, after=silent)))
    heard = BEGIN + timedelta(seconds=150)  # by another of its interfaces
    assert not list(silent_disk(case(*told, installed=True, heard_at=heard, after=silent)))
    assert not list(silent_disk(case(installed=True)))


@pytest.mark.parametrize("after", [30, 700])
def test_no_forged_question_hides_a_step_or_a_disk_that_failed(after: float) -> None:
    forged = [asked(104 + after + each * 5, (Asker.PXE, Asker.HTTP)[each % 2]) for each in range(4)]
    (step,) = boot_step_failed(case(*SCRIPT, failed(4, Step.KERNEL, "2d0c613b"), *forged))
    assert "asked for an address again, and came no further" in step.evidence[-1]
    told = diagnose(case(*TO_DISK, failed(104, Step.DISK, "1d852039"), *forged))
    # Of one that asks soon, DiskNotFound says the same.
    assert ("DiskNotFound" if after < 600 else "DiskDoesNotBoot") in {each.rule for each in told}


def test_only_grub_is_said_to_have_found_no_boot_loader() -> None:
    report = failed(104, Step.DISK)
    (found,) = disk_does_not_boot(case(*TO_DISK, report))
    assert found.cause == "The machine's disk does not boot: its boot loader could not start it, and does not say why."
    (found,) = disk_does_not_boot(case(fetched(90, "grubx64.efi"), *TO_DISK, report))
    assert found.cause == "The machine's disk does not boot: GRUB found no boot loader that starts."
