"""Other DHCP servers, found by asking on a real link."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from examples.lab.network import BRIDGE, Network
from tests.integration.boot.wires import at_home_in, cable, hosts
from tests.machine.hosts import Host, give_addresses
from tinkbox.boot.dhcp.other_appliances import Asker, answer_to
from tinkbox.boot.dhcp.other_servers import other_servers_on, rivals
from tinkbox.model.diagnosis import Rival
from tinkbox.model.errors import Unavailable
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Op, Option, Packet, decode, encode
from tinkbox.wire.dhcp.udp_frames import ETHERTYPE, UdpFrame
from tinkbox.wire.dhcp.udp_frames import decode as decode_frame
from tinkbox.wire.dhcp.udp_frames import encode as encode_frame

ROOT = Path(__file__).parents[4]
ASK = """
import asyncio, json, sys
from tinkbox.boot.dhcp.other_servers import other_servers_on
found = asyncio.run(other_servers_on(sys.argv[1:], lambda: bytes(range(9))))
rows = [[each.interface, str(each.server), each.mac, str(each.offered), each.boot_file] for each in found.rivals]
print(json.dumps([rows, found.unasked, [each.pxe for each in found.rivals]]))
"""


def heard(network: Network, *interfaces: str) -> tuple[list[list[str]], str, list[bool]]:
    """Who answers, on which interfaces nobody was asked, and which of the answers are boot servers'."""
    rows, unasked, pxe = json.loads(network.run(["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", ASK, *interfaces]))
    return [list(each) for each in rows], str(unasked), pxe


def asked(network: Network, *interfaces: str) -> list[list[str]]:
    return heard(network, *interfaces)[0]


def test_two_servers_on_one_link_are_found_each_once_with_their_macs(tmp_path: Path) -> None:
    with (
        Network() as network,
        Host(network, [(BRIDGE, "172.30.0.3")]) as one,
        Host(network, [(BRIDGE, "172.30.0.4")]) as two,
    ):
        give_addresses(one, "172.30.0.100", "172.30.0.109", tmp_path / "one.log")
        give_addresses(two, "172.30.0.110", "172.30.0.119", tmp_path / "two.log")
        macs = [json.loads(host.run("ip", "-j", "link", "show", "eth0"))[0]["address"] for host in (one, two)]
        for _ in range(5):  # one that is held up is not heard in time
            found = sorted(asked(network, BRIDGE), key=lambda each: each[1])
            if len(found) > 1:
                break
        assert [each[:3] for each in found] == [[BRIDGE, "172.30.0.3", macs[0]], [BRIDGE, "172.30.0.4", macs[1]]]
        assert [IPv4Address(each[3]) in range_ for each, range_ in zip(found, [POOLS[0], POOLS[1]], strict=True)] == [
            True,
            True,
        ]


POOLS = [{IPv4Address(f"172.30.0.{last}") for last in range(first, first + 10)} for first in (100, 110)]


def test_where_nobody_answers_nobody_is_found() -> None:
    with Network() as network:
        network.run(["ip", "link", "add", "other", "type", "bridge"])
        network.run(["ip", "link", "set", "other", "up"])
        assert asked(network, BRIDGE, "other") == []


async def test_where_no_interface_is_there_nobody_is_asked() -> None:
    with pytest.raises(Unavailable, match="on nowhere, elsewhere: the interface is gone"):
        await other_servers_on(["nowhere", "elsewhere"], lambda: bytes(9), seconds=0.1)


def test_an_interface_that_is_down_or_gone_does_not_hide_who_answers_on_the_others(tmp_path: Path) -> None:
    with Network() as network, Host(network, [(BRIDGE, "172.30.0.3")]) as one:
        give_addresses(one, "172.30.0.100", "172.30.0.109", tmp_path / "one.log")
        network.run(["ip", "link", "add", "dark", "type", "bridge"])
        for _ in range(5):  # one that is held up is not heard in time
            rows, unasked, _ = heard(network, "dark", BRIDGE, "nowhere")
            if rows:
                break
        assert [each[:2] for each in rows] == [[BRIDGE, "172.30.0.3"]]
        assert unasked == "on dark: the interface is down; on nowhere: the interface is gone"


def test_a_boot_server_that_names_its_file_later_is_heard_as_one(tmp_path: Path) -> None:
    program = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--pid-file=", "--user=root"]
    menu = [
        "--interface=eth0",
        "--bind-interfaces",
        "--dhcp-range=172.30.0.0,proxy",
        "--pxe-service=x86-64_EFI,other,5",
    ]
    with Network() as network, Host(network, [(BRIDGE, "172.30.0.3")]) as one:
        with (tmp_path / "one.log").open("wb") as log:
            one.start(*program, *menu, "--log-dhcp", "--log-facility=-", output=log)
        for _ in range(5):
            rows, _, pxe = heard(network, BRIDGE)
            if rows:
                break
        assert ([each[:2] + each[3:] for each in rows], pxe) == ([[BRIDGE, "172.30.0.3", "None", ""]], [True])


ASK_AS_IPXE = """
import asyncio, json
from tinkbox.boot.dhcp.other_servers import other_servers_on
found = asyncio.run(other_servers_on(["lab"], lambda: bytes(range(9))))
print(json.dumps([[each.boot_file, str(each.next_server), each.ipxe_file] for each in found.rivals]))
""".replace("lab", BRIDGE)
LOADER = "undionly.kpxe,172.30.0.1,172.30.0.1"
SCRIPT = "http://172.30.0.1/boot/script.ipxe"


@pytest.mark.parametrize(
    ("lines", "as_ipxe"),
    [
        ([f"--dhcp-boot={LOADER}"], "undionly.kpxe"),
        (
            ["--dhcp-userclass=set:ipxe,iPXE", f"--dhcp-boot=tag:ipxe,{SCRIPT}", f"--dhcp-boot=tag:!ipxe,{LOADER}"],
            SCRIPT,
        ),
        (["--dhcp-match=set:ipxe,175", f"--dhcp-boot=tag:ipxe,{SCRIPT}", f"--dhcp-boot=tag:!ipxe,{LOADER}"], SCRIPT),
        ([], None),
    ],
    ids=["one line", "user class", "option 175", "no boot file"],
)
def test_a_server_that_names_a_boot_file_is_asked_as_ipxe_too(
    lines: list[str], as_ipxe: str | None, tmp_path: Path
) -> None:
    program = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--pid-file=", "--user=root"]
    leases = f"--dhcp-leasefile={tmp_path / 'leases'}"
    pool = ["--interface=eth0", "--bind-interfaces", "--dhcp-range=172.30.0.100,172.30.0.109,255.255.255.0", leases]
    with Network() as network, Host(network, [(BRIDGE, "172.30.0.3")]) as one:
        with (tmp_path / "one.log").open("wb") as log:
            one.start(*program, *pool, *lines, "--log-dhcp", "--log-facility=-", output=log)
        for _ in range(5):  # one that is held up is not heard in time
            rows = json.loads(network.run(["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", ASK_AS_IPXE]))
            if rows and rows[0][2] == as_ipxe:
                break
    assert rows == [["undionly.kpxe", "172.30.0.1", as_ipxe] if lines else ["", "172.30.0.3", None]]


async def test_another_appliance_that_answers_in_kind_is_heard_without_a_server_of_our_own() -> None:
    heard_of: list[tuple[Asker, str]] = []

    def hear(other: Asker, interface: str) -> None:
        heard_of.append((other, interface))

    with hosts("appliance", "other") as (appliance, other):
        cable(appliance, "lab", other, "eth0")
        with at_home_in(other.name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as answering:
            answering.bind(("eth0", ETHERTYPE))
            answering.setblocking(False)
            with at_home_in(appliance.name):
                async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                    answered = group.create_task(_answer_in_kind(answering))
                    await rivals("lab", bytes(range(9)), seconds=2, address=IPv4Address("172.30.0.1"), hear=hear)
                    answered.cancel()
    assert set(heard_of) == {(Asker(mac=MacAddress("02:00:00:00:00:aa"), address=SERVER), "lab")}


async def _answer_in_kind(answering: socket.socket) -> None:
    """What another tinkbox says to each question that comes in, and to none."""
    loop = asyncio.get_running_loop()
    while True:
        asked = decode_frame(await loop.sock_recv(answering, 4096))
        if asked is None or asked.target_port != 67:
            continue
        question = decode(asked.payload)
        if question.op is not Op.REQUEST:
            continue
        us = Asker(mac=MacAddress.from_bytes(REAL), address=SERVER)
        for answer in (answer_to(question, us), replace(answer_to(question, us), xid=7)):
            frame = UdpFrame(
                source_mac=REAL,
                target_mac=b"\xff" * 6,
                source=IPv4Address(0),
                target=IPv4Address("255.255.255.255"),
                source_port=68,
                target_port=67,
                payload=encode(answer),
            )
            await loop.sock_sendall(answering, encode_frame(frame))


async def test_without_the_right_to_ask_that_is_said() -> None:
    command = ["setpriv", "--bounding-set=-net_raw", sys.executable, "-c", ASK, "lo"]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=subprocess.PIPE)
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert b"no right to ask who else answers DHCP: run as root, or with CAP_NET_RAW" in said


async def test_on_loopback_nobody_hears_himself() -> None:
    assert await rivals("lo", bytes(9), seconds=0.2) == ()


@pytest.mark.parametrize("own", [True, False])
async def test_an_answer_with_our_own_mac_is_known_as_one(own: bool) -> None:
    found = await _told([(SERVER, None if own else REAL)])
    assert [(each.looped, str(each.server)) for each in found] == [(own, "172.30.0.3")]


async def test_forged_answers_crowd_out_no_real_one() -> None:
    in_many_names = [(IPv4Address(f"172.30.1.{last}"), LIAR) for last in range(60)]
    of_nobody = [(IPv4Address(0), bytes((2, 0, 0, 0, 1, last))) for last in range(60)]
    found = await _told([*in_many_names, *of_nobody, (SERVER, REAL)])
    assert [str(each.server) for each in found if each.mac == "02:00:00:00:00:aa"] == ["172.30.0.3"]
    assert len(found) == 9, "a few of each are evidence enough"


SERVER, REAL, LIAR = IPv4Address("172.30.0.3"), bytes.fromhex("0200000000aa"), bytes.fromhex("0200000000bb")


async def _told(answers: Sequence[tuple[IPv4Address, bytes | None]]) -> tuple[Rival, ...]:
    """Who is heard where each question is answered by so many, each with the address that it calls itself by and its MAC; None: ours."""
    with hosts("appliance", "other") as (appliance, other):
        cable(appliance, "lab", other, "eth0")
        with at_home_in(other.name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as answering:
            answering.bind(("eth0", ETHERTYPE))
            answering.setblocking(False)
            with at_home_in(appliance.name):
                async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                    answered = group.create_task(_answer(answering, answers))
                    found = await rivals("lab", bytes(range(9)), seconds=3)
                    answered.cancel()
    return found


async def _answer(answering: socket.socket, answers: Sequence[tuple[IPv4Address, bytes | None]]) -> None:
    """Offers, to each question that comes in."""
    loop = asyncio.get_running_loop()
    while True:
        asked = decode_frame(await loop.sock_recv(answering, 4096))
        if asked is None or asked.target_port != 67:
            continue
        question = decode(asked.payload)
        for server, mac in answers:
            options = {Option.MESSAGE_TYPE: bytes((MessageType.OFFER,)), Option.SERVER_ID: server.packed}
            offer = Packet(
                op=Op.REPLY, xid=question.xid, mac=question.mac, yiaddr=IPv4Address("172.30.0.9"), options=options
            )
            frame = UdpFrame(
                source_mac=mac or asked.source_mac,
                target_mac=b"\xff" * 6,
                source=server,
                target=IPv4Address("255.255.255.255"),
                source_port=67,
                target_port=68,
                payload=encode(offer),
            )
            await loop.sock_sendall(answering, encode_frame(frame))
