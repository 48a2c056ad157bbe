"""Machines as stored."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.integration.engine.appliance import address, hardware, mac
from tinkbox.model.boot import Stage
from tinkbox.model.hardware import Hardware, parse_hardware
from tinkbox.store.database import Store, Tables
from tinkbox.store.hardware import KEPT_SIGHTINGS, Sighting

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def machine(number: int) -> Hardware:
    return parse_hardware(json.dumps(hardware(number)))


async def push(store: Store, *numbers: int) -> None:
    async def use_case(tables: Tables) -> None:
        for number in numbers:
            await tables.hardware.upsert(machine(number), f"token-{number}", NOW)

    await store.write(use_case)


async def test_progress_comes_back_as_it_was_saved(store: Store) -> None:
    await push(store, 1)
    async with store.read() as tables:
        (record,) = await tables.hardware.all()
    assert (record.hardware, record.token, record.ticket, record.boots) == (machine(1), "token-1", False, 0)
    later = replace(
        record, boots=2, furthest=Stage.KERNEL, stage=Stage.SCRIPT, stage_at=NOW, boot_id="b", last_contact=NOW
    )
    await store.write(lambda tables: tables.hardware.save_progress([later], []))
    async with store.read() as tables:
        assert await tables.hardware.some([record.hardware.id, "unknown"]) == [later]


async def test_pushing_again_keeps_the_token_and_moves_the_addresses(store: Store) -> None:
    await push(store, 1)
    moved = replace(machine(1), interfaces=machine(10).interfaces)
    await store.write(lambda tables: tables.hardware.upsert(moved, "another", NOW))
    async with store.read() as tables:
        (record,) = await tables.hardware.all()
        assert record.token == "token-1"
        assert await tables.hardware.by_address(mac(1)) is None
        assert mac(10).upper() != mac(10)
        assert await tables.hardware.by_address(mac(10).upper()) == machine(1).id
        assert await tables.hardware.by_address(address(10)) == machine(1).id


async def test_others_that_hold_an_address_are_named(store: Store) -> None:
    await push(store, 1, 2)
    claim = replace(machine(3), interfaces=machine(1).interfaces)
    async with store.read() as tables:
        held = await tables.hardware.holders(claim)
        assert sorted(held) == sorted([(mac(1), machine(1).id), (address(1), machine(1).id)])
        assert await tables.hardware.holders(machine(1)) == []


async def test_only_the_newest_sightings_of_each_machine_are_kept(store: Store) -> None:
    await push(store, 1, 2)
    async with store.read() as tables:
        record, other = await tables.hardware.all()
    quiet = Sighting(hardware_id=machine(2).id, at=NOW, stage=Stage.DISCOVER)
    await store.write(lambda tables: tables.hardware.save_progress([other], [quiet]))
    seen = [
        Sighting(hardware_id=machine(1).id, at=NOW + timedelta(seconds=number), stage=Stage.SCRIPT, detail=str(number))
        for number in range(KEPT_SIGHTINGS + 50)
    ]
    unknown = Sighting(hardware_id="unknown", at=NOW, stage=Stage.SCRIPT)
    await store.write(lambda tables: tables.hardware.save_progress([record], [*seen, unknown]))
    async with store.read() as tables:
        assert await tables.hardware.sightings(machine(1).id) == seen[50:]
        assert await tables.hardware.sightings(machine(2).id) == [quiet]


async def test_a_machine_goes_with_everything_that_is_its(store: Store) -> None:
    await push(store, 1)
    await store.write(lambda tables: tables.hardware.delete(machine(1).id))
    async with store.read() as tables:
        assert await tables.hardware.all() == []
        assert await tables.hardware.by_address(mac(1)) is None
