"""Who gives way where all room is taken."""

import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from tinkbox.model.fair_room import FairRoom
from tinkbox.model.limits import NODE_CONNECTIONS, Ledger, Room


@dataclass(eq=False)
class Thing:
    room: "FairRoom[Thing]"
    number: int
    ended: bool = False

    def give_way(self) -> None:
        self.ended = True
        self.room.leave(self)


class Bench:
    """Room for eight, four of them for strangers, six for each holder."""

    def __init__(self, reserved: float = 0.5) -> None:
        self.ledger = Ledger(replace(NODE_CONNECTIONS, each=6, all=8, reserved=reserved), lambda: 0.0)
        self.plain = Room(ledger=self.ledger, known=lambda holder: holder.startswith("known"))
        self.room = FairRoom[Thing](self.plain, lambda those: min(those, key=lambda each: each.number))
        self.made = list[Thing]()

    def begin(self, holder: str) -> Thing | None:
        if not self.room.take(holder):
            return None
        thing = Thing(self.room, -len(self.made))
        self.made.append(thing)
        self.room.enter(thing, holder)
        return thing


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_many_names_of_one_host_leave_each_other_machine_its_share(bench: Bench) -> None:
    for number in range(4):
        assert bench.begin(f"known {number}")
        assert bench.begin(f"known {number}")
    assert bench.room.has_room("known innocent")
    assert bench.begin("known innocent")
    assert not bench.room.has_room("known innocent")
    assert bench.begin("known innocent") is None
    assert sum(each.ended for each in bench.made) == 1


def test_the_one_that_is_first_to_end_ends_and_its_holder_is_told_as_held_back(bench: Bench) -> None:
    for _ in range(6):
        bench.begin("known a")
    for _ in range(2):
        bench.begin("known b")
    assert bench.begin("known c")
    assert [each.ended for each in bench.made] == [False] * 5 + [True] + [False] * 3
    (held_back,) = bench.ledger.standing().held_back
    assert (held_back.holder, held_back.held, held_back.refused) == ("known a", 5, 1)


def test_who_has_all_that_one_may_have_gets_no_more_for_anybody_s(bench: Bench) -> None:
    for _ in range(6):
        bench.begin("known a")
    assert bench.begin("known a") is None
    assert not any(each.ended for each in bench.made)


def test_where_nothing_is_kept_for_known_machines_a_stranger_has_of_theirs() -> None:
    bench = Bench(reserved=0.0)
    for number in range(2):
        for _ in range(4):
            assert bench.begin(f"known {number}")
    assert bench.begin("stranger")
    assert sum(each.ended for each in bench.made) == 1


def test_a_stranger_takes_another_one_s_place_whatever_known_machines_took_since(bench: Bench) -> None:
    for _ in range(4):
        assert bench.begin("stranger")
    assert bench.begin("known")
    assert bench.begin("other")
    assert (bench.ledger.held_by("stranger"), bench.ledger.held_by("other"), bench.ledger.used) == (3, 1, 5)


def test_who_is_known_in_between_is_safe_from_strangers_from_then_on() -> None:
    bench, known = Bench(), set[str]()
    bench.plain = Room(ledger=bench.ledger, known=known.__contains__)
    bench.room = FairRoom[Thing](bench.plain, lambda those: next(iter(those)))
    for _ in range(3):
        assert bench.begin("anna")
    known.add("anna")
    assert bench.begin("anna")
    assert bench.begin("stranger") is None
    assert not any(each.ended for each in bench.made)


def test_a_stranger_has_of_strangers_alone(bench: Bench) -> None:
    for _ in range(3):
        bench.begin("known a")
    assert bench.begin("stranger")
    assert bench.begin("other") is None
    assert bench.begin("known b")
    assert not any(each.ended for each in bench.made)


def test_a_known_machine_has_of_strangers_as_well(bench: Bench) -> None:
    for _ in range(4):
        bench.begin("stranger")
    for number in range(4):
        bench.begin(f"known {number}")
    assert bench.begin("known 4")
    assert sum(each.ended for each in bench.made[:4]) == 1


def test_who_has_most_is_known_whatever_came_and_went(bench: Bench) -> None:
    chosen = random.Random(7)
    holders = ["known a", "known b", "b", "c", "d", "e"]
    for _ in range(3000):
        there = [each for each in bench.made if not each.ended]
        if there and chosen.random() < 0.4:
            chosen.choice(there).give_way()
            continue
        holder = chosen.choice(holders)
        before = Counter({each: bench.ledger.held_by(each) for each in holders})
        ended = {id(each) for each in bench.made if each.ended}
        free = bench.plain.has_room(holder)
        bench.begin(holder)
        gone = [each for each in bench.made if each.ended and id(each) not in ended]
        assert len(gone) <= (not free)
        if gone:
            after = Counter({each: bench.ledger.held_by(each) for each in holders})
            (loser,) = (each for each in holders if after[each] < before[each])
            among = [each for each in holders if holder.startswith("known") or not each.startswith("known")]
            assert before[loser] == max(before[each] for each in among) >= before[holder] + 2
        assert bench.ledger.used == sum(not each.ended for each in bench.made) <= 8
