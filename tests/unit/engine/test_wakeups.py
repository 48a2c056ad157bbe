"""Wakeups wake those who wait, and remember nothing."""

import asyncio

import pytest

from tinkbox.engine.wakeups import Wakeups


async def test_everybody_who_waits_for_a_name_is_woken() -> None:
    wakeups = Wakeups()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = [group.create_task(wakeups.wait("a", 60)) for _ in range(3)]
        other = group.create_task(wakeups.wait("b", 60))
        await asyncio.sleep(0)
        wakeups.wake("a")
        for task in waiting:
            await task
        assert not other.done()
        wakeups.wake("b")


async def test_a_ring_that_nobody_waits_for_is_forgotten() -> None:
    wakeups = Wakeups()
    wakeups.wake("a")
    async with asyncio.timeout(60):
        await wakeups.wait("a", 0.01)


async def test_what_rings_while_something_is_done_first_is_not_missed() -> None:
    wakeups = Wakeups()
    async with asyncio.timeout(60):
        async with wakeups.listening("a", 60):
            wakeups.wake("a")
        with pytest.raises(KeyError):
            async with wakeups.listening("a", 60):
                raise KeyError
    assert wakeups._waiting == {}


async def test_waiting_leaves_nothing_behind() -> None:
    wakeups = Wakeups()
    for _ in range(100):
        await wakeups.wait("a", 0)
    assert wakeups._waiting == {}
