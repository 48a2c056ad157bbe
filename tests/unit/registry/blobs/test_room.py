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
        room.refuse_beyond(0, 0, more * MIB)


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


@pytest.mark.parametrize(
    ("free", "most", "taken", "left"),
    [(100, None, 5, 36), (100, 50, 20, 30), (100, 100, 20, 36), (10, None, 0, 0), (100, 10, 20, 0)],
)
def test_what_may_still_come_is_told(free: int, most: int | None, taken: int, left: int) -> None:
    room = Room(free=lambda: free * MIB, reserve=64 * MIB, most=None if most is None else most * MIB)
    assert room.left(taken * MIB) == left * MIB
    assert room.is_full(taken * MIB) == (left == 0)
