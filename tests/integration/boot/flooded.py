"""Our servers of the first minutes over a real engine, on loopback, to be sent anything; and what it did to them."""

import asyncio
import fcntl
import io
import json
import logging
import socket
import struct
import termios
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from uuid import UUID

from tests.integration.boot.mutants import recorded
from tests.integration.boot.rooms import room, transfer_room
from tests.integration.engine.appliance import HELLO, Appliance, appliance
from tinkbox.boot.dhcp.boot_server import BootServer
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.server import DhcpServer
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.boot.tftp.server import TftpServer
from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.boot.leases import Leases
from tinkbox.model.boot import Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Subnet
from tinkbox.model.limits import ADDRESS_PROBES
from tinkbox.model.sightings import Fact
from tinkbox.wire.dhcp.packets import decode
from tinkbox.wire.dhcp.pxe import BootService

OURS = IPv4Address("127.0.0.1")
SUBNET = Subnet(
    network=IPv4Network("127.0.0.0/24"),
    interface="lo",
    pool=(IPv4Address("127.0.0.100"), IPv4Address("127.0.0.199")),
    gateway=OURS,
    lease_seconds=600,
)
LOADER = bytes(range(256)) * 40
PORTS = 8
BATCH = 32
PATIENCE = 30.0
_log = logging.getLogger("tinkbox")


class _Lines(io.TextIOBase):
    """Where the log goes: written in full, kept nowhere."""

    def __init__(self) -> None:
        self.written = 0

    def write(self, text: str) -> int:
        self.written += len(text)
        return len(text)


class _TftpFiles:
    """Two names; who asks is told to the engine."""

    def __init__(self, booting: Booting, ramdisk: Path) -> None:
        self._files: dict[str, bytes | Path] = {"loader.efi": LOADER, "snponly.efi": LOADER, "ramdisk": ramdisk}
        self._booting = booting

    def find(self, peer: str, name: str) -> bytes | Path | None:
        return self._files.get(name)

    def saw_address(self, address: str, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self._booting.saw_address(address, stage, detail, **facts)

    def moves(self, address: str) -> None:
        self._booting.moves(address)


class _Prober:
    """Finds every address free."""

    async def occupant(self, address: IPv4Address, interface: str, asker: MacAddress | None = None) -> str | None:
        return None

    async def answers(self, address: IPv4Address, mac: MacAddress) -> bool:
        return False


@dataclass
class Flooded:
    """`servers` by what is sent to them; time passes for them with every packet, so that none is left unread."""

    box: Appliance
    leases: Leases
    tftp: TftpServer
    dhcp: DhcpServer
    boot_server: BootServer
    rate_limit: RateLimit
    sockets: dict[str, list[socket.socket]]
    senders: list[socket.socket]
    log: _Lines
    errors: list[str] = field(default_factory=list)
    slowest: float = 0.0

    async def take(self, kind: str, packets: Sequence[bytes]) -> None:
        """Send these; returns when all of them were looked at.  Raises AssertionError when a server failed."""
        for at in range(0, len(packets), BATCH):
            batch = packets[at : at + BATCH]
            for number, packet in enumerate(batch):
                for server in self.sockets[kind]:
                    self.senders[number % PORTS].sendto(packet, server.getsockname())
            began = time.process_time()
            await asyncio.wait_for(self._idle(kind), PATIENCE)
            self.slowest = max(self.slowest, time.process_time() - began)
            assert not self.errors, f"{self.errors[:3]} after one of {[each.hex() for each in batch]}"

    async def _idle(self, kind: str) -> None:
        while any(_waiting(server) for server in self.sockets[kind]):  # noqa: ASYNC110 - the kernel rings no bell
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        for sender in self.senders:
            _empty(sender)

    def held(self) -> dict[str, int]:
        """What the servers and the engine keep in memory of machines."""
        return {
            "transfers": len(self.tftp._transfers),
            "transfers by host": len(self.tftp._room._by_holder),
            "open files": len(self.tftp._files),
            "addresses that asked": len(self.tftp._requests),
            "machines remembered": self.rate_limit.remembered,
            "addresses being proven": len(self.dhcp._proving),
            "machines seen": len(self.box.machines.timeline.machines()),
            "leases": len(self.leases.all()),
            "tasks": len(asyncio.all_tasks()),
        }


@asynccontextmanager
async def flooded(folder: Path) -> AsyncIterator[Flooded]:
    """Machines whose packets were recorded are known, every second has a ticket; the others may have a pool's address."""
    (folder / "ramdisk").write_bytes(LOADER * 40)
    lines = _Lines()
    with _logging_to(lines), ExitStack() as sockets:

        def bind(address: str) -> socket.socket:
            return sockets.enter_context(bind_udp(interface="lo", address=address, port=0))

        async with appliance(folder / "tinkbox.sqlite") as box:
            macs = sorted({decode(packet).mac for packet in recorded("dhcp")})
            await box.templates.create("hello", HELLO)
            for number, mac in enumerate(macs):
                await box.machines.push(parse_hardware(_document(number, mac)))
                if number % 2 == 0:
                    await box.workflows.create("hello", {"device_1": mac})
            clock = _Passing()
            leases = Leases(box.store, [SUBNET], box.clock, clock)
            await leases.load()
            booting = Booting(box.machines, leases, None, [SUBNET], "pool", lambda _: None, lambda _: False, clock)
            rate_limit = RateLimit(booting.knows, clock)
            service = BootService(address=OURS, url=f"http://{OURS}")
            bound = [bind(str(OURS)) for _ in range(3)]
            tftp_files = _TftpFiles(booting, folder / "ramdisk")
            attacked = Flooded(
                box=box,
                leases=leases,
                tftp=TftpServer(bound[0], tftp_files, tftp_files, clock, transfer_room(), str),
                dhcp=DhcpServer(bound[1], "lo", booting, leases, _Prober(), service, rate_limit, room(ADDRESS_PROBES)),
                boot_server=BootServer(bound[2], "lo", booting, service, rate_limit),
                rate_limit=rate_limit,
                sockets={"tftp": bound[:1], "dhcp": bound[1:]},
                senders=[bind(f"127.0.0.{20 + number}") for number in range(PORTS)],
                log=lines,
            )
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(
                lambda _, context: attacked.errors.append(repr(context.get("exception") or context))
            )
            async with asyncio.TaskGroup() as parts:
                running = [
                    parts.create_task(part())
                    for part in (
                        attacked.tftp.serve,
                        attacked.dhcp.serve,
                        attacked.boot_server.serve,
                        leases.run,
                        box.machines.progress.run,
                        box.machines.timeline.run,
                    )
                ]
                await asyncio.sleep(0)
                yield attacked
                for task in running:
                    task.cancel()


class _Passing:
    """Seconds; one passes whenever somebody looks."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        self._now += 1.0
        return self._now


@contextmanager
def _logging_to(lines: _Lines) -> Iterator[None]:
    """Everything that the program logs, formatted, past pytest, which would keep it."""
    handler = logging.StreamHandler(lines)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    level, propagate = _log.level, _log.propagate
    _log.setLevel(logging.DEBUG)
    _log.propagate = False
    _log.addHandler(handler)
    try:
        yield
    finally:
        _log.removeHandler(handler)
        _log.setLevel(level)
        _log.propagate = propagate


def _document(number: int, mac: MacAddress) -> str:
    dhcp: dict[str, object] = {"mac": mac, "arch": "x86_64"}
    if number % 3:
        dhcp["ip"] = {"address": f"127.0.0.{200 + number}", "netmask": "255.255.255.0", "gateway": str(OURS)}
    interface = {"dhcp": dhcp, "netboot": {"allow_pxe": True, "allow_workflow": True}}
    return json.dumps({"id": str(UUID(int=number + 1)), "network": {"interfaces": [interface]}})


def _waiting(server: socket.socket) -> bool:
    return struct.unpack("i", fcntl.ioctl(server, termios.FIONREAD, bytes(4)))[0] > 0


def _empty(sender: socket.socket) -> None:
    try:
        while True:
            sender.recv(65_536)
    except BlockingIOError:
        return
    except OSError:
        _empty(sender)
