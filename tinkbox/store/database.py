"""The SQLite file: one writer that commits in groups, one reader, migrations at start.

Rule 1: a use-case is one transaction.  Those that wait together are committed together, each in a
savepoint of its own, so that one flush to disk answers many.
Rule 2: the writer runs use-cases in its own task.  A caller that is cancelled leaves the
transaction alone; what it asked for may still be committed.
Rule 3: never await the network in a use-case.
"""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Generic, NoReturn, Self, TypeVar

import aiosqlite

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
    def on(cls, connection: aiosqlite.Connection) -> Self:
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


UseCase = Callable[[Tables], Awaitable[T]]


class _Waiting(Generic[T]):
    """A use-case in the writer's queue, with the future its caller waits on."""

    __slots__ = ("future", "use_case")

    def __init__(self, use_case: UseCase[T], future: asyncio.Future[T]) -> None:
        self.use_case = use_case
        self.future = future

    def answer(self, value: T) -> None:
        if not self.future.done():
            self.future.set_result(value)

    def refuse(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Store:
    """The appliance's memory.  Made by `Store.open`; `run` must be running for `write` to be answered."""

    def __init__(self, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._reading = asyncio.Lock()
        self._queue: asyncio.Queue[_Waiting[Any]] = asyncio.Queue()
        self._closed = False

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or create the file and bring it to the newest schema.

        Raises Unavailable when the file cannot be used or was written by a newer program.
        """
        try:
            writer = await _connect(path)
        except sqlite3.Error as error:
            raise Unavailable(f"cannot open the store {path}: {error}") from None
        try:
            await _migrate(writer, path)
            reader = await _connect(path)
            await reader.execute("PRAGMA query_only = ON")
        except sqlite3.Error as error:
            await writer.close()
            raise Unavailable(f"cannot use the store {path}: {error}") from None
        except BaseException:
            await writer.close()
            raise
        return cls(writer, reader)

    async def run(self) -> NoReturn:
        """The writer: commits what waits, in groups, for ever."""
        while True:
            group = [await self._queue.get()]
            while len(group) < GROUP and not self._queue.empty():
                group.append(self._queue.get_nowait())
            await self._commit(group)

    async def write(self, use_case: UseCase[T]) -> T:
        """Run one use-case as a transaction and return its value once it is on disk.

        What it raises undoes its own changes and nothing else.  Raises Unavailable when the disk
        refuses.
        """
        if self._closed:
            raise Unavailable("the store is closed: tinkbox is shutting down")
        waiting: _Waiting[T] = _Waiting(use_case, asyncio.get_running_loop().create_future())
        await self._queue.put(waiting)
        return await waiting.future

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Tables]:
        """Ask questions of one committed state; never sees a transaction half done."""
        async with self._reading:
            try:
                await self._reader.execute("BEGIN")
                yield Tables.on(self._reader)
            finally:
                await asyncio.shield(self._reader.rollback())

    async def close(self) -> None:
        """Close both connections; whoever still waits is told that the store is gone."""
        self._closed = True
        while not self._queue.empty():
            self._queue.get_nowait().refuse(Unavailable("tinkbox is shutting down"))
        await self._reader.close()
        await self._writer.close()

    async def _commit(self, group: list[_Waiting[Any]]) -> None:
        tables = Tables.on(self._writer)
        answers: list[Callable[[], None]] = []
        try:
            await self._writer.execute("BEGIN IMMEDIATE")
            answers += [await self._one(waiting, tables) for waiting in group]
            await self._writer.commit()
        except BaseException as error:
            await asyncio.shield(self._writer.rollback())
            for waiting in group:
                waiting.refuse(_refused_by_disk(error))
            if not isinstance(error, sqlite3.Error):
                raise
            return
        for answer in answers:
            answer()

    async def _one(self, waiting: _Waiting[Any], tables: Tables) -> Callable[[], None]:
        await self._writer.execute("SAVEPOINT one")
        try:
            value = await waiting.use_case(tables)
        except sqlite3.OperationalError:
            # A full disk may have ended the whole transaction already, and the savepoint with it.
            raise
        except Exception as error:
            refusal = error
            await self._writer.execute("ROLLBACK TO one")
            await self._writer.execute("RELEASE one")
            return lambda: waiting.refuse(refusal)
        await self._writer.execute("RELEASE one")
        return lambda: waiting.answer(value)


def _refused_by_disk(error: BaseException) -> Refusal:
    if isinstance(error, sqlite3.Error):
        return Unavailable(
            f"the store cannot be written ({error}): free space where the data directory is, then try again"
        )
    return Unavailable("tinkbox is shutting down")


async def _connect(path: Path) -> aiosqlite.Connection:
    connection = await aiosqlite.connect(path, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        for pragma in PRAGMAS:
            await connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        # Its thread would keep the process from ending.
        await connection.close()
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


async def _migrate(connection: aiosqlite.Connection, path: Path) -> None:
    scripts = migrations()
    (version,) = await (await connection.execute("PRAGMA user_version")).fetchone() or (0,)
    newest = scripts[-1][0]
    if version > newest:
        raise Unavailable(
            f"the store {path} was written by a newer tinkbox (schema {version}, this one knows {newest}): run that one"
        )
    for number, script in scripts:
        if number > version:
            await connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
