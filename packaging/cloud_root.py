"""The files of a Debian system as its cloud images have them: installed by mmdebstrap, then made nobody's in particular."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ARCHIVE = "http://deb.debian.org/debian"
SECURITY = "http://deb.debian.org/debian-security"
PACKAGES = (
    *("linux-image-cloud-amd64", "initramfs-tools", "zstd", "grub-cloud-amd64"),
    *("systemd-sysv", "systemd-resolved", "libpam-systemd", "dbus", "udev", "kmod", "netbase", "procps", "sudo"),
    *("cloud-init", "cloud-guest-utils", "fdisk", "e2fsprogs", "netplan.io", "iproute2", "iputils-ping"),
    *("openssh-server", "ca-certificates"),
)
# What cloud-init asks an address with before the network is set up, where its data comes over the network.
DHCP_CLIENTS = {"bookworm": "isc-dhcp-client", "trixie": "dhcpcd-base"}
NOT_UNPACKED = ("doc", "man", "locale", "info", "lintian", "bug", "bash-completion")
# Written while it was installed; of no use to those that are installed from it.
LEFT_BEHIND = (
    *("etc/apt/sources.list", "etc/apt/apt.conf.d/99mmdebstrap", "etc/dpkg/dpkg.cfg.d/99mmdebstrap"),
    *("etc/ssh/ssh_host_*", "var/lib/systemd/random-seed", "var/lib/dbus/machine-id", "var/cache/ldconfig/aux-cache"),
    *("var/log/apt/*", "var/log/*.log", "var/cache/debconf/*-old", "var/lib/dpkg/*-old"),
    *("dev/*", "run/*", "tmp/*"),
)
# Of use to LVM only, which these images have not.
NOT_STARTED = ("e2scrub_all.timer", "e2scrub_reap.service")
SOURCES = """\
Types: deb
URIs: https://deb.debian.org/debian
Suites: {suite} {suite}-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: https://deb.debian.org/debian-security
Suites: {suite}-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


@dataclass(frozen=True, slots=True)
class Failed(Exception):
    """A program did not do its part; the text holds its last lines."""

    text: str

    def __str__(self) -> str:
        return self.text


def install(suite: str, root: Path, *, cache: Path) -> None:
    """Install the packages into the folder `root`; `cache` keeps what was downloaded.  Raises Failed."""
    cache.mkdir(parents=True, exist_ok=True)
    kept, archives = str(cache.absolute()), '"$1"/var/cache/apt/archives'
    hooks = {
        "setup": f'mkdir -p {archives} && find "{kept}" -name "*.deb" -exec cp -t {archives} {{}} +',
        "customize": f'find {archives} -name "*.deb" -exec cp -n -t "{kept}" {{}} +',
    }
    options = ["--variant=minbase", "--mode=root", "--format=directory", "--architectures=amd64"]
    options += ["--skip=download/empty", "--skip=essential/unlink", f"--keyring={KEYRING}"]
    options += [f"--include={','.join((*PACKAGES, DHCP_CLIENTS[suite]))}"]
    options += [f"--{when}-hook={what}" for when, what in hooks.items()]
    options += ['--aptopt=Acquire::Languages "none"', *(f"--aptopt={line}" for line in proxies())]
    options += ["--dpkgopt=force-unsafe-io"]
    options += [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in NOT_UNPACKED]
    options += [
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        "--dpkgopt=path-include=/usr/share/locale/locale.alias",
    ]
    run("mmdebstrap", *options, suite, root, *sources(suite))


def sources(suite: str) -> list[str]:
    """Where packages come from: the mirrors that this machine has of Debian, or else Debian's own."""
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"],
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    mirrors = {"Debian": ARCHIVE, "Debian-Security": SECURITY}
    for line in reversed(told.splitlines()):
        label, _, address = line.rpartition(" ")
        mirrors[label] = address
    archive, security = mirrors["Debian"], mirrors["Debian-Security"]
    return [
        f"deb {archive} {suite} main",
        f"deb {archive} {suite}-updates main",
        f"deb {security} {suite}-security main",
    ]


def proxies() -> list[str]:
    """What this machine's apt knows of the way to its mirrors."""
    known = subprocess.run(["apt-config", "dump"], stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [line for line in known if line.startswith("Acquire::http") and ("Proxy" in line or "CaInfo" in line)]


def make_anonymous(suite: str, root: Path) -> None:
    """Nothing of it may be the same on two machines: keys, names, seeds; and its settings as in Debian's cloud images."""
    run("chroot", root, "systemctl", "--quiet", "enable", "systemd-networkd.service")
    run("chroot", root, "systemctl", "--quiet", "disable", *NOT_STARTED)
    for pattern in LEFT_BEHIND:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    write(root / "etc/machine-id", "")
    write(root / "etc/hostname", "localhost\n")
    write(root / "etc/default/locale", "LANG=C.UTF-8\n")
    write(root / "etc/apt/sources.list.d/debian.sources", SOURCES.format(suite=suite))
    resolver = root / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)
    resolver.symlink_to("../run/systemd/resolve/stub-resolv.conf")
    mark_as_updated(root)


def mark_as_updated(root: Path) -> None:
    """What the packages' scripts have just done systemd would do again at the first boot: caches of libraries, users, hardware."""
    after = int((root / "usr").stat().st_mtime) + 1
    for place in ("etc", "var"):
        mark = root / place / ".updated"
        write(mark, f"TIMESTAMP_NSEC={after * 10**9}\n")
        os.utime(mark, (after, after))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)


def run(*command: str | Path) -> None:
    """Raises Failed with the last lines it said."""
    words: Sequence[str] = [str(word) for word in command]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", env={**os.environ, **environment},
    )  # fmt: skip
    if done.returncode:
        last = "\n".join(done.stdout.splitlines()[-15:])
        raise Failed(f"{words[0]} ended with {done.returncode}:\n{last}")
