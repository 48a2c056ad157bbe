"""The doctor's rules about TLS."""

from datetime import timedelta

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.case import Finding
from tinkbox.engine.doctor.rules.encryption import certificate_refused, certificate_trouble
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.vitals import HandshakeTrouble, RefusedHandshake, Vitals

DOOR = "https://172.30.0.1"


def refusing(
    why: HandshakeTrouble, *, times: int = 1, minutes_ago: int = 1, well: timedelta | None = None
) -> list[Finding]:
    at = appliance().now - timedelta(minutes=minutes_ago)
    came_through = None if well is None else at - well
    refused = RefusedHandshake(
        host="172.30.0.9", door=DOOR, why=why, words="THE_ALERT", at=at, times=times, came_through=came_through
    )
    return list(certificate_refused(appliance(refused_handshakes=(refused,))))


@pytest.mark.parametrize(
    ("why", "cause"),
    [
        (HandshakeTrouble.AUTHORITY, "172.30.0.9 does not trust this box's certificate"),
        (HandshakeTrouble.EXPIRED, "most likely its clock is wrong"),
        (HandshakeTrouble.NOTHING_IN_COMMON, "cannot speak the TLS that this box does"),
    ],
)
def test_a_host_that_refuses_the_certificate_is_told_with_why_and_when(why: HandshakeTrouble, cause: str) -> None:
    (found,) = refusing(why)
    assert cause in found.cause
    assert f"at {DOOR} came to nothing (THE_ALERT), 1 time so far" in found.evidence[0]
    assert found.remedy


def test_it_is_told_for_ten_minutes_and_what_is_no_refusal_is_not() -> None:
    assert refusing(HandshakeTrouble.AUTHORITY, minutes_ago=9)
    assert not refusing(HandshakeTrouble.AUTHORITY, minutes_ago=10)
    assert not refusing(HandshakeTrouble.OTHER)


def test_it_is_over_once_that_host_takes_the_certificate_at_that_door() -> None:
    assert not refusing(HandshakeTrouble.AUTHORITY, well=-timedelta(seconds=5))
    assert not refusing(HandshakeTrouble.HUNG_UP, times=3, well=-timedelta(seconds=5))
    assert refusing(HandshakeTrouble.AUTHORITY, well=timedelta(seconds=5))


def test_host_that_refuses_at_two_doors_is_told_once() -> None:
    now = appliance().now
    both = tuple(
        RefusedHandshake(host="172.30.0.9", door=door, why=HandshakeTrouble.AUTHORITY, words="X", at=now, times=1)
        for door in (DOOR, "https://172.30.0.1:7080")
    )
    (found,) = certificate_refused(appliance(refused_handshakes=both))
    assert "at https://172.30.0.1:7080 came to nothing" in found.evidence[0]


def test_of_who_hangs_up_three_times_is_said_what_is_known_and_what_it_may_mean() -> None:
    assert not refusing(HandshakeTrouble.HUNG_UP, times=2)
    (found,) = refusing(HandshakeTrouble.HUNG_UP, times=3)
    assert found.cause == (
        "172.30.0.9 began 3 times to speak TLS and hung up without a word: it only looks whether the port is open, as probes do, or "
        "it does not trust this box's certificate."
    )
    assert found.remedy.startswith("If nothing fails there, it is a probe and harmless. Else: `tinkbox authority`")


def test_a_scanner_is_who_tries_many_handshakes_of_which_some_come_through() -> None:
    nothing, soon = HandshakeTrouble.NOTHING_IN_COMMON, timedelta(seconds=20)
    assert not refusing(nothing, times=5, well=soon)
    assert not refusing(nothing, times=5, well=-soon)
    assert refusing(nothing, times=5), "none came through"
    assert refusing(nothing, times=5, well=timedelta(minutes=1)), "that was another program"
    assert refusing(nothing, times=4, well=soon), "firmware that boots over HTTP then, and an OSIE that is newer"
    assert refusing(HandshakeTrouble.AUTHORITY, times=99, well=soon)


def test_a_certificate_that_was_not_renewed_is_told_with_the_way_out() -> None:
    told = Vitals(at=BEGIN, certificates=("the box's certificate was not renewed: free room there",))
    (found,) = certificate_trouble(appliance(vitals=told))
    assert (found.cause, found.remedy) == ("The box's certificate was not renewed.", "Free room there.")
    assert not list(certificate_trouble(appliance()))


def test_certificate_that_every_client_refuses_is_a_fault() -> None:
    both = Vitals(
        at=BEGIN, certificates=("soon: renew it",), refused_certificates=("tls.certificate: c.pem expired: renew it",)
    )
    refused, soon = certificate_trouble(appliance(vitals=both))
    assert (refused.gravity, refused.cause) == (Gravity.FAULT, "tls.certificate: c.pem expired.")
    assert soon.gravity is Gravity.SUSPECT


def test_setting_that_is_named_first_is_no_cause_by_itself() -> None:
    words = (
        "tls.key: /k.pem is not the key of the certificate in /c.pem: name the two. Until then the box's own is shown"
    )
    (found,) = certificate_trouble(appliance(vitals=Vitals(at=BEGIN, certificates=(words,))))
    assert found.cause == "tls.key: /k.pem is not the key of the certificate in /c.pem."
    assert found.remedy == "Name the two. Until then the box's own is shown."
