"""Leases as stored."""

from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address

from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState
from tinkbox.store.database import Store

LENT = Lease(
    address=IPv4Address("172.30.0.100"),
    mac=MacAddress("08:00:27:00:00:01"),
    state=LeaseState.BOUND,
    until=datetime(2026, 11, 21, 3, tzinfo=UTC),
    seconds=3600,
    client_id=b"\x01\x00\xff",
    hostname="lab-1",
    proven=True,
    port=b"\x0a\x09\x00\x01\x04eth7",
)
OTHER = replace(
    LENT, address=IPv4Address("172.30.0.101"), state=LeaseState.RELEASED, seconds=0, client_id=b"", proven=False
)


async def kept(store: Store) -> list[Lease]:
    return await store.read(lambda tables: tables.leases.all())


async def test_leases_come_back_as_they_were_saved(store: Store) -> None:
    await store.write(lambda tables: tables.leases.save([LENT, OTHER]))
    assert await kept(store) == [LENT, OTHER]


async def test_of_an_address_only_the_newest_is_kept(store: Store) -> None:
    newer = replace(LENT, mac=MacAddress("08:00:27:00:00:02"), state=LeaseState.DECLINED, seconds=600)
    await store.write(lambda tables: tables.leases.save([LENT]))
    await store.write(lambda tables: tables.leases.save([newer]))
    assert await kept(store) == [newer]


async def test_what_is_forgotten_is_gone_and_nothing_else(store: Store) -> None:
    await store.write(lambda tables: tables.leases.save([LENT, OTHER]))
    await store.write(lambda tables: tables.leases.forget([LENT.address, IPv4Address("10.0.0.1")]))
    assert await kept(store) == [OTHER]


async def test_any_number_of_leases_is_saved_at_once_new_ones_beside_known_ones(store: Store) -> None:
    many = {number: replace(LENT, address=LENT.address + number, hostname=f"lab-{number}") for number in range(200)}
    for count in (1, 64, 65, 200, 130):
        many |= {number: replace(many[number], hostname=f"{count}-{number}") for number in range(0, count, 3)}
        saved = [many[number] for number in range(count)]
        await store.write(lambda tables, saved=saved: tables.leases.save(saved))  # type: ignore[misc]
        assert sorted(await kept(store), key=lambda each: each.address)[:count] == saved
    assert len(await kept(store)) == 200
    await store.write(lambda tables: tables.leases.save([]))
    assert len(await kept(store)) == 200
