"""Who listens on a port, as the kernel says."""

import socket
from ipaddress import IPv4Address

import pytest

from tinkbox.model.diagnosis import Listens
from tinkbox.vitals.listeners import listens

OTHER, LOOPBACK = IPv4Address("172.30.0.1"), IPv4Address("127.0.0.1")


@pytest.mark.parametrize(
    ("family", "at", "asked", "where"),
    [
        (socket.AF_INET, "127.0.0.1", LOOPBACK, Listens.THERE),
        (socket.AF_INET, "127.0.0.1", OTHER, Listens.ELSEWHERE),
        (socket.AF_INET, "0.0.0.0", OTHER, Listens.THERE),
        (socket.AF_INET6, "::", OTHER, Listens.THERE),
        (socket.AF_INET6, "::1", OTHER, Listens.ELSEWHERE),
        (socket.AF_INET6, "::ffff:127.0.0.1", OTHER, Listens.ELSEWHERE),
        (socket.AF_INET6, "::ffff:127.0.0.1", LOOPBACK, Listens.THERE),
    ],
)
def test_a_port_is_listened_on_where_somebody_bound_it(
    family: socket.AddressFamily, at: str, asked: IPv4Address, where: Listens
) -> None:
    with socket.socket(family) as server:
        if family is socket.AF_INET6:
            server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind((at, 0))
        port = server.getsockname()[1]
        assert listens(asked, port) is Listens.NOWHERE, "it is bound, and does not listen"
        server.listen()
        assert listens(asked, port) is where
    assert listens(asked, port) is Listens.NOWHERE
