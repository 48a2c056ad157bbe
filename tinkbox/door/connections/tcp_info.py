"""What the kernel knows of a connection, also while nothing is read of it (include/uapi/linux/tcp.h, `struct tcp_info`)."""

import fcntl
import socket
import struct
import termios
from dataclasses import dataclass
from typing import Final

_STATE_HEARD_AND_BYTES_ACKED: Final = struct.Struct("=B55xI60xQ")
# include/net/tcp_states.h
_ESTABLISHED, _FIN_WAIT1, _FIN_WAIT2, _CLOSE = 1, 4, 5, 7
_NUMBER: Final = struct.Struct("=i")


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """The state of a connection, how many milliseconds ago an acknowledgement came, and how many bytes its peer took."""

    state: int
    heard: int
    taken: int

    @property
    def is_reset(self) -> bool:
        """Whether it is over in both directions, though nobody here closed it."""
        return self.state == _CLOSE

    @property
    def peer_may_speak(self) -> bool:
        """Whether the peer has said neither FIN nor RST, read or not."""
        return self.state in (_ESTABLISHED, _FIN_WAIT1, _FIN_WAIT2)


def tcp_info(connection: socket.socket | None) -> TcpInfo | None:
    """What the kernel says now; None of a socket that is none of TCP, or is closed."""
    if connection is None:
        return None
    try:
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _STATE_HEARD_AND_BYTES_ACKED.size)
    except OSError:
        return None
    return TcpInfo(*_STATE_HEARD_AND_BYTES_ACKED.unpack(told))


def untaken(connection: socket.socket) -> int:
    """How many bytes the kernel holds that the peer of a TCP connection has not acknowledged; raises OSError of one that is closed."""
    told = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(_NUMBER.size))  # SIOCOUTQ, as sockets call it
    return int(_NUMBER.unpack(told)[0])
