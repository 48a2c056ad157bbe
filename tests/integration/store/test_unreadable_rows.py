"""Rows that another program wrote into the database are told as damage; what else is asked is answered."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.integration.store.stores import opened_store
from tinkbox.model.errors import Unavailable
from tinkbox.refused_writes import RefusedWrites
from tinkbox.store.database import Tables

TOKEN = (
    "INSERT INTO token (id, hash, name, rights, means, created_at, made_by) "
    "VALUES ('1', 'h', 'anna', 'look', 'token', '2026-11-01T00:00:00+00:00', 'bert')"
)


def change(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(sql)


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE token SET rights = 'look,operate'", "ValueError: 'look,operate' is not a valid Right"),
        ("UPDATE token SET rights = x'ff'", "ValueError: b'\\xff' is not a valid Right"),
        (
            "UPDATE token SET name = CAST(x'61ff' AS TEXT)",
            "OperationalError: Could not decode to UTF-8 column 'name' with text 'a\ufffd'",
        ),
        ("UPDATE token SET scope = x'ff'", "TypeError: cannot use a string pattern on a bytes-like object"),
        ("UPDATE token SET created_at = 'once'", "ValueError: Invalid isoformat string: 'once'"),
    ],
)
async def test_row_that_cannot_be_read_is_damage_whose_table_is_named(tmp_path: Path, sql: str, told: str) -> None:
    writes, path = RefusedWrites(lambda: datetime(2026, 12, 1, tzinfo=UTC)), tmp_path / "db"
    async with opened_store(path, writes) as store:
        change(path, f"{TOKEN}; {sql}")
        why = f"a row of its tokens cannot be read, {told}"
        for ask in (store.read, store.look, store.read_long, store.write):
            with pytest.raises(Unavailable) as refusal:
                await ask(lambda tables: tables.tokens.all())
            assert str(refusal.value).startswith(
                f"the store {path} is damaged ({why}): stop tinkbox, then put a backup"
            )
        assert [(each.what, each.text) for each in writes.all] == [("the damaged database", f"{why} ({path})")]
        assert await store.read(lambda tables: tables.hardware.all()) == []


async def test_counts_that_are_gone_are_damage(tmp_path: Path) -> None:
    async with opened_store(tmp_path / "db") as store:
        change(tmp_path / "db", "DELETE FROM room")
        with pytest.raises(Unavailable, match=r"is damaged \(a row of its room cannot be read, TypeError: "):
            await store.read(lambda tables: tables.room.taken())


async def test_column_that_is_no_json_is_damage(tmp_path: Path) -> None:
    async with opened_store(tmp_path / "db") as store:
        change(
            tmp_path / "db",
            "INSERT INTO hardware (id, document, created_at, updated_at) VALUES ('1', '{}', '2026-11-01', '2026-11-01');"
            "INSERT INTO label VALUES ('machine', '1', 'rack', x'00')",
        )
        for ask in (store.read, store.write):
            with pytest.raises(
                Unavailable, match=r"is damaged \(a row of its hardware cannot be read, OperationalError: JSON "
            ):
                await ask(lambda tables: tables.hardware.all())


async def test_fault_of_who_asks_is_no_damage(tmp_path: Path) -> None:
    def fault(tables: Tables) -> int:
        return int(f"{len(tables.tokens.all())} tokens")

    async with opened_store(tmp_path / "db") as store:
        for ask in (store.read, store.look, store.read_long, store.write):
            with pytest.raises(ValueError, match="invalid literal"):
                await ask(fault)
