"""Complete DHCP exchanges (DISCOVER, OFFER, REQUEST, ACK) per second, by perfdhcp: tinkbox beside dnsmasq, Kea and a loop.

perfdhcp offers exchanges at a fixed rate for a second and counts those that are completed.  A server that is offered
more than it can do loses packets of exchanges that it has begun, so that it completes fewer the more it is offered;
one that is offered less completes all of it.  The figure is the most that was completed over a few rates that close
in on that peak from above.  perfdhcp is a relay (RFC 2131 §4.1): replies go to its own address, port 67.

Each side serves on one processor.  Two kinds of clients: installed systems, which ask for no more than their address, and
firmware that netboots, which is also told what to boot and is followed on its way.  Each with a reservation, and with an
address of a pool, which tinkbox acknowledges when the lease is on disk.  dnsmasq keeps no lease file, Kea (where it is
installed) its own, which it does not flush, and `bare_dhcp` is a plain loop in Python, which has every lease on disk as
tinkbox has and knows nothing else.
"""

import asyncio
import json
import math
import re
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from shutil import which

from examples.demo.appliance import Appliance
from examples.lab.network import ADDRESS, Network
from tests.bench.figures import Comparison
from tests.bench.lab import ROOT, TINKBOX, as_client, as_server, cable, folder, need, until
from tests.bench.peers import start_dnsmasq, start_kea
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection

TOOLS = {"perfdhcp": "kea-admin", "dnsmasq": "dnsmasq-base", "ip": "iproute2"}
KEA = "kea-dhcp4"
SERVER, CLIENTS = IPv4Interface("172.30.0.1/20"), IPv4Interface("172.30.0.2/20")
MACHINES = 200
ROUNDS = 3
FIRST_STEPS, STEPS = 6, 3
FIRST_RATE = 32_000
LEAST_RATE = 100
SUSTAINED = 0.98
HIGHER = 1.15
ATTEMPTS = 5
QUICK = 9
# Option 60 "PXEClient" and option 93, architecture 7: UEFI on x86-64.
PXE = ("-o", f"60,{b'PXEClient'.hex()}", "-o", "93,0007")
KINDS: dict[str, tuple[str, ...]] = {"netbooting": PXE, "installed": ()}
_COMPLETED = re.compile(r"Statistics for: REQUEST-ACK\*\*\*.*?received packets: (\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressing:
    """Where machines have their addresses from; their MACs and, in this order, their addresses begin with `mac` and `first`."""

    name: str
    mac: str
    first: IPv4Address

    @property
    def last(self) -> IPv4Address:
        return self.first + MACHINES - 1

    @property
    def machines(self) -> list[tuple[str, str]]:
        return [(f"{self.mac[:-2]}{number:02x}", str(self.first + number)) for number in range(MACHINES)]


RESERVED = Addressing(name="reservations", mac="0a:00:00:00:00:00", first=IPv4Address("172.30.4.0"))
POOL = Addressing(name="pool", mac="0a:00:00:00:01:00", first=IPv4Address("172.30.8.0"))
CONFIGURATION = f"""\
dhcp:
  mode: pool
  pool: {POOL.first}-{POOL.last}
"""


class Side:
    """One server, and the clients' end of its cable."""

    def __init__(self, clients: Network) -> None:
        self._clients = clients
        self._peaks: dict[tuple[str, str], float] = {}

    def peak(self, kind: str, addressing: Addressing) -> float:
        """The most exchanges completed in a second; after the first time it is looked for where it was."""
        options = ("-b", f"mac={addressing.mac}", *KINDS[kind])
        before = self._peaks.get((kind, addressing.name))
        if before is None:
            # A server that has never seen a machine may first find out whether its address is free.
            until(
                lambda: perfdhcp(self._clients, "-r", "200", "-n", "200", *options) >= 0.95 * MACHINES, "a lease each"
            )
            found = peak(self._clients, options, FIRST_RATE, FIRST_STEPS)
        else:
            found = peak(self._clients, options, HIGHER * before, STEPS)
        self._peaks[kind, addressing.name] = found
        return found


def compare() -> Iterator[Comparison]:
    """One comparison for each kind of client, each way to have an address, and each peer."""
    need(TOOLS)
    with folder() as work, ExitStack() as cables:

        def end(name: str) -> tuple[Network, Side, Path]:
            ours, theirs = cables.enter_context(cable(SERVER, CLIENTS))
            (work / name).mkdir()
            return ours, Side(theirs), work / name

        network, ours, data = end("tinkbox")
        start_tinkbox(network, data)
        peers: dict[str, Side] = {}
        network, peers["dnsmasq, no lease file"], data = end("dnsmasq")
        pool = f"dhcp-range={POOL.first},{POOL.last},{SERVER.netmask},86400"
        start_dnsmasq(
            network, data, RESERVED.machines, netmask=str(SERVER.netmask), more=[pool, f"dhcp-lease-max={4 * MACHINES}"]
        )
        if which(KEA):
            network, peers["Kea, its lease file"], data = end("kea")
            start_kea(network, data, SERVER, RESERVED.machines, (POOL.first, POOL.last))
        else:
            print(f"  without Kea: apt-get install {KEA}-server", file=sys.stderr, flush=True)
        network, peers["a loop in Python, leases on disk"], data = end("bare")
        start_bare(network, data)
        for addressing in (RESERVED, POOL):
            for kind in KINDS:
                what = f"DHCP exchanges, {kind}, {addressing.name}"
                found = {each: Comparison(what=what, unit="1/s", peer=each, better="more") for each in peers}
                for _ in range(ROUNDS):
                    own = ours.peak(kind, addressing)
                    for name, side in peers.items():
                        found[name].add(own, side.peak(kind, addressing))
                yield from found.values()


def start_tinkbox(network: Network, work: Path) -> None:
    """Every machine known and with a ticket; half of them have a reservation."""
    (work / "nothing").mkdir()
    appliance = Appliance(network, as_server(TINKBOX), work, work / "nothing", CONFIGURATION)
    until(appliance.ready, "tinkbox serve")
    machines = [*RESERVED.machines, *((mac, "") for mac, _ in POOL.machines)]
    asyncio.run(prepare(appliance.data / "operator.sock", machines, SERVER))


def start_bare(network: Network, work: Path) -> None:
    with (work / "bare.log").open("wb") as log:
        command = as_server(sys.executable, "-m", "tests.bench.bare_dhcp", work, str(SERVER.ip), str(RESERVED.first))
        network.start(["env", "-C", str(ROOT), *command], stdout=log)
    until((work / "ready").exists, "the loop")


async def prepare(operator_socket: Path, machines: Sequence[tuple[str, str]], network: IPv4Interface = ADDRESS) -> None:
    """Make the machines known, and give each the ticket without which it may not netboot."""
    async with Operator(LastingConnection(socket=operator_socket)) as operator:
        for mac, address in machines:
            await operator.hardware.push(document(mac, address, network))
        for number, first in enumerate(range(0, len(machines), MACHINES)):
            some = machines[first : first + MACHINES]
            devices = {f"device_{each}": mac for each, (mac, _) in enumerate(some)}
            template = await operator.templates.create(f"bench-{number}", template_for(devices))
            await operator.workflows.create(template["id"], devices)


def document(mac: str, address: str, network: IPv4Interface) -> bytes:
    """Hardware; an empty `address` leaves it to the pool."""
    dhcp: dict[str, object] = {"mac": mac, "arch": "x86_64", "lease_time": 86_400}
    if address:
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


def peak(clients: Network, options: Sequence[str], rate: float, steps: int) -> float:
    """The most exchanges completed in a second, beginning with this rate.

    After a rate that was not sustained comes the geometric mean of what was offered and what was completed, after
    one that was a somewhat higher one; the most counts, so that one disturbed second does no harm.
    """
    most = 0
    for _ in range(steps):
        done = completed(clients, round(rate), options)
        most = max(most, done)
        rate = rate * HIGHER if done >= SUSTAINED * rate else math.sqrt(rate * max(done, LEAST_RATE))
    return most


def completed(clients: Network, rate: int, options: Sequence[str]) -> int:
    """How many exchanges are completed when `rate` are begun within one second."""
    # What an earlier rate left in the server's queue is answered first: when exchanges are quick again, it is empty.
    until(lambda: perfdhcp(clients, "-r", "200", "-n", "10", *options) >= QUICK, "quick exchanges")
    return perfdhcp(clients, "-r", str(rate), "-p", "1", *options)


def perfdhcp(clients: Network, *options: str) -> int:
    """How many exchanges it completed."""
    command = as_client("perfdhcp", "-4", "-g", "single", "-R", str(MACHINES), *options, str(SERVER.ip))
    for _ in range(ATTEMPTS):
        done = subprocess.run(clients.inside(command), capture_output=True, text=True, timeout=60, check=False)
        # Status 3 says that some exchanges were not completed, which is what is looked for.
        if done.returncode in (0, 3) and (found := _COMPLETED.search(done.stdout)):
            return int(found[1])
        # It gives up when two clocks disagree by microseconds on whether a reply came before its request.
        if "timestamp" not in done.stderr:
            break
    raise RuntimeError(f"perfdhcp ended with {done.returncode}: {done.stderr or done.stdout}")
