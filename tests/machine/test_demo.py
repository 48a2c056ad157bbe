"""The demo as a person starts it: what it tells when it succeeds, and what it leaves when it is interrupted."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from examples.lab.machine import EmulatorDied
from tests import rotation
from tests.machine.lab import ROOT, built, until
from tinkbox.model.boot import Stage

# Longer than the demo itself waits for all it waits for, so that it can say what did not come.
pytestmark = [pytest.mark.machine, pytest.mark.timeout(2400)]
MARK = "TINKBOX_TEST_RUN"
LET_IN = "the installed system let the operator in, and has the host key that it told the appliance"
ACTIONS = ("image", "first boot")
NEWEST, BEFORE = "debian-13", "debian-12"
ADDRESS = [Stage.DISCOVER, Stage.OFFERED, Stage.REQUESTED, Stage.LEASED]
BOOT = [Stage.SCRIPT, Stage.KERNEL, Stage.RAMDISK, Stage.TICKET, Stage.CLOCK, Stage.SESSION, Stage.WORKER]
STAGES = {
    # SeaBIOS has iPXE as its boot ROM, so it needs no loader, and tries the network before its disk again.
    "bios": [*ADDRESS, *BOOT, *ADDRESS, Stage.LOCAL_DISK, Stage.PHONED_HOME],
    "uefi": [*ADDRESS, Stage.LOADER_REQUESTED, Stage.LOADER, *ADDRESS, *BOOT, Stage.PHONED_HOME],
}
# Until those are gone that were ended last.
GONE_SECONDS = 120.0


class Demo:
    """`python -m examples.demo`: `process`, and what belongs to it, known by a mark in the environment and by `folder`."""

    def __init__(self, firmware: str, folder: Path, system: str) -> None:
        for path in (
            "build/osie/x86_64/initramfs",
            "build/images/install-image.tar",
            f"build/system-images/{system}.qcow2",
        ):
            built(path)
        self.folder = folder
        self._mark = f"{MARK}={uuid.uuid4()}"
        name, _, value = self._mark.partition("=")
        places = ["--tinkbox", str(built("dist/tinkbox")), "--build", str(built("build"))]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "examples.demo", "--system", system, "--firmware", firmware, *places],
            cwd=ROOT,
            env={**os.environ, name: value, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def lines(self) -> Iterator[str]:
        """What it prints, as it prints it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield line.rstrip("\n")

    def processes(self) -> dict[int, str]:
        """Its processes and all their descendants by pid, with their command lines."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                marked = self._mark.encode() in (folder / "environ").read_bytes().split(b"\0")
                if marked or str(self.folder) in command:
                    found[int(folder.name)] = command
        return found

    @contextmanager
    def networks(self) -> Iterator[set[str]]:
        """The network namespaces its processes are in, but ours; held open, for another could get the number of one that is gone."""
        with ExitStack() as stack:
            kept = set()
            for pid in self.processes():
                with suppress(OSError):
                    file = stack.enter_context(Path(f"/proc/{pid}/ns/net").open("rb"))
                    kept.add(str(Path(f"/proc/self/fd/{file.fileno()}").readlink()))
            yield kept - {namespace(os.getpid())}

    def leave_nothing(self) -> None:
        """All its processes go away, and everything it had in its folder for them."""
        until(lambda: not self.processes(), "all its processes to be gone", GONE_SECONDS)
        assert not list(self.folder.iterdir())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(300)
        finally:
            self.process.kill()
            assert self.process.stdout is not None
            self.process.stdout.close()


@contextmanager
def demo(firmware: str, system: str = NEWEST) -> Iterator[Demo]:
    with tempfile.TemporaryDirectory(prefix="tinkbox-test-") as folder:
        running = Demo(firmware, Path(folder), system)
        try:
            yield running
        finally:
            running.close()


def namespace(pid: int | str) -> str:
    """The network namespace of a process; empty when the process is gone."""
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    return ""


def everywhere() -> set[str]:
    """The network namespaces of all processes."""
    return {namespace(each.name) for each in Path("/proc").glob("[0-9]*")}


def links() -> set[str]:
    """Network interfaces of the host that could be a lab's."""
    return {path.name for path in Path("/sys/class/net").iterdir() if re.match(r"lab|tap", path.name)}


def mounts(*what: str) -> list[str]:
    """Mounts of these folders, and of these network namespaces."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if any(each in line for each in what)]


@pytest.mark.parametrize(
    ("system", "firmware"),
    [
        *(pytest.param(NEWEST, each, marks=rotation.mark(each, [*STAGES])) for each in STAGES),
        *(pytest.param(BEFORE, each, marks=pytest.mark.campaign) for each in STAGES),
    ],
)
def test_demo_installs_a_machine_and_accounts_for_its_time(system: str, firmware: str) -> None:
    with demo(firmware, system) as running:
        printed = list(running.lines())
        if died := next((line for line in printed if EmulatorDied.SAID in line), ""):
            raise EmulatorDied(died)
        assert running.process.wait(300) == 0, "\n".join(printed)
        running.leave_nothing()
    assert any(LET_IN in line for line in printed), "\n".join(printed)
    account = printed[printed.index(next(line for line in printed if re.match(r" +after  what +took$", line))) + 1 :]
    entries = [re.match(r" *([\d.]+) s  (.+?)(?: {2,}([\d.]+) s)?$", line) for line in account]
    shown = [(float(entry[1]), entry[2], entry[3]) for entry in entries if entry]
    assert len(shown) == len(entries), "\n".join(account)
    # How often cloud-init tells what it does is its own affair.
    assert [what for _, what, took in shown if took is None and what != Stage.CLOUD_INIT] == STAGES[firmware]
    actions = [(what, float(took)) for _, what, took in shown if took is not None]
    assert [what for what, _ in actions] == [f"installation / {name}: SUCCESS" for name in ACTIONS]
    assert all(took > 0 for _, took in actions)
    times = [at for at, _, _ in shown]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["interrupted", "terminated"]
)
def test_interrupted_demo_leaves_nothing(number: signal.Signals, status: int) -> None:
    before = links()
    with demo("bios") as running:
        assert any("the machine is powered on" in line for line in running.lines())
        until(lambda: any("qemu-system" in line for line in running.processes().values()), "the machine's process")
        with running.networks() as networks:
            assert len(networks) == 1
            running.process.send_signal(number)
            rest = list(running.lines())
            assert running.process.wait(300) == status, "\n".join(rest)
            running.leave_nothing()
            until(lambda: not networks & everywhere(), "no process to be in its network", GONE_SECONDS)
            assert links() == before
            assert not mounts(str(running.folder), *networks)
    if number is signal.SIGINT:
        assert rest[-1] == "interrupted"
