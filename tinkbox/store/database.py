"""The SQLite file: one writer that commits in groups, one reader, migrations at start.

Each of the two is a plain sqlite3 connection in a thread of its own.  Use-cases and questions are plain functions of
`Tables`; what they ask of the store costs them no hop, for they run where its connection is.

Rule 1: a use-case is one transaction.  Those that wait together are committed together, each in a
savepoint of its own, so that one flush to disk answers many.
Rule 2: a caller that is cancelled leaves the transaction alone; what it asked for may still be committed.
Rule 3: a use-case waits for nothing.  It runs beside the event loop: of the memory of others it reads what cannot
change in halves, and changes nothing; what follows in memory follows the commit.
"""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Generic, NoReturn, Self, TypeVar

from tinkbox.model.errors import Refusal, Unavailable
from tinkbox.store.data import DataTable
from tinkbox.store.discovery import DiscoveryTable
from tinkbox.store.disks import DiskTable
from tinkbox.store.events import EventTable
from tinkbox.store.figures import FigureTable
from tinkbox.store.firmware_traits import FirmwareTraitTable
from tinkbox.store.hardware import HardwareTable
from tinkbox.store.holds import HoldTable
from tinkbox.store.leases import LeaseTable
from tinkbox.store.output import SERVICE_RUNS, OutputTable
from tinkbox.store.queues import QueueTable
from tinkbox.store.services import ServiceTable
from tinkbox.store.shells import ShellTable
from tinkbox.store.sightings import SightingTable
from tinkbox.store.syslog import SyslogTable
from tinkbox.store.templates import TemplateTable
from tinkbox.store.workflows import WorkflowTable

T = TypeVar("T")
GROUP = 256
# More than there are questions, so that each is prepared once.
STATEMENTS = 512
# busy_timeout first: setting the journal mode may already have to wait.
PRAGMAS = ("busy_timeout = 5000", "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")


@dataclass(frozen=True, slots=True)
class Tables:
    """What can be asked of the store, on one connection."""

    hardware: HardwareTable
    templates: TemplateTable
    workflows: WorkflowTable
    events: EventTable
    output: OutputTable
    data: DataTable
    figures: FigureTable
    holds: HoldTable
    shells: ShellTable
    queues: QueueTable
    firmware_traits: FirmwareTraitTable
    services: ServiceTable
    service_output: OutputTable
    disks: DiskTable
    sightings: SightingTable
    syslog: SyslogTable
    leases: LeaseTable
    discovery: DiscoveryTable

    @classmethod
    def on(cls, connection: sqlite3.Connection) -> Self:
        return cls(
            HardwareTable(connection),
            TemplateTable(connection),
            WorkflowTable(connection),
            EventTable(connection),
            OutputTable(connection),
            DataTable(connection),
            FigureTable(connection),
            HoldTable(connection),
            ShellTable(connection),
            QueueTable(connection),
            FirmwareTraitTable(connection),
            ServiceTable(connection),
            OutputTable(connection, SERVICE_RUNS),
            DiskTable(connection),
            SightingTable(connection),
            SyslogTable(connection),
            LeaseTable(connection),
            DiscoveryTable(connection),
        )


# What is asked of the tables, in one transaction.
UseCase = Callable[[Tables], T]


class _Waiting(Generic[T]):
    """A question that waits for its turn, with the future its caller waits on."""

    __slots__ = ("future", "question")

    def __init__(self, question: UseCase[T], future: asyncio.Future[T]) -> None:
        self.question = question
        self.future = future

    def answer(self, value: T) -> None:
        if not self.future.done():
            self.future.set_result(value)

    def refuse(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class _Lane:
    """One connection, in a thread of its own: every call of `connection` is made there."""

    def __init__(self, name: str, path: Path) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._path = path

    async def open(self) -> None:
        """Raises sqlite3.Error."""
        self.connection = await self.run(_connect, self._path)
        self.tables = Tables.on(self.connection)

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Have a function called there; one that was begun is ended, whatever becomes of its caller."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def close(self) -> None:
        """Close the connection, behind what was begun."""
        if hasattr(self, "connection"):
            await asyncio.shield(self.run(self.connection.close))
        self._thread.shutdown(wait=False)


class Store:
    """The appliance's memory.  Made by `Store.open`; `run` must be running for `write` to be answered."""

    def __init__(self, writer: _Lane, reader: _Lane) -> None:
        self._writer = writer
        self._reader = reader
        self._use_cases: asyncio.Queue[_Waiting[Any]] = asyncio.Queue()
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or create the file and bring it to the newest schema.

        Raises Unavailable when the file cannot be used or was written by a newer program.
        """
        writer, reader = _Lane("store-writer", path), _Lane("store-reader", path)
        try:
            doing = "open"
            await writer.open()
            doing = "use"
            await writer.run(_migrate, writer.connection, path)
            await reader.open()
            await reader.run(reader.connection.execute, "PRAGMA query_only = ON")
        except BaseException as error:
            await reader.close()
            await writer.close()
            if isinstance(error, sqlite3.Error):
                raise Unavailable(f"cannot {doing} the store {path}: {error}") from None
            raise
        return cls(writer, reader)

    async def run(self) -> NoReturn:
        """The writer: commits what waits, in groups, for ever."""
        while True:
            group = [await self._use_cases.get()]
            while len(group) < GROUP and not self._use_cases.empty():
                group.append(self._use_cases.get_nowait())
            try:
                answers = await self._writer.run(_commit, self._writer, group)
            except BaseException as error:
                for waiting in group:
                    waiting.refuse(_refused_by_disk(error))
                if not isinstance(error, sqlite3.Error):
                    raise
                continue
            for answer in answers:
                answer()

    async def write(self, use_case: UseCase[T]) -> T:
        """Run one use-case as a transaction and return its value once it is on disk.

        What it raises undoes its own changes and nothing else.  Raises Unavailable when the disk
        refuses.
        """
        if self._closed:
            raise Unavailable("the store is closed: tinkbox is shutting down")
        waiting: _Waiting[T] = _Waiting(use_case, asyncio.get_running_loop().create_future())
        self._use_cases.put_nowait(waiting)
        return await waiting.future

    async def read(self, question: UseCase[T]) -> T:
        """Ask a question of one committed state; it never sees a transaction half done.

        Questions are answered in the order in which they are asked.
        """
        return await self._reader.run(_answer, self._reader, question)

    async def close(self) -> None:
        """Close both connections; whoever still waits is told that the store is gone."""
        self._closed = True
        while not self._use_cases.empty():
            self._use_cases.get_nowait().refuse(Unavailable("tinkbox is shutting down"))
        await self._reader.close()
        await self._writer.close()


def _answer(lane: _Lane, question: UseCase[T]) -> T:
    lane.connection.execute("BEGIN")
    try:
        return question(lane.tables)
    finally:
        lane.connection.rollback()


def _commit(lane: _Lane, group: Sequence[_Waiting[Any]]) -> list[Callable[[], None]]:
    """Carry them out in one transaction; returns what tells each caller, once it is on disk."""
    connection = lane.connection
    try:
        connection.execute("BEGIN IMMEDIATE")
        answers = [_carry_out(lane, waiting) for waiting in group]
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    return answers


def _carry_out(lane: _Lane, waiting: _Waiting[Any]) -> Callable[[], None]:
    lane.connection.execute("SAVEPOINT one")
    try:
        value = waiting.question(lane.tables)
    except sqlite3.OperationalError:
        # A full disk may have ended the whole transaction already, and the savepoint with it.
        raise
    except Exception as error:
        lane.connection.execute("ROLLBACK TO one")
        lane.connection.execute("RELEASE one")
        return partial(waiting.refuse, error)
    lane.connection.execute("RELEASE one")
    return partial(waiting.answer, value)


def _refused_by_disk(error: BaseException) -> Refusal:
    if isinstance(error, sqlite3.Error):
        return Unavailable(
            f"the store cannot be written ({error}): free space where the data directory is, then try again"
        )
    return Unavailable("tinkbox is shutting down")


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


def migrations() -> list[tuple[int, str]]:
    """The numbered scripts, in order."""
    scripts = []
    for entry in resources.files("tinkbox.store").joinpath("migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_\w+\.sql", entry.name)
        if match:
            scripts.append((int(match[1]), entry.read_text()))
    return sorted(scripts)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    scripts = migrations()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    newest = scripts[-1][0]
    if version > newest:
        raise Unavailable(
            f"the store {path} was written by a newer tinkbox (schema {version}, this one knows {newest}): run that one"
        )
    for number, script in scripts:
        if number > version:
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
