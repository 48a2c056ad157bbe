"""Who listens on a port, as the kernel says."""

import socket
from ipaddress import ip_address

import pytest

from tinkbox.vitals.listeners import listening_at


@pytest.mark.parametrize(
    ("family", "at", "told"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "0.0.0.0", "0.0.0.0"),
        (socket.AF_INET6, "::", "::"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET6, "::ffff:127.0.0.1", "127.0.0.1"),
    ],
)
def test_a_port_is_listened_on_where_a_server_bound_it(family: socket.AddressFamily, at: str, told: str) -> None:
    with socket.socket(family) as server:
        if family is socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind((at, 0))
        port = server.getsockname()[1]
        assert listening_at(port) == frozenset(), "it is bound, and does not listen"
        server.listen()
        assert listening_at(port) == {ip_address(told)}
    assert listening_at(port) == frozenset()
