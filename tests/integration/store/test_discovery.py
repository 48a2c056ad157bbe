"""Strangers and inventories in the store."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.integration.engine.appliance import Appliance, hardware, mac
from tests.integration.engine.discovery.test_discovery import what
from tinkbox.model.discovery import Standing, Stranger
from tinkbox.model.documents.hardware import parse_hardware

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def stranger(number: int, **facts: object) -> Stranger:
    plain = Stranger(
        mac=mac(number),
        standing=Standing.WAITING,
        port="172.31.0.1 ge-0/1",
        first_seen=NOON + timedelta(minutes=number),
        last_seen=NOON + timedelta(hours=1),
        architecture="aarch64",
        boot_id="boot-1",
        inventory=what(number),
        problem="no template",
    )
    return replace(plain, **facts)


async def kept(box: Appliance) -> list[Stranger]:
    return await box.store.read(lambda tables: tables.discovery.some(1_000))


async def test_a_stranger_comes_back_whole_the_one_seen_first_first(box: Appliance) -> None:
    first = stranger(8, inventory=None, standing=Standing.REFUSED)
    later = stranger(7, first_seen=NOON + timedelta(minutes=9))
    await box.store.write(lambda tables: tables.discovery.put([later, first]))
    assert await kept(box) == [first, later]
    changed = replace(first, standing=Standing.BOOTING, problem="")
    await box.store.write(lambda tables: tables.discovery.put([changed]))
    assert await kept(box) == [changed, later]
    await box.store.write(lambda tables: tables.discovery.forget([mac(8), mac(9)]))
    assert await kept(box) == [later]


async def test_of_many_those_that_wait_and_those_seen_last_are_told_and_all_that_are_refused(box: Appliance) -> None:
    waits, refused = stranger(1), stranger(2, standing=Standing.REFUSED)
    booting = [
        stranger(number, standing=Standing.BOOTING, last_seen=NOON + timedelta(days=number)) for number in range(3, 7)
    ]
    await box.store.write(lambda tables: tables.discovery.put([waits, refused, *booting]))
    told = await box.store.read(lambda tables: tables.discovery.some(3))
    assert {each.mac for each in told} == {mac(1), mac(2), mac(5), mac(6)}
    macs = [mac(number) for number in range(1, 7)]
    assert await box.store.read(lambda tables: tables.discovery.behind("", 4)) == macs[:4]
    assert await box.store.read(lambda tables: tables.discovery.behind(mac(4), 4)) == macs[4:]
    assert await box.store.read(lambda tables: tables.discovery.behind(mac(6), 4)) == []


async def test_what_is_hardware_by_now_stays_as_it_was(box: Appliance) -> None:
    before = stranger(1)
    await box.store.write(lambda tables: tables.discovery.put([before]))
    await box.machine(1)
    await box.machine(2)
    changed = [stranger(1, problem="other"), stranger(2)]
    await box.store.write(lambda tables: tables.discovery.put(changed))
    assert await kept(box) == [before]


async def test_an_inventory_is_replaced_and_goes_with_its_machine(box: Appliance) -> None:
    known = await box.machine(1)

    async def told() -> object:
        return await box.store.read(lambda tables: tables.discovery.inventory(known))

    assert await told() is None
    await box.store.write(lambda tables: tables.discovery.keep_inventory(known, what(1), NOON))
    await box.store.write(lambda tables: tables.discovery.keep_inventory(known, what(2), NOON))
    assert await told() == (what(2), NOON)
    await box.machines.push(parse_hardware(json.dumps(hardware(1))))
    assert await told() == (what(2), NOON)
    await box.machines.delete(known)
    assert await told() is None
    await box.store.write(lambda tables: tables.discovery.keep_inventory(known, what(1), NOON))
    assert await told() is None
