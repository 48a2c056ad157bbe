"""Reading the offers of other DHCP servers."""

from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from tinkbox.boot.dhcp.other_servers import discover, of_ipxe, read_offer
from tinkbox.model.boot import Asker
from tinkbox.model.diagnosis import Rival
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import MessageType, Op, Option, Packet, encode
from tinkbox.wire.dhcp.udp_frames import UdpFrame
from tinkbox.wire.dhcp.udp_frames import encode as encode_frame

QUESTION = discover(bytes(range(9)))
OFFER = Packet(
    op=Op.REPLY,
    xid=QUESTION.xid,
    mac=QUESTION.mac,
    yiaddr=IPv4Address("172.30.0.77"),
    siaddr=IPv4Address("172.30.0.5"),
    file="a.efi",
    options={Option.MESSAGE_TYPE: bytes((MessageType.OFFER,)), Option.SERVER_ID: IPv4Address("172.30.0.9").packed},
)
RIVAL = Rival(
    interface="eth1",
    server=IPv4Address("172.30.0.9"),
    mac=MacAddress("00:25:90:00:00:09"),
    offered=IPv4Address("172.30.0.77"),
    boot_file="a.efi",
    next_server=IPv4Address("172.30.0.5"),
)


def framed(offer: Packet, port: int = 67) -> bytes:
    return encode_frame(
        UdpFrame(
            source_mac=bytes.fromhex("002590000009"),
            target_mac=b"\xff" * 6,
            source=IPv4Address("172.30.0.8"),
            target=IPv4Address("255.255.255.255"),
            source_port=port,
            target_port=68,
            payload=encode(offer),
        )
    )


def test_the_question_is_of_a_machine_that_does_not_exist_and_would_boot() -> None:
    assert QUESTION.mac == "02:00:01:02:03:04"
    assert (QUESTION.xid, QUESTION.flags) == (0x05060708, 0x8000)
    client = identify(QUESTION)
    assert (client.netboots, client.architecture) == (True, 7)


def test_the_same_machine_asks_as_ipxe_by_a_number_of_its_own() -> None:
    asked = of_ipxe(QUESTION)
    assert (asked.mac, asked.xid != QUESTION.xid) == (QUESTION.mac, True)
    client = identify(asked)
    assert (client.asker, client.architecture) == (Asker.IPXE, 7)
    assert read_offer(framed(OFFER), asked, "eth1") is None


def test_an_offer_tells_who_sent_it_and_what() -> None:
    assert read_offer(framed(OFFER), QUESTION, "eth1") == RIVAL


def test_a_server_that_only_says_what_to_boot_offers_no_address() -> None:
    bare = replace(OFFER, yiaddr=IPv4Address(0), siaddr=IPv4Address(0), file="")
    option = replace(bare, options={**bare.options, Option.BOOTFILE_NAME: b"b\x1b.efi\0"})
    found = read_offer(framed(option), QUESTION, "eth1")
    assert found == replace(RIVAL, offered=None, next_server=None, boot_file="b.efi")


def test_a_boot_server_that_names_no_file_yet_is_one_all_the_same() -> None:
    bare = replace(OFFER, yiaddr=IPv4Address(0), siaddr=IPv4Address(0), file="")
    menu = {Option.CLASS_ID: b"PXEClient", 43: bytes.fromhex("06010008070001038a0158ff")}
    found = read_offer(framed(replace(bare, options={**bare.options, **menu})), QUESTION, "eth1")
    assert found == replace(RIVAL, offered=None, next_server=None, boot_file="", pxe=True)


def test_a_server_without_a_name_is_known_by_its_address() -> None:
    nameless = replace(OFFER, options={Option.MESSAGE_TYPE: bytes((MessageType.OFFER,))})
    found = read_offer(framed(nameless), QUESTION, "eth1")
    assert found is not None
    assert found.server == IPv4Address("172.30.0.8")


@pytest.mark.parametrize(
    "other",
    [
        framed(replace(OFFER, xid=1)),
        framed(replace(OFFER, mac=RIVAL.mac)),
        framed(replace(OFFER, op=Op.REQUEST)),
        framed(replace(OFFER, options={Option.MESSAGE_TYPE: bytes((MessageType.ACK,))})),
        framed(OFFER, port=4011),
        framed(OFFER)[:100],
        framed(OFFER)[:42] + bytes(300),
        b"",
    ],
    ids=[
        "another transaction",
        "another machine",
        "a question",
        "an ACK",
        "another port",
        "cut off",
        "no DHCP",
        "nothing",
    ],
)
def test_what_is_no_offer_to_our_question_is_nobody(other: bytes) -> None:
    assert read_offer(other, QUESTION, "eth1") is None
