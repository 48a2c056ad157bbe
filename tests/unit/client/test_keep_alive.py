"""What the kernel is told of a connection on which nothing may be said for long."""

import socket

import pytest

from tinkbox.client.keep_alive import keep_alive


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_kernel_asks_after_a_silent_host(family: int) -> None:
    with socket.socket(family) as connection:
        keep_alive(connection)
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle, every, times = (
            connection.getsockopt(socket.IPPROTO_TCP, option)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
        )
        assert idle + every * times <= 30


def test_a_connection_within_the_host_and_one_that_is_closed_are_left_alone() -> None:
    keep_alive(None)
    with socket.socket(socket.AF_UNIX) as connection:
        keep_alive(connection)
        assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 0
