"""A port of its own for every transfer, which is its identifier (RFC 1350 §4).

Who cannot see our packets does not know it, so that nobody acknowledges in somebody else's name what was never asked for.
The kernel hands a transfer only what its machine sends, from the port that it asked from.
"""

import select
import socket
from collections.abc import Iterator
from typing import Final

from tinkbox.boot.network.sockets import interface_of
from tinkbox.boot.tftp.path_mtu import believe_no_icmp

# A window of the largest acknowledgements; the kernel's least is more.
_RECEIVE_BUFFER: Final = 4096


class TransferPorts:
    """Ports at the address, and on the interface, of the socket that requests come in on.

    A block waits for the last one's acknowledgement, and only who was sent one is heard here.
    """

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._interface = interface_of(listening)
        self._epoll = select.epoll()

    def fileno(self) -> int:
        """What is readable when something waits at one of the ports."""
        return self._epoll.fileno()

    def open(self, peer: tuple[str, int], *, direct: bool) -> socket.socket:
        """A socket for what goes to and comes from one machine; raises OSError when there is none to be had.

        `direct`: the machine is on our own link (`path_mtu.Way`).
        """
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
            if self._interface:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self._interface)
            if direct:
                believe_no_icmp(line)
            line.bind((self._listening.getsockname()[0], 0))
            line.connect(peer)
            self._epoll.register(line, select.EPOLLIN)
        except OSError:
            line.close()
            raise
        return line

    def look(self) -> None:
        """Raises OSError where there is no port for another transfer."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            if self._interface:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, self._interface)
            line.bind((self._listening.getsockname()[0], 0))

    def ready(self, most: int) -> Iterator[int]:
        """The descriptors of so many sockets at which something waits."""
        for descriptor, _ in self._epoll.poll(0, most):
            yield descriptor

    def close(self) -> None:
        """Watch nothing any more."""
        self._epoll.close()
