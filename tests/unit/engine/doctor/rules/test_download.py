"""The doctor's rule about downloads that break off, stand still or crawl."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.engine.boot_story import BEGIN, KNOWN, answered, asked, case, fetched, osie_boot, seen
from tinkbox.engine.doctor.case import Case, Duty, Fault, Finding, Stops, Work
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.rules.download import TRIED_AGAIN_WITHIN, download_stopped
from tinkbox.model.boot import Asker, DownloadTrouble, Stage, Step
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.sightings import Fact, Sighting
from tinkbox.model.workflow import State

SIZE = 96 << 20
SCRIPT = [asked(0, Asker.IPXE), *answered(1), seen(3, Stage.SCRIPT)]
LATER = TRIED_AGAIN_WITHIN.total_seconds() + 1
HUNG_UP, STILL, SILENCE = DownloadTrouble.HUNG_UP, DownloadTrouble.STILL, DownloadTrouble.SILENCE


def stopped(
    second: float, what: DownloadTrouble = SILENCE, *, at: float = 40, began: float = 4, **facts: Fact
) -> Sighting:
    """The ramdisk stopped after so many MiB, and began in that second."""
    told: dict[str, Fact] = {"step": Step.RAMDISK.name, "name": "initramfs", "what": what.name, "size": SIZE}
    told |= {"bytes": int(at * (1 << 20)), "seconds": second - began, **facts}
    return seen(second, Stage.DOWNLOAD_TROUBLE, f"initramfs, {told['bytes']} of {SIZE} bytes: {what}", **told)


def slow(second: float, **facts: Fact) -> Sighting:
    return stopped(second, DownloadTrouble.SLOW, rate=40 << 10, **facts)


def rules(found: Case) -> list[str]:
    return [each.rule for each in diagnose(found) if each.gravity is not Gravity.HARMLESS]


@pytest.mark.parametrize(
    ("what", "words", "remedy"),
    [
        (SILENCE, "broke off", "its power"),
        (DownloadTrouble.UNREACHABLE, "broke off", "its cable"),
        (HUNG_UP, "broke off", "ended the connection itself"),
        (STILL, "stands still", "switch port"),
    ],
)
def test_download_that_stopped_is_told_with_how_far_it_came(what: DownloadTrouble, words: str, remedy: str) -> None:
    looked_at = case(*SCRIPT, stopped(64, what), after=LATER)
    assert rules(looked_at) == ["DownloadStopped"]
    (found,) = download_stopped(looked_at)
    assert found.gravity is Gravity.FAULT
    assert found.cause == f"The machine's download of the ramdisk {words} after 40.0 MiB of 96.0 MiB."
    assert found.evidence == (
        f"2026-11-21 03:01:04 its download has trouble: initramfs, 41943040 of 100663296 bytes: {what}",
        "2026-11-21 03:01:30 nothing was heard of it for 26 s",
    )
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("asker", "loader", "told"),
    [
        (Asker.IPXE, "snponly.efi", True),
        (Asker.IPXE, "ipxe.efi", False),
        (Asker.PXE, "snponly.efi", False),
    ],
)
def test_download_that_stopped_over_the_driver_of_the_cards_own_ipxe_names_the_other_loader(
    asker: Asker, loader: str, told: bool
) -> None:
    story = [asked(0, asker), *answered(1), fetched(2, loader), asked(3, Asker.IPXE), *answered(4), SCRIPT[-1]]
    (found,) = download_stopped(case(*story, stopped(64), after=LATER))
    assert ("let it boot ipxe.efi" in found.remedy) is told


def test_download_that_always_stops_at_the_same_place_is_no_chance() -> None:
    again = [asked(100, Asker.IPXE), *answered(101), seen(103, Stage.SCRIPT)]
    (found,) = download_stopped(case(*SCRIPT, stopped(64), *again, stopped(164, HUNG_UP, at=40.1, began=104)))
    assert (
        found.cause
        == "Each time the machine's download of the ramdisk stops at the same place: after 40.1 MiB of 96.0 MiB."
    )
    assert "memory" in found.remedy
    (found,) = download_stopped(case(*SCRIPT, stopped(64), *again, stopped(164, HUNG_UP, at=70, began=104)))
    assert found.cause == "The machine's download of the ramdisk broke off after 70.0 MiB of 96.0 MiB."


def test_one_download_that_stands_still_and_ends_then_is_one() -> None:
    (found,) = download_stopped(case(*SCRIPT, stopped(64, STILL), stopped(164, SILENCE), after=LATER))
    assert found.cause.startswith("The machine's download of the ramdisk broke off")
    assert len(found.evidence) == 3


def test_one_that_stood_still_is_told_on_when_it_is_given_up() -> None:
    assert rules(case(*SCRIPT, stopped(40, STILL), stopped(126), after=1)) == ["DownloadStopped"]
    assert rules(case(*SCRIPT, stopped(126), after=1)) == [], "a second try may follow at once"


def test_slow_download_is_suspect_while_it_flows() -> None:
    flows = slow(64, moved=100)
    (found,) = download_stopped(case(*SCRIPT, flows, after=110))
    assert (found.gravity, found.cause) == (
        Gravity.SUSPECT,
        "The machine's download of the ramdisk is slow: at 40.0 KiB/s the rest takes 24 min.",
    )
    assert "duplex" in found.remedy
    assert rules(case(*SCRIPT, flows, after=110)) == ["DownloadStopped"]
    assert rules(case(*SCRIPT, flows, after=200)) == ["Stalled"]
    assert rules(case(*SCRIPT, flows, seen(200, Stage.RAMDISK))) == []


def test_slow_kernel_is_told_with_how_long_the_ramdisk_takes_that_follows() -> None:
    kernel = slow(64, step=Step.KERNEL.name, name="vmlinuz", size=8 << 20, bytes=1 << 20, to_come=92 << 20)
    (found,) = download_stopped(case(*SCRIPT[:-1], kernel, after=5))
    assert found.cause == (
        "The machine's download of the kernel is slow: at 40.0 KiB/s the rest and the ramdisk take 42 min."
    )


@pytest.mark.parametrize("what", [HUNG_UP, STILL])
@pytest.mark.parametrize("stage", [Stage.RAMDISK, Stage.FIRMWARE, Stage.TICKET, Stage.CLOCK, Stage.LOCAL_DISK])
def test_boot_that_went_on_is_not_accused(what: DownloadTrouble, stage: Stage) -> None:
    assert not list(download_stopped(case(*SCRIPT, stopped(64, what), seen(70, stage), after=20)))


def test_boot_that_tries_again_is_not_accused_at_once() -> None:
    assert rules(case(*SCRIPT, stopped(64, HUNG_UP), after=LATER - 2)) == []
    assert rules(case(*SCRIPT, stopped(64, HUNG_UP, moved=50), after=60)) == []
    assert rules(case(*SCRIPT, stopped(64), asked(80), *answered(81), after=40)) == []
    assert rules(case(*SCRIPT, stopped(64), asked(80, Asker.IPXE), seen(82, Stage.SCRIPT), after=50)) == []
    assert rules(case(*SCRIPT, stopped(64), *osie_boot(100))) == []


@pytest.mark.parametrize("stage", [Stage.RAMDISK, Stage.FIRMWARE, Stage.TICKET, Stage.CLOCK])
def test_what_another_host_fetched_since_shows_nothing(stage: Stage) -> None:
    since = seen(70, stage, other_host="02:00:00:00:00:99")
    assert list(download_stopped(case(*SCRIPT, stopped(64), since, after=LATER)))


def test_download_that_stopped_alike_twice_in_one_line_did_so_twice() -> None:
    (found,) = download_stopped(case(*SCRIPT, stopped(64, HUNG_UP, count=2, lasted=1.0)))
    assert found.cause.startswith("Each time")


def test_questions_in_its_name_do_not_hide_it() -> None:
    questions = [asked(80 + each * 10) for each in range(20)]
    assert "DownloadStopped" in rules(case(*SCRIPT, stopped(64), *questions, after=5))


def test_word_of_the_boot_loader_says_more_and_how_far_it_came_stands_beside_it() -> None:
    failed = seen(65, Stage.STEP_FAILED, "told", step=Step.RAMDISK.name, error="NO_ROOM")
    (found,) = diagnose(case(*SCRIPT, stopped(64, HUNG_UP), failed, after=LATER))
    assert (found.rule, found.cause) == ("BootStepFailed", "The machine could not load the ramdisk: not enough memory.")
    assert "41943040 of 100663296 bytes" in found.evidence[0]


def test_other_step_that_failed_is_told_beside_it() -> None:
    failed = seen(5, Stage.STEP_FAILED, "told", step=Step.SCRIPT.name, error="NOT_FOUND")
    looked_at = case(asked(0, Asker.IPXE), *answered(1), seen(3, Stage.SCRIPT), failed, stopped(64), after=LATER)
    assert rules(looked_at) == ["BootStepFailed", "DownloadStopped"]


def test_what_another_host_did_is_nothing_of_its_boot() -> None:
    assert not list(download_stopped(case(*SCRIPT, stopped(64, other_host="02:00:00:00:00:99"), after=LATER)))


@pytest.mark.parametrize("stage", [Stage.WORKER, Stage.DISK_BOOTED, Stage.METADATA, Stage.LOCAL_DISK])
def test_system_that_runs_and_fetches_a_part_is_no_boot(stage: Stage) -> None:
    assert not list(download_stopped(case(*SCRIPT, seen(40, stage), stopped(64), after=LATER)))


@pytest.mark.parametrize(
    ("boot", "known"),
    [([], {}), (SCRIPT, {"ticket": False})],
)
def test_host_that_nobody_waits_for_is_suspect_at_most(boot: list[Sighting], known: dict[str, Any]) -> None:
    (found,) = download_stopped(case(*boot, stopped(64), after=LATER, **known))
    assert found.gravity is Gravity.SUSPECT


def test_beside_a_worker_that_is_in_touch_it_is_suspect_at_most() -> None:
    looked_at = case(*SCRIPT, stopped(64), after=LATER)
    work = Work(id="w", name="w", state=State.RUNNING, created_at=BEGIN, contact=looked_at.now)
    (found,) = [
        each for each in diagnose(case(*SCRIPT, stopped(64), after=LATER, work=work)) if each.rule == "DownloadStopped"
    ]
    assert found.gravity is Gravity.SUSPECT


def test_fault_of_the_appliance_that_stops_http_is_told_in_its_place() -> None:
    down = Finding(gravity=Gravity.FAULT, cause="The appliance's interface eth1 is down.", evidence=("x",), remedy="up")
    fault = Fault(rule="InterfaceDown", found=down, stops=Stops(duties=frozenset({Duty.HTTP}), since=BEGIN))
    assert rules(case(*SCRIPT, stopped(64), after=LATER, faults=(fault,), interface=KNOWN)) == ["InterfaceDown"]


@pytest.mark.parametrize("facts", [{"step": "x"}, {"what": "x"}, {"step": "DISK"}])
def test_facts_that_no_download_has_are_passed_over(facts: dict[str, Fact]) -> None:
    told = stopped(64)
    assert not list(download_stopped(case(*SCRIPT, replace(told, facts={**told.facts, **facts}), after=LATER)))
