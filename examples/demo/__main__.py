"""Installs Debian on a virtual machine with an empty disk, over the network, and logs in to it.

    python -m examples.demo --firmware bios --tinkbox dist/tinkbox --build build

It types what an operator types, and shows that with what comes of it.  Exits 0 when the installed system has let in the
operator's key; on failure says at which stage, with the last lines of the machine's console and of the appliance's log,
and exits 1.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.demo.account import account
from examples.demo.appliance import Appliance, ApplianceFailed
from examples.demo.operator import Command, Operator, OperatorFailed
from examples.lab.console import ConsoleTimeout
from examples.lab.firmware import Firmware
from examples.lab.machine import EmulatorDied, Machine
from examples.lab.network import Network
from examples.lab.processes import signals_unwind

SYSTEM = "debian-13"
USER = "debian"
ACTIONS = ("install-image", "reboot")
MAC = "08:00:27:00:00:01"
NAME = "server001"
ADDRESS = "172.30.0.21"
DISK_SIZE = 8 << 30
START_SECONDS = 120
INSTALL_SECONDS = 1800
LOGIN_SECONDS = 120
POLL_SECONDS = 0.5


class DemoFailed(Exception):
    """The machine did not get there; the text says how far it got."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--firmware", choices=("bios", "uefi"), default="bios")
    parser.add_argument("--tinkbox", type=Path, help="the executable; without it, this checkout runs")
    parser.add_argument("--build", type=Path, default=Path("build"), help="where OSIE and images were built")
    arguments = parser.parse_args()
    executable = [str(arguments.tinkbox.resolve())] if arguments.tinkbox else [sys.executable, "-m", "tinkbox"]
    with signals_unwind(), working_folder() as work:
        try:
            provision(arguments.firmware, executable, arguments.build.resolve(), work)
        except (DemoFailed, ApplianceFailed, OperatorFailed, ConsoleTimeout, EmulatorDied) as failure:
            kept = arguments.build / f"demo-failed-{arguments.firmware}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(work, kept, ignore=shutil.ignore_patterns("data", "disk.raw", "*.sock", "key"))
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
    """Everything from the empty disk to the operator's login."""
    started = time.monotonic()
    with Network() as network:
        appliance = Appliance(network, executable, work, build / "osie")
        until(appliance.ready, START_SECONDS, "the appliance to answer")
        tell(started, f"the appliance serves {network.address}")
        operator = Operator(network, appliance, work, say=lambda text: tell(started, text))
        operator.types("hardware", "add", MAC, "--name", NAME, "--ip", ADDRESS)
        operator.types("image", "load", *(build / "images" / f"{name}.tar" for name in ACTIONS))
        operator.types(
            *("image", "import", build / "system-images" / f"{SYSTEM}.qcow2"),
            *("--id", SYSTEM, "--default-user", USER, "--scratch", work),
        )
        install = operator.begins("install", SYSTEM, NAME, "--ssh-key", operator.public_key)
        until(lambda: install.ended or appliance.snapshot().workflows, START_SECONDS, "the workflow of tinkbox install")
        if install.ended:
            install.succeed()
        # OVMF, told by iPXE to go on, would spend a minute on each of HTTP boot's two kinds before the disk,
        # so there the disk comes first: it is empty, and the firmware goes on to the network at once.
        network_first = firmware == "bios"
        with Machine(
            network, work / "machine", mac=MAC, firmware=firmware, disk_size=DISK_SIZE, network_first=network_first
        ) as machine:
            machine.power_on()
            tell(started, f"the machine is powered on: {firmware}, an empty disk")
            watch = Watch(appliance, machine, install)
            try:
                until(watch.over, INSTALL_SECONDS, "the end of tinkbox install")
                install.succeed()
                operator.logs_in(f"{USER}@{ADDRESS}", LOGIN_SECONDS)
                if not any(each in line for each in operator.host_keys() for line in install.lines):
                    raise DemoFailed("the host key of the installed system is another than the one it told")
            except (DemoFailed, ApplianceFailed, OperatorFailed, ConsoleTimeout) as failure:
                where = f"{failure}\nlast seen: {watch.stage or 'nothing'}"
                last = f"the machine's console:\n{machine.console.tail()}\nthe appliance:\n{appliance.last_lines()}"
                raise DemoFailed(f"{where}\n{last}") from None
            tell(started, "the installed system let the operator in, and has the host key that it told the appliance")
            print("\n" + account(appliance.timeline(MAC)))


class Watch:
    """Looks whether there is still something to wait for."""

    def __init__(self, appliance: Appliance, machine: Machine, install: Command) -> None:
        self._appliance = appliance
        self._machine = machine
        self._install = install
        self.stage = ""  # where the machine was seen last

    def over(self) -> bool:
        """Whether `tinkbox install` has ended; raises DemoFailed when the machine is off before."""
        self._appliance.check()
        self.stage = next((each.stage for each in self._appliance.snapshot().machines), "")
        if self._install.ended:
            return True
        self._machine.check()
        if not self._machine.running:
            raise DemoFailed("the machine is off")
        return False


def until(done: Callable[[], object], timeout: float, what: str) -> None:
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
