"""Whom the doctor pairs an unknown machine with."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.engine.appliance import Appliance, appliance, mac
from tests.unit.engine.boot_story import case
from tinkbox.engine.doctor.case import Near
from tinkbox.engine.doctor.pairing import Pairing
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.inventory import Card, Inventory
from tinkbox.model.sightings import Sighting

ALIKE, FAR = MacAddress("08:00:27:00:00:09"), MacAddress("52:54:00:aa:bb:cc")


def inventory(*macs: str) -> Inventory:
    cards = tuple(Card(name=f"eth{place}", mac=each, link=True) for place, each in enumerate(macs))
    return Inventory(architecture="x86_64", processor="it", processors=1, memory=1, firmware="uefi", cards=cards)


async def of_unknown(
    box: Appliance, unknown: MacAddress, own: Inventory | None, known: Inventory | None, ago: float = 0
) -> Sequence[Near]:
    """Whom it may be, when it asked last so many seconds ago."""

    async def told(_: str) -> Inventory | None:
        return known

    asked = Sighting(mac=unknown, at=box.clock() - timedelta(seconds=ago), stage=Stage.DISCOVER)
    patient = replace(case(asked, interface=None, ticket=False), mac=unknown, inventory=own)
    return await Pairing(box.machines, told, box.clock).waited_for(patient, await box.machines.waited_for())


@pytest.mark.parametrize(
    ("unknown", "own", "known", "near"),
    [
        (ALIKE, [], [], [False]),
        (ALIKE, [], [mac(1)], []),
        (FAR, [], [], []),
        (FAR, [FAR, mac(1)], [], [True]),
        (FAR, [], [mac(1), FAR], [True]),
        (ALIKE, [ALIKE, mac(1)], [mac(1), ALIKE], [True]),
    ],
)
async def test_one_that_is_waited_for_in_vain_is_paired(
    tmp_path: Path, unknown: MacAddress, own: list[str], known: list[str], near: list[bool]
) -> None:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        await box.machine(1)
        inventories = [inventory(*each) if each else None for each in (own, known)]
        assert await of_unknown(box, unknown, *inventories) == (), "no workflow waits for it"
        await box.workflow()
        found = await of_unknown(box, unknown, *inventories)
        assert [(each.mac, each.of_one_machine) for each in found] == [(mac(1), sure) for sure in near]
        box.machines.progress.saw(MacAddress(mac(1)), Stage.DISCOVER, "PXE", asker=Asker.PXE.value)
        assert await of_unknown(box, unknown, *inventories) == (), "it came"


async def test_one_that_is_waited_for_is_paired_with_who_asks_lately(tmp_path: Path) -> None:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        await box.machine(1)
        await box.workflow()
        (record,) = box.machines.known.all()
        machine = await box.machines.get(record.hardware.id)
        (waited_since,) = (await box.machines.waited_for()).values()

        async def told(_: str) -> Inventory | None:
            return None

        pairing = Pairing(box.machines, told, box.clock)
        patient = replace(case(), mac=MacAddress(mac(1)), inventory=None)
        assert pairing.unknown(patient, machine, None, waited_since) == ()
        box.machines.progress.saw(ALIKE, Stage.DISCOVER, "PXE", asker=Asker.PXE.value)
        (near,) = pairing.unknown(patient, machine, None, waited_since)
        assert (near.mac, near.of_one_machine) == (ALIKE, False)
        assert pairing.unknown(patient, machine, waited_since + timedelta(seconds=1), waited_since) == ()


async def test_one_that_ever_came_is_not_mistyped_and_one_that_asked_before_the_workflow_is_another(
    tmp_path: Path,
) -> None:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        await box.machine(1)
        await box.machine(2)
        box.machines.progress.saw(MacAddress(mac(1)), Stage.LEASED, "172.30.0.21")
        box.machines.progress.saw(ALIKE, Stage.DISCOVER, "PXE", asker=Asker.PXE.value)
        box.clock.now += timedelta(minutes=11)
        await box.workflow()
        assert await of_unknown(box, ALIKE, None, None) == (), "the machine was seen by its own MAC"

        (known,) = (each for each in box.machines.known.all() if each.hardware.interface(MacAddress(mac(1))))
        machine = await box.machines.get(known.hardware.id)
        since = box.clock()

        async def told(_: str) -> Inventory | None:
            return None

        pairing = Pairing(box.machines, told, box.clock)
        patient = replace(case(), mac=MacAddress(mac(1)), inventory=None)
        seen_at = since - timedelta(minutes=11)
        assert pairing.unknown(patient, machine, None, since) == (), "it asked long before the workflow was made"
        box.machines.progress.saw(ALIKE, Stage.DISCOVER, "PXE", asker=Asker.PXE.value)
        assert [each.mac for each in pairing.unknown(patient, machine, None, since)] == [ALIKE]
        assert pairing.unknown(patient, machine, seen_at, since) == ()
        assert pairing.unknown(replace(patient, inventory=inventory(mac(1))), machine, None, since) == ()
