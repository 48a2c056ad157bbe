"""Two hundred boots that go well, as slow as they were measured with emulated processors and slower: nobody is suspected."""

from dataclasses import replace
from random import Random

import pytest

from tests.unit.engine.boot_story import MINE, OURS, case, seen
from tinkbox.engine.doctor.case import Case
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.model.boot import Asker, Boot, Stage
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.sightings import Fact, Sighting

# Of each stage the seconds after the one before it, as docs/booting.md has them.
Story = tuple[tuple[float, Stage, dict[str, Fact]], ...]
TOLD: dict[str, Fact] = {"address": MINE, "server": str(OURS), "boot": Boot.OSIE.value}


def asks(asker: Asker, wait: float, offered: float) -> Story:
    return (
        (wait, Stage.DISCOVER, {"asker": asker.value, "architecture": 7}),
        (0, Stage.OFFERED, TOLD),
        (offered, Stage.REQUESTED, TOLD),
        (0, Stage.LEASED, TOLD),
    )


def loads(name: str, wait: float, stage: Stage = Stage.LOADER) -> Story:
    facts: dict[str, Fact] = {"name": name, "bytes": 1_000_000, "blksize": 1468}
    return ((0.1, Stage.LOADER_REQUESTED, facts), (wait, stage, facts))


OSIE: Story = (
    (0.1, Stage.TICKET, {}),
    (43, Stage.CLOCK, {"offset": -2}),
    (40, Stage.SESSION, {}),
    (0.2, Stage.WORKER, {}),
    (0, Stage.ACTION, {}),
)
HTTP: Story = ((0.7, Stage.KERNEL, {"bytes": 8_000_000}), (8.8, Stage.RAMDISK, {"bytes": 96_000_000}))
STORM: Story = ((37, Stage.KERNEL, {"bytes": 8_000_000}), (240, Stage.RAMDISK, {"bytes": 96_000_000}))
BIOS: Story = (*asks(Asker.IPXE, 0, 0.1), (18, Stage.SCRIPT, {}))
UEFI: Story = (
    *asks(Asker.PXE, 0, 4.1),
    *loads("snponly.efi", 0.6),
    *asks(Asker.IPXE, 2.1, 0.1),
    (18, Stage.SCRIPT, {}),
)
SIGNED: Story = (
    *asks(Asker.PXE, 0, 4.1),
    *loads("shimx64.efi", 1.4),
    *loads("grubx64.efi", 9.3),
    (1, Stage.SCRIPT, {"file": "grub/grub.cfg"}),
    *loads("osie/x86_64/vmlinuz", 15.4, Stage.KERNEL),
    *loads("osie/x86_64/initramfs", 170, Stage.RAMDISK),
)
BOOTS: dict[str, Story] = {
    "SeaBIOS": (*BIOS, *HTTP, *OSIE),
    "SeaBIOS in a storm": (*BIOS, *STORM, *OSIE),
    "OVMF": (*UEFI, *HTTP, *OSIE),
    "OVMF in a storm": (*UEFI, *STORM, *OSIE),
    "OVMF with Secure Boot": (*SIGNED, *OSIE),
}
NUMBER = 40
# Between two pieces of a file, and two of the times at which it is noted that it flows.
FLOWS_EVERY = 30.0


def moments(story: Story, chance: Random) -> list[Case]:
    """The case just before each next sighting, when the wait for it was longest."""
    told: list[Sighting] = []
    found, at = [], 0.0
    for wait, stage, facts in story:
        wait *= chance.uniform(0.5, 2.0)
        if told:
            last = told[-1]
            if wait > FLOWS_EVERY and stage in (Stage.KERNEL, Stage.RAMDISK):
                last = replace(last, facts={**last.facts, "moved": wait - FLOWS_EVERY})
            found.append(case(*told[:-1], last, after=wait))
        at += wait
        told.append(seen(at, stage, **facts))
    return [*found, case(*told, after=5)]


@pytest.mark.parametrize("name", BOOTS)
def test_boot_that_goes_well_is_never_suspected(name: str) -> None:
    traits = FirmwareTraits(secure_boot=name.endswith("Secure Boot"))
    for seed in range(NUMBER):
        for each in moments(BOOTS[name], Random(seed)):
            found = [
                one for one in diagnose(replace(each, firmware_traits=traits)) if one.gravity is not Gravity.HARMLESS
            ]
            assert found == [], seed
