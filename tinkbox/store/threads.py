"""A thread that owns one connection to the SQLite file, and answers in groups what it is asked.

What is asked is a plain function, which runs where the connection is: a statement costs no hop between threads.  What
waits together is answered together, and wakes the event loop once.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
GROUP = 256
# More than there are different statements, so that each is prepared once.
STATEMENTS = 512
# busy_timeout first: setting the journal mode may already have to wait.
PRAGMAS = ("busy_timeout = 5000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")


class Asked:
    """One function that waits for its turn, with the future of who asked; one that is `alone` belongs to no group.

    Once it was answered, `error` or else `value` is what came of it.
    """

    __slots__ = ("alone", "error", "function", "future", "value")

    def __init__(self, function: Callable[..., Any], future: asyncio.Future[Any], *, alone: bool) -> None:
        self.function = function
        self.future = future
        self.alone = alone
        self.value: Any = None
        self.error: BaseException | None = None

    def answer(self, *arguments: object) -> None:
        """Call it; what it raises is its error."""
        try:
            self.value = self.function(*arguments)
        except Exception as error:
            self.error = error


# Answers a group that is not empty.  What it raises is a failure of ours, and ends the thread.
Answer = Callable[[sqlite3.Connection, Sequence[Asked]], None]


class ConnectionThread:
    """Made by `open`, ended by `close`; `failed` gets the exception that ended it otherwise."""

    connection: sqlite3.Connection

    def __init__(self, name: str, answer: Answer) -> None:
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self._waiting: SimpleQueue[Asked] = SimpleQueue()
        self._over = False
        self.failed: asyncio.Future[None] = self._loop.create_future()
        # It keeps no process from ending: what it was not done with then is as after a kill.
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @classmethod
    async def open(cls, name: str, path: Path, answer: Answer) -> "ConnectionThread":
        """A thread with a connection to the file; raises sqlite3.Error."""
        thread = cls(name, answer)
        try:
            thread.connection = await thread.call(lambda: _connect(path))
        except BaseException:
            thread.call(thread._end)
            raise
        return thread

    def ask(self, function: Callable[..., T]) -> asyncio.Future[T]:
        """Have the function answered in its turn, in a group with others that wait."""
        return self._put(function, alone=False)

    def call(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Have the function called there in its turn, in no group."""
        return self._put(function, alone=True)

    async def close(self, refusal: Callable[[], Exception]) -> None:
        """Close the connection behind the group that is being answered; who waits beyond it gets the refusal."""
        with suppress(Empty):
            while True:
                asked = self._waiting.get_nowait()
                asked.error = refusal()
                _deliver([asked])
        if not self.failed.done():
            await asyncio.shield(self.call(self._end))

    def _put(self, function: Callable[..., T], *, alone: bool) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        self._waiting.put(Asked(function, future, alone=alone))
        return future

    def _end(self) -> None:
        self._over = True
        if hasattr(self, "connection"):
            self.connection.close()

    def _run(self) -> None:
        following: Asked | None = None
        while not self._over:
            group, following = self._group(following or self._waiting.get())
            try:
                if group[0].alone:
                    group[0].answer()
                else:
                    self._answer(self.connection, group)
            except BaseException as error:
                self._over = True
                self._tell(_fail, group, self.failed, error)
            else:
                self._tell(_deliver, group)

    def _group(self, first: Asked) -> tuple[Sequence[Asked], Asked | None]:
        """What is answered together, and what comes next if that is known."""
        group = [first]
        with suppress(Empty):
            while not first.alone and len(group) < GROUP:
                asked = self._waiting.get_nowait()
                if asked.alone:
                    return group, asked
                group.append(asked)
        return group, None

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        # Nobody is left to be told when the loop is closed.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)


def _deliver(group: Sequence[Asked]) -> None:
    """In the loop's thread: who asked may be gone."""
    for asked in group:
        if asked.future.done():
            continue
        if asked.error is not None:
            asked.future.set_exception(asked.error)
        else:
            asked.future.set_result(asked.value)


def _fail(group: Sequence[Asked], failed: asyncio.Future[None], error: BaseException) -> None:
    for asked in group:
        asked.error = error
    _deliver(group)
    failed.set_exception(error)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=STATEMENTS)
    try:
        connection.row_factory = sqlite3.Row
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection
