"""Who holds how much, who is refused, and what is told of it."""

from dataclasses import replace

from tinkbox.model import limits
from tinkbox.model.limits import DECLARED, LATELY, REMEMBERED, Ledger, Limit, Limits, fitted, open_files, worth_telling

LIMIT = Limit(name="things", unit="thing", each=4, all=10, reserved=0.3, descriptors=2, about="things")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def ledger(limit: Limit = LIMIT) -> Ledger:
    return Ledger(limit, Clock())


def taken(of: Ledger, holder: str, times: int, *, known: bool = False) -> int:
    return sum(of.take(holder, known=lambda _: known) for _ in range(times))


def test_one_of_a_thing_is_said_in_the_singular() -> None:
    assert [LIMIT.shown(amount) for amount in (0, 1, 2)] == ["0 things", "1 thing", "2 things"]


def test_one_holder_has_its_own_limit_and_gets_more_when_it_gave_back() -> None:
    things = ledger()
    assert taken(things, "a", 9) == 4
    things.give_back("a")
    assert taken(things, "a", 9) == 1
    assert taken(things, "b", 9) == 3, "what strangers may have in all"


def test_amounts_are_taken_whole_or_not_at_all() -> None:
    things = ledger()
    assert things.take("a", 3)
    assert not things.take("a", 2)
    assert (things.used, things.held_by("a")) == (3, 3)


def test_known_holders_are_served_when_strangers_took_all_they_may() -> None:
    things = ledger()
    assert sum(taken(things, f"stranger {each}", 1) for each in range(50)) == 7
    assert taken(things, "machine", 9, known=True) == 3
    assert things.used == LIMIT.all


def test_nobody_is_asked_whether_it_is_known_while_there_is_room() -> None:
    def asked(_: str) -> bool:
        raise AssertionError

    assert ledger().take("a", known=asked)


def test_the_first_refusal_of_each_holder_is_told_and_again_after_a_while() -> None:
    clock, told = Clock(), list[str]()
    things = Ledger(LIMIT, clock, lambda limit, holder: told.append(f"{holder}: {limit.name}"))
    taken(things, "a", 50)
    taken(things, "b", 9)
    assert told == ["a: things", "b: things"]
    clock.now += LATELY
    taken(things, "a", 2)
    assert told == ["a: things", "b: things", "a: things"]


def test_those_held_back_are_named_the_worst_first_for_a_while() -> None:
    clock = Clock()
    things = Ledger(LIMIT, clock)
    taken(things, "a", 5)
    taken(things, "b", 100)
    standing = things.standing()
    assert [(each.holder, each.held, each.refused) for each in standing.held_back] == [("b", 3, 97), ("a", 4, 1)]
    assert standing.notable
    for holder, held in (("a", 4), ("b", 3)):
        things.give_back(holder, held)
    clock.now += LATELY + 1
    standing = things.standing()
    assert (standing.held_back, standing.refused, standing.notable) == ((), 98, False)


def test_a_holder_at_its_limit_is_not_named_until_it_is_refused() -> None:
    things = ledger()
    taken(things, "a", 4)
    assert not things.standing().notable
    taken(things, "a", 1)
    assert [(each.holder, each.refused) for each in things.standing().held_back] == [("a", 1)]


def test_memory_is_bounded_however_many_holders_are_refused() -> None:
    things = ledger(replace(LIMIT, all=4))
    for each in range(REMEMBERED * 3):
        things.take(str(each))
    assert len(things._held) == 3
    assert len(things._refusals) == REMEMBERED
    assert things.refused == REMEMBERED * 3 - 3


def test_every_declared_limit_has_one_ledger_of_the_size_that_was_chosen() -> None:
    chosen = [replace(each, all=each.all + 1) for each in DECLARED]
    made = Limits(chosen, Clock())
    for declared in DECLARED:
        assert made.of(declared) is made.of(declared)
        assert made.of(declared).limit.all == declared.all + 1
    assert [each.limit.name for each in made.standings()] == [each.name for each in DECLARED]


def test_declarations_fit_together() -> None:
    assert len({each.name for each in DECLARED}) == len(DECLARED)
    assert all(1 <= each.least <= each.each <= each.all for each in DECLARED)
    assert all(bool(each.needed_for) == (each.least > 1) for each in DECLARED)
    declared = {each for each in vars(limits).values() if isinstance(each, Limit)}
    assert declared == set(DECLARED), "a limit that is not listed in DECLARED has no setting and no ledger"


def test_limits_are_lowered_until_the_open_files_suffice() -> None:
    wanted = open_files(DECLARED)
    assert fitted(DECLARED, wanted) is DECLARED
    for room in (wanted - 1, 1000, 512):
        lowered = fitted(DECLARED, room)
        assert open_files(lowered) <= room
        assert all(1 <= each.each <= each.all for each in lowered)


def test_the_log_is_told_less_and_less_often() -> None:
    assert [each for each in range(1, 100) if worth_telling(each)] == [1, 2, 4, 8, 16, 32, 64]
