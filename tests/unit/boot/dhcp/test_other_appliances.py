"""Other appliances, by the mark in what they ask."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address

from tests.unit.boot.dhcp_bench import FIRMWARE, serving
from tinkbox.boot.dhcp.other_appliances import Asker, OtherAppliances, answer_to, asker_of, own_macs
from tinkbox.boot.dhcp.other_servers import discover
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import MOST_APPLIANCES
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import Op, decode, encode

OTHER = Asker(mac=MacAddress("00:25:90:00:00:09"), address=IPv4Address("172.30.0.2"))


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 29, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_question_says_who_asks_and_is_that_of_a_machine_that_boots() -> None:
    question = decode(encode(discover(bytes(range(9)), OTHER)))
    assert asker_of(question) == OTHER
    assert identify(question).netboots
    assert question.mac == "02:25:90:00:00:09"
    assert discover(bytes(9), replace(OTHER, mac=question.mac)).mac == "06:25:90:00:00:09"


def test_an_answer_in_kind_says_the_same_and_is_no_request() -> None:
    told = decode(encode(answer_to(discover(bytes(9)), OTHER)))
    assert (told.op, asker_of(told)) == (Op.REPLY, OTHER)


def test_machines_are_no_appliances() -> None:
    assert asker_of(FIRMWARE) is None
    assert asker_of(discover(bytes(range(9)))) is None
    assert asker_of(replace(FIRMWARE, options={97: b"\0tinkbx"})) is None


def test_another_one_is_known_for_a_while_and_this_host_is_none() -> None:
    clock = Clock()
    others = OtherAppliances(clock, own=lambda: {"02:00:00:00:00:01"})
    assert not others.hear(Asker(mac=MacAddress("02:00:00:00:00:01"), address=OTHER.address), "lab")
    assert others.hear(OTHER, "lab")
    (known,) = others.all()
    assert (known.interface, known.address, known.mac) == ("lab", OTHER.address, OTHER.mac)
    clock.now += timedelta(minutes=7)
    assert others.all() == ()


def invented(number: int) -> Asker:
    return Asker(mac=MacAddress.from_bytes(bytes((2, 0, 0, 0, number >> 8, number & 255))), address=OTHER.address)


def test_invented_ones_take_no_more_room_than_a_few() -> None:
    others = OtherAppliances(Clock(), own=frozenset)
    for number in range(400):
        others.hear(invented(number), "lab")
    assert len(others.all()) == MOST_APPLIANCES + 1


def test_invented_ones_push_out_none_that_was_heard_before() -> None:
    clock = Clock()
    others = OtherAppliances(clock, own=frozenset)
    for minute in range(60):
        clock.now += timedelta(minutes=1)
        if minute % 5 == 0:
            others.hear(OTHER, "lab")
        for number in range(40):
            others.hear(invented(100 * minute + number), "lab")
        assert others.all()[0].mac == OTHER.mac


def test_of_those_that_come_when_all_places_are_taken_the_newest_is_kept() -> None:
    others = OtherAppliances(Clock(), own=frozenset)
    for number in range(MOST_APPLIANCES + 9):
        others.hear(invented(number), "lab")
    others.hear(OTHER, "lab")
    assert [each.mac for each in others.all()] == [
        *(invented(each).mac for each in range(MOST_APPLIANCES)), OTHER.mac,
    ]  # fmt: skip


def test_a_place_is_free_again_when_its_holder_is_silent() -> None:
    clock = Clock()
    others = OtherAppliances(clock, own=frozenset)
    for number in range(MOST_APPLIANCES + 1):
        others.hear(invented(number), "lab")
    clock.now += timedelta(minutes=7)
    later = [OTHER, invented(1_000)]
    for each in later:
        others.hear(each, "lab")
    assert [each.mac for each in others.all()] == [each.mac for each in later]


def test_a_flood_on_one_interface_takes_no_place_of_another() -> None:
    others = OtherAppliances(Clock(), own=frozenset)
    for number in range(400):
        others.hear(invented(number), "lab")
    others.hear(OTHER, "rack")
    assert ("rack", OTHER.mac) in {(each.interface, each.mac) for each in others.all()}


def test_who_uses_the_mac_of_another_one_does_not_change_its_address() -> None:
    others = OtherAppliances(Clock(), own=frozenset)
    others.hear(OTHER, "lab")
    others.hear(replace(OTHER, address=IPv4Address("172.30.0.99")), "lab")
    assert others.all()[0].address == OTHER.address


def test_this_host_has_interfaces() -> None:
    assert "00:00:00:00:00:00" in own_macs()  # loopback


async def test_a_question_of_another_appliance_is_no_machine() -> None:
    async with serving() as bench:
        bench.say(discover(bytes(range(9)), OTHER))
        bench.say(FIRMWARE)
        await bench.hear()
        assert {mac for mac, *_ in bench.lab.seen} == {FIRMWARE.mac}


def test_one_that_does_not_answer_two_questions_in_a_row_is_there_no_more() -> None:
    clock = Clock()
    others = OtherAppliances(clock, own=frozenset)

    def ask(*, answered: bool = False, together: int = 1) -> None:
        clock.now += timedelta(seconds=10)
        begun = clock.now
        clock.now += timedelta(seconds=5)
        if answered:
            others.hear(OTHER, "lab")
        for _ in range(together):
            others.asked(["lab", "rack"], begun)

    others.hear(OTHER, "lab")
    ask(together=3)  # three people ask at once
    assert [each.unanswered for each in others.all()] == [clock.now]
    ask(answered=True)
    assert [each.unanswered for each in others.all()] == [None]
    ask()
    assert others.all()
    ask()
    assert others.all() == ()


def test_a_question_on_another_interface_says_nothing_of_it() -> None:
    clock = Clock()
    others = OtherAppliances(clock, own=frozenset)
    others.hear(OTHER, "lab")
    for _ in range(3):
        clock.now += timedelta(seconds=10)
        others.asked(["rack"], clock.now)
    assert [each.unanswered for each in others.all()] == [None]
