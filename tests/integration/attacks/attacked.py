"""An appliance on a network with a machine that it knows and a host that it does not, which attacks it."""

import json
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from examples.demo.appliance import Appliance
from examples.lab.network import BRIDGE, Network
from tests.integration.boot.wires import inside
from tests.machine.hosts import Host
from tests.machine.lab import address, hardware, mac, until
from tinkbox.wire.dhcp.packets import Packet, decode, encode

SERVER = "172.30.0.1"
KNOWN = 1
HOSTILE = "172.30.0.66"
PATIENCE = 60.0
CONFIGURATION = f"""
interface: {BRIDGE}
dhcp: {{mode: pool, pool: 172.30.0.100-172.30.0.149}}
"""
TEMPLATE = """
version: "0.1"
name: one
global_timeout: 600
tasks: [{name: one, worker: "{{.device_1}}", actions: [{name: it, image: "shell:v1", timeout: 60}]}]
"""


@dataclass(frozen=True)
class Attacked:
    """`machine` is the host that has the MAC and the address of the known one; a workflow waits for it.

    `network` is the namespace of the appliance, `switch` what other hosts are plugged into.
    """

    appliance: Appliance
    machine: Host
    hostile: Host
    network: Path
    work: Path
    workflow: str
    switch: Network

    def http(
        self, request: str | bytes, *, by: Host | None = None, port: int = 80, server: str = SERVER, tls: bool = False
    ) -> bytes:
        """What comes back until the connection ends, of a request as it stands; the hostile host's if nobody is named."""
        with inside((by or self.hostile).path):
            line = socket.create_connection((server, 443 if tls else port), timeout=PATIENCE)
        if tls:
            context = ssl.create_default_context(cafile=self.appliance.data / "tls" / "authority.pem")
            line = context.wrap_socket(line, server_hostname=server)
        with line:
            line.sendall(request.encode() if isinstance(request, str) else request)
            heard = b""
            while chunk := line.recv(65536):
                heard += chunk
            return heard

    def get(
        self, path: str, *headers: str, by: Host | None = None, method: str = "GET", body: str = "", tls: bool = False
    ) -> bytes:
        """The whole answer to one request."""
        more = "".join(f"{each}\r\n" for each in headers)
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        return self.http(
            f"{method} {path} HTTP/1.1\r\nHost: x\r\n{more}{length}Connection: close\r\n\r\n{body}", by=by, tls=tls
        )

    @contextmanager
    def datagrams(self, host: Host, *, port: int = 0, where: str = "") -> Iterator[socket.socket]:
        """A UDP socket on a host, which may broadcast."""
        with inside(host.path):
            line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
            line.settimeout(PATIENCE)
            line.bind((where, port))
            yield line

    def tftp(self, request: bytes) -> bytes:
        """The first datagram that answers a request."""
        with self.datagrams(self.hostile) as line:
            line.sendto(request, (SERVER, 69))
            return line.recv(65536)

    def dns(self, query: bytes) -> bytes:
        """The answer to a query."""
        with self.datagrams(self.hostile) as line:
            line.sendto(query, (SERVER, 53))
            return line.recv(65536)

    def dhcp(self, asks: Packet, *, after: Sequence[bytes] = (), by: Host | None = None) -> Packet:
        """The answer to a packet, broadcast `after` others, none of which is answered."""
        with self.datagrams(by or self.machine, port=68) as line:
            for each in after:
                line.sendto(each, ("255.255.255.255", 67))
            line.sendto(encode(asks), ("255.255.255.255", 67))
            while True:
                datagram = line.recv(65536)
                heard = decode(datagram)
                assert len(datagram) <= 1500
                if heard.xid == asks.xid:
                    return heard

    def script(self, *, by: Host | None = None, **headers: str) -> bytes:
        """The answer to whom asks for the boot script of the known machine; itself, if nobody is named."""
        path = f"/boot/{mac(KNOWN).replace(':', '-')}/script.ipxe"
        return self.get(path, *(f"{name}: {value}" for name, value in headers.items()), by=by or self.machine)


@contextmanager
def attacked(work: Path, configuration: str = CONFIGURATION) -> Iterator[Attacked]:
    """One that is running."""
    osie = work / "none"
    osie.mkdir()
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        appliance = Appliance(network, [sys.executable, "-m", "tinkbox"], work, osie, configuration)
        machine = stack.enter_context(Host(network, [(BRIDGE, address(KNOWN))]))
        machine.run("ip", "link", "set", "eth0", "address", mac(KNOWN))
        hostile = stack.enter_context(Host(network, [(BRIDGE, HOSTILE)]))
        until(appliance.ready, "the appliance to answer")
        file = work / "hardware.json"
        file.write_text(json.dumps(hardware(KNOWN)))
        appliance.command("hardware", "push", "--file", file)
        template = work / "template.yaml"
        template.write_text(TEMPLATE)
        appliance.command("template", "create", "-n", "one", "--file", template)
        made = appliance.command("workflow", "create", "-t", "one", "-r", json.dumps({"device_1": mac(KNOWN)}))
        yield Attacked(appliance, machine, hostile, network.path, work, made.split()[-1], network)
