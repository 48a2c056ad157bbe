"""A machine with real firmware boots and works while the appliance is flooded in every way at once."""

import asyncio
import time
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

import pytest

from tests.bench.usage import peak_memory
from tests.integration.attacks.floods import Attackers, flooded
from tests.machine.lab import PATIENCE, laboratory, shell, shown, until
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = [pytest.mark.machine, pytest.mark.campaign]
ONE = 1
SERVER = IPv4Interface("172.30.0.1/24")
ATTACKERS = Attackers(
    half_open=IPv4Address("172.30.0.130"), workers=IPv4Address("172.30.0.160"), hosts=IPv4Address("172.30.0.220")
)
CONFIGURATION = """
dhcp: {mode: pool, pool: 172.30.0.50-172.30.0.120}
unknown_machines: discover
"""
STATUS_SECONDS = 5.0  # beside an emulated machine that takes whole processors
MEMORY_MB = 300


def test_a_machine_boots_and_works_under_every_flood_at_once(shell_archive: Path) -> None:
    with laboratory(configured=CONFIGURATION) as lab:
        lab.load(shell_archive)
        lab.push(ONE)
        workflow = lab.workflow(ONE, shell("first", "echo first"), shell("second", "echo second"))
        machine = lab.machine(ONE)
        tickets = asyncio.run(ATTACKERS.tickets(lab.appliance.data / "operator.sock", SERVER))
        answered = list[float]()

        def is_over() -> bool:
            began = time.monotonic()
            told = lab.state(workflow)
            answered.append(time.monotonic() - began)
            return told.ended_at is not None

        with flooded(lab.network, SERVER, ATTACKERS, tickets):
            machine.power_on()
            until(is_over, "the workflow to end", 3 * PATIENCE)
        assert lab.state(workflow).state is State.SUCCESS
        assert [each for each in lab.stages(ONE) if each in (Stage.SCRIPT, Stage.PARKED)] == [Stage.SCRIPT]
        assert shown(machine, "booting the OSIE on behalf of") == 1
        assert max(answered) < STATUS_SECONDS
        assert peak_memory(lab.appliance.process) < MEMORY_MB
