"""Leases over a real store, with a clock and a disk that tests control."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv4Network

from tests.integration.engine.appliance import Clock, mac
from tinkbox.engine.boot.leases import Leases
from tinkbox.model.boot import Client
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState, Subnet
from tinkbox.store.database import Store

FIRST = IPv4Address("172.30.0.100")
TERM = 600
SUBNET = Subnet(
    network=IPv4Network("172.30.0.0/24"), pool=(FIRST, FIRST + 4), lease_seconds=TERM, interface="provision"
)
BEHIND = Subnet(network=IPv4Network("172.31.0.0/24"), pool=(FIRST + 65_536, FIRST + 65_537), lease_seconds=60)
WIDE = Subnet(network=IPv4Network("172.33.0.0/24"), pool=(FIRST + 196_608, FIRST + 196_615), lease_seconds=TERM)


@dataclass
class Lender:
    """Leases with machines that ask for them; `restart` is what a crash leaves."""

    store: Store
    clock: Clock = field(default_factory=Clock)
    seconds: float = 5_000.0
    reserved: set[IPv4Address] = field(default_factory=set)
    unknown: set[MacAddress] = field(default_factory=set)
    term: int = TERM

    def __post_init__(self) -> None:
        self.leases = Leases(
            self.store, (replace(SUBNET, lease_seconds=self.term), BEHIND, WIDE), self.clock, lambda: self.seconds, lambda each: each in self.reserved,
            lambda each: each not in self.unknown,
        )  # fmt: skip

    async def restart(self, term: int = TERM) -> None:
        self.term = term
        self.__post_init__()
        await self.leases.load()

    def wait(self, seconds: float) -> None:
        self.seconds += seconds
        self.clock.forward(seconds)

    def offer(self, machine: int, wanted: IPv4Address | None = None, subnet: Subnet = SUBNET) -> Lease | None:
        return self.leases.offer(client(machine, wanted), subnet)

    async def acknowledged(self, machine: int, address: IPv4Address, subnet: Subnet = SUBNET) -> bool:
        """Whether a machine that requests an address gets it."""
        if self.leases.confirm(client(machine), address, subnet) is None:
            return False
        return await self.leases.committed([address]) == {address}

    async def bound(self, machine: int, wanted: IPv4Address | None = None) -> IPv4Address:
        """The address of a machine that was offered and lent one."""
        offered = self.offer(machine, wanted)
        assert offered is not None
        assert await self.acknowledged(machine, offered.address)
        return offered.address

    def held(self) -> dict[IPv4Address, LeaseState]:
        return {each.address: each.state for each in self.leases.all()}

    @asynccontextmanager
    async def full_disk(self) -> AsyncIterator[None]:
        await fill(self.store, full=True)
        yield
        await fill(self.store, full=False)


async def fill(store: Store, *, full: bool) -> None:
    """Have the disk take nothing more, or take it again."""
    await store._writer.call(lambda: store._writer.connection.execute(f"PRAGMA query_only = {full}"))


def client(machine: int, wanted: IPv4Address | None = None) -> Client:
    return Client(mac=mac(machine), wanted=wanted, client_id=bytes([1, machine]), hostname=f"machine-{machine}")


def at(number: int) -> IPv4Address:
    return FIRST + number
