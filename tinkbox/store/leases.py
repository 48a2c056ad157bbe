"""Leases: the addresses of pools, and the machines that they were lent to."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from ipaddress import IPv4Address

from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState


class LeaseTable:
    """Questions about leases; one row is the newest of its address."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[Lease]:
        """Every lease, also those that are over, in no order."""
        return [_lease(row) for row in self._sql.execute("SELECT * FROM lease").fetchall()]

    def save(self, leases: Iterable[Lease]) -> None:
        """Store what is newest of these addresses."""
        self._sql.executemany(
            "INSERT OR REPLACE INTO lease (address, mac, state, until, client_id, hostname, proven) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    str(each.address),
                    each.mac,
                    each.state.name,
                    each.until.isoformat(),
                    each.client_id,
                    each.hostname,
                    each.proven,
                )
                for each in leases
            ],
        )

    def forget(self, addresses: Iterable[IPv4Address]) -> None:
        self._sql.executemany("DELETE FROM lease WHERE address = ?", [(str(each),) for each in addresses])


def _lease(row: sqlite3.Row) -> Lease:
    return Lease(
        address=IPv4Address(row["address"]),
        mac=MacAddress(row["mac"]),
        state=LeaseState[row["state"]],
        until=datetime.fromisoformat(row["until"]),
        client_id=row["client_id"],
        hostname=row["hostname"],
        proven=bool(row["proven"]),
    )
