"""Room in the send buffer of a UDP socket, so that answers to hosts that are not there leave some for all others.

Who asks can do so in anybody's name.  The kernel keeps an answer to a host that does not answer ARP for seconds, in the
socket's buffer; a few hundred fill it, and nobody would be answered any more.
"""

import fcntl
import socket
import struct
import termios
from typing import Final

from tinkbox.boot.network.neighbours import is_on_link, neighbour
from tinkbox.boot.network.sockets import interface_of

_WAITING = struct.Struct("=i")
_EVERYBODY: Final = "255.255.255.255"


class SendBuffer:
    """What waits in the buffer of a socket.

    A quarter of it is for hosts that the kernel knows, and for everybody at once.  Another one is for hosts behind routers,
    such as relays, besides: the kernel asks for the router, of which nobody can invent many.
    """

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._interface = interface_of(line)
        room = line.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        self._for_strangers, self._for_routed = room // 2, room * 3 // 4

    def has_room_for(self, address: str) -> bool:
        """Whether something may be sent to an IPv4 address now."""
        (waiting,) = _WAITING.unpack(fcntl.ioctl(self._line, termios.TIOCOUTQ, bytes(_WAITING.size)))
        if waiting < self._for_strangers or address == _EVERYBODY:
            return True
        return (waiting < self._for_routed and _is_routed(address)) or bool(
            neighbour(self._line, self._interface, address)
        )


def _is_routed(address: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        return not is_on_link(asking, address)
