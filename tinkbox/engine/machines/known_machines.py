"""The one picture of the known machines in memory: their records by id, MAC, address, agent id and name."""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from dataclasses import replace
from ipaddress import IPv4Address
from itertools import islice, takewhile
from typing import Any

from tinkbox.engine.lookup import only_machine
from tinkbox.engine.turns import in_slices
from tinkbox.model import machine_keys
from tinkbox.model.hardware import Hardware, MacAddress, name_of, names_of, spelled_address, worker_of
from tinkbox.model.labels import Selector
from tinkbox.model.machine_keys import exactly, meant
from tinkbox.model.text import natural
from tinkbox.store.hardware import MachineRecord


class KnownMachines:
    """Looked up by everybody who answers machines, so nothing here waits for a disk.

    `take` and `forget` follow what was committed; `note` keeps what was learned since, which is saved later.
    """

    def __init__(self) -> None:
        self._records: dict[str, MachineRecord] = {}
        self._sorted: list[str] = []  # their ids, or none since one came or went
        self._by_mac: dict[str, str] = {}
        self._by_address: dict[str, str] = {}
        self._by_agent: dict[str, str] = {}
        self._by_name: dict[str, dict[str, None]] = {}  # names and hostnames, which several may have

    def all(self) -> Collection[MachineRecord]:
        """Every record, oldest first."""
        return self._records.values()

    def get(self, hardware_id: str) -> MachineRecord | None:
        """The record of the machine with exactly this id."""
        return self._records.get(hardware_id)

    def name(self, hardware_id: str) -> str:
        """What people call the machine of exactly this id; empty where it has no name, or there is none."""
        record = self._records.get(hardware_id)
        return name_of(record.hardware) if record else ""

    def having(self, mac: MacAddress) -> MachineRecord | None:
        """The record of the machine that has a MAC."""
        return self._records.get(self._by_mac.get(mac, ""))

    def find(self, key: str) -> MachineRecord:
        """The record that a key, as `Machines` takes it, means.  Raises NotFound, or Conflict when it fits several."""
        found = only_machine(meant(self, key), key, lambda ids: [self._records[each].hardware for each in ids])
        return self._records[found]

    def key(self, hardware: Hardware) -> str:
        """What means this machine and no other (`machine_keys.key`)."""
        return machine_keys.key(self, hardware.id, name_of(hardware))

    def means_any(self, key: str) -> bool:
        """Whether a key is the whole id, an address or a name of any machine."""
        return bool(exactly(self, key))

    def has(self, hardware_id: str) -> bool:
        """Whether there is a machine with exactly this id."""
        return hardware_id in self._records

    def at(self, address: str) -> str:
        """The id of the machine that has this MAC or id, however these are spelled, IPv4 address or agent id; empty: none has."""
        spelled = spelled_address(address)
        for holders in (self._by_address, self._by_mac, self._by_agent):
            if spelled in holders:
                return holders[spelled]
        return spelled if spelled in self._records else ""

    def named(self, name: str) -> list[str]:
        """The ids of the machines that have this name, or an interface with this hostname."""
        return list(self._by_name.get(name, ()))

    def worker_named(self, name: str) -> str:
        """What templates call the only machine that has this name or hostname (`worker_of`); empty where none has, or several."""
        ids = self.named(name)
        return worker_of(self._records[ids[0]].hardware) if len(ids) == 1 else ""

    def beginning(self, letters: str) -> list[str]:
        """The ids that begin with these small letters."""
        self._sorted = self._sorted or sorted(self._records)
        first = bisect_left(self._sorted, letters)
        return list(takewhile(lambda each: each.startswith(letters), islice(self._sorted, first, None)))

    async def by_name(self) -> list[str]:
        """The ids of all machines, in the order in which people sort their names; those without one last."""
        places = await in_slices(_place, self._records.values())
        return [identity for _, identity in sorted(places, key=lambda each: each[0])]

    def selected(self, selector: Selector) -> list[MachineRecord]:
        """The records of the machines with labels that it selects, oldest first; without those that are retired."""
        return [
            record
            for record in self._records.values()
            if record.retired is None and selector.matches(record.hardware.labels)
        ]

    def holder(self, mac: MacAddress) -> str:
        """The id of the machine that has a MAC, empty when none has."""
        return self._by_mac.get(mac, "")

    def knows(self, mac: str) -> bool:
        """Whether a known machine has a MAC."""
        return mac in self._by_mac

    def mac_at(self, address: str) -> MacAddress | None:
        """The MAC of the interface that an IPv4 address is reserved for."""
        record = self._records.get(self._by_address.get(address, ""))
        interface = record.hardware.interface(address) if record else None
        return interface.mac if interface else None

    def reserves(self, address: IPv4Address) -> bool:
        """Whether an IPv4 address is reserved for a machine, with or without a MAC."""
        return str(address) in self._by_address

    def address_of(self, mac: MacAddress) -> IPv4Address | None:
        """The IPv4 address that is reserved for the interface with a MAC."""
        record = self.having(mac)
        return next((each.address for each in record.hardware.interfaces if each.mac == mac), None) if record else None

    def macs(self) -> Collection[MacAddress]:
        """The MACs of every known machine."""
        return [each.mac for record in self._records.values() for each in record.hardware.interfaces]

    def cards(self, mac: MacAddress) -> list[MacAddress]:
        """All MACs of the machine that has this one; none when nobody knows it."""
        record = self.having(mac)
        return [each.mac for each in record.hardware.interfaces] if record else []

    def macs_of(self, ids: Iterable[str]) -> set[MacAddress]:
        """The MACs of those of these machines that are known."""
        records = [self._records[each] for each in ids if each in self._records]
        return {interface.mac for record in records for interface in record.hardware.interfaces}

    def note(self, record: MachineRecord) -> None:
        """Keep what was learned of a known machine's boot."""
        self._records[record.hardware.id] = record

    def take(self, records: Iterable[MachineRecord]) -> None:
        """Take over the records of machines as they are stored."""
        for stored in records:
            identity = stored.hardware.id
            known = self._records.get(identity)
            if known is None:
                self._sorted = []
            if known is None or known.hardware is not stored.hardware:
                self._unlink(identity)
                self._link(stored)
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

    def forget(self, ids: Iterable[str]) -> None:
        """Forget machines that were deleted."""
        for hardware_id in ids:
            self._unlink(hardware_id)
            self._records.pop(hardware_id, None)
        self._sorted = []

    def _link(self, record: MachineRecord) -> None:
        """Let what a machine is looked up by lead to its id."""
        identity = record.hardware.id
        for interface in record.hardware.interfaces:
            self._by_mac[interface.mac] = identity
        for address in record.hardware.addresses:
            self._by_address[str(address)] = identity
        if record.hardware.agent_id:
            self._by_agent[record.hardware.agent_id] = identity
        for name in names_of(record.hardware):
            self._by_name.setdefault(name, {})[identity] = None

    def _unlink(self, hardware_id: str) -> None:
        """Let nothing lead to a machine any more but its id."""
        record = self._records.get(hardware_id)
        if record is None:
            return
        for interface in record.hardware.interfaces:
            # Another machine may have taken a card over already.
            if self._by_mac.get(interface.mac) == hardware_id:
                del self._by_mac[interface.mac]
        for address in map(str, record.hardware.addresses):
            if self._by_address.get(address) == hardware_id:
                del self._by_address[address]
        if self._by_agent.get(record.hardware.agent_id) == hardware_id:
            del self._by_agent[record.hardware.agent_id]
        for name in names_of(record.hardware):
            so_called = self._by_name.get(name, {})
            so_called.pop(hardware_id, None)
            if not so_called:
                self._by_name.pop(name, None)


def _place(record: MachineRecord) -> tuple[Any, str]:
    """What sorts a machine by its name, and its id."""
    name = name_of(record.hardware)
    return (not name, natural(name)), record.hardware.id
