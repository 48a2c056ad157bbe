"""The lines of the audit, which are added at its end, and deleted from its beginning for their age alone (`model.audit`).

Another program can make a column beside the sealed text, or an index, say something else than the text.  So lines are read NOT INDEXED, and what
is looked for is looked for in the text.  What an index found is looked at again.

It can put anything into a row as well: what is no JSON, no UTF-8, no text.  So what is looked for is looked for in _LINES, and a row is read by `_line` alone,
so that its Line tells whether it is damaged.
"""

import sqlite3
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from tinkbox.model.audit import (
    EXAMINED,
    NO_DIGEST,
    NONE_BEFORE,
    SEAL,
    Act,
    Broken,
    Head,
    Kind,
    Line,
    Listing,
    Seals,
    canonical,
    in_lines,
    line_of,
    missing_lines,
    put_in_before,
)
from tinkbox.model.errors import Unavailable
from tinkbox.model.tokens import TAKEN_OVER
from tinkbox.store.schema import mend_parts, wrong_parts

NOTHING_KNOWN: Final = Head()
# Far above what an appliance could ever write, and below what SQLite has room for.
_LAST: Final = 2**62
# A line has some thousand octets.  What is longer is none, and no memory is taken by it.
_MOST_OCTETS: Final = 64 * 1024
# The rows, each with its `line` where that is an object of JSON, else null.
_ROWS: Final = (
    "(SELECT number, digest, line AS written, "  # noqa: S608  our own number
    f"CASE WHEN typeof(line) = 'text' AND line GLOB '{{*' AND length(line) <= {_MOST_OCTETS} AND json_valid(line) THEN line END AS line "
    "FROM audit NOT INDEXED)"
)
_LINES: Final = f"{_ROWS} AS audit"


def _octets(column: str) -> str:
    return f"CASE WHEN typeof({column}) = 'text' AND length(CAST({column} AS BLOB)) <= {_MOST_OCTETS} THEN CAST({column} AS BLOB) END"


_DIGEST: Final = f"{_octets('digest')} AS digest_octets"
_ROW: Final = f"number, {_octets('written')} AS octets, {_DIGEST}"
# What the appliance says of its audit; the letters are looked for first, which takes half as long in a million lines.
_OWN: Final = "instr(line, ?) AND json_extract(line, '$.who') = 'tinkbox' AND json_extract(line, '$.object') = 'audit' AND json_extract(line, '$.what') = ?"
# Whether another line tells what became of this one: an index finds it, and its text decides.
_ENDS: Final = (
    "EXISTS (SELECT 1 FROM audit AS outcome WHERE outcome.asked = audit.number AND audit.number = "  # noqa: S608  our own words
    f"(SELECT json_extract(told.line, '$.asked') FROM {_ROWS} AS told WHERE told.number = outcome.number))"
)
_ORDERS: Final = {"number": "number", "who": "json_extract(line, '$.who')", "object": "json_extract(line, '$.object')"}


class KeptOut(Unavailable):
    """Another program keeps lines out, which is no want of room."""


class AuditTable:
    """Questions about who did what."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def add(self, act: Act, at: datetime, known: Head = NOTHING_KNOWN, seals: Seals | None = None) -> int:
        """Append an act at the end, in as many lines as it takes, each sealed where there are `seals`; returns the number of the first.

        They follow the last line there is, or the `known` one where that is not there any more (`missing`): then neither its
        number nor its digest is used again.
        """
        head = self.head()
        if self.missing(head, known):
            head = Head(max(head.number, known.number), known.digest)
        if head.number >= _LAST:
            raise Unavailable(
                f"line {head.number} of the audit was put in by another program, and no line can follow it: put the database of a "
                "backup in its place"
            )
        first = head.number + 1
        for each in in_lines(act) if act.kind is not Kind.CUT else [act]:
            line = line_of(each, head.number + 1, at, head.digest, seals)
            if not self._takes(line):
                raise KeptOut(
                    "the audit takes no line, so nothing is changed: another program put a trigger into the database that keeps lines out. The next "
                    "start of tinkbox takes that out, and records it"
                )
            head = Head(line.number, line.digest)
        return first

    def _takes(self, line: Line) -> bool:
        """Add a line; whether it stands then."""
        try:
            self._sql.execute(
                "INSERT INTO audit (number, line, digest) VALUES (?, ?, ?)", (line.number, line.text, line.digest)
            )
        except sqlite3.IntegrityError:
            return False  # also by an index of another program
        return self.digest(line.number) == line.digest

    def missing(self, head: Head, known: Head) -> str:
        """What became of a line that was there once, where another program deleted or replaced it; empty: it is as it was.

        `head` is the last line there is.  Once a line follows the known one, that has been told.
        """
        if not known.number or self.digest(known.number) == known.digest:
            return ""
        followed = self._sql.execute(
            f"SELECT 1 FROM {_LINES} WHERE number > ? AND json_extract(line, '$.previous') = ? LIMIT 1",  # noqa: S608  our own words
            (known.number, known.digest),
        ).fetchone()
        if followed:
            return ""
        if head.number < known.number:
            return missing_lines(head.number + 1, known.number)
        return f"line {known.number} is missing or another one than was written"

    def found_broken(self, seals: Seals | None = None) -> Broken | None:
        """What the newest line says that tells that lines were not as they should be, None: there is none.

        With `seals` a line of another program tells nothing.
        """
        rows = self._sql.execute(
            f"SELECT {_ROW} FROM {_LINES} WHERE {_OWN} ORDER BY number DESC",  # noqa: S608  our own condition
            (_what(EXAMINED), EXAMINED),
        )
        for line in map(_line, rows):
            told = line.told()
            if told is not None and (seals is None or seals.holds(line.number, told)):
                return Broken(number=line.number, at=datetime.fromisoformat(told["at"]), why=told.get("why", ""))
        return None

    def tells(self, what: str, why: str, seals: Seals | None = None) -> bool:
        """Whether a line of the appliance tells this already; with `seals` one of another program tells nothing."""
        rows = self._sql.execute(
            f"SELECT {_ROW} FROM {_LINES} WHERE {_OWN} AND json_extract(line, '$.why') = ?",  # noqa: S608  our own condition
            (_what(what), what, why),
        )
        return any(
            (told := line.told()) is not None and (seals is None or seals.holds(line.number, told))
            for line in map(_line, rows)
        )

    def has_seals(self) -> bool:
        """Whether a line has a seal, so that there was a key."""
        # In canonical JSON these letters are that field and no part of a text.
        return bool(
            self._sql.execute(
                "SELECT 1 FROM audit NOT INDEXED WHERE instr(line, ?) LIMIT 1", (f'"{SEAL}":"',)
            ).fetchone()
        )

    def had_lines(self) -> bool:
        """Whether there is what is made with a line alone: a secret, or a token that somebody made.  Lines count that another program deleted."""
        found = self._sql.execute(
            "SELECT EXISTS (SELECT 1 FROM secret) OR EXISTS (SELECT 1 FROM token WHERE made_by <> ?) "
            "OR EXISTS (SELECT 1 FROM room WHERE kind = 'audit' AND number > 0) AS had",
            (TAKEN_OVER,),
        ).fetchone()
        return bool(found["had"])

    def put_in_before(self, seals: Seals | None = None) -> str:
        """What is wrong with the beginning: a line before the first one, or one in the place of one that was deleted for its age; empty: nothing."""
        cut = self._cut_through(seals)
        row = self._sql.execute(
            "SELECT number FROM audit NOT INDEXED WHERE number < 1 OR (number <= ? AND NOT EXISTS (SELECT 1 FROM audit NOT INDEXED WHERE number = ?)) "
            "ORDER BY number LIMIT 1",
            (cut.number, cut.number),
        ).fetchone()
        return put_in_before(row["number"]) if row else ""

    def _cut_through(self, seals: Seals | None) -> Head:
        """The last line that is deleted for its age, as the newest line says that announces so and is as the appliance wrote it."""
        rows = self._sql.execute(
            f"SELECT {_ROW} FROM {_LINES} WHERE number IN (SELECT number FROM audit WHERE through > 0) "  # noqa: S608  our own words
            "ORDER BY json_extract(line, '$.through') DESC, number DESC"
        ).fetchall()
        for line in map(_line, rows):
            told = line.told()
            if told is not None and told["kind"] == Kind.CUT and (seals is None or seals.holds(line.number, told)):
                return Head(told.get("through", 0), str(told.get("through_digest", "")))
        return NOTHING_KNOWN

    def mend_parts(self) -> list[str]:
        """Take out and make anew what another program changed of the schema (`store.schema`); returns what that is.  Raises Unavailable."""
        return mend_parts(self._sql)

    def wrong_parts(self) -> list[str]:
        """What of the schema is missing or not ours."""
        return wrong_parts(self._sql)

    def wrong_index(self) -> str:
        """The first row that an index does not have as the line has it, in SQLite's words; empty: there is none."""
        found = (str(each) for (each,) in self._sql.execute("PRAGMA integrity_check(audit)"))
        # A row without a text or a digest is told as a line, and no index.
        return next((each for each in found if each != "ok" and not each.startswith("NULL value in ")), "")

    def head(self) -> Head:
        """The last line."""
        rows = self._sql.execute(
            f"SELECT number, {_DIGEST} FROM audit NOT INDEXED ORDER BY number DESC LIMIT 1"  # noqa: S608  our own words
        ).fetchall()
        return Head(rows[0]["number"], _digest(rows[0])) if rows else Head(0, NONE_BEFORE)

    def after(self, number: int, limit: int) -> list[Line]:
        """The next lines in their order."""
        rows = self._sql.execute(
            f"SELECT {_ROW} FROM {_LINES} WHERE number > ? ORDER BY number LIMIT ?",  # noqa: S608  our own words
            (number, limit),
        ).fetchall()
        return [_line(row) for row in rows]

    def digest(self, number: int) -> str:
        """The digest of a line, empty where there is none of that number."""
        rows = self._sql.execute(
            f"SELECT {_DIGEST} FROM audit NOT INDEXED WHERE number = ?",  # noqa: S608  our own words
            (number,),
        ).fetchall()
        return _digest(rows[0]) if rows else ""

    def listed(self, wanted: Listing) -> tuple[list[Line], int]:
        """The lines that are wanted, and how many there are without the limit.  What is no line may be any, so it is always among them."""
        conditions, values = ["TRUE"], list[Any]()
        if not wanted.every:
            conditions.append(f"NOT (json_extract(line, '$.kind') = 'asked' AND {_ENDS})")
        if wanted.who:
            conditions.append("json_extract(line, '$.who') = ?")
            values.append(wanted.who)
        if wanted.since is not None:
            conditions.append("json_extract(line, '$.at') >= ?")
            values.append(wanted.since.isoformat())
        if wanted.object:
            # Lines of earlier releases have no names.
            conditions.append(
                "(instr(lower(json_extract(line, '$.object')), ?) OR EXISTS (SELECT 1 FROM json_each(line, '$.names') WHERE instr(lower(value), ?)) "
                "OR EXISTS (SELECT 1 FROM json_each(line, '$.did') AS done WHERE "
                "CASE done.type WHEN 'object' THEN instr(lower(json_extract(done.value, '$.which')), ?) OR EXISTS "
                "(SELECT 1 FROM json_each(done.value, '$.names') AS called WHERE instr(lower(called.value), ?)) END))"
            )
            values += [wanted.object.lower()] * 4
        if wanted.what:
            conditions.append(
                "(instr(lower(json_extract(line, '$.what')), ?) OR EXISTS (SELECT 1 FROM json_each(line, '$.did') "
                "WHERE CASE type WHEN 'object' THEN instr(lower(json_extract(value, '$.what')), ?) END))"
            )
            values += [wanted.what.lower()] * 2
        where = f"(line IS NULL OR ({' AND '.join(conditions)}))"
        way = "DESC" if wanted.order.descending else "ASC"
        order = ", ".join(dict.fromkeys(f"{_ORDERS[each]} {way}" for each in (wanted.order.field, "number")))
        question = f"SELECT {_ROW}, {_ENDS} AS ends FROM {_LINES} WHERE {where} ORDER BY {order} LIMIT ?"  # noqa: S608  our own conditions
        rows = self._sql.execute(question, [*values, wanted.limit or -1]).fetchall()
        total = len(rows)
        if wanted.limit and total == wanted.limit:
            counting = f"SELECT count(*) AS n FROM {_LINES} WHERE {where}"  # noqa: S608  our own conditions
            total = int(self._sql.execute(counting, values).fetchone()["n"])
        return [replace(_line(row), ends=bool(row["ends"])) for row in rows], total

    def old(self, before: datetime, seals: Seals | None = None) -> Head | None:
        """The last of the lines from the first on that are older and not announced to be deleted yet, None: there is none."""
        rows = self._sql.execute(
            f"SELECT number, {_DIGEST} FROM audit NOT INDEXED WHERE number > ?1 AND number < ifnull((SELECT number FROM {_LINES} WHERE json_extract(line, '$.at') >= ?2 "  # noqa: S608  our own words
            "AND number > ?1 ORDER BY number LIMIT 1), (SELECT max(number) + 1 FROM audit NOT INDEXED)) ORDER BY number DESC LIMIT 1",
            (self._cut_through(seals).number, before.isoformat()),
        ).fetchall()
        return Head(rows[0]["number"], _digest(rows[0])) if rows else None

    def newest_before(self, moment: datetime) -> datetime | None:
        """The time of the last line that is no later than a moment."""
        rows = self._sql.execute(
            f"SELECT {_ROW} FROM {_LINES} WHERE json_extract(line, '$.at') <= ? ORDER BY number DESC",  # noqa: S608  our own words
            (moment.isoformat(),),
        )
        found = (told for line in map(_line, rows) if (told := line.told()) is not None)
        newest = next(found, None)
        return datetime.fromisoformat(newest["at"]) if newest is not None else None

    def cut(self, most: int, seals: Seals | None = None) -> int:
        """Delete so many of the lines that a line says to be deleted, the last of them at the end; returns how many there were.

        None is where that last one is not the one that was announced: it is deleted already, and what is there is not of ours.
        """
        through = self._cut_through(seals)
        if not through.number or self.digest(through.number) != through.digest:
            return 0
        found = self._sql.execute(
            "DELETE FROM audit NOT INDEXED WHERE number IN "
            "(SELECT number FROM audit NOT INDEXED WHERE number BETWEEN 1 AND ? ORDER BY number LIMIT ?)",
            (through.number, most),
        )
        return found.rowcount

    def delivered(self, place: str) -> int | None:
        """The number of the last line that a place has, None: it has none yet."""
        rows = self._sql.execute("SELECT number FROM audit_delivery WHERE place = ?", (place,)).fetchall()
        return int(rows[0]["number"]) if rows else None

    def delivered_from(self, place: str) -> int:
        """The number of the first line that a place was to have, 0: not known."""
        rows = self._sql.execute("SELECT first FROM audit_delivery WHERE place = ?", (place,)).fetchall()
        return int(rows[0]["first"]) if rows else 0

    def deliver_what_follows(self) -> None:
        """Have no place count as having more than there is: lines that follow may have numbers of lines that another program deleted."""
        self._sql.execute("UPDATE audit_delivery SET number = ?1 WHERE number > ?1", (self.head().number,))

    def deliver(self, place: str, number: int) -> None:
        """Remember that a place has all lines up to this one; one that is new begins behind it."""
        self._sql.execute(
            "INSERT INTO audit_delivery (place, number, first) VALUES (?1, ?2, ?2 + 1) "
            "ON CONFLICT (place) DO UPDATE SET number = ?2",
            (place, number),
        )


def _what(text: str) -> str:
    """Letters that a line has which says this of what was done."""
    return canonical({"what": text})[1:-1]


def _line(row: sqlite3.Row) -> Line:
    return Line(row["number"], _text(row["octets"], ""), _digest(row))


def _digest(row: sqlite3.Row) -> str:
    return _text(row["digest_octets"], NO_DIGEST)


def _text(octets: bytes | None, otherwise: str) -> str:
    try:
        return otherwise if octets is None else octets.decode()
    except UnicodeDecodeError:
        return otherwise
