"""A thread that owns one connection to the SQLite file, and answers in groups what it is asked.

What is asked is a plain function, which runs where the connection is: a statement costs no hop between threads.  What
waits together is answered together, and wakes the event loop once.
"""

import asyncio
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Self, TypeVar

T = TypeVar("T")
GROUP = 256
# More than there are different statements, so that each is prepared once.
STATEMENTS = 512
BUSY_MS = 5000
# busy_timeout first: setting the journal mode may already have to wait.  auto_vacuum counts for a new file only.  What is
# deleted is overwritten: it may be a secret, and a copy of the file may come into other hands.
PRAGMAS = (
    f"busy_timeout = {BUSY_MS}",
    "secure_delete = ON",
    "auto_vacuum = INCREMENTAL",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
)


class Kind(Enum):
    """What becomes of a function that is asked."""

    CHANGE = "change"  # it may write
    LOOK = "look"  # it reads, of what was committed before its group
    ALONE = "alone"  # it belongs to no group


class Asked:
    """One function that waits for its turn, with the future of who asked.

    Once it was answered, `error` or else `value` is what came of it.
    """

    __slots__ = ("error", "function", "future", "kind", "value")

    def __init__(self, function: Callable[..., Any], future: asyncio.Future[Any], kind: Kind) -> None:
        self.function = function
        self.future = future
        self.kind = kind
        self.value: Any = None
        self.error: BaseException | None = None

    def answer(self, *arguments: object) -> None:
        """Call it; what it raises is its error."""
        try:
            self.value = self.function(*arguments)
        except Exception as error:
            self.error = error

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.future.cancelled()


class ConnectionThread(ABC):
    """Made by `open`, ended by `close`; `failed` gets the exception that ended it otherwise."""

    connection: sqlite3.Connection

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._fresh: list[Asked] = []
        self._waiting: SimpleQueue[Sequence[Asked]] = SimpleQueue()
        self._over = False
        self.failed: asyncio.Future[None] = self._loop.create_future()
        # It keeps no process from ending: what it was not done with then is as after a kill.
        threading.Thread(target=self._run, name=name, daemon=True).start()

    @classmethod
    async def open(cls, name: str, path: Path) -> Self:
        """A thread with a connection to the file; raises sqlite3.Error."""
        thread = cls(name)
        try:
            await thread.call(lambda: thread._connect(path))
        except BaseException:
            thread.call(thread._end)
            raise
        return thread

    @abstractmethod
    def answer(self, group: Sequence[Asked]) -> None:
        """Answer what is in a group, and `tell`; what this raises is a failure of ours, and ends the thread."""

    def ask(self, function: Callable[..., T], kind: Kind) -> asyncio.Future[T]:
        """Have the function answered in its turn, in a group with others that wait."""
        future: asyncio.Future[T] = self._loop.create_future()
        if not self._fresh:
            self._loop.call_soon(self._wake)
        self._fresh.append(Asked(function, future, kind))
        return future

    def call(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Have the function called there in its turn."""
        return self.ask(function, Kind.ALONE)

    def tell(self, answered: Sequence[Asked]) -> None:
        """In its own thread: let those who asked have their answers."""
        self._soon(_deliver, answered)

    async def close(self, refusal: Callable[[], Exception]) -> None:
        """Close the connection behind the group that is being answered; who waits beyond it gets the refusal."""
        self._wake()
        with suppress(Empty):
            while True:
                refused = self._waiting.get_nowait()
                for asked in refused:
                    asked.error = refusal()
                _deliver(refused)
        if not self.failed.done():
            await asyncio.shield(self.call(self._end))

    def _connect(self, path: Path) -> None:
        self.connection = _connected(path)

    def _end(self) -> None:
        self._over = True
        if hasattr(self, "connection"):
            self.connection.close()

    def _wake(self) -> None:
        """Hand over what was asked in one turn of the loop, at once: every wake of a thread costs both sides."""
        if self._fresh:
            self._waiting.put(self._fresh)
            self._fresh = []

    def _run(self) -> None:
        waiting: deque[Asked] = deque()
        while not self._over:
            self._answer_next(waiting)

    def _answer_next(self, waiting: deque[Asked]) -> None:
        """What was asked and answered is held no longer than this: it may be large."""
        group = self._group(waiting)
        try:
            if group[0].kind is Kind.ALONE:
                group[0].answer()
                self.tell(group)
            else:
                self.answer(group)
        except BaseException as error:
            self._end()
            self._soon(_fail, [*group, *waiting], self.failed, error)

    def _group(self, waiting: deque[Asked]) -> Sequence[Asked]:
        """Take what is answered together next; waits until there is something."""
        if not waiting:
            waiting.extend(self._waiting.get())
        with suppress(Empty):
            while len(waiting) < GROUP:
                waiting.extend(self._waiting.get_nowait())
        group = [waiting.popleft()]
        if group[0].kind is not Kind.ALONE:
            while waiting and len(group) < GROUP and waiting[0].kind is not Kind.ALONE:
                group.append(waiting.popleft())
        return group

    def _soon(self, callback: Callable[..., None], *arguments: object) -> None:
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


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=STATEMENTS)
    try:
        connection.row_factory = sqlite3.Row
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection
