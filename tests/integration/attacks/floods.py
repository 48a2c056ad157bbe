"""Floods of every kind at once, from hosts beside the machines of a network."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

from examples.lab.network import Network
from examples.lab.processes import start, stop
from tests.bench.dhcp import document
from tests.integration.attacks.flood import KINDS
from tests.machine.hosts import Host
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection

ADDRESSES, EACH = 20, 2_000
AT_ONCE = 4  # processes that share the half-open connections: one may have 20,000 descriptors on many a host
HOSTILE = 50  # machines with a credential of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Attackers:
    """The first addresses of those that hold half-open connections, of the hostile workers, and of the hosts that they are on."""

    half_open: IPv4Address
    workers: IPv4Address
    hosts: IPv4Address

    async def tickets(self, operator_socket: Path, server: IPv4Interface) -> list[str]:
        """Boot tickets of the hostile workers, which become known machines."""
        tickets = []
        async with Operator(LastingConnection(socket=operator_socket)) as operator:
            for number in range(HOSTILE):
                mac = f"0a:00:00:00:01:{number:02x}"
                await operator.hardware.push(document(mac, str(self.workers + number), server))
                tickets.append(str((await operator.hardware.credential(mac))["token"]))
        return tickets

    def commands(self, server: str) -> list[list[str]]:
        """The words for each process of `flood`."""
        each = ADDRESSES // AT_ONCE
        half_open = [
            ["half-open", server, str(self.half_open + number * each), str(each), str(EACH)]
            for number in range(AT_ONCE)
        ]
        others = [[kind, server] for kind in KINDS if kind not in ("half-open", "workers")]
        return [*half_open, ["workers", server, str(self.workers), str(HOSTILE)], *others]


@contextmanager
def flooded(ours: Network, server: IPv4Interface, attackers: Attackers, tickets: Sequence[str]) -> Iterator[None]:
    """All of them, begun; `tickets` are those of the hostile workers."""
    with ExitStack() as stack:
        started = []
        for number, words in enumerate(attackers.commands(str(server.ip))):
            host = stack.enter_context(Host(ours, [(ours.interface, str(attackers.hosts + number))]))
            host.run("ip", "route", "replace", str(server.network), "dev", "eth0")
            first, count = (IPv4Address(words[2]), int(words[3])) if len(words) > 2 else (attackers.hosts, 0)
            for each in range(count):
                host.run("ip", "route", "replace", "local", str(first + each), "dev", "lo")
            flood = ["nice", "-n", "10", sys.executable, "-m", "tests.integration.attacks.flood", *words]
            process = start(
                ["nsenter", f"--net={host.path}", *flood], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )  # fmt: skip
            stack.callback(stop, process)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("".join(f"{each}\n" for each in tickets).encode())
            process.stdin.close()
            stack.enter_context(process.stdout)
            started.append(process)
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
        yield
