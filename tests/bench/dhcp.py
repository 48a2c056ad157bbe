"""Complete DHCP exchanges (DISCOVER, OFFER, REQUEST, ACK) per second, by perfdhcp: tinkbox beside dnsmasq.

perfdhcp offers exchanges at a fixed rate for a second and counts those that are completed.  A server that is offered
more than it can do loses packets of exchanges that it has begun, so that it completes fewer the more it is offered;
one that is offered less completes all of it.  The figure is the most that was completed over a few rates that close
in on that peak from above.  perfdhcp is a relay (RFC 2131 §4.1): replies go to its own address, port 67.

Each side serves the same reservations on one processor.  Two kinds of clients: installed systems, which ask for no
more than their address, and firmware that netboots, which is also told what to boot and is followed on its way.
"""

import asyncio
import json
import math
import re
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from ipaddress import IPv4Interface
from pathlib import Path

from examples.lab.network import ADDRESS, Network
from tests.bench.figures import Comparison
from tests.bench.lab import appliance, as_client, cable, folder, need, until
from tests.bench.peers import start_dnsmasq
from tinkbox.client.operator import Operator

TOOLS = {"perfdhcp": "kea-admin", "dnsmasq": "dnsmasq-base", "ip": "iproute2"}
MACHINES = 200
ROUNDS = 3
STEPS = 7
FIRST_RATE = 32_000
LEAST_RATE = 100
SUSTAINED = 0.98
HIGHER = 1.15
ATTEMPTS = 5
QUICK = 9
FIRST_MAC = "0a:00:00:00:00:00"
# Option 60 "PXEClient" and option 93, architecture 7: UEFI on x86-64.
PXE = ("-o", f"60,{b'PXEClient'.hex()}", "-o", "93,0007")
KINDS: dict[str, tuple[str, ...]] = {"installed systems": (), "netbooting": PXE}
_COMPLETED = re.compile(r"Statistics for: REQUEST-ACK\*\*\*.*?received packets: (\d+)", re.DOTALL)


def compare() -> Iterator[Comparison]:
    """One comparison for each kind of client."""
    need(TOOLS)
    machines = [(f"{FIRST_MAC[:-2]}{number:02x}", f"172.30.0.{number + 10}") for number in range(MACHINES)]
    with folder() as work, ExitStack() as cables:
        (our_end, our_clients), (their_end, their_clients) = (cables.enter_context(cable()) for _ in range(2))
        asyncio.run(prepare(appliance(our_end, work).data / "operator.sock", machines))
        start_dnsmasq(their_end, work, machines)
        for kind, options in KINDS.items():
            comparison = Comparison(
                what=f"DHCP exchanges, {kind}", unit="1/s", peer="dnsmasq, no lease file", better="more"
            )
            for _ in range(ROUNDS):
                comparison.add(peak(our_clients, options), peak(their_clients, options))
            yield comparison


async def prepare(operator_socket: Path, machines: Sequence[tuple[str, str]], network: IPv4Interface = ADDRESS) -> None:
    """Make the machines known, and give each the ticket without which it may not netboot."""
    async with Operator(socket=operator_socket) as operator:
        for mac, address in machines:
            await operator.hardware.push(document(mac, address, network))
        for number, first in enumerate(range(0, len(machines), MACHINES)):
            some = machines[first : first + MACHINES]
            devices = {f"device_{each}": mac for each, (mac, _) in enumerate(some)}
            template = await operator.templates.create(f"bench-{number}", template_for(devices))
            await operator.workflows.create(template["id"], devices)


def document(mac: str, address: str, network: IPv4Interface) -> bytes:
    dhcp = {"mac": mac, "arch": "x86_64", "lease_time": 86_400}
    dhcp["ip"] = {"address": address, "netmask": str(network.netmask), "gateway": str(network.ip)}
    interface = {"dhcp": dhcp, "netboot": {"allow_pxe": True, "allow_workflow": True}}
    return json.dumps({"id": str(uuid.uuid4()), "network": {"interfaces": [interface]}}).encode()


def template_for(devices: Iterable[str]) -> str:
    """A task for each machine."""
    tasks = "".join(
        f'  - name: {device}\n    worker: "{{{{.{device}}}}}"\n'
        "    actions: [{name: nothing, image: nothing:v1, timeout: 60}]\n"
        for device in devices
    )
    return f'version: "0.1"\nname: bench\nglobal_timeout: 600\ntasks:\n{tasks}'


def peak(clients: Network, options: Sequence[str]) -> float:
    """The most exchanges completed in a second.

    After a rate that was not sustained comes the geometric mean of what was offered and what was completed, after
    one that was a somewhat higher one; the most counts, so that one disturbed second does no harm.
    """
    rate, most = float(FIRST_RATE), 0
    for _ in range(STEPS):
        done = completed(clients, round(rate), options)
        most = max(most, done)
        rate = rate * HIGHER if done >= SUSTAINED * rate else math.sqrt(rate * max(done, LEAST_RATE))
    return most


def completed(clients: Network, rate: int, options: Sequence[str]) -> int:
    """How many exchanges are completed when `rate` are begun within one second."""
    # What an earlier rate left in the server's queue is answered first: when exchanges are quick again, it is empty.
    until(lambda: perfdhcp(clients, "-r", "200", "-n", "10") >= QUICK, "quick exchanges")
    return perfdhcp(clients, "-r", str(rate), "-p", "1", *options)


def perfdhcp(clients: Network, *options: str) -> int:
    """How many exchanges it completed."""
    command = as_client(
        "perfdhcp", "-4", "-g", "single", "-R", str(MACHINES), "-b", f"mac={FIRST_MAC}", *options, str(ADDRESS.ip)
    )
    for _ in range(ATTEMPTS):
        done = subprocess.run(clients.inside(command), capture_output=True, text=True, timeout=60, check=False)
        # Status 3 says that some exchanges were not completed, which is what is looked for.
        if done.returncode in (0, 3) and (found := _COMPLETED.search(done.stdout)):
            return int(found[1])
        # It gives up when two clocks disagree by microseconds on whether a reply came before its request.
        if "timestamp" not in done.stderr:
            break
    raise RuntimeError(f"perfdhcp ended with {done.returncode}: {done.stderr or done.stdout}")
