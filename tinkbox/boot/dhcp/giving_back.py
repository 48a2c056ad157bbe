"""RELEASE and DECLINE: RFC 2131 §4.3.3 and §4.3.4.  Neither has an answer, and any host can send one in a machine's name.

Rule 1: a machine that answers ARP at its address, with its own MAC, has not given it back.
Rule 2: a machine that asked for its address again meanwhile has not given it back either.
Behind a relay ARP does not reach the machine: there the message alone counts.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final, Protocol

from tinkbox.boot.dhcp.reporting import DhcpReporter
from tinkbox.model.boot import Client
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease
from tinkbox.model.limits import GIVEN_BACK_AT_ONCE, MAX_GIVEN_BACK

# Seconds before each look after a RELEASE.  Clients send it from the address, and take that off their interface afterwards:
# most within two seconds, dhcpcd on a busy host later.  A machine that declines never had the address there.
LOOKS_AFTER_RELEASE: Final = (2.0, 8.0)
Begin = Callable[[Coroutine[Any, Any, None]], object]


class Lender(Protocol):
    """The leases of machines.

    `lent` is the lease of an address that a machine has now: another object once the machine asked for it again.
    """

    def lent(self, client: Client, address: IPv4Address) -> Lease | None: ...
    def release(self, client: Client, address: IPv4Address) -> None: ...
    def decline(self, client: Client, address: IPv4Address) -> None: ...


class Prober(Protocol):
    """Finds out whether the host with a MAC answers at an address; it does not where nothing can be seen from here."""

    async def answers(self, address: IPv4Address, mac: MacAddress) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _GivenBack:
    client: Client
    address: IPv4Address
    lease: Lease | None
    declined: bool


class GivingBack:
    """What the machines on one interface give back; `begin` starts a task that its owner waits for.

    A machine has one RELEASE and one DECLINE looked into at a time, so that a forged one keeps no true one of the other kind
    out.  One too many is dropped: the lease ends by itself, and a machine that declines does so again.
    """

    def __init__(self, leases: Lender, prober: Prober, reporter: DhcpReporter, begin: Begin) -> None:
        self._leases = leases
        self._prober = prober
        self._reporter = reporter
        self._begin = begin
        self._pending: set[tuple[MacAddress, bool]] = set()
        self._turns = asyncio.Semaphore(GIVEN_BACK_AT_ONCE)

    def released(self, client: Client, address: IPv4Address) -> None:
        """A RELEASE came in a machine's name."""
        lease = self._leases.lent(client, address)
        if lease is not None:
            self._look_into(_GivenBack(client=client, address=address, lease=lease, declined=False))

    def declined(self, client: Client, address: IPv4Address, *, stranger: bool) -> None:
        """A DECLINE came in a machine's name: of an address of a pool, or of its document.

        A stranger without a lease was given nothing: what it says of addresses is no conflict.
        """
        lease = self._leases.lent(client, address)
        if lease is not None or not stranger:
            self._look_into(_GivenBack(client=client, address=address, lease=lease, declined=True))

    def _look_into(self, given: _GivenBack) -> None:
        key = given.client.mac, given.declined
        if key not in self._pending and len(self._pending) < MAX_GIVEN_BACK:
            self._pending.add(key)
            self._begin(self._decide(given))

    async def _decide(self, given: _GivenBack) -> None:
        try:
            uses_it = await self._uses(given)
        finally:
            self._pending.discard((given.client.mac, given.declined))
        if self._leases.lent(given.client, given.address) is not given.lease:
            return
        if uses_it:
            self._reporter.not_given_back(given.client, given.address, declined=given.declined)
        elif given.declined:
            self._leases.decline(given.client, given.address)
            self._reporter.declined(given.client)
        else:
            self._leases.release(given.client, given.address)

    async def _uses(self, given: _GivenBack) -> bool:
        """Whether the machine answers at the address, each time that it is asked."""
        for seconds in (0.0,) if given.declined else LOOKS_AFTER_RELEASE:
            await asyncio.sleep(seconds)
            async with self._turns:
                if not await self._prober.answers(given.address, given.client.mac):
                    return False
        return True
