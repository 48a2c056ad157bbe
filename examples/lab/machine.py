"""A machine: real firmware (`firmware.FIRMWARES`), an empty disk, a network card, a serial console."""

import contextlib
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from examples.lab.console import Console
from examples.lab.firmware import BOARDS, Firmware, arguments
from examples.lab.monitor import Monitor
from examples.lab.network import BRIDGE, Network
from examples.lab.processes import stop

PROMPT_SECONDS = 180.0
GONE_SECONDS = 30.0
# As fast as a disk takes it: a machine that is being saved stands still.
_BYTES_A_SECOND = 1 << 36


class EmulatorDied(RuntimeError):
    """The emulator was ended by a signal that the lab did not send, which tells nothing of what the machine ran."""

    SAID: Final = "ended the emulator of"


def empty_disk(path: Path, size: int) -> Path:
    """A disk as it comes from the shop: `size` bytes of nothing (takes no room until written)."""
    with path.open("wb") as disk:
        disk.truncate(size)
    return path


def victims_of_memory() -> int:
    """How many processes this host's kernel has killed because memory ran out."""
    counters = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return int(counters.get("oom_kill", 0))


class Machine:
    """One virtual machine, plugged into `network`, off until `power_on`.

    `work` is a folder of its own for disk, firmware variables and console log.  On every boot it tries
    the network and then its disk, unless `network_first` is false.  `extra` is added to the emulator's command line.
    One processor boots faster than two where those are emulated, and none can change code that another just translates:
    QEMU before 8.1 can end of that.
    `bridge` is the network that its cable leads to.
    """

    def __init__(
        self,
        network: Network,
        work: Path,
        *,
        mac: str,
        firmware: Firmware = "bios",
        memory: int = 2048,
        processors: int = 1,
        disk: Path | None = None,
        disk_size: int = 1 << 30,
        network_first: bool = True,
        extra: Sequence[str] = (),
        bridge: str = BRIDGE,
    ) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.mac = mac
        self.firmware = firmware
        self.disk = disk or empty_disk(work / "disk.raw", disk_size)
        self.console_log = work / "console.log"
        self.console_log.unlink(missing_ok=True)
        self._work = work
        self._network = network
        self._tap = network.add_tap(bridge)
        self._memory = memory
        self._processors = processors
        self._network_first = network_first
        self._extra = extra
        self._process: subprocess.Popen[bytes] | None = None
        self._console: Console | None = None
        self._victims = 0
        self._board = BOARDS[firmware]
        if self._board.variables is not None:
            shutil.copyfile(self._board.variables, self._variables)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.power_off()

    @property
    def console(self) -> Console:
        """What it says on its serial line since it was last powered on."""
        assert self._console is not None, "the machine was never powered on"
        return self._console

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Raises EmulatorDied when it is off and neither the machine nor the lab wanted that."""
        status = None if self._process is None else self._process.poll()
        if status is not None and status < 0:
            why = ", when this host had no memory left" if victims_of_memory() > self._victims else ""
            raise EmulatorDied(f"{signal.Signals(-status).name} {EmulatorDied.SAID} {self.mac}{why}")

    def power_on(self) -> None:
        """Press the button; returns at once, or when what this firmware wants was typed."""
        self._start()
        for prompt, keys in self._board.typed:
            self.console.wait_for_text(prompt, PROMPT_SECONDS)
            self.type(keys)

    def save(self, folder: Path) -> None:
        """Write what it is at this moment into `folder`: memory, processor, console, disk, firmware.  It is off afterwards.

        `freeze` it before, when others have to stand still at the same moment.
        """
        folder.mkdir(parents=True)
        with Monitor(self._qmp_path) as monitor:
            monitor.tell("stop")
            monitor.tell("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
            monitor.tell("migrate-set-parameters", **{"max-bandwidth": _BYTES_A_SECOND})
            monitor.tell("migrate", uri=f"exec:cat > {shlex.quote(str(folder / 'state'))}")
            monitor.migrated()
        self.power_off()
        for file in self._kept():
            _copy(file, folder / file.name)

    def load(self, folder: Path) -> None:
        """Be what was saved in `folder` by a machine like this one, standing still; `go_on` lets it run.

        Its console shows what it had shown.  Raises MonitorRefused when the emulator does not take it.
        """
        for file in self._kept():
            _copy(folder / file.name, file)
        self._start("-S", "-incoming", "defer", shown=self.console_log.read_bytes())
        with Monitor(self._qmp_path) as monitor:
            monitor.tell("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
            monitor.tell("migrate-incoming", uri=f"exec:cat {shlex.quote(str(folder / 'state'))}")
            monitor.migrated()

    def freeze(self) -> None:
        """Let it stand still, as if no time passed for it."""
        with Monitor(self._qmp_path) as monitor:
            monitor.tell("stop")

    def go_on(self) -> None:
        """Let it run again after `freeze` or `load`."""
        with Monitor(self._qmp_path) as monitor:
            monitor.tell("cont")

    def _start(self, *more: str, shown: bytes = b"") -> None:
        assert not self.running, "the machine is on already"
        self._qmp_path.unlink(missing_ok=True)
        self._victims = victims_of_memory()
        command = [*self.command(), *more]
        self._process = self._network.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._console = Console(self._process.stdout, self.console_log, at_end=self._ended, shown=shown)

    def _kept(self) -> list[Path]:
        """The files that belong to its state."""
        return [self.disk, self.console_log, *([self._variables] if self._board.variables is not None else [])]

    def type(self, keys: str) -> None:
        """Type a line on its serial console, each key when the one before it has appeared: firmware remembers few."""
        assert self._process is not None
        assert self._process.stdin is not None
        for length, key in enumerate(keys, start=1):
            self._process.stdin.write(key.encode())
            self._process.stdin.flush()
            if key.isprintable():
                self.console.wait_for_text(keys[:length].lstrip(), PROMPT_SECONDS)

    def power_off(self) -> None:
        """Pull the plug: nothing in the machine is asked.  The disk keeps what reached it."""
        if self._process is None:
            return
        self._process.kill()
        stop(self._process)
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self.console.close()
        self._process = None

    def reset(self) -> None:
        """Press the reset button."""
        with Monitor(self._qmp_path) as monitor:
            monitor.tell("system_reset")

    def _ended(self) -> None:
        assert self._process is not None
        self._process.wait(GONE_SECONDS)
        self.check()

    @property
    def _variables(self) -> Path:
        return self._work / "vars.fd"

    @property
    def _qmp_path(self) -> Path:
        return self._work / "qmp.sock"

    def command(self) -> list[str]:
        """The command line of the emulator."""
        # An empty romfile leaves the network card to the firmware's own network stack.
        rom = "" if self._board.rom else ",romfile="
        network, disk = (0, 1) if self._network_first else (1, 0)
        command = [*arguments(self._board, self._variables), "-smp", str(self._processors), "-m", str(self._memory)]
        command += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
        command += ["-qmp", f"unix:{self._qmp_path},server=on,wait=off"]
        command += ["-netdev", f"tap,id=cable,ifname={self._tap},script=no,downscript=no"]
        command += ["-device", f"virtio-net-pci,netdev=cable,mac={self.mac},bootindex={network}{rom}"]
        command += ["-drive", f"if=none,id=disk,format=raw,file={self.disk},cache=writeback"]
        command += ["-device", f"virtio-blk-pci,drive=disk,bootindex={disk}", "-device", "virtio-rng-pci"]
        return [*command, *self._extra]


def _copy(source: Path, target: Path) -> None:
    """A file with its holes."""
    subprocess.run(["cp", "--sparse=always", "--reflink=auto", source, target], check=True, timeout=120)
