"""The machines within a scope, looked up as if there were no others, and which work is theirs alone.

So nothing is learned of what is outside.  One rule is for all that is told of a machine within: that it is busy is no secret,
and whoever made it so is.  Of work outside no id, name, reason or message is told, and no other machine (`model.telling`).
"""

from collections.abc import Callable, Collection, Sequence

from tinkbox.engine.lookup import only_machine
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.model import machine_keys
from tinkbox.model.hardware import Hardware, name_of, worker_of
from tinkbox.model.labels import Selector
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.machine_keys import meant
from tinkbox.store.database import Tables
from tinkbox.store.hardware import MachineRecord


class MachinesWithin:
    """Those with the labels of `scope`; None: all.  Keys are as `Machines` takes them."""

    def __init__(self, known: KnownMachines, scope: Selector | None) -> None:
        self._known = known
        self._scope = scope

    def get(self, hardware_id: str) -> MachineRecord | None:
        """The record of the machine with exactly this id."""
        record = self._known.get(hardware_id)
        if record is None or self._scope is None or self._scope.matches(record.hardware.labels):
            return record
        return None

    def find(self, key: str) -> MachineRecord:
        """The record that a key means.  Raises NotFound, or Conflict when it fits several."""
        found = [record for each in meant(self, key) if (record := self.get(each)) is not None]
        by_id = {each.hardware.id: each for each in found}
        return by_id[only_machine(list(by_id), key, lambda ids: [by_id[each].hardware for each in ids])]

    def key(self, hardware: Hardware) -> str:
        """What means this machine and no other of these (`machine_keys.key`)."""
        return machine_keys.key(self, hardware.id, name_of(hardware))

    def ids(self) -> Sequence[str]:
        """The ids of all of them."""
        return [
            each.hardware.id
            for each in self._known.all()
            if self._scope is None or self._scope.matches(each.hardware.labels)
        ]

    def outside(self, tables: Tables, ids: Collection[str]) -> frozenset[str]:
        """Those of these ids that are no workflow's which has work for these machines alone: what its bearer may not know.

        So is the id of what is no workflow, such as a rollout, or of one that is not there any more.
        """
        if self._scope is None or not ids:
            return frozenset()
        # Of the machines of these alone, for there may be thousands: shells are asked about with each change.
        within = [each for each in tables.workflows.concerned(ids) if self.get(each) is not None]
        wanted = WorkflowListing(among=list(ids), within=within)
        return frozenset(ids).difference(tables.workflows.listed_ids(wanted)[0])

    def has(self, hardware_id: str) -> bool:
        return self.get(hardware_id) is not None

    def at(self, address: str) -> str:
        """The id of the machine that has this MAC or id, however these are spelled, IPv4 address or agent id; empty: none has."""
        found = self._known.at(address)
        return found if self.has(found) else ""

    def named(self, name: str) -> Sequence[str]:
        """The ids of the machines that have this name, or an interface with this hostname."""
        return [each for each in self._known.named(name) if self.has(each)]

    def beginning(self, letters: str) -> Sequence[str]:
        """The ids that begin with these small letters."""
        return [each for each in self._known.beginning(letters) if self.has(each)]

    def worker_named(self, name: str) -> str:
        """What templates call the only machine that has this name or hostname; empty where none has, or several."""
        records = [record for each in self.named(name) if (record := self.get(each)) is not None]
        return worker_of(records[0].hardware) if len(records) == 1 else ""

    def only(self, hardware_at: Callable[[str], str | None]) -> Callable[[str], str | None]:
        """The same question for the id of the machine at an address, answered for these machines alone."""

        def at(address: str) -> str | None:
            found = hardware_at(address)
            return found if found is not None and self.has(found) else None

        return at if self._scope is not None else hardware_at
