"""Healthy boots with real firmware, and what the doctor says of them: nothing.

Every kind of firmware boots again and again until its worker has done its work: alone, two machines at once, while a storm of a
thousand machines boots from the same appliance, and on a host whose processors are busy with other things.  All the while the
doctor's rounds are read, and the doctor is asked.  A fault or a suspicion about the machine, its workflow or the appliance fails
the test.

A line for each boot is added to `FIGURES` when the boot is over, so a run that is interrupted has told what it saw.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from ipaddress import IPv4Interface
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal, get_args

import pytest

from examples.lab.firmware import FIRMWARES, Firmware
from examples.lab.machine import Machine
from examples.lab.network import BRIDGE
from examples.lab.processes import start, stop
from tests.bench import storm
from tests.bench.dhcp import prepare
from tests.integration.cli.serving import run_here
from tests.machine.hosts import Host
from tests.machine.lab import PATIENCE, ROOT, Lab, address, built, laboratory, mac, program_image, shell, until
from tests.processes import processors
from tinkbox.cli.exit_statuses import INTERRUPTED
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.workflow import State

Load = Literal["alone", "two at once", "storm", "busy host"]
LOADS: Final[Sequence[Load]] = get_args(Load)
# HEALTHY_BOOTS=NUMBER chooses how many boots there are under all loads together.
BOOTS: Final = int(os.environ.get("HEALTHY_BOOTS", "200"))
FIGURES: Final = ROOT / "build" / "healthy-boots.jsonl"
# Emulated, on a busy host, and GRUB loads the OSIE by TFTP.
BOOTED: Final = 3 * PATIENCE
# Half a round of the doctor.
LOOK_EVERY: Final = 2.5
ASK_EVERY: Final = 15.0
CALM: Final = 60.0
SERVER: Final = IPv4Interface("172.30.0.1/20")
# Another host on the machines' network, by its address there: that of all machines of a storm.
OTHER: Final = "172.30.0.2"
# What runs the actions of another processor than this host's, in the worker that `make campaign` builds.
BUSYBOX: Final = "dist/tinkbox-aarch64/usr/lib/tinkbox/tinkbox/worker/tools/busybox"
IMAGES: Final[Mapping[Firmware, str]] = {"arm64": "shell-arm64"}
# All machines of a storm are one host to the appliance, by their MAC, and nobody knows that: half of all is for known machines.
ROOM: Final = "limits: {node_connections: {each: 4096}, tftp_transfers: {each: 2000, all: 4096}}\n"
TITLES: Final = ("firmware", "load", "boots", "median s", "longest s", "faults", "suspects")

pytestmark = [pytest.mark.machine, pytest.mark.campaign]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """One boot: the seconds from the button to the end of its workflow, and what the doctor said meanwhile.

    Each of `told` has `rule`, `gravity`, `cause` and `evidence`, the `stage` that the machine had come to, and `by`: `rounds` or `doctor`.
    """

    firmware: Firmware
    load: Load
    seconds: float
    told: Sequence[Mapping[str, Any]]

    def count(self, gravity: Gravity) -> int:
        return sum(each["gravity"] == gravity for each in self.told)


class Watch:
    """Collects what the doctor says of one machine, its workflow and the appliance."""

    def __init__(self, lab: Lab, number: int, workflow: str) -> None:
        self._lab = lab
        self._number = number
        self._patients = (mac(number), workflow)
        self._asked = time.monotonic()
        self._told: dict[tuple[str, ...], dict[str, Any]] = {}

    @property
    def told(self) -> list[dict[str, Any]]:
        return list(self._told.values())

    def look(self) -> None:
        self._note("rounds", self._lab.appliance.conditions())
        if time.monotonic() - self._asked > ASK_EVERY:
            self.ask()

    def ask(self) -> None:
        """What a person is told who asks for the machine; faults of the appliance stand beside it."""
        ended = run_here("--data", str(self._lab.appliance.data), "doctor", mac(self._number), "--format", "json")
        if ended.status == INTERRUPTED:  # as it was in this process
            raise KeyboardInterrupt
        assert ended.status in (0, 1), ended.err
        answer = json.loads(ended.out)
        self._note("doctor", [*answer["diagnoses"], *answer["appliance"]])
        self._asked = time.monotonic()

    def _note(self, by: str, found: Iterable[Mapping[str, Any]]) -> None:
        for each in found:
            machine, workflow, gravity = each["machine"], each["workflow"], each["gravity"]
            ours = machine in self._patients or workflow in self._patients or not (machine or workflow)
            if ours and gravity != Gravity.HARMLESS:
                kept = {name: each[name] for name in ("rule", "gravity", "machine", "workflow", "cause", "evidence")}
                what = (each["rule"], gravity, machine, workflow)
                self._told.setdefault(what, {"by": by, "stage": self._stage(), **kept})

    def _stage(self) -> str:
        return (self._lab.stages(self._number) or [""])[-1]


@contextmanager
def loaded(load: Load, lab: Lab, other: Host, work: Path) -> Iterator[Callable[[], object]]:
    """The load while the boots last; what is yielded is called again and again, and keeps it up."""
    match load:
        case "storm":
            storms = Storms(lab, other, work)
            yield storms.keep_up
            assert storms.booted, "no machine of a storm booted: nothing was a load"
        case "busy host":
            others = [start([sys.executable, "-c", "while True: pass"]) for _ in range(processors())]
            try:
                yield lambda: None
            finally:
                for each in others:
                    stop(each)
        case _:
            yield lambda: None


class Storms:
    """A thousand machines of `tests.bench.storm` boot at once, and again `CALM` seconds after they have.  They run no worker.

    `booted` counts those that came to their kernel.
    """

    def __init__(self, lab: Lab, other: Host, work: Path) -> None:
        self._network = lab.network
        self._host = other
        self._program = storm.compiled(work)
        self._output = work / "storm.json"
        self._process: subprocess.Popen[bytes] | None = None
        self._next = time.monotonic()
        self.booted = 0
        machines = [
            (f"0a:00:00:00:{number >> 8:02x}:{number & 255:02x}", str(storm.FIRST + number))
            for number in range(storm.MACHINES)
        ]
        asyncio.run(prepare(lab.appliance.data / "operator.sock", machines, SERVER))
        other.run("ip", "route", "replace", str(SERVER.network), "dev", "eth0")
        other.run("ip", "route", "replace", "local", f"{storm.FIRST}/22", "dev", "lo")

    def keep_up(self) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                return
            self._process = None
            self._next = time.monotonic() + CALM
            # One table for all namespaces, which by default holds 1,024: the next storm needs it empty.
            self._network.run(["ip", "neighbour", "flush", "dev", self._network.interface])
            said = self._output.read_text()  # first why machines failed, then what became of all of them
            self.booted += sum(each["done"] for each in json.loads(said[said.index("{") :])["machines"])
        elif time.monotonic() >= self._next:
            self._begin()

    def _begin(self) -> None:
        words = [self._program, "eth0", SERVER.ip, storm.FIRST, storm.MACHINES, 4, storm.RAMP, storm.DEADLINE]
        packets = [storm.GOLDEN / "dhcp" / f"{name}.hex" for name in storm.PACKETS]
        with self._output.open("wb") as output:
            self._process = self._host.start(
                *map(str, [*words, storm.LOADER, "/boot/osie/x86_64/vmlinuz", *packets]), output=output
            )


def booted(lab: Lab, load: Load, machines: Mapping[int, Machine], keep_up: Callable[[], object]) -> list[Boot]:
    """These machines' next boots, begun at once, each to the end of a workflow; they are off afterwards."""
    workflows = {
        number: lab.workflow(number, shell("work", "true", image=f"{IMAGES.get(machine.firmware, 'shell')}:v1"))
        for number, machine in machines.items()
    }
    watches = {number: Watch(lab, number, workflow) for number, workflow in workflows.items()}
    began, ended = dict[int, float](), dict[int, float]()
    for number, machine in machines.items():
        began[number] = time.monotonic()
        machine.power_on()

    def all_ended() -> bool:
        keep_up()
        for number, workflow in workflows.items():
            watches[number].look()
            if number not in ended and worked(lab, workflow):
                ended[number] = time.monotonic()
        return len(ended) == len(machines)

    try:
        until(all_ended, "the workers to have worked", BOOTED, LOOK_EVERY)
        for watch in watches.values():
            watch.ask()
    finally:
        boots = [
            Boot(
                firmware=machine.firmware,
                load=load,
                seconds=ended.get(number, float("inf")) - began.get(number, 0.0),
                told=watches[number].told,
            )
            for number, machine in machines.items()
        ]
        with FIGURES.open("a") as figures:
            figures.writelines(json.dumps(asdict(each)) + "\n" for each in boots)
    for machine in machines.values():
        machine.power_off()
    return boots


def worked(lab: Lab, workflow: str) -> bool:
    """Whether it succeeded; fails where it ended in another way."""
    state = lab.state(workflow).state
    assert state in (State.PENDING, State.RUNNING, State.SUCCESS)
    return state is State.SUCCESS


def learn(lab: Lab, number: int, machine: Machine) -> None:
    """A boot that is not counted: firmware with Secure Boot refuses iPXE once, and that is told."""
    workflow = lab.workflow(number, shell("work", "true"))
    machine.power_on()
    until(lambda: lab.appliance.hardware(mac(number))["habits"]["secure_boot"], "the refusal", PATIENCE)
    machine.reset()
    until(lambda: lab.state(workflow).ended_at, "the workflow to end", BOOTED)
    machine.power_off()


def table(boots: Sequence[Boot]) -> list[str]:
    """A line for each kind of firmware under each load."""
    rows = [TITLES]
    for firmware in FIRMWARES:
        for load in LOADS:
            these = [each for each in boots if (each.firmware, each.load) == (firmware, load)]
            if these:
                seconds = [each.seconds for each in these]
                told = [str(sum(each.count(gravity) for each in these)) for gravity in (Gravity.FAULT, Gravity.SUSPECT)]
                rows.append((firmware, load, str(len(these)), f"{median(seconds):.0f}", f"{max(seconds):.0f}", *told))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


@pytest.mark.timeout(BOOTS * BOOTED)
@pytest.mark.parametrize("load", LOADS)
def test_doctor_accuses_no_healthy_boot(
    load: Load, shell_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boots: list[Boot] = []
    numbers = range(1, len(FIRMWARES) + 1)
    at_once = 2 if load == "two at once" else 1
    try:
        with laboratory(configured=ROOM, address=SERVER) as lab, Host(lab.network, [(BRIDGE, OTHER)]) as other:
            until(lambda: not lab.appliance.conditions(), "the appliance to notice that a cable is plugged in")
            lab.load(shell_archive)
            lab.load(program_image(tmp_path, IMAGES["arm64"], "v1", busybox=built(BUSYBOX), architecture="arm64"))
            machines = {}
            for number, firmware in zip(numbers, FIRMWARES, strict=True):
                ip = {"address": address(number), "netmask": str(SERVER.netmask), "gateway": str(SERVER.ip)}
                lab.push(number, arch="aarch64" if firmware == "arm64" else "x86_64", ip=ip)
                machines[number] = lab.machine(number, firmware, memory=3072)
                if firmware == "secure":
                    learn(lab, number, machines[number])
            with loaded(load, lab, other, tmp_path) as keep_up:
                groups = [numbers[first : first + at_once] for first in range(0, len(numbers), at_once)]
                for group in islice(cycle(groups), -(-BOOTS // len(LOADS) // at_once)):
                    boots += booted(lab, load, {number: machines[number] for number in group}, keep_up)
    finally:
        with capsys.disabled():
            sys.stdout.write("\n".join(["", *table(boots), ""]))
    assert [each for boot in boots for each in boot.told] == []
