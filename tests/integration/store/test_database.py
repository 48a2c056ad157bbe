"""The SQLite file: groups, cancellation, crashes, a full disk."""

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from weakref import ref

import pytest

from tests.integration.store.stores import opened_store
from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.model.write_fault import WriteFault
from tinkbox.refused_writes import RefusedWrites
from tinkbox.store import database, threads
from tinkbox.store.database import Store, Tables
from tinkbox.store.schema import migrations
from tinkbox.store.templates import Template

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WRITER = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.integration.store.stores import opened_store
from tests.integration.store.test_database import put
async def main():
    async with opened_store(Path({path!r})) as store:
        number = 0
        while True:
            await store.write(put(f"t{{number}}"))
            print(number, flush=True)
            number += 1
asyncio.run(main())
"""


def put(name: str, size: int = 10):
    template = Template(id=name, name=name, data="x" * size, created_at=NOW, updated_at=NOW)

    def use_case(tables: Tables) -> str:
        tables.templates.put(template)
        return name

    return use_case


async def names(store: Store) -> set[str]:
    return await store.read(lambda tables: {template.name for template in tables.templates.all()})


async def test_use_cases_that_wait_together_are_all_answered_and_all_there(store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.write(put(f"t{number}"))) for number in range(1000)]
    assert {task.result() for task in tasks} == await names(store)


async def test_use_cases_that_wait_together_share_a_commit(store: Store, tmp_path: Path) -> None:
    before = (tmp_path / "db-wal").stat().st_size
    await store.write(put("alone"))
    one = (tmp_path / "db-wal").stat().st_size - before
    async with asyncio.TaskGroup() as group:
        for number in range(100):
            group.create_task(store.write(put(f"t{number}")))
    hundred = (tmp_path / "db-wal").stat().st_size - before - one
    assert hundred < 20 * one, "each commit writes its pages anew: a hundred commits would be a hundred times as much"


async def test_what_fails_undoes_itself_and_nothing_else(store: Store) -> None:
    def half_done(tables: Tables) -> None:
        put("half")(tables)
        raise Conflict("no")

    def broken(tables: Tables) -> None:
        put("broken")(tables)
        raise KeyError("our own fault")

    async with asyncio.TaskGroup() as group:
        good = [group.create_task(store.write(put(f"t{number}"))) for number in range(3)]
        bad = group.create_task(refused(store, half_done))
        worse = group.create_task(refused(store, broken))
    assert isinstance(bad.result(), Conflict)
    assert isinstance(worse.result(), KeyError)
    assert await names(store) == {task.result() for task in good}


async def test_a_disk_that_fails_undoes_the_whole_group_and_the_store_goes_on(store: Store) -> None:
    def failing(tables: Tables) -> None:
        put("failing")(tables)
        raise sqlite3.OperationalError("disk I/O error")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(unavailable(store, use_case)) for use_case in (put("t1"), failing, put("t2"))]
    assert all("the store cannot be written (disk I/O error)" in task.result() for task in tasks)
    await store.write(put("after"))
    assert await names(store) == {"after"}


async def unavailable(store: Store, use_case) -> str:
    with pytest.raises(Unavailable) as refusal:
        await store.write(use_case)
    return str(refusal.value)


async def refused(store: Store, use_case) -> Exception:
    try:
        await store.write(use_case)
    except (Conflict, KeyError) as error:
        return error
    raise AssertionError("it was not refused")


async def test_callers_that_are_cancelled_disturb_nobody(store: Store) -> None:
    for turn in range(300):
        task = asyncio.ensure_future(store.write(put(f"t{turn}")))  # noqa: TID251  cancelled by hand, that is the point
        for _ in range(turn % 13):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    await store.write(put("last"))
    assert "last" in await names(store)


async def test_a_reader_never_sees_a_transaction_half_done(store: Store) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(tables: Tables) -> None:
        put("first")(tables)
        entered.set()
        leave.wait(60)
        put("second")(tables)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(store.write(slow))
        await asyncio.to_thread(entered.wait)
        assert await names(store) == set()
        leave.set()
    assert await names(store) == {"first", "second"}


async def test_a_question_that_lasts_keeps_no_other_waiting_and_one_that_nobody_awaits_is_dropped(store: Store) -> None:
    entered, leave, asked = threading.Event(), threading.Event(), list[str]()

    def slow(_: Tables) -> None:
        entered.set()
        leave.wait(60)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(store.read_long(slow))
        await asyncio.to_thread(entered.wait)
        assert await names(store) == set()
        abandoned = group.create_task(store.read_long(lambda _: asked.append("abandoned")))
        awaited = group.create_task(store.read_long(lambda _: asked.append("awaited")))
        await asyncio.sleep(0)
        abandoned.cancel()
        await asyncio.wait([abandoned])
        leave.set()
        await awaited
    assert asked == ["awaited"]


async def test_what_was_asked_and_answered_is_held_no_longer(store: Store) -> None:
    class Large: ...

    for ask in (store.read_long, store.read, store.look, store.write):
        large = Large()
        held = ref(large)
        await ask(partial(lambda _, tables: None, large))
        del large
        await asyncio.to_thread(_wait_until_gone, held)


def _wait_until_gone(held: "ref[object]") -> None:
    while held() is not None:  # the thread tells its answer a moment before it lets go
        pass


async def test_who_reads_cannot_write(store: Store) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await store.read(put("never"))
    assert await names(store) == set()


async def test_who_waits_when_the_store_closes_or_comes_later_is_told(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "db")
    entered, leave = threading.Event(), threading.Event()

    def slow(tables: Tables) -> str:
        entered.set()
        leave.wait(60)
        return put("begun")(tables)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        begun = group.create_task(store.write(slow))
        await asyncio.to_thread(entered.wait)
        waiting = group.create_task(unavailable(store, put("never")))
        await asyncio.sleep(0)
        closing = group.create_task(store.close())
        assert "shutting down" in await waiting
        leave.set()
        await closing
        assert await begun == "begun"
        assert "closed" in await unavailable(store, put("later"))
    async with opened_store(tmp_path / "db") as store:
        assert await names(store) == {"begun"}


async def test_a_failure_of_ours_ends_the_store_and_with_it_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await Store.open(tmp_path / "db")
    monkeypatch.setattr(database, "_carry_out", raises)
    with pytest.raises(ZeroDivisionError):
        await store.write(put("never"))
    with pytest.raises(ZeroDivisionError):
        await store.run()
    await store.close()
    assert not [
        each for each in Path("/proc/self/fd").iterdir() if os.path.realpath(each).startswith(str(tmp_path / "db"))
    ]


def raises(*_: object) -> None:
    raise ZeroDivisionError


async def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    script = WRITER.format(root=root, path=str(tmp_path / "db"))
    writer = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    assert writer.stdout is not None
    async with asyncio.timeout(60):
        acknowledged = [f"t{int(await writer.stdout.readline())}" for _ in range(200)]
        writer.kill()
        rest, _ = await writer.communicate()
    whole = rest.splitlines(keepends=True)
    acknowledged += [f"t{int(line)}" for line in whole if line.endswith(b"\n")]
    async with opened_store(tmp_path / "db") as store:
        assert set(acknowledged) <= await names(store)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


async def test_a_full_disk_is_said_and_nothing_is_half_stored(small_disk: Path) -> None:
    writes = RefusedWrites(lambda: datetime(2026, 3, 1, tzinfo=UTC))
    async with opened_store(small_disk / "db", writes) as store:
        await store.write(put("before"))
        filler = small_disk / "filler"
        filler.write_bytes(b"x" * (small_disk_free(small_disk) - 8192))
        with pytest.raises(Unavailable, match="free space"):
            await store.write(put("big", 300_000))
        assert await names(store) == {"before"}
        for _ in range(3):
            await writes.try_again()
        (refused,) = writes.all
        assert (refused.what, "free space where the data folder" in refused.text) == ("the database", True)
        assert refused.fault is WriteFault.FULL
        filler.unlink()
        await writes.try_again()
        await writes.try_again()
        assert writes.all == ()
        await store.write(put("after", 100_000))
        assert await names(store) == {"before", "after"}


async def test_a_database_that_another_program_has_locked_is_no_disk_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "PRAGMAS", ("busy_timeout = 10", *threads.PRAGMAS[1:]))
    writes = RefusedWrites(lambda: datetime(2026, 3, 1, tzinfo=UTC))
    async with opened_store(tmp_path / "db", writes) as store:
        with closing(sqlite3.connect(tmp_path / "db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="another program holds it: `fuser -v"):
                await store.write(put("t1"))
            (refused,) = writes.all
            assert (refused.what, refused.fault) == ("the database", WriteFault.LOCKED)
            assert (
                refused.way_out
                == f"another program holds it: `fuser -v {tmp_path / 'db'}` tells which; end that program"
            )
        await store.write(put("t1"))


async def test_a_damaged_file_is_told_with_its_way_out_and_not_as_a_full_disk(tmp_path: Path) -> None:
    writes = RefusedWrites(lambda: datetime(2026, 3, 1, tzinfo=UTC))
    path = tmp_path / "db"
    async with opened_store(path, writes) as store:
        for number in range(40):
            await store.write(put(f"t{number}", 20_000))
    with path.open("r+b") as file:
        file.seek(-600_000, os.SEEK_END)
        file.write(b"\xa5" * 600_000)
    store = await Store.open(path, writes)
    try:
        for act in (store.read, store.look, store.read_long):
            with pytest.raises(Unavailable, match="is damaged"):
                await act(lambda tables: [each.data for each in tables.templates.all()])
        with pytest.raises(Unavailable, match="stop tinkbox, then put a backup") as refusal:
            await store.write(put("t30", 50_000))
        assert "free space" not in str(refusal.value)
        for _ in range(3):
            await writes.try_again()
        assert [each.what for each in writes.all] == ["the damaged database"]
    finally:
        await store.close()


def small_disk_free(disk: Path) -> int:
    status = os.statvfs(disk)
    return status.f_bavail * status.f_frsize


async def test_a_store_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    async with opened_store(tmp_path / "db"):
        pass
    with closing(sqlite3.connect(tmp_path / "db")) as connection:
        connection.execute("PRAGMA user_version = 9999")
    with pytest.raises(Unavailable, match="newer tinkbox"):
        await Store.open(tmp_path / "db")


async def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "db").write_text("my diary" * 1000)
    with pytest.raises(Unavailable, match="cannot"):
        await Store.open(tmp_path / "db")
    assert (tmp_path / "db").read_text() == "my diary" * 1000


def pragma(tables: Tables, name: str) -> tuple[object]:
    return tables.events._sql.execute(f"PRAGMA {name}").fetchone()


async def test_the_pragmas_that_keep_promises_are_set(store: Store) -> None:
    answers = {}
    for name in ("synchronous", "foreign_keys", "journal_mode"):
        (answers[name],) = await store.write(partial(pragma, name=name))
    assert answers == {"synchronous": 2, "foreign_keys": 1, "journal_mode": "wal"}


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


@pytest.mark.parametrize("damage", ["garbage", "folder"])
async def test_a_file_that_is_no_store_is_named_with_what_to_do(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "tinkbox.sqlite"
    if damage == "garbage":
        path.write_text("no database " * 500)
    else:
        path.mkdir()
    told = {
        "garbage": "file is not a database: put a backup of the data folder in its place; without one, move tinkbox.sqlite away",
        "folder": "unable to open database file: it is a folder; move it away, or put a backup of the file in its place",
    }[damage]
    with pytest.raises(Unavailable, match=re.escape(f"cannot use the store {path}: {told}")):
        await Store.open(path)
    with pytest.raises(Unavailable, match=re.escape(f"cannot use the store {path}: {told}")):
        database.examine(path)


def test_to_examine_a_store_merges_nothing_that_a_killed_run_left(tmp_path: Path) -> None:
    path, left = tmp_path / "tinkbox.sqlite", tmp_path / "left"
    left.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(migrations()[0][1])
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
        for each in tmp_path.glob("tinkbox.sqlite*"):
            (left / each.name).write_bytes(each.read_bytes())
    before = {each.name: each.read_bytes() for each in left.iterdir() if not each.name.endswith("-shm")}
    assert before.keys() == {"tinkbox.sqlite", "tinkbox.sqlite-wal"}
    database.examine(left / "tinkbox.sqlite")
    assert {each.name: each.read_bytes() for each in left.iterdir() if not each.name.endswith("-shm")} == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_start_on_a_full_disk_says_how_much_is_free(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], check=True, timeout=30)
    try:
        (tmp_path / "filling").write_bytes(bytes(64 * 1024))
        with pytest.raises(Unavailable, match=r"its disk has 0 bytes free; free space where the data folder "):
            asyncio.run(Store.open(tmp_path / "tinkbox.sqlite"))
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True, timeout=30)


@pytest.mark.parametrize("view", ["", "CREATE VIEW token AS SELECT * FROM others WHERE name <> 'anna'"])
async def test_store_whose_table_another_program_renamed_is_not_used_also_with_a_view_in_its_place(
    tmp_path: Path, view: str
) -> None:
    path = tmp_path / "tinkbox.sqlite"
    await (await Store.open(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"ALTER TABLE token RENAME TO others; {view}")
    wanted = re.escape(f"{path} has no table token: another program renamed or deleted it, and may have put a view")
    with pytest.raises(Unavailable, match=wanted):
        database.examine(path)
    with pytest.raises(Unavailable, match=wanted):
        await Store.open(path)


@pytest.mark.parametrize("how", ["ABORT", "FAIL", "ROLLBACK"])
async def test_trigger_of_another_program_that_refuses_a_change_is_told_as_such(tmp_path: Path, how: str) -> None:
    path = tmp_path / "tinkbox.sqlite"
    store = await Store.open(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TRIGGER no BEFORE UPDATE ON room BEGIN SELECT raise({how}, 'nothing goes'); END")
    with pytest.raises(Unavailable, match=r"the database refuses it \(nothing goes\), for another program put"):
        await store.write(lambda tables: tables.room._sql.execute("UPDATE room SET number = 0"))
    await store.close()
