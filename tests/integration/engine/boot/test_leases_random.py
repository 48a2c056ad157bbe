"""Leases when anything may happen: machines ask, give back and decline, the disk refuses, the appliance crashes, `lease` changes."""

import logging
import random
from datetime import timedelta
from ipaddress import IPv4Address

import pytest

from tests.integration.engine.appliance import mac
from tests.integration.engine.lending import TERM, Lender, at, client, fill
from tinkbox.engine.boot.conflicts import KEPT_OUT_SECONDS
from tinkbox.engine.boot.leases import OFFER_SECONDS


class Life:
    """What the machines were told: each address with its machine, and until when; and what of that must survive."""

    def __init__(self, lab: Lender, seed: int) -> None:
        self.lab = lab
        self.chance = random.Random(seed)
        self.full = False
        self.promised: dict[IPv4Address, tuple[int, float]] = {}
        self.lasting: dict[IPv4Address, tuple[int, float]] = {}
        self.acknowledged = 0

    async def ask(self) -> None:
        machine = self.chance.randrange(1, 8)
        offered = self.lab.offer(machine, self.chance.choice([None, at(self.chance.randrange(6))]))
        if offered is None:
            return
        holder, ends = self.promised.get(offered.address, (machine, 0.0))
        assert holder == machine or ends <= self.lab.seconds
        if self.chance.random() < 0.8 and await self.lab.acknowledged(machine, offered.address):
            self.acknowledged += 1
            self.promised[offered.address] = (machine, self.lab.seconds + self.lab.term)
            if not self.full:
                self.lasting[offered.address] = self.promised[offered.address]
            elif offered.address in self.lasting:  # it is written as soon as there is room
                self.lasting[offered.address] = min(self.lasting[offered.address], self.promised[offered.address])

    async def give_back(self) -> None:
        for address, (machine, ends) in list(self.promised.items()):
            if ends > self.lab.seconds and self.chance.random() < 0.3:
                say = self.chance.choice([self.lab.leases.release, self.lab.leases.decline])
                say(client(machine), address)
                if self.lab.leases.holder(address) is None:
                    del self.promised[address]
                    self.lasting.pop(address, None)

    async def fill_the_disk(self) -> None:
        self.full = not self.full
        await fill(self.lab.store, full=self.full)

    async def crash(self) -> None:
        self.promised = dict(self.lasting)
        await self.lab.restart(self.chance.choice([TERM, TERM // 10, 2 * TERM]))

    async def wait(self) -> None:
        self.lab.wait(self.chance.choice([1, 20, OFFER_SECONDS, TERM, KEPT_OUT_SECONDS]))

    async def set_the_clock(self) -> None:
        """Back only: what is over by the clock when the appliance starts is over."""
        self.lab.clock.now -= timedelta(hours=30)

    def check(self) -> None:
        for address, (machine, ends) in self.promised.items():
            if ends > self.lab.seconds:
                assert self.lab.leases.holder(address) == mac(machine)


@pytest.mark.parametrize("seed", range(12))
async def test_nobody_gets_what_another_has_and_what_was_acknowledged_survives(
    lab: Lender, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    life = Life(lab, seed)
    doings = [life.ask] * 12 + [life.give_back, life.fill_the_disk, life.crash, life.wait, life.wait]
    for _ in range(400):
        await life.chance.choice(doings)()
        life.check()
    assert life.acknowledged > 50


async def test_a_clock_that_is_set_back_again_and_again_takes_nobodys_address(lab: Lender) -> None:
    life = Life(lab, 5)
    doings = [life.ask] * 12 + [life.give_back, life.set_the_clock, life.crash, life.wait]
    for _ in range(300):
        await life.chance.choice(doings)()
        life.check()
    assert life.acknowledged > 50
