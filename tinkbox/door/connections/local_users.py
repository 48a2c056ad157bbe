"""Which user of this host is at the other end of a TCP connection on loopback: the kernel is asked (sock_diag(7))."""

import socket
import struct
from typing import Final

_SOCK_DIAG: Final = 4  # NETLINK_SOCK_DIAG, of which the socket module has no name
_BY_FAMILY, _REQUEST = 20, 1  # SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST
_ESTABLISHED: Final = 1
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_ENDS = struct.Struct("!HH4s12x4s12x")
_ANY_INTERFACE: Final = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # and any cookie
_TOLD = struct.Struct("=BBBB48xIIIII")  # state is the second, the user the last but one


def user_holder(user: int) -> str:
    """What a user of this host, by number, is called as a holder of connections."""
    return f"user {user} of this host"


def local_user(connection: socket.socket) -> str:
    """The user at the other end of an IPv4 connection, as `user_holder` calls one; empty where the kernel does not tell.

    The user is who made the socket.  A socket that is being closed is nobody's any more, and the kernel would say root.
    """
    try:
        # What it looks for is the other end's socket.
        (far, far_port), (near, near_port) = connection.getpeername(), connection.getsockname()
        ends = _ENDS.pack(far_port, near_port, socket.inet_aton(far), socket.inet_aton(near))
        asked = _ASKED.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 1 << _ESTABLISHED) + ends + _ANY_INTERFACE
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.setblocking(False)
            kernel.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 0, 0) + asked)
            told = kernel.recv(4096)
    except OSError:
        return ""
    if len(told) < _HEADER.size + _TOLD.size or _HEADER.unpack_from(told)[1] != _BY_FAMILY:
        return ""
    _, state, *_, user, _ = _TOLD.unpack_from(told, _HEADER.size)
    return user_holder(user) if state == _ESTABLISHED else ""
