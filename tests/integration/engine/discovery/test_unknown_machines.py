"""Who is let in of the machines that nobody knows, and for how long."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address

import pytest

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.discovery.test_discovery import begin, discovery, pxe, standing, wait_here, what, whose
from tinkbox.engine.discovery.unknown_machines import PATIENCE
from tinkbox.model.boot import Asker, Client, Silence, Stage
from tinkbox.model.discovery import Quotas, Standing, Stranger
from tinkbox.model.errors import Denied, Unavailable
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.wire.messages.inventory import Told

ROUTER = IPv4Address("172.31.0.1")


async def stored(box: Appliance) -> list[Stranger]:
    return await box.store.read(lambda tables: tables.discovery.some(1_000))


@pytest.mark.parametrize(("number", "architecture"), [(0, "x86_64"), (7, "x86_64"), (11, "aarch64"), (19, "aarch64")])
def test_it_boots_the_osie_of_its_architecture(box: Appliance, number: int, architecture: str) -> None:
    plan = discovery(box).plan(pxe(7, number), Interface(mac=mac(7)), "eth1")
    assert plan
    assert plan.interface.architecture == architecture


async def test_a_flood_of_invented_machines_costs_a_bounded_memory_and_no_disk(box: Appliance) -> None:
    found = discovery(box, Quotas(all=10, port=4))
    await wait_here(found, 7)
    for number in range(5_000):
        invented = MacAddress.from_bytes(number.to_bytes(6, "big"))
        found.plan(Client(mac=invented, asker=Asker.PXE), Interface(mac=invented), "eth1")
    assert len(found.all()) == 4
    assert found.all()[0].mac == mac(7)
    box.clock.forward(PATIENCE[Standing.ASKING].total_seconds() + 1)
    await found.look()
    assert found._strangers._unsaved == {mac(7)}, "there is nothing to delete of those that only asked"
    await found.save()
    assert [each.mac for each in await stored(box)] == [mac(7)]
    assert found.plan(pxe(8, relay=ROUTER), Interface(mac=mac(8)), "eth1")


async def test_the_quota_in_all_holds_over_all_ports(box: Appliance) -> None:
    found = discovery(box, Quotas(all=3, port=2))
    let_in = [found.plan(pxe(each, relay=ROUTER, circuit=f"ge-{each}"), Interface(mac=mac(each))) for each in range(5)]
    assert [each is not None for each in let_in] == [True, True, True, False, False]
    assert {each.port for each in found.all()} == {f"{ROUTER} ge-{number}" for number in range(3)}


@pytest.mark.parametrize(
    ("quotas", "why"),
    [(Quotas(all=1, port=1), Silence.DISCOVERY_FULL), (Quotas(all=9, port=1), Silence.PORT_FULL)],
)
def test_a_machine_that_is_left_out_is_told_by_which_quota(box: Appliance, quotas: Quotas, why: Silence) -> None:
    found = discovery(box, quotas)
    assert found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    assert found.plan(pxe(8), Interface(mac=mac(8)), "eth1") is None
    assert found.silence(pxe(8), "eth1") is why
    system = replace(pxe(8), asker=Asker.SYSTEM)
    assert found.silence(system, "eth1") is Silence.UNKNOWN, "it would not be let in anyway"


async def test_that_there_is_no_place_is_said_once_each_time_it_comes_to_that(
    box: Appliance, caplog: pytest.LogCaptureFixture
) -> None:
    found = discovery(box, Quotas(all=1, port=1))

    def said() -> int:
        return len([each for each in caplog.records if "no more machines" in each.message])

    for number in range(7, 20):
        found.plan(pxe(number), Interface(mac=mac(number)), "eth1")
    assert said() == 1
    await found.refuse(mac(7))
    for number in range(8, 20):
        found.plan(pxe(number), Interface(mac=mac(number)), "eth1")
    assert said() == 2


async def test_who_only_asked_makes_room_after_a_while_for_others(box: Appliance) -> None:
    found = discovery(box, Quotas(all=1, port=1))
    found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    box.clock.forward(PATIENCE[Standing.ASKING].total_seconds() + 1)
    assert found.plan(pxe(8), Interface(mac=mac(8)), "eth1")
    assert standing(found) == {mac(8): Standing.ASKING}


async def test_who_is_accepted_or_refused_takes_no_place(box: Appliance) -> None:
    found = discovery(box, Quotas(all=1, port=1))
    await wait_here(found, 7)
    assert found.plan(pxe(8), Interface(mac=mac(8)), "eth1") is None
    await found.accept(mac(7))
    await wait_here(found, 8)
    await found.refuse(mac(8))
    assert found.plan(pxe(9), Interface(mac=mac(9)), "eth1")


async def test_one_that_is_not_seen_for_long_is_forgotten_and_one_that_waits_is_seen(box: Appliance) -> None:
    found = discovery(box, Quotas(forget=timedelta(hours=1)))
    token = await wait_here(found, 7)
    await wait_here(found, 8)
    await found.refuse(mac(9))
    box.clock.forward(3000)
    assert await found.accepted(whose(found, token)) is None
    box.clock.forward(3000)
    await found.look()
    assert standing(found) == {mac(7): Standing.WAITING, mac(9): Standing.REFUSED}
    await found.save()
    assert {each.mac for each in await stored(box)} == {mac(7), mac(9)}


@pytest.mark.parametrize("days", [-3650, 3650])
async def test_a_change_of_the_clock_forgets_nobody_and_keeps_nobody(box: Appliance, days: int) -> None:
    found = discovery(box, Quotas(forget=timedelta(hours=1)))
    await wait_here(found, 7)
    box.clock.jump(days * 86_400)
    await found.look()
    assert standing(found) == {mac(7): Standing.WAITING}
    box.clock.forward(3601)
    await found.look()
    assert standing(found) == {}


async def test_after_a_restart_everybody_has_time_to_be_seen_again(box: Appliance) -> None:
    found = discovery(box, Quotas(forget=timedelta(hours=1)))
    await wait_here(found, 7)
    box.clock.forward(7200)
    again = discovery(box, Quotas(forget=timedelta(hours=1)))
    await again.load()
    await again.look()
    assert standing(again) == {mac(7): Standing.WAITING}


async def test_who_was_let_in_is_saved_by_itself(box: Appliance) -> None:
    found = discovery(box)
    found.plan(pxe(8), Interface(mac=mac(8)), "eth1")
    found.credential(mac(8), "s", "r", "172.30.0.9")
    async with asyncio.TaskGroup() as parts:
        saving = parts.create_task(found.run())
        async with asyncio.timeout(60):
            while not await stored(box):  # noqa: ASYNC110  the store rings no bell
                await asyncio.sleep(0.01)
        saving.cancel()


async def test_who_waits_and_who_was_given_a_credential_outlives_a_restart(box: Appliance) -> None:
    found = discovery(box)
    waiting = await wait_here(found, 7)
    found.plan(pxe(8), Interface(mac=mac(8)), "eth1")
    booting = await begin(found, 8)
    found.plan(pxe(9), Interface(mac=mac(9)), "eth1")
    await found.save()
    again = discovery(box)
    await again.load()
    assert standing(again) == {mac(7): Standing.WAITING, mac(8): Standing.BOOTING}
    assert again.all()[0].inventory == what(7)
    await again.told(whose(again, booting), Told(boot_id="boot-1", inventory=what(8)))
    assert await again.accepted(whose(again, waiting)) is None
    await again.accept(mac(7))
    assert await again.accepted(whose(again, waiting))


async def test_what_a_full_disk_refuses_is_saved_later(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    found = discovery(box)
    found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    token = await begin(found, 7)
    write = box.store.write

    async def refused(_: object) -> None:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(box.store, "write", refused)
    with pytest.raises(Unavailable):
        await found.save()
    with pytest.raises(Unavailable):
        await found.told(whose(found, token), Told(boot_id="b", inventory=what(7)))
    monkeypatch.setattr(box.store, "write", write)
    await found.save()
    (saved,) = await stored(box)
    assert (saved.mac, saved.inventory) == (mac(7), what(7))


async def test_one_that_was_accepted_does_not_come_back_with_the_next_batch(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    box.machines.progress.saw(mac(7), Stage.DISCOVERY)
    found.credential(mac(7), "s", "r", "172.30.0.9")
    async with asyncio.TaskGroup() as group:
        group.create_task(found.accept(mac(7)))
        group.create_task(found.save())
    await found.save()
    assert await stored(box) == []


async def test_who_asks_again_keeps_place_and_port(box: Appliance) -> None:
    found = discovery(box, Quotas(all=1, port=1))
    for _ in range(3):
        assert found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
        box.clock.forward(60)
    assert found.plan(pxe(7), Interface(mac=mac(7)), "eth2")
    (only,) = found.all()
    assert (only.port, only.last_seen - only.first_seen) == ("eth1", timedelta(seconds=180))


async def test_the_credential_of_one_that_was_forgotten_is_nobody_s(box: Appliance) -> None:
    found = discovery(box, Quotas(forget=timedelta(hours=1)))
    token = await wait_here(found, 7)
    box.clock.forward(7200)
    await found.look()
    with pytest.raises(Denied):
        await found.told(whose(found, token), Told(boot_id="b", inventory=what(7)))
    with pytest.raises(Denied):
        await found.accepted(whose(found, token))


async def test_one_that_boots_again_while_it_waits_waits_on(box: Appliance) -> None:
    found = discovery(box)
    token = await wait_here(found, 7)
    assert found.plan(pxe(7), Interface(mac=mac(7)), "eth1")
    box.machines.progress.saw(mac(7), Stage.DISCOVERY)
    assert whose(found, await begin(found, 7)) == mac(7)
    with pytest.raises(Denied):
        whose(found, token)
    assert standing(found) == {mac(7): Standing.WAITING}
    await found.accept(mac(7))


async def test_one_that_was_accepted_is_nobody_s_guest_any_more_in_the_same_transaction(box: Appliance) -> None:
    found = discovery(box)
    await wait_here(found, 7)
    await found.accept(mac(7))
    assert await stored(box) == []
