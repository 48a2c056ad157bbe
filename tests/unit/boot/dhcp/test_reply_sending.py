"""Where a reply is sent, and what is told of one that cannot be."""

import socket
from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from tests.unit.boot.dhcp_bench import INSTALLED
from tinkbox.boot.dhcp.reply_sending import Replies
from tinkbox.wire.dhcp.packets import Op, Packet

REPLY = replace(INSTALLED, op=Op.REPLY, yiaddr=IPv4Address("172.30.0.5"), options={53: b"\x02"})
RENEWAL = replace(INSTALLED, ciaddr=IPv4Address("172.30.0.5"), options={53: b"\x03"})


class Wire(socket.socket):
    """Sends nothing; an interface without a name has no ARP table, so that everybody is to hear."""

    def __init__(self) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM)
        self.sent: list[tuple[str, int]] = []
        self.broken = False

    def sendto(self, datagram: bytes, flags: int, address: tuple[str, int]) -> int:  # type: ignore[override]
        if self.broken:
            raise OSError(101, "Network is unreachable")
        self.sent.append(address)
        return len(datagram)


def send(replies: Replies, request: Packet) -> bool:
    return replies.send(replies.made(request, REPLY), request.xid.to_bytes(4, "big"))


def test_where_the_kernel_cannot_be_told_the_hardware_address_everybody_hears() -> None:
    with Wire() as wire:
        send(Replies(wire, "no-such-if"), replace(INSTALLED, flags=0))
        assert wire.sent == [("255.255.255.255", 68)]


def test_whoever_has_an_address_hears_it_there() -> None:
    with Wire() as wire:
        send(Replies(wire, "no-such-if"), RENEWAL)
        send(Replies(wire, "no-such-if"), replace(INSTALLED, giaddr=IPv4Address("10.9.0.1")))
        assert wire.sent == [("172.30.0.5", 68), ("10.9.0.1", 67)]


def test_a_reply_goes_back_to_where_the_question_came_from_if_the_network_takes_it() -> None:
    with Wire() as wire:
        replies = Replies(wire, "no-such-if")
        assert replies.send_back(RENEWAL, REPLY, ("172.30.0.9", 4099))
        assert wire.sent == [("172.30.0.9", 4099)]
        wire.broken = True
        assert not replies.send_back(RENEWAL, REPLY, ("172.30.0.9", 4099))


def test_a_network_that_takes_no_reply_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with Wire() as wire:
        wire.broken = True
        send(Replies(wire, "no-such-if"), RENEWAL)
    assert "reply to 172.30.0.5 failed" in caplog.text


def test_what_is_not_taken_a_thousand_times_is_not_logged_a_thousand_times(caplog: pytest.LogCaptureFixture) -> None:
    with Wire() as wire:
        wire.broken = True
        replies = Replies(wire, "no-such-if")
        for _ in range(1000):
            send(replies, replace(INSTALLED, giaddr=IPv4Address("127.0.0.1")))
    assert [record.args[-1] for record in caplog.records if record.args] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
