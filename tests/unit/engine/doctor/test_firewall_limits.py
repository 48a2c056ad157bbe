"""Rules that drop a part of what we send or hear, in the place of the symptoms that they cause."""

from dataclasses import replace

import pytest

from tests.unit.engine.boot_story import BEGIN, answered, appliance, asked, case, failed, seen
from tests.unit.engine.doctor.rules.test_download import LATER, SCRIPT, slow, stopped
from tinkbox.engine.doctor.doctor import diagnose, faults
from tinkbox.model.boot import Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.sightings import Sighting
from tinkbox.model.vitals import ShutPort, Vitals

LIMITS = [
    ShutPort(interface="eth1", port=port, protocol=protocol, why="limit rate over 40 kbytes/second drop", asked=what)
    for port, protocol, what in ((80, "tcp", "HTTP"), (69, "udp", "TFTP"))
]


def told(limits: list[ShutPort], sightings: list[Sighting], after: float) -> list[str]:
    own = faults(appliance(vitals=Vitals(at=BEGIN, limited_replies=tuple(limits))))
    found = diagnose(replace(case(*sightings, after=after), faults=own))
    return [each.rule for each in found if each.gravity is not Gravity.HARMLESS]


@pytest.mark.parametrize(
    ("symptom", "sightings", "after"),
    [
        ("DownloadStopped", [*SCRIPT, stopped(64)], LATER),
        ("DownloadStopped", [*SCRIPT, slow(64)], LATER),
        ("TransferStopped", [asked(0), *answered(1), failed(30, "silence", 3)], 300),
        ("Stalled", [*SCRIPT, seen(8, Stage.KERNEL)], 300),
    ],
)
def test_limits_of_the_firewall_are_told_in_the_place_of_what_they_stop(
    symptom: str, sightings: list[Sighting], after: float
) -> None:
    assert told([], sightings, after) == [symptom]
    assert told(LIMITS, sightings, after) == ["FirewallLimits"]
    elsewhere = [replace(each, interface="eth2") for each in LIMITS]
    assert told(elsewhere, sightings, after) == [symptom]


def test_limits_of_another_protocol_are_not_blamed() -> None:
    _, tftp = LIMITS
    assert told([tftp], [*SCRIPT, stopped(64)], LATER) == ["DownloadStopped"]
