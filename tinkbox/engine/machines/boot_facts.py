"""What is decided from about each known machine that boots."""

from collections.abc import Callable, Iterable

from tinkbox.engine.machines.boot_plan import BootFacts
from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.model.boot import Supply
from tinkbox.model.hardware import MacAddress
from tinkbox.store.hardware import MachineRecord


class BootFactsCache:
    """The facts of machines' boots, made from the picture in memory and kept until something of them changes.

    `supply` tells, from memory, what the workflow of a machine, by its id, supplies for its boot, and `boots_by_https`
    whether it boots by HTTPS alone.
    """

    def __init__(
        self, known: KnownMachines, supply: Callable[[str], Supply | None], boots_by_https: Callable[[str], bool]
    ) -> None:
        self._known = known
        self._supply = supply
        self._boots_by_https = boots_by_https
        self._workflow_names: dict[str, str] = {}
        self._kept: dict[MacAddress, tuple[MachineRecord, BootFacts]] = {}

    def of(self, mac: MacAddress) -> BootFacts | None:
        """What is decided from about a machine that boots; None when it is unknown.

        It is the same object for as long as nothing of it has changed, so that what was made of it can be kept.
        """
        record = self._known.having(mac)
        if record is None:
            return None
        hardware_id = record.hardware.id
        workflow, supply = self._workflow_names.get(hardware_id, ""), self._supply(hardware_id)
        https = self._boots_by_https(hardware_id)
        before, facts = self._kept.get(mac, (None, None))
        if (
            before is record
            and facts is not None
            and (facts.supply, facts.workflow, facts.https) == (supply, workflow, https)
        ):
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
            left=bool(record.leaving) and (record.to_disk or not record.wanted),
            retired=record.retired is not None,
            workflow=workflow,
            supply=supply,
            https=https,
        )
        facts = facts if facts == newest else newest
        self._kept[mac] = record, facts
        return facts

    def name_workflow(self, name: str, ids: Iterable[str]) -> None:
        """The newest workflow of these machines is called `name`."""
        for hardware_id in ids:
            self._workflow_names[hardware_id] = name

    def forget(self, macs: Iterable[MacAddress], deleted: Iterable[str]) -> None:
        """Forget what was made of cards that may have moved, and all of the machines with these ids."""
        for mac in macs:
            self._kept.pop(mac, None)
        for hardware_id in deleted:
            self._workflow_names.pop(hardware_id, None)
