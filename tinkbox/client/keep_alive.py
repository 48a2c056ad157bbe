"""For connections on which nothing may be said for long, of either side."""

import socket
from typing import Final

_OPTIONS: Final = {socket.TCP_KEEPIDLE: 15, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3}


def keep_alive(connection: socket.socket | None) -> None:
    """Have the kernel notice within half a minute that the other host is gone; one of this host alone needs none."""
    if connection is not None and connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _OPTIONS.items():
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
