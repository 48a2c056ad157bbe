"""The doctor's rule about file descriptors."""

from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.rules.descriptors import descriptors_low
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.vitals import Descriptors, Vitals


def told(found: Descriptors | None) -> list[tuple[Gravity, str, str]]:
    case = appliance(vitals=Vitals(at=BEGIN, descriptors=found))
    return [(each.gravity, each.cause, each.remedy) for each in descriptors_low(case)]


def descriptors(opened: int = 100, **more: object) -> Descriptors:
    return Descriptors(**{"opened": opened, "most": 1000, "process": 77, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("opened", [0, 100, 900])
def test_descriptors_that_suffice_are_not_told(opened: int) -> None:
    assert told(descriptors(opened)) == []
    assert told(None) == []


def test_hardly_a_descriptor_left_is_a_suspicion() -> None:
    ((gravity, cause, remedy),) = told(descriptors(901))
    assert (gravity, "901 of 1000" in cause) == (Gravity.SUSPECT, True)
    assert "`prlimit --pid 77 --nofile=" in remedy
    assert "`LimitNOFILE=" in remedy


def test_a_refused_descriptor_is_a_fault_until_there_are_some_again_and_then_told_for_ten_minutes() -> None:
    now = appliance().now
    ((gravity, cause, _),) = told(descriptors(1000, refused_at=now - timedelta(hours=1), used_up=True))
    assert (gravity, "no file descriptor left" in cause) == (Gravity.FAULT, True)
    ((gravity, cause, remedy),) = told(descriptors(refused_at=now - timedelta(minutes=9)))
    assert (gravity, "again" in cause) == (Gravity.SUSPECT, True)
    assert remedy.endswith("This is told for 10m.")
    assert told(descriptors(refused_at=now - timedelta(minutes=10))) == []


def test_a_host_without_descriptors_is_told_as_such() -> None:
    ((_, cause, remedy),) = told(descriptors(used_up=True, of_host=True, refused_at=BEGIN))
    assert cause.startswith("This host has no file descriptor left")
    assert "fs.file-max" in remedy
    assert "LimitNOFILE" not in remedy
