"""DHCP that comes in, and that a firewall keeps from our socket."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tinkbox.boot.dhcp.unheard import DhcpArrivals

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


class Lab:
    """`look` is what is found; `asks` sends so many datagrams, and waits until they came in."""

    def __init__(self, appliance: Host, ours: socket.socket, machine: socket.socket, sure: socket.socket) -> None:
        self.appliance = appliance
        self._ours = ours
        self._machine = machine
        self._sure = sure
        self._taken = 0
        self._arrivals = DhcpArrivals(
            "lab", IPv4Address("172.30.0.1"), IPv4Network("172.30.0.0/24"), self._delivered, lambda: NOW
        )

        self._counting = self._arrivals.watching()

    def close(self) -> None:
        self._counting.close()

    def _delivered(self) -> int:
        while True:
            try:
                self._ours.recv(100)
            except BlockingIOError:
                return self._taken
            self._taken += 1

    def asks(self, count: int, to: str = "255.255.255.255", port: int = 67) -> None:
        for _ in range(count):
            self._machine.sendto(b"?", (to, port))
        self._machine.sendto(b"!", ("172.30.0.1", 60000))
        self._sure.recv(10)

    def look(self) -> int:
        """How many are missed."""
        found = self._arrivals.look(self._counting)
        return found.frames if found else 0


@contextmanager
def lab() -> Iterator[Lab]:
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        appliance.ip("address add 172.30.0.1/24 dev lab")
        machine.ip("address add 172.30.0.9/24 dev eth0")
        machine.ip("route add default dev eth0")
        with at_home_in(machine.name):
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with at_home_in(appliance.name):
            ours, sure = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
            with ours, sure, asking:
                asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                ours.setblocking(False)
                ours.bind(("", 67))
                sure.settimeout(30)
                sure.bind(("172.30.0.1", 60000))
                with closing(Lab(appliance, ours, asking, sure)) as made:
                    yield made


def test_what_is_delivered_is_not_missed() -> None:
    with lab() as made:
        for _ in range(4):
            made.asks(5)
            assert made.look() == 0


def test_what_a_firewall_drops_is_missed_until_it_is_let_through() -> None:
    rule = ("INPUT", "-i", "lab", "-p", "udp", "--dport", "67", "-j", "DROP")
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *rule))
        made.asks(2)
        assert made.look() == 0
        made.asks(30)  # more than the socket that counts has room for
        assert made.look() == 0  # two are too few, and the others may be on their way to our socket
        assert made.look() == 32
        made.asks(1, to="172.30.0.1")
        assert (made.look(), made.look()) == (32, 33)
        run(*made.appliance.command("iptables", "-D", *rule))
        made.asks(1)
        assert (made.look(), made.look()) == (0, 0)


def test_what_is_for_others_or_for_other_ports_is_not_counted() -> None:
    rule = ("INPUT", "-i", "lab", "-p", "udp", "-m", "multiport", "--dports", "67,68", "-j", "DROP")
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *rule))
        made.asks(9, port=68)
        with at_home_in(made.appliance.name), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            for _ in range(9):
                own.sendto(b"?", ("172.30.0.9", 67))
        assert (made.look(), made.look(), made.look()) == (0, 0, 0)
