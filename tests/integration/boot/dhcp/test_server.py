"""A real DHCP client, a real relayed packet, and the server in a network namespace of its own."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from tests.integration.boot.wires import ROOT, at_home_in
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Op, Packet, decode, encode

SERVER, CLIENT = f"tinkbox-dhcp-server-{os.getpid()}", f"tinkbox-dhcp-client-{os.getpid()}"
KNOWN, UNKNOWN = "08:00:27:00:00:01", "08:00:27:00:00:99"
SERVE = """
import asyncio, time
from ipaddress import IPv4Address as A, IPv4Network
from tests.integration.boot.rooms import room
from tests.integration.boot.serving import Lab, Nothing, tell
from tinkbox.boot.dhcp.server import DhcpServer
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.model.boot import Boot, Plan
from tinkbox.model.hardware import Interface, MacAddress, Route
from tinkbox.model.limits import ADDRESS_PROBES
from tinkbox.wire.dhcp.pxe import BootService
INTERFACE = Interface(mac=MacAddress("08:00:27:00:00:01"), address=A("172.30.0.5"), netmask=A("255.255.255.0"),
    gateway=A("172.30.0.2"), hostname="lab-1", domain_name="lab.example", lease_seconds=4000,
    name_servers=(A("9.9.9.9"), A("1.1.1.1")), time_servers=(A("172.30.0.3"),),
    routes=(Route(network=IPv4Network("10.0.0.0/8"), router=A("172.30.0.9")),))
class One(Lab):
    def plan_for(self, client, interface):
        return Plan(boot=Boot.NOTHING, hardware_id="h", interface=INTERFACE) if self.knows(client.mac) else None
    def saw(self, mac, stage, detail="", **facts): pass
lab = One({INTERFACE.mac: {}})
listening = bind_udp(interface="provision", address="", port=67)
tell("ready")
service = BootService(address=A("172.30.0.1"), url="http://172.30.0.1")
rate_limit = RateLimit(lab.knows, time.monotonic)
asyncio.run(DhcpServer(listening, "provision", lab, Nothing(), Nothing(), service, rate_limit,
    room(ADDRESS_PROBES)).serve())
"""
# udhcpc calls this with what it was given in its environment.
NOTE = """#!/bin/sh
echo "$1"
[ "$1" != bound ] || echo "$ip $subnet $router $dns $hostname $domain $lease $serverid $broadcast $ntpsrv $staticroutes"
"""


def run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=60)


@pytest.fixture
def network() -> Iterator[None]:
    for name in (SERVER, CLIENT):
        run("ip", "netns", "add", name)
    run("ip", "-n", SERVER, "link", "add", "provision", "type", "veth", "peer", "name", "eth0", "netns", CLIENT)
    run("ip", "-n", SERVER, "address", "add", "172.30.0.1/24", "dev", "provision")
    run("ip", "-n", SERVER, "link", "set", "provision", "up")
    run("ip", "-n", CLIENT, "link", "set", "eth0", "address", KNOWN, "up")
    yield
    for name in (SERVER, CLIENT):
        run("ip", "netns", "delete", name)


@pytest.fixture
def server(network: None) -> Iterator[None]:
    command = ["ip", "netns", "exec", SERVER, sys.executable, "-c", SERVE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


def udhcpc(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "note"
    script.write_text(NOTE)
    script.chmod(0o755)
    command = ["busybox", "udhcpc", "-i", "eth0", "-f", "-q", "-n", "-T", "1", "-t", "30", "-s", str(script)]
    return subprocess.run(
        ["ip", "netns", "exec", CLIENT, *command, *options], capture_output=True, text=True, timeout=120, check=False
    )


def ask(address: str, source: tuple[str, int], *requests: Packet, interface: str = "") -> Packet:
    """Send packets from the client's side of the wire and wait for one back."""
    with at_home_in(CLIENT):
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        line.settimeout(60)
        line.bind(source)
        for request in requests:
            line.sendto(encode(request), (address, 67))
        return decode(line.recv(2048))


def test_a_real_client_obtains_everything_it_asks_for(server: None, tmp_path: Path) -> None:
    ran = udhcpc(tmp_path, "-O", "ntpsrv", "-O", "broadcast", "-O", "staticroutes")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-2:] == [
        "bound",
        # It asks for routes, and so finds its gateway among them and not beside them (RFC 3442).
        (
            "172.30.0.5 255.255.255.0  9.9.9.9 1.1.1.1 lab-1 lab.example 4000 172.30.0.1 172.30.0.255 172.30.0.3 "
            "10.0.0.0/8 172.30.0.9 0.0.0.0/0 172.30.0.2"
        ),
    ]


def test_a_client_that_wants_broadcasts_obtains_its_lease(server: None, tmp_path: Path) -> None:
    ran = udhcpc(tmp_path, "-B")
    assert ran.returncode == 0, ran.stderr
    assert "172.30.0.5 255.255.255.0 172.30.0.2 9.9.9.9" in ran.stdout


def test_a_client_that_does_not_is_answered_at_its_own_hardware_address(server: None, tmp_path: Path) -> None:
    capture = ["ip", "netns", "exec", CLIENT, "tcpdump", "-enlU", "-c", "2", "-i", "eth0", "src port 67"]
    with subprocess.Popen(capture, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tcpdump:
        try:
            assert tcpdump.stderr is not None
            while "listening on" not in tcpdump.stderr.readline():
                pass
            assert udhcpc(tmp_path).returncode == 0
            seen, _ = tcpdump.communicate(timeout=60)
        finally:
            tcpdump.kill()
    assert len(seen.splitlines()) == 2
    for line in seen.splitlines():
        assert f"> {KNOWN}," in line
        assert "172.30.0.1.67 > 172.30.0.5.68" in line


def test_an_unknown_machine_is_left_alone(server: None, tmp_path: Path) -> None:
    run("ip", "-n", CLIENT, "link", "set", "eth0", "address", UNKNOWN)
    ran = udhcpc(tmp_path, "-t", "1")
    assert ran.returncode == 1
    assert "no lease" in ran.stderr
    # Whoever is answered first is the one behind it.
    strange = Packet(op=Op.REQUEST, xid=8, mac=MacAddress(UNKNOWN), flags=0x8000, options={53: b"\x01"})
    known = Packet(op=Op.REQUEST, xid=9, mac=MacAddress(KNOWN), flags=0x8000, options={53: b"\x01"})
    assert ask("255.255.255.255", ("", 68), strange, known, interface="eth0").xid == 9


def test_a_relayed_request_is_answered_to_the_relay(server: None) -> None:
    run("ip", "-n", CLIENT, "address", "add", "172.30.0.9/24", "dev", "eth0")
    request = Packet(
        op=Op.REQUEST,
        xid=5,
        mac=MacAddress(KNOWN),
        hops=1,
        giaddr=IPv4Address("172.30.0.9"),
        options={53: b"\x01", 82: b"\x01\x04eth7"},
    )
    offer = ask("172.30.0.1", ("172.30.0.9", 67), request)
    assert (offer.message_type, offer.xid) == (MessageType.OFFER, 5)
    assert (offer.yiaddr, offer.giaddr) == (IPv4Address("172.30.0.5"), IPv4Address("172.30.0.9"))
    assert offer.options[82] == b"\x01\x04eth7"


def test_a_renewal_is_answered_to_the_address_in_use(server: None) -> None:
    run("ip", "-n", CLIENT, "address", "add", "172.30.0.5/24", "dev", "eth0")
    request = Packet(
        op=Op.REQUEST, xid=6, mac=MacAddress(KNOWN), ciaddr=IPv4Address("172.30.0.5"), options={53: b"\x03"}
    )
    granted = ask("172.30.0.1", ("172.30.0.5", 68), request)
    assert (granted.message_type, granted.yiaddr) == (MessageType.ACK, IPv4Address("172.30.0.5"))


def test_somebody_elses_address_is_refused_to_everybodys_hearing(server: None) -> None:
    run("ip", "-n", CLIENT, "address", "add", "172.30.0.66/24", "dev", "eth0")
    request = Packet(
        op=Op.REQUEST, xid=7, mac=MacAddress(KNOWN), ciaddr=IPv4Address("172.30.0.66"), options={53: b"\x03"}
    )
    refused = ask("172.30.0.1", ("", 68), request)
    assert refused.message_type is MessageType.NAK
