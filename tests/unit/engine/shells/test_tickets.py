from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from tinkbox.engine.shells.tickets import Tickets
from tinkbox.model.errors import Denied


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
    mine, yours = tickets.issue("s1", "anna", "token of anna"), tickets.issue("s1", "ben", "")
    assert [(each.person, each.token) for each in (tickets.redeem(yours, "s1"), tickets.redeem(mine, "s1"))] == [
        ("ben", ""),
        ("anna", "token of anna"),
    ]
    with pytest.raises(Denied):
        tickets.redeem(mine, "s1")


def test_a_ticket_is_for_one_shell_and_stays_good_for_it(tickets: Tickets) -> None:
    mine = tickets.issue("s1", "anna", "")
    with pytest.raises(Denied):
        tickets.redeem(mine, "s2")
    assert tickets.redeem(mine, "s1").person == "anna"


@pytest.mark.parametrize("text", ["", "token-2", "token-1 "])
def test_nobody_is_let_in_without_one(tickets: Tickets, text: str) -> None:
    tickets.issue("s1", "anna", "")
    with pytest.raises(Denied):
        tickets.redeem(text, "s1")


def test_a_ticket_lasts_half_a_minute(tickets: Tickets, clock: Clock) -> None:
    first, second = tickets.issue("s1", "anna", ""), tickets.issue("s1", "anna", "")
    clock.now += timedelta(seconds=29)
    assert tickets.redeem(first, "s1").person == "anna"
    clock.now += timedelta(seconds=1)
    with pytest.raises(Denied):
        tickets.redeem(second, "s1")


def test_tickets_that_nobody_used_are_forgotten(tickets: Tickets, clock: Clock) -> None:
    for _ in range(100):
        tickets.issue("s1", "anna", "")
    clock.now += timedelta(minutes=1)
    tickets.issue("s1", "anna", "")
    assert len(tickets._valid) == 1
