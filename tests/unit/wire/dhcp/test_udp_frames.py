"""UDP datagrams in Ethernet frames."""

from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.wire.dhcp.udp_frames import UdpFrame, decode, encode, is_sound

FRAME = UdpFrame(
    source_mac=bytes.fromhex("020000000001"),
    target_mac=b"\xff" * 6,
    source=IPv4Address("0.0.0.0"),
    target=IPv4Address("255.255.255.255"),
    source_port=68,
    target_port=67,
    payload=b"hello",
)
# As tcpdump shows it: Ethernet, IPv4 with its checksum, UDP without one.
OCTETS = bytes.fromhex("ffffffffffff0200000000010800450000210000000040117acd00000000ffffffff00440043000d000068656c6c6f")


def test_a_frame_is_what_stands_on_the_wire() -> None:
    assert encode(FRAME) == OCTETS
    assert decode(OCTETS) == FRAME


def test_what_ethernet_pads_is_not_part_of_it() -> None:
    assert decode(OCTETS + bytes(20)) == FRAME


def test_options_of_the_ip_header_are_skipped() -> None:
    long = OCTETS[:14] + b"\x46" + OCTETS[15:16] + (37).to_bytes(2, "big") + OCTETS[18:34] + bytes(4) + OCTETS[34:]
    assert decode(long) == FRAME


@pytest.mark.parametrize(
    ("at", "octet"),
    [(12, 0x86), (14, 0x65), (14, 0x44), (23, 6), (20, 0x20), (21, 1), (38, 9), (39, 200), (39, 7), (17, 20)],
)
def test_what_is_no_whole_datagram_is_none(at: int, octet: int) -> None:
    assert decode(OCTETS[:at] + bytes((octet,)) + OCTETS[at + 1 :]) is None


@given(st.integers(0, len(OCTETS) - 1))
def test_a_frame_that_was_cut_off_is_none(length: int) -> None:
    assert decode(OCTETS[:length]) is None


@given(st.binary(max_size=200), st.integers(0, 60))
def test_noise_raises_nothing(noise: bytes, kept: int) -> None:
    decode(OCTETS[:kept] + noise)


@given(st.binary(max_size=600), st.integers(0, 65_535))
def test_whatever_is_sent_is_read_again(payload: bytes, port: int) -> None:
    frame = replace(FRAME, payload=payload, source_port=port)
    assert decode(encode(frame)) == frame


# The same with UDP's checksum, of five octets as payload.
SUMMED = OCTETS[:40] + bytes.fromhex("bb7b") + OCTETS[42:]


def test_a_frame_is_sound_with_a_right_checksum_or_without_one() -> None:
    assert is_sound(OCTETS, summed=True)
    assert is_sound(SUMMED, summed=True)
    assert is_sound(SUMMED + bytes(14), summed=True), "Ethernet pads"


def test_a_damaged_frame_is_not_sound() -> None:
    for at in range(14, len(SUMMED)):
        damaged = bytearray(SUMMED)
        damaged[at] ^= 0x01
        if decode(bytes(damaged)) is not None:
            assert not is_sound(bytes(damaged), summed=True), at
    assert not is_sound(SUMMED[:-1], summed=True), "its end is missing"


def test_the_checksum_that_a_card_is_to_make_says_nothing_yet() -> None:
    unmade = OCTETS[:40] + bytes.fromhex("1234") + OCTETS[42:]
    assert not is_sound(unmade, summed=True)
    assert is_sound(unmade, summed=False)
