"""What was learned about machines' firmware, kept: in the store for those that are known, in memory for the others."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NoReturn

from tinkbox.engine.batch_saving import keep_saving
from tinkbox.engine.machines.firmware_rules import NOTHING_YET, Watched, learn, settled, shows_system, teaches
from tinkbox.model.boot import Plan, Stage
from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot
from tinkbox.model.hardware import Hardware, MacAddress
from tinkbox.model.sightings import Fact, Note, Sighting
from tinkbox.store.database import Store

STRANGERS = 1_000


class FirmwareKnowledge:
    """Told of everything that is seen; `applied` puts what was learned into a plan.

    `known` tells whether hardware was pushed with a MAC: of the others a thousand are remembered, those that were seen
    last, and only until the end of the process.  `cards` are all MACs of the machine that has one.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        known: Callable[[MacAddress], bool] = lambda _: False,
        cards: Callable[[MacAddress], Collection[MacAddress]] = lambda mac: (mac,),
    ) -> None:
        self._store = store
        self._clock = clock
        self._known = known
        self._cards = cards
        self._machines: dict[MacAddress, Watched] = {}
        self._strangers: dict[MacAddress, Watched] = {}
        self._changed: set[MacAddress] = set()
        self._noted = asyncio.Event()

    async def load(self) -> None:
        """Read what is kept; once, before anything is served."""
        kept = await self._store.read(lambda tables: tables.firmware_traits.all())
        self._machines = {mac: Watched(firmware_traits=firmware_traits) for mac, firmware_traits in kept.items()}

    def firmware_traits(self, mac: MacAddress) -> FirmwareTraits:
        """What was learned of this machine."""
        return self.watched(mac).firmware_traits

    def of(self, hardware: Hardware) -> FirmwareTraits:
        """What was learned of a machine's firmware, on whichever interface it boots from."""
        learned = (self.firmware_traits(each.mac) for each in hardware.interfaces)
        return next((each for each in learned if each != FirmwareTraits()), FirmwareTraits())

    def applied(self, plan: Plan) -> Plan:
        """The plan with the loader and the way to the disk that this machine takes."""
        return self.watched(plan.interface.mac).applied(plan)

    def watched(self, mac: MacAddress) -> Watched:
        """What is known of the firmware behind a MAC: the same object for as long as nothing else is."""
        return self._machines.get(mac) or self._strangers.get(mac) or NOTHING_YET

    def saw(self, mac: MacAddress, stage: Stage, facts: Mapping[str, Fact]) -> LocalBoot | None:
        """Learn from a sighting; returns the way when the machine was just left to its disk by being offered nothing."""
        if not teaches(stage, facts) and mac not in self._strangers:
            return None
        seen = Sighting(mac=mac, at=self._clock(), stage=stage, facts=facts)
        before, after = self._learn(mac, seen)
        if shows_system(seen):
            # From the first card firmware may have gone on to the next one, and only then to the disk.
            for other in self._cards(mac):
                self._learn(other, seen)
        return LocalBoot.NO_FILE if stage is Stage.OFFERED and before.told is None and after.told else None

    def nothing_new(self, mac: MacAddress, notes: Sequence[Note]) -> Callable[[], bool] | None:
        """Whether nothing is learned of these sightings, whenever they are made: a way to see that this still holds."""
        seen = [Sighting(mac=mac, at=self._clock(), stage=each.stage, facts=each.facts) for each in notes]
        # Of its disk's system something may be learned about other cards.
        cards = list(self._cards(mac)) if any(map(shows_system, seen)) else None
        known = {each: self.watched(each) for each in (mac, *(cards or ()))}
        for card, watched in known.items():
            if card in self._strangers or not settled(watched) or any(learn(watched, each) != watched for each in seen):
                return None
        return partial(self._are_all, mac, cards, known) if cards else partial(self._is_all, mac, known[mac])

    def _is_all(self, mac: MacAddress, known: Watched) -> bool:
        return self.watched(mac) is known

    def _are_all(self, mac: MacAddress, cards: list[MacAddress], known: Mapping[MacAddress, Watched]) -> bool:
        return list(self._cards(mac)) == cards and all(self._is_all(*each) for each in known.items())

    async def run(self) -> NoReturn:
        """Save what was learned, for ever."""
        await keep_saving(self._noted, self.save, "what was learned of machines' firmware")

    async def save(self) -> None:
        """Save what was learned up to now; what a full disk refuses waits."""
        changed, self._changed = self._changed, set()
        learned = {mac: self._machines[mac].firmware_traits for mac in changed if mac in self._machines}
        try:
            await self._store.write(lambda tables: tables.firmware_traits.save(learned))
        except BaseException:
            self._changed |= changed
            raise

    def _learn(self, mac: MacAddress, seen: Sighting) -> tuple[Watched, Watched]:
        """What was known of the firmware behind a MAC, and what is known now."""
        before = self.watched(mac)
        after = learn(before, seen)
        if (after is not before and after != before) or mac in self._strangers:
            self._keep(mac, after, changed=after.firmware_traits != before.firmware_traits)
        return before, after

    def _keep(self, mac: MacAddress, watched: Watched, *, changed: bool) -> None:
        stranger = self._strangers.pop(mac, None)
        if not self._known(mac):
            self._machines.pop(mac, None)
            self._strangers[mac] = watched
            if len(self._strangers) > STRANGERS:
                del self._strangers[next(iter(self._strangers))]
            return
        self._machines[mac] = watched
        if changed or (stranger is not None and watched.firmware_traits != FirmwareTraits()):
            self._changed.add(mac)
            self._noted.set()
