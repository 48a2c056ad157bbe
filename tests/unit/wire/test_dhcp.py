"""DHCP packets: real ones, made-up ones, broken ones."""

import struct
from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp import (
    Destination,
    MalformedPacket,
    MessageType,
    Op,
    Option,
    Packet,
    decode,
    destination,
    encode,
    suboptions,
)

MAC = MacAddress("08:00:27:00:00:01")
CAPTURED = golden.names("dhcp")

addresses = st.integers(0, 2**32 - 1).map(IPv4Address)
packets = st.builds(
    Packet,
    op=st.sampled_from(Op),
    xid=st.integers(0, 2**32 - 1),
    mac=st.binary(min_size=6, max_size=6).map(MacAddress.from_bytes),
    hops=st.integers(0, 255),
    secs=st.integers(0, 65_535),
    flags=st.integers(0, 65_535),
    ciaddr=addresses,
    yiaddr=addresses,
    siaddr=addresses,
    giaddr=addresses,
    file=st.text("abcdefghij./:-", max_size=127),
    # Option 52 says that there are more options elsewhere, which is the next test's subject.
    options=st.dictionaries(st.integers(1, 254).filter(lambda code: code != 52), st.binary(max_size=600), max_size=8),
)


def header(*, op: int = 1, htype: int = 1, hlen: int = 6, sname: bytes = b"", file: bytes = b"") -> bytes:
    return struct.pack("!BBBBIHH16x16s64s128s", op, htype, hlen, 0, 7, 0, 0, MAC.octets, sname, file) + b"c\x82Sc"


@given(packets)
def test_what_is_encoded_decodes_to_the_same(packet: Packet) -> None:
    assert decode(encode(packet)) == packet


@given(packets)
def test_no_packet_is_shorter_than_bootp_allows(packet: Packet) -> None:
    assert len(encode(packet)) >= 300


@pytest.mark.parametrize("name", CAPTURED)
def test_a_captured_packet_survives_decoding_and_encoding(name: str) -> None:
    datagram = golden.packet(name)
    packet = decode(datagram)
    assert packet.op is Op.REQUEST
    assert packet.message_type is (MessageType.DISCOVER if name.endswith("discover") else MessageType.REQUEST)
    assert encode(packet).rstrip(b"\0") == datagram.rstrip(b"\0")


def test_a_packet_of_firmware_is_read_field_by_field() -> None:
    packet = decode(golden.packet("dhcp/ovmf-pxe-request"))
    assert packet.mac == "08:00:27:00:00:02"
    assert packet.flags == 0x8000
    assert packet.ciaddr == packet.yiaddr == packet.giaddr == IPv4Address(0)
    assert packet.address(Option.ADDRESS_REQUEST) == IPv4Address("172.31.9.17")
    assert packet.address(Option.SERVER_ID) == IPv4Address("172.31.9.1")
    assert packet.options[93] == b"\x00\x07"
    assert packet.options[60] == b"PXEClient:Arch:00007:UNDI:003000"
    assert packet.options[97] == bytes(17)
    assert 77 not in packet.options


def test_the_header_is_laid_out_as_rfc_2131_draws_it() -> None:
    packet = Packet(
        op=Op.REPLY,
        xid=0x01020304,
        mac=MAC,
        hops=1,
        secs=2,
        flags=0x8000,
        ciaddr=IPv4Address("10.0.0.1"),
        yiaddr=IPv4Address("10.0.0.2"),
        siaddr=IPv4Address("10.0.0.3"),
        giaddr=IPv4Address("10.0.0.4"),
        file="boot",
        options={53: b"\x02", 12: b"lab"},
    )
    assert encode(packet) == bytes.fromhex(
        "02010601 01020304 0002 8000 0a000001 0a000002 0a000003 0a000004 080027000001"
        + "00" * 10  # the rest of chaddr
        + "00" * 64  # sname
        + "626f6f74"
        + "00" * 124  # the rest of file
        + "63825363 350102 0c036c6162 ff"
        + "00" * 51
    )


def test_a_long_file_name_stands_in_its_option_only() -> None:
    fits, too_long = "f" * 127, "f" * 128
    base = Packet(op=Op.REPLY, xid=1, mac=MAC)
    assert encode(replace(base, file=fits))[108:236] == b"f" * 127 + b"\0"
    assert encode(replace(base, file=too_long))[108:236] == bytes(128)


def test_a_long_option_is_split_and_joined_again() -> None:
    packet = Packet(op=Op.REPLY, xid=1, mac=MAC, options={67: b"x" * 256})
    assert encode(packet)[240:] == b"\x43\xff" + b"x" * 255 + b"\x43\x01x" + b"\xff"
    assert decode(encode(packet)).options == {67: b"x" * 256}


@pytest.mark.parametrize(
    ("overload", "expected_file", "expected"),
    [
        (b"\x34\x01\x01", "", {52: b"\x01", 12: b"ab"}),
        (b"\x34\x01\x02", "\x0c\x02ab\ufffd", {52: b"\x02", 15: b"cd"}),
        (b"\x34\x01\x03", "", {52: b"\x03", 12: b"ab", 15: b"cd"}),
        (b"", "\x0c\x02ab\ufffd", {}),
    ],
)
def test_options_are_found_in_overloaded_fields(overload: bytes, expected_file: str, expected: object) -> None:
    datagram = header(file=b"\x0c\x02ab\xff", sname=b"\x0f\x02cd\xff") + overload + b"\xff"
    packet = decode(datagram)
    assert packet.options == expected
    assert packet.file == expected_file


def test_an_option_continues_from_the_options_over_file_to_sname() -> None:
    datagram = header(file=b"\x43\x01b\xff", sname=b"\x43\x01c\xff") + b"\x34\x01\x03\x43\x01a\xff"
    assert decode(datagram).options[67] == b"abc"


def test_padding_and_whatever_follows_the_end_is_skipped() -> None:
    assert decode(header() + b"\0\0\x35\x01\x01\0\xff\x0c\x09").options == {53: b"\x01"}


@pytest.mark.parametrize(
    ("datagram", "why"),
    [
        (b"", "0 bytes"),
        (header()[:239], "239 bytes"),
        (header()[:236] + b"BOOT", "magic cookie"),
        (header(op=3), "op 3"),
        (header(op=0), "op 0"),
        (header(htype=6), "htype 6"),
        (header(hlen=16), "hlen 16"),
        (header() + b"\x35", "option 53 has no length"),
        (header() + b"\x35\x02\x01", "option 53 is cut off"),
        (header(file=b"\x0c\x80" + b"x" * 126) + b"\x34\x01\x01\xff", "option 12 is cut off"),
        (header(sname=b"\x0c\x40" + b"x" * 62) + b"\x34\x01\x02\xff", "option 12 is cut off"),
    ],
)
def test_what_is_no_packet_is_refused(datagram: bytes, why: str) -> None:
    with pytest.raises(MalformedPacket, match=why):
        decode(datagram)


@given(st.sampled_from(CAPTURED), st.sampled_from(CAPTURED), st.data())
def test_a_packet_cut_spliced_or_spoilt_is_read_or_refused(first: str, second: str, data: st.DataObject) -> None:
    head, tail = golden.packet(first), golden.packet(second)
    cut, joint = data.draw(st.integers(0, len(head))), data.draw(st.integers(0, len(tail)))
    spliced = bytearray(head[:cut] + tail[joint:] + data.draw(st.binary(max_size=40)))
    for at in data.draw(st.lists(st.integers(0, max(0, len(spliced) - 1)), max_size=8)):
        spliced[at : at + 1] = data.draw(st.binary(min_size=1, max_size=1))
    try:
        packet = decode(bytes(spliced))
    except MalformedPacket:
        return
    assert decode(encode(replace(packet, file=""))).xid == packet.xid


@pytest.mark.parametrize(("value", "kind"), [(b"\x01", 1), (b"\x08", 8), (b"", None), (b"\x09", None), (b"\0", None)])
def test_the_message_type_is_known_or_none(value: bytes, kind: int | None) -> None:
    assert Packet(op=Op.REQUEST, xid=1, mac=MAC, options={53: value}).message_type == kind


def test_an_address_option_of_another_length_is_none() -> None:
    packet = Packet(op=Op.REQUEST, xid=1, mac=MAC, options={50: b"\x0a\0\0\x01", 54: b"\x0a\0\0"})
    assert packet.address(Option.ADDRESS_REQUEST) == IPv4Address("10.0.0.1")
    assert packet.address(Option.SERVER_ID) is None
    assert packet.address(Option.ROUTER) is None


OFFER, NAK = b"\x02", b"\x06"


@pytest.mark.parametrize(
    ("giaddr", "ciaddr", "flags", "kind", "expected"),
    [
        ("10.9.0.1", "0.0.0.0", 0x0000, OFFER, ("10.9.0.1", 67, None)),
        ("10.9.0.1", "172.30.0.5", 0x8000, OFFER, ("10.9.0.1", 67, None)),
        ("10.9.0.1", "0.0.0.0", 0x0000, NAK, ("10.9.0.1", 67, None)),
        ("0.0.0.0", "172.30.0.5", 0x0000, OFFER, ("172.30.0.5", 68, None)),
        ("0.0.0.0", "172.30.0.5", 0x8000, OFFER, ("172.30.0.5", 68, None)),
        ("0.0.0.0", "172.30.0.5", 0x0000, NAK, ("255.255.255.255", 68, None)),
        ("0.0.0.0", "0.0.0.0", 0x8000, OFFER, ("255.255.255.255", 68, None)),
        ("0.0.0.0", "0.0.0.0", 0x0000, OFFER, ("172.30.0.9", 68, "08:00:27:00:00:01")),
        ("0.0.0.0", "0.0.0.0", 0x0001, OFFER, ("172.30.0.9", 68, "08:00:27:00:00:01")),
        ("0.0.0.0", "0.0.0.0", 0x0000, NAK, ("255.255.255.255", 68, None)),
    ],
)
def test_a_reply_goes_where_rfc_2131_section_4_1_says(
    giaddr: str, ciaddr: str, flags: int, kind: bytes, expected: tuple[str, int, str | None]
) -> None:
    request = Packet(op=Op.REQUEST, xid=1, mac=MAC, giaddr=IPv4Address(giaddr), ciaddr=IPv4Address(ciaddr), flags=flags)
    reply = Packet(op=Op.REPLY, xid=1, mac=MAC, yiaddr=IPv4Address("172.30.0.9"), options={53: kind})
    address, port, mac = expected
    assert destination(request, reply) == Destination(
        address=IPv4Address(address), port=port, mac=MacAddress(mac) if mac else None
    )


def test_encapsulated_options_end_with_the_end_option() -> None:
    assert suboptions({6: b"\x08", 9: b"ab"}) == b"\x06\x01\x08\x09\x02ab\xff"
