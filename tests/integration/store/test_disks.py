"""What the store remembers of disks."""

from datetime import timedelta
from pathlib import Path

from tests.integration.store.objects import NOW
from tinkbox.model.disks.disks import Content, Remembered
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.store.database import Store, Tables
from tinkbox.store.disks import MAX_DISKS

HARDWARE = Path(__file__).parents[3] / "examples" / "demo" / "hardware.json"
TABLE = Content(kind="GPT", id="a", label="1 partition")
ROOT = Content(kind="ext4", id="b", offset=1 << 20)
WRITING = Remembered(ours=(TABLE,), foreign=(ROOT,))


async def machine(store: Store) -> str:
    hardware = parse_hardware(HARDWARE.read_text())
    await store.write(lambda tables: tables.hardware.upsert(hardware, NOW))
    return hardware.id


async def remembered(store: Store, machine: str, name: str = "WD-1", workflow: str = "w1") -> Remembered:
    return await store.read(lambda tables: tables.disks.get(machine, name, workflow))


async def test_a_disk_is_remembered_by_its_machine_and_its_name(store: Store) -> None:
    known = await machine(store)
    await store.write(lambda tables: tables.disks.keep(known, "WD-1", WRITING, "w1", "a1", NOW))
    assert await remembered(store, known) == WRITING
    assert await remembered(store, known, name="WD-2") == Remembered()
    assert await remembered(store, "another") == Remembered()
    done = Remembered(ours=(ROOT,))
    await store.write(lambda tables: tables.disks.keep(known, "WD-1", done, "w1", "a1", NOW))
    assert await remembered(store, known) == done


async def test_what_a_lost_attempt_may_have_left_counts_for_its_own_workflow_alone(store: Store) -> None:
    known = await machine(store)
    await store.write(lambda tables: tables.disks.keep(known, "WD-1", WRITING, "w1", "a1", NOW))
    assert await remembered(store, known, workflow="w2") == Remembered(ours=(TABLE,))


async def test_only_what_is_still_open_is_written_by_an_attempt(store: Store) -> None:
    known = await machine(store)
    await store.write(lambda tables: tables.disks.keep(known, "WD-1", WRITING, "w1", "a1", NOW))
    await store.write(lambda tables: tables.disks.keep(known, "WD-2", Remembered(), "w1", "a1", NOW))
    assert await store.read(lambda tables: tables.disks.written_by("a1")) == {"WD-1": WRITING}
    assert await store.read(lambda tables: tables.disks.written_by("a2")) == {}


async def test_a_machine_that_invents_disks_loses_its_oldest(store: Store) -> None:
    known = await machine(store)

    def many(tables: Tables) -> None:
        for number in range(MAX_DISKS + 1):
            tables.disks.keep(known, f"disk-{number}", WRITING, "w1", "a1", NOW + timedelta(seconds=number))

    await store.write(many)
    assert await remembered(store, known, name="disk-0") == Remembered()
    assert await remembered(store, known, name="disk-1") == WRITING
    assert await remembered(store, known, name=f"disk-{MAX_DISKS}") == WRITING


async def test_a_machine_that_is_forgotten_takes_its_disks_along(store: Store) -> None:
    known = await machine(store)
    await store.write(lambda tables: tables.disks.keep(known, "WD-1", WRITING, "w1", "a1", NOW))
    await machine(store)
    assert await remembered(store, known) == WRITING, "pushing it again forgets nothing"
    await store.write(lambda tables: tables.hardware.delete(known))
    await machine(store)
    assert await remembered(store, known) == Remembered()
