"""Windows of datagrams on loopback."""

import errno
import socket
from collections.abc import Iterator

import pytest

from tinkbox.boot.tftp import udp_segmentation as bursts

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
    ):
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(60)
        yield sender, receiver


class Reluctant:
    """A socket whose kernel takes no bursts, for this reason."""

    def __init__(self, sender: socket.socket, why: int) -> None:
        self._sender = sender
        self._why = why

    def sendmsg(self, *_: object) -> int:
        raise OSError(self._why, "no")

    def sendto(self, datagram: bytes, peer: tuple[str, int]) -> int:
        return self._sender.sendto(datagram, peer)


def window(blocks: int, size: int, last: int) -> list[bytes]:
    return [bytes([number % 256]) * size for number in range(blocks - 1)] + [b"l" * last]


@pytest.mark.parametrize(
    ("blocks", "size", "last"),
    [(1, 1472, 1472), (4, 1472, 1472), (16, 1472, 5), (64, 1472, 4), (64, 12, 4), (200, 516, 4)],
)
def test_a_window_arrives_as_the_datagrams_it_is_made_of(pair: Pair, blocks: int, size: int, last: int) -> None:
    sender, receiver = pair
    sent = window(blocks, size, last)
    bursts.send(sender, sent, receiver.getsockname())
    assert [receiver.recv(2048) for _ in sent] == sent


class Counting:
    """A socket that counts its calls."""

    def __init__(self, sender: socket.socket) -> None:
        self._sender = sender
        self.calls = 0

    def sendmsg(self, *told: object) -> int:
        self.calls += 1
        return self._sender.sendmsg(*told)  # type: ignore[arg-type]


@pytest.mark.parametrize(("blocks", "size", "calls"), [(4, 1472, 1), (16, 1472, 1), (64, 516, 1), (64, 1472, 2)])
def test_a_window_takes_as_few_calls_as_the_kernel_can_bear(pair: Pair, blocks: int, size: int, calls: int) -> None:
    sender, receiver = pair
    counting = Counting(sender)
    bursts.send(counting, window(blocks, size, size), receiver.getsockname())  # type: ignore[arg-type]
    assert counting.calls == calls


def test_nothing_is_sent_of_nothing(pair: Pair) -> None:
    sender, receiver = pair
    bursts.send(sender, [], receiver.getsockname())
    bursts.send(sender, [b"end"], receiver.getsockname())
    assert receiver.recv(2048) == b"end"


@pytest.mark.parametrize("why", [errno.EIO, errno.EINVAL, errno.ENOPROTOOPT, errno.EMSGSIZE])
def test_without_the_kernels_help_each_is_sent_for_itself(pair: Pair, why: int) -> None:
    sender, receiver = pair
    sent = window(8, 1472, 3)
    bursts.send(Reluctant(sender, why), sent, receiver.getsockname())  # type: ignore[arg-type]
    assert [receiver.recv(2048) for _ in sent] == sent


def test_blocks_too_large_for_the_way_are_sent_in_fragments(pair: Pair) -> None:
    sender, receiver = pair
    sent = window(3, 40_000, 30_000)
    bursts.send(sender, sent, receiver.getsockname())
    assert [receiver.recv(65_000) for _ in sent] == sent


def test_any_other_refusal_is_told(pair: Pair) -> None:
    sender, receiver = pair
    with pytest.raises(OSError, match="no"):
        bursts.send(Reluctant(sender, errno.EPERM), window(2, 9, 9), receiver.getsockname())  # type: ignore[arg-type]
