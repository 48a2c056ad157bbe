"""Who asks: firmware and boot loaders are told apart by what they say of themselves."""

from collections.abc import Mapping
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import golden
from tinkbox.model.boot import Asker
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import Op, Packet, decode

MAC, PI = MacAddress("08:00:27:00:00:01"), MacAddress("dc:a6:32:00:00:01")
NOWHERE, RELAY, LINK, WANTED = (IPv4Address(each) for each in ("0.0.0.0", "10.9.0.1", "10.8.0.0", "172.30.0.5"))
REAL = {
    "seabios-ipxe-rom": (Asker.IPXE, 0, "PXEClient:Arch:00000:UNDI:002001"),
    "ovmf-pxe": (Asker.PXE, 7, "PXEClient:Arch:00007:UNDI:003000"),
    "snponly-ipxe": (Asker.IPXE, 7, "PXEClient:Arch:00007:UNDI:003010"),
    "ovmf-http": (Asker.HTTP, 16, "HTTPClient:Arch:00016:UNDI:003000"),
    "udhcpc": (Asker.SYSTEM, None, "udhcp 1.35.0"),
    "dhclient": (Asker.SYSTEM, None, ""),
    "dhcpcd": (Asker.SYSTEM, None, ""),
    "perfdhcp": (Asker.SYSTEM, None, ""),
    "u-boot": (Asker.U_BOOT, 22, "U-Boot.armv8"),
    "u-boot-efi": (Asker.PXE, 11, "PXEClient:Arch:00011:UNDI:003000"),
    "raspberry-pi-4": (Asker.RASPBERRY_PI, 0, "PXEClient:Arch:00000:UNDI:002001"),
}


def packet(options: Mapping[int, bytes], mac: MacAddress = MAC, **header: IPv4Address) -> Packet:
    return Packet(op=Op.REQUEST, xid=77, mac=mac, options=options, **header)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", golden.names("dhcp"))
def test_real_clients_are_recognised(name: str) -> None:
    client = identify(decode(golden.packet(name)))
    expected = REAL[name.split("/")[1].rpartition("-")[0]]
    assert (client.asker, client.architecture, client.vendor_class) == expected
    assert (client.relay != NOWHERE, client.circuit) == ("perfdhcp" in name, "")
    assert (client.wanted is None) is not name.endswith("request")


def test_every_captured_client_is_in_that_table() -> None:
    assert {name.split("/")[1].rpartition("-")[0] for name in golden.names("dhcp")} <= set(REAL)


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
    assert (identify(packet({77: user_class})).asker is Asker.IPXE) is ipxe


def test_ipxe_loaded_over_http_is_ipxe_and_no_longer_http_firmware() -> None:
    client = identify(packet({60: b"HTTPClient:Arch:00016", 77: b"iPXE", 93: b"\0\x10"}))
    assert (client.asker, client.netboots) == (Asker.IPXE, True)


def test_an_installed_system_does_not_netboot() -> None:
    client = identify(packet({60: b"udhcp"}))
    assert (client.asker, client.netboots) == (Asker.SYSTEM, False)


@pytest.mark.parametrize(
    ("options", "mac", "asker"),
    [
        ({60: b"U-Boot.armv8", 93: b"\0\x16"}, MAC, Asker.U_BOOT),
        ({60: b"U-Boot"}, MAC, Asker.U_BOOT),
        ({60: b"PXEClient", 93: b"\0\x15"}, MAC, Asker.U_BOOT),
        # its EFI loader, which runs what UEFI runs
        ({60: b"PXEClient:Arch:00011:UNDI:003000", 93: b"\0\x0b"}, MAC, Asker.PXE),
        ({60: b"PXEClient:Arch:00000:UNDI:002001", 93: b"\0\0"}, PI, Asker.RASPBERRY_PI),
        ({60: b"PXEClient:Arch:00000:UNDI:002001", 93: b"\0\0", 97: b"\0RPi5" + bytes(12)}, MAC, Asker.RASPBERRY_PI),
        ({60: b"PXEClient", 93: b"\0\x29"}, MAC, Asker.RASPBERRY_PI),
        # UEFI, iPXE and an installed system on a Raspberry Pi
        ({60: b"PXEClient:Arch:00011:UNDI:003000", 93: b"\0\x0b"}, PI, Asker.PXE),
        ({60: b"PXEClient:Arch:00011", 77: b"iPXE", 93: b"\0\x0b"}, PI, Asker.IPXE),
        ({60: b"dhcpcd-9.4.1"}, PI, Asker.SYSTEM),
        ({60: b"PXEClient:Arch:00000:UNDI:002001", 93: b"\0\0"}, MAC, Asker.PXE),
    ],
)
def test_boards_are_told_from_other_firmware(options: dict[int, bytes], mac: MacAddress, asker: Asker) -> None:
    assert identify(packet(options, mac)).asker is asker


@pytest.mark.parametrize(
    ("value", "uuid"),
    [
        (b"\0" + bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (b"\0" + bytes(16), ""),
        (b"\0" + b"\xff" * 16, ""),
        (b"\1" + bytes(range(16)), ""),
        (b"\0" + bytes(range(15)), ""),
        (b"", ""),
    ],
)
def test_a_machine_tells_its_uuid(value: bytes, uuid: str) -> None:
    assert identify(packet({97: value}, MAC)).uuid == uuid


@pytest.mark.parametrize(
    ("value", "architecture"),
    [
        (b"", None),
        (b"\x07", None),
        (b"\x00\x07", 7),
        (b"\x00\x07\x00", 7),
        (b"\x00\x0a\x00\x07", 7),
        (b"\x00\x0a\x00\x0c", 10),
        (b"\x00\x0b", 11),
    ],
)
def test_of_several_architectures_the_first_that_we_know_counts(value: bytes, architecture: int | None) -> None:
    assert identify(packet({93: value})).architecture == architecture


def test_the_address_that_it_asks_for_beats_the_one_that_it_has() -> None:
    assert identify(packet({50: WANTED.packed}, ciaddr=RELAY)).wanted == WANTED
    assert identify(packet({}, ciaddr=WANTED)).wanted == WANTED
    assert identify(packet({50: b"\1\2"})).wanted is None


def test_an_address_is_held_by_whoever_does_not_look_for_one() -> None:
    assert identify(packet({53: b"\x03"}, ciaddr=WANTED)).held == WANTED
    assert identify(packet({53: b"\x01"}, ciaddr=WANTED)).held == NOWHERE
    assert identify(packet({53: b"\x03", 50: WANTED.packed})).held == NOWHERE


def test_where_it_is_the_relay_says() -> None:
    assert identify(packet({82: b"\x01\x04eth7\x02\x03sw1"}, giaddr=RELAY)).circuit == "eth7 of sw1"
    ports = [
        identify(packet({82: agent}, giaddr=giaddr)).port
        for giaddr in (RELAY, LINK)
        for agent in (
            b"\x01\x04eth7\x02\x03sw1",
            b"\x01\x04eth8\x02\x03sw1",
            b"\x01\x04eth7\x02\x03sw2",
            b"\x01\x04eth7",
        )
    ]
    assert len(set(ports)) == len(ports)
    assert identify(packet({82: b"\x05\x04" + LINK.packed}, giaddr=RELAY)).port == b"", "the relay names none"
    assert identify(packet({82: b"\x01\x04eth7"})).port == b"", "a machine itself may not say it"
    assert identify(packet({}, giaddr=RELAY)).relay == RELAY
    assert identify(packet({82: b"\x05\x04" + LINK.packed}, giaddr=RELAY)).relay == LINK


def test_a_machine_without_a_relay_cannot_choose_its_network() -> None:
    assert identify(packet({82: b"\x05\x04" + LINK.packed})).relay == NOWHERE


def test_what_it_says_of_itself_is_bounded_and_harmless() -> None:
    client = identify(packet({12: b"evil\x1b[2J\n" + b"h" * 300, 60: b"v\x07" * 200, 61: b"i" * 300}))
    assert client.hostname == ("evil[2J" + "h" * 300)[:253]
    assert client.vendor_class == "v" * 64
    assert client.client_id == b"i" * 255


@given(
    st.dictionaries(st.sampled_from([12, 43, 50, 53, 60, 61, 77, 82, 93, 97]), st.binary(max_size=300)),
    st.integers(0, 2**32 - 1),
)
def test_nobody_is_too_strange_to_be_identified(options: dict[int, bytes], giaddr: int) -> None:
    client = identify(packet(options, giaddr=IPv4Address(giaddr)))
    assert (client.vendor_class + client.hostname + client.circuit).isprintable()
