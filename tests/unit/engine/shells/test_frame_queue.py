import asyncio

import pytest

from tests.unit.hosting.virtual_time import run
from tinkbox.engine.shells.frame_queue import CutOff, FrameQueue
from tinkbox.wire.messages.shell import Channel, Frame


def said(text: str) -> Frame:
    return Frame(Channel.STDOUT, text.encode())


async def test_frames_are_taken_in_their_order_and_the_end_comes_last() -> None:
    outbox = FrameQueue()
    outbox.put(said("a"))
    outbox.put(said("b"))
    outbox.close()
    outbox.put(said("late"))
    assert [await outbox.take() for _ in range(4)] == [said("a"), said("b"), None, None]


async def test_who_takes_waits_for_the_next_frame_and_for_the_end() -> None:
    outbox = FrameQueue()
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for last in (False, True):
            taking = group.create_task(outbox.take())
            await asyncio.sleep(0)
            assert not taking.done()
            outbox.close() if last else outbox.put(said("a"))
            assert await taking == (None if last else said("a"))


async def test_there_is_room_again_when_enough_was_taken() -> None:
    outbox = FrameQueue(limit=10)
    outbox.put(said("12345"))
    await outbox.room()
    outbox.put(said("12345"))
    assert outbox.full
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        waiting = group.create_task(outbox.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        await outbox.take()
        await waiting
    assert not outbox.full
    assert not outbox.empty


async def test_who_takes_nothing_of_what_is_full_is_cut_off() -> None:
    outbox = FrameQueue(limit=1, patience=0.05)
    outbox.put(said("a"))
    async with asyncio.timeout(60):
        with pytest.raises(CutOff):
            await outbox.cut()
        await outbox.room()
        with pytest.raises(CutOff):
            await outbox.take()


def test_who_takes_slowly_is_given_time() -> None:
    async def story() -> None:
        outbox = FrameQueue(limit=1, patience=0.2)
        outbox.put(said("a"))
        for _ in range(10):
            await asyncio.sleep(0.05)
            outbox.put(said("a"))
            assert await outbox.take() == said("a")
        with pytest.raises(CutOff):
            async with asyncio.timeout(60):
                await outbox.cut()

    run(story)  # a host that stands still makes nobody slow


async def test_without_patience_there_is_no_end_to_it() -> None:
    outbox = FrameQueue(limit=1)
    outbox.put(said("a"))
    async with asyncio.TaskGroup() as group:
        cut = group.create_task(outbox.cut())
        await asyncio.sleep(0.05)
        assert not cut.done()
        cut.cancel()
    assert await outbox.take() == said("a")


async def test_another_peer_goes_on_with_what_the_first_left() -> None:
    outbox = FrameQueue()
    outbox.put(said("a"))
    outbox.put(said("b"))
    assert await outbox.take() == said("a")
    other = outbox.handed_over()
    async with asyncio.timeout(60):
        with pytest.raises(CutOff):
            await outbox.cut()
        with pytest.raises(CutOff):
            await outbox.take()
        assert await other.take() == said("b")
