"""Machines that nobody knows, and what the known ones told that they are made of."""

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime

from tinkbox.model.discovery import Standing, Stranger
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Inventory
from tinkbox.store.formats.inventories import inventory_of, inventory_text


class DiscoveryTable:
    """Questions about strangers, and about inventories."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def some(self, most: int) -> list[Stranger]:
        """Strangers that are kept, the one seen first first: those that are refused, and at most so many others.

        Of the others those that wait go before, then those that were seen last.
        """
        rows = self._sql.execute(
            "SELECT * FROM stranger WHERE standing = 'refused' OR mac IN (SELECT mac FROM stranger "
            "WHERE standing != 'refused' ORDER BY standing = 'waiting' DESC, last_seen DESC LIMIT ?) ORDER BY first_seen, mac",
            (most,),
        ).fetchall()
        return [_stranger(row) for row in rows]

    def behind(self, mac: str, most: int) -> list[MacAddress]:
        """The next strangers behind a MAC, in the order of MACs."""
        rows = self._sql.execute("SELECT mac FROM stranger WHERE mac > ? ORDER BY mac LIMIT ?", (mac, most)).fetchall()
        return [MacAddress(row["mac"]) for row in rows]

    def put(self, strangers: Iterable[Stranger]) -> None:
        """Keep them, as they stand now; what is hardware by now stays as it was stored."""
        self._sql.executemany(
            "INSERT INTO stranger "
            "(mac, standing, port, architecture, boot_id, inventory, problem, first_seen, last_seen) "
            "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE NOT EXISTS (SELECT 1 FROM interface WHERE mac = ?1) "
            "ON CONFLICT (mac) DO UPDATE SET standing = excluded.standing, port = excluded.port, "
            "architecture = excluded.architecture, boot_id = excluded.boot_id, inventory = excluded.inventory, "
            "problem = excluded.problem, first_seen = excluded.first_seen, last_seen = excluded.last_seen",
            [
                (
                    each.mac,
                    each.standing,
                    each.port,
                    each.architecture,
                    each.boot_id,
                    inventory_text(each.inventory) if each.inventory else None,
                    each.problem,
                    each.first_seen.isoformat(),
                    each.last_seen.isoformat(),
                )
                for each in strangers
            ],
        )

    def forget(self, macs: Iterable[str]) -> None:
        self._sql.executemany("DELETE FROM stranger WHERE mac = ?", [(each,) for each in macs])

    def keep_inventory(self, hardware_id: str, inventory: Inventory, now: datetime) -> None:
        """What a machine told last; nothing when it is not there any more."""
        self._sql.execute(
            "INSERT OR REPLACE INTO inventory (hardware_id, content, told_at) SELECT id, ?2, ?3 FROM hardware WHERE id = ?1",
            (hardware_id, inventory_text(inventory), now.isoformat()),
        )

    def inventory(self, hardware_id: str) -> tuple[Inventory, datetime] | None:
        """What a machine told last, and when."""
        rows = self._sql.execute("SELECT * FROM inventory WHERE hardware_id = ?", (hardware_id,)).fetchall()
        for row in rows:
            return inventory_of(row["content"]), datetime.fromisoformat(row["told_at"])
        return None

    def inventories(self) -> Iterator[tuple[str, Inventory]]:
        """What every known machine told last, by its id, one after the other."""
        for row in self._sql.execute("SELECT hardware_id, content FROM inventory ORDER BY hardware_id"):
            yield row["hardware_id"], inventory_of(row["content"])


def _stranger(row: sqlite3.Row) -> Stranger:
    return Stranger(
        mac=MacAddress(row["mac"]),
        standing=Standing(row["standing"]),
        port=row["port"],
        architecture=row["architecture"],
        boot_id=row["boot_id"],
        inventory=inventory_of(row["inventory"]) if row["inventory"] is not None else None,
        problem=row["problem"],
        first_seen=datetime.fromisoformat(row["first_seen"]),
        last_seen=datetime.fromisoformat(row["last_seen"]),
    )
