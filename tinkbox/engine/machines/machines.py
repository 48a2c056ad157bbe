"""Use-cases of machines: what we were told about them, and how far their boots have come.

Booting machines are answered from memory; what is noted about them is saved in batches.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NoReturn

from tinkbox.engine.batch_saving import keep_saving
from tinkbox.engine.lookup import only
from tinkbox.engine.machines.boot_plan import BootFacts, parked_reason
from tinkbox.engine.timeline.sighting_rules import Entry
from tinkbox.engine.timeline.stalls import stalled
from tinkbox.engine.timeline.timeline import Timeline
from tinkbox.engine.wakeups import CHANGES, RETURNS, Wakeups
from tinkbox.model.boot import Stage, Supply
from tinkbox.model.errors import Conflict, Denied, Invalid
from tinkbox.model.hardware import Hardware, MacAddress, primary
from tinkbox.model.sightings import Fact
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import MachineRecord
from tinkbox.wire.messages.worker import Credential

REMEMBERED_BOOTS = 16
_BOOT_PROGRESS = (Stage.SCRIPT, Stage.SUPPLIED, Stage.KERNEL, Stage.RAMDISK)
_BOOTS = frozenset({Stage.SCRIPT, Stage.SUPPLIED})


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineStatus:
    """A machine as an operator sees it; `parked` is the reason, or empty, `stalled` how long it got no further."""

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
    stalled: str = ""


class Machines:
    """Hardware, permissions to boot and credentials; `timeline` is what was seen of every machine, known or not.

    Wherever a `key` is asked, it is an id, a unique beginning of one, a MAC, an IPv4 address, a hostname or a name.
    `returned` holds the attempts whose machines went away by intention and were seen booting since.
    `supply` tells, from memory, what the workflow of a machine, by its id, supplies for its boot.
    """

    def __init__(
        self,
        store: Store,
        wakeups: Wakeups,
        clock: Callable[[], datetime],
        new_token: Callable[[], str],
        supply: Callable[[str], Supply | None] = lambda _: None,
    ) -> None:
        self._store = store
        self._wakeups = wakeups
        self._clock = clock
        self._new_token = new_token
        self._supply = supply
        self._records: dict[str, MachineRecord] = {}
        self._by_mac: dict[str, str] = {}
        self._by_address: dict[str, str] = {}
        self._by_token: dict[bytes, str] = {}
        self._workflow_names: dict[str, str] = {}
        self._past_boots: dict[str, deque[str]] = {}
        self._boot_facts: dict[MacAddress, tuple[MachineRecord, BootFacts]] = {}
        self.returned: set[str] = set()
        self.timeline = Timeline(store, clock, lambda: wakeups.wake(CHANGES), self._by_mac.__contains__)
        self._changed: set[str] = set()
        self._noted = asyncio.Event()

    async def load(self) -> None:
        """Fill the picture in memory; once, before anything is served."""
        self._picture(await self._store.read(lambda tables: tables.hardware.all()))
        for workflow in await self._store.read(lambda tables: tables.workflows.unfinished_and_newest(0)):
            self._name_workflow(workflow.name, [each.action.worker for each in workflow.actions])
        await self.timeline.load()

    async def push(self, *machines: Hardware) -> None:
        """Store machines, or replace those with their ids, all or none; they start their boots anew.

        Raises Conflict when another machine has one of their MACs, addresses or agent ids.
        """
        now = self._clock()
        tokens = [self._new_token() for _ in machines]

        def use_case(tables: Tables) -> None:
            for hardware, token in zip(machines, tokens, strict=True):
                for claim, holder in tables.hardware.holders(hardware):
                    raise Conflict(f"conflicting hardware {_claimed(hardware, claim)}: machine {holder} has it already")
                tables.hardware.upsert(hardware, token, now)

        await self._store.write(use_case)
        ids = [each.id for each in machines]
        await self.refresh(ids)
        self._begin_anew(ids)
        self._wakeups.wake(CHANGES)

    async def all(self) -> list[MachineStatus]:
        """Every machine, oldest first."""
        return [self._status(record) for record in self._records.values()]

    async def get(self, key: str) -> MachineStatus:
        """Raises NotFound, or Conflict when the key fits several."""
        return self._status(self._find(key))

    async def delete(self, key: str) -> str:
        """Forget a machine; returns its id.  Raises Conflict while a workflow still needs it."""
        hardware_id = self._find(key).hardware.id

        def use_case(tables: Tables) -> None:
            needing = tables.workflows.needing(hardware_id)
            if needing:
                raise Conflict(f"workflow {needing[0]} is not over and needs machine {hardware_id}: delete that first")
            tables.hardware.delete(hardware_id)

        await self._store.write(use_case)
        await self.refresh([hardware_id])
        self._wakeups.wake(CHANGES)
        return hardware_id

    def credential(self, key: str, server: str, registry: str) -> Credential:
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

    # What booting machines ask.  Nothing below waits for a disk.

    def boot_facts(self, mac: MacAddress) -> BootFacts | None:
        """What is decided from about a machine that boots; None when it is unknown.

        It is the same object for as long as nothing of it has changed, so that what was made of it can be kept.
        """
        record = self._records.get(self._by_mac.get(mac, ""))
        if record is None:
            return None
        hardware_id = record.hardware.id
        workflow, supply = self._workflow_names.get(hardware_id, ""), self._supply(hardware_id)
        before, facts = self._boot_facts.get(mac, (None, None))
        if before is record and facts is not None and facts.supply == supply and facts.workflow == workflow:
            return facts
        interface = record.hardware.interface(mac)
        if interface is None:
            return None
        newest = BootFacts(
            hardware_id=hardware_id,
            interface=interface,
            ticket=record.ticket,
            installed=record.installed,
            boots=record.boots,
            furthest=record.furthest,
            left=bool(record.leaving) and not record.wanted,
            workflow=workflow,
            supply=supply,
        )
        facts = facts if facts == newest else newest
        self._boot_facts[mac] = record, facts
        return facts

    def mac_at(self, address: str) -> MacAddress | None:
        """The MAC of the interface that an IPv4 address is reserved for."""
        record = self._records.get(self._by_address.get(address, ""))
        interface = record.hardware.interface(address) if record else None
        return interface.mac if interface else None

    def macs(self) -> Collection[MacAddress]:
        """The MACs of every known machine."""
        return [each.mac for record in self._records.values() for each in record.hardware.interfaces]

    def cards(self, mac: MacAddress) -> list[MacAddress]:
        """All MACs of the machine that has this one; none when nobody knows it."""
        record = self._records.get(self._by_mac.get(mac, ""))
        return [each.mac for each in record.hardware.interfaces] if record else []

    def holder(self, mac: MacAddress) -> str:
        """The id of the machine that has a MAC, empty when none has."""
        return self._by_mac.get(mac, "")

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None:
        """Note that a machine, known or not, was seen at a stage of its boot: `detail` for people, `facts` for rules."""
        self.noted(mac, stage, detail, facts)

    def noted(self, mac: MacAddress, stage: Stage, detail: str, facts: Mapping[str, Fact]) -> None:
        """The same."""
        newest = self.timeline.noted(mac, stage, detail, facts)
        if newest is not None and (hardware_id := self._by_mac.get(mac)):
            self._note(hardware_id, stage, newest)

    def booted(self, mac: MacAddress) -> None:
        """Note that a machine is in its first minutes: one that went away by intention is back."""
        record = self._records.get(self._by_mac.get(mac, ""))
        if record is not None and record.leaving:
            self.returned.add(record.leaving)
            self._wakeups.wake(RETURNS)

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
            self.saw(self._seen_last(record.hardware), Stage.WORKER, boot_id=boot_id)
        elif record.boots:
            self._remember(hardware_id)

    async def run(self) -> NoReturn:
        """Save how far boots have come, in batches, for ever; `timeline` saves what was seen."""
        await keep_saving(self._noted, self._save, "the progress of boots")

    async def save(self) -> None:
        """Save what was noted up to now, also what was seen."""
        try:
            await self._save()
        finally:
            await self.timeline.save()

    async def _save(self) -> None:
        changed, self._changed = self._changed, set()
        records = [self._records[each] for each in changed if each in self._records]
        try:
            await self._store.write(lambda tables: tables.hardware.save_progress(records))
        except BaseException:
            self._changed |= changed
            raise

    async def refresh(self, ids: Iterable[str]) -> None:
        """Take over what was just committed about these machines."""
        wanted = list(ids)
        stored = await self._store.read(lambda tables: tables.hardware.some(wanted))
        there = {record.hardware.id for record in stored}
        before = self._macs(wanted)
        for gone in set(wanted) - there:
            self._forget(gone)
        self._picture(stored)
        self.timeline.forget(mac for mac in before if mac not in self._by_mac)

    def tickets_granted(self, ids: Iterable[str], workflow_name: str) -> None:
        """A workflow was created for these machines: their boots are counted anew."""
        self._name_workflow(workflow_name, ids)
        self._begin_anew(ids)

    def _macs(self, ids: Iterable[str]) -> set[MacAddress]:
        records = [self._records[each] for each in ids if each in self._records]
        return {interface.mac for record in records for interface in record.hardware.interfaces}

    def _status(self, record: MachineRecord) -> MachineStatus:
        mac = self._seen_last(record.hardware)
        newest = self.timeline.newest(mac)
        return MachineStatus(
            hardware=record.hardware,
            created_at=record.created_at,
            updated_at=record.updated_at,
            ticket=record.ticket,
            installed=record.installed,
            boots=record.boots,
            parked=parked_reason(ticket=record.ticket, boots=record.boots, furthest=record.furthest),
            # It may have been seen before anybody told of it.
            stage=record.stage or (newest.stage if newest else None),
            stage_at=record.stage_at or (newest.at if newest else None),
            last_contact=record.last_contact,
            stalled=stalled(newest, self._clock()) if newest else "",
        )

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
        exact = key.lower() if key.lower() in self._records else self._by_address.get(key, "")
        with suppress(Invalid):
            exact = exact or self.holder(MacAddress(key))
        if exact:
            return self._records[exact]
        found = [
            record
            for record in self._records.values()
            if record.hardware.name == key or any(each.hostname == key for each in record.hardware.interfaces)
        ] or [record for identity, record in self._records.items() if key and identity.startswith(key.lower())]
        return only(found, "hardware", key)

    def _seen_last(self, hardware: Hardware) -> MacAddress:
        """The interface that it boots from: the one that was seen last, else the one it is shown by."""
        seen = [each for each in map(self.timeline.newest, (each.mac for each in hardware.interfaces)) if each]
        return max(seen, key=lambda each: each.at).mac if seen else primary(hardware).mac

    def _note(self, hardware_id: str, stage: Stage, newest: Entry) -> None:
        record = before = self._records[hardware_id]
        if stage in _BOOTS and record.ticket:
            record = replace(record, boots=record.boots + 1)
        if stage in _BOOT_PROGRESS:
            record = replace(record, furthest=max(record.furthest or stage, stage, key=_BOOT_PROGRESS.index))
        if record.stage is not newest.stage or record.stage_at != newest.first.at:
            record = replace(record, stage=newest.stage, stage_at=newest.first.at)
        if record is not before and record != before:
            self._records[hardware_id] = record
            self._remember(hardware_id)

    def _remember(self, hardware_id: str) -> None:
        self._changed.add(hardware_id)
        self._noted.set()
        self._wakeups.wake(CHANGES)

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
            self._boot_facts.pop(interface.mac, None)
            # Another machine may have taken a card over already.
            if self._by_mac.get(interface.mac) == hardware_id:
                del self._by_mac[interface.mac]
            if self._by_address.get(str(interface.address)) == hardware_id:
                del self._by_address[str(interface.address)]


def _claimed(hardware: Hardware, claim: str) -> str:
    what = "MAC address" if ":" in claim else "IP address"
    return f"agent id {claim}" if claim == hardware.agent_id else f"{what} {claim}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()
