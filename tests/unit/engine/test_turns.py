"""Whose work is done when."""

import asyncio
import gc
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from tests.loop_turns import turns
from tinkbox.engine.turns import (
    AT_ONCE,
    AWHILE,
    SELDOM,
    SLICE,
    SLICE_SECONDS,
    Rehearsals,
    SeldomCollected,
    Turns,
    in_slices,
)
from tinkbox.model.errors import TooMany
from tinkbox.model.limits import RENDERINGS, Ledger, Limit

SMALL = Limit(name="renderings", unit="rendering", each=3, all=5, about="")


class Line:
    """A queue with one turn at a time, and the order in which turns came."""

    def __init__(self, group: asyncio.TaskGroup, limit: Limit = RENDERINGS) -> None:
        self.queue = Turns(Ledger(limit, lambda: 0.0), at_once=1)
        self.order: list[str] = []
        self._group = group
        self._go_on = asyncio.Event()

    async def ask(self, who: str, name: str = "") -> asyncio.Task[None]:
        asked = self._group.create_task(self._render(who, name or who))
        await settle()
        return asked

    def go_on(self) -> None:
        self._go_on.set()

    async def _render(self, who: str, name: str) -> None:
        with self.queue.place(who) as turn:
            async with turn():
                self.order.append(name)
                await self._go_on.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_people_take_turns_however_much_one_of_them_asked_for() -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        line = Line(group)
        for name in ("a1", "a2", "a3"):
            await line.ask("anna", name)
        await line.ask("bert")
        await line.ask("cora")
        assert line.order == ["a1"]
        line.go_on()
    assert line.order == ["a1", "a2", "bert", "cora", "a3"]


async def test_beyond_a_persons_places_and_those_of_all_it_is_refused() -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        line = Line(group, SMALL)
        for _ in range(3):
            await line.ask("anna")
        with pytest.raises(TooMany, match="3 for one person, 5 in all"), line.queue.place("anna"):
            pass
        for _ in range(2):
            await line.ask("bert")
        with pytest.raises(TooMany), line.queue.place("cora"):
            pass
        line.go_on()
    with line.queue.place("anna"):  # given back
        pass


async def test_whoever_goes_away_leaves_the_line_and_their_turn() -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        line = Line(group)
        first, second, third = [await line.ask(who) for who in ("anna", "bert", "cora")]
        second.cancel()
        await settle()
        first.cancel()
        await settle()
        assert line.order == ["anna", "cora"]
        line.go_on()
        await third
        async with AsyncExitStack() as stack:
            turn = stack.enter_context(line.queue.place("anna"))
            await stack.enter_async_context(turn())


async def test_a_turn_that_comes_while_its_owner_goes_away_is_passed_on() -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        line = Line(group)
        first, second = await line.ask("anna"), await line.ask("bert")
        third = await line.ask("cora")
        line.go_on()
        await first
        second.cancel()
        await third
        assert line.order[0] == "anna"
        assert line.order[-1] == "cora"


async def test_a_turn_is_not_lost_where_those_who_wait_go_away_while_it_is_passed_on() -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        line = Line(group)
        first = await line.ask("anna")
        gone = [await line.ask("bert", "b1"), await line.ask("bert", "b2"), await line.ask("cora")]
        last = await line.ask("dora")
        line.go_on()
        for each in (first, *gone):  # all at once: none of them has noticed yet when the turn is passed on
            each.cancel()
        await last
        assert line.order == ["anna", "dora"]
        await line.ask("emma")
    assert line.order == ["anna", "dora", "emma"]


async def test_between_two_slices_others_have_their_turn() -> None:
    async with turns() as made:

        def make(entry: int) -> str:
            made.note()
            return str(entry)

        entries = range(2 * SLICE + 1)
        assert await in_slices(make, entries, clock=lambda: 0.0) == [str(each) for each in entries]
    assert made.each == [SLICE, SLICE, 1]


async def test_what_comes_and_goes_meanwhile_is_in_nobodys_way() -> None:
    entries = dict.fromkeys(range(SLICE + 1))
    async with asyncio.TaskGroup() as group:
        made = group.create_task(in_slices(str, entries.keys(), clock=lambda: 0.0))
        await asyncio.sleep(0)
        entries.clear()
    assert len(made.result()) == SLICE + 1


async def test_a_slice_of_large_entries_has_few_of_them() -> None:
    now = 0.0
    async with turns() as made:

        def make(_: int) -> None:
            nonlocal now
            now += SLICE_SECONDS / 2
            made.note()

        await in_slices(make, range(6), clock=lambda: now)
    assert made.each == [2, 2, 2]


async def test_of_each_person_one_work_is_under_way_and_others_wait_for_none_of_it() -> None:
    own, under_way, go_on = Rehearsals(), list[str](), asyncio.Event()

    async def work(who: str) -> None:
        async with own.turn(who):
            under_way.append(who)
            await go_on.wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        first, *_ = [group.create_task(work(who)) for who in ("anna", "anna", "anna", "bert")]
        await settle()
        assert under_way == ["anna", "bert"]
        first.cancel()
        await settle()
        assert under_way == ["anna", "bert", "anna"]
        go_on.set()


async def test_of_all_people_few_works_are_under_way_and_the_others_come_in_their_order() -> None:
    """What each has read is in memory."""
    works, under_way, go_on = Rehearsals(), list[str](), [asyncio.Event() for _ in range(5)]

    async def work(number: int) -> None:
        async with works.turn(f"person {number}"):
            under_way.append(f"person {number}")
            await go_on[number].wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for each in range(5):
            group.create_task(work(each))
        for over in range(5):
            await settle()
            assert under_way == [f"person {each}" for each in range(min(over + AT_ONCE, 5))]
            go_on[over].set()


async def test_garbage_is_looked_for_among_all_seldom_until_a_while_after_the_last_large_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seldom, usual, later = SeldomCollected(), gc.get_threshold(), list[tuple[float, Callable[[], None]]]()
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda delay, call: later.append((delay, call)))
    with seldom:
        assert gc.get_threshold() == (*usual[:2], SELDOM)
        with seldom:
            pass
    assert [delay for delay, _ in later] == [AWHILE, AWHILE]
    later[0][1]()
    assert gc.get_threshold() == (*usual[:2], SELDOM)
    later[1][1]()
    assert gc.get_threshold() == usual
