"""Room to answer machines and relays, while answers wait for hosts that are not there."""

import socket

from examples.lab.network import BRIDGE, Network
from tests.integration.boot.wires import inside
from tests.machine.hosts import Host
from tests.machine.lab import until
from tinkbox.boot.network.neighbours import neighbour
from tinkbox.boot.network.send_buffer import SendBuffer
from tinkbox.boot.network.sockets import bind_udp

SERVER, KNOWN, RELAY, BEHIND = "172.30.0.1", "172.30.0.9", "172.30.0.10", "172.31.0.1"


def speak(host: Host) -> None:
    """Have it ask by ARP who we are, by which we know who it is."""
    with inside(host.path), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.sendto(b"", (SERVER, 9))


def test_hosts_that_are_not_there_leave_room_for_those_behind_a_router_and_for_neighbours() -> None:
    with Network() as network:
        known = Host(network, [(BRIDGE, KNOWN)])
        with known, inside(network.path):
            network.run(["ip", "route", "add", "172.31.0.0/24", "via", RELAY])
            with bind_udp(interface=BRIDGE, address="", port=6767) as line:
                buffer = SendBuffer(line)
                speak(known)
                until(lambda: neighbour(line, BRIDGE.encode(), KNOWN) is not None, "ARP")
                for number in range(20, 250):
                    for _ in range(8):
                        absent = f"172.30.0.{number}"
                        if buffer.has_room_for(absent):
                            line.sendto(bytes(1000), (absent, 68))
                assert not buffer.has_room_for(absent)
                assert buffer.has_room_for(BEHIND), "the kernel asks for one router, whoever is behind it"
                for _ in range(250):
                    if buffer.has_room_for(BEHIND):
                        line.sendto(bytes(1000), (BEHIND, 67))
                assert not buffer.has_room_for(BEHIND)
                assert buffer.has_room_for(KNOWN)
                assert buffer.has_room_for("255.255.255.255")
