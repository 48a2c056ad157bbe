"""Who is let in of the machines that nobody knows: kept in memory, bounded, and saved in batches.

Whoever only asks by DHCP costs a place in memory for two minutes, and there are not many; a row in the store costs only
who was given its credential.  Nobody who waits is given up for somebody who comes.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NoReturn

from tinkbox.engine.batch_saving import keep_saving
from tinkbox.model.boot import Client, Silence
from tinkbox.model.discovery import Quotas, Standing, Stranger
from tinkbox.model.hardware import MacAddress
from tinkbox.store.database import Store, Tables

# The first reaches the boot script with the slowest firmware; the second the worker, behind a slow network's ramdisk.
PATIENCE: Mapping[Standing, timedelta] = {
    Standing.ASKING: timedelta(minutes=2),
    Standing.BOOTING: timedelta(minutes=30),
}
LOADED = 1_000  # beside those that are refused; more where the quota is larger
ROWS_AT_ONCE = 500  # that one transaction deletes
_ARM64 = frozenset({11, 19})  # processor architecture types (IANA): 64-bit ARM, by TFTP and by HTTP
_log = logging.getLogger(__name__)


class UnknownMachines:
    """The machines that nobody knows, by MAC.  `known` tells whether a MAC is that of hardware.

    How long one was not seen is measured by a steady clock: no change of the time of day forgets anybody.
    """

    def __init__(
        self,
        store: Store,
        known: Callable[[MacAddress], bool],
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        quotas: Quotas,
        forgotten: Callable[[Iterable[MacAddress]], None],
    ) -> None:
        """`forgotten` is told who was dropped."""
        self._store = store
        self._known = known
        self._clock = clock
        self._monotonic = monotonic
        self._quotas = quotas
        self._forgotten = forgotten
        self._strangers: dict[MacAddress, Stranger] = {}
        self._seen_at: dict[MacAddress, float] = {}
        self._full: set[str] = set()
        self._unsaved: set[MacAddress] = set()
        self._noted = asyncio.Event()
        self._looked_behind: str | None = ""  # for those that are stored and were not taken up

    async def load(self) -> None:
        """Take up what is stored; once, before anything is served."""
        most = max(self._quotas.all, LOADED)
        stored = await self._store.read(lambda tables: tables.discovery.some(most))
        for stranger in stored:
            # Nobody could be seen while the appliance was down.
            self.seen(stranger)

    def all(self) -> list[Stranger]:
        """Those that are still nobody's, the one seen first first."""
        return [each for each in self._strangers.values() if not self._known(each.mac)]

    def get(self, mac: MacAddress) -> Stranger | None:
        """One of them, also when it is hardware by now."""
        return self._strangers.get(mac)

    def is_let_in(self, mac: MacAddress) -> bool:
        """Whether a machine may tell what it is."""
        stranger = self._strangers.get(mac)
        return stranger is not None and stranger.standing is not Standing.REFUSED

    def let_in(self, client: Client, interface: str) -> Stranger | None:
        """Whoever netboots, when there is a place; None: there is none, or it was refused, or only wants an address."""
        stranger = self._strangers.get(client.mac)
        if stranger is None:
            stranger = self._newcomer(client, interface) if client.netboots else None
        if stranger is None or stranger.standing is Standing.REFUSED:
            return None
        if client.netboots and client.architecture is not None:
            architecture = "aarch64" if client.architecture in _ARM64 else "x86_64"
            stranger = replace(stranger, architecture=architecture)
        return self.seen(stranger)

    def silence(self, client: Client, interface: str) -> Silence:
        """Why a machine is not let in."""
        full = client.netboots and client.mac not in self._strangers and self._full_by(_port(client, interface))
        return full or Silence.UNKNOWN

    def seen(self, stranger: Stranger) -> Stranger:
        """It is there."""
        stranger = replace(stranger, last_seen=self._clock())
        self._seen_at[stranger.mac] = self._monotonic()
        self._picture(stranger)
        return stranger

    def booting(self, stranger: Stranger) -> Stranger:
        """It was given its credential, so it has to outlive a restart of ours."""
        stranger = replace(stranger, standing=Standing.BOOTING) if stranger.standing is Standing.ASKING else stranger
        self.keep(self.seen(stranger))
        return stranger

    def refuse(self, mac: MacAddress) -> None:
        """Answer it no more, seen or not."""
        now = self._clock()
        stranger = self._strangers.get(mac) or Stranger(
            mac=mac, standing=Standing.REFUSED, port="", first_seen=now, last_seen=now
        )
        self.keep(replace(stranger, standing=Standing.REFUSED, problem=""))

    def keep(self, *strangers: Stranger) -> None:
        """As they stand now, soon also in the store; `save` waits for that."""
        for stranger in strangers:
            self._picture(stranger)
            self._unsaved.add(stranger.mac)
        self._noted.set()

    def drop(self, macs: Iterable[MacAddress]) -> None:
        """Forget these, soon also in the store."""
        dropped = [gone for mac in macs if (gone := self._strangers.pop(mac, None))]
        self._forgotten(each.mac for each in dropped)
        for gone in dropped:
            self._seen_at.pop(gone.mac, None)
            if gone.standing is not Standing.ASKING:
                self._unsaved.add(gone.mac)
                self._noted.set()

    def forget_absent(self) -> None:
        """Drop whoever was not seen for too long."""
        self.drop([each.mac for each in list(self._strangers.values()) if self._is_over(each)])

    async def forget_surplus(self) -> bool:
        """Delete some of those that are stored and were not taken up; whether there may be more of them."""
        if self._looked_behind is None:
            return False
        behind = self._looked_behind
        macs = await self._store.read(lambda tables: tables.discovery.behind(behind, ROWS_AT_ONCE))

        def use_case(tables: Tables) -> list[MacAddress]:
            gone = [each for each in macs if each not in self._strangers and not self._known(each)]
            tables.discovery.forget(gone)
            tables.sessions.forget(gone)
            return gone

        if not self._strangers.keys() >= set(macs):
            self._forgotten(await self._store.write(use_case))
        self._looked_behind = macs[-1] if macs else None
        return bool(macs)

    async def run(self) -> NoReturn:
        """Save what was noted, in batches, for ever."""
        await keep_saving(self._noted, self.save, "who was let in")

    async def save(self) -> None:
        """Save what was noted up to now.  Raises Unavailable, and tries it again with the next batch."""
        unsaved, self._unsaved = self._unsaved, set()

        def use_case(tables: Tables) -> None:
            # As they stand by now: in the writer's queue, an acceptance may have come before.
            there = [stranger for mac in unsaved if (stranger := self._strangers.get(mac)) is not None]
            tables.discovery.put(there)
            gone = unsaved - {each.mac for each in there}
            tables.discovery.forget(gone)
            tables.sessions.forget(gone)

        try:
            await self._store.write(use_case)
        except BaseException:
            self._unsaved |= unsaved
            raise

    def _newcomer(self, client: Client, interface: str) -> Stranger | None:
        port = _port(client, interface)
        if self._full_by(port):
            self.drop([each.mac for each in self.all() if each.standing is Standing.ASKING and self._is_over(each)])
            if self._full_by(port):
                self._say_full(port)
                return None
        self._full.discard(port)
        now = self._clock()
        return Stranger(
            mac=client.mac,
            standing=Standing.ASKING,
            port=port,
            first_seen=now,
            last_seen=now,
        )

    def _full_by(self, port: str) -> Silence | None:
        """Which quota has no place for one more at a port; None: there is a place."""
        there = [each.port for each in self.all() if each.standing is not Standing.REFUSED]
        if len(there) >= self._quotas.all:
            return Silence.DISCOVERY_FULL
        return Silence.PORT_FULL if there.count(port) >= self._quotas.port else None

    def _say_full(self, port: str) -> None:
        """Once, until somebody is let in there again."""
        if port not in self._full and len(self._full) <= self._quotas.all:
            self._full.add(port)
            _log.warning(
                "no more machines that nobody knows are let in at %s: accept or refuse those that wait, or raise "
                "discovery.quota or discovery.port_quota",
                port,
                extra={"action": "discovery.full"},
            )

    def _is_over(self, stranger: Stranger) -> bool:
        if stranger.standing is Standing.REFUSED:
            return False
        unseen = self._monotonic() - self._seen_at[stranger.mac]
        return unseen > PATIENCE.get(stranger.standing, self._quotas.forget).total_seconds()

    def _picture(self, stranger: Stranger) -> None:
        self._strangers[stranger.mac] = stranger


def _port(client: Client, interface: str) -> str:
    """Where a machine asks, for people: the port of its relay, or the interface of ours."""
    return f"{client.relay} {client.circuit}".strip() if int(client.relay) else interface
