"""Filters of tc and an XDP program on interfaces of a network namespace, and what is told of them."""

import ctypes
import os
import platform
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tinkbox.vitals.packet_programs import unread_programs
from tinkbox.vitals.rtnetlink import attribute

BPF = {"x86_64": 321, "aarch64": 280}  # the number of bpf(2)
PASS_ALL = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 2, 0x95, 0, 0, 0)  # return XDP_PASS
MATCHING = "protocol ip prio 1 u32 match ip dport 67 0xffff classid 1:1"
SET_LINK, ACKNOWLEDGED = 19, 5  # RTM_SETLINK; NLM_F_REQUEST | NLM_F_ACK


@pytest.fixture
def lab() -> Iterator[Host]:
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        cable(appliance, "other", machine, "eth1")
        yield appliance


def told(host: Host) -> dict[str, str]:
    with at_home_in(host.name):
        return unread_programs(["lab", "gone"])


def filters(host: Host, device: str, queue: str, where: str) -> None:
    tc = ["tc", "filter", "add", "dev", device, *where.split()]
    run(*host.command("tc", "qdisc", "add", "dev", device, queue))
    run(*host.command(*tc, *MATCHING.split()))


@pytest.mark.parametrize(
    ("queue", "where", "side"),
    [("clsact", "ingress", "ingress"), ("clsact", "egress", "egress"), ("ingress", "parent ffff:", "ingress")],
)
def test_a_filter_of_tc_is_told_with_the_command_that_shows_it(lab: Host, queue: str, where: str, side: str) -> None:
    filters(lab, "other", queue, where)  # which is none of ours
    assert told(lab) == {}
    filters(lab, "lab", queue, where)
    shows = f"`tc filter show dev lab {side}` shows them"
    assert told(lab) == {"the tc filters on lab": f"tinkbox does not read them: {shows}"}


def test_a_queue_without_a_filter_is_of_no_concern(lab: Host) -> None:
    run(*lab.command("tc", "qdisc", "add", "dev", "lab", "clsact"))
    assert told(lab) == {}


def test_a_port_of_a_bridge_is_looked_at_as_well(lab: Host) -> None:
    lab.ip("link delete lab")
    lab.ip("link add lab type bridge")
    lab.ip("link set other master lab")
    filters(lab, "other", "clsact", "ingress")
    assert [*told(lab)] == ["the tc filters on other"]


def test_an_xdp_program_is_told(lab: Host) -> None:
    if platform.machine() not in BPF:
        pytest.skip("the number of bpf(2) is not known for this processor")
    code, licence = ctypes.create_string_buffer(PASS_ALL), ctypes.create_string_buffer(b"GPL")
    of_xdp = struct.pack("=IIQQ", 6, len(PASS_ALL) // 8, ctypes.addressof(code), ctypes.addressof(licence))
    asked = ctypes.create_string_buffer(of_xdp.ljust(144, b"\0"), 144)
    loaded = ctypes.CDLL(None, use_errno=True).syscall(BPF[platform.machine()], 5, asked, 144)
    assert loaded >= 0, os.strerror(ctypes.get_errno())
    try:
        with at_home_in(lab.name):
            number = socket.if_nametoindex("lab")
            kernel = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        with kernel:
            program = attribute(1, struct.pack("=i", loaded)) + attribute(3, struct.pack("=I", 2))  # generic
            link = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, number, 0, 0) + attribute(43, program)
            kernel.send(struct.pack("=IHHII", 16 + len(link), SET_LINK, ACKNOWLEDGED, 1, 0) + link)
            assert struct.unpack_from("=i", kernel.recv(4096), 16) == (0,)
    finally:
        os.close(loaded)
    assert told(lab) == {"the XDP program on lab": "tinkbox does not read it: `ip link show dev lab` shows its number"}
