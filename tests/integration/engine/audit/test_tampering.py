"""Everything that somebody with the database, and without the audit's key, may do to its lines: the next examination names it."""

import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance
from tests.integration.engine.audit.test_audit import ACT, audit_in
from tinkbox.engine.audit import audit as audits
from tinkbox.engine.audit.at_rest import damage_of
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.audit.head import HEAD, KEY, HeadFile
from tinkbox.engine.people.tokens import Tokens
from tinkbox.model.access import Right, operator
from tinkbox.model.audit import (
    DAMAGED,
    EXAMINED,
    FOREIGN,
    LOST,
    NONE_BEFORE,
    Act,
    Head,
    Kind,
    Line,
    Listing,
    Seals,
    Unguarded,
    line_of,
    lost_key,
    lost_lines,
    unwritten_lines,
)
from tinkbox.model.errors import Unavailable
from tinkbox.model.listing import Order
from tinkbox.store.audit import AuditTable

LINES = 8
AT = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
BERTS = replace(ACT, who="bert", kind=Kind.OWN)


class Forger:
    """Knows SQL and how a line is made, has no key, and leaves the triggers as they were."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.sql = database
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'audit_is_%'").fetchall():
            database.execute(f"DROP TRIGGER {name}")

    def digest(self, number: int) -> str:
        found = self.sql.execute("SELECT digest FROM audit WHERE number = ?", (number,)).fetchone()
        return str(found[0]) if found else NONE_BEFORE

    def put(self, number: int, act: Act = BERTS, previous: str = "") -> Line:
        """A line in the chain, in place of the one that is there."""
        line = line_of(act, number, AT, previous or self.digest(number - 1))
        self.delete(f"number = {number}")
        self.sql.execute("INSERT INTO audit (number, line, digest) VALUES (?, ?, ?)", _row(line))
        return line

    def chain_anew(self, first: int, last: int = LINES) -> None:
        """All lines from one on, each behind the one before."""
        for number in range(first, last + 1):
            self.put(number)

    def delete(self, condition: str) -> None:
        self.sql.execute(f"DELETE FROM audit WHERE {condition}")

    def renumber(self, numbers: Sequence[tuple[int, int]]) -> None:
        for before, after in numbers:
            self.sql.execute("UPDATE audit SET number = ? WHERE number = ?", (after, before))


def _row(line: Line) -> tuple[int, str, str]:
    return line.number, line.text, line.digest


def _with_text(forger: Forger) -> None:
    forger.sql.execute("UPDATE audit SET line = replace(line, 'anna', 'bert') WHERE number = 4")


def _pushed_in(forger: Forger) -> None:
    forger.renumber([(each, each + 1) for each in range(LINES, 3, -1)])
    forger.put(4)


def _called_old(forger: Forger) -> None:
    digest = forger.digest(LINES)
    cut = replace(BERTS, kind=Kind.CUT, what="audit cut", object="audit", through=LINES, through_digest=digest)
    forger.put(LINES + 1, cut)


def _called_old_and_deleted(forger: Forger) -> None:
    _called_old(forger)
    forger.delete(f"number <= {LINES}")


def _told_and_deleted(forger: Forger) -> None:
    forger.delete("number > 2")
    forger.put(LINES + 1, Act(kind=Kind.OWN, who="tinkbox", what=EXAMINED, object="audit", why="x"), forger.digest(2))


TAMPERINGS: dict[str, Callable[[Forger], object]] = {
    "changed in the middle": _with_text,
    "changed in the middle, with its digest": lambda forger: forger.put(4),
    "changed in the middle, and all behind it chained anew": lambda forger: forger.chain_anew(4),
    "put in in the middle": _pushed_in,
    "put in in the middle, and all behind it chained anew": lambda forger: forger.chain_anew(4, LINES + 1),
    "put in before the first": lambda forger: forger.put(0),
    "removed in the middle": lambda forger: forger.delete("number = 4"),
    "removed in the middle, and those behind it moved up": lambda forger: (
        forger.delete("number = 4"),
        forger.chain_anew(4, LINES - 1),
        forger.delete(f"number = {LINES}"),
    ),
    "removed at the beginning": lambda forger: forger.delete("number < 4"),
    "in another order": lambda forger: forger.renumber([(3, 100), (4, 3), (100, 4)]),
    "changed at the end": lambda forger: forger.put(LINES),
    "removed at the end": lambda forger: forger.delete("number > 6"),
    "removed at the end, and others in their places": lambda forger: forger.chain_anew(7),
    "removed at the end, and told as if the appliance had found it": _told_and_deleted,
    "added at the end": lambda forger: forger.put(LINES + 1),
    "several added at the end": lambda forger: forger.chain_anew(LINES + 1, LINES + 3),
    "added at the end: that all before it went for their age, and deleted": _called_old_and_deleted,
    "added at the end: that all before it went for their age": _called_old,
    "all chained anew from the first": lambda forger: forger.chain_anew(1),
    "all deleted": lambda forger: forger.delete("TRUE"),
}


async def written(box: Appliance, folder: Path, number: int) -> Audit:
    """An audit with so many lines, and its head."""
    audit = audit_in(box, folder)
    await audit.load()
    for _ in range(number):
        await audit.begin(ACT)
    await audit.save()
    return audit


def tamper(folder: Path, tampering: Callable[[Forger], object]) -> None:
    with closing(sqlite3.connect(folder / "tinkbox.sqlite")) as database:
        tampering(Forger(database))
        database.row_factory = sqlite3.Row
        AuditTable(database).mend_parts()
        database.commit()


def damage(folder: Path) -> str:
    """What `serve --check` would say."""
    with closing(sqlite3.connect(folder / "tinkbox.sqlite")) as database:
        database.row_factory = sqlite3.Row
        return damage_of(AuditTable(database), folder)


@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it is stopped"])
@pytest.mark.parametrize("tampering", TAMPERINGS.values(), ids=TAMPERINGS.keys())
async def test_verify_notices_what_somebody_did_who_has_the_database_alone(
    box: Appliance, tmp_path: Path, tampering: Callable[[Forger], object], runs: bool
) -> None:
    audit = await written(box, tmp_path, LINES)
    assert ((await audit.verify()).problem, damage(tmp_path)) == ("", "")
    tamper(tmp_path, tampering)
    if not runs:
        assert damage(tmp_path)
        audit = audit_in(box, tmp_path, timedelta(days=365))
        await audit.load()
    await audit.begin(ACT)
    await audit.save()
    assert await audit.delete_old() == 0, "no line of another program has lines deleted"
    verdict = await audit.verify()
    assert verdict.problem
    later = audit_in(box, tmp_path)
    await later.load()
    await later.remember()
    assert (await later.verify()).problem, "also after another start"
    assert later.broken is not None


@pytest.mark.parametrize(
    "trigger",
    [
        "BEFORE INSERT ON audit BEGIN SELECT raise(IGNORE); END",
        "AFTER INSERT ON audit BEGIN DELETE FROM audit WHERE number = new.number; END",
        "AFTER INSERT ON audit BEGIN UPDATE audit SET digest = '' WHERE number = new.number; END",
        "BEFORE INSERT ON AUDIT BEGIN SELECT raise(IGNORE); END",
        "BEFORE INSERT ON audit BEGIN SELECT raise(ABORT, 'no'); END",
        "BEFORE INSERT ON audit BEGIN SELECT raise(FAIL, 'no'); END",
        "BEFORE INSERT ON audit BEGIN SELECT raise(ROLLBACK, 'no'); END",
    ],
)
async def test_trigger_that_swallows_lines_lets_nothing_be_changed_and_is_told(
    box: Appliance, tmp_path: Path, trigger: str
) -> None:
    audit = await written(box, tmp_path, 0)
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        Forger(database).sql.execute(f"CREATE TRIGGER swallows {trigger}")
    for frees_room in (False, True):
        with pytest.raises(Unavailable, match="the audit takes no line, so nothing is changed: another program put a"):
            await audit.begin(ACT, frees_room=frees_room)
    assert re.search(r"not as tinkbox made them \(.*trigger swallows\)", damage(tmp_path))
    later = audit_in(box, tmp_path)
    assert ["swallows" in each for each in await later.load()] == [True]
    await later.begin(ACT)
    assert damage(tmp_path) == ""


DONE_ALONE = 'BEFORE INSERT ON audit WHEN new.line LIKE \'%"kind":"done"%\' BEGIN SELECT raise(IGNORE); END'


async def kept_out(box: Appliance, folder: Path, number: int) -> Audit:
    """An audit of which so many lines wait, for another program keeps them out, as its head tells."""
    audit = await written(box, folder, 0)
    with closing(sqlite3.connect(folder / "tinkbox.sqlite")) as database:
        database.execute(f"CREATE TRIGGER swallows {DONE_ALONE}")
    for _ in range(number):
        await audit.end(ACT, await audit.begin(ACT))
    with pytest.raises(Unavailable):
        await audit.save()
    return audit


def mended(folder: Path) -> None:
    """The trigger is gone, as if it had never been there."""
    with closing(sqlite3.connect(folder / "tinkbox.sqlite")) as database:
        database.execute("DROP TRIGGER swallows")


async def test_number_of_unwritten_lines_cannot_be_taken_out_of_the_head(box: Appliance, tmp_path: Path) -> None:
    await kept_out(box, tmp_path, 2)
    mended(tmp_path)
    head = tmp_path / HEAD
    told = json.loads(head.read_text())
    for forged in (told | {"unwritten": told["unwritten"] | {"number": 1}}, {**told, "unwritten": None}):
        head.write_text(json.dumps(forged))
        assert "the audit is not as it was written: " in damage(tmp_path)
    del told["unwritten"]
    head.write_text(json.dumps(told))
    assert "its seal is wrong" in damage(tmp_path)
    (why,) = await audit_in(box, tmp_path).load()
    assert "its seal is wrong" in why


async def test_lost_lines_are_told_once_also_where_the_head_cannot_be_written_after_that(
    box: Appliance, tmp_path: Path
) -> None:
    audit = await kept_out(box, tmp_path, 2)
    mended(tmp_path)
    assert audit.unwritten is not None
    assert f"{unwritten_lines(audit.unwritten)}. A start records that in a line" in damage(tmp_path)
    in_the_way = tmp_path / "audit.new"
    in_the_way.mkdir()
    (told,) = await audit_in(box, tmp_path).load()
    assert lost_lines(audit.unwritten) in told
    assert damage(tmp_path) == "", "the line tells it"
    later = audit_in(box, tmp_path)
    assert await later.load() == [], "once"
    in_the_way.rmdir()
    await later.save()
    head, _ = HeadFile(tmp_path).read()
    assert head is not None
    assert head.unwritten is None


async def test_line_of_another_program_that_tells_of_lost_lines_keeps_ours_from_nothing(
    box: Appliance, tmp_path: Path
) -> None:
    audit = await kept_out(box, tmp_path, 1)
    mended(tmp_path)
    assert audit.unwritten is not None
    act = Act(kind=Kind.OWN, who="tinkbox", what=LOST, object="audit", why=lost_lines(audit.unwritten))
    tamper(tmp_path, lambda forger: forger.put(2, act))
    assert len(await audit_in(box, tmp_path).load()) == 1


async def test_lost_lines_are_told_beside_a_key_that_is_lost(box: Appliance, tmp_path: Path) -> None:
    await kept_out(box, tmp_path, 1)
    (tmp_path / KEY).unlink()
    told = await audit_in(box, tmp_path).load()
    assert ["audit.key was missing" in each for each in told] == [True, False, False]
    assert "lines of the audit are lost: 1 line of what was done or refused" in told[2]


async def test_lines_that_are_gone_while_others_are_kept_out_are_told_by_the_next_start(
    box: Appliance, tmp_path: Path
) -> None:
    audit = await written(box, tmp_path, LINES)
    swallows = "CREATE TRIGGER swallows BEFORE INSERT ON audit BEGIN SELECT raise(IGNORE); END"
    asked = await audit.begin(ACT)
    tamper(tmp_path, lambda forger: forger.delete("number > 6"))
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.execute(swallows)
    await audit.end(ACT, asked)
    with pytest.raises(Unavailable):
        await audit.save()
    told = await audit_in(box, tmp_path).load()
    assert [each.partition(":")[0] for each in told] == [
        "the audit is not as it was",
        "another program changed the database",
        "lines of the audit are lost",
    ]
    assert "lines 7 to 9 are missing" in told[0]


async def test_lines_for_which_there_is_no_room_count_until_a_line_tells_of_them(
    box: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits, "MOST_KEPT", 2)
    audit = await kept_out(box, tmp_path, 5)
    for _ in range(2):
        assert "5 lines of what was done or refused since " in (await audit.verify()).problem
        with pytest.raises(Unavailable):
            await audit.flush()
    mended(tmp_path)
    await audit.save()
    last = (await audit.after(0, 99))[-1].document()
    assert (last["what"], last["why"]) == (LOST, "3 lines were not recorded, for another program kept them out")
    assert (audit.unwritten, (await audit.verify()).problem) == (None, "")


async def test_foreign_trigger_that_keeps_nothing_out_yet_is_told_while_tinkbox_runs(
    box: Appliance, tmp_path: Path
) -> None:
    audit = await written(box, tmp_path, 1)
    assert audit.unguarded is None
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.execute("CREATE TRIGGER idle AFTER INSERT ON audit BEGIN SELECT 1; END")
    assert "not as tinkbox made them (trigger idle)" in (await audit.verify()).problem
    await audit.save()
    assert audit.unguarded == Unguarded(parts=["trigger idle"], since=box.clock())
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.execute("DROP TRIGGER idle")
    await audit.save()
    assert (audit.unguarded, (await audit.verify()).problem) == (None, "")


def with_column(folder: Path, column: str, says: str) -> str:
    """A column beside the text of the lines says something else, without an index that follows it; returns the text of the table as it was."""
    with closing(sqlite3.connect(folder / "tinkbox.sqlite")) as database:
        (made,) = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'audit'").fetchone()
        put_schema(database, made.replace(f"json_extract(line, '$.{column}')", says))
    return str(made)


def put_schema(database: sqlite3.Connection, made: str) -> None:
    database.execute("PRAGMA writable_schema = ON")
    database.execute("UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = 'audit'", (made,))
    database.commit()
    # So that those who have the file open learn of it.
    (version,) = database.execute("PRAGMA schema_version").fetchone()
    database.execute(f"PRAGMA schema_version = {version + 1}")
    database.execute("PRAGMA writable_schema = RESET")


def with_index(folder: Path, index: str, column: str, says: str) -> None:
    """An index of the lines says something else; the schema is as it was."""
    made = with_column(folder, column, says)
    with closing(sqlite3.connect(folder / "tinkbox.sqlite")) as database:
        database.execute(f"REINDEX {index}")
        put_schema(database, made)


async def annas(audit: Audit) -> tuple[int, int, int]:
    """How many lines are hers, from the last hour, and without those of which another one tells what became."""
    listings = (
        Listing(who="anna", every=True),
        Listing(since=audit.now() - timedelta(hours=1), every=True),
        Listing(),
    )
    one, two, three = [(await audit.listed(each))[1] for each in listings]
    return one, two, three


@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it is stopped"])
@pytest.mark.parametrize(
    ("index", "column", "says"),
    [
        ("audit_who", "who", "'tinkbox'"),
        ("audit_outcome", "asked", "CASE number WHEN 8 THEN 6 END"),
        ("audit_cut", "through", "number - 1"),
    ],
)
async def test_index_that_says_something_else_hides_no_line_and_is_told(
    box: Appliance, tmp_path: Path, index: str, column: str, says: str, runs: bool
) -> None:
    audit = await written(box, tmp_path, LINES)
    assert await annas(audit) == (LINES, LINES, LINES)
    with_index(tmp_path, index, column, says)
    if not runs:
        assert "another program changed an index of the lines (" in damage(tmp_path)
        audit = audit_in(box, tmp_path, timedelta(days=365))
        assert await audit.load() == []
    assert await annas(audit) == (LINES, LINES, LINES)
    assert await audit.delete_old() == 0
    problem = (await audit.verify()).problem
    assert f"index {index}" in problem
    assert "'REINDEX audit'` in the data folder mends it" in problem
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.execute("REINDEX audit")
    assert ((await audit.verify()).problem, damage(tmp_path)) == ("", "")


async def test_line_that_tells_of_broken_ones_is_found_whatever_an_index_says(box: Appliance, tmp_path: Path) -> None:
    await written(box, tmp_path, LINES)
    tamper(tmp_path, _with_text)
    audit = audit_in(box, tmp_path)
    await audit.load()
    assert (await audit.verify()).problem
    with_index(tmp_path, "audit_who", "who", "'bert'")
    later = audit_in(box, tmp_path)
    await later.load()
    await later.remember()
    assert later.broken == audit.broken is not None


@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it is stopped"])
@pytest.mark.parametrize(
    ("column", "says"),
    [("who", "'tinkbox'"), ("at", "'2000-01-01T00:00:00+00:00'"), ("asked", "number + 1"), ("through", "number - 1")],
)
async def test_column_that_says_something_else_hides_and_deletes_no_line_and_is_mended_by_the_start(
    box: Appliance, tmp_path: Path, column: str, says: str, runs: bool
) -> None:
    await written(box, tmp_path, LINES)
    audit = audit_in(box, tmp_path, timedelta(days=365))
    await audit.load()
    made = with_column(tmp_path, column, says)
    if runs:
        assert await annas(audit) == (LINES, LINES, LINES)
        assert await audit.delete_old() == 0
        assert "not as tinkbox made them (table audit)" in (await audit.verify()).problem
        await audit.save()
        assert audit.unguarded == Unguarded(parts=["table audit"], since=box.clock())
    assert "not as tinkbox made them (table audit); the next start mends that" in damage(tmp_path)
    later = audit_in(box, tmp_path, timedelta(days=365))
    (told,) = await later.load()
    assert "not as tinkbox made them: table audit. " in told
    assert ((await later.verify()).problem, damage(tmp_path)) == ("", "")
    assert (await annas(later))[0] == LINES
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        assert database.execute("SELECT sql FROM sqlite_master WHERE name = 'audit'").fetchall() == [(made,)]
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    await later.begin(ACT)
    assert await audit_in(box, tmp_path).load() == []


@pytest.mark.parametrize(
    ("part", "sql"),
    [
        ("index audit_who", "DROP INDEX audit_who; CREATE INDEX audit_who ON audit (who) WHERE who <> 'anna'"),
        ("index audit_who", "DROP INDEX audit_who; CREATE INDEX audit_who ON audit (who COLLATE NOCASE)"),
        ("index audit_cut", "DROP INDEX audit_cut"),
        ("index all_of_it", "CREATE INDEX all_of_it ON AUDIT (number, who, line, digest)"),
        ("index lower_who", "CREATE INDEX lower_who ON audit (lower(who))"),
        ("trigger on_tokens", "CREATE TRIGGER on_tokens BEFORE DELETE ON token BEGIN SELECT raise(IGNORE); END"),
        ("trigger \"a'b", 'CREATE TRIGGER """a\'b" AFTER UPDATE ON token BEGIN SELECT 1; END'),
        ("table evil", "CREATE TABLE evil (of REFERENCES token (id))"),
        ("index once", "CREATE UNIQUE INDEX once ON token (name)"),
        ("index rooms", "CREATE INDEX rooms ON ROOM (lower(kind))"),
        ("trigger workflow_takes_room", "DROP TRIGGER workflow_takes_room"),
    ],
)
async def test_index_of_the_lines_and_what_refuses_changes_of_any_table_is_told_and_is_ours_again_after_the_next_start(
    box: Appliance, tmp_path: Path, part: str, sql: str
) -> None:
    audit = await written(box, tmp_path, 1)
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        before = database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        database.executescript(sql)
    assert f"not as tinkbox made them ({part})" in (await audit.verify()).problem
    assert part in damage(tmp_path)
    later = audit_in(box, tmp_path)
    (told,) = await later.load()
    assert f"not as tinkbox made them: {part}. " in told
    assert ((await later.verify()).problem, damage(tmp_path)) == ("", "")
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        assert database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall() == before


async def test_table_that_refers_to_a_token_keeps_it_until_the_next_start_and_says_so(
    box: Appliance, tmp_path: Path
) -> None:
    tokens = Tokens(box.store, box.clock, lambda: "an-id", lambda: "0" * 48, "the-operators-token")
    await tokens.issue("anna", frozenset({Right.LOOK}), until=None, by=operator())
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.executescript("CREATE TABLE evil (of REFERENCES token (id)); INSERT INTO evil SELECT id FROM token;")
    with pytest.raises(Unavailable, match=r"the database refuses it \(FOREIGN KEY constraint failed\), for another"):
        await tokens.revoke("anna")
    await audit_in(box, tmp_path).load()
    await tokens.revoke("anna")


async def test_table_of_another_program_that_refers_to_none_of_ours_is_left_alone(
    box: Appliance, tmp_path: Path
) -> None:
    audit = await written(box, tmp_path, 1)
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.executescript(
            "CREATE TABLE rack_plan (text); INSERT INTO rack_plan VALUES ('mine'); CREATE INDEX mine ON rack_plan (text);"
        )
    assert (await audit.verify()).problem == ""
    assert await audit_in(box, tmp_path).load() == []


async def test_index_that_refuses_lines_lets_nothing_be_changed(box: Appliance, tmp_path: Path) -> None:
    audit = await written(box, tmp_path, 1)
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        database.execute("CREATE UNIQUE INDEX once ON audit (who)")
    with pytest.raises(Unavailable, match="the audit takes no line, so nothing is changed: another program put a"):
        await audit.begin(ACT)
    later = audit_in(box, tmp_path)
    assert ["index once" in each for each in await later.load()] == [True]
    await later.begin(ACT)


async def test_head_that_is_missing_beside_its_key_is_told_before_a_start(box: Appliance, tmp_path: Path) -> None:
    await written(box, tmp_path, 1)
    (tmp_path / HEAD).unlink()
    assert f"{tmp_path / HEAD} is missing" in damage(tmp_path)
    tamper(tmp_path, lambda forger: forger.delete("TRUE"))
    assert f"{tmp_path / HEAD} is missing" in damage(tmp_path)
    (tmp_path / KEY).unlink()
    assert damage(tmp_path) == "", "as of a box that never started"
    tokens = Tokens(box.store, box.clock, lambda: "an-id", lambda: "0" * 48, "the-operators-token")
    await tokens.issue("anna", frozenset({Right.LOOK}), until=None, by=operator())
    assert "all lines are missing, and there have been some" in damage(tmp_path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda forger: forger.delete("number > 1"), "; lines 2 to 3 are missing"),
        (lambda forger: forger.put(3), "; line 3 is another one than the head names"),
    ],
)
async def test_lines_that_are_gone_with_the_key_are_told_beside_it(
    box: Appliance, tmp_path: Path, change: Callable[[Forger], object], why: str
) -> None:
    await written(box, tmp_path, 3)
    (tmp_path / KEY).unlink()
    tamper(tmp_path, change)
    later = audit_in(box, tmp_path)
    assert any("audit.key was missing" in each and why in each for each in await later.load())
    assert later.broken is not None
    assert not later.broken.is_of_key


async def test_lines_that_were_changed_before_the_key_was_lost_are_told_by_their_digests(
    box: Appliance, tmp_path: Path
) -> None:
    await written(box, tmp_path, 3)
    (tmp_path / KEY).unlink()
    later = audit_in(box, tmp_path)
    await later.load()
    anna_to_bert = "UPDATE audit SET line = replace(line, 'anna', 'bert') WHERE number = 2"
    tamper(tmp_path, lambda forger: forger.sql.execute(anna_to_bert))
    assert (await later.verify()).problem == "line 2 is not as it was written"


async def test_key_that_is_put_back_after_a_start_without_it_is_told_and_its_lines_count_from_then_on(
    box: Appliance, tmp_path: Path
) -> None:
    await written(box, tmp_path, 1)
    (tmp_path / KEY).rename(tmp_path / "away")
    await audit_in(box, tmp_path).load()
    (tmp_path / "away").rename(tmp_path / KEY)
    later = audit_in(box, tmp_path)
    (told,) = await later.load()
    assert "audit.head was not written by this appliance, or with another audit.key: its seal is wrong" in told
    await later.begin(ACT)
    assert [(await later.verify(after)).wrong for after in (0, 2, 3)] == [2, 3, 0]


async def test_damaged_key_fails_the_start_with_what_follows_without_a_backup(box: Appliance, tmp_path: Path) -> None:
    await audit_in(box, tmp_path).load()
    (tmp_path / KEY).write_text("")
    with pytest.raises(Unavailable, match=r"audit\.key is empty: it is the key by which .* Put it back from a backup"):
        await audit_in(box, tmp_path).load()
    assert (tmp_path / KEY).read_text() == ""


async def test_lines_behind_the_head_of_an_appliance_that_was_killed_cannot_be_made_anew(
    box: Appliance, tmp_path: Path
) -> None:
    killed = audit_in(box, tmp_path)
    await killed.load()
    for _ in range(LINES):
        await killed.begin(ACT)
    tamper(tmp_path, lambda forger: forger.chain_anew(6))
    later = audit_in(box, tmp_path)
    await later.load()
    verdict = await later.verify()
    assert (verdict.wrong, verdict.problem) == (6, f"line 6 {FOREIGN}")


async def test_lines_of_an_earlier_release_have_no_seal_and_count_as_they_did(box: Appliance, tmp_path: Path) -> None:
    for _ in range(3):
        await box.audit.begin(ACT)
    last = (await box.audit.after(2, 1))[0]
    HeadFile(tmp_path).write(Head(3, last.digest))
    audit = audit_in(box, tmp_path)
    assert await audit.load() == []
    for _ in range(2):
        await audit.begin(ACT)
        await audit.save()
        audit = audit_in(box, tmp_path)
        assert await audit.load() == []
    assert (await audit.verify()).problem == ""
    assert ["seal" in each.document() for each in await audit.after(0, 9)] == [False, False, False, True, True]
    tamper(tmp_path, lambda forger: forger.put(6))
    assert [(await audit.verify(after)).wrong for after in (0, 5, 6)] == [6, 6, 7], "the line that tells it"


async def test_first_line_of_a_chain_that_was_made_anew_is_named_also_behind_the_line_that_tells_it(
    box: Appliance, tmp_path: Path
) -> None:
    audit = await written(box, tmp_path, LINES)
    tamper(tmp_path, lambda forger: forger.chain_anew(3))
    told = (3, f"line 3 {FOREIGN}")
    found = await audit.verify()
    assert (found.wrong, found.problem) == told
    await audit.begin(ACT)
    found = await audit.verify()
    assert (found.wrong, found.problem) == told, "the chain is broken behind it"
    assert (await audit.verify(found.goes_on_after)).problem == "", "no step for each of these lines"


def _gap(forger: Forger, act: Act) -> None:
    forger.put(6, act, forger.digest(3))
    forger.delete("number IN (4, 5)")


def _far_off(forger: Forger, act: Act) -> None:
    forger.put(LINES + 1000, act, forger.digest(LINES))


def _at_the_end(forger: Forger, act: Act) -> None:
    forger.put(LINES + 1, act)


@pytest.mark.parametrize(
    ("forge", "wrong", "found"),
    [
        (_gap, 4, "lines 4 to 5 are missing"),
        (_far_off, LINES + 1, f"lines {LINES + 1} to {LINES + 999} are missing"),
        (_at_the_end, LINES + 1, f"line {LINES + 1} {FOREIGN}"),
    ],
)
async def test_forged_line_that_says_what_the_appliance_found_keeps_nothing_untold(
    box: Appliance, tmp_path: Path, forge: Callable[[Forger, Act], None], wrong: int, found: str
) -> None:
    await written(box, tmp_path, LINES)
    tamper(tmp_path, lambda forger: forge(forger, replace(BERTS, what=EXAMINED, why="all is well")))
    audit = audit_in(box, tmp_path)
    await audit.load()
    verdict = await audit.verify()
    assert (verdict.wrong, verdict.problem[: len(found)]) == (wrong, found)
    assert audit.broken is not None, "a line tells it"


async def test_lines_of_another_key_count_once_it_is_told_that_the_key_is_another(
    box: Appliance, tmp_path: Path
) -> None:
    await written(box, tmp_path, 1)
    (tmp_path / KEY).unlink()
    later = audit_in(box, tmp_path)
    (told,) = await later.load()
    assert told.startswith(f"{lost_key(2)}. `tinkbox audit verify` fails at line 2 from now on")
    assert later.broken is not None
    assert later.broken.is_of_key
    await later.begin(ACT)
    verdict = await later.verify()
    assert (verdict.wrong, verdict.problem) == (2, f"line 2 tells what the appliance found: {lost_key(2)}")
    assert (await later.verify(after=2)).problem == ""
    again = audit_in(box, tmp_path)
    assert await again.load() == [], "it is told once"
    await again.remember()
    assert again.broken == later.broken
    tamper(tmp_path, lambda forger: forger.put(4))
    assert (await later.verify(after=2)).problem == f"line 4 {FOREIGN}"


def test_seal_is_of_all_that_a_line_tells() -> None:
    seals = Seals(lambda text: f"<{text}>", begin=2)
    told = line_of(ACT, 2, AT, NONE_BEFORE, seals).document()
    del told["digest"]
    assert seals.holds(2, told)
    assert not any(seals.holds(2, told | {name: "another"}) for name in told)
    assert not seals.holds(2, {name: value for name, value in told.items() if name != "seal"})
    assert seals.holds(1, {}), "it was not sealed"
    assert not seals.holds(2, {"what": "\ud800"})


DEEP = "'{\"a\":' || replace(hex(zeroblob(400)), '00', '[') || replace(hex(zeroblob(400)), '00', ']') || '}'"
ROWS = {
    "an octet string": "line = CAST(replace(line, 'anna', 'bert') AS BLOB)",
    "a list": "line = '[1]'",
    "a number": "line = '7'",
    "something behind it": "line = line || char(0) || 'x'",
    "no JSON": "line = 'xx'",
    "no JSON that has letters of a line": "line = replace(line, '{', '{x')",
    "nothing": "line = ''",
    "no UTF-8": "line = CAST(CAST(replace(line, 'anna', '#') AS BLOB) || x'fffe' AS TEXT)",
    "a name that is no UTF-8": "line = replace(line, 'anna', CAST(x'fffe' AS TEXT))",
    "without fields of a line": "line = '{\"number\":4}'",
    "things that are none": 'line = json_set(line, \'$.did\', json(\'["x", 7, {"what": "y"}]\'))',
    "another time": "line = json_set(line, '$.at', 5)",
    "deep JSON": f"line = {DEEP}",
    "very deep JSON": f"line = {DEEP.replace('400', '5000')}",
    "very long": "line = json_set(line, '$.why', hex(zeroblob(50000000)))",
    "a changed text": "line = replace(line, 'anna', 'bert')",
    "a digest that is an octet string": "digest = CAST(digest AS BLOB)",
    "a digest that is no UTF-8": "digest = CAST(x'fffe' AS TEXT)",
    "a digest that is none": "digest = 5",
    "null": "line = NULL",
    "no digest": "digest = NULL",
}
LISTINGS = (
    Listing(),
    Listing(every=True, order=Order("who")),
    Listing(object="box"),
    Listing(what="work"),
    Listing(who="bert"),
    Listing(since=AT - timedelta(days=9000)),
    Listing(limit=LINES),
)


def _with_row(changed: str, number: int = 4) -> Callable[[Forger], object]:
    def change(forger: Forger) -> None:
        """Also what the table was made not to take."""
        made = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'audit'"
        (before,) = forger.sql.execute(made).fetchone()
        put_schema(forger.sql, before.replace(" NOT NULL", ""))
        counts = (
            "UPDATE room SET octets = octets {} (SELECT sum(length(ifnull(line, ''))) FROM audit) WHERE kind = 'audit'"
        )
        forger.sql.execute(counts.format("-"))
        forger.sql.execute(f"UPDATE audit SET {changed} WHERE number = {number}")
        forger.sql.execute(counts.format("+"))
        forger.sql.commit()
        put_schema(forger.sql, before)

    return change


@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it is stopped"])
@pytest.mark.parametrize("changed", ROWS.values(), ids=ROWS.keys())
async def test_row_that_is_no_line_is_named_and_shown_as_that_and_stops_nothing(
    box: Appliance, tmp_path: Path, changed: str, runs: bool
) -> None:
    audit = await written(box, tmp_path, LINES)
    genuine = await audit.after(0, 99)
    tamper(tmp_path, _with_row(changed))
    assert "line 4 is not as it was written" in damage(tmp_path)
    if not runs:
        audit = audit_in(box, tmp_path)
        await audit.load()
        await audit.remember()
    shown = {line.number: line.document() for line in await audit.after(0, LINES)}
    assert {number: told for number, told in shown.items() if number != 4} == {
        line.number: line.document() for line in genuine if line.number != 4
    }
    empty = dict.fromkeys(("at", "who", "how", "from", "what", "object", "previous", "digest"), "")
    assert shown[4] == {**empty, "number": 4, "kind": "damaged", "why": DAMAGED}
    for wanted in LISTINGS:
        found, total = await audit.listed(wanted)
        assert total >= len(found)
        listed = {line.number: line.document() for line in found}
        assert listed.get(4, shown[4]) == shown[4]
    assert (await audit.verify()).problem == "line 4 is not as it was written"
    assert audit.broken is not None
    assert audit.broken.why == "line 4 is not as it was written"
    await audit.begin(ACT)
    assert (await audit.verify(after=audit.broken.number)).problem == ""
    await box.store.read(lambda tables: tables.audit.newest_before(AT + timedelta(days=9000)))


@pytest.mark.parametrize("number", [1, LINES])
@pytest.mark.parametrize("changed", ROWS.values(), ids=ROWS.keys())
async def test_row_that_is_no_line_keeps_no_other_from_being_deleted_for_its_age(
    box: Appliance, tmp_path: Path, changed: str, number: int
) -> None:
    await written(box, tmp_path, LINES)
    tamper(tmp_path, _with_row(changed, number))
    box.clock.forward(timedelta(days=400).total_seconds())
    audit = audit_in(box, tmp_path, timedelta(days=365))
    await audit.load()
    assert await audit.delete_old() == LINES


async def test_row_that_is_no_line_among_those_that_tell_what_the_appliance_found_is_passed_over(
    box: Appliance, tmp_path: Path
) -> None:
    await written(box, tmp_path, 2)
    tamper(tmp_path, _with_row("line = '7'", 2))
    audit = audit_in(box, tmp_path)
    assert (await audit.verify()).problem
    told = audit.broken
    assert told is not None
    tamper(tmp_path, _with_row(ROWS["something behind it"], told.number))
    later = audit_in(box, tmp_path)
    await later.load()
    await later.remember()
    assert later.broken is None or later.broken.number != told.number


async def test_missing_head_is_told_beside_triggers_that_are_missing(box: Appliance, tmp_path: Path) -> None:
    await written(box, tmp_path, LINES)
    with closing(sqlite3.connect(tmp_path / "tinkbox.sqlite")) as database:
        Forger(database).delete("number > 5")
        database.commit()
    (tmp_path / HEAD).unlink()
    told = damage(tmp_path)
    assert (
        f"{tmp_path / HEAD} is missing, so whether lines at the end are missing is not known. Besides, parts of" in told
    )
    assert "trigger audit_is_not_deleted" in told
