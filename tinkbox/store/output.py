"""What actions print: the head and the tail of each attempt, what lay between counted.

An attempt's output is bytes with offsets.  Up to HEAD bytes from its beginning and at least TAIL
bytes from its end are kept.
"""

from dataclasses import dataclass

import aiosqlite

HEAD = 512 * 1024
TAIL = 512 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Consecutive bytes of an attempt's output, from offset `start`."""

    start: int
    chunk: bytes


class OutputTable:
    """Questions about output."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._sql = connection

    async def append(self, attempt: str, length: int, chunk: bytes) -> int:
        """Add `chunk` behind the `length` bytes received so far; returns the new length."""
        await self._sql.execute("INSERT INTO output (attempt, start, chunk) VALUES (?, ?, ?)", (attempt, length, chunk))
        grown = length + len(chunk)
        await self._sql.execute("UPDATE attempt SET output_length = ? WHERE token = ?", (grown, attempt))
        await self._sql.execute(
            "DELETE FROM output WHERE attempt = ? AND start >= ? AND start + length(chunk) <= ?",
            (attempt, HEAD, grown - TAIL),
        )
        return grown

    async def after(self, attempt: str, offset: int) -> list[Piece]:
        """What is kept from `offset` on, in order."""
        rows = await self._sql.execute_fetchall(
            "SELECT start, chunk FROM output WHERE attempt = ? AND start + length(chunk) > ? ORDER BY start",
            (attempt, offset),
        )
        pieces = [Piece(start=row["start"], chunk=row["chunk"]) for row in rows]
        return [
            piece if piece.start >= offset else Piece(start=offset, chunk=piece.chunk[offset - piece.start :])
            for piece in pieces
        ]

    async def last(self, attempt: str) -> bytes:
        """The newest chunk, empty when there is none."""
        rows = await self._sql.execute_fetchall(
            "SELECT chunk FROM output WHERE attempt = ? ORDER BY start DESC LIMIT 1", (attempt,)
        )
        return next((bytes(row["chunk"]) for row in rows), b"")
