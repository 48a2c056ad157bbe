"""The same work on many things by a few threads."""

import queue
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def each(
    things: Iterable[T], work: Callable[[T], None], threads: int, give_up: Callable[[], None] = lambda: None
) -> None:
    """Do `work` for each of the things, in about their order; the first exception ends it all.

    Returns when no thread works any more; `give_up` is told to hurry those that wait.
    """
    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    for thing in things:
        waiting.put(thing)
    problems: list[BaseException] = []

    def run() -> None:
        while not problems:
            try:
                thing = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                work(thing)
            except BaseException as problem:
                problems.append(problem)
                give_up()

    running = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if problems:
        raise problems[0]
