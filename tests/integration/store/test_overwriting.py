"""Nothing of what was deleted is left in the files of the store."""

import random
import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.store.objects import NOW
from tests.integration.store.stores import opened_store
from tests.integration.store.test_database_migrations import database_of
from tinkbox.store import rewriting
from tinkbox.store.database import Store, Tables
from tinkbox.store.templates import Template

NOT_OVERWRITING = 50  # the last schema of releases that did not overwrite
SECRET = "deleted-0123456789"
Usage = namedtuple("Usage", "total used free")


def template(name: str, text: str) -> Template:
    return Template(id=name, name=name, namespace="", data=text, created_at=NOW, updated_at=NOW + timedelta(seconds=1))


def kept(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())


async def put_and_delete(store: Store) -> None:
    await store.write(lambda tables: tables.templates.put(template("t1", f"short {SECRET}")))
    await store.write(lambda tables: tables.templates.put(template("t2", SECRET * 10_000)))
    for each in ("t1", "t2"):
        await store.write(lambda tables, each=each: tables.templates.delete(each))


async def test_what_is_deleted_is_gone_from_the_log_as_soon_as_that_is_emptied(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "db")
    try:
        await put_and_delete(store)
        assert SECRET.encode() in kept(tmp_path)
        await store.empty_log()
        assert SECRET.encode() not in kept(tmp_path)
        assert (tmp_path / "db-wal").stat().st_size == 0
    finally:
        await store.close()


async def test_what_is_deleted_is_gone_once_the_store_is_closed_even_where_another_program_has_it_open(
    tmp_path: Path,
) -> None:
    store = await Store.open(tmp_path / "db")
    with closing(sqlite3.connect(tmp_path / "db")) as other:
        other.execute("SELECT count(*) FROM template").fetchall()
        await put_and_delete(store)
        await store.close()
        assert SECRET.encode() not in kept(tmp_path)


async def test_log_that_somebody_reads_is_emptied_later_and_holds_nobody_up(tmp_path: Path) -> None:
    async with opened_store(tmp_path / "db") as store:
        with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM template").fetchall()
            await put_and_delete(store)
            await store.empty_log()
            assert SECRET.encode() in kept(tmp_path)
        await store.empty_log()
        assert SECRET.encode() not in kept(tmp_path)


async def test_copies_that_the_database_left_when_it_moved_rows_are_gone_after_a_restart(tmp_path: Path) -> None:
    chance = random.Random(7)
    names = [f"{chance.random():.12f}" for _ in range(3_000)]

    def come_and_go(tables: Tables) -> None:
        for number, each in enumerate(names):
            word = SECRET if number % 2 else "it stays"
            tables.templates.put(template(each, f"{word} " * chance.choice([1, 3, 20, 60])))
            tables.templates.delete(chance.choice(names))
        for each in names[1::2]:
            tables.templates.delete(each)

    async with opened_store(tmp_path / "db") as store:
        await store.write(come_and_go)
    assert SECRET.encode() in kept(tmp_path), "SQLite overwrites it all by now"
    async with opened_store(tmp_path / "db"):
        assert SECRET.encode() not in kept(tmp_path)


def left_by_an_earlier_release(path: Path) -> None:
    with database_of(path, NOT_OVERWRITING) as old:
        old.executescript("PRAGMA secure_delete = OFF; PRAGMA journal_mode = WAL")
        for number in range(200):
            old.execute(
                "INSERT INTO template (id, name, namespace, data, created_at, updated_at) VALUES (?1, ?1, '', ?2, ?3, ?3)",
                (f"t{number}", f"{SECRET} " * 100, NOW.isoformat()),
            )
        old.commit()
        old.execute("DELETE FROM template WHERE id != 't7'")
        old.execute("UPDATE template SET data = 'kept'")
    assert SECRET.encode() in kept(path.parent)


@pytest.fixture
def told() -> list[str]:
    return []


async def start(path: Path, told: list[str]) -> list[str]:
    """The ids of the templates in the store when it is opened; it is closed at once."""
    store = await Store.open(path, say=told.append)
    try:
        return [each.id for each in await store.read(lambda tables: tables.templates.all())]
    finally:
        await store.close()


async def test_large_file_of_an_earlier_release_is_written_anew_once_and_a_word_said_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    monkeypatch.setattr(rewriting, "SMALL", 0)
    left_by_an_earlier_release(tmp_path / "db")
    for _ in range(2):
        assert await start(tmp_path / "db", told) == ["t7"]
        assert SECRET.encode() not in kept(tmp_path)
    (said,) = told
    assert f"{tmp_path}/db (" in said
    assert "is written anew, this once" in said
    assert not list(tmp_path.glob("etilqs*"))


async def test_file_for_which_the_disk_has_no_room_is_written_anew_at_a_later_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    monkeypatch.setattr(rewriting, "SMALL", 0)
    left_by_an_earlier_release(tmp_path / "db")
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: Usage(1 << 30, 1 << 30, 40 << 20))
        patched.setattr(rewriting, "LAST_ROOM", 64 << 20)
        for _ in range(2):
            assert await start(tmp_path / "db", told) == ["t7"]
    assert len(told) == 2
    assert told[0].startswith("warning: what earlier releases deleted, such as secrets, may still be in ")
    assert "40MiB is free. Free some, then restart tinkbox" in told[0]
    assert SECRET.encode() in kept(tmp_path)
    assert await start(tmp_path / "db", told) == ["t7"]
    assert SECRET.encode() not in kept(tmp_path)


async def test_file_whose_disk_fills_up_meanwhile_is_written_anew_at_a_later_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: list[str]
) -> None:
    left_by_an_earlier_release(tmp_path / "db")
    with monkeypatch.context() as patched:
        # As where the disk fills up meanwhile.
        patched.setattr(rewriting, "_keep_temporary_files", refuse)
        assert await start(tmp_path / "db", told) == ["t7"]
    (said,) = told
    assert "(database or disk is full): see that its disk has room" in said
    assert await start(tmp_path / "db", told) == ["t7"]
    assert SECRET.encode() not in kept(tmp_path)


def refuse(connection: sqlite3.Connection, folder: str) -> None:
    raise sqlite3.OperationalError("database or disk is full")
