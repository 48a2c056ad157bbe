"""Leases: the addresses of pools, and the machines that they were lent to."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from ipaddress import IPv4Address

from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState

_TOGETHER = 256
_INSERT = "INSERT INTO lease (address, mac, state, until, seconds, client_id, hostname, proven, port) VALUES"
_UPDATE = (
    "ON CONFLICT (address) DO UPDATE SET mac = excluded.mac, state = excluded.state, until = excluded.until, "
    "seconds = excluded.seconds, client_id = excluded.client_id, hostname = excluded.hostname, "
    "proven = excluded.proven, port = excluded.port"
)


class LeaseTable:
    """Questions about leases; one row is the newest of its address."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sql = connection

    def all(self) -> list[Lease]:
        """Every lease, also those that are over, in no order."""
        return [_lease(row) for row in self._sql.execute("SELECT * FROM lease").fetchall()]

    def save(self, leases: Iterable[Lease]) -> None:
        """Store what is newest of these addresses."""
        rows = [_row(each) for each in leases]
        # Many by one statement, and rows that are there stay where they are: a third of the time, for thousands a second.
        for first in range(0, len(rows), _TOGETHER):
            some = rows[first : first + _TOGETHER]
            values = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(some))
            self._sql.execute(f"{_INSERT} {values} {_UPDATE}", [value for row in some for value in row])

    def forget(self, addresses: Iterable[IPv4Address]) -> None:
        if gone := [(str(each),) for each in addresses]:
            self._sql.executemany("DELETE FROM lease WHERE address = ?", gone)


def _row(lease: Lease) -> tuple[str | bytes | int, ...]:
    return (
        str(lease.address),
        lease.mac,
        lease.state.name,
        lease.until.isoformat(),
        lease.seconds,
        lease.client_id,
        lease.hostname,
        lease.proven,
        lease.port,
    )


def _lease(row: sqlite3.Row) -> Lease:
    return Lease(
        address=IPv4Address(row["address"]),
        mac=MacAddress(row["mac"]),
        state=LeaseState[row["state"]],
        until=datetime.fromisoformat(row["until"]),
        seconds=row["seconds"],
        client_id=row["client_id"],
        hostname=row["hostname"],
        proven=bool(row["proven"]),
        port=row["port"],
    )
