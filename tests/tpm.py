"""TPMs that are programs: swtpm, as a worker's machine has one, and as Debian's tpm2-tools speak to it."""

import asyncio
import contextlib
import os
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from tinkbox.wire.tpm import MAX_ANSWER
from tinkbox.worker.host.tpm import Tpm, Transmit

_RETRY = b"\x00\x00\x09\x22"  # TPM_RC_RETRY, which the kernel repeats by itself


@dataclass(frozen=True, slots=True)
class SoftwareTpm:
    """A running swtpm, whose commands go to a port of loopback."""

    port: int

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Transmit]:
        """As the kernel's resource manager would open it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)

        async def transmit(command: bytes) -> bytes:
            while True:
                writer.write(command)
                answer = await reader.read(MAX_ANSWER)
                if answer[6:10] != _RETRY:
                    return answer

        try:
            yield transmit
        finally:
            writer.close()
            await writer.wait_closed()

    @property
    def worker(self) -> Tpm:
        """What a worker has on a machine with this TPM."""
        return Tpm(self.opened)

    def tool(self, *command: str | Path) -> bytes:
        """What one of tpm2-tools prints; as a chip without a resource manager, the TPM forgets its keys afterwards."""
        environment = os.environ | {"TPM2TOOLS_TCTI": f"swtpm:host=127.0.0.1,port={self.port}"}
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr.decode()
        flushed = ["tpm2_flushcontext", "--transient-object"]
        subprocess.run(flushed, env=environment, capture_output=True, timeout=60, check=True)
        return done.stdout


@contextlib.contextmanager
def software_tpm(folder: Path) -> Iterator[SoftwareTpm]:
    """A TPM that keeps in a folder what makes it this one."""
    folder.mkdir(exist_ok=True)
    process = None
    while process is None:
        port = _two_free_ports()
        process = _started(folder, port)
    try:
        yield SoftwareTpm(port)
    finally:
        process.kill()
        process.wait()


def _started(folder: Path, port: int) -> subprocess.Popen[bytes] | None:
    """It listens; None when another program took one of its ports meanwhile."""
    channels = [f"type=tcp,bindaddr=127.0.0.1,port={each}" for each in (port, port + 1)]
    process = subprocess.Popen(
        [
            *("swtpm", "socket", "--tpm2", "--tpmstate", f"dir={folder}", "--server", channels[0]),
            # tpm2-tools look for it on the next port.
            *("--ctrl", channels[1], "--flags", "not-need-init,startup-clear"),
        ],
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        with contextlib.suppress(OSError):
            # It serves one connection after the other.
            socket.create_connection(("127.0.0.1", port), timeout=60).close()
            return process
        time.sleep(0.01)
    return None


def _two_free_ports() -> int:
    """The first of two ports of loopback that nobody uses now."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            with contextlib.suppress(OSError):
                port: int = first.getsockname()[1]
                second.bind(("127.0.0.1", port + 1))
                return port


@contextlib.contextmanager
def machine_tpm(folder: Path, control: Path) -> Iterator[None]:
    """A TPM for a virtual machine, for as often as it is switched on meanwhile: QEMU finds it at a socket (`chip`)."""
    folder.mkdir()
    control.unlink(missing_ok=True)
    place = ("--tpmstate", f"dir={folder}", "--ctrl", f"type=unixio,path={control}")
    with subprocess.Popen(["swtpm", "socket", "--tpm2", *place]) as process:
        try:
            yield
        finally:
            process.kill()


def chip(control: Path) -> tuple[str, ...]:
    """What QEMU is started with for the TPM at a socket."""
    device = ("-tpmdev", "emulator,id=tpm,chardev=chip", "-device", "tpm-tis,tpmdev=tpm")
    return ("-chardev", f"socket,id=chip,path={control}", *device)
