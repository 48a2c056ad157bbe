"""One survey for all who ask meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tinkbox.engine.doctor.surveys import Surveys


class Doctor:
    """Makes surveys, each of which ends when it is told so; `begun` and `made` are whether each of them listened."""

    def __init__(self) -> None:
        self.surveys = Surveys(self._make)
        self.begun: list[bool] = []
        self.made: list[bool] = []
        self.turns: list[str] = []
        self.begins, self.may_end = asyncio.Event(), asyncio.Event()

    async def _make(self, listens: bool) -> int:
        self.begun.append(listens)
        number = len(self.begun)
        self.begins.set()
        await self.may_end.wait()
        self.made.append(listens)
        return number

    async def ask(self, who: str = "ann", *, listens: bool = True) -> int:
        @asynccontextmanager
        async def turn() -> AsyncIterator[None]:
            self.turns.append(who)
            yield

        return await self.surveys.get(who, turn, listens=listens)


async def asked(number: int) -> None:
    """Until all who ask wait for their turn or have it."""
    for _ in range(3 * number):
        await asyncio.sleep(0)


async def test_those_who_ask_while_one_is_made_share_the_next() -> None:
    doctor = Doctor()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(doctor.ask())
        await doctor.begins.wait()
        others = [group.create_task(doctor.ask(who)) for who in ("ann", "bob", "bob", "eve")]
        await asked(5)
        doctor.may_end.set()
    assert first.result() == 1
    assert [each.result() for each in others] == [2, 2, 2, 2]
    assert doctor.turns == ["ann", "ann"]


async def test_one_that_began_before_answers_nobody_who_asks_now() -> None:
    doctor = Doctor()
    doctor.may_end.set()
    assert [await doctor.ask(), await doctor.ask()] == [1, 2]


async def test_one_that_does_not_listen_does_not_answer_who_wants_that_and_the_other_way_round_it_does() -> None:
    doctor = Doctor()
    async with asyncio.TaskGroup() as group:
        group.create_task(doctor.ask(listens=False))
        await doctor.begins.wait()
        wants = [group.create_task(doctor.ask(who, listens=who != "bob")) for who in ("ann", "bob", "eve")]
        await asked(4)
        doctor.may_end.set()
    assert doctor.begun == [False, True]
    assert [each.result() for each in wants] == [2, 2, 2]
    doctor = Doctor()
    async with asyncio.TaskGroup() as group:
        group.create_task(doctor.ask())
        await doctor.begins.wait()
        wants = [group.create_task(doctor.ask(who, listens=who != "ann")) for who in ("ann", "bob")]
        await asked(3)
        doctor.may_end.set()
    assert doctor.begun == [True, False, True]


async def test_who_leaves_ends_their_survey_and_the_next_one_makes_another() -> None:
    doctor = Doctor()
    async with asyncio.TaskGroup() as group:
        leaves = group.create_task(doctor.ask())
        await doctor.begins.wait()
        stays = group.create_task(doctor.ask("bob"))
        await asked(2)
        leaves.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaves
        doctor.may_end.set()
    assert (stays.result(), doctor.made) == (2, [True])
    assert doctor.surveys._made == {}
