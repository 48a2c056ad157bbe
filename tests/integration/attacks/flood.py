"""One kind of flood against the appliance, from a host on its network, until it is killed:

    python -m tests.integration.attacks.flood KIND SERVER [FIRST COUNT [EACH]]

`half-open` holds connections to the node door that never end their request, EACH from every one of COUNT addresses,
and opens anew what is closed; `tftp`, `dhcp`, `dns` and `syslog` send datagrams, each address or machine invented.
A line says when it has begun.  What it sends is bounded by RATE, so that a test host has a processor left for those
that are attacked.
"""

import random
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Address
from typing import NoReturn

from tests.golden import packet

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
    "half-open": half_open, "tftp": tftp, "dhcp": dhcp, "dns": dns, "syslog": syslog
}  # fmt: skip

if __name__ == "__main__":
    kind, at, *more = sys.argv[1:]
    KINDS[kind](at, *([more[0], *map(int, more[1:])] if more else []))
