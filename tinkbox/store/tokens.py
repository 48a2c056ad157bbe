"""Tokens of people and programs, by the hashes of their texts."""

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime

from tinkbox.model.access import Means, Right
from tinkbox.model.errors import Unavailable
from tinkbox.model.labels import ALL, Selector, parse_selector
from tinkbox.model.tokens import Token


class TokenTable:
    """Questions about tokens."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[Token]:
        """In the order of their names, the oldest of one name first."""
        rows = self._sql.execute("SELECT * FROM token ORDER BY name, created_at, id").fetchall()
        return [_token(row) for row in rows]

    def put(self, token: Token) -> None:
        """Keep a new one."""
        self._sql.execute(
            "INSERT INTO token (id, hash, name, rights, means, scope, until, created_at, made_by, used_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                token.id,
                token.hash,
                token.name,
                " ".join(each for each in Right if each in token.rights),
                token.means,
                str(token.scope) if token.scope is not None else None,
                _text(token.until),
                token.created_at.isoformat(),
                token.by,
                _text(token.used_at),
            ),
        )

    def delete(self, ids: Iterable[str]) -> None:
        """Raises Unavailable where another program keeps one: it would count again after the next start."""
        for each in ids:
            self._sql.execute("DELETE FROM token WHERE id = ?", (each,))
            if self._sql.execute("SELECT 1 FROM token NOT INDEXED WHERE id = ?", (each,)).fetchone():
                raise _kept()

    def end_at(self, token_id: str, until: datetime) -> None:
        """Let one expire at another time; raises Unavailable as `delete` does."""
        self._sql.execute("UPDATE token SET until = ? WHERE id = ?", (until.isoformat(), token_id))
        row = self._sql.execute("SELECT until FROM token NOT INDEXED WHERE id = ?", (token_id,)).fetchone()
        if row is not None and row["until"] != until.isoformat():
            raise _kept()

    def note_use(self, used: Mapping[str, datetime]) -> None:
        """When each of these was used last, by their ids."""
        self._sql.executemany(
            "UPDATE token SET used_at = ? WHERE id = ?", [(at.isoformat(), token_id) for token_id, at in used.items()]
        )


def _kept() -> Unavailable:
    return Unavailable(
        "the store keeps a token as it was: another program put a trigger into the database. The next start of tinkbox takes that out, "
        "and records it; then try again"
    )


def _token(row: sqlite3.Row) -> Token:
    return Token(
        id=row["id"],
        hash=row["hash"],
        name=row["name"],
        rights=frozenset(map(Right, row["rights"].split())),
        means=Means(row["means"]),
        scope=_scope(row["scope"]),
        until=_time(row["until"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        by=row["made_by"],
        used_at=_time(row["used_at"]),
    )


def _scope(text: str | None) -> Selector | None:
    if text is None:
        return None
    return parse_selector(text) if text else ALL


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at is not None else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None
