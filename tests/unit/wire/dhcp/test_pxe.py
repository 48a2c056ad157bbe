"""What a machine is answered: leases by RFC 2131, boot programs by firmware, silence where silence is due."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.boot import Boot, Loader, Plan, Silence
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress, Route
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import MalformedPacket, MessageType, Op, Packet, decode, destination, encode
from tinkbox.wire.dhcp.pxe import BootService, answer, is_for, refusal

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
FACTS = (
    "?platform=${platform}&manufacturer=${manufacturer:hexraw}&product=${product:hexraw}&serial=${serial:hexraw}"
    "&memory=${smbios/19.8.4:hexraw}"
)
SCRIPT = f"http://172.30.0.1:8080/boot/08-00-27-00-00-01/script.ipxe{FACTS}"
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


U_BOOT = packet({53: DISCOVER, 60: b"U-Boot.armv8", 93: b"\0\x16"})
RASPBERRY_PI = packet({53: DISCOVER, 60: b"PXEClient:Arch:00000:UNDI:002001", 93: b"\0\0", 97: b"\0RPi4" + bytes(12)})
IPXE = packet({53: DISCOVER, 60: b"PXEClient:Arch:00007", 77: b"iPXE", 93: b"\0\x07"})


def replied(request: Packet, plan: Plan = OSIE, service: BootService = SERVICE) -> Packet:
    reply = answer(request, identify(request), plan, service)
    assert isinstance(reply, Packet)
    return decode(encode(reply))


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
        assert answer(request, identify(request), plan, SERVICE) is Silence.NO_ADDRESS


SELECTING_US = {53: REQUEST, 54: OWN.packed, 50: RESERVED.packed}
ACK, NAK = MessageType.ACK, MessageType.NAK
OTHER_SERVER, NOTHING = Silence.OTHER_SERVER, Silence.NOTHING_TO_SAY


@pytest.mark.parametrize(
    ("state", "options", "ciaddr", "verdict"),
    [
        ("SELECTING, us", SELECTING_US, NOWHERE, ACK),
        ("SELECTING, us, another address", {**SELECTING_US, 50: OTHER.packed}, NOWHERE, NAK),
        ("SELECTING, another server", {**SELECTING_US, 54: OTHER.packed}, NOWHERE, OTHER_SERVER),
        ("SELECTING, a server identifier of three bytes", {**SELECTING_US, 54: b"\xac\x1e\0"}, NOWHERE, OTHER_SERVER),
        ("SELECTING, no address", {53: REQUEST, 54: OWN.packed}, NOWHERE, NOTHING),
        ("INIT-REBOOT, right", {53: REQUEST, 50: RESERVED.packed}, NOWHERE, ACK),
        ("INIT-REBOOT, wrong", {53: REQUEST, 50: OTHER.packed}, NOWHERE, NAK),
        ("RENEWING or REBINDING, right", {53: REQUEST}, RESERVED, ACK),
        ("RENEWING or REBINDING, wrong", {53: REQUEST}, OTHER, NAK),
        ("no state that RFC 2131 knows", {53: REQUEST}, NOWHERE, NOTHING),
        ("an address of two bytes", {53: REQUEST, 50: b"\xac\x1e"}, NOWHERE, NOTHING),
        ("INFORM", {53: INFORM}, RESERVED, ACK),
        ("INFORM from nowhere", {53: INFORM}, NOWHERE, NOTHING),
        ("DECLINE", {53: DECLINE, 54: OWN.packed, 50: RESERVED.packed}, NOWHERE, NOTHING),
        ("RELEASE", {53: RELEASE, 54: OWN.packed}, RESERVED, NOTHING),
        ("a server's OFFER", {53: b"\x02"}, NOWHERE, NOTHING),
        ("plain BOOTP", {}, NOWHERE, NOTHING),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_is_granted_refused_or_left_alone_as_in_rfc_2131_section_4_3(
    state: str, options: dict[int, bytes], ciaddr: IPv4Address, verdict: MessageType | Silence
) -> None:
    request = packet(options, ciaddr=ciaddr)
    reply = answer(request, identify(request), ADDRESSES_ONLY, SERVICE)
    assert (reply.message_type if isinstance(reply, Packet) else reply) == verdict, state


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


def test_a_relay_may_have_the_machine_take_it_for_the_server() -> None:
    """RFC 5107: what the machine then says to the relay is meant for us; the boot file is still ours to give."""
    relay = IPv4Address("10.9.0.1")
    agent = b"\x0b\x04" + relay.packed
    offer = replied(replace(firmware(0), giaddr=relay, options={**firmware(0).options, 82: agent}))
    assert offer.options[54] == relay.packed
    assert (offer.siaddr, offer.options[66]) == (OWN, b"172.30.0.1")
    selecting = {53: REQUEST, 54: relay.packed, 50: RESERVED.packed}
    granted = replied(packet({**selecting, 82: agent}, giaddr=relay), ADDRESSES_ONLY)
    assert (granted.message_type, granted.options[54]) == (ACK, relay.packed)
    assert replied(packet({**selecting, 54: OWN.packed, 82: agent}, giaddr=relay), ADDRESSES_ONLY).message_type is ACK
    without = packet(selecting, giaddr=relay)
    assert answer(without, identify(without), ADDRESSES_ONLY, SERVICE) is Silence.OTHER_SERVER
    assert not is_for(packet({53: RELEASE}), SERVICE)


def test_a_refusal_can_say_something_else() -> None:
    reply = refusal(packet({53: REQUEST, 50: OTHER.packed}), SERVICE, "this address is not lent to you")
    assert reply.options[56] == b"this address is not lent to you"


def test_who_asks_for_routes_by_name_gets_the_gateway_among_them() -> None:
    """RFC 3442: DHCP SHOULD NOT send option 3 to whoever asks for 121, and must not be heeded where there is 121."""
    route = Route(network=IPv4Network("10.0.0.0/8"), router=IPv4Address("172.30.0.9"))
    plan = replace(ADDRESSES_ONLY, interface=replace(INTERFACE, routes=(route,)))
    routes = b"\x08\x0a\xac\x1e\x00\x09" + b"\x00\xac\x1e\x00\x02"
    asking = replied(packet({53: DISCOVER, 55: b"\x01\x03\x79"}), plan)
    assert asking.options[121] == routes
    assert 3 not in asking.options
    silent = replied(packet({53: DISCOVER, 55: b"\x01\x03"}), plan)
    assert (silent.options[121], silent.options[3]) == (routes, IPv4Address("172.30.0.2").packed)
    informed = replied(packet({53: INFORM, 55: b"\x79"}, ciaddr=RESERVED), plan)
    assert (informed.options[121], informed.options.get(3)) == (routes, None)


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
    [(0, "undionly.kpxe"), (6, "ipxe.efi"), (7, "snponly.efi"), (9, "snponly.efi"), (11, "ipxe-arm64.efi")],
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


@pytest.mark.parametrize(("architecture", "program"), [(16, "snponly.efi"), (19, "ipxe-arm64.efi")])
def test_http_firmware_gets_a_url_and_the_class_it_insists_on(architecture: int, program: str) -> None:
    reply = replied(firmware(architecture, "HTTPClient"))
    url = f"http://172.30.0.1:8080/boot/loaders/{program}"
    assert reply.options[60] == b"HTTPClient"
    assert reply.options[67] == url.encode()
    assert reply.file == url
    assert 43 not in reply.options


ENROLLED = replace(OSIE, https=True)
WITH_HTTPS = replace(SERVICE, https_url="https://172.30.0.1")


def told_by_https(request: Packet) -> Packet:
    reply = answer(request, identify(request), ENROLLED, WITH_HTTPS)
    assert isinstance(reply, Packet)
    return reply


def test_a_machine_that_boots_by_https_alone_gets_https_urls() -> None:
    of_ipxe = packet({53: DISCOVER, 77: b"iPXE", 93: b"\0\7", 175: b"\x13\1\1\x14\1\1"})
    assert told_by_https(of_ipxe).file.startswith("https://172.30.0.1/boot/08-00-27-00-00-01/script.ipxe?platform=")
    of_firmware = firmware(16, "HTTPClient")
    assert told_by_https(of_firmware).file == "https://172.30.0.1/boot/loaders/snponly.efi"


@pytest.mark.parametrize(
    ("architecture", "program"), [(0, "undionly.kpxe"), (7, "ipxe.efi"), (9, "ipxe.efi"), (11, "ipxe-arm64.efi")]
)
@pytest.mark.parametrize("features", [b"", b"\x13\1\1", b"\x14"])
def test_ipxe_without_https_gets_ours_where_the_machine_boots_by_https_alone(
    architecture: int, program: str, features: bytes
) -> None:
    of_rom = packet({53: DISCOVER, 60: b"PXEClient", 77: b"iPXE", 93: architecture.to_bytes(2, "big"), 175: features})
    assert told_by_https(of_rom).file == program
    plain = answer(of_rom, identify(of_rom), OSIE, WITH_HTTPS)
    assert isinstance(plain, Packet)
    assert plain.options[67].startswith(b"http://172.30.0.1:8080/")


def test_the_hardware_document_says_which_of_ours_ipxe_without_https_gets() -> None:
    of_rom = packet({53: DISCOVER, 60: b"PXEClient", 77: b"iPXE", 93: b"\0\7"})
    netboot = replace(ENROLLED.interface.netboot, program="snponly.efi")
    plan = replace(ENROLLED, interface=replace(ENROLLED.interface, netboot=netboot))
    reply = answer(of_rom, identify(of_rom), plan, WITH_HTTPS)
    assert isinstance(reply, Packet)
    assert reply.file == "snponly.efi"


@pytest.mark.parametrize("architecture", [1, 2, 8, 10, 15, 18, 65_535])
def test_firmware_for_which_there_is_no_program_hears_nothing(architecture: int) -> None:
    request = firmware(architecture)
    assert answer(request, identify(request), OSIE, SERVICE) is Silence.NO_PROGRAM


def test_firmware_that_hides_its_architecture_hears_nothing() -> None:
    request = packet({53: DISCOVER, 60: b"PXEClient"})
    assert answer(request, identify(request), OSIE, SERVICE) is Silence.NO_PROGRAM


@pytest.mark.parametrize(
    ("architecture", "program"), [(7, "shimx64.efi"), (9, "shimx64.efi"), (0, "undionly.kpxe"), (11, "ipxe-arm64.efi")]
)
def test_firmware_with_secure_boot_gets_what_is_signed_where_there_is_such_a_thing(
    architecture: int, program: str
) -> None:
    assert replied(firmware(architecture), replace(OSIE, loader=Loader.GRUB)).file == program


def test_secure_boot_over_http_is_offered_nothing_for_its_grub_would_be_lost_there() -> None:
    request = firmware(16, "HTTPClient")
    assert answer(request, identify(request), replace(OSIE, loader=Loader.GRUB), SERVICE) is Silence.NO_PROGRAM


@pytest.mark.parametrize("request_", [firmware(0), firmware(16, "HTTPClient"), U_BOOT, RASPBERRY_PI, IPXE])
def test_without_a_boot_file_firmware_goes_on_to_its_disk(request_: Packet) -> None:
    plan = replace(OSIE, boot=Boot.LOCAL_DISK, local_boot=LocalBoot.NO_FILE)
    reply = replied(request_, plan)
    assert (reply.file, reply.siaddr, reply.yiaddr) == ("", NOWHERE, RESERVED)
    assert not {43, 60, 66, 67, 175, 209} & set(reply.options)
    assert replied(request_, replace(plan, local_boot=LocalBoot.EXIT)).siaddr == OWN
    assert replied(request_, replace(plan, boot=Boot.OSIE)).siaddr == OWN


def test_u_boot_finds_its_files_by_their_names_on_our_server() -> None:
    reply = replied(U_BOOT)
    assert (reply.file, reply.siaddr, reply.options[66]) == ("", OWN, b"172.30.0.1")
    assert not {43, 60, 67, 209} & set(reply.options)


def test_u_boot_is_told_the_name_when_it_asks_for_it() -> None:
    reply = replied(replace(U_BOOT, options={**U_BOOT.options, 55: b"\x01\xd1"}))
    assert reply.options[209] == b"pxelinux.cfg/01-08-00-27-00-00-01"


def test_a_raspberry_pi_gets_the_menu_without_which_it_takes_no_offer() -> None:
    reply = replied(RASPBERRY_PI)
    assert (reply.file, reply.siaddr, reply.options[66]) == ("", OWN, b"172.30.0.1")
    assert reply.options[60] == b"PXEClient"
    assert reply.options[43] == b"\x06\x01\x08" + b"\x09\x14\0\0\x11Raspberry Pi Boot" + b"\x0a\x04\0PXE" + b"\xff"


def test_the_vlan_of_its_hardware_document_is_told_to_whoever_netboots() -> None:
    plan = replace(OSIE, interface=replace(INTERFACE, vlan_id=42))
    assert replied(firmware(7), plan).options[43] == b"\x06\x01\x08" + b"\x74\x0242" + b"\xff"
    assert replied(IPXE, plan).options[43] == b"\x74\x0242" + b"\xff"
    assert 43 not in replied(packet({53: DISCOVER}), replace(plan, boot=Boot.NOTHING)).options


def test_whoever_netboots_is_told_where_to_log_to() -> None:
    service = replace(SERVICE, syslog=OTHER)
    for each in (firmware(7), IPXE, U_BOOT):
        assert replied(each, service=service).options[7] == OTHER.packed
    assert 7 not in replied(packet({53: DISCOVER}), ADDRESSES_ONLY, service).options
    assert 7 not in replied(firmware(7)).options


@pytest.mark.parametrize("boot", [Boot.OSIE, Boot.LOCAL_DISK, Boot.PARKED])
def test_ipxe_gets_its_script_whatever_was_decided(boot: Boot) -> None:
    reply = replied(replace(firmware(0), options={**firmware(0).options, 77: b"iPXE"}), replace(OSIE, boot=boot))
    assert reply.file == ""  # it is too long for it
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
    assert second.options[67] == SCRIPT.encode()


WITHOUT_FILE = ("udhcpc", "dhclient", "dhcpcd", "perfdhcp", "u-boot", "raspberry-pi-4")


@pytest.mark.parametrize("name", golden.names("dhcp"))
def test_real_clients_are_answered_in_kind(name: str) -> None:
    captured = decode(golden.packet(name))
    # They asked another server for another address; as if they had asked us for theirs:
    asked = {50: RESERVED.packed, 54: OWN.packed} if name.endswith("request") else {}
    request = replace(captured, options={**captured.options, **asked})
    reply = replied(request, OSIE if identify(captured).netboots else ADDRESSES_ONLY)
    assert reply.message_type is (ACK if name.endswith("request") else MessageType.OFFER)
    assert (reply.xid, reply.mac, reply.yiaddr) == (captured.xid, captured.mac, RESERVED)
    assert reply.options.get(97) == captured.options.get(97)
    assert reply.options.get(61) == captured.options.get(61)
    expected = {"ovmf-pxe": "snponly.efi", "ovmf-http": "http://172.30.0.1:8080/boot/loaders/snponly.efi"}
    expected |= {"u-boot-efi": "ipxe-arm64.efi", **dict.fromkeys(WITHOUT_FILE, "")}
    own_script = f"http://172.30.0.1:8080/boot/{captured.mac.replace(':', '-')}/script.ipxe{FACTS}"
    told = reply.options.get(67, b"").decode()
    assert told == expected.get(name.split("/")[1].rpartition("-")[0], own_script)
    assert reply.file == (told if len(told) < 128 else "")


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


# What is decoded has an address that a host can have.
hosts = st.builds(IPv4Address, st.integers(1 << 24, (127 << 24) - 1) | st.integers(128 << 24, (224 << 24) - 1))


@given(st.sampled_from(golden.names("dhcp")), noise, hosts, st.integers(0, 65_535), plans)
def test_the_answer_to_whatever_can_be_decoded_is_a_reply_or_silence(
    name: str, options: dict[int, bytes], address: IPv4Address, flags: int, plan: Plan
) -> None:
    base = decode(golden.packet(name))
    request = replace(base, options={**base.options, **options}, ciaddr=address, giaddr=address, flags=flags)
    reply = answer(request, identify(request), plan, SERVICE)
    if isinstance(reply, Packet):
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
    if isinstance(reply, Packet):
        encode(reply)
