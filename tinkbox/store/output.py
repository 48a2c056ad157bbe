"""What actions and services print: the head and the tail of each attempt or run, what lay between counted.

Its output is bytes with offsets.  Up to HEAD bytes from its beginning and at least TAIL bytes from its end are kept.
They lie in rows; what comes in small chunks is put together to BLOCK bytes in each, for a row of one byte costs a hundred.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

HEAD = 512 * 1024
TAIL = 512 * 1024
BLOCK = 4 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Consecutive bytes of an output, from offset `start`."""

    start: int
    chunk: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Printers:
    """Who prints: the table that has an `output_length` for each by its token, and that of what is kept of them."""

    table: str
    output: str
    column: str


ATTEMPTS: Final = Printers(table="attempt", output="output", column="attempt")
SERVICE_RUNS: Final = Printers(table="service_run", output="service_output", column="run")


class OutputTable:
    """Questions about the output of attempts, or of other `printers`."""

    def __init__(self, connection: sqlite3.Connection, printers: Printers = ATTEMPTS) -> None:
        self._sql = connection
        self._table, self._output, self._column = printers.table, printers.output, printers.column

    def append(self, token: str, length: int, offset: int, chunk: bytes) -> int:
        """Add what begins at byte `offset` to the `length` bytes received so far; returns the new length.

        What is there already is skipped; what would leave a gap is not taken.
        """
        fresh = chunk[max(0, length - offset) :]
        if offset > length or not fresh:
            return length
        grown = length + len(fresh)
        self._keep(token, length, fresh)
        self._sql.execute(f"UPDATE {self._table} SET output_length = ? WHERE token = ?", (grown, token))  # noqa: S608
        self._sql.execute(
            f"DELETE FROM {self._output} "  # noqa: S608
            f"WHERE {self._column} = ?1 AND start >= ?2 AND start < ?3 AND start + length(chunk) <= ?3",
            (token, HEAD, grown - TAIL),
        )
        return grown

    def _keep(self, token: str, start: int, fresh: bytes) -> None:
        """Keep bytes in a row of their own, or in the newest where both fit into a block."""
        rows = self._sql.execute(
            f"SELECT start, iif(length(chunk) <= ?, chunk, NULL) AS open FROM {self._output} "  # noqa: S608
            f"WHERE {self._column} = ? ORDER BY start DESC LIMIT 1",
            (BLOCK - len(fresh), token),
        ).fetchall()
        for row in rows:
            if row["open"] is not None:
                self._sql.execute(
                    f"UPDATE {self._output} SET chunk = ? WHERE {self._column} = ? AND start = ?",  # noqa: S608
                    (row["open"] + fresh, token, row["start"]),
                )
                return
        self._sql.execute(
            f"INSERT INTO {self._output} ({self._column}, start, chunk) VALUES (?, ?, ?)",  # noqa: S608  our own tables
            (token, start, fresh),
        )

    def after(self, token: str, offset: int) -> list[Piece]:
        """What is kept from `offset` on, in order."""
        rows = self._sql.execute(
            f"SELECT start, chunk FROM {self._output} "  # noqa: S608
            f"WHERE {self._column} = ? AND start + length(chunk) > ? ORDER BY start",
            (token, offset),
        ).fetchall()
        pieces = [Piece(start=row["start"], chunk=row["chunk"]) for row in rows]
        return [
            piece if piece.start >= offset else Piece(start=offset, chunk=piece.chunk[offset - piece.start :])
            for piece in pieces
        ]

    def last(self, token: str) -> bytes:
        """The newest row's bytes, empty when there is none."""
        rows = self._sql.execute(
            f"SELECT chunk FROM {self._output} WHERE {self._column} = ? ORDER BY start DESC LIMIT 1",  # noqa: S608
            (token,),
        ).fetchall()
        return next((bytes(row["chunk"]) for row in rows), b"")
