"""Every flood at once, while machines boot: none of them fails, and the operator is answered."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Interface
from itertools import pairwise
from pathlib import Path
from statistics import quantiles

import pytest

from examples.demo.appliance import Appliance
from examples.lab.network import Network
from examples.lab.processes import start, stop
from tests.bench.dhcp import document, prepare
from tests.bench.http import write_random
from tests.bench.lab import cable
from tests.bench.storm import FIRST, STORMS, compiled, played
from tests.bench.usage import peak_memory
from tests.integration.attacks.flood import KINDS
from tests.machine.hosts import Host
from tests.machine.lab import until
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection

SERVER, CLIENTS = IPv4Interface("172.30.0.1/20"), IPv4Interface("172.30.0.2/20")
ATTACKERS, WORKERS, HOSTS = IPv4Address("172.30.8.0"), IPv4Address("172.30.8.64"), IPv4Address("172.30.9.1")
ADDRESSES, EACH = 20, 2_000
AT_ONCE = 4  # processes that share the half-open connections: one may have 20,000 descriptors on many a host
BOOTING = 20
HOSTILE = 50  # machines with a credential of their own
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
        tickets = asyncio.run(given(appliance.data / "operator.sock"))
        program = compiled(tmp_path)
        quiet = steps(program, ours, theirs)
        log = appliance.log.stat().st_size
        pressed, answered = list[float](), list[float]()
        with flooded(ours, tickets):
            began = time.monotonic()
            # Long enough for 100,000 machines that nobody knows to have asked.
            while (lasted := time.monotonic() - began) < MINUTE:
                pressed += steps(program, ours, theirs)
                answered.append(looked(appliance))
        appliance.check()
        memory = peak_memory(appliance.process)
    assert hundredth(pressed) < STEP_SECONDS, f"quiet: {hundredth(quiet):.3f} s"
    assert max(answered) < STATUS_SECONDS
    assert memory < MEMORY_MB
    assert appliance.log.stat().st_size - log < LOG_BYTES, f"in {lasted:.0f} s"


async def given(operator_socket: Path) -> list[str]:
    """Boot tickets of known machines that are none of those that boot."""
    tickets = []
    async with Operator(LastingConnection(socket=operator_socket)) as operator:
        for number in range(HOSTILE):
            mac = f"0a:00:00:00:01:{number:02x}"
            await operator.hardware.push(document(mac, str(WORKERS + number), SERVER))
            tickets.append(str((await operator.hardware.credential(mac))["token"]))
    return tickets


def steps(program: Path, ours: Network, theirs: Network) -> list[float]:
    """How long every step of every machine's boot took, in seconds; none of them fails."""
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
    times = [[each[name] for name in names if name in each] for each in told["machines"]]
    return [later - sooner for each in times for sooner, later in pairwise(each)]


def hundredth(durations: list[float]) -> float:
    """What all but a hundredth of them stay below."""
    return quantiles(durations, n=100)[98]


def looked(appliance: Appliance) -> float:
    """How long the operator waits for the whole of `status`."""
    began = time.monotonic()
    appliance.snapshot()
    return time.monotonic() - began


@contextmanager
def flooded(ours: Network, tickets: Sequence[str]) -> Iterator[None]:
    """All kinds of floods, from hosts beside the machines, begun; `tickets` are those of hostile workers."""
    commands = [
        [
            "half-open",
            str(SERVER.ip),
            str(ATTACKERS + number * (ADDRESSES // AT_ONCE)),
            str(ADDRESSES // AT_ONCE),
            str(EACH),
        ]
        for number in range(AT_ONCE)
    ]
    commands += [["workers", str(SERVER.ip), str(WORKERS), str(HOSTILE)]]
    commands += [[kind, str(SERVER.ip)] for kind in KINDS if kind not in ("half-open", "workers")]
    with ExitStack() as stack:
        started = []
        for number, words in enumerate(commands):
            host = stack.enter_context(Host(ours, [(ours.interface, str(HOSTS + number))]))
            host.run("ip", "route", "add", str(SERVER.network), "dev", "eth0")
            first, count = (IPv4Address(words[2]), int(words[3])) if len(words) > 2 else (ATTACKERS, 0)
            for each in range(count):
                host.run("ip", "route", "replace", "local", str(first + each), "dev", "lo")
            flood = ["nice", "-n", "10", sys.executable, "-m", "tests.integration.attacks.flood", *words]
            process = start(
                ["nsenter", f"--net={host.path}", *flood], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )  # fmt: skip
            stack.callback(stop, process)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("".join(f"{each}\n" for each in tickets).encode())
            process.stdin.close()
            stack.enter_context(process.stdout)
            started.append(process)
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
        yield
