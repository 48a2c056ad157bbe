"""Sockets on loopback, and what an operator is told when there is none to be had."""

import errno
import os
import socket

import pytest

from tinkbox.boot.network.sockets import bind_tcp, bind_udp, holder, refused
from tinkbox.model.errors import Unavailable


def test_a_udp_socket_does_not_block() -> None:
    with bind_udp(interface="", address="127.0.0.1", port=0) as bound:
        assert not bound.getblocking()


def test_a_udp_socket_may_speak_to_everybody() -> None:
    with bind_udp(interface="", address="127.0.0.1", port=0) as bound:
        assert bound.getsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST) == 1


def test_a_udp_socket_is_bound_to_its_interface() -> None:
    with bind_udp(interface="lo", address="127.0.0.1", port=0) as bound:
        assert bound.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0") == b"lo"


def test_a_tcp_socket_listens() -> None:
    with bind_tcp(address="127.0.0.1", port=0) as bound, socket.create_connection(bound.getsockname(), timeout=60):
        connection, _ = bound.accept()
        connection.close()


def test_connections_are_not_paced_by_timers_whatever_the_host_prefers() -> None:
    with bind_tcp(address="127.0.0.1", port=0) as bound, socket.create_connection(bound.getsockname(), timeout=60):
        connection, _ = bound.accept()
        with connection:
            chosen = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
            assert chosen.rstrip(b"\0") == b"cubic"


def test_address_that_no_interface_has_is_told_with_its_setting() -> None:
    with pytest.raises(
        Unavailable, match=r"of 192\.0\.2\.77:7080/tcp: check operator\.listen in tinkbox\.yaml against"
    ):
        bind_tcp(address="192.0.2.77", port=7080, setting="operator.listen")
    with pytest.raises(Unavailable, match=r"of 192\.0\.2\.77:80/tcp: check address in tinkbox\.yaml against"):
        bind_tcp(address="192.0.2.77", port=80)


def test_whoever_holds_a_udp_port_is_named() -> None:
    with bind_udp(interface="", address="127.0.0.1", port=0) as first:
        port = first.getsockname()[1]
        with pytest.raises(Unavailable) as refusal:
            bind_udp(interface="", address="127.0.0.1", port=port)
        assert f"127.0.0.1:{port}/udp is taken by " in str(refusal.value)
        assert f"(pid {os.getpid()})" in str(refusal.value)
        assert "stop that process or configure another port" in str(refusal.value)


@pytest.mark.parametrize("port", [67, 4011])
def test_where_no_other_port_would_do_none_is_asked_for(port: int) -> None:
    refusal = str(refused(OSError(errno.EADDRINUSE, "Address already in use"), "udp", "", port))
    assert refusal.startswith(f":{port}/udp is taken by ")
    assert "another port" not in refusal
    assert "`dhcp.mode: off`" in refusal


def test_a_descriptor_that_closes_while_being_looked_at_hides_nobody() -> None:
    with socket.socket() as lower, bind_udp(interface="", address="127.0.0.1", port=0) as bound:
        lower.close()  # its number is free now for the listing of our own descriptors, before the one we look for
        found = holder("udp", *bound.getsockname())
        assert found is not None
        assert found.pid == os.getpid()


def test_whoever_listens_on_a_tcp_port_is_named() -> None:
    with bind_tcp(address="127.0.0.1", port=0) as first:
        port = first.getsockname()[1]
        with pytest.raises(Unavailable, match=rf"127\.0\.0\.1:{port}/tcp is taken by .* \(pid {os.getpid()}\)"):
            bind_tcp(address="127.0.0.1", port=port)


def test_a_connection_from_a_port_does_not_hold_it() -> None:
    with bind_tcp(address="127.0.0.1", port=0) as server, socket.create_connection(server.getsockname()) as client:
        assert holder("tcp", *client.getsockname()) is None


@pytest.mark.parametrize("address", ["", "0.0.0.0", "127.0.0.1", "localhost"])
def test_a_holder_is_found_by_its_address(address: str) -> None:
    with bind_tcp(address="127.0.0.1", port=0) as bound:
        port = bound.getsockname()[1]
        assert holder("tcp", address, port) is not None
        assert holder("tcp", "127.0.0.2", port) is None


def test_a_port_that_nobody_seems_to_hold_names_the_way_to_look() -> None:
    taken = refused(OSError(errno.EADDRINUSE, ""), "udp", "127.0.0.1", 0)
    assert "taken by another process (`ss -lnp 'sport = 0'` names it)" in str(taken)
