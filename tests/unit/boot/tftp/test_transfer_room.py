"""Which transfers give way, whatever network they are of."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tinkbox.boot.tftp.transfer_room import SILENT_SECONDS, STALLED_SECONDS, TransferRoom
from tinkbox.model.limits import TFTP_TRANSFERS, Ledger, Room


@dataclass(eq=False)
class Transfer:
    started: float
    moved: float
    leave: Callable[["Transfer"], None]
    moving: bool = True
    ended: bool = False

    def give_way(self) -> None:
        self.ended = True
        self.leave(self)


class Bench:
    """Room for eight, four of them for strangers, two for each holder."""

    def __init__(self) -> None:
        self.now = 100.0
        self.ledger = Ledger(replace(TFTP_TRANSFERS, each=2, all=8), lambda: self.now)
        room = Room(ledger=self.ledger, known=lambda holder: holder.startswith("known"))
        self.room = TransferRoom(room, lambda: self.now)

    def begin(self, holder: str, *, moving: bool = True) -> Transfer | None:
        if not self.room.take(holder):
            return None
        made = Transfer(self.now, self.now, self.room.leave, moving)
        self.room.enter(made, holder)
        return made

    def begun(self, *holders: str, moving: bool = True) -> list[Transfer]:
        made = [self.begin(each, moving=moving) for each in holders]
        assert None not in made
        return [each for each in made if each is not None]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_stalled_one_of_a_holder_that_has_too_many_gives_way(bench: Bench) -> None:
    first, second = bench.begun("a", "a")
    assert bench.begin("a") is None
    bench.now += STALLED_SECONDS
    first.moved = bench.now
    assert bench.begin("a")
    assert (first.ended, second.ended) == (False, True)


def test_what_nobody_took_anything_of_gives_way_first(bench: Bench) -> None:
    moving = bench.begun("a", "a")
    (silent,) = bench.begun("b", moving=False)
    bench.begun("c")
    bench.now += 2 * SILENT_SECONDS
    assert bench.begin("d")
    assert silent.ended
    assert not any(each.ended for each in moving)


def test_the_holder_with_most_gives_way_to_one_that_would_have_less(bench: Bench) -> None:
    transfers = bench.begun("a", "a", "b", "b")
    transfers[0].moved += 1
    assert bench.begin("c")
    assert bench.begin("d")
    assert sum(each.ended for each in transfers) == 2
    assert (transfers[0].ended, transfers[1].ended) == (False, True)
    assert bench.begin("e") is None
    assert bench.begin("c") is None


def test_a_stranger_ends_nothing_where_that_makes_no_room_for_it(bench: Bench) -> None:
    transfers = bench.begun(*(f"known {each}" for each in "aabbcc"))
    assert bench.begin("stranger") is None
    assert not any(each.ended for each in transfers)
    assert bench.begin("known d")


def test_for_a_stranger_no_transfer_of_a_known_machine_ends(bench: Bench) -> None:
    transfers = bench.begun("known a", "known a", "b", "c")
    assert bench.begin("d") is None
    assert not any(each.ended for each in transfers)


def test_a_transfer_moves_to_the_host_behind_its_address(bench: Bench) -> None:
    first, second, third = bench.begun("address", "address", "other")
    assert bench.room.count_for("mac", first)
    assert bench.room.count_for("mac", second)
    assert (bench.ledger.held_by("address"), bench.ledger.held_by("mac")) == (0, 2)
    assert not bench.room.count_for("mac", third)
    assert third.ended
    assert bench.ledger.used == 2


def test_what_makes_room_for_itself_ends_and_leaves_nothing_behind(bench: Bench) -> None:
    first, _, *_ = bench.begun("address", "address", "b", "c")
    assert not bench.room.count_for("mac", first)
    assert first.ended
    assert (bench.ledger.held_by("mac"), bench.ledger.used) == (0, 3)
