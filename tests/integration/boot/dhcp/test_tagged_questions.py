"""DHCP questions that come in with the tag of a VLAN."""

import socket
import struct
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from tests.integration.boot.wires import at_home_in, cable, hosts
from tinkbox.boot.dhcp.other_servers import discover
from tinkbox.boot.dhcp.tagged_questions import TaggedQuestions
from tinkbox.model.vitals import TaggedQuestion
from tinkbox.wire.dhcp.packets import encode
from tinkbox.wire.dhcp.udp_frames import UdpFrame
from tinkbox.wire.dhcp.udp_frames import encode as encode_frame

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
QUESTION = discover(bytes(range(9)))
ASKS = UdpFrame(
    source_mac=bytes.fromhex("0200000000aa"),
    target_mac=b"\xff" * 6,
    source=IPv4Address("0.0.0.0"),
    target=IPv4Address("255.255.255.255"),
    source_port=68,
    target_port=67,
    payload=encode(QUESTION),
)
SYSTEM_ASKS = replace(ASKS, payload=encode(replace(QUESTION, options={53: b"\x01"})))


def tagged(frame: UdpFrame, tag: int) -> bytes:
    octets = encode_frame(frame)
    return octets[:12] + struct.pack("!HH", 0x8100, tag) + octets[12:]


@pytest.mark.parametrize(
    ("frame", "vlan_id"),
    [
        (tagged(ASKS, 20), 20),
        (tagged(SYSTEM_ASKS, 20), 20),
        (tagged(ASKS, 5 << 13 | 20), 20),
        (tagged(ASKS, 5 << 13), None),
        (encode_frame(ASKS), None),
        (tagged(replace(ASKS, target_port=68), 20), None),
        (tagged(replace(ASKS, payload=b"junk"), 20), None),
    ],
    ids=[
        "a VLAN",
        "a system in a VLAN",
        "a VLAN with a priority",
        "a priority alone",
        "untagged",
        "another port",
        "junk",
    ],
)
def test_questions_in_a_vlan_are_heard_with_its_number(frame: bytes, vlan_id: int | None) -> None:
    questions = TaggedQuestions("lab", lambda: NOW)
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        with at_home_in(appliance.name):
            watching = questions.watching()
            arrived = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        with watching, arrived, at_home_in(machine.name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sending:
            arrived.bind(("lab", 3))
            sending.bind(("eth0", 0))
            sending.send(frame)
            while not arrived.recv(2048).endswith(frame[-12:]):
                pass
            questions.look(watching)
    by_system = SYSTEM_ASKS.payload in frame
    expected = TaggedQuestion(mac=QUESTION.mac, interface="lab", vlan_id=vlan_id or 0, at=NOW, by_system=by_system)
    assert questions.found == ([expected] if vlan_id else [])
