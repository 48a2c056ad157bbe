"""Beside another DHCP server, and on port 4011: what to boot, and never a word about addresses."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from tests import golden
from tinkbox.model.boot import Boot, Plan, Silence
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import MessageType, Op, Packet, decode, destination, encode
from tinkbox.wire.dhcp.pxe import BootService, answer, answer_boot_server

MAC = MacAddress("08:00:27:00:00:01")
OWN, THEIRS, LEASED = IPv4Address("172.30.0.1"), IPv4Address("172.30.0.66"), IPv4Address("172.30.0.9")
NOWHERE = IPv4Address(0)
PROXY = BootService(address=OWN, url="http://172.30.0.1:8080", proxy=True)
# Whatever the hardware document says of addresses is none of our business here.
INTERFACE = Interface(mac=MAC, address=LEASED, netmask=IPv4Address("255.255.255.0"), gateway=THEIRS, hostname="lab-1")
OSIE = Plan(boot=Boot.OSIE, hardware_id="h", interface=INTERFACE)
DISCOVER, REQUEST, DECLINE, RELEASE, INFORM = (bytes([kind]) for kind in (1, 3, 4, 7, 8))
GUID = b"\0" + b"g" * 16
FACTS = (
    "?platform=${platform}&manufacturer=${manufacturer:hexraw}&product=${product:hexraw}&serial=${serial:hexraw}"
    "&memory=${smbios/19.8.4:hexraw}"
)
SCRIPT = f"http://172.30.0.1:8080/boot/08-00-27-00-00-01/script.ipxe{FACTS}"


def packet(options: Mapping[int, bytes], *, ciaddr: IPv4Address = NOWHERE, giaddr: IPv4Address = NOWHERE) -> Packet:
    return Packet(op=Op.REQUEST, xid=77, mac=MAC, options=options, ciaddr=ciaddr, giaddr=giaddr)


def firmware(
    kind: bytes, more: Mapping[int, bytes] | None = None, *, name: bytes = b"PXEClient", arch: int = 7
) -> Packet:
    return packet({53: kind, 60: name + b":Arch", 93: arch.to_bytes(2, "big"), 97: GUID, **(more or {})})


def replied(request: Packet, plan: Plan = OSIE, service: BootService = PROXY) -> Packet:
    reply = answer(request, identify(request), plan, service)
    assert isinstance(reply, Packet)
    return decode(encode(reply))


def silent(request: Packet, plan: Plan = OSIE) -> Silence:
    reply = answer(request, identify(request), plan, PROXY)
    assert isinstance(reply, Silence)
    return reply


def served(request: Packet, plan: Plan = OSIE, service: BootService = PROXY) -> Packet | Silence:
    reply = answer_boot_server(request, identify(request), plan, service)
    return reply if isinstance(reply, Silence) else decode(encode(reply))


def test_pxe_firmware_is_offered_its_program_and_no_address() -> None:
    request = firmware(DISCOVER)
    reply = replied(request)
    assert reply.options == {
        53: b"\x02",
        54: OWN.packed,
        60: b"PXEClient",
        43: b"\x06\x01\x08\xff",
        66: b"172.30.0.1",
        67: b"snponly.efi",
        97: GUID,
    }
    assert (reply.yiaddr, reply.ciaddr, reply.siaddr, reply.file) == (NOWHERE, NOWHERE, OWN, "snponly.efi")
    assert str(destination(request, reply).address) == "255.255.255.255"
    assert destination(request, reply).mac is None


def test_http_firmware_is_offered_its_url_in_its_own_class() -> None:
    reply = replied(firmware(DISCOVER, name=b"HTTPClient", arch=16))
    assert (reply.options[60], reply.file) == (b"HTTPClient", "http://172.30.0.1:8080/boot/loaders/snponly.efi")
    assert 43 not in reply.options


def test_ipxe_is_offered_its_script_by_one_who_says_pxe() -> None:
    reply = replied(firmware(DISCOVER, {77: b"iPXE"}))
    assert (reply.options[67], reply.options[60], reply.options[43]) == (
        SCRIPT.encode(),
        b"PXEClient",
        b"\x06\x01\x08\xff",
    )
    assert 175 not in reply.options  # we are the proxy that it would not wait for


def test_ipxe_is_told_its_vlan_as_well() -> None:
    plan = replace(OSIE, interface=replace(INTERFACE, vlan_id=7))
    assert replied(firmware(DISCOVER, {77: b"iPXE"}), plan).options[43] == b"\x06\x01\x08\x74\x017\xff"


def test_a_raspberry_pi_is_offered_its_menu() -> None:
    reply = replied(firmware(DISCOVER, {97: b"\0RPi4" + bytes(12)}, arch=0))
    assert b"Raspberry Pi Boot" in reply.options[43]
    assert (reply.siaddr, reply.yiaddr, reply.file) == (OWN, NOWHERE, "")


def test_whoever_logs_is_told_where_to() -> None:
    assert replied(firmware(DISCOVER), service=replace(PROXY, syslog=OWN)).options[7] == OWN.packed


def test_who_accepts_our_offer_is_told_it_again() -> None:
    reply = replied(firmware(REQUEST, {54: OWN.packed}))
    assert (reply.message_type, reply.file, reply.yiaddr) == (MessageType.ACK, "snponly.efi", NOWHERE)
    assert 51 not in reply.options


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (firmware(REQUEST, {54: THEIRS.packed, 50: LEASED.packed}), Silence.OTHER_SERVER),
        (firmware(REQUEST, {50: THEIRS.packed}), Silence.NOTHING_TO_SAY),
        (replace(firmware(REQUEST), ciaddr=THEIRS), Silence.NOTHING_TO_SAY),
        (firmware(DECLINE, {54: OWN.packed, 50: LEASED.packed}), Silence.NOTHING_TO_SAY),
        (firmware(RELEASE, {54: OWN.packed}), Silence.NOTHING_TO_SAY),
        (replace(firmware(INFORM), ciaddr=LEASED), Silence.NOTHING_TO_SAY),
        (packet({53: DISCOVER, 60: b"udhcp"}), Silence.NOTHING_TO_SAY),
        (packet({53: REQUEST, 50: THEIRS.packed}), Silence.NOTHING_TO_SAY),
        (packet({53: INFORM}, ciaddr=LEASED), Silence.NOTHING_TO_SAY),
        (firmware(DISCOVER, arch=8), Silence.NO_PROGRAM),
    ],
)
def test_nothing_is_refused_and_nobody_is_told_an_address(request_: Packet, why: Silence) -> None:
    assert silent(request_) is why


@pytest.mark.parametrize(
    "plan",
    [
        replace(OSIE, boot=Boot.NOTHING),
        replace(OSIE, boot=Boot.LOCAL_DISK, local_boot=LocalBoot.NO_FILE),
    ],
)
def test_where_there_is_nothing_to_boot_there_is_nothing_to_say(plan: Plan) -> None:
    assert silent(firmware(DISCOVER), plan) is Silence.NOTHING_TO_SAY
    assert served(firmware(REQUEST), plan) is Silence.NOTHING_TO_SAY


def test_what_came_through_a_relay_goes_back_to_it() -> None:
    relay = IPv4Address("10.9.0.1")
    request = replace(firmware(DISCOVER, {82: b"\x01\x04eth7"}), giaddr=relay)
    reply = replied(request)
    assert (destination(request, reply).address, reply.options[82]) == (relay, b"\x01\x04eth7")
    assert list(reply.options)[-1] == 82


NETBOOTING = [each for each in golden.names("dhcp") if identify(decode(golden.packet(each))).netboots]


@pytest.mark.parametrize("name", NETBOOTING)
def test_real_firmware_is_offered_something_without_an_address(name: str) -> None:
    captured = decode(golden.packet(name))
    request = replace(captured, options={**captured.options, 53: DISCOVER})
    reply = replied(request)
    assert (reply.message_type, reply.yiaddr, reply.siaddr) == (MessageType.OFFER, NOWHERE, OWN)
    assert not {1, 3, 51} & set(reply.options)


# --- port 4011


@pytest.mark.parametrize("proxy", [True, False])
def test_the_boot_server_names_the_boot_file_in_every_mode(proxy: bool) -> None:
    request = replace(firmware(REQUEST, {54: THEIRS.packed}), ciaddr=LEASED)
    reply = served(request, service=replace(PROXY, proxy=proxy))
    assert isinstance(reply, Packet)
    assert (reply.message_type, reply.file, reply.options[67]) == (MessageType.ACK, "snponly.efi", b"snponly.efi")
    assert (reply.ciaddr, reply.yiaddr, reply.siaddr) == (LEASED, NOWHERE, OWN)
    assert (reply.options[60], reply.options[97], reply.options[54]) == (b"PXEClient", GUID, OWN.packed)
    assert not {1, 3, 6, 12, 51} & set(reply.options)


def test_the_boot_server_sends_the_choice_of_a_menu_back() -> None:
    reply = served(firmware(REQUEST, {43: b"\x47\x04\x80\x01\x00\x00\xff"}))
    assert isinstance(reply, Packet)
    assert reply.options[43] == b"\x06\x01\x08" + b"\x47\x04\x80\x01\x00\x00" + b"\xff"


def test_ipxe_that_asks_the_boot_server_gets_its_script() -> None:
    reply = served(firmware(REQUEST, {77: b"iPXE"}))
    assert isinstance(reply, Packet)
    assert reply.options[67] == SCRIPT.encode()


def test_the_boot_server_answers_who_informs_it_of_an_address() -> None:
    assert isinstance(served(replace(firmware(INFORM), ciaddr=LEASED)), Packet)


@pytest.mark.parametrize("kind", [DISCOVER, DECLINE, RELEASE, b"\x05", b"\0"])
def test_the_boot_server_answers_nothing_else(kind: bytes) -> None:
    assert served(firmware(kind)) is Silence.NOTHING_TO_SAY


def test_the_boot_server_has_nothing_for_an_installed_system() -> None:
    assert served(packet({53: REQUEST}, ciaddr=LEASED)) is Silence.NOTHING_TO_SAY


def test_the_boot_server_has_no_program_for_everybody() -> None:
    assert served(firmware(REQUEST, arch=8)) is Silence.NO_PROGRAM
