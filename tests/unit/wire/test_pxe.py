"""What a machine is answered: leases by RFC 2131, boot programs by firmware, silence where silence is due."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.boot import Boot, Client, Plan
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.dhcp import MalformedPacket, MessageType, Op, Packet, decode, destination, encode
from tinkbox.wire.pxe import BootService, answer, identify

MAC = MacAddress("08:00:27:00:00:01")
OWN, RESERVED, OTHER = IPv4Address("172.30.0.1"), IPv4Address("172.30.0.5"), IPv4Address("172.30.0.66")
NOWHERE = IPv4Address(0)
SERVICE = BootService(address=OWN, url="http://172.30.0.1:8080")
INTERFACE = Interface(
    mac=MAC,
    address=RESERVED,
    netmask=IPv4Address("255.255.255.128"),
    gateway=IPv4Address("172.30.0.2"),
    hostname="lab-1",
    domain_name="lab.example",
    lease_seconds=4_000,
    name_servers=(IPv4Address("9.9.9.9"), IPv4Address("1.1.1.1")),
    time_servers=(IPv4Address("172.30.0.3"),),
)
OSIE = Plan(boot=Boot.OSIE, hardware_id="h", interface=INTERFACE)
ADDRESSES_ONLY = replace(OSIE, boot=Boot.NOTHING)
SCRIPT = "http://172.30.0.1:8080/boot/08-00-27-00-00-01/script.ipxe"
CONFIGURATION = {
    1: bytes([255, 255, 255, 128]),
    3: bytes([172, 30, 0, 2]),
    6: bytes([9, 9, 9, 9, 1, 1, 1, 1]),
    12: b"lab-1",
    15: b"lab.example",
    28: bytes([172, 30, 0, 127]),
    42: bytes([172, 30, 0, 3]),
}
LEASE = {51: b"\x00\x00\x0f\xa0", 58: b"\x00\x00\x07\xd0", 59: b"\x00\x00\x0d\xac"}
DISCOVER, REQUEST, DECLINE, RELEASE, INFORM = (bytes([kind]) for kind in (1, 3, 4, 7, 8))


def packet(
    options: Mapping[int, bytes],
    *,
    ciaddr: IPv4Address = NOWHERE,
    giaddr: IPv4Address = NOWHERE,
    flags: int = 0,
    secs: int = 0,
) -> Packet:
    return Packet(
        op=Op.REQUEST, xid=77, mac=MAC, options=options, ciaddr=ciaddr, giaddr=giaddr, flags=flags, secs=secs, hops=1
    )


def firmware(architecture: int, name: str = "PXEClient") -> Packet:
    return packet({53: DISCOVER, 60: f"{name}:Arch:{architecture:05}".encode(), 93: architecture.to_bytes(2, "big")})


def replied(request: Packet, plan: Plan = OSIE) -> Packet:
    reply = answer(request, identify(request), plan, SERVICE)
    assert reply is not None
    return decode(encode(reply))


# --- who asks


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("seabios-ipxe-rom-discover", {"architecture": 0, "netboots": True, "ipxe": True}),
        ("seabios-ipxe-rom-request", {"architecture": 0, "netboots": True, "ipxe": True}),
        ("ovmf-pxe-discover", {"architecture": 7, "netboots": True}),
        ("ovmf-pxe-request", {"architecture": 7, "netboots": True}),
        ("snponly-ipxe-discover", {"architecture": 7, "netboots": True, "ipxe": True}),
        ("snponly-ipxe-request", {"architecture": 7, "netboots": True, "ipxe": True}),
        ("ovmf-http-discover", {"architecture": 16, "netboots": True, "http": True}),
        ("ovmf-http-request", {"architecture": 16, "netboots": True, "http": True}),
        ("udhcpc-discover", {}),
        ("udhcpc-request", {}),
    ],
)
def test_real_clients_are_recognised(name: str, expected: dict[str, object]) -> None:
    request = decode(golden.packet(f"dhcp/{name}"))
    assert identify(request) == Client(mac=request.mac, **expected)  # type: ignore[arg-type]


def test_every_captured_client_is_in_that_table() -> None:
    assert len(golden.names("dhcp")) == 10


@pytest.mark.parametrize(
    ("user_class", "ipxe"),
    [
        (b"iPXE", True),
        (b"\x04iPXE", True),
        (b"\x03lab\x04iPXE", True),
        (b"", False),
        (b"ipxe", False),
        (b"iPXE2", False),
        (b"\x05iPXE2", False),
        (b"\x04iPX", False),
        (b"\0\0\0", False),
    ],
)
def test_ipxe_is_known_by_its_user_class_raw_or_as_in_rfc_3004(user_class: bytes, ipxe: bool) -> None:
    assert identify(packet({77: user_class})).ipxe is ipxe


def test_ipxe_loaded_over_http_is_ipxe_and_no_longer_http_firmware() -> None:
    client = identify(packet({60: b"HTTPClient:Arch:00016", 77: b"iPXE", 93: b"\0\x10"}))
    assert (client.ipxe, client.http, client.netboots) == (True, False, True)


@pytest.mark.parametrize(
    ("value", "architecture"),
    [
        (b"", None),
        (b"\x07", None),
        (b"\x00\x07", 7),
        (b"\x00\x07\x00", 7),
        (b"\x00\x0b\x00\x07", 7),
        (b"\x00\x0b\x00\x0c", 11),
    ],
)
def test_of_several_architectures_the_first_that_we_can_serve_counts(value: bytes, architecture: int | None) -> None:
    assert identify(packet({93: value})).architecture == architecture


# --- the lease


def test_an_installed_system_gets_its_addresses_and_nothing_else() -> None:
    reply = replied(packet({53: DISCOVER, 60: b"udhcp"}), ADDRESSES_ONLY)
    assert reply.options == {53: b"\x02", 54: OWN.packed, **LEASE, **CONFIGURATION}
    assert (reply.op, reply.xid, reply.mac, reply.hops) == (Op.REPLY, 77, MAC, 0)
    assert (reply.yiaddr, reply.siaddr, reply.ciaddr, reply.file) == (RESERVED, NOWHERE, NOWHERE, "")


def test_what_the_hardware_document_leaves_out_is_left_out() -> None:
    bare = Interface(mac=MAC, address=RESERVED, lease_seconds=2**32 - 1)
    reply = replied(packet({53: DISCOVER}), replace(ADDRESSES_ONLY, interface=bare))
    lease = {51: b"\xff\xff\xff\xff", 58: b"\x7f\xff\xff\xff", 59: b"\xdf\xff\xff\xff"}
    assert reply.options == {53: b"\x02", 54: OWN.packed, **lease}


def test_a_machine_without_a_reserved_address_is_not_answered() -> None:
    plan = replace(OSIE, interface=Interface(mac=MAC))
    for request in (firmware(0), packet({53: REQUEST, 50: RESERVED.packed}), packet({53: INFORM}, ciaddr=RESERVED)):
        assert answer(request, identify(request), plan, SERVICE) is None


SELECTING_US = {53: REQUEST, 54: OWN.packed, 50: RESERVED.packed}
ACK, NAK = MessageType.ACK, MessageType.NAK


@pytest.mark.parametrize(
    ("state", "options", "ciaddr", "verdict"),
    [
        ("SELECTING, us", SELECTING_US, NOWHERE, ACK),
        ("SELECTING, us, another address", {**SELECTING_US, 50: OTHER.packed}, NOWHERE, NAK),
        ("SELECTING, another server", {**SELECTING_US, 54: OTHER.packed}, NOWHERE, None),
        ("SELECTING, a server identifier of three bytes", {**SELECTING_US, 54: b"\xac\x1e\0"}, NOWHERE, None),
        ("SELECTING, no address", {53: REQUEST, 54: OWN.packed}, NOWHERE, None),
        ("INIT-REBOOT, right", {53: REQUEST, 50: RESERVED.packed}, NOWHERE, ACK),
        ("INIT-REBOOT, wrong", {53: REQUEST, 50: OTHER.packed}, NOWHERE, NAK),
        ("RENEWING or REBINDING, right", {53: REQUEST}, RESERVED, ACK),
        ("RENEWING or REBINDING, wrong", {53: REQUEST}, OTHER, NAK),
        ("no state that RFC 2131 knows", {53: REQUEST}, NOWHERE, None),
        ("an address of two bytes", {53: REQUEST, 50: b"\xac\x1e"}, NOWHERE, None),
        ("INFORM", {53: INFORM}, RESERVED, ACK),
        ("INFORM from nowhere", {53: INFORM}, NOWHERE, None),
        ("DECLINE", {53: DECLINE, 54: OWN.packed, 50: RESERVED.packed}, NOWHERE, None),
        ("RELEASE", {53: RELEASE, 54: OWN.packed}, RESERVED, None),
        ("a server's OFFER", {53: b"\x02"}, NOWHERE, None),
        ("plain BOOTP", {}, NOWHERE, None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_is_granted_refused_or_left_alone_as_in_rfc_2131_section_4_3(
    state: str, options: dict[int, bytes], ciaddr: IPv4Address, verdict: MessageType | None
) -> None:
    request = packet(options, ciaddr=ciaddr)
    reply = answer(request, identify(request), ADDRESSES_ONLY, SERVICE)
    assert (reply.message_type if reply else None) == verdict, state


def test_a_renewal_is_acknowledged_to_the_address_in_use() -> None:
    request = packet({53: REQUEST}, ciaddr=RESERVED)
    reply = replied(request, ADDRESSES_ONLY)
    assert reply.options == {53: b"\x05", 54: OWN.packed, **LEASE, **CONFIGURATION}
    assert (reply.ciaddr, reply.yiaddr) == (RESERVED, RESERVED)
    assert str(destination(request, reply).address) == "172.30.0.5"


def test_an_offer_never_carries_a_client_address() -> None:
    assert replied(packet({53: DISCOVER}, ciaddr=OTHER), ADDRESSES_ONLY).ciaddr == NOWHERE


def test_inform_is_answered_without_lease_or_address_to_the_address_in_use() -> None:
    request = packet({53: INFORM, 61: b"\x01id"}, ciaddr=OTHER)
    reply = replied(request, ADDRESSES_ONLY)
    assert reply.options == {53: b"\x05", 54: OWN.packed, **CONFIGURATION, 61: b"\x01id"}
    assert (reply.yiaddr, reply.ciaddr, reply.siaddr) == (NOWHERE, OTHER, NOWHERE)
    assert destination(request, reply).address == OTHER


def test_a_refusal_says_why_and_grants_nothing() -> None:
    reply = replied(packet({53: REQUEST, 50: OTHER.packed, 61: b"\x01id"}))
    assert reply.options == {53: b"\x06", 54: OWN.packed, 56: b"this address is not reserved for you", 61: b"\x01id"}
    assert (reply.yiaddr, reply.ciaddr, reply.siaddr, reply.file, reply.flags) == (NOWHERE, NOWHERE, NOWHERE, "", 0)


def test_a_refusal_through_a_relay_is_to_be_broadcast_by_it() -> None:
    relay = IPv4Address("10.9.0.1")
    request = packet({53: REQUEST, 50: OTHER.packed, 82: b"\x01\x04eth0"}, giaddr=relay)
    reply = replied(request)
    assert (reply.flags, reply.giaddr) == (0x8000, relay)
    assert reply.options[82] == b"\x01\x04eth0"
    assert destination(request, reply).address == relay


def test_identifiers_come_back_with_the_relays_option_last() -> None:
    sent = {53: DISCOVER, 82: b"\x01\x02ab", 97: b"\0" + b"g" * 16, 61: b"\x01abcdef", 12: b"mine"}
    reply = replied(packet(sent, giaddr=IPv4Address("10.9.0.1"), flags=0x8000), ADDRESSES_ONLY)
    assert reply.options[61] == b"\x01abcdef"
    assert reply.options[97] == b"\0" + b"g" * 16
    assert reply.options[82] == b"\x01\x02ab"
    assert list(reply.options)[-1] == 82
    assert (reply.flags, str(reply.giaddr)) == (0x8000, "10.9.0.1")
    assert reply.options[12] == b"lab-1"


# --- the boot


@pytest.mark.parametrize(
    ("architecture", "program"),
    [(0, "undionly.kpxe"), (6, "ipxe.efi"), (7, "snponly.efi"), (9, "snponly.efi")],
)
def test_pxe_firmware_gets_its_program_over_tftp(architecture: int, program: str) -> None:
    reply = replied(firmware(architecture))
    assert reply.options == {
        53: b"\x02",
        54: OWN.packed,
        **LEASE,
        **CONFIGURATION,
        60: b"PXEClient",
        43: b"\x06\x01\x08\xff",
        66: b"172.30.0.1",
        67: program.encode(),
    }
    assert (reply.siaddr, reply.yiaddr, reply.file) == (OWN, RESERVED, program)


def test_http_firmware_gets_a_url_and_the_class_it_insists_on() -> None:
    reply = replied(firmware(16, "HTTPClient"))
    url = "http://172.30.0.1:8080/boot/loaders/snponly.efi"
    assert reply.options[60] == b"HTTPClient"
    assert reply.options[67] == url.encode()
    assert reply.file == url
    assert 43 not in reply.options


@pytest.mark.parametrize("architecture", [1, 2, 8, 10, 11, 15, 19, 65_535])
def test_firmware_for_which_there_is_no_program_hears_nothing(architecture: int) -> None:
    request = firmware(architecture)
    assert answer(request, identify(request), OSIE, SERVICE) is None


def test_firmware_that_hides_its_architecture_hears_nothing() -> None:
    request = packet({53: DISCOVER, 60: b"PXEClient"})
    assert answer(request, identify(request), OSIE, SERVICE) is None


@pytest.mark.parametrize("boot", [Boot.OSIE, Boot.LOCAL_DISK, Boot.PARKED])
def test_ipxe_gets_its_script_whatever_was_decided(boot: Boot) -> None:
    reply = replied(replace(firmware(0), options={**firmware(0).options, 77: b"iPXE"}), replace(OSIE, boot=boot))
    assert reply.file == SCRIPT
    assert reply.options[66] == b"172.30.0.1"
    assert reply.options[67] == SCRIPT.encode()
    assert reply.options[175] == b"\xb0\x01\x01\xff"
    assert 60 not in reply.options
    assert 43 not in reply.options


@pytest.mark.parametrize("architecture", [0, 6, 7, 9, 16])
def test_the_chain_of_loaders_ends_at_the_script(architecture: int) -> None:
    first = replied(firmware(architecture, "HTTPClient" if architecture == 16 else "PXEClient"))
    assert first.file.endswith((".kpxe", ".efi"))
    second = replied(replace(firmware(architecture), options={**firmware(architecture).options, 77: b"\x04iPXE"}))
    assert second.file == SCRIPT


@pytest.mark.parametrize("name", golden.names("dhcp"))
def test_real_clients_are_answered_in_kind(name: str) -> None:
    captured = decode(golden.packet(name))
    # They asked another server for another address; as if they had asked us for theirs:
    asked = {50: RESERVED.packed, 54: OWN.packed} if name.endswith("request") else {}
    request = replace(captured, options={**captured.options, **asked})
    reply = replied(request, ADDRESSES_ONLY if "udhcpc" in name else OSIE)
    assert reply.message_type is (ACK if name.endswith("request") else MessageType.OFFER)
    assert (reply.xid, reply.mac, reply.yiaddr) == (captured.xid, captured.mac, RESERVED)
    assert reply.options.get(97) == captured.options.get(97)
    assert reply.options.get(61) == captured.options.get(61)
    expected = {"ovmf-pxe": "snponly.efi", "ovmf-http": "http://172.30.0.1:8080/boot/loaders/snponly.efi", "udhcpc": ""}
    own_script = f"http://172.30.0.1:8080/boot/{captured.mac.replace(':', '-')}/script.ipxe"
    assert reply.file == expected.get(name.split("/")[1].rpartition("-")[0], own_script)


# --- hostile input

plans = st.builds(Plan, boot=st.sampled_from(Boot), hardware_id=st.just("h"), interface=st.just(INTERFACE))
noise = st.dictionaries(
    st.sampled_from([12, 43, 50, 53, 54, 55, 60, 61, 66, 67, 77, 82, 93, 97, 175]),
    st.one_of(
        st.binary(max_size=300),
        st.integers(0, 9).map(lambda kind: bytes([kind])),
        st.sampled_from([b"iPXE", b"PXEClient", b"HTTPClient", b"\0\x07", OWN.packed, RESERVED.packed]),
    ),
)


@given(st.sampled_from(golden.names("dhcp")), noise, st.integers(0, 2**32 - 1), st.integers(0, 65_535), plans)
def test_the_answer_to_whatever_can_be_decoded_is_a_reply_or_silence(
    name: str, options: dict[int, bytes], address: int, flags: int, plan: Plan
) -> None:
    base = decode(golden.packet(name))
    request = replace(
        base, options={**base.options, **options}, ciaddr=IPv4Address(address), giaddr=IPv4Address(address), flags=flags
    )
    reply = answer(request, identify(request), plan, SERVICE)
    if reply is not None:
        again = decode(encode(reply))
        assert again.op is Op.REPLY
        assert again.xid == base.xid
        assert again.message_type in (MessageType.OFFER, MessageType.ACK, MessageType.NAK)
        assert again.yiaddr in (RESERVED, NOWHERE)
        destination(request, reply)


@given(st.sampled_from(golden.names("dhcp")), st.data(), plans)
def test_the_answer_to_a_spoilt_packet_never_fails(name: str, data: st.DataObject, plan: Plan) -> None:
    datagram = bytearray(golden.packet(name))
    for at in data.draw(st.lists(st.integers(0, len(datagram) - 1), min_size=1, max_size=12)):
        datagram[at : at + 1] = data.draw(st.binary(max_size=3))
    try:
        request = decode(bytes(datagram))
    except MalformedPacket:
        return
    reply = answer(request, identify(request), plan, SERVICE)
    if reply is not None:
        encode(reply)
