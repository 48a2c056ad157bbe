"""Reading sockets for datagrams: as much as there is, within bounds, whatever the kernel reports in between."""

import asyncio
import errno
import socket
from collections.abc import Callable

import pytest

from tests.unit.boot.filtered_line import filled, line
from tinkbox.boot.network.datagrams import DRAIN, TURN, drained, reading, received, room_taken

REFUSED = OSError(errno.ECONNREFUSED, "somebody answered by ICMP")
DOWN = OSError(errno.ENETDOWN, "the interface is down")


def giving(*waiting: bytes | OSError) -> Callable[[int], bytes]:
    """The method of a socket in which this waits."""
    left = list(waiting)

    def receive(size: int) -> bytes:
        if not left:
            raise BlockingIOError
        first = left.pop(0)
        if isinstance(first, OSError):
            raise first
        return first[:size]

    return receive


@pytest.mark.parametrize(
    ("waiting", "read"),
    [
        ((), []),
        ((b"one",), [b"one"]),
        ((b"", b"two"), [b"", b"two"]),
        ((b"too long",), [b"too "]),
        ((REFUSED, b"one", DOWN, b"two"), [b"one", b"two"]),
        ((b"1", b"2", b"3", b"4", b"5"), [b"1", b"2", b"3", b"4"]),
        ((DOWN, DOWN, DOWN, DOWN, b"5"), []),
    ],
)
def test_what_waits_is_read_in_its_order_and_never_more_than_so_much(
    waiting: tuple[bytes | OSError, ...], read: list[bytes]
) -> None:
    assert list(received(4, giving(*waiting), 4)) == read


def test_what_was_not_read_waits_for_the_next_time() -> None:
    receive = giving(b"1", b"2", b"3")
    assert list(received(2, receive, 9)) == [b"1", b"2"]
    for datagram in received(2, receive, 9):
        assert datagram == b"3"
        break
    else:
        pytest.fail("the third is lost")


@pytest.mark.parametrize(("each_takes", "read"), [(TURN, DRAIN), (TURN / 64, 64), (0.0, 1000)])
def test_what_anybody_may_send_to_is_read_on_while_that_takes_no_time(each_takes: float, read: int) -> None:
    now, waiting = 0.0, giving(*[b"x"] * 1000)

    def receive(size: int) -> bytes:
        nonlocal now
        now += each_takes
        return waiting(size)

    assert len(list(drained(receive, 4, lambda: now))) == read


def test_how_full_a_queue_is() -> None:
    with line() as bound:
        assert room_taken(bound) == 0
        sent = filled(bound)
        assert room_taken(bound) > 0.9
        assert len(list(received(sent, bound.recv, 64))) == sent
        assert room_taken(bound) < 0.3


async def test_a_socket_is_read_when_something_waits_and_only_within_the_block() -> None:
    loop = asyncio.get_running_loop()
    line, machine = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    line.setblocking(False)
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    def drain() -> None:
        for datagram in received(8, line.recv, 64):
            heard.put_nowait(datagram)

    async def leave_early() -> None:
        with reading(line, drain):
            for each in (b"one", b"two"):
                machine.send(each)
                assert await asyncio.wait_for(heard.get(), 60) == each
            raise ConnectionError

    with line, machine:
        with pytest.raises(ConnectionError):
            await leave_early()
        assert not loop.remove_reader(line)
