"""What the doctor's rules are made of."""

from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, appliance, asked, case, fetched, osie_boot, seen
from tinkbox.engine.doctor.case import Duty, Finding, Stops, line, number, of, sized, text
from tinkbox.model.boot import Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import MacAddress


def test_sightings_fall_into_boots() -> None:
    story = case(*osie_boot(0), *osie_boot(300))
    assert [len(boot) for boot in story.boots] == [13, 13]
    assert story.last == tuple(osie_boot(300))
    assert case().last == ()


def test_machine_is_unheard_from_its_last_question_until_anything_of_it_is_seen() -> None:
    stops = Stops(duties=frozenset({Duty.DHCP}), unheard={MAC: BEGIN + timedelta(seconds=10)})
    assert case().is_unheard(stops)
    assert case(asked(9)).is_unheard(stops)
    assert not case(asked(9), asked(10)).is_unheard(stops)
    assert not case(seen(9, Stage.DISCOVER, lasted=1.0)).is_unheard(stops)
    assert not case(mac=MacAddress("08:00:27:00:00:99")).is_unheard(stops)
    assert not appliance().is_unheard(stops)
    assert not case().is_unheard(Stops(duties=frozenset({Duty.DHCP})))


def test_a_finding_without_evidence_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="no evidence for: It is broken"):
        Finding(gravity=Gravity.FAULT, cause="It is broken.", evidence=(), remedy="Mend it.")


def test_facts_are_read_as_what_is_asked_for() -> None:
    loader = fetched(0)
    assert (text(loader, "name"), text(loader, "none"), text(loader, "bytes")) == ("snponly.efi", "", "250000")
    assert (number(loader, "bytes"), number(loader, "name"), number(loader, "none")) == (250_000, None, None)


def test_sightings_are_picked_by_stage() -> None:
    assert of(osie_boot(0), Stage.SCRIPT, Stage.WORKER) == (seen(7, Stage.SCRIPT), seen(40, Stage.WORKER))


def test_evidence_has_time_stage_and_detail() -> None:
    assert line(asked(61)) == "2026-11-21 03:01:01 asked for an address: PXE"
    assert line(seen(0, Stage.SCRIPT)) == "2026-11-21 03:00:00 fetched its boot script"
    assert line(seen(0, Stage.IGNORED, why="no")) == "2026-11-21 03:00:00 was not answered: no"
    assert sized(85_021_696) == "81.1 MiB"
