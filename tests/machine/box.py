"""The operator's box: Debian as its installer leaves it, with its own systemd, network and files, in namespaces.

What it writes is kept in a folder of its own, over a root that is made once in a checkout.  The host's sysctls, devices and
clock are out of its reach, as in any container.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from examples.lab.network import Network
from examples.lab.processes import command_that_dies_with_us
from tests.machine.hosts import Host
from tests.machine.lab import ROOT, until
from tests.machine.terminal import Terminal

CACHE: Final = ROOT / "build" / "boxes"
MIRROR: Final = "http://deb.debian.org/debian"
# What Debian's installer adds to the packages that every Debian has.
ADDED: Final = ("ca-certificates", "dbus", "openssh-client")
PROMPT: Final = "[$?]# "
BOOT_SECONDS: Final = 120.0
_CGROUP: Final = """
mkdir -p "$1/groups"
mount --make-rprivate /
mount -t cgroup2 none "$1/groups"
mkdir -p "$1/groups/$3"
echo $$ > "$1/groups/$3/cgroup.procs"
umount "$1/groups"
exec unshare --cgroup --pid --uts --ipc --mount --fork --kill-child sh -ec "$0" box "$@"
"""
_BOOT: Final = """
root=$1/root
mkdir -p "$root" "$1/written" "$1/scratch"
mount -t overlay overlay -o "lowerdir=$2,upperdir=$1/written,workdir=$1/scratch" "$root"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
    number=${device#*:}
    mknod -m 666 "$root/dev/${device%%:*}" c "${number%:*}" "${number#*:}"
done
cd "$root"
pivot_root . mnt
cd /
umount -l /mnt
exec env -i container=lab PATH=/usr/sbin:/usr/bin setpriv --bounding-set -sys_time,-sys_module,-syslog /sbin/init
"""


def debian(suite: str) -> Path:
    """The root of a suite, made once in a checkout."""
    root, made = CACHE / suite, CACHE / f".{suite}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if root.exists():
            return root
        shutil.rmtree(made, ignore_errors=True)
        options = ["--variant=important", f"--include={','.join(ADDED)}", "--dpkgopt=force-unsafe-io"]
        subprocess.run(["mmdebstrap", *options, suite, str(made), MIRROR], check=True, timeout=900)
        made.rename(root)
    return root


class Box:
    """A context manager: it runs, with a cable for every one of `cables`: the bridge, and the address there or "".

    `gateway` is what its first cable leads to.
    """

    def __init__(
        self, network: Network, work: Path, cables: Sequence[tuple[str, str]], gateway: str = "", suite: str = "trixie"
    ) -> None:
        work.mkdir(parents=True)
        self._root, self._work, self._gateway = debian(suite), work, gateway
        self._network, self._cables = network, cables
        # Its control group is found again by this name.
        self._group = f"tinkbox-box-{os.getpid()}-{id(self)}"
        self.lay("etc/hostname", b"box\n")

    def __enter__(self) -> Self:
        self.boot()
        return self

    def __exit__(self, *_: object) -> None:
        self.power_off()

    def boot(self) -> None:
        """Press the button; returns when its systemd has started everything."""
        self._host = Host(self._network, self._cables)
        if self._gateway:
            self._host.run("ip", "route", "add", "default", "via", self._gateway)
        command = ["nsenter", f"--net={self._host.path}", "unshare", "--mount", "sh", "-ec", _CGROUP, _BOOT]
        self._log = (self._work / "boot.log").open("ab")
        self._process = subprocess.Popen(
            # unshare(1) does not end by SIGTERM while its child runs.
            command_that_dies_with_us([*command, str(self._work), str(self._root), self._group], by="KILL"),
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        until(self._started, "the box to have started", BOOT_SECONDS)

    def power_off(self) -> None:
        """Pull the plug."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)  # its first process goes with it, and all others with that
        self._process.wait()
        self._log.close()
        self._host.close()
        self._remove_group()

    def reboot(self) -> None:
        """As `reboot` does: everything is ended in order, and begins again."""
        self._run("systemctl", "reboot", "--no-block")
        self._process.wait(BOOT_SECONDS)
        self.power_off()
        self.boot()

    def lay(self, path: str, content: bytes | Path) -> None:
        """Have a file there, or a copy of one or of a folder, before it boots for the first time."""
        place = self._work / "written" / path
        for folder in reversed(place.relative_to(self._work).parents[:-1]):
            (self._work / folder).mkdir(exist_ok=True)
            (self._work / folder).chmod(0o755)  # whatever our own umask is
        if isinstance(content, bytes):
            place.write_bytes(content)
            place.chmod(0o644)
        elif content.is_dir():
            shutil.copytree(content, place)
        else:
            shutil.copy(content, place)

    @property
    def files(self) -> Path:
        """Its root, while it runs."""
        return Path(f"/proc/{self._init}/root")

    def run(self, *command: str) -> str:
        """What a command prints there; fails when the command does."""
        ended = self._run(*command)
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout

    def terminal(self) -> Terminal:
        """A person at its console, in the home folder of root."""
        environment = {"HOME": "/root", "USER": "root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}
        shell = [*self._inside, "bash", "--norc", "--noprofile", "-i"]
        return Terminal(environment, self._work, shell=shell, prompt=PROMPT)

    @property
    def _init(self) -> int:
        return int(Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()[0])

    @property
    def _inside(self) -> list[str]:
        return ["nsenter", f"--target={self._init}", "--all", "env", "--chdir=/root"]

    def _started(self) -> bool:
        assert self._process.poll() is None, f"the box ended: {(self._work / 'boot.log').read_text()}"
        with suppress(IndexError):
            return self._run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")
        return False

    def _run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        environment: Mapping[str, str] = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/root"}
        return subprocess.run(
            [*self._inside, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment,
            timeout=BOOT_SECONDS, check=False,
        )  # fmt: skip

    def _remove_group(self) -> None:
        """Its control groups, the innermost first; the kernel takes a moment until they are empty."""
        for hierarchy in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
            top = Path(hierarchy, self._group)
            deadline = time.monotonic() + 10
            while top.exists() and time.monotonic() < deadline:
                for folder, _, _ in os.walk(top, topdown=False):
                    with suppress(OSError):
                        Path(folder).rmdir()
