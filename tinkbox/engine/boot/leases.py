"""Use-cases of leases: the addresses of pools that are lent to machines, kept over restarts.

Machines are answered from memory, but a lease is acknowledged only when it is on disk.  Terms are measured by a steady
clock: no change of the time of day ends or prolongs them; `until` is for the disk and for people.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address
from typing import NoReturn

from tinkbox.engine.batch_saving import keep_saving
from tinkbox.engine.boot.address_pool import KEPT_OUT, Held, Pool
from tinkbox.engine.boot.conflicts import KEPT_OUT_SECONDS
from tinkbox.model.boot import Client
from tinkbox.model.errors import Unavailable
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Claimant, Lease, LeaseState, Subnet
from tinkbox.model.limits import MAX_DECLINED, worth_telling
from tinkbox.store.database import Store, Tables

OFFER_SECONDS = 60
# Of a machine that no hardware document names: until it asks for what it was offered, and until it asks again.
UNKNOWN_OFFER_SECONDS = 10
UNKNOWN_TERM_SECONDS = 120
_log = logging.getLogger(__name__)


class Leases:
    """The addresses of every pool.

    `reserved` tells which addresses are not to be lent though a pool has them: ours, and those of machines' documents.
    `known` tells which machines a hardware document names: the others share a part of a pool, and have a short first lease.
    """

    def __init__(
        self,
        store: Store,
        subnets: Sequence[Subnet],
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        reserved: Callable[[IPv4Address], bool] = lambda _: False,
        known: Callable[[MacAddress], bool] = lambda _: True,
    ) -> None:
        self._known = known
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._pools = [
            Pool(each, reserved, known) for each in {each.network: each for each in subnets if each.pool}.values()
        ]
        # By number, as in pools.
        self._on_disk: dict[int, Lease] = {}
        self._unsaved: dict[int, IPv4Address] = {}
        self._noted = asyncio.Event()
        self._saving = asyncio.Lock()
        self._exhausted: set[tuple[Pool, bool]] = set()  # of known machines, and of unknown ones
        self._full_ports = 0
        self._not_believed = 0
        self._failing = False

    async def load(self) -> None:
        """Take over what was lent before; once, before anything is served."""
        stored = await self._store.read(lambda tables: tables.leases.all())
        now, today = self._monotonic(), self._clock()
        for lease in sorted(stored, key=lambda each: each.until - timedelta(seconds=each.seconds)):
            pool, _ = self._find(lease.address)
            # The clock may have gone back since: nothing lasts longer than it was lent for.
            left = min((lease.until - today).total_seconds(), lease.seconds)
            if pool is None:
                if left <= 0:
                    self._note(lease.address)
                continue
            self._on_disk[int(lease.address)] = lease
            pool.put(replace(lease, until=today + timedelta(seconds=left)), now + left)
            if lease.state in KEPT_OUT and left > 0:
                pool.conflicts.restored(int(lease.address), now)

    def offer(self, client: Client, subnet: Subnet) -> Lease | None:
        """The address that a machine can have, held for it a minute; None: there is none for it.

        When it is not `proven`, whether somebody else uses it is to be found out before it is offered.
        """
        pool, now = self._pool_of(subnet), self._monotonic()
        if pool is None:
            return None
        had = pool.address_of(client.mac)
        if had is not None and (lent := pool.lent(had, now)) is not None and not pool.is_reserved(had):
            return lent
        if self._hides_port(pool, client, had, now):
            return None
        address = pool.choose(client.mac, client.wanted, now, client.port)
        if had is not None and had is not address and had != address:
            self._note(had)  # it is reserved by now, and the disk still has it as lent
        if address is None:
            self._say_exhausted(pool, client, now)
            return None
        held = pool.held(address)
        if held is not None and pool.holder(address, now) == client.mac:
            lease = held.lease
        else:
            self._exhausted -= {(pool, True), (pool, False)}
            lease = Lease(
                address=address,
                mac=client.mac,
                state=LeaseState.OFFERED,
                until=self._clock(),
                seconds=0,
                port=client.port,
            )
        return self._put(pool, client, lease, OFFER_SECONDS if self._known(client.mac) else UNKNOWN_OFFER_SECONDS)

    def term(self, client: Client, subnet: Subnet) -> int:
        """For how many seconds a machine is lent what it has or is offered, if it asks for that now.

        An unknown one shows that it is there by asking for more time once half of its first, short lease is over.
        """
        pool, full = self._pool_of(subnet), subnet.lease_seconds
        if pool is None or self._known(client.mac):
            return full
        now, had = self._monotonic(), pool.address_of(client.mac)
        held = pool.held(had) if had is not None else None
        left = held.ends - now if held is not None and held.lease.state is LeaseState.BOUND else 0.0
        asks_again = 0 < left <= UNKNOWN_TERM_SECONDS / 2 or left > UNKNOWN_TERM_SECONDS
        return full if asks_again else min(full, UNKNOWN_TERM_SECONDS)

    def confirm(self, client: Client, address: IPv4Address, subnet: Subnet) -> Lease | None:
        """Lend a machine what it was offered, or has, for another term; None: this address is not its own.

        It may be acknowledged once `committed` says so.
        """
        pool = self._pool_of(subnet)
        held = pool.held(address) if pool else None
        if not pool or not held or pool.holder(address, self._monotonic()) != client.mac:
            return None
        self._note(held.lease.address)
        return self._put(pool, client, held.lease, self.term(client, pool.subnet), LeaseState.BOUND)

    async def committed(self, addresses: Collection[IPv4Address]) -> set[IPv4Address]:
        """Wait until what was confirmed is on disk; returns those of these addresses that may be acknowledged.

        A disk that refuses to prolong a lease still has it, as the same machine's: that may be acknowledged.
        """
        try:
            await self.save()
        except Unavailable as error:
            self._say_failing(error)
        asked = {int(each): each for each in addresses}
        kept = {number: each for number, each in asked.items() if self._is_kept(each)}
        for number in asked.keys() - kept.keys():
            self._take_back(asked[number])
        return set(kept.values())

    def proven(self, lease: Lease) -> None:
        """Nobody else answers at an address that was offered."""
        pool, held = self._find(lease.address)
        if pool and held and held.lease.mac == lease.mac:
            pool.put(replace(held.lease, proven=True), held.ends)

    def taken(self, address: IPv4Address, by: str) -> bool:
        """Somebody answers at an address that was offered, the host with the MAC `by`, where that shows.

        It is kept out of the pool for a while.  Returns whether it is lent all the same, since that host answers for more
        addresses than any has.
        """
        pool, held = self._find(address)
        if not pool or not held:
            return False
        known, now = self._known(held.lease.mac), self._monotonic()
        seconds = pool.conflicts.answered(int(address), by, now, needed=known)
        if seconds:
            self._keep_out(pool, held, LeaseState.TAKEN, seconds, f"{by or 'somebody'} answers there")
            return False
        pool.put(replace(held.lease, proven=True), held.ends)
        self._not_believed += 1
        if worth_telling(self._not_believed):
            told = dict(pool.conflicts.not_believed(now))
            _log.warning(
                "%s answers for %d addresses of the pool of %s; %s is lent to %s all the same",
                f"one host, {by}," if by and by in told else "somebody, with many MACs or behind a router,",
                told.get(by) or sum(told.values()),
                pool.subnet.network,
                address,
                held.lease.mac,
                extra={"action": "leases.not-believed", "mac": by, "times": self._not_believed},
            )
        return True

    def claimants(self) -> list[Claimant]:
        """The hosts that answer for more addresses than any has."""
        now = self._monotonic()
        return [
            Claimant(
                mac=by,
                network=pool.subnet.network,
                size=pool.conflicts.size,
                addresses=addresses,
                believed=pool.conflicts.believed if by else pool.conflicts.believed_of_all,
                seconds_ago=pool.conflicts.seconds_since(by, now),
            )
            for pool in self._pools
            for by, addresses in pool.conflicts.not_believed(now)
        ]

    def lent(self, client: Client, address: IPv4Address) -> Lease | None:
        """The lease of an address that a machine has now; another object once it asked for more time."""
        pool, _ = self._find(address)
        lease = pool.lent(address, self._monotonic()) if pool else None
        return lease if lease and lease.mac == client.mac else None

    def decline(self, client: Client, address: IPv4Address) -> None:
        """The machine found that somebody else uses the address it was lent: it is kept out for a while."""
        pool, held = self._find(address)
        if not pool or not held or pool.holder(address, self._monotonic()) != client.mac:
            return
        if pool.declined(client.mac, self._monotonic()) < MAX_DECLINED:
            seconds = pool.conflicts.answered(int(address), "", self._monotonic(), needed=False)
            why = f"{client.mac} found that somebody else uses it"
            self._keep_out(pool, held, LeaseState.DECLINED, seconds, why)
        else:
            _log.warning(
                "%s declines %s as well: what is wrong seems to be with the machine itself",
                client.mac,
                address,
                extra={"action": "leases.decline-ignored", "mac": client.mac},
            )

    def release(self, client: Client, address: IPv4Address) -> None:
        """The machine needs its address no more."""
        pool, held = self._find(address)
        now = self._monotonic()
        if pool and held and pool.holder(address, now) == client.mac:
            pool.put(replace(held.lease, state=LeaseState.RELEASED, until=self._clock(), seconds=0), now)
            self._note(address)

    def holder(self, address: IPv4Address) -> MacAddress | None:
        """The machine that an address is lent to now."""
        _, held = self._find(address)
        lent = held is not None and held.lease.state is LeaseState.BOUND and held.ends > self._monotonic()
        return held.lease.mac if held and lent else None

    def lease_at(self, address: IPv4Address) -> Lease | None:
        """The lease of an address that is lent now."""
        _, held = self._find(address)
        return held.lease if held is not None and self.holder(address) is not None else None

    def address_of(self, mac: MacAddress) -> IPv4Address | None:
        """The address that is lent to a machine now."""
        known = (each.address_of(mac) for each in self._pools)
        return next((each for each in known if each is not None and self.holder(each) == mac), None)

    def all(self) -> list[Lease]:
        """Every lease, in the order of the addresses, also those that are over; and every offer that is not."""
        now = self._monotonic()
        known = [held for pool in self._pools for held in pool.everything()]
        return [_shown(held, now) for held in known if held.ends > now or held.lease.state is not LeaseState.OFFERED]

    async def run(self) -> NoReturn:
        """Save what nobody waits for, in batches, for ever."""
        await keep_saving(self._noted, self.save, "what was lent")

    async def save(self) -> None:
        """Save what was noted up to now, together; raises Unavailable when the disk refuses."""
        async with self._saving:
            addresses, self._unsaved = self._unsaved, {}
            found = [(each, self._find(each)[1]) for each in addresses.values()]
            newest = [held.lease for _, held in found if held and held.lease.state is not LeaseState.OFFERED]
            gone = [address for address, held in found if held is None]

            def use_case(tables: Tables) -> None:
                tables.leases.save(newest)
                tables.leases.forget(gone)

            try:
                if newest or gone:
                    await self._store.write(use_case)
                    self._failing = False
            except BaseException:
                self._unsaved |= addresses
                self._noted.set()
                raise
            self._on_disk.update((int(each.address), each) for each in newest)
            for each in gone:
                self._on_disk.pop(int(each), None)

    def _is_kept(self, address: IPv4Address) -> bool:
        """Whether the disk has this address as lent to the machine that has it."""
        _, held = self._find(address)
        kept = self._on_disk.get(int(address))
        return bool(held and kept and kept.state is LeaseState.BOUND and kept.mac == held.lease.mac)

    def _take_back(self, address: IPv4Address) -> None:
        """What could not be kept is only offered: the machine asks again."""
        pool, held = self._find(address)
        if pool and held and held.lease.state is LeaseState.BOUND:
            pool.put(replace(held.lease, state=LeaseState.OFFERED), self._monotonic() + OFFER_SECONDS)

    def _hides_port(self, pool: Pool, client: Client, had: IPv4Address | None, now: float) -> bool:
        """Whether an unknown machine of a network behind a relay asks for its first address, and not through the relay."""
        if pool.subnet.interface or int(client.relay) or self._known(client.mac):
            return False
        return had is None or pool.holder(had, now) != client.mac

    def _put(
        self, pool: Pool, client: Client, lease: Lease, seconds: int, state: LeaseState = LeaseState.OFFERED
    ) -> Lease:
        lease = Lease(
            address=lease.address,
            mac=lease.mac,
            state=state,
            until=self._clock() + timedelta(seconds=seconds),
            seconds=seconds,
            client_id=client.client_id,
            hostname=client.hostname or lease.hostname,
            proven=lease.proven,
            port=lease.port,
        )
        pool.put(lease, self._monotonic() + seconds)
        return lease

    def _keep_out(self, pool: Pool, held: Held, state: LeaseState, seconds: int, why: str) -> None:
        lease = replace(held.lease, state=state, until=self._clock() + timedelta(seconds=seconds), seconds=seconds)
        pool.put(lease, self._monotonic() + seconds)
        self._note(lease.address)
        _log.warning(
            "%s is not lent for %s: %s",
            lease.address,
            "ten minutes" if seconds == KEPT_OUT_SECONDS else f"{seconds} seconds",
            why,
            extra={"action": "leases.kept-out", "mac": lease.mac},
        )

    def _find(self, address: IPv4Address) -> tuple[Pool | None, Held | None]:
        """The pool that has an address, and what was last noted of it."""
        for pool in self._pools:
            if address in pool:
                return pool, pool.held(address)
        return None, None

    def _pool_of(self, subnet: Subnet) -> Pool | None:
        for pool in self._pools:
            if pool.subnet is subnet or pool.subnet.network == subnet.network:
                return pool
        return None

    def _note(self, address: IPv4Address) -> None:
        self._unsaved[int(address)] = address
        self._noted.set()

    def _say_exhausted(self, pool: Pool, client: Client, now: float) -> None:
        known = self._known(client.mac)
        if not known and pool.port_is_full(client.port, now):
            self._say_port_is_full(pool, client)
        elif (pool, known) not in self._exhausted:
            self._exhausted.add((pool, known))
            share = not known and pool.unknown_share_is_full(now)
            _log.warning(
                "%s of the pool of %s is lent or kept out: %s and others get none until one is free, or the pool is made larger",
                "the part for unknown machines" if share else "every address",
                pool.subnet.network,
                client.mac,
                extra={"action": "leases.exhausted", "mac": client.mac},
            )

    def _say_port_is_full(self, pool: Pool, client: Client) -> None:
        self._full_ports += 1
        if worth_telling(self._full_ports):
            _log.warning(
                "unknown machines at the port %r of the relay for %s hold as many addresses of %s as one port may: %s gets none",
                client.circuit,
                client.relay,
                pool.subnet.network,
                client.mac,
                extra={"action": "leases.port-full", "mac": client.mac, "times": self._full_ports},
            )

    def _say_failing(self, error: Unavailable) -> None:
        if not self._failing:
            self._failing = True
            _log.warning("leases are not saved: %s", error, extra={"action": "leases.unsaved"})


def _shown(held: Held, now: float) -> Lease:
    over = held.lease.state is LeaseState.BOUND and held.ends <= now
    return replace(held.lease, state=LeaseState.EXPIRED) if over else held.lease
