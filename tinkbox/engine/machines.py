"""Use-cases of machines: what we were told about them, and how far their boots have come.

Booting machines are answered from memory; what is noted about them is saved in batches.
"""

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn

from tinkbox.engine.bells import CHANGES, RETURNS, Bells
from tinkbox.engine.plan import BootFacts, boot_plan, netboot_plan, parked_reason
from tinkbox.engine.templates import only
from tinkbox.model.boot import Client, Plan, Stage, Supply
from tinkbox.model.errors import Conflict, Denied, Unavailable
from tinkbox.model.hardware import Hardware, Interface, MacAddress
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord, Sighting
from tinkbox.wire.worker import Credential

SAVE_EVERY = 0.25
RETRY_SAVING = 5.0
MAX_UNSAVED = 10_000
REMEMBERED_BOOTS = 16
_BOOT_PROGRESS = (Stage.SCRIPT, Stage.SUPPLIED, Stage.KERNEL, Stage.RAMDISK)
_BOOTS = frozenset({Stage.SCRIPT, Stage.SUPPLIED})
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineStatus:
    """A machine as an operator sees it; `parked` is the reason, or empty."""

    hardware: Hardware
    created_at: datetime
    updated_at: datetime
    ticket: bool
    installed: bool
    boots: int
    parked: str
    stage: Stage | None
    stage_at: datetime | None
    last_contact: datetime | None


class Machines:
    """Hardware, permissions to boot, credentials, and the boot timeline.

    Wherever a `key` is asked, it is an id, a unique beginning of one, a MAC, an IPv4 address, a hostname or a name.
    `returned` holds the attempts whose machines went away by intention and were seen booting since.
    `supply` tells, from memory, what the workflow of a machine, by its id, supplies for its boot.
    """

    def __init__(
        self,
        store: Store,
        bells: Bells,
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
        supply: Callable[[str], Supply | None] = lambda _: None,
    ) -> None:
        self._store = store
        self._bells = bells
        self._clock = clock
        self._new_token = new_token
        self._supply = supply
        self._records: dict[str, MachineRecord] = {}
        self._by_mac: dict[str, str] = {}
        self._by_address: dict[str, str] = {}
        self._by_token: dict[bytes, str] = {}
        self._workflow_names: dict[str, str] = {}
        self._past_boots: dict[str, deque[str]] = {}
        self.returned: set[str] = set()
        self._sightings: list[Sighting] = []
        self._changed: set[str] = set()
        self._noted = asyncio.Event()

    async def load(self) -> None:
        """Fill the picture in memory; once, before anything is served."""
        async with self._store.read() as tables:
            self._picture(await tables.hardware.all())
            waiting = await tables.workflows.unfinished_and_newest(0)
        for workflow in waiting:
            self._name_workflow(workflow.name, [each.action.worker for each in workflow.actions])

    async def push(self, *machines: Hardware) -> None:
        """Store machines, or replace those with their ids, all or none; they start their boots anew.

        Raises Conflict when another machine has one of their MACs, addresses or agent ids.
        """
        now = self._clock()
        tokens = [self._new_token() for _ in machines]

        async def use_case(tables: Tables) -> None:
            for hardware, token in zip(machines, tokens, strict=True):
                for claim, holder in await tables.hardware.holders(hardware):
                    raise Conflict(f"conflicting hardware {_claimed(hardware, claim)}: machine {holder} has it already")
                await tables.hardware.upsert(hardware, token, now)

        await self._store.write(use_case)
        ids = [each.id for each in machines]
        await self.refresh(ids)
        self._begin_anew(ids)
        self._bells.ring(CHANGES)

    async def all(self) -> list[MachineStatus]:
        """Every machine, oldest first."""
        return [_status(record) for record in self._records.values()]

    async def get(self, key: str) -> MachineStatus:
        """Raises NotFound, or Conflict when the key fits several."""
        return _status(self._find(key))

    async def delete(self, key: str) -> str:
        """Forget a machine; returns its id.  Raises Conflict while a workflow still needs it."""
        hardware_id = self._find(key).hardware.id

        async def use_case(tables: Tables) -> None:
            needing = await tables.workflows.needing(hardware_id)
            if needing:
                raise Conflict(f"workflow {needing[0]} is not over and needs machine {hardware_id}: delete that first")
            await tables.hardware.delete(hardware_id)

        await self._store.write(use_case)
        await self.refresh([hardware_id])
        self._bells.ring(CHANGES)
        return hardware_id

    async def credential(self, key: str, server: str, registry: str) -> Credential:
        """The identity of the worker on this machine, for the node door at `server`."""
        record = self._find(key)
        return Credential(server=server, registry=registry, worker=record.hardware.id, token=record.token)

    def authenticate(self, token: str) -> str:
        """The id of the machine whose worker holds this token; raises Denied when there is none."""
        # Looked up by its hash, so that the time it takes says nothing about the tokens there are.
        hardware_id = self._by_token.get(_digest(token))
        if hardware_id is None:
            raise Denied("this is no credential of a machine known here")
        return hardware_id

    async def timeline(self, key: str) -> list[Sighting]:
        """The machine's boot timeline, oldest first."""
        hardware_id = self._find(key).hardware.id
        unsaved = [each for each in self._sightings if each.hardware_id == hardware_id]
        async with self._store.read() as tables:
            return await tables.hardware.sightings(hardware_id) + unsaved

    # What booting machines ask.  Nothing below waits for a disk.

    def boot_plan(self, client: Client) -> Plan | None:
        """What to tell a machine that asks by DHCP; None is silence."""
        facts = self._facts(client.mac)
        return boot_plan(facts, client) if facts else None

    def script_plan(self, mac: MacAddress, peer: str) -> Plan | None:
        """What to tell a machine that asks for its boot script from the IPv4 address `peer`.

        None when it is unknown, not permitted, or asks from another address than its own.
        """
        facts = self._facts(mac)
        if facts is None or (facts.interface.address is not None and str(facts.interface.address) != peer):
            return None
        return netboot_plan(facts)

    def at(self, address: str) -> str:
        """The id of the machine that has an IPv4 address, empty when none has."""
        return self._by_address.get(address, "")

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "") -> None:
        """Note that a machine was seen at a stage of its boot; unknown ones are not noted."""
        hardware_id = self._by_mac.get(mac)
        if hardware_id is not None:
            self._note(hardware_id, stage, detail)

    def saw_address(self, address: str, stage: Stage, detail: str = "") -> None:
        """The same for a machine that is known by its IPv4 address only."""
        hardware_id = self._by_address.get(address)
        if hardware_id is not None:
            self._note(hardware_id, stage, detail)

    def booted(self, mac: MacAddress) -> None:
        """Note that a machine is in its first minutes: one that went away by intention is back."""
        record = self._records.get(self._by_mac.get(mac, ""))
        if record is not None and record.leaving:
            self.returned.add(record.leaving)
            self._bells.ring(RETURNS)

    def loader_fetched(self, peer: str, name: str, size: int, seconds: float, retransmissions: int) -> None:
        """Note that a machine has its boot loader, and how well the transfer went."""
        self.saw_address(peer, Stage.LOADER, f"{name}, {size} bytes in {seconds:.1f} s, {retransmissions} sent again")

    def contact(self, hardware_id: str, boot_id: str) -> None:
        """Note that the worker is in touch: progress, so the boots are counted anew.

        Raises Conflict for a worker of an earlier boot: it is gone, only its question was still under way.
        """
        record = self._records.get(hardware_id)
        if record is None:
            raise Denied("this machine was deleted meanwhile")
        past = self._past_boots.setdefault(hardware_id, deque(maxlen=REMEMBERED_BOOTS))
        if boot_id in past:
            raise Conflict("this machine has booted again since: its earlier worker gets nothing any more")
        first = record.boot_id != boot_id
        if first and record.boot_id:
            past.append(record.boot_id)
        now = self._clock()
        self._records[hardware_id] = replace(record, boot_id=boot_id, last_contact=now, boots=0, furthest=None)
        if first:
            self._note(hardware_id, Stage.WORKER, "")
        elif record.boots:
            self._remember(hardware_id)

    async def run(self) -> NoReturn:
        """Save what was noted, in batches, for ever."""
        while True:
            await self._noted.wait()
            await asyncio.sleep(SAVE_EVERY)
            self._noted.clear()
            try:
                await self.save()
            except Unavailable as error:
                _log.warning("the boot timeline is not saved: %s", error, extra={"action": "machines.unsaved"})
                await asyncio.sleep(RETRY_SAVING)
                self._noted.set()

    async def save(self) -> None:
        """Save what was noted up to now; what a full disk refuses waits, the newest of it."""
        sightings, self._sightings = self._sightings, []
        changed, self._changed = self._changed, set()
        records = [self._records[each] for each in changed if each in self._records]
        try:
            await self._store.write(lambda tables: tables.hardware.save_progress(records, sightings))
        except BaseException:
            self._sightings = (sightings + self._sightings)[-MAX_UNSAVED:]
            self._changed |= changed
            raise

    async def refresh(self, ids: Iterable[str]) -> None:
        """Take over what was just committed about these machines."""
        wanted = list(ids)
        async with self._store.read() as tables:
            stored = await tables.hardware.some(wanted)
        there = {record.hardware.id for record in stored}
        for gone in set(wanted) - there:
            self._forget(gone)
        self._picture(stored)

    def tickets_granted(self, ids: Iterable[str], workflow_name: str) -> None:
        """A workflow was created for these machines: their boots are counted anew."""
        self._name_workflow(workflow_name, ids)
        self._begin_anew(ids)

    def _begin_anew(self, ids: Iterable[str]) -> None:
        for hardware_id in ids:
            record = self._records.get(hardware_id)
            if record is not None:
                self._records[hardware_id] = replace(record, boots=0, furthest=None)
                self._remember(hardware_id)

    def _name_workflow(self, name: str, ids: Iterable[str]) -> None:
        for hardware_id in ids:
            self._workflow_names[hardware_id] = name

    def _find(self, key: str) -> MachineRecord:
        by_address = self._by_mac.get(key.lower()) or self._by_address.get(key)
        exact = by_address or (key.lower() if key.lower() in self._records else None)
        if exact:
            return self._records[exact]
        found = [
            record
            for record in self._records.values()
            if record.hardware.name == key or any(each.hostname == key for each in record.hardware.interfaces)
        ] or [record for identity, record in self._records.items() if key and identity.startswith(key.lower())]
        return only(found, "hardware", key)

    def _facts(self, mac: MacAddress) -> BootFacts | None:
        record = self._records.get(self._by_mac.get(mac, ""))
        interface = record.hardware.interface(mac) if record else None
        if record is None or interface is None:
            return None
        return BootFacts(
            hardware_id=record.hardware.id,
            interface=interface,
            ticket=record.ticket,
            installed=record.installed,
            boots=record.boots,
            furthest=record.furthest,
            left=bool(record.leaving) and not record.wanted,
            workflow=self._workflow_names.get(record.hardware.id, ""),
            supply=self._supply(record.hardware.id),
        )

    def _note(self, hardware_id: str, stage: Stage, detail: str) -> None:
        record, now = self._records[hardware_id], self._clock()
        if stage is Stage.SERVICES and record.stage is stage:
            return  # it asks every other second, for as long as it takes
        if stage in _BOOTS and record.ticket:
            record = replace(record, boots=record.boots + 1)
        if stage in _BOOT_PROGRESS:
            record = replace(record, furthest=max(record.furthest or stage, stage, key=_BOOT_PROGRESS.index))
        self._records[hardware_id] = replace(record, stage=stage, stage_at=now)
        self._sightings.append(Sighting(hardware_id=hardware_id, at=now, stage=stage, detail=detail[:500]))
        self._remember(hardware_id)

    def _remember(self, hardware_id: str) -> None:
        self._changed.add(hardware_id)
        self._noted.set()
        self._bells.ring(CHANGES)

    def _picture(self, records: Iterable[MachineRecord]) -> None:
        for stored in records:
            identity = stored.hardware.id
            known = self._records.get(identity)
            self._forget(identity, keep=True)
            if known is not None:
                # What was noted since is newer than what is stored.
                stored = replace(
                    stored,
                    boots=known.boots,
                    furthest=known.furthest,
                    stage=known.stage,
                    stage_at=known.stage_at,
                    boot_id=known.boot_id,
                    last_contact=known.last_contact,
                )
            self._records[identity] = stored
            self._by_token[_digest(stored.token)] = identity
            for interface in stored.hardware.interfaces:
                self._by_mac[interface.mac] = identity
                if interface.address is not None:
                    self._by_address[str(interface.address)] = identity

    def _forget(self, hardware_id: str, *, keep: bool = False) -> None:
        record = self._records.get(hardware_id)
        if record is None:
            return
        if not keep:
            del self._records[hardware_id]
            self._workflow_names.pop(hardware_id, None)
            self._past_boots.pop(hardware_id, None)
        self._by_token.pop(_digest(record.token), None)
        for interface in record.hardware.interfaces:
            self._by_mac.pop(interface.mac, None)
            self._by_address.pop(str(interface.address), None)


def primary(hardware: Hardware) -> Interface:
    """The interface a machine is shown by: the first that netboots, else the first."""
    return next((each for each in hardware.interfaces if each.allow_pxe), hardware.interfaces[0])


def _claimed(hardware: Hardware, claim: str) -> str:
    what = "MAC address" if ":" in claim else "IP address"
    return f"agent id {claim}" if claim == hardware.agent_id else f"{what} {claim}"


def _status(record: MachineRecord) -> MachineStatus:
    return MachineStatus(
        hardware=record.hardware,
        created_at=record.created_at,
        updated_at=record.updated_at,
        ticket=record.ticket,
        installed=record.installed,
        boots=record.boots,
        parked=parked_reason(ticket=record.ticket, boots=record.boots, furthest=record.furthest),
        stage=record.stage,
        stage_at=record.stage_at,
        last_contact=record.last_contact,
    )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
