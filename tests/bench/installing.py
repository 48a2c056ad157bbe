"""A system image to a disk: install-image beside `qemu-img convert` and beside plain `dd` of the same image.

First on this host, to a file: install-image fetches from an appliance on loopback, and reads back what it wrote, which
the others do not.  Then in a virtual machine, each side from power-on: `tinkbox install` until the image is on the disk,
beside the same OSIE whose only action is `dd` from a second disk.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from examples.lab.machine import empty_disk
from tests.bench.figures import Comparison
from tests.bench.lab import ROOT, TINKBOX, folder, need, on_loopback
from tests.machine.installing import Site, site
from tests.machine.lab import shell, shell_image
from tinkbox.model.workflow import State

TOOLS = {"qemu-img": "qemu-utils", "qemu-system-x86_64": "qemu-system-x86", "dd": "coreutils"}
SYSTEM = "debian-13"
IMAGE = ROOT / "build" / "system-images" / f"{SYSTEM}.qcow2"
ACTIONS = ROOT / "examples" / "actions"
ROUNDS = 3
BOOTS = 2
DISK = 3 << 30


def compare() -> Iterator[Comparison]:
    """Seconds and memory on this host, then seconds of whole machines."""
    need(TOOLS)
    if not IMAGE.exists():
        raise FileNotFoundError(f"{IMAGE.relative_to(ROOT)} is missing: make {IMAGE.relative_to(ROOT)}")
    with folder(Path("/var/tmp")) as work:
        raw = work / "image.raw"
        subprocess.run(["qemu-img", "convert", "-O", "raw", str(IMAGE), str(raw)], check=True)
        yield from on_this_host(work, raw)
        yield in_a_machine(raw)


def on_this_host(work: Path, raw: Path) -> Iterator[Comparison]:
    """Image to disk, a file here, until it is on the medium."""
    beside_convert = Comparison(what=f"{SYSTEM} to disk", unit="s", peer="qemu-img convert", better="less")
    beside_dd = Comparison(what=f"{SYSTEM} to disk", unit="s", peer="dd of the raw image", better="less")
    memory = Comparison(what=f"{SYSTEM} to disk, memory", unit="MB", peer="qemu-img convert", better="less")
    disk = work / "disk"
    with on_loopback(work) as (_, configuration):
        command = [str(TINKBOX), "--data", str(configuration.data), "image", "import", str(IMAGE)]
        subprocess.run([*command, "--id", SYSTEM, "--scratch", str(work)], check=True, stdout=subprocess.DEVNULL)
        environment = {
            "PYTHONPATH": f"{ACTIONS}:{ACTIONS / 'install-image'}",
            "IMAGE": SYSTEM,
            "DEST_DISK": str(disk),
            "TINKBOX_SERVER": f"http://127.0.0.1:{configuration.http_port}",
            "GROW": "false",
            "BOOT_ENTRY": "false",
        }
        action = [sys.executable, "-B", str(ACTIONS / "install-image" / "install_image.py")]
        for _ in range(ROUNDS):
            ours, our_memory = spent(disk, action, environment)
            convert, their_memory = spent(disk, ["qemu-img", "convert", "-n", "-O", "raw", str(IMAGE), str(disk)])
            dd, _ = spent(disk, ["dd", f"if={raw}", f"of={disk}", "bs=4M", "conv=notrunc,fsync", "status=none"])
            beside_convert.add(ours, convert)
            beside_dd.add(ours, dd)
            memory.add(our_memory, their_memory)
    yield from (beside_convert, beside_dd, memory)


def spent(disk: Path, command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[float, float]:
    """Seconds until the disk, new each time, has it all, and megabytes that the command held at most."""
    disk.unlink(missing_ok=True)
    with disk.open("wb") as file:
        file.truncate(DISK)
    os.sync()
    began = time.perf_counter()
    process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    with disk.open("rb+") as file:
        os.fsync(file.fileno())
    return time.perf_counter() - began, used.ru_maxrss * 1024 / 1e6


def in_a_machine(raw: Path) -> Comparison:
    """From power-on to the image on the disk, and to the end of dd."""
    what = f"power-on to {SYSTEM} on disk"
    comparison = Comparison(what=what, unit="s", peer="the same OSIE, with dd", better="less")
    disk = {"disk": "name=vda", "volumes": ["/dev:/dev"]}
    environment = {"IMAGE": SYSTEM, "SEED": "none"}
    ours = {"name": "image", "image": "install-image:v1", "timeout": 900, "environment": environment, **disk}
    theirs = shell("dd", 'dd if=/dev/vdb of="$TINKBOX_DISK" bs=4M conv=fsync', **disk)
    with folder() as images, site(SYSTEM) as home:
        home.lab.load(shell_image(images))
        for first in range(1, 2 * BOOTS, 2):
            comparison.add(boot(home, raw, first, ours), boot(home, raw, first + 1, theirs))
    return comparison


def boot(home: Site, raw: Path, number: int, action: dict[str, Any]) -> float:
    """Seconds from power-on to the action's end, in a machine of its own, with the raw image on its second disk."""
    lab = home.lab
    lab.push(number)
    workflow = lab.workflow(number, action)
    disk = empty_disk(lab.work / f"machine{number}.raw", DISK)
    extra = ("-drive", f"if=none,id=source,format=raw,readonly=on,file={raw}", "-device", "virtio-blk-pci,drive=source")
    with lab.machine(number, disk=disk, extra=extra) as machine:
        began = datetime.now(UTC)
        machine.power_on()
        if lab.ended(workflow).state is not State.SUCCESS:
            raise RuntimeError(lab.appliance.command("workflow", "state", workflow))
    (succeeded,) = (each for each in lab.appliance.events(workflow) if each["kind"] == "action.succeeded")
    return (datetime.fromisoformat(succeeded["at"]) - began).total_seconds()
