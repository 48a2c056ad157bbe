"""Many datagrams to one machine by one system call, where the kernel can (UDP segmentation offload, Linux 4.18)."""

import errno
import socket
import struct
from collections.abc import Sequence
from functools import lru_cache

# linux/udp.h, linux/in.h; the socket module has no names for them.
_SOL_UDP = 17
_UDP_SEGMENT = 103
_MAX_SEGMENTS = 64  # UDP_MAX_SEGMENTS; 128 since Linux 6.9
_MAX_BURST = 65_000  # a whole burst is one datagram to the kernel, of at most 65,507 bytes over IPv4
_SIZE = struct.Struct("=H")
# The kernel is too old, the path takes no datagrams of this size, or the interface computes no checksums.
_CANNOT = frozenset({errno.EINVAL, errno.EIO, errno.EMSGSIZE, errno.ENOPROTOOPT, errno.EOPNOTSUPP})


def send(sender: socket.socket, datagrams: Sequence[bytes], peer: tuple[str, int]) -> None:
    """Send datagrams of one size, of which the last may be shorter, in their order.

    Raises OSError as `sendto` does; what was sent before that is sent.
    """
    if len(datagrams) == 1:
        sender.sendto(datagrams[0], peer)
        return
    together = max(min(_MAX_SEGMENTS, _MAX_BURST // len(datagrams[0])), 1) if datagrams else 1
    for at in range(0, len(datagrams), together):
        _send_together(sender, datagrams[at : at + together], peer)


def _send_together(sender: socket.socket, datagrams: Sequence[bytes], peer: tuple[str, int]) -> None:
    try:
        sender.sendmsg(datagrams, _segments_of(len(datagrams[0])), 0, peer)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        for datagram in datagrams:
            sender.sendto(datagram, peer)


@lru_cache(maxsize=64)
def _segments_of(size: int) -> list[tuple[int, int, bytes]]:
    """The control message for datagrams of this size, of which there are few."""
    return [(_SOL_UDP, _UDP_SEGMENT, _SIZE.pack(size))]
