"""What was learned of firmware, over a real store."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from tests.integration.engine.appliance import Appliance, Clock, mac
from tinkbox.engine.machines.firmware_knowledge import STRANGERS, FirmwareKnowledge
from tinkbox.model.boot import Asker, Boot, Loader, Plan, Stage
from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot
from tinkbox.model.hardware import Hardware, Interface, MacAddress
from tinkbox.model.sightings import Fact, Note

MAC, STRANGER = mac(1), MacAddress("02:00:00:00:00:01")


def made(box: Appliance) -> FirmwareKnowledge:
    return FirmwareKnowledge(box.store, box.clock, lambda each: each == MAC)


def refuse(box: Appliance, firmware_knowledge: FirmwareKnowledge, each: MacAddress) -> None:
    """Firmware at `each` refuses iPXE."""
    for stage, facts in (
        (Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7}),
        (Stage.LOADER, {"name": "snponly.efi"}),
        (Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7}),
    ):
        box.clock.now += timedelta(seconds=5)
        firmware_knowledge.saw(each, stage, facts)


async def again(box: Appliance) -> FirmwareKnowledge:
    """After a restart of the process."""
    firmware_knowledge = made(box)
    await firmware_knowledge.load()
    return firmware_knowledge


async def test_what_is_learned_of_a_known_machine_outlives_the_process(box: Appliance) -> None:
    await box.machine(1)
    firmware_knowledge = made(box)
    refuse(box, firmware_knowledge, MAC)
    plan = Plan(boot=Boot.OSIE, hardware_id="1", interface=Interface(mac=MAC))
    assert firmware_knowledge.applied(plan).loader is Loader.GRUB
    await firmware_knowledge.save()
    assert (await again(box)).firmware_traits(MAC) == FirmwareTraits(secure_boot=True)


async def test_a_machine_has_the_firmware_traits_of_the_interface_that_it_boots_from(box: Appliance) -> None:
    firmware_knowledge = made(box)
    two = Hardware(id="1", interfaces=(Interface(mac=STRANGER), Interface(mac=MAC)), document={})
    assert firmware_knowledge.of(two) == FirmwareTraits()
    refuse(box, firmware_knowledge, MAC)
    assert firmware_knowledge.of(two) == FirmwareTraits(secure_boot=True)


async def test_of_one_that_nobody_knows_it_is_remembered_until_the_end(box: Appliance) -> None:
    firmware_knowledge = made(box)
    refuse(box, firmware_knowledge, STRANGER)
    assert firmware_knowledge.firmware_traits(STRANGER) == FirmwareTraits(secure_boot=True)
    await firmware_knowledge.save()
    assert (await again(box)).firmware_traits(STRANGER) == FirmwareTraits()


async def test_of_one_that_becomes_known_it_is_kept(box: Appliance) -> None:
    known: set[MacAddress] = set()
    firmware_knowledge = FirmwareKnowledge(box.store, box.clock, known.__contains__)
    refuse(box, firmware_knowledge, MAC)
    await box.machine(1)
    known.add(MAC)
    firmware_knowledge.saw(MAC, Stage.OFFERED, {})
    await firmware_knowledge.save()
    assert (await again(box)).firmware_traits(MAC) == FirmwareTraits(secure_boot=True)


async def test_of_one_that_is_no_longer_known_it_is_forgotten_with_the_strangers(box: Appliance) -> None:
    known = {MAC}
    firmware_knowledge = FirmwareKnowledge(box.store, box.clock, known.__contains__)
    refuse(box, firmware_knowledge, MAC)
    known.clear()
    firmware_knowledge.saw(MAC, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 0})
    for number in range(STRANGERS):
        refuse(box, firmware_knowledge, stranger(number))
    assert firmware_knowledge.firmware_traits(MAC) == FirmwareTraits()


def stranger(number: int) -> MacAddress:
    return MacAddress(f"02:00:00:00:{number >> 8:02x}:{number & 255:02x}")


async def test_a_flood_of_invented_machines_takes_no_more_room_and_costs_no_known_one(box: Appliance) -> None:
    firmware_knowledge = made(box)
    refuse(box, firmware_knowledge, MAC)
    for number in range(STRANGERS):
        refuse(box, firmware_knowledge, stranger(number))
    firmware_knowledge.saw(stranger(0), Stage.OFFERED, {})  # it is seen again, so the second is the oldest
    refuse(box, firmware_knowledge, stranger(STRANGERS))
    assert firmware_knowledge.firmware_traits(MAC).secure_boot
    assert firmware_knowledge.firmware_traits(stranger(0)).secure_boot
    assert not firmware_knowledge.firmware_traits(stranger(1)).secure_boot
    assert firmware_knowledge.firmware_traits(stranger(2)).secure_boot


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
    firmware_knowledge = made(box)
    refuse(box, firmware_knowledge, MAC)
    with full(box), pytest.raises(OSError, match="full"):
        await firmware_knowledge.save()
    await firmware_knowledge.save()
    assert (await again(box)).firmware_traits(MAC).secure_boot


async def test_it_saves_by_itself(box: Appliance) -> None:
    await box.machine(1)
    firmware_knowledge = made(box)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        saving = group.create_task(firmware_knowledge.run())
        refuse(box, firmware_knowledge, MAC)
        while not (await again(box)).firmware_traits(MAC).secure_boot:  # noqa: ASYNC110  nothing announces it
            await asyncio.sleep(0.05)
        saving.cancel()


async def test_being_offered_nothing_is_told_as_the_way_it_is(box: Appliance) -> None:
    firmware_knowledge = made(box)
    offered = {"boot": "local disk", "file": ""}
    assert firmware_knowledge.saw(MAC, Stage.OFFERED, offered) is None
    firmware_knowledge.saw(MAC, Stage.LOCAL_DISK, {"way": "no file"})
    firmware_knowledge.saw(MAC, Stage.LEASED, {"boot": "nothing"})
    box.clock.forward(900)
    firmware_knowledge.saw(MAC, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7})
    assert firmware_knowledge.saw(MAC, Stage.OFFERED, offered) is LocalBoot.NO_FILE
    assert firmware_knowledge.saw(MAC, Stage.OFFERED, offered) is None


@pytest.mark.parametrize("up", [(Stage.DISK_BOOTED, {}), (Stage.LEASED, {"boot": Boot.NOTHING.value})])
async def test_a_disks_system_that_is_seen_on_one_card_proves_what_was_told_on_the_others(
    box: Appliance, up: tuple[Stage, dict[str, Fact]]
) -> None:
    """Firmware that is sent to the disk from its first card tries the second one before it gets there."""
    first, second, other = mac(1), mac(2), mac(3)
    firmware_knowledge = FirmwareKnowledge(
        box.store, box.clock, lambda _: True, lambda each: {first, second} if each in {first, second} else {each}
    )
    for card in (first, second, other):
        firmware_knowledge.saw(card, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7})
        firmware_knowledge.saw(card, Stage.LOCAL_DISK, {})
        box.clock.forward(10)
    firmware_knowledge.saw(first, *up)
    box.clock.forward(60)
    for card in (first, second, other):
        firmware_knowledge.saw(card, Stage.DISCOVER, {"asker": Asker.PXE.value, "architecture": 7})
    proven = FirmwareTraits(local_boot=LocalBoot.EXIT, proven=True)
    assert [firmware_knowledge.firmware_traits(card) for card in (first, second)] == [proven, proven]
    assert firmware_knowledge.firmware_traits(other) == FirmwareTraits(local_boot=LocalBoot.GRUB)
    await box.machine(2)
    await firmware_knowledge.save()
    assert (await again(box)).firmware_traits(second) == proven


def seen(stage: Stage, **facts: Fact) -> list[Note]:
    return [Note(stage=stage, detail="", facts=facts)]


ASKS = seen(Stage.DISCOVER, asker=Asker.PXE.value, architecture=7)
OTHER = MacAddress("08:00:27:00:00:41")


def test_nothing_new_is_to_be_learned_of_what_was_learned_until_something_else_is_known() -> None:
    firmware_knowledge = FirmwareKnowledge(None, Clock(), {MAC, OTHER}.__contains__)  # type: ignore[arg-type]
    assert firmware_knowledge.nothing_new(MAC, ASKS) is None
    firmware_knowledge.saw(MAC, Stage.DISCOVER, ASKS[0].facts)
    nothing_new = firmware_knowledge.nothing_new(MAC, ASKS)
    assert nothing_new is not None
    assert nothing_new()
    firmware_knowledge.saw(OTHER, Stage.LOADER, {"name": "snponly.efi"})
    assert nothing_new()
    firmware_knowledge.saw(MAC, Stage.LOADER, {"name": "snponly.efi"})
    assert not nothing_new(), "it may refuse that program now"
    assert firmware_knowledge.nothing_new(MAC, seen(Stage.OFFERED)) is None, (
        "what it is may depend on when it asks again"
    )


def test_what_shows_a_disks_system_may_teach_something_about_other_cards() -> None:
    cards = [MAC, OTHER]
    firmware_knowledge = FirmwareKnowledge(None, Clock(), cards.__contains__, lambda _: list(cards))  # type: ignore[arg-type]
    system = seen(Stage.DISK_BOOTED)
    nothing_new = firmware_knowledge.nothing_new(MAC, system)
    assert nothing_new is not None
    assert nothing_new()
    firmware_knowledge.saw(OTHER, Stage.LOCAL_DISK, {"platform": "efi"})
    assert not nothing_new()
    assert firmware_knowledge.nothing_new(MAC, system) is None
    firmware_knowledge.saw(MAC, Stage.DISK_BOOTED, {})
    nothing_new = firmware_knowledge.nothing_new(MAC, system)
    assert nothing_new is not None
    cards.append(stranger(1))
    assert not nothing_new()


async def test_of_strangers_everything_is_noted_in_full(box: Appliance) -> None:
    firmware_knowledge = made(box)
    firmware_knowledge.saw(STRANGER, Stage.DISCOVER, ASKS[0].facts)
    assert firmware_knowledge.nothing_new(STRANGER, ASKS) is None
