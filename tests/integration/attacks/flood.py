"""One kind of flood against the appliance, from a host on its network, until it is killed:

    python -m tests.integration.attacks.flood KIND SERVER [FIRST COUNT [EACH]]

`half-open` holds connections to the node door that never end their request, EACH from every one of COUNT addresses,
and opens anew what is closed; `tftp`, `dhcp`, `dns` and `syslog` send datagrams, each address or machine invented.
`workers` are machines with a credential of their own, COUNT of them, each from an address of its own: they ask as quickly as
they are answered, for everything that is theirs or not, and leave bodies unfinished.  Their boot tickets are lines of the
standard input.
A line says when it has begun.  What it sends is bounded by RATE, so that a test host has a processor left for those
that are attacked.
"""

import asyncio
import random
import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Address
from typing import NoReturn

from tests.golden import packet
from tests.workers import opening
from tinkbox.wire.messages.session import encode

RATE = 2_000  # a second, of connections or datagrams
BATCH = 50
_HALF = b"POST /worker/next HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nX-Half:"


def half_open(server: str, first: str, count: int, each: int) -> NoReturn:
    """Hold `each` half-sent requests from every address; one that is closed is opened again."""
    addresses = [str(IPv4Address(first) + number) for number in range(count)]
    held = [_opened(server, address) for address in addresses for _ in range(each)]
    _say_begun()
    while True:
        for number in random.sample(range(len(held)), BATCH):
            line = held[number]
            if line is None or _is_over(line):
                if line is not None:
                    line.close()
                held[number] = _opened(server, addresses[number // each])
        time.sleep(BATCH / RATE)


def _opened(server: str, address: str) -> socket.socket | None:
    line = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    line.setsockopt(
        socket.SOL_IP, socket.IP_BIND_ADDRESS_NO_PORT if hasattr(socket, "IP_BIND_ADDRESS_NO_PORT") else 24, 1
    )
    line.settimeout(1.0)
    try:
        line.bind((address, 0))
        line.connect((server, 80))
        line.sendall(_HALF)
    except OSError:
        line.close()
        return None
    line.setblocking(False)
    return line


def _is_over(line: socket.socket) -> bool:
    with suppress(BlockingIOError):
        try:
            return line.recv(1024) == b""
        except OSError as error:
            if isinstance(error, BlockingIOError):
                raise
            return True
    return False


def tftp(server: str, *_: object) -> NoReturn:
    """Ask for a loader again and again, and answer nothing."""
    asks = b"\0\1undionly.kpxe\0octet\0blksize\x001468\0windowsize\x0064\0"
    _pour(server, 69, lambda: asks)


def dhcp(server: str, *_: object) -> NoReturn:
    """Machines that nobody has seen, each once."""
    asked = bytearray(packet("dhcp/ovmf-pxe-discover"))

    def next_one() -> bytes:
        asked[4:8] = random.randbytes(4)
        asked[28:34] = b"\x02" + random.randbytes(5)
        return bytes(asked)

    _pour("255.255.255.255", 67, next_one)


def dns(server: str, *_: object) -> NoReturn:
    """Names that are not ours, and some that are."""
    question = struct.Struct(">6H")

    def next_one() -> bytes:
        name = random.randbytes(8).hex().encode()
        return question.pack(random.getrandbits(16), 0x100, 1, 0, 0, 0) + b"\x10" + name + b"\x03com\0\0\1\0\1"

    _pour(server, 53, next_one)


def syslog(server: str, *_: object) -> NoReturn:
    """Lines of a machine that is not."""
    _pour(server, 514, lambda: b"<14>Nov 23 00:00:00 x kernel: " + random.randbytes(400).hex().encode())


def workers(server: str, first: str, count: int, *_: object) -> NoReturn:
    """Hostile ones, all in this process."""
    tickets = [sys.stdin.readline().strip() for _ in range(count)]
    asyncio.run(_work(server, {str(IPv4Address(first) + number): each for number, each in enumerate(tickets)}))
    raise AssertionError


async def _work(server: str, tickets: Mapping[str, str]) -> None:
    async with asyncio.TaskGroup() as group:
        for address, ticket in tickets.items():
            group.create_task(_hostile(server, address, ticket))
            group.create_task(_unfinished(server, address, ticket))
        await asyncio.sleep(1)
        _say_begun()


async def _hostile(server: str, address: str, ticket: str) -> None:
    """Exchange the ticket, and ask whatever comes to mind."""
    wanted = opening(ticket, instance="")
    await _answer(server, address, _request("POST", "/worker/session", ticket, encode(wanted).encode()))
    while True:
        guessed = random.randbytes(12).hex()
        one, worse = f"/worker/attempts/{guessed}", replace(wanted, secret=guessed * 2)
        asked = random.choice([
            _request("POST", "/worker/next", wanted.secret, b'{"boot_id": "boot-1", "finishing": true}'),
            _request("POST", "/worker/next", guessed, b'{"boot_id": "boot-1"}'),
            _request("POST", "/worker/session", ticket, encode(worse).encode()),
            _request("POST", f"{one}/output?offset=999999999", wanted.secret, random.randbytes(100_000)),
            _request("POST", f"{one}/report", wanted.secret, b'{"workflow_id": "x", "boot_id": "boot-1", "outcome": {"state": "SUCCESS"}}'),
            _request("PUT", f"{one}/data", wanted.secret, random.randbytes(10_000)),
            _request("POST", "/worker/inventory", wanted.secret, b"{" * 50_000),
            _request("POST", "/worker/services", wanted.secret, b'{"boot_id": "boot-1", "standings": []}'),
            _request("GET", f"{one}/shells/x", wanted.secret),
            _request("GET", f"/boot/{guessed}/credential.cpio", wanted.secret),
        ])  # fmt: skip
        await _answer(server, address, asked)


async def _unfinished(server: str, address: str, ticket: str) -> None:
    """Begin bodies of twelve megabytes, and end none."""
    begun = f"PUT /worker/attempts/x/data HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {opening(ticket).secret}\r\n"
    while True:
        await _answer(server, address, f"{begun}Content-Length: 12000000\r\n\r\n".encode() + b"x" * 1_000_000)


def _request(method: str, path: str, bearer: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {bearer}\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _answer(server: str, address: str, request: bytes) -> None:
    """Send it, and wait for the end of the connection, whatever that is."""
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(server, 80, local_addr=(address, 0))
            try:
                writer.write(request)
                await writer.drain()
                await reader.read()
            finally:
                writer.close()


def _pour(server: str, port: int, next_one: Callable[[], bytes]) -> NoReturn:
    lines = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(BATCH)]
    for line in lines:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    _say_begun()
    while True:
        for number in range(BATCH):
            with suppress(OSError):
                lines[number].sendto(next_one(), (server, port))
        time.sleep(BATCH / RATE)


def _say_begun() -> None:
    sys.stdout.write("begun\n")
    sys.stdout.flush()


KINDS: dict[str, Callable[..., NoReturn]] = {
    "half-open": half_open, "tftp": tftp, "dhcp": dhcp, "dns": dns, "syslog": syslog, "workers": workers
}  # fmt: skip

if __name__ == "__main__":
    kind, at, *more = sys.argv[1:]
    KINDS[kind](at, *([more[0], *map(int, more[1:])] if more else []))
