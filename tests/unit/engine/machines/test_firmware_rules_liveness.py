"""Whatever happened to a machine before: left alone, it gets to where its firmware can get."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tinkbox.engine.machines.firmware_rules import Watched, learn
from tinkbox.model.boot import Asker, Boot, Loader, Plan, Stage
from tinkbox.model.firmware_traits import LocalBoot
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.sightings import Fact, Sighting

MAC = MacAddress("08:00:27:00:00:01")
START = datetime(2026, 11, 21, tzinfo=UTC)
PXE, HTTP, IPXE = (Asker.PXE,), (Asker.HTTP,), (Asker.IPXE,)
EVERY_ORDER = [PXE, HTTP, IPXE, PXE + HTTP, HTTP + PXE]
TRIES = 16


class SwitchedOffError(Exception):
    """Somebody was at the power button."""


@dataclass(frozen=True)
class Firmware:
    """What asks in one boot, in order, and the only way on which it gets to its disk; `secure`: signed programs only."""

    bios: bool
    askers: tuple[Asker, ...]
    way: LocalBoot
    secure: bool = False


BIOS = [Firmware(True, each, way) for each in (PXE, IPXE) for way in (LocalBoot.SANBOOT, LocalBoot.EXIT, LocalBoot.NO_FILE)]  # fmt: skip
UEFI = [Firmware(False, each, way) for each in EVERY_ORDER for way in (LocalBoot.EXIT, LocalBoot.NO_FILE)]
GRUB_ONLY = [Firmware(False, each, LocalBoot.GRUB) for each in (PXE, IPXE)]
SECURE = [Firmware(False, each, way, True) for each in (PXE, PXE + HTTP, HTTP + PXE) for way in (LocalBoot.EXIT, LocalBoot.NO_FILE)]  # fmt: skip
SECURE_GRUB = [Firmware(False, PXE, LocalBoot.GRUB, True)]


@dataclass
class Machine:
    firmware: Firmware
    chance: Random
    known: Watched = field(default_factory=Watched)
    seconds: float = 0.0
    left: int | None = None

    def boots(self, goal: Boot, switched_off_after: int | None = None) -> bool:
        """Whether it gets there; it may be switched off after so many sightings."""
        self.left = switched_off_after
        try:
            return any(self._asks(asker, goal) for asker in self.firmware.askers)
        except SwitchedOffError:
            return False

    def _asks(self, asker: Asker, goal: Boot) -> bool:
        for _ in range(self.chance.choice([1, 1, 3])):
            self._see(Stage.DISCOVER, asker=asker.value, architecture=0 if self.firmware.bios else 7)
        plan = self._plan(goal)
        if plan.local_boot is LocalBoot.NO_FILE:
            self._see(Stage.OFFERED, boot=goal.value, file="")
            return self._goes_on(LocalBoot.NO_FILE) if asker is self.firmware.askers[-1] else False
        if asker is Asker.IPXE:
            return self._runs(goal)
        signed = plan.loader is Loader.GRUB and not self.firmware.bios
        if signed and asker is Asker.HTTP:
            self._see(Stage.IGNORED)
            return False
        if signed:
            for name in ("shimx64.efi", "grubx64.efi"):
                self._see(Stage.LOADER, name=name)
            return self._runs(goal, grub=True)
        self._see(Stage.LOADER, name="undionly.kpxe" if self.firmware.bios else "snponly.efi")
        if self.firmware.secure:
            return False
        self._see(Stage.DISCOVER, asker=Asker.IPXE.value)
        return self._runs(goal)

    def _runs(self, goal: Boot, *, grub: bool = False) -> bool:
        """The loader asks for its script, and does what that says."""
        if goal is Boot.OSIE:
            self._see(Stage.SCRIPT)
            return True
        way = self._plan(goal).local_boot
        self._see(Stage.LOCAL_DISK, **({"way": way.value} if way else {}))
        if grub:
            return self._goes_on(way if way is LocalBoot.EXIT else LocalBoot.GRUB)
        return self._goes_on(way or (LocalBoot.SANBOOT if self.firmware.bios else LocalBoot.EXIT))

    def _goes_on(self, way: LocalBoot) -> bool:
        if way is not self.firmware.way:
            return False
        self.seconds += 30
        self._see(Stage.DISK_BOOTED)
        return True

    def _plan(self, goal: Boot) -> Plan:
        return self.known.applied(Plan(boot=goal, hardware_id="1", interface=Interface(mac=MAC)))

    def _see(self, stage: Stage, **facts: Fact) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise SwitchedOffError
        self.seconds += self.chance.choice([0.5, 2.0, 4.0])
        at = START + timedelta(seconds=self.seconds)
        self.known = learn(self.known, Sighting(mac=MAC, at=at, stage=stage, facts=facts))


@pytest.mark.parametrize("goal", [Boot.OSIE, Boot.LOCAL_DISK])
@pytest.mark.parametrize("firmware", [*BIOS, *UEFI, *GRUB_ONLY, *SECURE, *SECURE_GRUB], ids=str)
def test_a_machine_that_was_switched_off_at_any_moment_boots_in_the_end_and_from_then_on(
    firmware: Firmware, goal: Boot
) -> None:
    for seed in range(40):
        chance = Random(seed)
        machine = Machine(firmware, chance)
        for _ in range(chance.randrange(8)):
            machine.boots(chance.choice([Boot.OSIE, Boot.LOCAL_DISK]), switched_off_after=chance.randrange(14))
            machine.seconds += chance.choice([3, 40, 100, 150, 400, 700, 86_400])
        pause = chance.choice([5, 40, 130, 300])
        came = []
        for _ in range(TRIES):
            came.append(machine.boots(goal))
            machine.seconds += pause
        assert all(came[came.index(True) :]), f"{seed}: {came}"
