"""DHCP packets: real ones, made-up ones, broken ones."""

import struct
from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import (
    NOWHERE,
    Destination,
    MalformedPacket,
    MessageType,
    Op,
    Option,
    Packet,
    decode,
    destination,
    encode,
    read_suboptions,
    shown,
    suboptions,
)

MAC = MacAddress("08:00:27:00:00:01")
CAPTURED = golden.names("dhcp")

addresses = st.integers(0, 2**32 - 1).map(IPv4Address)
hosts = st.integers(1 << 24, (127 << 24) - 1).map(IPv4Address) | st.integers(128 << 24, (224 << 24) - 1).map(
    IPv4Address
)
packets = st.builds(
    Packet,
    op=st.sampled_from(Op),
    xid=st.integers(0, 2**32 - 1),
    mac=st.binary(min_size=6, max_size=6).map(MacAddress.from_bytes),
    hops=st.integers(0, 255),
    secs=st.integers(0, 65_535),
    flags=st.integers(0, 65_535),
    ciaddr=st.just(NOWHERE) | hosts,
    yiaddr=addresses,
    siaddr=addresses,
    giaddr=st.just(NOWHERE) | hosts,
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


ROUTES = b"".join(bytes((24, 10, number, 0, 172, 30, 0, 254)) for number in range(16))
MUCH = {
    **dict.fromkeys((51, 54, 58, 59, 1, 28, 3), bytes(4)),
    53: b"\5",
    6: bytes(32),
    42: bytes(32),
    12: b"h" * 60,
    15: b"d" * 63,
    121: ROUTES,
}


def test_an_answer_that_a_client_could_not_take_uses_the_empty_fields() -> None:
    packet = Packet(op=Op.REPLY, xid=1, mac=MAC, options=MUCH)
    assert len(encode(packet)) > 576 - 28
    short = encode(packet, 576 - 28)
    assert len(short) <= 576 - 28
    assert decode(short).options == {**MUCH, 52: b"\1"}
    assert short[240:243] == b"\x35\1\5"


def test_what_fits_nowhere_is_left_out_but_not_what_is_needed_most() -> None:
    more = {**MUCH, 60: b"HTTPClient", 67: b"http://172.30.0.1/boot/loaders/snponly.efi", 61: b"\1" + bytes(6)}
    packet = Packet(op=Op.REPLY, xid=1, mac=MAC, options=more, file="a file in the header")
    short = encode(packet, 576 - 28)
    kept = decode(short)
    assert len(short) <= 576 - 28
    assert (kept.file, kept.options.pop(52)) == ("a file in the header", b"\2")
    assert kept.options.items() < more.items()
    assert more.keys() - kept.options.keys() <= {28, 42, 58, 59, 12, 15}
    assert {53, 54, 51, 1, 3, 121, 60, 67} <= kept.options.keys()


def test_what_the_relay_said_comes_back_whole_and_last_whatever_there_is_room_for() -> None:
    said = b"\1\xfa" + b"c" * 250
    short = encode(Packet(op=Op.REPLY, xid=1, mac=MAC, options={**MUCH, 82: said}), 576 - 28)
    assert len(short) <= 576 - 28 + 2 + len(said)
    assert short.endswith(b"\x52\xfc" + said + b"\xff")
    assert decode(short).options == {**MUCH, 52: b"\1", 82: said}


@given(packets, st.integers(548, 1472))
def test_no_packet_is_longer_than_it_may_be_and_none_says_anything_else(packet: Packet, longest: int) -> None:
    octets = encode(packet, longest)
    whole, kept = encode(packet), decode(octets)
    relays = packet.options.get(82)
    assert len(octets) <= longest + (0 if relays is None else len(relays) + 2 * max(1, -(-len(relays) // 255)))
    if len(whole) <= longest:
        assert octets == whole
    kept.options.pop(52, None)  # type: ignore[attr-defined]
    assert kept.options.items() <= packet.options.items()
    assert kept.options.get(82) == packet.options.get(82)


@pytest.mark.parametrize(
    ("said", "bytes_"),
    [
        (None, 548),
        (b"", 548),
        (b"\x01\x00", 548),
        (b"\x02\x40", 548),
        (b"\x05\x00", 1252),
        (b"\xff\xff", 1472),
        (b"\x05", 548),
    ],
)
def test_the_longest_answer_is_what_the_client_says_within_reason(said: bytes | None, bytes_: int) -> None:
    options = {} if said is None else {57: said}
    assert Packet(op=Op.REQUEST, xid=1, mac=MAC, options=options).longest_answer == bytes_


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


OFFER, ACK, NAK = b"\x02", b"\x05", b"\x06"


@pytest.mark.parametrize(
    ("giaddr", "ciaddr", "flags", "kind", "expected"),
    [
        ("10.9.0.1", "0.0.0.0", 0x0000, OFFER, ("10.9.0.1", 67, None)),
        ("10.9.0.1", "172.30.0.9", 0x8000, ACK, ("10.9.0.1", 67, None)),
        ("10.9.0.1", "0.0.0.0", 0x0000, NAK, ("10.9.0.1", 67, None)),
        ("0.0.0.0", "172.30.0.9", 0x0000, ACK, ("172.30.0.9", 68, None)),
        ("0.0.0.0", "172.30.0.9", 0x8000, ACK, ("172.30.0.9", 68, None)),
        ("0.0.0.0", "172.30.0.9", 0x0000, NAK, ("255.255.255.255", 68, None)),
        ("0.0.0.0", "0.0.0.0", 0x8000, OFFER, ("255.255.255.255", 68, None)),
        ("0.0.0.0", "0.0.0.0", 0x0000, OFFER, ("172.30.0.9", 68, "08:00:27:00:00:01")),
        ("0.0.0.0", "0.0.0.0", 0x0001, OFFER, ("172.30.0.9", 68, "08:00:27:00:00:01")),
        ("0.0.0.0", "0.0.0.0", 0x0000, ACK, ("172.30.0.9", 68, "08:00:27:00:00:01")),
        ("0.0.0.0", "0.0.0.0", 0x0000, NAK, ("255.255.255.255", 68, None)),
        # What cannot be the client's address may be anybody's.
        ("0.0.0.0", "198.51.100.7", 0x0000, OFFER, ("172.30.0.9", 68, "08:00:27:00:00:01")),
        ("0.0.0.0", "198.51.100.7", 0x8000, OFFER, ("255.255.255.255", 68, None)),
        ("0.0.0.0", "198.51.100.7", 0x8000, ACK, ("255.255.255.255", 68, None)),
    ],
)
def test_a_reply_goes_where_rfc_2131_section_4_1_says(
    giaddr: str, ciaddr: str, flags: int, kind: bytes, expected: tuple[str, int, str | None]
) -> None:
    request = Packet(
        op=Op.REQUEST,
        xid=1,
        mac=MAC,
        giaddr=IPv4Address(giaddr),
        ciaddr=IPv4Address(ciaddr),
        flags=flags,
        options={53: b"\x01" if kind == OFFER else b"\x03"},
    )
    reply = Packet(op=Op.REPLY, xid=1, mac=MAC, yiaddr=IPv4Address("172.30.0.9"), options={53: kind})
    address, port, mac = expected
    assert destination(request, reply) == Destination(
        address=IPv4Address(address), port=port, mac=MacAddress(mac) if mac else None
    )


def test_encapsulated_options_end_with_the_end_option() -> None:
    assert suboptions({6: b"\x08", 9: b"ab"}) == b"\x06\x01\x08\x09\x02ab\xff"


def test_an_offer_of_no_address_is_for_everybody_to_hear() -> None:
    """A machine that is offered no address has none at which it could be reached."""
    for ciaddr in ("0.0.0.0", "198.51.100.7"):
        request = Packet(op=Op.REQUEST, xid=1, mac=MAC, ciaddr=IPv4Address(ciaddr), options={53: b"\x01"})
        reply = Packet(op=Op.REPLY, xid=1, mac=MAC, options={53: OFFER})
        assert destination(request, reply) == Destination(address=IPv4Address("255.255.255.255"), port=68)


def test_who_only_wants_to_be_told_the_rest_hears_it_at_its_address() -> None:
    request = Packet(op=Op.REQUEST, xid=1, mac=MAC, ciaddr=IPv4Address("172.30.0.9"), options={53: b"\x08"})
    reply = Packet(op=Op.REPLY, xid=1, mac=MAC, options={53: ACK})
    assert destination(request, reply) == Destination(address=IPv4Address("172.30.0.9"), port=68)


@given(st.dictionaries(st.integers(1, 254), st.binary(max_size=40), max_size=5))
def test_encapsulated_options_are_read_as_they_were_written(values: dict[int, bytes]) -> None:
    assert read_suboptions(suboptions(values)) == values


@pytest.mark.parametrize(
    ("area", "found"),
    [
        (b"", {}),
        (b"\x01", {}),
        (b"\x01\x04et", {}),
        (b"\x01\x01a\x02\x04et", {1: b"a"}),
        (b"\x01\x01a\xff\x02\x01b", {1: b"a"}),
        (b"\x01\x01a\x01\x01b", {1: b"a"}),
        (b"\x01\x00", {1: b""}),
    ],
)
def test_of_encapsulated_options_what_is_cut_off_or_doubled_is_left_out(area: bytes, found: dict[int, bytes]) -> None:
    assert read_suboptions(area) == found


def test_a_client_asks_for_the_options_in_its_list() -> None:
    packet = Packet(op=Op.REQUEST, xid=1, mac=MAC, options={55: b"\x01\x79"})
    assert packet.asks_for(Option.CLASSLESS_ROUTES)
    assert not packet.asks_for(Option.ROUTER)
    assert not Packet(op=Op.REQUEST, xid=1, mac=MAC).asks_for(Option.ROUTER)


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"lab-1", "lab-1"),
        (b"a\x1b[2Jb\r\n\0", "a[2Jb"),
        ("ü".encode(), "ü"),
        (b"\xff", "\ufffd"),
        (b"x" * 99, "x" * 64),
    ],
)
def test_text_of_a_packet_is_bounded_and_harmless(octets: bytes, text: str) -> None:
    assert shown(octets) == text


def test_text_of_a_packet_is_no_command_of_ours() -> None:
    assert shown(b"`tinkbox doctor`") == "'tinkbox doctor'"


def test_text_of_a_packet_has_the_length_that_is_asked_for() -> None:
    assert shown(b"x" * 99, 70) == "x" * 70


@pytest.mark.parametrize("address", ["0.0.0.1", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"])
@pytest.mark.parametrize("at", [12, 24], ids=["ciaddr", "giaddr"])
def test_a_question_is_not_answered_at_an_address_that_no_host_has(at: int, address: str) -> None:
    forged = bytearray(golden.packet("dhcp/seabios-ipxe-rom-discover"))
    forged[at : at + 4] = IPv4Address(address).packed
    with pytest.raises(MalformedPacket, match=address):
        decode(bytes(forged))
