"""Interfaces of ours on which one question comes in twice."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address

from tinkbox.boot.dhcp.joined_networks import JoinedNetworks
from tinkbox.boot.dhcp.other_appliances import Asker
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import JoinedInterfaces

MAC = MacAddress("08:00:27:00:00:07")
OWN = {"lab": IPv4Address("172.30.0.1"), "lab2": IPv4Address("172.29.0.1")}
US = Asker(mac=MacAddress("02:00:00:00:00:01"), address=OWN["lab"])
XID = b"\1\2\3\4"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 29, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def test_a_question_that_comes_in_on_two_interfaces_joins_them_for_a_while() -> None:
    clock = Clock()
    joined = JoinedNetworks(OWN, clock)
    joined.hear(MAC, XID, "lab2")
    assert joined.all() == ()
    joined.hear(MAC, XID, "lab")
    assert joined.all() == (JoinedInterfaces(interfaces=("lab", "lab2"), at=clock.now, mac=MAC),)
    clock.now += timedelta(minutes=7)
    assert joined.all() == ()


def test_other_questions_join_nothing() -> None:
    clock = Clock()
    joined = JoinedNetworks(OWN, clock)
    joined.hear(MAC, XID, "lab")
    joined.hear(MAC, XID, "lab")
    joined.hear(MAC, b"\0\0\0\1", "lab2")
    joined.hear(MacAddress("08:00:27:00:00:08"), XID, "lab2")
    clock.now += timedelta(seconds=2)  # its cable was put into the other network, and it asks again
    joined.hear(MAC, XID, "lab2")
    assert joined.all() == ()


def test_our_own_question_joins_where_it_comes_in_on_another_interface_and_has_its_number() -> None:
    clock = Clock()
    joined = JoinedNetworks(OWN, clock)
    joined.hear_own(US, 7, "lab2")
    joined.asking(7)
    joined.hear_own(US, 8, "lab2")
    joined.hear_own(US, 7, "lab")
    assert joined.all() == (), "a host that makes our mark up does not know the number"
    joined.hear_own(US, 7, "lab2")
    assert joined.all() == (JoinedInterfaces(interfaces=("lab", "lab2"), own_at=clock.now),)


def test_two_are_apart_again_when_we_asked_and_heard_nothing_of_it() -> None:
    clock = Clock()
    joined = JoinedNetworks(OWN, clock)
    begun = clock.now
    clock.now += timedelta(seconds=1)
    joined.hear(MAC, XID, "lab")
    joined.hear(MAC, XID, "lab2")
    joined.asked(begun)
    assert len(joined.all()) == 1
    joined.asked(clock.now)
    assert joined.all() == ()


def test_invented_questions_take_no_more_room_than_a_few() -> None:
    joined = JoinedNetworks(OWN, Clock())
    joined.hear(MAC, XID, "lab")
    for number in range(256):
        joined.hear(MAC, number.to_bytes(4, "big"), "lab")
    joined.hear(MAC, XID, "lab2")
    assert joined.all() == (), "the oldest made room"
