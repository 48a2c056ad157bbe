"""The schema: the migrations that make it, and what of it another program changed since.

Looked at are the triggers of every table, and indexes and tables of others, for each may undo or refuse what a use-case does; that
the tables are tables; and the table of the audit with its indexes, for by these its lines are read.
"""

import hashlib
import re
import sqlite3
from collections.abc import Collection
from contextlib import closing
from functools import cache
from importlib import resources
from typing import Final

from tinkbox.model.errors import Unavailable

_AUDIT: Final = "audit"
# Parts in the order in which they are made.
_KINDS: Final = ("table", "index", "trigger")
Part = tuple[str, str]
"""What it is, and its name."""


def migrations() -> list[tuple[int, str]]:
    """The numbered scripts, in order."""
    scripts = []
    for entry in resources.files("tinkbox.store").joinpath("migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_\w+\.sql", entry.name)
        if match:
            scripts.append((int(match[1]), entry.read_text()))
    return sorted(scripts)


def add_functions(connection: sqlite3.Connection) -> None:
    """Have the connection know what migrations call."""
    connection.create_function("sha256", 1, _sha256, deterministic=True)


def wrong_parts(connection: sqlite3.Connection) -> list[str]:
    """The parts that are missing, or that another program made or changed, for a person."""
    return [_called(each) for each in _wrong(connection)]


def mend_parts(connection: sqlite3.Connection) -> list[str]:
    """Take out and make anew what is wrong, within a transaction; returns the same as `wrong_parts` before.  Raises Unavailable."""
    wrong = _wrong(connection)
    if not wrong:
        return []
    refuse_missing_tables(connection)
    ours = _made_tables(_version(connection))
    for kind, name in wrong:
        if kind != "table" or name not in ours:
            connection.execute(f"DROP {kind} IF EXISTS {_quoted(name)}")
    if ("table", _AUDIT) in wrong:
        _make_audit_anew(connection)
    wanted, there = _made(_version(connection)), _parts(connection)
    for each in sorted(wanted.keys() - there.keys(), key=lambda part: _KINDS.index(part[0])):
        connection.execute(wanted[each])
    return [_called(each) for each in wrong]


def refuse_missing_tables(connection: sqlite3.Connection) -> None:
    """Raise Unavailable where a table is missing, or a view is in its place: where its rows are is not known."""
    missing = sorted(_made_tables(_version(connection)) - _tables(connection))
    if missing:
        raise Unavailable(
            f"{_file(connection)} has no {_called(('table', missing[0]))}: another program renamed or deleted it, and may have put a view in its place. "
            "Put the database of a backup there"
        )


def _make_audit_anew(connection: sqlite3.Connection) -> None:
    """Put the lines, as they are read now, into a table that is as tinkbox made it; its indexes and triggers are gone with the old one."""
    try:
        connection.execute("DROP TABLE IF EXISTS audit_before")
        connection.execute(
            "CREATE TABLE audit_before AS SELECT number, ifnull(line, '') AS line, ifnull(digest, '') AS digest FROM audit NOT INDEXED ORDER BY number"
        )
        connection.execute("DROP TABLE audit")
        connection.execute(_made(_version(connection))["table", _AUDIT])
        connection.execute("INSERT INTO audit (number, line, digest) SELECT number, line, digest FROM audit_before")
        connection.execute("DROP TABLE audit_before")
    except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
        raise Unavailable(
            f"another program changed the table audit of {_file(connection)}, and it cannot be made again ({error}): put the database of a backup there"
        ) from None


def _wrong(connection: sqlite3.Connection) -> list[Part]:
    version = _version(connection)
    wanted, there = _made(version), _parts(connection)
    ours, tables = _made_tables(version), _tables(connection)
    missing = {("table", each) for each in ours - tables}
    foreign = {("table", each) for each in tables - ours if _refers(connection, each)}
    foreign |= {("index", name) for name in _indexes(connection, ours) - _made_indexes(version)}
    differing = {each for each in wanted.keys() | there.keys() if wanted.get(each) != there.get(each)}
    return sorted(missing | foreign | differing)


def _refers(connection: sqlite3.Connection, table: str) -> bool:
    """Whether a row of it can keep a row of another table from being deleted."""
    return connection.execute(f"PRAGMA foreign_key_list({_quoted(table)})").fetchone() is not None


def _parts(connection: sqlite3.Connection) -> dict[Part, str]:
    """What is looked at, and the text by which each was made; SQLite keeps the name of a table as it was typed there."""
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type = 'trigger' "
        "OR (type IN ('table', 'index') AND sql IS NOT NULL AND tbl_name = ? COLLATE NOCASE)",
        (_AUDIT,),
    )
    return {(str(kind), str(name)): str(sql) for kind, name, sql in rows}


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {str(name) for (name,) in rows}


def _indexes(connection: sqlite3.Connection, tables: Collection[str]) -> set[str]:
    """The names of those that were made by a statement of their own, on one of these tables."""
    rows = connection.execute(
        "SELECT name, lower(tbl_name) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    )
    return {str(name) for name, table in rows if table in tables}


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@cache
def _made(version: int) -> dict[Part, str]:
    """What is looked at, as the migrations up to this one make it."""
    with closing(_fresh(version)) as connection:
        return _parts(connection)


@cache
def _made_tables(version: int) -> frozenset[str]:
    with closing(_fresh(version)) as connection:
        return frozenset(_tables(connection))


@cache
def _made_indexes(version: int) -> frozenset[str]:
    with closing(_fresh(version)) as connection:
        return frozenset(_indexes(connection, _made_tables(version)))


def _fresh(version: int) -> sqlite3.Connection:
    """An empty database of this schema, in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    add_functions(connection)
    for number, script in migrations():
        if number <= version:
            connection.executescript(script)
    return connection


def _file(connection: sqlite3.Connection) -> str:
    return str(next(connection.execute("PRAGMA database_list"))[2])


def _called(part: Part) -> str:
    return " ".join(part)


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _sha256(text: str) -> str:
    """In hex."""
    return hashlib.sha256(text.encode()).hexdigest()
