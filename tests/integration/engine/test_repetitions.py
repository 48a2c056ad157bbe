"""What is noted again by its short way leaves everything as if it had been noted in full."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, hardware, mac
from tests.integration.engine.lending import SUBNET
from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.boot.leases import Leases
from tinkbox.engine.machines.firmware_knowledge import FirmwareKnowledge
from tinkbox.model.boot import Asker, Boot, Stage
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.sightings import Fact, Note

MACHINES = 3  # of which the last is known from the middle on
STEPS = 1500


def note(stage: Stage, detail: str = "", **facts: Fact) -> Note:
    return Note(stage=stage, detail=detail, facts=facts)


def granted(boot: Boot, file: str) -> tuple[Note, ...]:
    stages = (Stage.REQUESTED, Stage.LEASED)
    return tuple(note(each, f"172.30.0.5, {boot}", boot=boot.value, file=file) for each in stages)


SEEN: list[tuple[Note, ...]] = [
    (note(Stage.DISCOVER, "PXE", asker=Asker.PXE.value, architecture=7),),
    (note(Stage.DISCOVER, "PXE", asker=Asker.PXE.value, architecture=7),),
    (note(Stage.DISCOVER, "iPXE", asker=Asker.IPXE.value, architecture=7),),
    (note(Stage.DISCOVER, "HTTP", asker=Asker.HTTP.value, architecture=16),),
    (note(Stage.OFFERED, "osie", boot=Boot.OSIE.value, file="snponly.efi"),),
    (note(Stage.OFFERED, "osie", boot=Boot.OSIE.value, file="snponly.efi"),),
    (note(Stage.OFFERED, "disk", boot=Boot.LOCAL_DISK.value, file=""),),
    granted(Boot.OSIE, "snponly.efi"),
    granted(Boot.OSIE, "snponly.efi"),
    granted(Boot.NOTHING, ""),
    (note(Stage.DISK_BOOTED, "172.30.0.5"),),
    (note(Stage.LOADER, "snponly.efi", name="snponly.efi"),),
    (note(Stage.SCRIPT),),
    (note(Stage.LOCAL_DISK, way="exit"),),
    (note(Stage.REFUSED, "172.30.0.9"),),
]


class Engine:
    """One that is told of machines, by the short way where there is one, or always in full."""

    def __init__(self, box: Appliance, *, short: bool) -> None:
        self.box = box
        machines = box.machines
        leases = Leases(box.store, (SUBNET,), box.clock, box.clock.steady)
        self.firmware_knowledge = FirmwareKnowledge(
            box.store, box.clock, lambda each: bool(machines.known.holder(each)), machines.known.cards
        )
        self._booting = Booting(
            machines,
            leases,
            None,
            (SUBNET,),
            "pool",
            lambda _: None,
            lambda _: False,
            box.clock.steady,
            self.firmware_knowledge,
        )
        self._short = short
        self._again: dict[tuple[int, int], Callable[[], bool] | None] = {}
        self.shortened = 0

    def see(self, machine: int, which: int) -> None:
        if not self._short:
            for each in SEEN[which]:
                self._booting.saw(mac(machine), each.stage, each.detail, **each.facts)
            return
        again = self._again.get((machine, which))
        if again is not None and again():
            self.shortened += 1
        else:
            self._again[machine, which] = self._booting.note(mac(machine), SEEN[which])

    async def know(self, machine: int) -> None:
        document = hardware(machine)
        document["network"]["interfaces"].append({"dhcp": {"mac": mac(machine + 40)}})  # type: ignore[index]
        await self.box.machines.push(hardware_from_document(document))

    async def state(self) -> object:
        """Everything that may depend on what was seen."""
        seen = [await self.box.machines.timeline.of(mac(each)) for each in range(1, MACHINES + 41)]
        machines = [(each.stage, each.stage_at, each.boots, each.parked) for each in await self.box.machines.all()]
        return seen, machines, [self.firmware_knowledge.watched(mac(each)) for each in range(1, MACHINES + 41)]


@pytest.mark.parametrize("seed", range(6))
async def test_noting_again_by_the_short_way_is_noting_in_full(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with appliance(tmp_path / "short") as one, appliance(tmp_path / "full") as other:
        engines = Engine(one, short=True), Engine(other, short=False)
        for step in range(STEPS):
            if step in (0, 300, STEPS // 2):
                known = (0, 300, STEPS // 2).index(step) + 1
                for engine in engines:
                    await engine.know(known)
                    if known == 1:
                        await engine.box.workflow(device_1=1)
            machine = chance.choice([1, 1, 2, 3, 41])
            likely = [0, 4, 7] if chance.random() < 0.8 else range(len(SEEN))
            which, passed = chance.choice(likely), chance.choice([0, 0.01, 1, 1, 8, 30] * 10 + [130, 700])
            for engine in engines:
                engine.box.clock.forward(passed)
                engine.see(machine, which)
            if step % 50 == 0:
                assert await engines[0].state() == await engines[1].state(), step
        assert await engines[0].state() == await engines[1].state()
        assert engines[0].shortened > STEPS // 20
