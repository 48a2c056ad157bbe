"""What is kept of questions: of known machines the newest, under everything that was asked."""

from dataclasses import replace
from ipaddress import IPv4Address

from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tests.unit.boot.dhcp_bench import FIRMWARE, INSTALLED, SERVICE, serving
from tinkbox.boot.dhcp.questions import (
    KEPT_MACHINES,
    KEPT_OF_MACHINE,
    LONGEST_KEPT,
    SECS,
    XID,
    Question,
    Questions,
    question_of,
)
from tinkbox.wire.dhcp.packets import Packet

ASKED = golden.packet("dhcp/ovmf-pxe-discover")
MAC = FIRMWARE.mac.octets


def question(packet: Packet = FIRMWARE) -> Question:
    return question_of(packet, b"", SERVICE)


def keep(kept: Questions, mac: bytes, datagram: bytes, asked: Question) -> None:
    """It is asked twice."""
    for _ in range(2):
        kept.keep(mac, datagram, asked)


def invented(number: int) -> bytes:
    return b"\x02" + number.to_bytes(5, "big")


@given(xid=st.binary(min_size=4, max_size=4), secs=st.binary(min_size=2, max_size=2))
def test_same_question_is_found_whatever_its_xid_and_seconds(xid: bytes, secs: bytes) -> None:
    kept, asked = Questions(), question()
    keep(kept, MAC, ASKED, asked)
    assert kept.find(MAC, ASKED[: XID.start] + xid + secs + ASKED[SECS.stop :]) is asked


@given(at=st.integers(0, len(ASKED) - 1), octet=st.integers(0, 255))
def test_question_that_differs_in_any_other_octet_is_not_found(at: int, octet: int) -> None:
    kept, other = Questions(), bytearray(ASKED)
    keep(kept, MAC, ASKED, question())
    other[at] = octet
    same = bytes(other) == ASKED or XID.start <= at < SECS.stop
    assert (kept.find(MAC, bytes(other)) is not None) is same


@given(length=st.integers(0, len(ASKED) - 1), more=st.binary(min_size=1, max_size=8))
def test_shorter_or_longer_question_is_not_found(length: int, more: bytes) -> None:
    kept = Questions()
    keep(kept, MAC, ASKED, question())
    assert kept.find(MAC, ASKED[:length]) is None
    assert kept.find(MAC, ASKED + more) is None


def test_each_machine_has_few_questions_kept_and_crowds_out_only_its_own() -> None:
    kept, asked = Questions(), question()
    keep(kept, invented(1), ASKED, asked)
    for number in range(1000):
        keep(kept, MAC, ASKED + number.to_bytes(2, "big"), question())
    assert len(kept) == KEPT_OF_MACHINE + 1
    assert kept.find(invented(1), ASKED) is asked
    assert kept.find(MAC, ASKED + (999).to_bytes(2, "big")) is not None
    assert kept.find(MAC, ASKED + (0).to_bytes(2, "big")) is None


def test_number_of_kept_questions_is_bounded() -> None:
    kept = Questions()
    for number in range(2 * KEPT_MACHINES):
        keep(kept, invented(number), ASKED, question())
    assert len(kept) == KEPT_MACHINES
    assert kept.find(invented(0), ASKED) is None


def test_overlong_question_is_not_kept() -> None:
    kept, asked = Questions(), ASKED + bytes(LONGEST_KEPT)
    keep(kept, MAC, asked, question())
    assert len(kept) == 0


def test_question_is_kept_when_it_is_asked_for_the_second_time() -> None:
    kept, asked = Questions(), question()
    kept.keep(MAC, ASKED, question())
    assert kept.find(MAC, ASKED) is None
    kept.keep(MAC, ASKED + b"x", question())
    kept.keep(MAC, ASKED, asked)
    assert kept.find(MAC, ASKED) is asked
    assert len(kept) == 1


async def test_nothing_is_kept_of_unknown_machines() -> None:
    async with serving(known=[INSTALLED.mac]) as bench:
        bench.say(FIRMWARE, *(replace(FIRMWARE, mac=INSTALLED.mac, xid=number) for number in range(3)))
        for _ in range(3):
            await bench.hear()
        assert len(bench.server._questions) == 1


async def test_answer_to_kept_question_has_the_xid_of_the_one_who_asks() -> None:
    async with serving() as bench:
        for number in (1, 2, 3, 0xFFFFFFFF):
            bench.say(replace(FIRMWARE, xid=number, secs=number & 0xFFFF))
            offer, _ = await bench.hear()
            assert (offer.xid, offer.secs, offer.yiaddr) == (number, 0, IPv4Address("172.30.0.5"))
        discovers = [each for each in bench.lab.facts if "xid" in each]
        assert [(each["xid"], each["secs"]) for each in discovers] == [(1, 1), (2, 2), (3, 3), (0xFFFFFFFF, 0xFFFF)]
