"""Option 82, as relays and switches write it."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import Op, Packet
from tinkbox.wire.dhcp.relay_agent import RelayAgent, relay_agent


def packet(agent: bytes | None) -> Packet:
    options = {} if agent is None else {82: agent}
    return Packet(op=Op.REQUEST, xid=1, mac=MacAddress("08:00:27:00:00:01"), options=options)


def test_everything_that_a_relay_says_is_read() -> None:
    said = b"\x01\x04eth7\x02\x03sw1\x05\x04\x0a\x08\0\0\x0b\x04\x0a\x09\0\1"
    assert relay_agent(packet(said)) == RelayAgent(
        circuit=b"eth7", remote=b"sw1", link=IPv4Address("10.8.0.0"), server=IPv4Address("10.9.0.1")
    )


@pytest.mark.parametrize(
    "said", [None, b"", b"\x01", b"\x05\x04\x0a", b"\x05\x02\x0a\x08", b"\x0b\x04\0\0\0\0", b"\xff\x01\x01x"]
)
def test_what_is_missing_cut_off_or_no_address_says_nothing(said: bytes | None) -> None:
    assert relay_agent(packet(said)) == RelayAgent()


@pytest.mark.parametrize(
    ("circuit", "remote", "port"),
    [
        (b"eth7", b"", "eth7"),
        (b"", b"sw1", "sw1"),
        (b"eth7", b"sw1", "eth7 of sw1"),
        (b"\x00\x04\x00\x14\x01\x05", b"", "0x000400140105"),
        (b"", b"\x00\x06\x08\x00\x27\x00\x00\x99", "0x0006080027000099"),
        (b"p" * 255, b"", "p" * 64),
        (b"\xff" * 255, b"", "0x" + "ff" * 32),
        (b"", b"", ""),
    ],
)
def test_a_port_is_shown_as_text_or_as_its_octets(circuit: bytes, remote: bytes, port: str) -> None:
    assert RelayAgent(circuit=circuit, remote=remote).port == port


@given(st.binary(max_size=255))
def test_no_relay_can_say_what_fails(said: bytes) -> None:
    assert relay_agent(packet(said)).port.isprintable()
