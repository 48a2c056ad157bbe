"""The one picture of the known machines in memory: their records by id, MAC, address and name."""

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Final

from tinkbox.engine.lookup import only
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import MacAddress
from tinkbox.model.labels import Selector
from tinkbox.store.hardware import MachineRecord

_BEGINNING: Final = re.compile(r"[0-9A-Fa-f-]{1,36}")  # of an id: for what is none, not all of them are looked through


class KnownMachines:
    """Looked up by everybody who answers machines, so nothing here waits for a disk.

    `take` and `forget` follow what was committed; `note` keeps what was learned since, which is saved later.
    """

    def __init__(self) -> None:
        self._records: dict[str, MachineRecord] = {}
        self._by_mac: dict[str, str] = {}
        self._by_address: dict[str, str] = {}
        self._by_name: dict[str, dict[str, None]] = {}  # names and hostnames, which several may have

    def all(self) -> Collection[MachineRecord]:
        """Every record, oldest first."""
        return self._records.values()

    def get(self, hardware_id: str) -> MachineRecord | None:
        """The record of the machine with exactly this id."""
        return self._records.get(hardware_id)

    def having(self, mac: MacAddress) -> MachineRecord | None:
        """The record of the machine that has a MAC."""
        return self._records.get(self._by_mac.get(mac, ""))

    def find(self, key: str) -> MachineRecord:
        """The record that a key, as `Machines` takes it, means.  Raises NotFound, or Conflict when it fits several."""
        exact = key.lower() if key.lower() in self._records else self._by_address.get(key, "")
        with suppress(Invalid):
            exact = exact or self.holder(MacAddress(key))
        if exact:
            return self._records[exact]
        found = [self._records[each] for each in self._by_name.get(key, ())]
        if not found and _BEGINNING.fullmatch(key):
            found = [record for identity, record in self._records.items() if identity.startswith(key.lower())]
        return only(found, "hardware", key)

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

    def _link(self, record: MachineRecord) -> None:
        """Let what a machine is looked up by lead to its id."""
        identity = record.hardware.id
        for interface in record.hardware.interfaces:
            self._by_mac[interface.mac] = identity
            if interface.address is not None:
                self._by_address[str(interface.address)] = identity
        for name in _names(record):
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
            if self._by_address.get(str(interface.address)) == hardware_id:
                del self._by_address[str(interface.address)]
        for name in _names(record):
            so_called = self._by_name.get(name, {})
            so_called.pop(hardware_id, None)
            if not so_called:
                self._by_name.pop(name, None)


def _names(record: MachineRecord) -> set[str]:
    """What a machine is called: its name, and the hostnames of its interfaces."""
    hardware = record.hardware
    return {hardware.name, *(each.hostname for each in hardware.interfaces)} - {""}
