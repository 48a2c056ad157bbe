"""What was learned of machines' firmware."""

import sqlite3
from collections.abc import Mapping

from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot
from tinkbox.model.hardware import MacAddress


class FirmwareTraitTable:
    """Questions about firmware_traits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> dict[MacAddress, FirmwareTraits]:
        """Those of all machines that hardware names."""
        rows = self._sql.execute("SELECT habit.* FROM habit JOIN interface USING (mac)").fetchall()
        return {
            MacAddress(row["mac"]): FirmwareTraits(
                secure_boot=bool(row["secure_boot"]),
                local_boot=LocalBoot(row["local_boot"]) if row["local_boot"] else None,
                proven=bool(row["proven"]),
            )
            for row in rows
        }

    def save(self, firmware_traits: Mapping[MacAddress, FirmwareTraits]) -> None:
        """Keep these, of machines that hardware names; what is known of others that are gone goes."""
        self._sql.executemany(
            "INSERT OR REPLACE INTO habit (mac, secure_boot, local_boot, proven) VALUES (?, ?, ?, ?)",
            [(mac, each.secure_boot, each.local_boot or "", each.proven) for mac, each in firmware_traits.items()],
        )
        self._sql.execute("DELETE FROM habit WHERE mac NOT IN (SELECT mac FROM interface)")
