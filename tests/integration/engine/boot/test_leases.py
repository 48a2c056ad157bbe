"""Leases over a real store: nobody gets what another has, and what was acknowledged survives."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.integration.engine.appliance import mac
from tests.integration.engine.lending import BEHIND, SUBNET, TERM, WIDE, Lender, at, client
from tinkbox.engine.boot.conflicts import KEPT_OUT_BRIEFLY_SECONDS, KEPT_OUT_SECONDS
from tinkbox.engine.boot.leases import (
    MAX_DECLINED,
    OFFER_SECONDS,
    UNKNOWN_OFFER_SECONDS,
    UNKNOWN_TERM_SECONDS,
)
from tinkbox.model.boot import Client
from tinkbox.model.errors import Unavailable
from tinkbox.model.leases import Lease, LeaseState, Subnet
from tinkbox.store.database import Tables

RELAY = IPv4Address("172.33.0.1")


async def test_a_machine_is_offered_an_address_and_has_it_when_it_is_on_disk(lab: Lender) -> None:
    offered = lab.offer(1)
    assert offered is not None
    assert (offered.address, offered.mac, offered.state, offered.proven) == (at(0), mac(1), LeaseState.OFFERED, False)
    assert offered.until == lab.clock() + timedelta(seconds=OFFER_SECONDS)
    assert lab.leases.holder(at(0)) is None
    assert await lab.acknowledged(1, at(0))
    assert lab.leases.holder(at(0)) == mac(1)
    (kept,) = await lab.store.read(lambda tables: tables.leases.all())
    until = lab.clock() + timedelta(seconds=TERM)
    assert kept == replace(offered, state=LeaseState.BOUND, until=until, seconds=TERM)
    assert (kept.client_id, kept.hostname) == (b"\x01\x01", "machine-1")
    firmware = replace(client(1), client_id=b"", hostname="")
    assert (again := lab.leases.confirm(firmware, at(0), SUBNET)) is not None
    assert (again.client_id, again.hostname) == (b"", "machine-1")


async def test_an_offer_is_held_for_a_minute_for_the_machine_alone(lab: Lender) -> None:
    offered = [lab.offer(machine) for machine in (1, 2, 3, 4, 5, 6)]
    assert [each and each.address for each in offered] == [*map(at, range(5)), None]
    lab.wait(OFFER_SECONDS - 1)
    assert set(lab.held().values()) == {LeaseState.OFFERED}
    assert lab.offer(6) is None
    assert not await lab.acknowledged(6, at(0))
    lab.wait(1)
    assert lab.held() == {}
    assert (later := lab.offer(6)) is not None
    assert later.address == at(0)
    assert not await lab.acknowledged(1, at(0))


async def test_a_lease_is_prolonged_by_asking_again_and_over_otherwise(lab: Lender) -> None:
    address = await lab.bound(1)
    lab.wait(TERM - 1)
    assert await lab.acknowledged(1, address)
    lab.wait(TERM - 1)
    assert lab.leases.holder(address) == mac(1)
    lab.wait(1)
    assert lab.leases.holder(address) is None
    assert not await lab.acknowledged(1, address)
    assert lab.held() == {address: LeaseState.EXPIRED}
    assert await lab.bound(1) == address


async def test_an_unknown_machine_is_offered_an_address_for_seconds_and_lent_it_for_two_minutes(lab: Lender) -> None:
    lab.unknown = {mac(1)}
    assert lab.offer(1) is not None
    lab.wait(UNKNOWN_OFFER_SECONDS)
    assert not await lab.acknowledged(1, at(0))
    address = await lab.bound(1)
    lab.wait(UNKNOWN_TERM_SECONDS - 1)
    assert lab.leases.holder(address) == mac(1)
    lab.wait(1)
    assert lab.leases.holder(address) is None


async def test_an_unknown_machine_that_asks_for_more_time_has_a_lease_like_others(lab: Lender) -> None:
    lab.unknown = {mac(1)}
    address = await lab.bound(1)
    lab.wait(1)
    assert lab.leases.term(client(1), SUBNET) == UNKNOWN_TERM_SECONDS  # whoever says at once what it said before
    lab.wait(UNKNOWN_TERM_SECONDS / 2)
    assert lab.leases.term(client(1), SUBNET) == TERM
    assert await lab.acknowledged(1, address)
    lab.wait(TERM / 2)
    assert lab.leases.holder(address) == mac(1)
    assert lab.leases.term(client(1), SUBNET) == TERM


def behind(machine: int, port: str) -> Client:
    """A machine whose packets a relay passes on, which names the port."""
    return replace(client(machine), relay=RELAY, circuit=port, port=port.encode())


async def test_the_share_of_a_relays_port_survives_a_restart_and_is_told(
    lab: Lender, caplog: pytest.LogCaptureFixture
) -> None:
    lab.unknown = {mac(each) for each in range(1, 10)}
    for machine in (1, 2):
        offered = lab.leases.offer(behind(machine, "eth7"), WIDE)
        assert offered is not None
        assert lab.leases.confirm(behind(machine, "eth7"), offered.address, WIDE) is not None
        await lab.leases.committed([offered.address])
    for _ in range(2):
        assert lab.leases.offer(behind(3, "eth7"), WIDE) is None
        told = [each.getMessage() for each in caplog.records if each.name.endswith("leases")]
        assert "unknown machines at the port 'eth7' of the relay for 172.33.0.1 hold as many addresses" in told[-1]
        other = lab.leases.offer(behind(4, "eth8"), WIDE)
        assert other is not None
        assert lab.leases.offer(behind(5, "eth8"), WIDE) is not None
        lab.leases.release(behind(4, "eth8"), other.address)
        caplog.clear()
        await lab.restart()
    lab.unknown.remove(mac(3))
    assert lab.leases.offer(behind(3, "eth7"), WIDE) is not None


async def test_an_unknown_machine_gets_its_first_address_behind_a_relay_through_it_and_more_time_without(
    lab: Lender,
) -> None:
    lab.unknown = {mac(1)}
    assert lab.offer(1, subnet=WIDE) is None
    offered = lab.leases.offer(behind(1, "eth7"), WIDE)
    assert offered is not None
    again = lab.offer(1, subnet=WIDE)
    assert again is not None
    assert (again.address, again.port) == (offered.address, b"eth7")
    assert await lab.acknowledged(1, offered.address, WIDE)
    lab.wait(UNKNOWN_TERM_SECONDS)
    assert lab.offer(1, subnet=WIDE) is None
    lab.unknown.clear()
    assert lab.offer(1, subnet=WIDE) is not None


async def test_a_machine_that_boots_again_keeps_lease_and_term(lab: Lender) -> None:
    address = await lab.bound(1)
    lab.wait(100)
    offered = lab.offer(1)
    assert offered is not None
    assert (offered.state, offered.address) == (LeaseState.BOUND, address)
    assert offered.until == lab.clock() + timedelta(seconds=TERM - 100)
    lab.wait(TERM - 101)
    assert lab.leases.holder(address) == mac(1)


async def test_another_machines_address_is_refused(lab: Lender) -> None:
    address = await lab.bound(1)
    assert not await lab.acknowledged(2, address)
    lab.leases.release(client(2), address)
    lab.leases.decline(client(2), address)
    assert lab.leases.holder(address) == mac(1)


async def test_an_address_of_another_network_is_refused(lab: Lender) -> None:
    address = await lab.bound(1)
    assert not await lab.acknowledged(1, address, subnet=BEHIND)
    assert not await lab.acknowledged(1, IPv4Address("10.0.0.1"))
    there = lab.offer(1, subnet=BEHIND)
    assert there is not None
    assert there.address == BEHIND.pool[0]  # type: ignore[index]
    assert lab.leases.holder(address) == mac(1)


async def test_a_network_without_a_pool_lends_nothing(lab: Lender) -> None:
    assert lab.offer(1, subnet=Subnet(network=IPv4Network("172.32.0.0/24"))) is None


async def test_leases_survive_a_crash_until_they_are_over(lab: Lender) -> None:
    address = await lab.bound(1)
    lab.leases.proven(lab.leases.all()[0])
    assert await lab.acknowledged(1, address)
    lab.wait(100)
    await lab.restart()
    assert lab.leases.holder(address) == mac(1)
    (kept,) = lab.leases.all()
    assert kept.proven
    assert (offered := lab.offer(2, wanted=address)) is not None
    assert offered.address != address
    lab.wait(TERM - 100)
    assert lab.leases.holder(address) is None
    assert await lab.bound(1) == address


@pytest.mark.parametrize("back", [timedelta(), timedelta(days=400)])
@pytest.mark.parametrize("term", [TERM // 50, TERM * 50])
async def test_another_length_of_leases_counts_from_when_a_machine_asks_again(
    lab: Lender, term: int, back: timedelta
) -> None:
    address, other = await lab.bound(1), await lab.bound(2)
    promised = lab.clock() - back + timedelta(seconds=TERM)
    lab.clock.now -= back
    await lab.restart(term)
    assert {each.until for each in lab.leases.all()} == {promised}
    lab.wait(TERM - 1)
    assert [lab.leases.holder(each) for each in (address, other)] == [mac(1), mac(2)]
    assert not await lab.acknowledged(3, address)
    assert await lab.acknowledged(2, other)
    lab.wait(1)
    assert lab.leases.holder(address) is None
    assert await lab.bound(3, wanted=address) == address
    lab.wait(term - 2)
    assert lab.leases.holder(other) == mac(2)
    lab.wait(1)
    assert lab.leases.holder(other) is None


async def test_a_restart_after_the_clock_went_back_gives_an_unknown_machine_its_first_lease_and_no_more(
    lab: Lender,
) -> None:
    lab.unknown = {mac(1)}
    address = await lab.bound(1)
    lab.clock.now -= timedelta(days=400)
    await lab.restart()
    lab.wait(UNKNOWN_TERM_SECONDS - 1)
    assert lab.leases.holder(address) == mac(1)
    lab.wait(1)
    assert lab.leases.holder(address) is None


async def test_a_restart_after_the_clock_went_back_keeps_nobody_from_what_was_given_back(lab: Lender) -> None:
    address = await lab.bound(1)
    lab.leases.release(client(1), address)
    await lab.leases.save()
    lab.clock.now -= timedelta(days=400)
    await lab.restart()
    assert await lab.bound(2, wanted=address) == address


async def test_what_was_only_offered_is_forgotten_by_a_crash(lab: Lender) -> None:
    lab.offer(1)
    lab.leases.taken(at(0), "")
    lab.offer(2)
    await lab.leases.save()
    await lab.restart()
    assert lab.held() == {at(0): LeaseState.TAKEN}


async def test_whether_an_address_is_free_is_asked_once_for_each_lease(lab: Lender) -> None:
    offered = lab.offer(1)
    assert offered is not None
    assert not offered.proven
    lab.leases.proven(offered)
    assert (again := lab.offer(1)) is not None
    assert again.proven
    await lab.bound(1)
    assert (later := lab.offer(1)) is not None
    assert later.proven
    lab.leases.release(client(1), at(0))
    assert (anew := lab.offer(1)) is not None
    assert (anew.address, anew.proven) == (at(0), False)
    await lab.bound(1)
    lab.wait(TERM)
    assert (expired := lab.offer(1)) is not None
    assert not expired.proven


async def test_word_that_comes_too_late_for_its_machine_proves_nothing(lab: Lender) -> None:
    offered = lab.offer(1)
    assert offered is not None
    lab.wait(OFFER_SECONDS)
    assert (others := lab.offer(2, wanted=offered.address)) is not None
    lab.leases.proven(offered)
    assert (asked := lab.offer(2)) is not None
    assert (asked.address, asked.proven) == (others.address, False)


async def test_an_address_at_which_somebody_answers_is_kept_out_for_a_while(
    lab: Lender, caplog: pytest.LogCaptureFixture
) -> None:
    offered = lab.offer(1)
    assert offered is not None
    lab.leases.taken(offered.address, "")
    assert (other := lab.offer(1, wanted=offered.address)) is not None
    assert other.address == at(1)
    await lab.leases.save()
    await lab.restart()
    lab.wait(KEPT_OUT_SECONDS - 1)
    assert (wanted := lab.offer(2, wanted=at(0))) is not None
    assert wanted.address != at(0)
    lab.wait(1)
    assert (free := lab.offer(3, wanted=at(0))) is not None
    assert free.address == at(0)
    assert [record.getMessage() for record in caplog.records] == [
        f"{at(0)} is not lent for ten minutes: somebody answers there"
    ]


async def test_a_liar_cannot_keep_known_machines_from_a_pool_and_is_named(
    lab: Lender, caplog: pytest.LogCaptureFixture
) -> None:
    liar = "02:00:00:00:00:66"
    asked = []
    while not asked or not lab.leases.taken(asked[-1].address, liar):
        offered = lab.offer(1)
        assert offered is not None
        asked.append(offered)
    assert len(asked) == 3
    assert await lab.acknowledged(1, asked[-1].address)
    (told,) = lab.leases.claimants()
    assert (told.mac, told.addresses, told.size, told.believed) == (liar, 3, 5, 2)
    said = f"one host, {liar}, answers for 3 addresses of the pool of {SUBNET.network}; {asked[-1].address} is lent"
    assert said in caplog.records[-1].getMessage()
    lab.wait(KEPT_OUT_BRIEFLY_SECONDS)
    assert (free := lab.offer(2, wanted=asked[1].address)) is not None
    assert free.address == asked[1].address
    lab.wait(KEPT_OUT_SECONDS)
    assert lab.leases.claimants() == []


async def test_an_unknown_machine_is_not_lent_what_somebody_answers_for(lab: Lender) -> None:
    lab.unknown = {mac(1)}
    offered = lab.offer(1)
    assert offered is not None
    assert not lab.leases.taken(offered.address, "02:00:00:00:00:66")


async def test_a_machine_can_decline_what_it_has_but_not_the_whole_pool(
    lab: Lender, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(MAX_DECLINED):
        lab.leases.decline(client(1), await lab.bound(1))
    last = await lab.bound(1)
    lab.leases.decline(client(1), last)
    assert lab.leases.holder(last) == mac(1)
    assert list(lab.held().values()).count(LeaseState.DECLINED) == MAX_DECLINED
    assert "wrong seems to be with the machine itself" in caplog.text


async def test_addresses_at_which_somebody_answers_do_not_count_as_what_the_machine_declined(lab: Lender) -> None:
    for _ in range(2):
        offered = lab.offer(1)
        assert offered is not None
        lab.leases.taken(offered.address, "")
    last = await lab.bound(1)
    lab.leases.decline(client(1), last)
    assert lab.held() == {**dict.fromkeys(map(at, range(2)), LeaseState.TAKEN), last: LeaseState.DECLINED}


async def test_the_lease_of_a_machine_is_another_one_once_it_asked_for_more_time(lab: Lender) -> None:
    address = await lab.bound(1)
    lease = lab.leases.lent(client(1), address)
    assert lease is not None
    assert lab.leases.lent(client(1), address) is lease
    assert lab.leases.lent(client(2), address) is None
    assert await lab.acknowledged(1, address)
    later = lab.leases.lent(client(1), address)
    assert later is not None
    assert later is not lease
    lab.leases.release(client(1), address)
    assert lab.leases.lent(client(1), address) is None


async def test_an_address_that_is_only_offered_is_not_lent(lab: Lender) -> None:
    offered = lab.offer(1)
    assert offered is not None
    assert lab.leases.lent(client(1), offered.address) is None


async def test_a_machine_that_gave_its_address_back_gets_the_same_again_while_there_are_others(lab: Lender) -> None:
    address = await lab.bound(1)
    lab.leases.release(client(1), address)
    assert await lab.bound(2) != address
    assert await lab.bound(1) == address


async def test_an_address_that_was_given_back_is_free_and_stays_so(lab: Lender) -> None:
    address = await lab.bound(1)
    lab.leases.release(client(1), address)
    assert lab.leases.holder(address) is None
    await lab.leases.save()
    await lab.restart()
    assert lab.held() == {address: LeaseState.RELEASED}
    assert await lab.bound(2, wanted=address) == address


async def test_exhaustion_is_said_once_until_there_is_an_address_again(
    lab: Lender, caplog: pytest.LogCaptureFixture
) -> None:
    for machine in range(1, 6):
        await lab.bound(machine)
    for machine in (6, 7, 6):
        assert lab.offer(machine) is None
    assert len(caplog.records) == 1
    assert "every address of the pool of 172.30.0.0/24 is lent or kept out" in caplog.text
    assert lab.offer(1) is not None
    assert lab.offer(6) is None
    assert len(caplog.records) == 1, "that one keeps its address gives nobody another"
    lab.leases.release(client(1), at(0))
    assert lab.offer(6) is not None
    assert lab.offer(7) is None
    assert len(caplog.records) == 2


async def test_a_lease_that_gave_way_to_a_reservation_does_not_come_back_with_a_restart(lab: Lender) -> None:
    address = await lab.bound(1)
    lab.reserved.add(address)
    other = lab.offer(1)
    assert other is not None
    assert other.address != address
    await lab.leases.save()
    lab.reserved = {other.address}
    assert (back := lab.offer(1, wanted=address)) is not None
    assert back.address == address
    async with lab.full_disk():
        assert not await lab.acknowledged(1, address)
    await lab.restart()
    assert lab.leases.holder(address) is None


async def test_a_full_disk_refuses_what_is_new_but_goes_on_with_what_it_has(
    lab: Lender, caplog: pytest.LogCaptureFixture
) -> None:
    old = await lab.bound(1)
    offered = lab.offer(2)
    assert offered is not None
    async with lab.full_disk():
        lab.wait(TERM / 2)
        assert await lab.acknowledged(1, old)
        lab.wait(TERM - 1)
        assert lab.leases.holder(old) == mac(1)
        assert await lab.acknowledged(1, old)
        assert (again := lab.offer(2)) is not None
        assert not await lab.acknowledged(2, again.address)
        assert lab.leases.holder(again.address) is None
        lab.leases.release(client(1), old)
        assert (back := lab.offer(1)) is not None
        assert back.address == old
    assert caplog.text.count("leases are not saved: the store cannot be written") == 1
    assert await lab.acknowledged(1, old)
    assert await lab.acknowledged(2, offered.address)
    await lab.restart()
    assert (lab.leases.holder(old), lab.leases.holder(offered.address)) == (mac(1), mac(2))


async def test_that_the_disk_is_full_is_said_once_until_something_was_written(
    lab: Lender, caplog: pytest.LogCaptureFixture
) -> None:
    first = lab.offer(1)
    assert first is not None
    for _ in range(2):
        async with lab.full_disk():
            for _ in range(3):
                assert not await lab.acknowledged(1, first.address)
                await lab.leases.save()  # only an offer by now, of which nothing is to be written
        assert await lab.acknowledged(1, first.address)
        lab.leases.release(client(1), first.address)
        await lab.leases.save()
        assert lab.offer(1) is not None
    assert caplog.text.count("leases are not saved") == 2


async def test_a_full_disk_has_kept_nothing_that_it_knows_as_anothers_or_as_given_back(lab: Lender) -> None:
    expired, released = await lab.bound(1), await lab.bound(2)
    lab.leases.release(client(2), released)
    await lab.leases.save()
    lab.wait(TERM)
    async with lab.full_disk():
        for machine, address in ((3, expired), (2, released)):
            assert (offered := lab.offer(machine, wanted=address)) is not None
            assert offered.address == address
            assert not await lab.acknowledged(machine, address)


async def test_what_a_full_disk_refused_is_saved_when_there_is_room_but_no_offer_is(lab: Lender) -> None:
    address = await lab.bound(1)
    assert (offered := lab.offer(2)) is not None
    async with lab.full_disk():
        lab.leases.release(client(1), address)
        assert not await lab.acknowledged(2, offered.address)
        with pytest.raises(Unavailable):
            await lab.leases.save()
    await lab.leases.save()
    assert await lab.store.read(lambda tables: {each.address: each.state for each in tables.leases.all()}) == {
        address: LeaseState.RELEASED
    }


async def test_those_that_are_acknowledged_together_each_get_their_own_answer(lab: Lender) -> None:
    old = await lab.bound(1)
    offered = lab.offer(2)
    assert offered is not None
    lab.leases.confirm(client(1), old, SUBNET)
    lab.leases.confirm(client(2), offered.address, SUBNET)
    async with lab.full_disk():
        assert await lab.leases.committed([old, offered.address]) == {old}
    assert await lab.leases.committed([old, offered.address]) == {old}


async def test_many_leases_are_one_transaction(lab: Lender) -> None:
    for machine in range(1, 6):
        offered = lab.offer(machine)
        assert offered is not None
        lab.leases.confirm(client(machine), offered.address, SUBNET)
    transactions: list[str] = []
    writer = lab.store._writer
    await writer.call(lambda: writer.connection.set_trace_callback(transactions.append))
    async with asyncio.TaskGroup() as asking:
        tasks = [asking.create_task(lab.leases.committed([at(number)])) for number in range(5)]
    assert [task.result() for task in tasks] == [{at(number)} for number in range(5)]
    assert len([each for each in transactions if each.startswith("SAVEPOINT")]) == 1


async def test_what_nobody_waits_for_is_saved_as_well(lab: Lender) -> None:
    address = await lab.bound(1)
    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        running = parts.create_task(lab.leases.run())
        lab.leases.release(client(1), address)
        await eventually(lab, lambda states: states == [LeaseState.RELEASED])
        running.cancel()


async def eventually(lab: Lender, wanted: Callable[[list[LeaseState]], bool]) -> None:
    while True:
        if wanted([each.state for each in await lab.store.read(lambda tables: tables.leases.all())]):
            return
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(hours=-2), timedelta(days=400)])
async def test_a_change_of_the_clock_ends_no_lease_and_prolongs_none(lab: Lender, jump: timedelta) -> None:
    address = await lab.bound(1)
    lab.clock.now += jump
    lab.wait(TERM - 1)
    assert lab.leases.holder(address) == mac(1)
    lab.wait(1)
    assert lab.leases.holder(address) is None


async def test_a_clock_that_goes_back_while_nobody_serves_prolongs_no_lease_beyond_its_term(lab: Lender) -> None:
    address = await lab.bound(1)
    declined = await lab.bound(2)
    lab.leases.decline(client(2), declined)
    await lab.leases.save()
    lab.clock.now -= timedelta(days=400)
    await lab.restart()
    lab.wait(TERM - 1)
    assert lab.leases.holder(address) == mac(1)
    assert {each.until for each in lab.leases.all() if each.mac == mac(1)} == {lab.clock() + timedelta(seconds=1)}
    lab.wait(1)
    assert lab.leases.holder(address) is None
    lab.wait(KEPT_OUT_SECONDS - TERM)
    assert await lab.bound(3, wanted=declined) == declined


async def test_of_leases_outside_of_every_pool_those_that_are_over_are_forgotten(lab: Lender) -> None:
    until = lab.clock() + timedelta(seconds=10)
    strays = [
        Lease(address=IPv4Address(f"10.0.0.{number}"), mac=mac(number), state=LeaseState.BOUND, until=until, seconds=10)
        for number in (1, 2)
    ]
    strays[1] = replace(strays[1], until=until + timedelta(seconds=10), seconds=20)
    await lab.store.write(lambda tables: tables.leases.save(strays))
    lab.wait(10)
    await lab.restart()
    assert lab.leases.all() == []
    await lab.leases.save()
    assert await lab.store.read(lambda tables: tables.leases.all()) == strays[1:]


@pytest.mark.parametrize("older_term", [TERM, 10 * TERM])
async def test_of_two_leases_that_a_larger_pool_brings_together_the_newer_one_is_remembered(
    lab: Lender, older_term: int
) -> None:
    for number, term, age in ((3, TERM, 100), (1, older_term, 200)):
        lease = Lease(
            address=at(number),
            mac=mac(1),
            state=LeaseState.BOUND,
            until=lab.clock() + timedelta(seconds=term - age),
            seconds=term,
        )
        await lab.store.write(partial(_keep, lease))
    await lab.restart()
    assert (again := lab.offer(1)) is not None
    assert again.address == at(3)
    assert (other := lab.offer(2, wanted=at(1))) is not None
    assert other.address != at(1), "it may still use the older one"


async def test_a_machine_that_moved_on_is_remembered_by_its_newest_address(lab: Lender) -> None:
    first = await lab.bound(1)
    lab.reserved.add(first)
    lab.wait(1)
    second = await lab.bound(1)
    assert second != first
    lab.reserved.clear()
    await lab.restart()
    assert (again := lab.offer(1)) is not None
    assert again.address == second


def _keep(lease: Lease, tables: Tables) -> None:
    tables.leases.save([lease])
