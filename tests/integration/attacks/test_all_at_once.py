"""Every flood at once, while machines boot: none of them fails, and the operator is answered."""

import asyncio
import sys
import time
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface
from itertools import pairwise
from pathlib import Path
from statistics import quantiles

import pytest

from examples.demo.appliance import Appliance
from examples.lab.network import Network
from tests.bench.dhcp import prepare
from tests.bench.http import write_random
from tests.bench.lab import cable
from tests.bench.storm import FIRST, STORMS, compiled, played
from tests.bench.usage import peak_memory
from tests.integration.attacks.floods import Attackers, flooded
from tests.machine.lab import until

SERVER, CLIENTS = IPv4Interface("172.30.0.1/20"), IPv4Interface("172.30.0.2/20")
ATTACKERS = Attackers(
    half_open=IPv4Address("172.30.8.0"), workers=IPv4Address("172.30.8.64"), hosts=IPv4Address("172.30.9.1")
)
BOOTING = 20
STATUS_SECONDS = 1.0
MEMORY_MB = 300
LOG_BYTES = 1_000_000
# The machines are played, so that a step which takes a second of firmware takes hundredths here; under all floods none may
# take longer than firmware's own.
STEP_SECONDS = 1.0
MINUTE = 60.0
CONFIGURATION = """
dhcp: {mode: pool, pool: 172.30.2.1-172.30.2.250}
unknown_machines: discover
"""


@pytest.mark.campaign
def test_machines_boot_and_the_operator_is_answered_under_every_flood_at_once(tmp_path: Path) -> None:
    osie = tmp_path / "osie"
    write_random(osie / "x86_64" / "vmlinuz", 12)
    with cable(SERVER, CLIENTS) as (ours, theirs):
        appliance = Appliance(ours, [sys.executable, "-m", "tinkbox"], tmp_path, osie, CONFIGURATION)
        until(appliance.ready, "the appliance to answer")
        machines = [(f"0a:00:00:00:00:{number:02x}", str(FIRST + number)) for number in range(BOOTING)]
        asyncio.run(prepare(appliance.data / "operator.sock", machines, SERVER))
        tickets = asyncio.run(ATTACKERS.tickets(appliance.data / "operator.sock", SERVER))
        program = compiled(tmp_path)
        quiet = steps(program, ours, theirs)
        log = appliance.log.stat().st_size
        pressed, answered = list[tuple[float, str]](), list[float]()
        with flooded(ours, SERVER, ATTACKERS, tickets):
            began = time.monotonic()
            # Long enough for 100,000 machines that nobody knows to have asked.
            while (lasted := time.monotonic() - began) < MINUTE:
                pressed += steps(program, ours, theirs)
                answered.append(looked(appliance))
        appliance.check()
        memory = peak_memory(appliance.process)
    slowest = sorted(pressed, reverse=True)[:20]
    assert hundredth(pressed) < STEP_SECONDS, (
        f"quiet: {hundredth(quiet):.3f} s; the slowest of {len(pressed)}: {slowest}"
    )
    assert max(answered) < STATUS_SECONDS
    assert memory < MEMORY_MB
    assert appliance.log.stat().st_size - log < LOG_BYTES, f"in {lasted:.0f} s"


def steps(program: Path, ours: Network, theirs: Network) -> list[tuple[float, str]]:
    """How long every step of every machine's boot took, in seconds, and which it was; none of them fails."""
    storm = replace(STORMS[0], machines=BOOTING)
    told = played(program, storm, ours, theirs, f"/boot/osie/x86_64/{storm.file}")
    assert all(each["done"] for each in told["machines"]), told
    names = (
        "began",
        "discover",
        "request",
        "probe",
        "loader",
        "ipxe_discover",
        "ipxe_request",
        "script",
        "kernel",
        "ended",
    )
    seen = [[(each[name], name) for name in names if name in each] for each in told["machines"]]
    return [(round(later - sooner, 3), name) for each in seen for (sooner, _), (later, name) in pairwise(each)]


def hundredth(taken: list[tuple[float, str]]) -> float:
    """What all but a hundredth of the steps stay below, in seconds."""
    return quantiles([seconds for seconds, _ in taken], n=100)[98]


def looked(appliance: Appliance) -> float:
    """How long the operator waits for the whole of `status`."""
    began = time.monotonic()
    appliance.snapshot()
    return time.monotonic() - began
