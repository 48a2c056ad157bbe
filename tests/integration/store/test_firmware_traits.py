"""FirmwareTraits of machines' firmware, as the store keeps them."""

from pathlib import Path

from tests.integration.store.objects import NOW
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.firmware_traits import FirmwareTraits, LocalBoot
from tinkbox.model.hardware import Hardware, MacAddress
from tinkbox.store.database import Store

HARDWARE = Path(__file__).parents[3] / "examples" / "demo" / "hardware.json"
LEARNED = FirmwareTraits(secure_boot=True, local_boot=LocalBoot.GRUB, proven=True)


async def pushed(store: Store) -> Hardware:
    hardware = parse_hardware(HARDWARE.read_text())
    await store.write(lambda tables: tables.hardware.upsert(hardware, NOW))
    return hardware


async def kept(store: Store) -> dict[MacAddress, FirmwareTraits]:
    return await store.read(lambda tables: tables.firmware_traits.all())


async def test_firmware_traits_are_read_as_they_were_saved_last(store: Store) -> None:
    mac = (await pushed(store)).interfaces[0].mac
    for firmware_traits in (LEARNED, FirmwareTraits()):
        await store.write(
            lambda tables, firmware_traits=firmware_traits: tables.firmware_traits.save({mac: firmware_traits})
        )
        assert await kept(store) == {mac: firmware_traits}


async def test_only_machines_that_somebody_knows_are_kept(store: Store) -> None:
    hardware = await pushed(store)
    mac, stranger = hardware.interfaces[0].mac, MacAddress("02:00:00:00:00:01")
    await store.write(lambda tables: tables.firmware_traits.save({mac: LEARNED, stranger: LEARNED}))
    assert await kept(store) == {mac: LEARNED}
    await store.write(lambda tables: tables.hardware.delete(hardware.id))
    assert await kept(store) == {}
    await store.write(lambda tables: tables.firmware_traits.save({}))
    await pushed(store)
    assert await kept(store) == {}


async def test_pushing_a_machine_again_keeps_what_was_learned(store: Store) -> None:
    mac = (await pushed(store)).interfaces[0].mac
    await store.write(lambda tables: tables.firmware_traits.save({mac: LEARNED}))
    await pushed(store)
    assert await kept(store) == {mac: LEARNED}
