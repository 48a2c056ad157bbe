"""What the kernel knows of a connection, also while nothing is read of it (include/uapi/linux/tcp.h, `struct tcp_info`)."""

import socket
import struct
from dataclasses import dataclass
from typing import Final

_STATE_AND_BYTES_ACKED: Final = struct.Struct("=B119xQ")
# include/net/tcp_states.h
_ESTABLISHED, _FIN_WAIT1, _FIN_WAIT2, _CLOSE = 1, 4, 5, 7


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """The state of a connection, and how many bytes its peer took."""

    state: int
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
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _STATE_AND_BYTES_ACKED.size)
    except OSError:
        return None
    return TcpInfo(*_STATE_AND_BYTES_ACKED.unpack(told))
