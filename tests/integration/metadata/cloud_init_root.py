"""Debian with cloud-init in a folder of its own, which runs as if a machine had booted it, on a host of the lab's network.

It has its own mounts and its own host name: cloud-init sets the name of whatever it runs on.  The kernel's line is what
`DEBUG_PROC_CMDLINE` says, which cloud-init reads in its place.  It has no disks: cloud-init grows whatever it finds.
"""

import json
import os
import shutil
import subprocess
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
for stage in "init --local" "init" "modules --mode=config" "modules --mode=final"; do
    chroot "$0" env DEBUG_PROC_CMDLINE="$1" PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 cloud-init $stage || true
done
cp "$0/run/cloud-init/result.json" "$0/run/cloud-init/status.json" "$0/var/lib/cloud/"
chroot "$0" hostname > "$0/var/lib/cloud/hostname"
"""


def debian(suite: str) -> Path:
    """The root of a suite, made once in a checkout."""
    root = CACHE / suite
    if not (root / "usr" / "bin" / "cloud-init").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(root, ignore_errors=True)
        packages = "cloud-init,iproute2,openssh-server,netplan.io,tzdata"
        subprocess.run(
            ["mmdebstrap", "--variant=apt", f"--include={packages}", suite, str(root), MIRROR], check=True, timeout=900
        )
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


def boot(suite: str, host: Host, work: Path, line: str = "", configuration: str = "") -> Booted:
    """Boot a fresh copy of the suite's root; `line` is its kernel's, `configuration` what stands in /etc/cloud/cloud.cfg.d."""
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
    said = host.run("unshare", "--mount", "--uts", "sh", "-c", _RUN, os.fspath(root), line or "ro quiet", timeout=180)
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
