"""Notes about machines, and retirements, as stored."""

from dataclasses import replace
from datetime import UTC, datetime

from tests.integration.store.test_hardware import machine, push
from tinkbox.model.notes import Note, Retirement
from tinkbox.store.database import Store, Tables

NOW = datetime(2026, 11, 21, tzinfo=UTC)
GONE = Retirement(at=NOW, who="ann", reason='it\'s "broken"')


async def test_notes_come_back_in_their_order_and_go_with_the_machine(store: Store) -> None:
    await push(store, 1, 2)
    first, second = machine(1).id, machine(2).id

    def use_case(tables: Tables) -> None:
        for text in ("one", "two", "three"):
            tables.notes.add(first, NOW, "ann", text)
        tables.notes.add(second, NOW, "bob", "other")
        assert tables.notes.remove(first, 2)
        assert not tables.notes.remove(first, 2)

    await store.write(use_case)
    found = await store.read(lambda tables: tables.notes.of_many([first, second, "unknown"]))
    assert [(each.number, each.text) for each in found[first]] == [(1, "one"), (3, "three")]
    assert found[second] == [Note(number=1, at=NOW, who="bob", text="other")]
    await store.write(lambda tables: tables.hardware.delete(first))
    assert await store.read(lambda tables: tables.notes.of(first)) == []


async def test_a_retirement_is_part_of_the_machines_record(store: Store) -> None:
    await push(store, 1, 2)
    retired = machine(1).id
    await store.write(lambda tables: tables.retirements.put(retired, GONE))
    found = {each.hardware.id: each.retired for each in await store.read(lambda tables: tables.hardware.all())}
    assert found == {retired: GONE, machine(2).id: None}
    assert await store.read(lambda tables: tables.retirements.of(retired)) == GONE
    await push(store, 1)
    (record,) = await store.read(lambda tables: tables.hardware.some([retired]))
    assert record.retired == GONE, "a document that is pushed again does not bring it back"
    await store.write(lambda tables: tables.retirements.remove(retired))
    assert await store.read(lambda tables: tables.retirements.of(retired)) is None


async def test_what_machines_have_can_be_given_to_others_in_one_go(store: Store) -> None:
    await push(store, 1, 2)

    def swap(tables: Tables) -> None:
        one, two = machine(1), machine(2)
        tables.hardware.release([one.id, two.id])
        tables.hardware.upsert(replace(one, interfaces=two.interfaces), NOW)
        tables.hardware.upsert(replace(two, interfaces=one.interfaces), NOW)

    await store.write(swap)
    holder = await store.read(lambda tables: tables.hardware.by_address(str(machine(1).interfaces[0].address)))
    assert holder == machine(2).id
