"""An address is given back when its machine is silent there: any host can say so in a machine's name."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address

import pytest

from tests.unit.boot.dhcp_bench import FIRMWARE, INSTALLED, SERVICE, Bench, Lab, Ledger, Scout, serving, until
from tinkbox.boot.dhcp import giving_back
from tinkbox.boot.dhcp.giving_back import GivingBack
from tinkbox.boot.dhcp.reporting import DhcpReporter
from tinkbox.model.boot import Client, Stage
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Lease, LeaseState
from tinkbox.model.limits import GIVEN_BACK_AT_ONCE, MAX_GIVEN_BACK
from tinkbox.model.sightings import OTHER_HOST
from tinkbox.wire.dhcp.packets import Packet

ADDRESS = IPv4Address("172.30.0.5")
LEASE = Lease(
    address=ADDRESS, mac=FIRMWARE.mac, state=LeaseState.BOUND, until=datetime(2100, 1, 1, tzinfo=UTC), seconds=600
)
RELEASE = replace(FIRMWARE, ciaddr=ADDRESS, options={**FIRMWARE.options, 53: b"\x07", 54: b"\xac\x1e\0\1"})
DECLINE = replace(FIRMWARE, options={**FIRMWARE.options, 53: b"\x04", 54: b"\xac\x1e\0\1", 50: ADDRESS.packed})
KINDS = pytest.mark.parametrize(("given", "kind"), [(RELEASE, "RELEASE"), (DECLINE, "DECLINE")])


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving_back, "LOOKS_AFTER_RELEASE", (0.0, 0.0))


def lending(bench: Bench) -> None:
    bench.ledger.lent_to[FIRMWARE.mac] = LEASE


@KINDS
async def test_what_a_machine_gives_back_and_does_not_use_is_given_back(given: Packet, kind: str) -> None:
    async with serving() as bench:
        lending(bench)
        bench.say(given)
        await until(lambda: bench.ledger.back)
    assert bench.ledger.back == [({"RELEASE": "released", "DECLINE": "declined"}[kind], str(ADDRESS))]
    assert bench.scout.asked == [(str(ADDRESS), "", FIRMWARE.mac)]


@KINDS
async def test_a_machine_that_answers_at_its_address_keeps_it_and_that_is_told(
    given: Packet, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as bench:
        lending(bench)
        bench.scout.kept = {str(ADDRESS)}
        bench.say(given)
        assert await bench.seen(Stage.ADDRESS_KEPT) == f"{ADDRESS}, by {kind}"
    assert bench.ledger.back == []
    assert bench.lab.facts[-1] == {"address": str(ADDRESS), "kind": kind, OTHER_HOST: "unknown"}
    assert f"{kind} of {ADDRESS} in the name of {FIRMWARE.mac} is not believed" in caplog.text


async def test_a_client_that_takes_a_released_address_off_its_interface_late_gives_it_back_all_the_same() -> None:
    async with serving() as bench:
        lending(bench)
        bench.scout.leaving = {str(ADDRESS)}
        bench.say(RELEASE)
        await until(lambda: bench.ledger.back)
    assert bench.ledger.back == [("released", str(ADDRESS))]
    assert Stage.ADDRESS_KEPT not in [stage for _, stage, _ in bench.lab.seen]


@KINDS
async def test_a_machine_that_asks_for_its_address_again_meanwhile_keeps_it(given: Packet, kind: str) -> None:
    async with serving() as bench:
        lending(bench)
        bench.scout.patience.clear()
        bench.say(given)
        await bench.scout.begun.wait()
        bench.ledger.lent_to[FIRMWARE.mac] = replace(LEASE)
        bench.scout.patience.set()
        bench.say(INSTALLED)
        await bench.hear()
    assert bench.ledger.back == []
    assert {Stage.DECLINED, Stage.ADDRESS_KEPT}.isdisjoint(stage for _, stage, _ in bench.lab.seen)


async def test_a_reserved_address_that_its_machine_uses_is_in_no_conflict() -> None:
    async with serving() as bench:
        bench.scout.kept = {str(ADDRESS)}
        bench.say(DECLINE)
        await bench.seen(Stage.ADDRESS_KEPT)
    assert Stage.DECLINED not in [stage for _, stage, _ in bench.lab.seen]


async def test_a_release_of_what_is_not_lent_asks_nobody() -> None:
    async with serving() as bench:
        bench.say(RELEASE, INSTALLED)
        await bench.hear()
    assert bench.scout.asked == []


async def test_a_stranger_with_a_lease_can_decline_it() -> None:
    async with serving(known=[INSTALLED.mac]) as bench:
        lending(bench)
        bench.say(DECLINE)
        await until(lambda: bench.ledger.back)
    assert bench.ledger.back == [("declined", str(ADDRESS))]


async def test_a_flood_of_forged_messages_has_few_machines_asked_at_a_time_and_each_once() -> None:
    lab, scout = Lab([]), Scout()
    ledger = Ledger(lab)
    scout.patience.clear()
    async with asyncio.TaskGroup() as tasks:
        given = GivingBack(ledger, scout, DhcpReporter(lab, SERVICE, lambda: 0.0), tasks.create_task)
        for number in range(MAX_GIVEN_BACK + 10):
            client = Client(mac=MacAddress.from_bytes(b"\x02\0\0\0" + number.to_bytes(2, "big")))
            for _ in range(3):
                given.declined(client, ADDRESS, stranger=False)
        await until(lambda: len(scout.asked) == GIVEN_BACK_AT_ONCE)
        await asyncio.sleep(0)
        assert len(scout.asked) == GIVEN_BACK_AT_ONCE
        scout.patience.set()
    assert len(scout.asked) == len(set(scout.asked)) == MAX_GIVEN_BACK


async def test_a_forged_release_keeps_no_true_decline_out() -> None:
    async with serving() as bench:
        lending(bench)
        bench.scout.patience.clear()
        bench.say(RELEASE)
        await bench.scout.begun.wait()
        bench.say(DECLINE)
        await until(lambda: len(bench.scout.asked) == 2)
        bench.scout.patience.set()
        await until(lambda: len(bench.ledger.back) == 2)
