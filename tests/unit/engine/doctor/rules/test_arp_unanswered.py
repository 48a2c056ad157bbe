"""The doctor's rule about machines that our ARP answers do not reach."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address

import pytest

from tests.unit.engine.boot_story import BEGIN, MAC, MINE, OURS, answered, appliance, asked, case, fetched, seen
from tinkbox.engine.doctor.case import Case
from tinkbox.engine.doctor.doctor import diagnose, faults
from tinkbox.engine.doctor.rules.network import arp_unanswered
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import ArpQuestions, Attachment, StaticPort, Vitals

OWN = "0c:c4:7a:00:00:01"
LEASED = (asked(0), *answered(1))


def questions(*seconds: float, asker: str = MINE, mac: MacAddress = MAC) -> dict[MacAddress, ArpQuestions]:
    times = tuple(BEGIN + timedelta(seconds=each) for each in seconds)
    found = ArpQuestions(mac=mac, interface="eth1", address=OURS, asker=IPv4Address(asker), times=times)
    return {mac: found}


STANDS = case(*LEASED, after=60, arp_questions=questions(2, 3, 5, 9), own_macs={OWN: "eth1"})


def told(found: Case) -> list[str]:
    return [each.rule for each in diagnose(found) if each.gravity is not Gravity.HARMLESS]


def test_machine_that_asks_who_we_are_again_and_again_is_not_reached_by_our_answers() -> None:
    (found,) = (each for each in diagnose(STANDS) if each.gravity is not Gravity.HARMLESS)
    assert (found.rule, found.gravity) == ("ArpUnanswered", Gravity.SUSPECT)
    assert found.cause == (
        "The machine has its address, and asks by ARP who has 172.30.0.1, 4 times since: our answers do not reach it."
    )
    assert "2026-11-21 03:00:02 to 2026-11-21 03:00:09" in found.evidence[1]
    assert "dynamic ARP inspection" in found.remedy
    assert f"172.30.0.1 with the MAC {OWN}" in found.remedy


def test_no_more_is_told_than_what_was_counted() -> None:
    (found,) = arp_unanswered(replace(STANDS, arp_questions=questions(*range(2, 18))))
    assert "at least 16 times since" in found.cause


@pytest.mark.parametrize(
    "healthy",
    [
        replace(STANDS, arp_questions=questions(2, 3)),
        replace(STANDS, arp_questions=questions(-9, -8, 0.5, 2, 3)),
        replace(STANDS, now=BEGIN + timedelta(seconds=14)),
        replace(STANDS, arp_questions=questions(2, 3, 5, asker="172.30.0.99")),
        replace(STANDS, arp_questions=questions(2, 3, 5, mac=MacAddress("08:00:27:00:00:02"))),
        replace(STANDS, sightings=(*LEASED, seen(10, Stage.LOADER_REQUESTED))),
        replace(STANDS, sightings=(*LEASED, fetched(10), asked(12, Asker.IPXE), *answered(13))),
        replace(STANDS, sightings=(*LEASED, seen(10, Stage.BOOT_SERVER))),
        replace(STANDS, sightings=(asked(0, Asker.SYSTEM), *answered(1))),
        replace(STANDS, sightings=(*answered(1),)),
        replace(STANDS, sightings=(asked(0),)),
        replace(STANDS, arp_questions={}),
    ],
    ids=[
        "two questions",
        "most were asked before",
        "it may still go on",
        "at another address",
        "another machine",
        "its question came",
        "it fetched its loader",
        "it asked the boot server",
        "a running system",
        "nobody knows what asked",
        "no address yet",
        "none",
    ],
)
def test_machine_that_our_answers_reach_is_not_told_of(healthy: Case) -> None:
    assert not list(arp_unanswered(healthy))


def test_host_that_answers_no_arp_is_told_in_the_place_of_a_switch() -> None:
    silent = Attachment(
        interface="eth1",
        present=True,
        up=True,
        address=OURS,
        prefix=24,
        addresses=frozenset({OURS}),
        silent_arp="net.ipv4.conf.all.arp_ignore is 8",
    )
    own = faults(appliance(vitals=Vitals(at=BEGIN, attachments=(silent,))))
    assert told(replace(STANDS, faults=own)) == ["ArpSilent"]


def test_static_entry_of_our_own_bridge_is_likelier_than_a_switch() -> None:
    sent = replace(STANDS, static_port=StaticPort(bridge="eth1", port="tap3"))
    assert told(sent) == told(replace(sent, arp_questions={})) == ["Stalled", "SentElsewhere"]
