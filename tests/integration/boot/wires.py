"""Hosts in network namespaces of their own, and a machine's own words on their wires."""

import contextlib
import ctypes
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import IO, Any

from tinkbox.wire.dhcp.packets import MalformedPacket, Op, Packet, decode, encode

ROOT = Path(__file__).parents[3]
DHCRELAY = ROOT / "build" / "peers" / "isc-dhcp-relay" / "usr" / "sbin" / "dhcrelay"
# udhcpc calls this with what it was given in its environment.
NOTE = """#!/bin/sh
[ "$1" != bound ] || echo "$ip $mask $router $serverid"
"""


def run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=60)


@dataclass(slots=True)
class Host:
    """One namespace, by its name for `ip netns`."""

    name: str
    processes: ExitStack = field(default_factory=ExitStack)

    def ip(self, words: str) -> None:
        run("ip", "-n", self.name, *words.split())

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = self.processes.enter_context(
            subprocess.Popen(self.command(*words), text=True, **options)
        )
        self.processes.callback(process.kill)
        return process

    def udhcpc(self, interface: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        """Have busybox ask for an address; its standard output is `address prefix router server`.

        It asks every second, half a minute long, for a server may be held up.
        """
        script = folder / "note"
        script.write_text(NOTE)
        script.chmod(0o755)
        words = ["busybox", "udhcpc", "-i", interface, "-f", "-q", "-n", "-T", "1", "-t", "30", "-s", str(script)]
        words += options
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=120, check=False)

    @contextmanager
    def firmware(self, interface: str, address: str = "") -> Iterator["Firmware"]:
        """Something on this host that speaks DHCP as firmware does, from `address` or from none."""
        with at_home_in(self.name):
            line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
            line.bind((address, 68))
            yield Firmware(line)


@dataclass(slots=True)
class Firmware:
    line: socket.socket
    heard: list[tuple[str, Packet]] = field(default_factory=list)  # by whom, all that there was

    def ask(self, request: Packet, to: tuple[str, int] = ("255.255.255.255", 67)) -> None:
        self.line.sendto(encode(request), to)

    def answer(self, server: str, xid: int, seconds: float = 60) -> Packet:
        """The next answer to this exchange that comes from this address; raises TimeoutError, whatever else is heard."""
        until = monotonic() + seconds
        while True:
            self.line.settimeout(max(until - monotonic(), 0.001))
            datagram, peer = self.line.recvfrom(2048)
            with contextlib.suppress(MalformedPacket):
                reply = decode(datagram)
                self.heard.append((peer[0], reply))
                if peer[0] == server and reply.op is Op.REPLY and reply.xid == xid:
                    return reply
            if monotonic() > until:
                raise TimeoutError


@contextmanager
def hosts(*names: str) -> Iterator[list[Host]]:
    """Namespaces, and what was started in them, for as long as the block lasts."""
    with ExitStack() as stack:
        made = []
        for name in names:
            host = Host(f"tinkbox-{name}-{os.getpid()}")
            run("ip", "netns", "add", host.name)
            stack.callback(run, "ip", "netns", "delete", host.name)
            stack.enter_context(host.processes)
            host.ip("link set lo up")
            made.append(host)
        yield made


def cable(one: Host, interface: str, other: Host, other_interface: str, mac: str = "") -> None:
    """Connect two hosts, until each may send; `mac` is that of the second's end."""
    with_mac = f" address {mac}" if mac else ""
    one.ip(f"link add {interface} type veth peer name {other_interface}{with_mac} netns {other.name}")
    one.ip(f"link set {interface} up")
    other.ip(f"link set {other_interface} up")
    # The kernel drops what is sent before it has noticed the carrier, which on a busy host takes a while.
    deadline = time.monotonic() + 60
    for host, name in ((one, interface), (other, other_interface)):
        while "state UP" not in subprocess.check_output(["ip", "-n", host.name, "link", "show", name], text=True):
            assert time.monotonic() < deadline, f"{name} does not come up"


@dataclass(slots=True)
class Appliance:
    """Our DHCP servers on a host; `output` is what they told of machines, line by line."""

    output: IO[str]

    def next(self, stage: str) -> dict[str, Any]:
        """Wait until a machine was seen at a stage; what was told of it."""
        for line in self.output:
            told: dict[str, Any] = json.loads(line)
            if told["stage"] == stage:
                return told
        raise EOFError(stage)


def serve(
    host: Host, interfaces: Mapping[str, str], machines: Mapping[str, Mapping[str, str]], *, proxy: bool = False
) -> Appliance:
    """Serve on interfaces, given with our address on each; machines have addresses by interface or relay's network."""
    told = json.dumps({"interfaces": dict(interfaces), "machines": machines, "proxy": proxy})
    process = host.start(sys.executable, "-m", "tests.integration.boot.serving", told, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return Appliance(process.stdout)


def dnsmasq(host: Host, *options: str, ready: str = "DHCP, IP range") -> None:
    """Somebody else's DHCP server, or relay, which says `ready` when it is."""
    words = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--leasefile-ro", "--pid-file="]
    words += ["--user=root", "--no-ping", "--log-dhcp", "--log-facility=-", *options]
    process = host.start(*words, stderr=subprocess.PIPE)
    assert process.stderr is not None
    await_line(process.stderr, ready)


def dhcrelay(host: Host, down: str, up: str, *more: str) -> None:
    """ISC's relay, which says by option 82 on which interface a machine is; `more` are its options, then servers."""
    assert DHCRELAY.exists(), f"{DHCRELAY} is missing: `make test` unpacks it before it runs the tests"
    words = [str(DHCRELAY), "-4", "-d", "-a", "--no-pid", "-id", down, "-iu", up, *more]
    process = host.start(*words, stderr=subprocess.PIPE)
    assert process.stderr is not None
    await_line(process.stderr, "Sending on   Socket")


def await_line(stream: IO[str], text: str) -> None:
    """Read until a line has this in it."""
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if text in line:
            return
    raise EOFError("".join(lines))


def at_home_in(namespace: str) -> AbstractContextManager[None]:
    """Sockets made inside belong to the namespace of this name."""
    return inside(Path(f"/run/netns/{namespace}"))


@contextmanager
def inside(namespace: Path) -> Iterator[None]:
    """Sockets made inside belong to the namespace that this file is."""
    with Path("/proc/self/ns/net").open() as own, namespace.open() as other:
        _enter(other.fileno())
        try:
            yield
        finally:
            _enter(own.fileno())


def _enter(descriptor: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def words(lines: Sequence[str]) -> list[str]:
    """The last line, in words."""
    return lines[-1].split()
