"""The SQLite file: one writer that commits in groups, two readers, migrations at start.

Each of the three is a plain sqlite3 connection in a thread of its own.  Use-cases and questions are plain functions of
`Tables`; what they ask of the store costs them no hop, for they run where its connection is.

Rule 1: a use-case is one transaction.  Those that wait together are committed together, each in a
savepoint of its own, so that one flush to disk answers many.
Rule 2: a caller that is cancelled leaves the transaction alone; what it asked for may still be committed.  A question that
did not begin yet is dropped.
Rule 3: a use-case waits for nothing.  It runs beside the event loop: of the memory of others it reads what cannot
change in halves, and changes nothing; what follows in memory follows the commit.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import NoReturn, Self, TypeVar

from tinkbox.model.errors import Unavailable
from tinkbox.model.host_vitals import LostDatabase
from tinkbox.model.write_fault import Unwritten
from tinkbox.refused_writes import RefusedWrites, has_room
from tinkbox.store.audit import AuditTable
from tinkbox.store.authority import AuthorityTable
from tinkbox.store.conditions import ConditionTable
from tinkbox.store.counts import FigureTable
from tinkbox.store.declarations import DeclarationTable
from tinkbox.store.discovery import DiscoveryTable
from tinkbox.store.disks import DiskTable
from tinkbox.store.enrolments import EnrolmentTable
from tinkbox.store.ephemeral_data import DataTable
from tinkbox.store.events import EventTable
from tinkbox.store.firmware_traits import FirmwareTraitTable
from tinkbox.store.given_credentials import GivenCredentialTable
from tinkbox.store.hardware import HardwareTable
from tinkbox.store.holds import HoldTable
from tinkbox.store.images import ImageTable
from tinkbox.store.journals import JournalTable
from tinkbox.store.kept_documents import KeptDocumentTable
from tinkbox.store.labels import LabelTable
from tinkbox.store.leases import LeaseTable
from tinkbox.store.listed_templates import ListedTemplateTable
from tinkbox.store.machine_work import MachineWorkTable
from tinkbox.store.metadata import MetadataTable
from tinkbox.store.notes import NoteTable, RetirementTable
from tinkbox.store.open_file import DatabaseFile
from tinkbox.store.output import SERVICE_RUNS, OutputTable
from tinkbox.store.queues import QueueTable
from tinkbox.store.rewriting import rewrite
from tinkbox.store.rollouts import RolloutTable
from tinkbox.store.room import RoomTable
from tinkbox.store.schema import add_functions, migrations, refuse_missing_tables
from tinkbox.store.secrets import Sealed, SecretTable
from tinkbox.store.services import ServiceTable
from tinkbox.store.sessions import SessionTable
from tinkbox.store.shells import ShellTable
from tinkbox.store.sightings import SightingTable
from tinkbox.store.sqlite_errors import (
    READ,
    WRITTEN,
    at_start,
    damaged_in_use,
    in_use,
    is_by_another_program,
    is_damage,
    is_of_the_file,
    refuse_damaged,
    refused_by_another_program,
    what_refused,
)
from tinkbox.store.syslog import SyslogTable
from tinkbox.store.templates import TemplateTable
from tinkbox.store.threads import BUSY_MS, Asked, ConnectionThread, Kind
from tinkbox.store.tokens import TokenTable
from tinkbox.store.unreadable_rows import unreadable_row
from tinkbox.store.workflow_names import WorkflowNameTable
from tinkbox.store.workflows import WorkflowTable

_log = logging.getLogger(__name__)
_ANY_TABLE = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' LIMIT 1"
T = TypeVar("T")
C = TypeVar("C", bound=ConnectionThread)


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
    journals: JournalTable
    images: ImageTable
    sessions: SessionTable
    room: RoomTable
    metadata: MetadataTable
    labels: LabelTable
    workflow_names: WorkflowNameTable
    listed_templates: ListedTemplateTable
    rollouts: RolloutTable
    machine_work: MachineWorkTable
    notes: NoteTable
    retirements: RetirementTable
    declarations: DeclarationTable
    kept_documents: KeptDocumentTable
    conditions: ConditionTable
    tokens: TokenTable
    audit: AuditTable
    enrolments: EnrolmentTable
    secrets: SecretTable
    authority: AuthorityTable
    given_credentials: GivenCredentialTable

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
            JournalTable(connection),
            ImageTable(connection),
            SessionTable(connection),
            RoomTable(connection),
            MetadataTable(connection),
            LabelTable(connection),
            WorkflowNameTable(connection),
            ListedTemplateTable(connection),
            RolloutTable(connection),
            MachineWorkTable(connection),
            NoteTable(connection),
            RetirementTable(connection),
            DeclarationTable(connection),
            KeptDocumentTable(connection),
            ConditionTable(connection),
            TokenTable(connection),
            AuditTable(connection),
            EnrolmentTable(connection),
            SecretTable(connection),
            AuthorityTable(connection),
            GivenCredentialTable(connection),
        )


# What is asked of the tables, in one transaction.
UseCase = Callable[[Tables], T]


async def _never() -> bool:
    return False


class _Refusals:
    """What becomes of an error of SQLite: the refusal with its way out, and a note of it among the `refused_writes`.

    `takes_again` tells whether the file can be written, once there is a store.
    """

    def __init__(self, path: Path, refused_writes: RefusedWrites) -> None:
        self._path = path
        self._refused_writes = refused_writes
        self.takes_again: Callable[[], Awaitable[bool]] = _never

    def of(self, error: sqlite3.Error, *, doing: str) -> Unavailable:
        """The refusal where the file could not be "read" or "written"."""
        refusal = in_use(self._path, error, doing=doing)
        if is_damage(error):
            self._note_damage(str(error))
        elif doing == WRITTEN:
            why = what_refused(self._path, error)
            self._refused_writes.refuse(
                Unwritten.DATABASE, str(refusal), self.takes_again, fault=why.fault, way_out=why.text
            )
        return refusal

    def of_row(self, why: str, error: BaseException) -> Unavailable:
        """The refusal where a row cannot be read; `why` says which."""
        self._note_damage(why)
        _log.error("the database is damaged: %s", why, exc_info=error, extra={"action": "store.damaged"})
        return Unavailable(damaged_in_use(self._path, why))

    def _note_damage(self, why: str) -> None:
        self._refused_writes.refuse(Unwritten.DAMAGED, f"{why} ({self._path})", _never, "the database is damaged")


class _Reader(ConnectionThread):
    """Answers questions, a group of them of one committed state."""

    refusals: _Refusals

    def answer(self, group: Sequence[Asked]) -> None:
        look(self.connection, self.tables, group)
        self._refuse(group, READ)
        self.tell(group)

    def _refuse(self, group: Sequence[Asked], doing: str) -> None:
        """Have those that failed with the file, or with all of a transaction, hear what to do; what else failed is our fault."""
        for asked in group:
            error = asked.error
            if error is not None and (why := unreadable_row(error)):
                asked.error = self.refusals.of_row(why, error)
                continue
            if not isinstance(error, sqlite3.Error):
                continue
            if is_by_another_program(error):
                asked.error = refused_by_another_program(error)
            elif is_of_the_file(error, doing=doing) or (
                doing == WRITTEN and isinstance(error, sqlite3.OperationalError)
            ):
                asked.error = self.refusals.of(error, doing=doing)

    @cached_property
    def tables(self) -> Tables:
        return Tables.on(self.connection)


class _Writer(_Reader):
    """Carries out use-cases, a group of them in one transaction, behind the questions that came with them."""

    def answer(self, group: Sequence[Asked]) -> None:
        looks = [asked for asked in group if asked.kind is Kind.LOOK]
        if looks:
            look(self.connection, self.tables, looks)
            self._refuse(looks, READ)
            self.tell(looks)
        changes = [asked for asked in group if asked.kind is Kind.CHANGE]
        if changes:
            commit(self.connection, self.tables, changes)
            self._refuse(changes, WRITTEN)
            self.tell(changes)

    def empty_log(self) -> None:
        """Bring what lies in the log beside the file into the file; raises sqlite3.Error."""
        # Whoever reads an older state just now is not waited for: this is tried again.
        self.connection.execute("PRAGMA busy_timeout = 0")
        try:
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self.connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")

    def _end(self) -> None:
        # Closed last, SQLite does the same; not where another program has the file open.
        if hasattr(self, "connection"):
            with suppress(sqlite3.Error):
                self.empty_log()
        super()._end()


def look(connection: sqlite3.Connection, tables: Tables, group: Sequence[Asked]) -> None:
    """Answer questions of one committed state."""
    try:
        connection.execute("BEGIN")
        for asked in group:
            if not asked.is_abandoned:
                asked.answer(tables)
        connection.rollback()
    except sqlite3.Error as error:
        for asked in group:
            asked.error = error


def commit(connection: sqlite3.Connection, tables: Tables, group: Sequence[Asked]) -> None:
    """Carry out use-cases in one transaction."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for asked in group:
            _carry_out(connection, tables, asked)
        connection.commit()
    except (sqlite3.Error, Unavailable) as error:
        connection.rollback()
        for asked in group:
            asked.error = error


def _carry_out(connection: sqlite3.Connection, tables: Tables, asked: Asked) -> None:
    connection.execute("SAVEPOINT one")
    asked.answer(tables)
    # A full disk, or a trigger of another program, may have ended the whole transaction already, and the savepoint with it.
    error = asked.error
    if isinstance(error, sqlite3.OperationalError) or (
        isinstance(error, (sqlite3.Error, Unavailable)) and not connection.in_transaction
    ):
        raise error
    if error is not None:
        connection.execute("ROLLBACK TO one")
    connection.execute("RELEASE one")


class Store:
    """The appliance's memory, made by `Store.open`."""

    def __init__(self, writer: _Writer, reader: _Reader, long_reader: _Reader, file: DatabaseFile) -> None:
        self._writer = writer
        self._file = file
        self._reader = reader
        self._long_reader = long_reader
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path, refused_writes: RefusedWrites | None = None, say: Callable[[str], None] = lambda _: None
    ) -> Self:
        """Open or create the file and bring it to the newest schema; writes that fail are noted among `refused_writes`.

        `say` tells who waits of what takes long, and of what could not be done.  Raises Unavailable when the file cannot be used or was written by a newer program.
        """
        refusals = _Refusals(path, refused_writes or RefusedWrites(lambda: datetime.now(UTC)))
        try:
            writer = await _Writer.open("store-writer", path)
        except sqlite3.Error as error:
            raise at_start(path, error) from None
        try:
            writer.refusals = refusals
            await writer.call(lambda: _migrate(writer.connection, path))
            await writer.call(lambda: refuse_missing_tables(writer.connection))
            await rewrite(writer, path, say)
            reader = await _reading("store-reader", path, refusals)
            try:
                long_reader = await _reading("store-long-reader", path, refusals)
            except BaseException:
                await reader.close(_shutting_down)
                raise
        except BaseException as error:
            await writer.close(_shutting_down)
            if isinstance(error, sqlite3.Error):
                raise at_start(path, error) from None
            raise
        store = cls(writer, reader, long_reader, DatabaseFile(path))
        refusals.takes_again = partial(store._takes_writes, path)
        return store

    async def run(self) -> NoReturn:
        """Raise what ends one of the threads, whenever that is."""
        threads = (self._writer, self._reader, self._long_reader)
        done, _ = await asyncio.wait([each.failed for each in threads], return_when=asyncio.FIRST_COMPLETED)
        raise next(iter(done)).exception() or AssertionError("a thread of the store ended")

    async def write(self, use_case: UseCase[T]) -> T:
        """Run one use-case as a transaction and return its value once it is on disk.

        What it raises undoes its own changes and nothing else.  Raises Unavailable when the disk
        refuses, and where the file was deleted or replaced: what is written to it then is lost.
        """
        self._file.refuse_lost()
        return await self._open(self._writer).ask(use_case, Kind.CHANGE)

    async def look(self, question: UseCase[T]) -> T:
        """Ask a short question of what is committed, behind the transaction that is being written.

        It costs less than `read`, for the writer has in memory what was just written; what it tells and what use-cases
        return comes in the order in which it was committed.
        """
        return await self._open(self._writer).ask(question, Kind.LOOK)

    async def read(self, question: UseCase[T]) -> T:
        """Ask a question of one committed state; it waits for no writer, and none for it.

        Questions are answered in the order in which they are asked.
        """
        return await self._open(self._reader).ask(question, Kind.LOOK)

    async def read_long(self, question: UseCase[T]) -> T:
        """As `read`, for questions that last: those of `read` do not wait for them."""
        return await self._open(self._long_reader).ask(question, Kind.LOOK)

    async def empty_log(self) -> None:
        """Bring what lies in the log (`-wal`) into the file, and empty it: until then it has what was deleted since.

        What somebody reads at this moment may stay there.  Raises Unavailable as `write` does.
        """
        self._file.refuse_lost()
        writer = self._open(self._writer)
        try:
            await writer.call(writer.empty_log)
        except sqlite3.Error as error:
            raise writer.refusals.of(error, doing=WRITTEN) from None

    def lost(self) -> LostDatabase | None:
        """What became of the file, where its path leads to it no more."""
        return self._file.lost()

    async def close(self) -> None:
        """Close all connections; whoever still waits is told that the store is gone."""
        self._closed = True
        await self._long_reader.close(_shutting_down)
        await self._reader.close(_shutting_down)
        await self._writer.close(_shutting_down)

    async def _takes_writes(self, path: Path) -> bool:
        """Whether a transaction, and a larger file beside the store, come to the disk now."""
        if self._closed or not await asyncio.to_thread(has_room, path.parent):
            return False
        try:
            await self._open(self._writer).call(lambda: _touch(self._writer.connection))
        except (sqlite3.Error, Unavailable):
            return False
        return True

    def _open(self, thread: C) -> C:
        if self._closed:
            raise Unavailable("the store is closed: tinkbox is shutting down")
        return thread


def _touch(connection: sqlite3.Connection) -> None:
    """Write, and change nothing."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    try:
        connection.executescript(f"BEGIN IMMEDIATE; PRAGMA user_version = {version}; COMMIT")
    except sqlite3.Error:
        connection.rollback()
        raise


async def _reading(name: str, path: Path, refusals: _Refusals) -> _Reader:
    """A thread that can only read."""
    reader = await _Reader.open(name, path)
    reader.refusals = refusals
    await reader.call(lambda: reader.connection.execute("PRAGMA query_only = ON"))
    return reader


def _shutting_down() -> Unavailable:
    return Unavailable("tinkbox is shutting down")


def examine(path: Path) -> None:
    """Raise what `Store.open` would raise of this file, and what would fail later; change nothing, and make none."""
    if not path.exists():
        return
    # Closed for writing, a connection merges what a run that was killed left; without that, one for reading leaves files.
    mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "rw"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True)) as connection:
            _refuse_newer(connection, path)
            refuse_damaged(connection, path)
            refuse_missing_tables(connection)
    except sqlite3.Error as error:
        raise at_start(path, error) from None


def kept_secret_of(path: Path) -> Sealed | None:
    """A secret that the store in a file has, None: it has none, or is not there; change nothing.  Raises Unavailable."""
    return _in_file(path, "secret", lambda connection: SecretTable(connection).any())


def known_authority_of(path: Path) -> str:
    """The fingerprint of the authority that the store in a file knows, empty: none; change nothing.  Raises Unavailable."""
    return _in_file(path, "authority", lambda connection: AuthorityTable(connection).known()) or ""


def audit_in(path: Path, question: Callable[[AuditTable], T]) -> T | None:
    """What is asked of the audit of the store in a file, None: there is none; change nothing.  Raises Unavailable."""
    return _in_file(path, "audit", lambda connection: question(AuditTable(connection)))


def _in_file(path: Path, table: str, question: Callable[[sqlite3.Connection], T]) -> T | None:
    """What is asked of a table; None where the file or the table is not there."""
    if not path.exists():
        return None
    mode = "ro" if path.with_name(f"{path.name}-wal").exists() else "rw"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode={mode}", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                return None
            return question(connection)
    except sqlite3.Error as error:
        raise at_start(path, error) from None


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    scripts = migrations()
    version = _refuse_newer(connection, path)
    if version == scripts[-1][0]:
        return
    add_functions(connection)
    # A table that others refer to is made anew without them (the SQLite manual's "Making Other Kinds Of Table Schema
    # Changes").
    connection.execute("PRAGMA foreign_keys = OFF")
    missing = [each for each in scripts if each[0] > version]
    # A store that is new is made in one go: every commit waits for the disk.
    for step in [missing] if version == 0 else [[each] for each in missing]:
        script = "\n".join(text for _, text in step)
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {step[-1][0]};\nCOMMIT;")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _refuse_newer(connection: sqlite3.Connection, path: Path) -> int:
    """The schema of the file; raises Unavailable for one that is unknown here."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    newest = migrations()[-1][0]
    if version > newest:
        raise Unavailable(
            f"the store {path} was written by a newer tinkbox (schema {version}, this one knows {newest}): run that one, or "
            "put a backup of the data folder in its place that was made before the upgrade"
        )
    if version == 0 and (table := connection.execute(_ANY_TABLE).fetchone()):
        raise Unavailable(
            f"the store {path} is a database of another program, with a table {table[0]}: move it away, or name another data "
            "directory with --data"
        )
    return version
