"""What a machine is answered whose hardware document names its loader or another boot server."""

from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from tests.unit.wire.dhcp.test_pxe import ADDRESSES_ONLY, DISCOVER, IPXE, OSIE, OWN, SERVICE, firmware, packet, replied
from tinkbox.model.boot import Boot, Loader, Plan
from tinkbox.model.netboot import Netboot

NOWHERE = IPv4Address(0)


def with_own(plan: Plan, **own: str) -> Plan:
    return replace(plan, interface=replace(plan.interface, netboot=Netboot(**own)))


@pytest.mark.parametrize(
    ("architecture", "wanted", "given"),
    [
        (0, "undionly.kpxe", "undionly.kpxe"),
        (7, "ipxe.efi", "ipxe.efi"),
        (9, "snponly.efi", "snponly.efi"),
        (11, "ipxe-arm64.efi", "ipxe-arm64.efi"),
        (0, "ipxe.efi", "undionly.kpxe"),
        (7, "undionly.kpxe", "snponly.efi"),
        (7, "ipxe-arm64.efi", "snponly.efi"),
        (10, "ipxe-arm64.efi", "ipxe-arm64.efi"),
    ],
)
def test_program_of_the_document_is_given_where_it_runs(architecture: int, wanted: str, given: str) -> None:
    assert replied(firmware(architecture), with_own(OSIE, program=wanted)).file == given


def test_program_of_the_document_is_given_over_http_too() -> None:
    reply = replied(firmware(16, "HTTPClient"), with_own(OSIE, program="ipxe.efi"))
    assert reply.file == "http://172.30.0.1:8080/boot/loaders/ipxe.efi"


def test_firmware_that_wants_signed_programs_gets_them_whatever_the_document_says() -> None:
    plan = replace(with_own(OSIE, program="ipxe.efi"), loader=Loader.GRUB)
    assert replied(firmware(7), plan).file == "shimx64.efi"


@pytest.mark.parametrize("request_", [firmware(0), firmware(7), IPXE, packet({53: DISCOVER, 60: b"a switch"})])
@pytest.mark.parametrize("boot", [Boot.ELSEWHERE, Boot.NOTHING])
def test_everything_is_told_the_options_of_the_document_and_nothing_of_our_boot(request_: object, boot: Boot) -> None:
    plan = with_own(replace(OSIE, boot=boot), server_name="172.30.0.9", file="ztp/switch.cfg")
    reply = replied(request_, plan)
    assert (reply.options[66], reply.options[67], reply.file) == (b"172.30.0.9", b"ztp/switch.cfg", "ztp/switch.cfg")
    assert reply.siaddr == IPv4Address("172.30.0.9")
    assert not {43, 60, 175} & set(reply.options)
    assert reply.options[54] == OWN.packed


def test_server_that_has_a_name_and_a_file_without_a_server() -> None:
    named = replied(firmware(7), with_own(OSIE, server_name="tftp.lab.example"))
    assert (named.options[66], named.siaddr, named.file) == (b"tftp.lab.example", NOWHERE, "")
    assert 67 not in named.options
    alone = replied(firmware(7), with_own(OSIE, file="boot.bin"))
    assert (66 in alone.options, alone.options[67], alone.siaddr) == (False, b"boot.bin", NOWHERE)


def test_beside_another_server_the_offer_says_that_it_is_one() -> None:
    plan = with_own(replace(ADDRESSES_ONLY, boot=Boot.ELSEWHERE), server_name="172.30.0.9", file="x")
    reply = replied(firmware(7), plan, replace(SERVICE, proxy=True))
    assert (reply.options[60], reply.options[66], reply.file) == (b"PXEClient", b"172.30.0.9", "x")
    assert reply.yiaddr == NOWHERE
