"""The use-case of a machine that a person adds by its MAC: it gets a document, and an address where it needs one."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Final

from tinkbox.engine.machines.addressing import RESERVING, Addressing
from tinkbox.engine.machines.hardware_document import Added, Reservation, added_hardware, free_addresses, reservation
from tinkbox.engine.machines.machines import Machines
from tinkbox.model.errors import Conflict, Invalid, Unavailable
from tinkbox.model.hardware import Hardware
from tinkbox.model.leases import LeaseState, Subnet
from tinkbox.store.database import Store, Tables

MOST_ANSWERING: Final = 16
_HELD: Final = (LeaseState.OFFERED, LeaseState.BOUND, LeaseState.DECLINED, LeaseState.TAKEN)
# Whether a host answers at an address that nobody is known to have.
Answers = Callable[[IPv4Address], Awaitable[bool]]


class Additions:
    """Adds machines.  Two that are added at once get two addresses."""

    def __init__(
        self, store: Store, machines: Machines, addressing: Addressing, answers: Answers, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._machines = machines
        self._addressing = addressing
        self._answers = answers
        self._clock = clock

    async def add(self, added: Added, address: str = "", gateway: str = "") -> Hardware:
        """Register a machine; without an `address` it gets the lowest free one, where machines need one of us.

        Raises Conflict for a MAC, name or address of another machine, Invalid for what cannot be, and Unavailable
        when no address is free.
        """
        if gateway and not address:
            raise Invalid("a gateway is told together with an address: give both, or neither")
        if address:
            hardware = added_hardware(added, self.reserved(address, gateway))
            await self._machines.add(hardware)
            return hardware
        network, hardware = self.network(), added_hardware(added, None)
        if network is None:
            await self._machines.add(hardware)
            return hardware
        await self._machines.refuse_known(hardware)
        answering: set[IPv4Address] = set()
        while len(answering) < MOST_ANSWERING:
            wanted = await self._store.read(lambda tables: next(self.free(tables, network, answering)))
            if await self.answers(wanted.address.ip):
                answering.add(wanted.address.ip)
                continue
            # Another machine may have been added meanwhile, with this address.
            hardware = added_hardware(added, wanted)
            if await self._machines.add(hardware, if_so=self._is_next(wanted, network, answering)):
                return hardware
        raise too_many_answering(answering)

    def reserved(self, address: str, gateway: str, near: Sequence[IPv4Network] = ()) -> Reservation:
        """The address that a person names, with the gateway and the name servers of its network where it is one of ours.

        Without a prefix it has that of one of our networks, or of those that the machine is `near` to already.
        Raises Invalid for what no machine can have, and Conflict for an address of the appliance.
        """
        told = reservation(address, gateway, [*(each.network for each in self._addressing.subnets), *near])
        own = self._addressing.subnet_of(told.address.ip)
        if own is not None:
            router = own.gateway if own.gateway and own.gateway in told.address.network else None
            router = None if router == told.address.ip else router
            told = replace(told, gateway=told.gateway or router, name_servers=own.name_servers)
        self._refuse_unusable(told)
        return told

    def network_of(self, address: str) -> IPv4Network | None:
        """The network of an address, which may have its prefix; without one that of ours with it.  None: it is not known."""
        if "/" in address:
            return IPv4Interface(address).network
        return next((each.network for each in self._addressing.subnets if IPv4Address(address) in each.network), None)

    async def answers(self, address: IPv4Address) -> bool:
        """Whether a host answers at an address."""
        return await self._answers(address)

    def network(self) -> Subnet | None:
        """Where a machine needs an address of us to boot; None where it gets one in another way."""
        if self._addressing.mode != RESERVING:
            return None
        return next((each for each in self._addressing.subnets if each.interface), None)

    def free(self, tables: Tables, subnet: Subnet, without: Collection[IPv4Address]) -> Iterator[Reservation]:
        """The addresses of a network that no machine has, the lowest first, but those `without`; raises Unavailable at their end."""
        now = self._clock()
        leased = [each.address for each in tables.leases.all() if each.until > now and each.state in _HELD]
        taken = {
            *tables.hardware.addresses(),
            *leased,
            *self._addressing.own,
            *self._addressing.held(),
            *subnet.never_lent,
            *without,
        }
        for address in free_addresses(subnet.network, taken):
            yield Reservation(
                address=IPv4Interface((address, subnet.network.prefixlen)),
                gateway=subnet.gateway,
                name_servers=subnet.name_servers,
            )
        raise Unavailable(
            f"no free address in {subnet.network}: delete a machine that is gone with "
            "`tinkbox hardware delete`, or name an address of another network with --address"
        )

    def _is_next(
        self, wanted: Reservation, subnet: Subnet, answering: Collection[IPv4Address]
    ) -> Callable[[Tables], bool]:
        return lambda tables: next(self.free(tables, subnet, answering)) == wanted

    def _refuse_unusable(self, reserved: Reservation) -> None:
        """Raise Conflict for an address of the appliance, Invalid for one that no host of its network can have."""
        address, network = reserved.address.ip, reserved.address.network
        if reserved.gateway is not None and reserved.gateway not in network:
            raise Invalid(f"the gateway {reserved.gateway} is not on the network {network} of {address}")
        if self._addressing.is_ours(address):
            raise Conflict(f"{address} is the appliance's own address: choose another one")
        if network.num_addresses > 2 and address in (network.network_address, network.broadcast_address):
            raise Invalid(f"{address} is an end of the network {network}, which no host can have: choose another one")


def too_many_answering(answering: Collection[IPv4Address]) -> Unavailable:
    return Unavailable(
        f"hosts that tinkbox does not know answer at {', '.join(map(str, sorted(answering)))}: choose an address with --address"
    )
