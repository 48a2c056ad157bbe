"""Other appliances, by the mark in what they ask."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address

from tests.unit.boot.dhcp_bench import FIRMWARE, serving
from tinkbox.boot.dhcp.other_appliances import Asker, OtherAppliances, answer_to, asker_of, own_macs
from tinkbox.boot.dhcp.other_servers import discover
from tinkbox.model.hardware import MacAddress
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


def test_invented_ones_take_no_more_room_than_a_few() -> None:
    others = OtherAppliances(Clock(), own=frozenset)
    for number in range(40):
        others.hear(Asker(mac=MacAddress.from_bytes(bytes((0, 0, 0, 0, 0, number))), address=OTHER.address), "lab")
    assert len(others.all()) == 16


def test_this_host_has_interfaces() -> None:
    assert "00:00:00:00:00:00" in own_macs()  # loopback


async def test_a_question_of_another_appliance_is_no_machine() -> None:
    async with serving() as bench:
        bench.say(discover(bytes(range(9)), OTHER))
        bench.say(FIRMWARE)
        await bench.hear()
        assert {mac for mac, *_ in bench.lab.seen} == {FIRMWARE.mac}
