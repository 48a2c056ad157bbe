"""Looks for what may belong together: machines that ask with an unknown MAC, and those that are waited for in vain."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from tinkbox.engine.doctor.case import Case, Near
from tinkbox.engine.machines.machines import Machines, MachineStatus
from tinkbox.engine.timeline.sighting_rules import ended_at, is_its_own
from tinkbox.model.alike_macs import alike
from tinkbox.model.hardware import Hardware, MacAddress, primary
from tinkbox.model.inventory import Inventory
from tinkbox.model.sightings import Sighting

# An unknown machine that was seen last before that is none of today's.
_LATELY = timedelta(days=1)
# A person who switched a machine on, and then registered it, did both within that.
_BEFORE_WORKFLOW = timedelta(minutes=10)
# Of so many machines that are waited for in vain the inventories are looked into.
_MOST_INVENTORIES = 50


class Pairing:
    """`inventory` gives what a machine, by its id or its MAC, told of itself."""

    def __init__(
        self,
        machines: Machines,
        inventory: Callable[[str], Awaitable[Inventory | None]],
        clock: Callable[[], datetime],
    ) -> None:
        self._machines = machines
        self._inventory = inventory
        self._clock = clock
        # By the id of a machine, since when it is waited for and what cards it told of before.
        self._cards: dict[str, tuple[datetime, Sequence[MacAddress]]] = {}

    async def waited_for(self, case: Case, waited_for: Mapping[str, datetime]) -> tuple[Near, ...]:
        """Of an unknown machine: those that workflows wait for in vain, and that it may be; the likeliest first."""
        known, mac = self._machines.known, case.mac
        if mac is None or not waited_for:
            return ()
        found: dict[str, Near] = {}
        for each in _cards(case.inventory):
            hardware_id = known.holder(each)
            if hardware_id in waited_for and self._unheard(hardware_id, waited_for):
                found[hardware_id] = Near(mac=each, key=self._key(hardware_id), of_one_machine=True)
        for hardware_id, cards in (await self._told_before(waited_for)).items():
            record = known.get(hardware_id)
            own = primary(record.hardware) if record is not None else None
            if own is not None and mac in cards and hardware_id not in found:
                found[hardware_id] = Near(mac=own.mac, key=self._key(hardware_id), of_one_machine=True)
        asked = ended_at(case.sightings[-1]) if case.sightings else None
        for each in alike(mac):
            hardware_id = known.holder(each)
            if hardware_id not in waited_for or hardware_id in found or not self._asks(asked, waited_for[hardware_id]):
                continue
            if self._never_came(hardware_id) and await self._inventory(hardware_id) is None:
                found[hardware_id] = Near(mac=each, key=self._key(hardware_id))
        return tuple(found.values())

    def unknown(
        self, case: Case, machine: MachineStatus, heard_at: datetime | None, waited_since: datetime | None
    ) -> tuple[Near, ...]:
        """Of a machine that is waited for in vain: the unknown ones that ask, and that it may be; the likeliest first."""
        if case.mac is None or waited_since is None or (heard_at is not None and heard_at >= waited_since):
            return ()
        found = [
            Near(mac=seen.mac, key=machine.key, seen_at=ended_at(seen), of_one_machine=True)
            for seen in self._asking(_cards(case.inventory))
        ]
        # A machine that ever came with its own MAC was registered without a mistake in typing.
        if heard_at is not None or case.inventory is not None:
            return tuple(found)
        found += [
            Near(mac=seen.mac, key=machine.key, seen_at=ended_at(seen))
            for seen in self._asking([*alike(case.mac)])
            if self._asks(ended_at(seen), waited_since)
        ]
        return tuple(found)

    def _asking(self, macs: Sequence[MacAddress]) -> Iterator[Sighting]:
        """What was seen last of those that no hardware document names."""
        for each in macs:
            seen = self._machines.timeline.newest(each)
            if seen is None or self._machines.known.knows(each):
                continue
            if self._clock() - ended_at(seen) <= _LATELY:
                yield seen

    def _asks(self, asked: datetime | None, waited_since: datetime) -> bool:
        """Whether an unknown machine that asked last at this time, None: unknown when, may be one that is waited for since then."""
        return asked is not None and asked >= min(waited_since, self._clock() - _BEFORE_WORKFLOW)

    async def _told_before(self, waited_for: Mapping[str, datetime]) -> Mapping[str, Sequence[MacAddress]]:
        """The cards of some of those that are waited for in vain: nothing new came of them, so each is asked for once."""
        kept: dict[str, tuple[datetime, Sequence[MacAddress]]] = {}
        for hardware_id, since in waited_for.items():
            if len(kept) == _MOST_INVENTORIES:
                break
            if self._unheard(hardware_id, waited_for):
                before = self._cards.get(hardware_id)
                asked = before if before is not None and before[0] == since else None
                kept[hardware_id] = asked or (since, _cards(await self._inventory(hardware_id)))
        self._cards = kept
        return {hardware_id: cards for hardware_id, (_, cards) in kept.items()}

    def _unheard(self, hardware_id: str, waited_for: Mapping[str, datetime]) -> bool:
        """Whether nothing came of a machine since the workflow was made that waits for it."""
        record = self._machines.known.get(hardware_id)
        if record is None:
            return False
        heard_at = heard_of(self._machines, record.hardware, ())
        return heard_at is None or heard_at < waited_for[hardware_id]

    def _never_came(self, hardware_id: str) -> bool:
        """Whether nothing ever came of a machine by any MAC that its document names."""
        record = self._machines.known.get(hardware_id)
        if record is None or heard_of(self._machines, record.hardware, ()) is not None:
            return False
        last = (self._machines.timeline.last(each.mac, _is_its_own) for each in record.hardware.interfaces)
        return not any(last)

    def _key(self, hardware_id: str) -> str:
        record = self._machines.known.get(hardware_id)
        return self._machines.known.key(record.hardware) if record is not None else hardware_id


def heard_of(machines: Machines, hardware: Hardware, seen: Sequence[Sighting]) -> datetime | None:
    """When a machine itself last did anything that came here, by any of its interfaces; `seen` is what is known of one."""
    newest = (machines.timeline.newest(each.mac) for each in hardware.interfaces)
    seen = [*seen, *(each for each in newest if each)]
    times = [ended_at(each) for each in seen if is_its_own(each.stage, each.facts)]
    contact = machines.progress.last_contact(hardware.id)
    return max([*times, *([contact] if contact else [])], default=None)


def _is_its_own(seen: Sighting) -> bool:
    return is_its_own(seen.stage, seen.facts)


def _cards(inventory: Inventory | None) -> list[MacAddress]:
    """The MACs of its network cards, as documents spell them."""
    return [MacAddress(each.mac.lower()) for each in inventory.cards] if inventory is not None else []
