"""Debian with cloud-init in a folder of its own, which runs as if a machine had booted it, on a host of the lab's network.

It has its own mounts and its own host name: cloud-init sets the name of whatever it runs on.  The kernel's line is what
`DEBUG_PROC_CMDLINE` says, which cloud-init reads in its place.  It has no disks but the one it is given: cloud-init grows
whatever it finds.  With a disk it is cloud-init's own ds-identify that says where data is, as on a machine.

Not every kernel that runs tests knows GPT and FAT.  So each partition is a loop device of its own, and where there is no
FAT, mount(8) finds a helper that copies the files by mtools.
"""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.machine.hosts import Host

CACHE = Path(__file__).parents[3] / "build" / "cloud-init"
MIRROR = "http://deb.debian.org/debian"
STAGES = (("init", "--local"), ("init",), ("modules", "--mode=config"), ("modules", "--mode=final"))
_RUN = """
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount -t sysfs -o ro sysfs "$0/sys"
mount -t tmpfs tmpfs "$0/run"
mount -t tmpfs -o mode=755 tmpfs "$0/dev"
for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
    number=${device#*:}
    mknod -m 666 "$0/dev/${device%%:*}" c "${number%:*}" "${number#*:}"
done
ln -s /proc/self/fd "$0/dev/fd"
for device in $2; do
    number=${device#*:}
    mknod -m 660 "$0/dev/${device%%:*}" b "${number%:*}" "${number#*:}"
done
if [ "$2" ]; then
    echo "$1" > "$0/run/cmdline"
    chroot "$0" env PATH_PROC_CMDLINE=/run/cmdline PATH=/usr/sbin:/usr/bin:/sbin:/bin /usr/lib/cloud-init/ds-identify
fi
for stage in "init --local" "init" "modules --mode=config" "modules --mode=final"; do
    chroot "$0" env DEBUG_PROC_CMDLINE="$1" PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 cloud-init $stage || true
done
cp "$0/run/cloud-init/result.json" "$0/run/cloud-init/status.json" "$0/var/lib/cloud/"
chroot "$0" hostname > "$0/var/lib/cloud/hostname"
"""
# What mount(8) calls where the kernel has no FAT: mount.vfat DEVICE FOLDER [-o OPTIONS].
_MOUNT_FAT = 'mount -t tmpfs -o mode=755 vfat "$2" && mcopy -s -n -i "$1" ::/* "$2"'


def debian(suite: str) -> Path:
    """The root of a suite, made once in a checkout.

    It is there when it is whole: while it is made the host's `/proc` is mounted in it, which a copy of it would have too.
    """
    root = CACHE / suite
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((root / "usr" / "bin" / program).exists() for program in ("cloud-init", "mcopy")):
            shutil.rmtree(root, ignore_errors=True)
            packages = "cloud-init,iproute2,openssh-server,netplan.io,tzdata,mtools"
            making = CACHE / f"{suite}.making"
            shutil.rmtree(making, ignore_errors=True)
            subprocess.run(
                ["mmdebstrap", "--variant=apt", f"--include={packages}", suite, str(making), MIRROR],
                check=True,
                timeout=900,
            )
            making.rename(root)
    return root


@dataclass(frozen=True)
class Booted:
    """What a first boot left behind."""

    root: Path

    @property
    def errors(self) -> list[str]:
        """What cloud-init says went wrong."""
        return list(self._read("result.json")["v1"]["errors"])

    @property
    def source(self) -> str:
        return str(self._read("result.json")["v1"]["datasource"])

    @property
    def complaints(self) -> dict[str, list[str]]:
        """Warnings of each stage."""
        stages: dict[str, Any] = self._read("status.json")["v1"]
        told = {
            name: [text for texts in stage.get("recoverable_errors", {}).values() for text in texts]
            for name, stage in stages.items()
            if isinstance(stage, dict)
        }
        return {name: texts for name, texts in told.items() if texts}

    @property
    def hostname(self) -> str:
        return (self.root / "var/lib/cloud/hostname").read_text().strip()

    @property
    def log(self) -> str:
        return (self.root / "var/log/cloud-init.log").read_text()

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def _read(self, name: str) -> Any:
        return json.loads((self.root / "var/lib/cloud" / name).read_text())


@contextmanager
def partitions(disk: Path) -> Iterator[list[str]]:
    """The partitions of a disk in a file as devices, NAME:MAJOR:MINOR.  Raises NoLoopDevices."""
    listed = subprocess.run(["sfdisk", "--json", disk], capture_output=True, check=True).stdout
    devices: list[Path] = []
    try:
        for each in json.loads(listed)["partitiontable"]["partitions"]:
            place = ["--offset", str(each["start"] * 512), "--sizelimit", str(each["size"] * 512)]
            made = subprocess.run(["losetup", "--find", "--show", *place, disk], capture_output=True, text=True)
            if made.returncode:
                raise NoLoopDevices(made.stderr.strip())
            devices.append(Path(made.stdout.strip()))
        yield [f"{each.name}:{Path(f'/sys/class/block/{each.name}/dev').read_text().strip()}" for each in devices]
    finally:
        for device in devices:
            subprocess.run(["losetup", "--detach", device], check=True)


class NoLoopDevices(Exception):
    """This machine has none to lend; the text says why."""


def boot(
    suite: str, host: Host, work: Path, line: str = "", configuration: str = "", disk: Path | None = None
) -> Booted:
    """Boot a fresh copy of the suite's root; `line` is its kernel's, `configuration` what stands in /etc/cloud/cloud.cfg.d.

    `disk` is a file with what is on its disk.  Raises NoLoopDevices.
    """
    root = work / suite
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "-a", "--reflink=auto", str(debian(suite)), str(root)], check=True)
    safe = "growpart: {mode: 'off'}\nresize_rootfs: false\n"
    (root / "etc/cloud/cloud.cfg.d/99-test.cfg").write_text(safe + configuration)
    # They speak to daemons that no chroot has.
    for program in ("usr/bin/udevadm", "usr/sbin/update-locale", "usr/sbin/locale-gen"):
        _replace(root / program, "exit 0")
    _replace(root / "usr/sbin/netplan", '[ "$1" = apply ] || exec "$0.real" "$@"')
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    if "vfat" not in Path("/proc/filesystems").read_text().split():
        _replace(root / "usr/sbin/mount.vfat", _MOUNT_FAT)
    with partitions(disk) if disk else nullcontext([]) as devices:
        run = ("unshare", "--mount", "--uts", "sh", "-c", _RUN, os.fspath(root))
        said = host.run(*run, line or "ro quiet", " ".join(devices), timeout=180)
    assert said is not None
    return Booted(root)


def _replace(program: Path, script: str) -> None:
    """Have a script in a program's place, which is called `.real` then."""
    if program.exists():
        program.rename(program.with_name(f"{program.name}.real"))
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def schema_problems(suite: str, work: Path, kind: str, text: str) -> str:
    """What cloud-init's own schema says of a text: `cloud-config` or `network-config`; empty: it is valid."""
    root = debian(suite)
    file = root / "tmp" / f"{kind}.yaml"
    file.write_text(text)
    options = [] if kind == "cloud-config" else ["--schema-type", kind]
    ended = subprocess.run(
        ["chroot", str(root), "cloud-init", "schema", *options, "--config-file", f"/tmp/{file.name}"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    file.unlink()
    return "" if ended.returncode == 0 else (ended.stdout + ended.stderr).decode()
