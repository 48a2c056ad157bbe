"""Which authority the box has: what a copy of the database knows without the authority's files."""

import sqlite3


class AuthorityTable:
    """Questions about the one authority of the box, by its fingerprint."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def known(self) -> str:
        """Its fingerprint; empty: the box had none yet, or it was forgotten."""
        row = self._sql.execute("SELECT fingerprint FROM authority").fetchone()
        return str(row["fingerprint"]) if row else ""

    def keep(self, fingerprint: str) -> None:
        """Know this one, instead of another."""
        self.forget()
        self._sql.execute("INSERT INTO authority (fingerprint) VALUES (?)", (fingerprint,))

    def forget(self) -> None:
        self._sql.execute("DELETE FROM authority")
