"""Images leave to others what is reserved, and take no more than they may."""

from datetime import UTC, datetime

import pytest

from tinkbox.model.errors import Full
from tinkbox.model.images.room import Amount, Waiting
from tinkbox.registry.blobs.room import Room

MIB = 1 << 20


@pytest.mark.parametrize(
    ("free", "more", "fits"), [(100, 36, True), (100, 37, False), (64, 0, True), (63, 0, False), (10, 1, False)]
)
def test_the_reserve_is_never_touched(free: int, more: int, fits: bool) -> None:
    room = Room(free=lambda: free * MIB, reserve=64 * MIB)
    if fits:
        room.refuse_beyond(0, 0, more * MIB)
        return
    told = rf"{free}MiB of its disk are free, and 64MiB are reserved.*images\.reserve.*tinkbox image gc"
    with pytest.raises(Full, match=told):
        room.refuse_beyond(1, 0, more * MIB)


def test_all_images_take_at_most_what_they_may() -> None:
    room = Room(most=10 * MIB)
    room.refuse_beyond(9 * MIB, 0, MIB)
    with pytest.raises(Full, match=r"holds 9MiB of 10MiB \(images\.most\).*or raise images\.most"):
        room.refuse_beyond(9 * MIB, 0, MIB + 1)
    with pytest.raises(Full, match=r"holds 1MiB of 10MiB \(images\.most\), with 9MiB on their way in:"):
        room.refuse_beyond(MIB, 9 * MIB, 1)


def test_what_can_be_freed_at_once_is_told() -> None:
    until = datetime(2026, 11, 1, 12, 40, tzinfo=UTC)
    waiting = Waiting(blobs=Amount(number=1, octets=5 * MIB), until=until)
    told = "`tinkbox image gc --now` frees 1 blob of 5MiB, which no image needs, kept until 12:40 UTC for pushes"
    for room in (Room(most=10 * MIB), Room(free=lambda: 0)):
        with pytest.raises(Full, match=told):
            room.refuse_beyond(9 * MIB, 0, 2 * MIB, lambda: waiting)


def test_to_free_something_is_told_where_there_is_something() -> None:
    with pytest.raises(Full, match=r"that are left: raise images\.most"):
        Room(most=10 * MIB).refuse_beyond(0, 0, 11 * MIB)
    with pytest.raises(Full, match=r"that are left: free some with .*, then try again, or raise images\.most"):
        Room(most=10 * MIB).refuse_beyond(1, 0, 11 * MIB)
    with pytest.raises(
        Full, match=r"\(images\.reserve\): free room on that disk, or give the data folder a larger one"
    ):
        Room(free=lambda: 0, reserve=MIB).refuse_beyond(0, 0, 1)


def test_what_belongs_to_the_same_push_is_not_told_as_another_on_its_way() -> None:
    room = Room(most=10 * MIB)
    with pytest.raises(
        Full, match=r"\(images\.most\), with 1MiB on their way in, and what comes has more than the 7MiB that"
    ):
        room.refuse_beyond(2 * MIB, 8 * MIB, MIB, own=7 * MIB)


@pytest.mark.parametrize("room", [Room(most=10 * MIB), Room(free=lambda: 6 * MIB, reserve=5 * MIB)])
def test_what_may_be_free_soon_is_told_where_that_is_enough(room: Room) -> None:
    with pytest.raises(
        Full, match=r": try again in 10 seconds, since 2MiB are of uploads that wait or were broken off, and"
    ):
        room.refuse_beyond(0, 9 * MIB, 3 * MIB, resting=2 * MIB)
    with pytest.raises(Full) as soon:
        room.refuse_beyond(0, 9 * MIB, 3 * MIB, resting=2 * MIB)
    assert soon.value.way_out
    assert "try again" not in soon.value.way_out, "who hears of it later"
    with pytest.raises(Full) as refused:
        room.refuse_beyond(0, 9 * MIB, 3 * MIB, resting=MIB)
    assert "try again" not in str(refused.value)


def test_what_is_ending_is_room_for_more() -> None:
    room = Room(free=lambda: 10 * MIB, reserve=9 * MIB, most=20 * MIB)
    assert room.left(19 * MIB, 5 * MIB) == 6 * MIB
    assert Room(most=20 * MIB).left(25 * MIB, 4 * MIB) == 0


@pytest.mark.parametrize(
    ("free", "most", "taken", "left"),
    [(100, None, 5, 36), (100, 50, 20, 30), (100, 100, 20, 36), (10, None, 0, 0), (100, 10, 20, 0)],
)
def test_what_may_still_come_is_told(free: int, most: int | None, taken: int, left: int) -> None:
    room = Room(free=lambda: free * MIB, reserve=64 * MIB, most=None if most is None else most * MIB)
    assert room.left(taken * MIB) == left * MIB
    assert room.is_full(taken * MIB) == (left == 0)
