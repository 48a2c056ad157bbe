"""Millions of spoilt packets against DHCP, port 4011 and TFTP: nothing fails, nothing waits, nothing grows.

`TINKBOX_SEED` repeats a run, whose seed stands in the failure; the packet goes into the corpus
(`mutants.write_corpus`), which every run begins with.
"""

import asyncio
import gc
import os
import random
from pathlib import Path

import pytest

from tests.golden import packet
from tests.integration.boot.flooded import LOADER, PORTS, Flooded, flooded
from tests.integration.boot.mutants import Mutator, corpus, recorded
from tinkbox.boot.dhcp.rate_limit import REMEMBERED, REMEMBERED_PORTS
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.model.boot import Stage
from tinkbox.model.limits import TFTP_TRANSFERS
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import MalformedPacket, decode

KINDS = ("dhcp", "tftp")
FRESH = 20_000
MILLIONS = 10_000_000
PORTION = 2_000
# A batch of 32 packets, at three servers, with debug logging; processor time, which others on the machine do not spend.
SLOW = 2.0
GROWTH_KB = 30_000
SEED = int(os.environ.get("TINKBOX_SEED", random.SystemRandom().getrandbits(32)))


def resident() -> int:
    """Kilobytes."""
    gc.collect()
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


def check_held(attacked: Flooded) -> None:
    held = attacked.held()
    assert held["transfers"] <= PORTS * TFTP_TRANSFERS.each
    assert held["transfers by host"] <= PORTS
    assert held["open files"] <= 1
    assert held["addresses that asked"] <= PORTS
    assert held["machines remembered"] <= 3 * REMEMBERED + REMEMBERED_PORTS + 1
    assert held["machines seen"] <= 1_000 + 100
    assert held["leases"] <= 100
    assert held["tasks"] < 50


async def flood(attacked: Flooded, packets: int, chance: random.Random) -> None:
    """Half of them are about DHCP and go to both of its servers, half to TFTP."""
    mutators = {kind: Mutator(kind, [*recorded(kind), *corpus(kind)], chance) for kind in KINDS}
    for _ in range(max(1, packets // PORTION // 2)):
        for kind, mutator in mutators.items():
            await attacked.take(kind, [mutator.mutant() for _ in range(PORTION)])
        check_held(attacked)


async def check_service(attacked: Flooded) -> None:
    """A machine that behaves is served as if nothing had been."""
    asks = packet("dhcp/ovmf-pxe-discover")
    mac = decode(asks).mac
    attacked.box.machines.progress.saw(mac, Stage.WORKER)
    await attacked.take("dhcp", [asks])
    seen = attacked.box.machines.timeline.newest(mac)
    assert seen is not None
    assert seen.stage is Stage.OFFERED
    assert await fetch(attacked.sockets["tftp"][0].getsockname()) == LOADER


async def fetch(server: tuple[str, int]) -> bytes:
    """The loader, by a client of its own."""
    blocks, loop = [], asyncio.get_running_loop()
    with bind_udp(interface="lo", address="127.0.0.9", port=0) as client:
        client.sendto(b"\0\1loader.efi\0octet\0", server)
        while True:
            datagram, line = await asyncio.wait_for(loop.sock_recvfrom(client, 2048), 60)
            if int.from_bytes(datagram[2:4]) != len(blocks) + 1:
                continue  # sent again: time flies there
            blocks.append(datagram[4:])
            client.sendto(b"\0\4" + datagram[2:4], line)
            if len(datagram) < 516:
                return b"".join(blocks)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_once_found_is_survived(kind: str, tmp_path: Path) -> None:
    async with flooded(tmp_path) as attacked:
        await attacked.take(kind, recorded(kind))
        await attacked.take(kind, corpus(kind))
        check_held(attacked)
        await check_service(attacked)


async def test_fresh_mutants_are_survived(tmp_path: Path) -> None:
    async with flooded(tmp_path) as attacked:
        await flood(attacked, FRESH, random.Random(SEED))
        await check_service(attacked)
        assert attacked.slowest < SLOW


@pytest.mark.campaign
@pytest.mark.timeout(3 * 60 * 60)
async def test_ten_million_mutants_are_survived_without_growth(tmp_path: Path) -> None:
    async with flooded(tmp_path) as attacked:
        chance = random.Random(SEED)
        await flood(attacked, MILLIONS // 20, chance)
        before, stored = resident(), size_of(tmp_path)
        await flood(attacked, MILLIONS - MILLIONS // 20, chance)
        await check_service(attacked)
        assert resident() - before < GROWTH_KB
        assert size_of(tmp_path) - stored < GROWTH_KB * 1024
        assert attacked.slowest < SLOW


def size_of(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_makes_the_same_mutants(kind: str) -> None:
    first, again = (Mutator(kind, recorded(kind), random.Random(7)) for _ in range(2))
    made = [first.mutant() for _ in range(500)]
    assert made == [again.mutant() for _ in range(500)]
    assert len(set(made)) > 400


def test_mutants_get_further_than_the_first_look() -> None:
    """Of those that are no more than noise none would reach what decides."""
    mutator, read = Mutator("dhcp", recorded("dhcp"), random.Random(7)), 0
    for _ in range(1000):
        try:
            identify(decode(mutator.mutant()))
        except MalformedPacket:
            continue
        read += 1
    assert 200 < read < 800
