"""A machine: real firmware (SeaBIOS with the iPXE ROM, or OVMF), an empty disk, a network card, a serial console."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from examples.lab.console import Console
from examples.lab.network import Network
from examples.lab.processes import stop

Firmware = Literal["bios", "uefi"]
OVMF = Path("/usr/share/OVMF")


def accelerator() -> str:
    """KVM where it works, else software emulation on several threads.

    /dev/kvm alone proves nothing: where the processor shows neither vmx nor svm it opens, and a
    64-bit kernel hangs on it.
    """
    flags = Path("/proc/cpuinfo").read_text().split()
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK) and ("vmx" in flags or "svm" in flags)
    return "kvm" if usable else "tcg,thread=multi"


def empty_disk(path: Path, size: int) -> Path:
    """A disk as it comes from the shop: `size` bytes of nothing (takes no room until written)."""
    with path.open("wb") as disk:
        disk.truncate(size)
    return path


class Machine:
    """One virtual machine, plugged into `network`, off until `power_on`.

    `work` is a folder of its own for disk, firmware variables and console log.  On every boot it tries
    the network and then its disk, unless `network_first` is false.
    """

    def __init__(
        self,
        network: Network,
        work: Path,
        *,
        mac: str,
        firmware: Firmware = "bios",
        memory: int = 2048,
        processors: int = 2,
        disk: Path | None = None,
        disk_size: int = 1 << 30,
        network_first: bool = True,
    ) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.mac = mac
        self.firmware = firmware
        self.disk = disk or empty_disk(work / "disk.raw", disk_size)
        self.console_log = work / "console.log"
        self.console_log.unlink(missing_ok=True)
        self._work = work
        self._network = network
        self._tap = network.add_tap()
        self._memory = memory
        self._processors = processors
        self._network_first = network_first
        self._process: subprocess.Popen[bytes] | None = None
        self._console: Console | None = None
        if firmware == "uefi":
            shutil.copyfile(OVMF / "OVMF_VARS_4M.fd", work / "vars.fd")

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

    def power_on(self) -> None:
        """Press the button; returns at once."""
        assert not self.running, "the machine is on already"
        self._qmp_path.unlink(missing_ok=True)
        self._process = self._network.start(self.command(), stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._console = Console(self._process.stdout, self.console_log)

    def power_off(self) -> None:
        """Pull the plug: nothing in the machine is asked.  The disk keeps what reached it."""
        if self._process is None:
            return
        self._process.kill()
        stop(self._process)
        self.console.close()
        self._process = None

    def reset(self) -> None:
        """Press the reset button."""
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as line:
            line.settimeout(10)
            line.connect(str(self._qmp_path))
            with line.makefile("rw") as talk:
                talk.readline()  # the greeting
                for command in ("qmp_capabilities", "system_reset"):
                    talk.write(json.dumps({"execute": command}) + "\n")
                    talk.flush()
                    while "return" not in (answer := json.loads(talk.readline())):
                        if "error" in answer:
                            raise RuntimeError(f"the machine refused {command}: {answer['error']}")

    def wait_until_off(self, timeout: float) -> None:
        """Wait until the machine has powered itself off."""
        assert self._process is not None
        self._process.wait(timeout)

    @property
    def _qmp_path(self) -> Path:
        return self._work / "qmp.sock"

    def command(self) -> list[str]:
        """The command line of the emulator."""
        # Without graphics SeaBIOS and its boot ROM speak on the serial line too.
        kind = ("q35" if self.firmware == "uefi" else "pc") + ",graphics=off"
        # An empty romfile leaves the network card to the firmware's own network stack.
        rom = ",romfile=" if self.firmware == "uefi" else ""
        network, disk = (0, 1) if self._network_first else (1, 0)
        command = ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-machine", kind, "-accel", accelerator()]
        if accelerator() != "kvm":
            command += ["-cpu", "max"]
        command += ["-smp", str(self._processors), "-m", str(self._memory)]
        command += ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
        command += ["-qmp", f"unix:{self._qmp_path},server=on,wait=off"]
        command += ["-netdev", f"tap,id=cable,ifname={self._tap},script=no,downscript=no"]
        command += ["-device", f"virtio-net-pci,netdev=cable,mac={self.mac},bootindex={network}{rom}"]
        command += ["-drive", f"if=none,id=disk,format=raw,file={self.disk},cache=writeback"]
        command += ["-device", f"virtio-blk-pci,drive=disk,bootindex={disk}", "-device", "virtio-rng-pci"]
        if self.firmware == "uefi":
            flash = "if=pflash,format=raw,unit={},file={}"
            command += ["-drive", flash.format(0, OVMF / "OVMF_CODE_4M.fd") + ",readonly=on"]
            command += ["-drive", flash.format(1, self._work / "vars.fd")]
            # Without IPv6 the firmware comes to the disk half a minute earlier when the network stays silent.
            command += ["-fw_cfg", "name=opt/org.tianocore/IPv6PXESupport,string=no"]
        return command
