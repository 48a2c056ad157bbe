"""What the kernel keeps out of a real socket."""

import socket
from collections.abc import Iterator

import pytest

from tinkbox.boot.packet_filter import attach, detach

MAX_INSTRUCTIONS = 4096
EVERYTHING, NOTHING = (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0)
FIRST_OCTET = (0x30, 0, 0, 8)  # behind the UDP header


@pytest.fixture
def line() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        bound.setblocking(False)
        yield bound


def heard(line: socket.socket, *datagrams: bytes) -> list[bytes]:
    through = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine:
        for datagram in datagrams:
            machine.sendto(datagram, line.getsockname())
            try:
                through.append(line.recv(64))
            except BlockingIOError:
                continue
    return through


def beginning_with(octet: bytes) -> list[tuple[int, int, int, int]]:
    return [FIRST_OCTET, (0x15, 0, 1, octet[0]), EVERYTHING, NOTHING]


def test_only_what_the_program_says_is_let_in_until_another_says_otherwise(line: socket.socket) -> None:
    assert heard(line, b"a1", b"b2") == [b"a1", b"b2"]
    attach(line, beginning_with(b"a"))
    assert heard(line, b"a1", b"b2", b"a3") == [b"a1", b"a3"]
    attach(line, beginning_with(b"b"))
    assert heard(line, b"a1", b"b2", b"a3") == [b"b2"]
    detach(line)
    assert heard(line, b"a1", b"b2") == [b"a1", b"b2"]


def test_what_is_no_program_is_refused_and_changes_nothing(line: socket.socket) -> None:
    attach(line, beginning_with(b"a"))
    for program in ([], [FIRST_OCTET], [(0x05, 0, 0, 7), EVERYTHING], [EVERYTHING] * (MAX_INSTRUCTIONS + 1)):
        with pytest.raises(OSError, match="Invalid argument"):
            attach(line, program)
    assert heard(line, b"a1", b"b2") == [b"a1"]
    attach(line, [EVERYTHING] * MAX_INSTRUCTIONS)
    assert heard(line, b"a1", b"b2") == [b"a1", b"b2"]
