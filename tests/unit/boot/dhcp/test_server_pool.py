"""Addresses of a pool: offered when nobody else has them, acknowledged when they are written down."""

import asyncio
from dataclasses import replace
from ipaddress import IPv4Address

from tests.unit.boot.dhcp_bench import FIRMWARE, INSTALLED, IPXE, OTHER, Bench, serving, until
from tinkbox.boot.dhcp.server import PROBES
from tinkbox.model.boot import Stage
from tinkbox.model.limits import ADDRESS_PROBES
from tinkbox.wire.dhcp.packets import MessageType, Packet

POOL = ("172.30.0.100", "172.30.0.101", "172.30.0.102")
FIRST, SECOND = (IPv4Address(each) for each in POOL[:2])


def request(address: IPv4Address, base: Packet = FIRMWARE) -> Packet:
    return replace(base, options={**base.options, 53: b"\x03", 50: address.packed, 54: b"\xac\x1e\0\1"})


def proven(bench: Bench) -> None:
    bench.ledger.proven(bench.lab.pool[0])


async def until_written(bench: Bench, writes: int) -> None:
    await until(lambda: len(bench.ledger.writes) >= writes)


async def test_an_address_that_nobody_uses_is_offered_and_not_asked_for_again() -> None:
    async with serving(pool=POOL) as bench:
        bench.say(FIRMWARE)
        offer, _ = await bench.hear()
        assert (offer.message_type, offer.yiaddr, offer.file) == (MessageType.OFFER, FIRST, "snponly.efi")
        assert bench.scout.asked == [("172.30.0.100", "no-such-if", FIRMWARE.mac)]
        assert bench.lab.facts[-1]["mode"] == "pool"
        bench.say(FIRMWARE)
        again, _ = await bench.hear()
        assert again.yiaddr == FIRST
        assert len(bench.scout.asked) == 1


async def test_an_address_in_use_is_kept_back_and_another_is_offered() -> None:
    async with serving(pool=POOL) as bench:
        bench.scout.used = {POOL[0]}
        bench.say(FIRMWARE)
        offer, _ = await bench.hear()
        assert offer.yiaddr == SECOND
        assert bench.ledger.back == [("taken", "172.30.0.100")]


async def test_where_every_address_is_in_use_the_machine_is_seen_to_get_none() -> None:
    async with serving(pool=POOL) as bench:
        bench.scout.used = set(POOL)
        bench.say(FIRMWARE)
        assert await bench.seen(Stage.IGNORED) == "there is no address for it (PXE, architecture 7)"
        assert bench.ledger.back == [("taken", each) for each in POOL]
        assert bench.line.sent.empty()


async def test_no_machine_is_kept_waiting_for_more_than_a_few_addresses() -> None:
    many = [f"172.30.0.{number}" for number in range(100, 120)]
    async with serving(pool=many) as bench:
        bench.scout.used = set(many)
        bench.say(FIRMWARE)
        await bench.seen(Stage.IGNORED)
        assert len(bench.scout.asked) == PROBES == 4


async def test_a_machine_that_asks_again_meanwhile_is_answered_once_to_what_it_said_last() -> None:
    async with serving(pool=POOL) as bench:
        bench.scout.patience.clear()
        bench.say(replace(FIRMWARE, xid=1))
        await bench.scout.begun.wait()
        bench.say(replace(FIRMWARE, xid=2))
        await bench.drained()
        bench.scout.patience.set()
        offer, _ = await bench.hear()
        assert offer.xid == 2
        bench.say(replace(FIRMWARE, xid=3))
        assert (await bench.hear())[0].xid == 3
        assert len(bench.scout.asked) == 1


async def test_an_address_that_a_liar_claims_is_offered_all_the_same() -> None:
    async with serving(pool=POOL) as bench:
        bench.scout.used, bench.ledger.liars = {POOL[0]}, {OTHER}
        bench.say(FIRMWARE)
        offer, _ = await bench.hear()
    assert offer.yiaddr == FIRST


async def test_others_are_answered_while_an_address_is_asked_for() -> None:
    async with serving(pool=POOL) as bench:
        bench.scout.patience.clear()
        bench.say(FIRMWARE)
        await bench.scout.begun.wait()
        bench.say(request(SECOND, INSTALLED))
        refused, _ = await bench.hear()
        assert (refused.mac, refused.message_type) == (INSTALLED.mac, MessageType.NAK)
        bench.scout.patience.set()
        assert (await bench.hear())[0].mac == FIRMWARE.mac


async def test_a_flood_of_machines_that_ask_does_not_grow_without_end() -> None:
    macs = [type(FIRMWARE.mac).from_bytes(b"\x02\0\0\0" + number.to_bytes(2, "big")) for number in range(300)]
    async with serving(known=macs, pool=POOL) as bench:
        bench.scout.patience.clear()
        for mac in macs:
            bench.say(replace(FIRMWARE, mac=mac))
            await bench.drained()
        await asyncio.sleep(0)
        assert len(bench.scout.asked) == ADDRESS_PROBES.for_strangers == 256
        bench.scout.patience.set()
        for _ in range(256):
            await bench.hear()


async def test_a_flood_of_strangers_leaves_probes_to_known_machines() -> None:
    macs = [type(FIRMWARE.mac).from_bytes(b"\x02\0\0\0" + number.to_bytes(2, "big")) for number in range(300)]
    async with serving(known=[*macs, FIRMWARE.mac], pool=POOL, preferred=[FIRMWARE.mac]) as bench:
        bench.scout.patience.clear()
        for mac in macs:
            bench.say(replace(FIRMWARE, mac=mac))
            await bench.drained()
        bench.say(FIRMWARE)
        await bench.drained()
        await until(lambda: len(bench.scout.asked) == ADDRESS_PROBES.for_strangers + 1)
        bench.scout.patience.set()
        heard = [(await bench.hear())[0].mac for _ in range(ADDRESS_PROBES.for_strangers + 1)]
    assert FIRMWARE.mac in heard


async def test_a_lease_is_acknowledged_only_when_it_is_on_disk() -> None:
    async with serving(pool=POOL) as bench:
        proven(bench)
        bench.ledger.disk.clear()
        bench.say(request(FIRST))
        await until_written(bench, 1)
        assert bench.line.sent.empty()
        assert not any(stage is Stage.LEASED for _, stage, _ in bench.lab.seen)
        bench.ledger.disk.set()
        granted, _ = await bench.hear()
        assert (granted.message_type, granted.yiaddr) == (MessageType.ACK, FIRST)
        assert bench.lab.seen[-1][1] is Stage.LEASED


async def test_an_address_that_only_the_machine_remembers_is_granted_when_nobody_else_uses_it() -> None:
    async with serving(pool=POOL) as bench:
        bench.say(request(FIRST))
        granted, _ = await bench.hear()
        assert (granted.message_type, granted.yiaddr) == (MessageType.ACK, FIRST)
        assert len(bench.scout.asked) == 1


async def test_an_address_that_only_the_machine_remembers_is_refused_when_another_uses_it() -> None:
    async with serving(pool=POOL) as bench:
        bench.scout.used = {POOL[0]}
        bench.say(request(FIRST))
        refused, _ = await bench.hear()
        assert refused.message_type is MessageType.NAK
        assert bench.ledger.writes == []


async def test_leases_that_wait_for_the_disk_are_written_together() -> None:
    async with serving(pool=POOL) as bench:
        proven(bench)
        bench.ledger.disk.clear()
        bench.say(request(FIRST))
        await until_written(bench, 1)
        bench.say(request(FIRST), request(FIRST), request(FIRST, INSTALLED))
        await bench.drained()
        bench.ledger.disk.set()
        answers = [(await bench.hear())[0].mac for _ in range(4)]
        assert answers == [FIRMWARE.mac] * 3 + [INSTALLED.mac]
        assert [len(each) for each in bench.ledger.writes] == [1, 3]


async def test_a_lease_that_the_disk_does_not_take_is_not_acknowledged() -> None:
    async with serving(pool=POOL) as bench:
        proven(bench)
        bench.ledger.unwritten = {POOL[0]}
        bench.say(request(FIRST))
        await until_written(bench, 1)
        bench.ledger.unwritten = set()
        bench.say(replace(request(FIRST), xid=2))
        granted, _ = await bench.hear()
        assert (granted.xid, granted.message_type) == (2, MessageType.ACK)
        assert bench.line.sent.empty()


async def test_an_address_that_the_machine_may_not_have_is_refused() -> None:
    async with serving(pool=POOL) as bench:
        proven(bench)
        bench.ledger.refused = {POOL[0]}
        bench.say(request(FIRST))
        refused, _ = await bench.hear()
        assert (refused.message_type, refused.yiaddr) == (MessageType.NAK, IPv4Address(0))
        assert refused.options[56] == b"this address is not lent to you"
        assert bench.ledger.writes == []


async def test_a_machine_that_remembers_an_address_of_another_network_is_refused_through_its_relay() -> None:
    """INIT-REBOOT on a network that it was not on before: RFC 2131 §4.3.2."""
    relay = IPv4Address("10.9.0.1")
    moved = {**INSTALLED.options, 53: b"\x03", 50: IPv4Address("192.168.7.9").packed}
    async with serving(pool=POOL) as bench:
        bench.say(replace(INSTALLED, giaddr=relay, options=moved))
        refused, address = await bench.hear()
        assert (refused.message_type, refused.flags & 0x8000) == (MessageType.NAK, 0x8000)
        assert address == ("10.9.0.1", 67)


async def test_inform_needs_neither_a_lease_nor_the_disk() -> None:
    inform = replace(IPXE, ciaddr=IPv4Address("172.30.0.77"), options={**IPXE.options, 53: b"\x08"})
    async with serving(pool=POOL) as bench:
        bench.say(inform)
        reply, address = await bench.hear()
        assert (reply.message_type, reply.yiaddr, address) == (MessageType.ACK, IPv4Address(0), ("172.30.0.77", 68))
        assert (bench.ledger.writes, bench.scout.asked) == ([], [])
