"""Bells wake those who wait, and remember nothing."""

import asyncio

import pytest

from tinkbox.engine.bells import Bells


async def test_a_ring_wakes_everybody_who_waits_for_that_bell() -> None:
    bells = Bells()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = [group.create_task(bells.wait("a", 60)) for _ in range(3)]
        other = group.create_task(bells.wait("b", 60))
        await asyncio.sleep(0)
        bells.ring("a")
        for task in waiting:
            await task
        assert not other.done()
        bells.ring("b")


async def test_a_ring_that_nobody_waits_for_is_forgotten() -> None:
    bells = Bells()
    bells.ring("a")
    async with asyncio.timeout(60):
        await bells.wait("a", 0.01)


async def test_what_rings_while_something_is_done_first_is_not_missed() -> None:
    bells = Bells()
    async with asyncio.timeout(60):
        async with bells.listening("a", 60):
            bells.ring("a")
        with pytest.raises(KeyError):
            async with bells.listening("a", 60):
                raise KeyError
    assert bells._waiting == {}


async def test_waiting_leaves_nothing_behind() -> None:
    bells = Bells()
    for _ in range(100):
        await bells.wait("a", 0)
    assert bells._waiting == {}
