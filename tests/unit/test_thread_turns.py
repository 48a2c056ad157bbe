"""Work in a thread, within a turn."""

import asyncio
import threading

from tinkbox.thread_turns import in_thread


async def test_a_turn_ends_with_its_thread_though_nobody_awaits_it_any_more() -> None:
    lock, begun, go_on = asyncio.Lock(), asyncio.Event(), threading.Event()
    loop, order = asyncio.get_running_loop(), list[str]()

    def turn() -> asyncio.Lock:
        return lock

    def slow() -> None:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(60)
        order.append("anna")

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        first = group.create_task(in_thread(turn, slow))
        await begun.wait()
        first.cancel()
        group.create_task(in_thread(turn, order.append, "bert"))
        for _ in range(5):
            await asyncio.sleep(0)
        go_on.set()
    assert order == ["anna", "bert"]
    assert first.cancelled()
