"""The bare mechanism of a DHCP server: one loop over one socket, one table of sqlite3, and no more than an exchange needs.

    python -m tests.bench.bare_dhcp FOLDER ADDRESS FIRST

Listens at ADDRESS, port 67, and lends addresses from FIRST on to whoever asks, by a relay.  An acknowledgement is sent
when its lease is on disk, with the pragmas of tinkbox's store; those that wait are written together.  It knows no pools'
ends, conflicts, hardware, timelines or limits.  FOLDER/ready is there as soon as it listens.
"""

import select
import socket
import sqlite3
import sys
from ipaddress import IPv4Address
from pathlib import Path
from time import monotonic

PRAGMAS = ("journal_mode = WAL", "synchronous = FULL")
TABLE = "CREATE TABLE lease (address INTEGER PRIMARY KEY, mac BLOB, until REAL)"
LEND = "INSERT OR REPLACE INTO lease VALUES (?, ?, ?)"
TOGETHER = 256
TERM = 86_400
_COOKIE = b"\x63\x82\x53\x63"
_DISCOVER, _OFFER, _REQUEST, _ACK = 1, 2, 3, 5


class Server:
    """Answers on `line`; `first` is the first address that it lends."""

    def __init__(self, line: socket.socket, leases: sqlite3.Connection, own: IPv4Address, first: IPv4Address) -> None:
        self._line = line
        self._leases = leases
        self._own = own.packed
        self._next = int(first)
        self._addresses: dict[bytes, int] = {}
        settings = b"\x33\x04" + TERM.to_bytes(4, "big") + b"\x01\x04\xff\xff\xf0\0" + b"\x03\x04" + self._own
        self._options = b"\x36\x04" + self._own + settings + b"\x3c\x09PXEClient" + b"\x43\x0bsnponly.efi" + b"\xff"

    def serve(self) -> None:
        """Answer until killed."""
        while True:
            select.select([self._line], [], [])
            requests = []
            for _ in range(TOGETHER):
                try:
                    datagram, peer = self._line.recvfrom(2048)
                except BlockingIOError:
                    break
                kind = _kind(datagram)
                if kind == _DISCOVER:
                    self._line.sendto(self._reply(datagram, _OFFER), peer)
                elif kind == _REQUEST:
                    requests.append((datagram, peer))
            if requests:
                self._acknowledge(requests)

    def _acknowledge(self, requests: list[tuple[bytes, tuple[str, int]]]) -> None:
        until = monotonic() + TERM
        self._leases.execute("BEGIN")
        self._leases.executemany(LEND, {(self._address(each), each[28:34], until) for each, _ in requests})
        self._leases.execute("COMMIT")
        for datagram, peer in requests:
            self._line.sendto(self._reply(datagram, _ACK), peer)

    def _address(self, datagram: bytes) -> int:
        address = self._addresses.get(datagram[28:34])
        if address is None:
            address = self._addresses[datagram[28:34]] = self._next
            self._next += 1
        return address

    def _reply(self, asked: bytes, kind: int) -> bytes:
        yiaddr = self._address(asked).to_bytes(4, "big")
        header = b"\x02\x01\x06\0" + asked[4:8] + bytes(8) + yiaddr + self._own + asked[24:28] + asked[28:44]
        return (header + bytes(192) + _COOKIE + bytes((53, 1, kind)) + self._options).ljust(300, b"\0")


def _kind(datagram: bytes) -> int:
    """Option 53."""
    at = 240
    while at + 2 < len(datagram) and datagram[at] != 255:
        if datagram[at] == 53:
            return datagram[at + 2]
        at += 2 + datagram[at + 1] if datagram[at] else 1
    return 0


def main() -> None:
    folder, address, first = Path(sys.argv[1]), IPv4Address(sys.argv[2]), IPv4Address(sys.argv[3])
    leases = sqlite3.connect(folder / "bare-dhcp.sqlite", isolation_level=None)
    for statement in (*(f"PRAGMA {each}" for each in PRAGMAS), TABLE):
        leases.execute(statement)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        line.bind((str(address), 67))
        line.setblocking(False)
        (folder / "ready").touch()
        Server(line, leases, address, first).serve()


if __name__ == "__main__":
    main()
