"""Room in the send buffer of a UDP socket, so that answers to hosts that are not there leave some for all others.

Who asks can do so in anybody's name.  The kernel keeps an answer to a host that does not answer ARP for seconds, in the
socket's buffer; a few hundred fill it, and nobody would be answered any more.
"""

import fcntl
import socket
import struct
import termios
from typing import Final

from tinkbox.boot.network.neighbours import neighbour
from tinkbox.boot.network.sockets import interface_of

_WAITING = struct.Struct("=i")
_EVERYBODY: Final = "255.255.255.255"


class SendBuffer:
    """What waits in the buffer of a socket; half of it is for hosts that the kernel knows, and for everybody at once."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._interface = interface_of(line)
        self._for_unknown = line.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2

    def has_room_for(self, address: str) -> bool:
        """Whether something may be sent to an IPv4 address now."""
        (waiting,) = _WAITING.unpack(fcntl.ioctl(self._line, termios.TIOCOUTQ, bytes(_WAITING.size)))
        if waiting < self._for_unknown or address == _EVERYBODY:
            return True
        return neighbour(self._line, self._interface, address) is not None
