"""A boot storm: a thousand machines netboot at once, from tinkbox and from dnsmasq with nginx.

Each asks by DHCP, fetches a loader of 1 MB by TFTP in blocks of 1468, asks again as iPXE, and fetches its script and a
kernel of 12 MB by HTTP; all begin within one second, and wait as firmware does when nobody answers (`storm.c` plays
them, and says what is simplified).  UEFI firmware asks for four blocks at a time (RFC 7440), which dnsmasq does not
speak; other firmware for one.  A second storm is of fewer machines with a ramdisk of 100 MB.

Each side serves on one processor, over a cable of its own; the machines are played on the others.  Wall time says little
on a machine that does other things meanwhile; the processor time beside it does.

Half of what tinkbox spends is Python, two milliseconds for each machine; the rest is the kernel's, for both ends of the
cable.  The connections of both use cubic: tinkbox chooses that itself, and with BBR nginx's would be paced by timers.
"""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from statistics import quantiles
from subprocess import CalledProcessError
from typing import Any

from examples.lab.network import Network
from tests.bench.dhcp import prepare
from tests.bench.figures import Comparison
from tests.bench.http import write_random
from tests.bench.lab import ROOT, appliance, as_client, cable, describe_osie, folder, need
from tests.bench.peers import start_dnsmasq, start_nginx
from tests.bench.start import inside, megabytes
from tests.bench.usage import seconds_of
from tests.golden import FOLDER as GOLDEN

TOOLS = {"nginx": "nginx-light", "dnsmasq": "dnsmasq-base", "ip": "iproute2", "gcc": "gcc"}
SOURCE = Path(__file__).with_name("storm.c")
CFLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")
PACKETS = ("ovmf-pxe-discover", "ovmf-pxe-request", "snponly-ipxe-discover", "snponly-ipxe-request")
SERVER = IPv4Interface("172.30.0.1/20")
CLIENTS = IPv4Interface("172.30.0.2/20")
FIRST = IPv4Address("172.30.4.0")
MACHINES = 1000
RAMP = 1.0
DEADLINE = 240.0
LOADERS = ROOT / "tinkbox" / "boot" / "loaders"
LOADER = "ipxe-arm64.efi"  # of those that travel inside the program the one that has 1 MB
PEER = "dnsmasq + nginx"
ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """How many machines, with what firmware, and which file of the OSIE they fetch last, of how many megabytes."""

    what: str
    machines: int
    window: int
    file: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What became of a storm: of its machines, in seconds, and of the servers, in processor seconds and megabytes."""

    failed: int
    repeated: int
    wall: float
    median: float
    slowest: float
    processor: float
    memory: float
    phases: str


STORMS = (
    Storm(what="1000 machines, UEFI", machines=MACHINES, window=4, file="vmlinuz", size=12),
    Storm(what="1000 machines, a block at a time", machines=MACHINES, window=1, file="vmlinuz", size=12),
    Storm(what="100 machines, 100 MB ramdisk", machines=100, window=4, file="initramfs", size=100),
)


def compare() -> Iterator[Comparison]:
    """For each storm the wall time, the median and 99th percentile of a machine, and the servers' memory."""
    need(TOOLS)
    with folder() as work, ExitStack() as cables:
        program = compiled(work)
        osie = work / "osie" / "x86_64"
        for each in {storm.file: storm for storm in STORMS}.values():
            write_random(osie / each.file, each.size)
        describe_osie(osie)
        (our_end, our_clients), (their_end, their_clients) = (
            cables.enter_context(cable(SERVER, CLIENTS)) for _ in range(2)
        )
        machines = [
            (f"0a:00:00:00:{number >> 8:02x}:{number & 255:02x}", str(FIRST + number)) for number in range(MACHINES)
        ]
        asyncio.run(prepare(appliance(our_end, work, osie.parent).data / "operator.sock", machines, SERVER))
        start_pair(their_end, work, osie, machines)
        for storm in STORMS:
            figures = {
                name: Comparison(what=f"storm of {storm.what}: {name}", unit=unit, peer=PEER, better="less")
                for name, unit in (("wall", "s"), ("p50", "s"), ("p99", "s"), ("processor", "s"), ("memory", "MB"))
            }
            for _ in range(ROUNDS):
                ours = rage(program, storm, our_end, our_clients, f"/boot/osie/x86_64/{storm.file}")
                theirs = rage(program, storm, their_end, their_clients, f"/{storm.file}")
                for name, pair in {
                    "wall": (ours.wall, theirs.wall),
                    "p50": (ours.median, theirs.median),
                    "p99": (ours.slowest, theirs.slowest),
                    "processor": (ours.processor, theirs.processor),
                    "memory": (ours.memory, theirs.memory),
                }.items():
                    figures[name].add(*pair)
                print(
                    f"  {storm.what}:\n    tinkbox {told(ours)}\n    {PEER} {told(theirs)}", file=sys.stderr, flush=True
                )
            yield from figures.values()


def compiled(work: Path) -> Path:
    """The program that plays the machines."""
    program = work / "storm"
    subprocess.run(["gcc", *CFLAGS, "-o", str(program), str(SOURCE)], check=True)
    return program


def start_pair(network: Network, work: Path, osie: Path, machines: Sequence[tuple[str, str]]) -> None:
    """dnsmasq with its limits raised, and nginx."""
    shutil.copy(LOADERS / LOADER, work / LOADER)
    (osie / "script.ipxe").write_text("#!ipxe\n" + "echo a script of the usual length\n" * 20)
    limits = [f"dhcp-lease-max={2 * MACHINES}", f"tftp-max={2 * MACHINES}"]
    script = ["dhcp-match=set:ipxe,175", f"dhcp-boot=tag:ipxe,http://{network.address}/script.ipxe,,{network.address}"]
    start_dnsmasq(network, work, machines, netmask=str(SERVER.netmask), more=[*limits, *script])
    use_cubic(network)
    start_nginx(network, work, osie)


def use_cubic(network: Network) -> None:
    """Have every connection of the namespace use cubic, by its route: not every host lets a namespace choose for all.

    Where the host has no cubic, that is told, and its own choice stays.
    """
    route = [str(SERVER.network), "dev", network.interface, "proto", "kernel", "scope", "link", "src", str(SERVER.ip)]
    try:
        network.run(["ip", "route", "change", *route, "congctl", "cubic"])
    except CalledProcessError:
        print(f"  {PEER} without cubic, which this host does not have", file=sys.stderr, flush=True)


def rage(program: Path, storm: Storm, server: Network, clients: Network, path: str) -> Weather:
    """One storm against the servers at that end."""
    before = spent(server)
    machines = played(program, storm, server, clients, path)
    # One table for all namespaces, which by default holds 1,024: the next storm needs it empty.
    server.run(["ip", "neighbour", "flush", "dev", server.interface])
    return weather(machines, spent(server) - before, megabytes(server))


def played(program: Path, storm: Storm, server: Network, clients: Network, path: str) -> dict[str, Any]:
    """What the program that plays the machines tells of one storm: `again`, and `machines` with the times of each."""
    clients.run(["ip", "route", "replace", "local", f"{FIRST}/22", "dev", "lo"])
    packets = [str(GOLDEN / "dhcp" / f"{name}.hex") for name in PACKETS]
    ended = subprocess.run(
        clients.inside(as_client(
            program, clients.interface, str(server.address), str(FIRST), str(storm.machines), str(storm.window),
            str(RAMP), str(DEADLINE), LOADER, path, *packets,
        )),
        stdout=subprocess.PIPE,
        check=True,
    )  # fmt: skip
    return dict(json.loads(ended.stdout))


def spent(server: Network) -> float:
    """Processor seconds of all that runs at that end."""
    return sum(map(seconds_of, inside(server)))


def weather(told: dict[str, Any], processor: float, memory: float) -> Weather:
    """What the machines' times come to."""
    done = [each for each in told["machines"] if each["done"]]
    took = [each["ended"] - each["began"] for each in done] or [float("inf")] * 2
    hundredths = quantiles(took, n=100)
    stages = ("discover", "probe", "ipxe_discover", "script", "ended")
    middles = [sorted(each[stage] - each["began"] for each in done)[len(done) // 2] for stage in stages] if done else []
    return Weather(
        failed=len(told["machines"]) - len(done),
        repeated=told["again"],
        wall=max(each["ended"] for each in told["machines"]) - min(each["began"] for each in told["machines"]),
        median=hundredths[49],
        slowest=hundredths[98],
        processor=processor,
        memory=memory,
        phases=", ".join(f"{stage} {at:.1f}" for stage, at in zip(stages, middles, strict=False)),
    )


def told(each: Weather) -> str:
    return (
        f"{each.failed} failed, {each.repeated} packets repeated, {each.wall:.1f} s, p50 {each.median:.1f} s, "
        f"p99 {each.slowest:.1f} s, {each.processor:.1f} s of a processor, {each.memory:.0f} MB; median machine at {each.phases}"
    )
