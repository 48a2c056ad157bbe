"""Images leave to others what is reserved, and take no more than they may."""

import pytest

from tinkbox.model.errors import Full
from tinkbox.registry.blobs.room import Room

MIB = 1 << 20


@pytest.mark.parametrize(
    ("free", "more", "fits"), [(100, 36, True), (100, 37, False), (64, 0, True), (63, 0, False), (10, 1, False)]
)
def test_the_reserve_is_never_touched(free: int, more: int, fits: bool) -> None:
    room = Room(free=lambda: free * MIB, reserve=64 * MIB)
    if fits:
        room.refuse_beyond(0, more * MIB)
        return
    told = rf"{free}MiB of its disk are free, and 64MiB are reserved.*images\.reserve.*tinkbox image gc"
    with pytest.raises(Full, match=told):
        room.refuse_beyond(0, more * MIB)


def test_all_images_take_at_most_what_they_may() -> None:
    room = Room(most=10 * MIB)
    room.refuse_beyond(9 * MIB, MIB)
    with pytest.raises(Full, match=r"holds 9MiB of 10MiB \(images\.most\).*or raise images\.most"):
        room.refuse_beyond(9 * MIB, MIB + 1)


@pytest.mark.parametrize(
    ("free", "most", "taken", "left"),
    [(100, None, 5, 36), (100, 50, 20, 30), (100, 100, 20, 36), (10, None, 0, 0), (100, 10, 20, 0)],
)
def test_what_may_still_come_is_told(free: int, most: int | None, taken: int, left: int) -> None:
    room = Room(free=lambda: free * MIB, reserve=64 * MIB, most=None if most is None else most * MIB)
    assert room.left(taken * MIB) == left * MIB
    assert room.is_full(taken * MIB) == (left == 0)
