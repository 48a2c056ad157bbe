from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from tinkbox.engine.shells.tickets import MOST, Tickets
from tinkbox.model.access import operator
from tinkbox.model.errors import Denied

ANNA = replace(operator("anna"), token="token of anna")


class Clock:
    now = datetime(2026, 11, 21, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tickets(clock: Clock) -> Tickets:
    numbers = count(1)
    return Tickets(clock, lambda: f"token-{next(numbers)}")


def test_a_ticket_says_once_whose_it_is_and_with_which_token(tickets: Tickets) -> None:
    mine, yours = tickets.issue("s1", ANNA), tickets.issue("s1", operator("ben"))
    assert [tickets.redeem(each, "s1").asker for each in (yours, mine)] == [operator("ben"), ANNA]
    with pytest.raises(Denied):
        tickets.redeem(mine, "s1")


def test_a_ticket_is_for_one_shell_and_stays_good_for_it(tickets: Tickets) -> None:
    mine = tickets.issue("s1", ANNA)
    with pytest.raises(Denied):
        tickets.redeem(mine, "s2")
    assert tickets.redeem(mine, "s1").asker == ANNA


@pytest.mark.parametrize("text", ["", "token-2", "token-1 "])
def test_nobody_is_let_in_without_one(tickets: Tickets, text: str) -> None:
    tickets.issue("s1", ANNA)
    with pytest.raises(Denied):
        tickets.redeem(text, "s1")


def test_a_ticket_lasts_half_a_minute(tickets: Tickets, clock: Clock) -> None:
    first, second = tickets.issue("s1", ANNA), tickets.issue("s1", ANNA)
    clock.now += timedelta(seconds=29)
    assert tickets.redeem(first, "s1").asker == ANNA
    clock.now += timedelta(seconds=1)
    with pytest.raises(Denied):
        tickets.redeem(second, "s1")


def test_tickets_that_nobody_used_are_forgotten(tickets: Tickets, clock: Clock) -> None:
    for _ in range(100):
        tickets.issue("s1", ANNA)
    clock.now += timedelta(minutes=1)
    tickets.issue("s1", ANNA)
    assert len(tickets._valid) == 1


def test_oldest_of_too_many_tickets_is_forgotten(tickets: Tickets) -> None:
    first, second, *_ = [tickets.issue("s1", ANNA) for _ in range(MOST + 1)]
    with pytest.raises(Denied):
        tickets.redeem(first, "s1")
    assert tickets.redeem(second, "s1").asker == ANNA
