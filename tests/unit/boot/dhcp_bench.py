"""A DHCP server on a real socket; what it sends is caught, so that no port 68 is needed."""

import asyncio
import fcntl
import socket
import struct
import termios
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv4Network
from typing import TypeVar

from tests import golden
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.server import DhcpServer
from tinkbox.model import limits
from tinkbox.model.boot import Boot, Client, Plan, Silence, Stage
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.leases import Lease, LeaseState, Subnet
from tinkbox.model.sightings import Fact, Note
from tinkbox.wire.dhcp.packets import Packet, decode, encode
from tinkbox.wire.dhcp.pxe import BootService

_Seen = TypeVar("_Seen")
SERVICE = BootService(address=IPv4Address("172.30.0.1"), url="http://172.30.0.1")
FIRMWARE, IPXE, INSTALLED = (
    decode(golden.packet(f"dhcp/{name}-discover")) for name in ("ovmf-pxe", "snponly-ipxe", "udhcpc")
)
INTERFACE = Interface(mac=FIRMWARE.mac, address=IPv4Address("172.30.0.5"), netmask=IPv4Address("255.255.255.0"))
OTHER = "02:00:00:00:00:99"
SUBNET = Subnet(network=IPv4Network("172.30.0.0/24"), interface="no-such-if")


async def until(look: Callable[[], _Seen]) -> _Seen:
    """Look until there is something."""
    async with asyncio.timeout(60):
        while not (found := look()):  # noqa: ASYNC110  what is only noted rings no bell
            await asyncio.sleep(0)
        return found


class Lab:
    """A planner that knows two machines, and lends them addresses of `pool` in their order when there is one."""

    def __init__(self, known: Sequence[MacAddress], pool: Sequence[str] = ()) -> None:
        self._known = known
        self.pool = [
            Lease(address=IPv4Address(each), mac=FIRMWARE.mac, state=LeaseState.OFFERED, until=_NEVER, seconds=60)
            for each in pool
        ]
        self.lends = bool(pool)
        self.seen: list[tuple[MacAddress, Stage, str]] = []
        self.facts: list[dict[str, Fact]] = []
        self.begun: list[MacAddress] = []

    def known(self) -> Collection[MacAddress]:
        return self._known

    def knows(self, mac: MacAddress) -> bool:
        return mac in self._known

    def plan_for(self, client: Client, interface: str) -> Plan | None:
        if client.mac not in self._known or (self.lends and not self.pool):
            return None
        boot = Boot.OSIE if client.netboots else Boot.NOTHING
        plan = Plan(boot=boot, hardware_id="h", interface=replace(INTERFACE, mac=client.mac))
        if not self.lends:
            return plan
        lease = self.pool[0]
        return replace(plan, lease=lease, interface=replace(plan.interface, address=lease.address))

    def silence(self, client: Client, interface: str) -> Silence:
        return Silence.NO_ADDRESS if self.knows(client.mac) else Silence.UNKNOWN

    def subnet_of(self, client: Client, interface: str) -> Subnet | None:
        return SUBNET if self.lends else None

    def booted(self, mac: MacAddress) -> None:
        self.begun.append(mac)

    def note(self, mac: MacAddress, notes: Sequence[Note]) -> None:
        for each in notes:
            self.saw(mac, each.stage, each.detail, **each.facts)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self.seen.append((mac, stage, detail))
        self.facts.append(facts)


class Ledger:
    """Lends what the lab has; `disk` is set when it writes, and addresses in `unwritten` it cannot keep."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.disk = asyncio.Event()
        self.disk.set()
        self.unwritten: set[str] = set()
        self.refused: set[str] = set()
        self.liars: set[str] = set()
        self.writes: list[list[str]] = []
        self.back: list[tuple[str, str]] = []
        self.lent_to: dict[MacAddress, Lease] = {}

    def confirm(self, client: Client, address: IPv4Address, subnet: Subnet) -> Lease | None:
        assert subnet == SUBNET
        return None if str(address) in self.refused else self._lab.pool[0]

    async def committed(self, addresses: Collection[IPv4Address]) -> set[IPv4Address]:
        self.writes.append([str(each) for each in addresses])
        await self.disk.wait()
        return {each for each in addresses if str(each) not in self.unwritten}

    def lent(self, client: Client, address: IPv4Address) -> Lease | None:
        return self.lent_to.get(client.mac)

    def release(self, client: Client, address: IPv4Address) -> None:
        self.back.append(("released", str(address)))

    def decline(self, client: Client, address: IPv4Address) -> None:
        self.back.append(("declined", str(address)))

    def proven(self, lease: Lease) -> None:
        self._lab.pool = [replace(each, proven=each.address == lease.address) for each in self._lab.pool]

    def taken(self, address: IPv4Address, by: str) -> bool:
        self.back.append(("taken", str(address)))
        if by in self.liars:
            self._lab.pool = [replace(each, proven=each.address == address) for each in self._lab.pool]
            return True
        self._lab.pool = [each for each in self._lab.pool if each.address != address]
        return False


class Scout:
    """Finds the addresses in `used` in use, by OTHER, and those in `kept` by every machine, once `patience` is set.

    Those in `leaving` it finds in use by every machine one time.
    """

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.kept: set[str] = set()
        self.leaving: set[str] = set()
        self.asked: list[tuple[str, str, str]] = []
        self.begun = asyncio.Event()
        self.patience = asyncio.Event()
        self.patience.set()

    async def occupant(self, address: IPv4Address, interface: str, asker: MacAddress | None = None) -> str | None:
        self.asked.append((str(address), interface, str(asker)))
        self.begun.set()
        await self.patience.wait()
        return OTHER if str(address) in self.used else None

    async def answers(self, address: IPv4Address, mac: MacAddress) -> bool:
        self.asked.append((str(address), "", mac))
        self.begun.set()
        await self.patience.wait()
        if str(address) in self.leaving:
            self.leaving.remove(str(address))
            return True
        return str(address) in self.kept


class Line(socket.socket):
    """Receives for real, after `troubles`; what is sent waits in `sent`, and an address in `unreachable` refuses.

    For each datagram that is read, one of `flood` comes.
    """

    def __init__(self) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_DGRAM)
        self.bind(("127.0.0.1", 0))
        self.setblocking(False)
        self.sent: asyncio.Queue[tuple[bytes, tuple[str, int]]] = asyncio.Queue()
        self.unreachable: set[str] = set()
        self.troubles: list[OSError] = []
        self.flood = b""

    def recv(self, size: int) -> bytes:  # type: ignore[override]
        if self.troubles:
            raise self.troubles.pop()
        datagram = super().recv(size)
        if self.flood:
            super().sendto(self.flood, self.getsockname())
        return datagram

    def sendto(self, datagram: bytes, flags: int, address: tuple[str, int]) -> int:  # type: ignore[override]
        if address[0] in self.unreachable:
            raise OSError(101, "Network is unreachable")
        self.sent.put_nowait((datagram, address))
        return len(datagram)


class Bench:
    def __init__(self, line: Line, lab: Lab) -> None:
        self.line, self.lab, self.ledger, self.scout = line, lab, Ledger(lab), Scout()
        self.server: DhcpServer

    def say(self, *packets: Packet | bytes) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as machine:
            for packet in packets:
                machine.sendto(packet if isinstance(packet, bytes) else encode(packet), self.line.getsockname())

    async def drained(self) -> None:
        """Wait until the server has read everything that was said."""
        waiting = struct.pack("i", 1)
        async with asyncio.timeout(60):
            while any(waiting):
                await asyncio.sleep(0)
                waiting = fcntl.ioctl(self.line, termios.FIONREAD, waiting)

    async def seen(self, stage: Stage) -> str:
        """Wait until a machine was seen at a stage; what was said of it."""
        return await until(lambda: next((detail for _, each, detail in self.lab.seen if each is stage), ""))

    async def hear(self) -> tuple[Packet, tuple[str, int]]:
        datagram, address = await asyncio.wait_for(self.line.sent.get(), 60)
        return decode(datagram), address


@asynccontextmanager
async def serving(
    known: Sequence[MacAddress] = (FIRMWARE.mac, INSTALLED.mac),
    service: BootService = SERVICE,
    pool: Sequence[str] = (),
    preferred: Collection[MacAddress] = (),
    monotonic: Callable[[], float] = lambda: 0.0,  # or what asks too often would depend on how fast this host is
) -> AsyncIterator[Bench]:
    with Line() as line:
        bench = Bench(line, Lab(known, pool))
        rate_limit = RateLimit(bench.lab.knows, monotonic)
        ledger = limits.Ledger(limits.ADDRESS_PROBES, lambda: 0.0)
        room = limits.Room(ledger=ledger, known=lambda mac: mac in preferred)
        bench.server = DhcpServer(line, "no-such-if", bench.lab, bench.ledger, bench.scout, service, rate_limit, room)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(bench.server.serve())
            yield bench
            task.cancel()


_NEVER = datetime(2100, 1, 1, tzinfo=UTC)
