"""What was learned of firmware, over a real store."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from tests.integration.engine.appliance import Appliance, mac
from tinkbox.engine.experience import STRANGERS, Experience
from tinkbox.model.boot import Asker, Boot, Loader, Plan, Stage
from tinkbox.model.habits import Habits, LocalBoot
from tinkbox.model.hardware import Hardware, Interface, MacAddress
from tinkbox.model.sightings import Fact

MAC, STRANGER = mac(1), MacAddress("02:00:00:00:00:01")


def made(box: Appliance) -> Experience:
    return Experience(box.store, box.clock, lambda each: each == MAC)


def refuse(box: Appliance, experience: Experience, each: MacAddress) -> None:
    """Firmware at `each` refuses iPXE."""
    for stage, facts in (
        (Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7}),
        (Stage.LOADER, {"name": "snponly.efi"}),
        (Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7}),
    ):
        box.clock.now += timedelta(seconds=5)
        experience.saw(each, stage, facts)


async def again(box: Appliance) -> Experience:
    """After a restart of the process."""
    experience = made(box)
    await experience.load()
    return experience


async def test_what_is_learned_of_a_known_machine_outlives_the_process(box: Appliance) -> None:
    await box.machine(1)
    experience = made(box)
    refuse(box, experience, MAC)
    plan = Plan(boot=Boot.OSIE, hardware_id="1", interface=Interface(mac=MAC))
    assert experience.applied(plan).loader is Loader.GRUB
    await experience.save()
    assert (await again(box)).habits(MAC) == Habits(secure_boot=True)


async def test_a_machine_has_the_habits_of_the_interface_that_it_boots_from(box: Appliance) -> None:
    experience = made(box)
    two = Hardware(id="1", interfaces=(Interface(mac=STRANGER), Interface(mac=MAC)), document={})
    assert experience.of(two) == Habits()
    refuse(box, experience, MAC)
    assert experience.of(two) == Habits(secure_boot=True)


async def test_of_one_that_nobody_knows_it_is_remembered_until_the_end(box: Appliance) -> None:
    experience = made(box)
    refuse(box, experience, STRANGER)
    assert experience.habits(STRANGER) == Habits(secure_boot=True)
    await experience.save()
    assert (await again(box)).habits(STRANGER) == Habits()


async def test_of_one_that_becomes_known_it_is_kept(box: Appliance) -> None:
    known: set[MacAddress] = set()
    experience = Experience(box.store, box.clock, known.__contains__)
    refuse(box, experience, MAC)
    await box.machine(1)
    known.add(MAC)
    experience.saw(MAC, Stage.OFFERED, {})
    await experience.save()
    assert (await again(box)).habits(MAC) == Habits(secure_boot=True)


async def test_of_one_that_is_no_longer_known_it_is_forgotten_with_the_strangers(box: Appliance) -> None:
    known = {MAC}
    experience = Experience(box.store, box.clock, known.__contains__)
    refuse(box, experience, MAC)
    known.clear()
    experience.saw(MAC, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 0})
    for number in range(STRANGERS):
        refuse(box, experience, stranger(number))
    assert experience.habits(MAC) == Habits()


def stranger(number: int) -> MacAddress:
    return MacAddress(f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}")


async def test_a_flood_of_invented_machines_takes_no_more_room_and_costs_no_known_one(box: Appliance) -> None:
    experience = made(box)
    refuse(box, experience, MAC)
    for number in range(STRANGERS):
        refuse(box, experience, stranger(number))
    experience.saw(stranger(0), Stage.OFFERED, {})  # it is seen again, so the second is the oldest
    refuse(box, experience, stranger(STRANGERS))
    assert experience.habits(MAC).secure_boot
    assert experience.habits(stranger(0)).secure_boot
    assert not experience.habits(stranger(1)).secure_boot
    assert experience.habits(stranger(2)).secure_boot


@contextmanager
def full(box: Appliance) -> Iterator[None]:
    """The disk refuses."""
    write = box.store.write

    async def refused(use_case: object) -> None:
        raise OSError("the disk is full")

    box.store.write = refused  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        box.store.write = write  # type: ignore[method-assign]


async def test_what_a_full_disk_refuses_is_saved_later(box: Appliance) -> None:
    await box.machine(1)
    experience = made(box)
    refuse(box, experience, MAC)
    with full(box), pytest.raises(OSError, match="full"):
        await experience.save()
    await experience.save()
    assert (await again(box)).habits(MAC).secure_boot


async def test_it_saves_by_itself(box: Appliance) -> None:
    await box.machine(1)
    experience = made(box)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        saving = group.create_task(experience.run())
        refuse(box, experience, MAC)
        while not (await again(box)).habits(MAC).secure_boot:  # noqa: ASYNC110  nothing announces it
            await asyncio.sleep(0.05)
        saving.cancel()


async def test_being_offered_nothing_is_told_as_the_way_it_is(box: Appliance) -> None:
    experience = made(box)
    offered = {"boot": "local disk", "file": ""}
    assert experience.saw(MAC, Stage.OFFERED, offered) is None
    experience.saw(MAC, Stage.LOCAL_DISK, {"way": "no file"})
    experience.saw(MAC, Stage.LEASED, {"boot": "nothing"})
    box.clock.forward(900)
    experience.saw(MAC, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7})
    assert experience.saw(MAC, Stage.OFFERED, offered) is LocalBoot.NO_FILE
    assert experience.saw(MAC, Stage.OFFERED, offered) is None


@pytest.mark.parametrize("up", [(Stage.DISK_BOOTED, {}), (Stage.LEASED, {"boot": Boot.NOTHING.value})])
async def test_a_disks_system_that_is_seen_on_one_card_proves_what_was_told_on_the_others(
    box: Appliance, up: tuple[Stage, dict[str, Fact]]
) -> None:
    """Firmware that is sent to the disk from its first card tries the second one before it gets there."""
    first, second, other = mac(1), mac(2), mac(3)
    experience = Experience(
        box.store, box.clock, lambda _: True, lambda each: {first, second} if each in {first, second} else {each}
    )
    for card in (first, second, other):
        experience.saw(card, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7})
        experience.saw(card, Stage.LOCAL_DISK, {})
        box.clock.forward(10)
    experience.saw(first, *up)
    box.clock.forward(60)
    for card in (first, second, other):
        experience.saw(card, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7})
    proven = Habits(local_boot=LocalBoot.EXIT, proven=True)
    assert [experience.habits(card) for card in (first, second)] == [proven, proven]
    assert experience.habits(other) == Habits(local_boot=LocalBoot.GRUB)
    await box.machine(2)
    await experience.save()
    assert (await again(box)).habits(second) == proven
