"""Provisions a virtual machine with an empty disk over the network, and shows it live.

    python -m examples.demo --firmware bios --tinkbox dist/tinkbox --build build

Exits 0 when the installed system has booted from its own disk; on failure says at which stage, with the last
lines of the machine's console and of the appliance's log, and exits 1.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.demo.account import account, news
from examples.demo.appliance import Appliance, ApplianceFailed
from examples.lab.console import ConsoleTimeout
from examples.lab.firmware import Firmware
from examples.lab.machine import EmulatorDied, Machine
from examples.lab.network import Network
from examples.lab.processes import signals_unwind
from tinkbox.model.workflow import FINAL, State
from tinkbox.wire.messages.status import Snapshot

HERE = Path(__file__).parent
MIRROR_PORT = 8080
INSTALLED = "tinkbox-demo: the installed system is up"
ADDRESS = "tinkbox-demo: the address is "
START_SECONDS = 120
INSTALL_SECONDS = 900
BOOT_SECONDS = 480
POLL_SECONDS = 0.5


class DemoFailed(Exception):
    """The machine did not get there; the text says how far it got."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--firmware", choices=("bios", "uefi"), default="bios")
    parser.add_argument("--tinkbox", type=Path, help="the executable; without it, this checkout runs")
    parser.add_argument("--build", type=Path, default=Path("build"), help="where OSIE, images and disk were built")
    arguments = parser.parse_args()
    executable = [str(arguments.tinkbox.resolve())] if arguments.tinkbox else [sys.executable, "-m", "tinkbox"]
    with signals_unwind(), working_folder() as work:
        try:
            provision(arguments.firmware, executable, arguments.build.resolve(), work)
        except (DemoFailed, ApplianceFailed, ConsoleTimeout, EmulatorDied) as failure:
            kept = arguments.build / f"demo-failed-{arguments.firmware}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(work, kept, ignore=shutil.ignore_patterns("data", "disk.raw", "*.sock"))
            print(f"\nthe demo failed: {failure}\nwhole logs: {kept}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\ninterrupted", file=sys.stderr)
            return 130
    return 0


@contextmanager
def working_folder() -> Iterator[Path]:
    """A folder for this run; it goes with it.  Its path is short, for a socket's path has 108 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="tinkbox-demo-") as folder:
        yield Path(folder)


def provision(firmware: Firmware, executable: list[str], build: Path, work: Path) -> None:
    """Everything from the empty disk to the installed system's own line."""
    hardware = json.loads((HERE / "hardware.json").read_text())
    mac = hardware["network"]["interfaces"][0]["dhcp"]["mac"]
    started = time.monotonic()
    with Network() as network:
        serve_mirror(network, build / "demo", work)
        appliance = Appliance(network, executable, work, build / "osie")
        until(appliance.ready, START_SECONDS, "the appliance to answer")
        tell(started, f"the appliance serves {network.address}")
        workflow = prepare(appliance, build / "images", mac)
        tell(started, f"workflow {workflow} waits for {mac}")
        # OVMF, told by iPXE to go on, would spend a minute on each of HTTP boot's two kinds before the disk,
        # so there the disk comes first: it is empty, and the firmware goes on to the network at once.
        network_first = firmware == "bios"
        with Machine(network, work / "machine", mac=mac, firmware=firmware, network_first=network_first) as machine:
            machine.power_on()
            tell(started, f"the machine is powered on: {firmware}, an empty disk")
            watch = Watch(appliance, machine, started)
            try:
                watch.installed()
                line = machine.console.wait_for(INSTALLED, BOOT_SECONDS, during=watch.look)
                # Only then is what the appliance sees of it complete.
                machine.console.wait_for(ADDRESS, BOOT_SECONDS, during=watch.look)
            except (DemoFailed, ApplianceFailed, ConsoleTimeout) as failure:
                where = f"{failure}\nlast seen: {watch.stage or 'nothing'}"
                last = f"the machine's console:\n{machine.console.tail()}\nthe appliance:\n{appliance.last_lines()}"
                raise DemoFailed(f"{where}\n{last}") from None
            watch.look()
            tell(started, "the installed system has booted from its own disk")
            print("\n" + account(appliance.timeline(hardware["id"])))
            print(f"\non the machine's console:\n    {line}")


def serve_mirror(network: Network, folder: Path, work: Path) -> None:
    """The web server that the disk image comes from; a lab has one of its own."""
    command = [sys.executable, "-m", "http.server", str(MIRROR_PORT), "--bind", str(network.address)]
    with (work / "mirror.log").open("wb") as log:
        network.start([*command, "--directory", str(folder)], stdout=log)


def prepare(appliance: Appliance, images: Path, mac: str) -> str:
    """What an operator types; returns the workflow's id."""
    appliance.command("hardware", "push", "--file", HERE / "hardware.json")
    for image in sorted(images.glob("*.tar")):
        appliance.command("image", "load", image)
    template = appliance.command("template", "create", "-n", "demo", "--file", HERE / "template.yaml").split()[-1]
    return appliance.command("workflow", "create", "-t", template, "-r", json.dumps({"device_1": mac})).split()[-1]


class Watch:
    """Prints what changed since it last looked, as one line each."""

    def __init__(self, appliance: Appliance, machine: Machine, started: float) -> None:
        self._appliance = appliance
        self._machine = machine
        self._started = started
        self._before: Snapshot | None = None

    @property
    def stage(self) -> str:
        """Where the machine was seen last."""
        return self._before.machines[0].stage if self._before else ""

    def look(self) -> Snapshot:
        self._appliance.check()
        now = self._appliance.snapshot()
        for line in news(self._before, now):
            tell(self._started, line)
        self._before = now
        return now

    def installed(self) -> None:
        """Wait until the workflow is over; raises DemoFailed when it is no success."""

        def over() -> bool:
            self._machine.check()
            if not self._machine.running:
                raise DemoFailed("the machine is off")
            (workflow,) = self.look().workflows
            if workflow.failure is not None:
                raise DemoFailed(f"{workflow.failure.name}: {workflow.failure.reason}: {workflow.failure.message}")
            if workflow.state in FINAL and workflow.state is not State.SUCCESS:
                raise DemoFailed(f"the workflow ended as {workflow.state}")
            return workflow.state is State.SUCCESS

        until(over, INSTALL_SECONDS, "the workflow's success")


def until(done: Callable[[], bool], timeout: float, what: str) -> None:
    """Look twice a second until it is so; raises DemoFailed after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not done():
        if time.monotonic() > deadline:
            raise DemoFailed(f"waited {timeout:.0f} s for {what}")
        time.sleep(POLL_SECONDS)


def tell(started: float, text: str) -> None:
    print(f"{time.monotonic() - started:6.1f} s  {text}", flush=True)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("the demo makes a network namespace: run it as root")
    sys.exit(main())
