"""Makes the OSIE: kernel and ramdisk from Debian packages and the tinkbox executable, for this processor or another.

No program of the other processor is run: what is needed while building comes from packages for this one.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Final

from tinkbox import __version__
from tinkbox.model.errors import Unavailable
from tinkbox.osie import firmware, modules, sbom
from tinkbox.osie.architectures import Architecture, of_this_machine
from tinkbox.osie.debian import of_this_release, unpack
from tinkbox.osie.executable import Executable
from tinkbox.osie.image import FIRMWARE, LICENCES, Firmware, OsieFile, OsieImage, describe, write
from tinkbox.osie.libraries import closure
from tinkbox.osie.programs import environment
from tinkbox.osie.tree import Tree
from tinkbox.wire.cyclonedx import Component, package_url, written

PACKAGES: Final = ("busybox-static", "docker.io", "ca-certificates", "zlib1g", "zstd")
TOOLS: Final = ("busybox-static", "zstd")
# What the packages depend on for an installed system's sake; no program below needs it.
LEFT_OUT: Final = (
    "adduser", "base-passwd", "coreutils", "cpio", "debconf", "dmsetup", "dpkg", "dracut-install", "init-system-helpers",
    "initramfs-tools*", "iptables", "klibc-utils", "libdb5.3*", "libfile-find-rule-perl", "libgdbm*", "libklibc",
    "libnumber-compare-perl", "libpam-modules", "libpam-modules-bin", "libpam0g", "libperl5.*", "libsemanage2", "libsepol2",
    "libsystemd-shared", "libtext-glob-perl", "linux-base", "login.defs", "mount", "openssl", "openssl-provider-legacy",
    "passwd", "perl", "perl-base", "perl-modules-5.*", "systemd", "sysvinit-utils", "tar", "tini", "udev", "usrmerge",
)  # fmt: skip
PROGRAMS: Final = (
    "usr/sbin/dockerd", "usr/bin/containerd", "usr/bin/containerd-shim-runc-v2", "usr/sbin/runc",
)  # fmt: skip
# Loaded while running, or by the executable, so that no program's list names them.
LIBRARIES: Final = ("libz.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libm.so.6", "libgcc_s.so.1",
                    "libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2")  # fmt: skip
FILES: Final = resources.files("tinkbox.osie") / "files"
SCRIPTS: Final = ("inittab", "setup", "network", "lease", "clock", "syslog", "engine", "identity", "worker", "leave")
# 15 takes seven times as long to make a ramdisk smaller by 2 %.
COMPRESSION: Final = "-9"


def build(
    output: Path,
    executable: Path,
    cache: Path,
    progress: Callable[[str], None],
    architecture: Architecture,
    *,
    with_firmware: bool = True,
) -> OsieImage:
    """Make OUTPUT/<architecture>/{vmlinuz,initramfs,osie.json,osie.cdx.json}; what was there before stays until the new one is whole.

    `with_firmware` makes `firmware` beside them: the second ramdisk, with what cards need of Debian's non-free-firmware.
    `executable` is what becomes the worker (`osie.executable`); `cache` keeps downloaded packages; `progress` is told
    each step.  Raises NotFound without executable, Invalid for one of another processor, Unavailable without package
    mirror.
    """
    worker = Executable(executable, architecture)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=output) as scratch:
        packages, made = Path(scratch, "packages"), Path(scratch, architecture.name)
        made.mkdir()
        wanted = (architecture.kernel, *PACKAGES)
        progress(f"unpacking {', '.join(wanted)} and what they need")
        here = of_this_machine()
        foreign = "" if architecture == here else architecture.debian
        unpacked = unpack(wanted, packages, cache=cache, exclude=LEFT_OUT, architecture=foreign)
        tools = packages
        if foreign:
            tools = Path(scratch, "tools")
            unpack(TOOLS, tools, cache=cache, exclude=LEFT_OUT)
        kernel = kernel_version(packages, architecture)
        progress(f"choosing modules of kernel {kernel}")
        patterns = "".join((FILES / name).read_text() for name in ("modules.txt", f"modules-{architecture.name}.txt"))
        for pattern in modules.prune(packages, kernel, patterns, tools / "bin" / "busybox"):
            progress(f"no module of kernel {kernel} matches {pattern}")
        folder = packages / "lib" / "modules" / kernel
        asked, needs = firmware.wanted(folder), modules.read_dependencies((folder / "modules.dep").read_text())
        progress("packing the ramdisk")
        shutil.copyfile(packages / "boot" / f"vmlinuz-{kernel}", made / "vmlinuz")
        tree = compose(packages, kernel, worker, architecture)
        tree.file(f"usr/lib/modules/{kernel}/modules.firmware", firmware.index(firmware.inherited(asked, needs)))
        compress(tree.archive(), made / "initramfs", tools, here)
        names, held = ["vmlinuz", "initramfs"], None
        carried = [*tree.sources, packages / "boot" / f"vmlinuz-{kernel}", *authorities(packages)]
        parts = sbom.used(unpacked, packages, carried, of_this_release())
        if with_firmware:
            progress(f"choosing firmware of {firmware.COMPONENT} that the modules ask for")
            sources = firmware.fetch(Path(scratch, FIRMWARE), cache, foreign)
            held, files = add_firmware(made, asked, sources, tools)
            for source in sources:
                parts += sbom.used(source.packages, source.root, files, of_this_release())
            unpacked = (*unpacked, *(package for source in sources for package in source.packages))
            names.append(FIRMWARE)
            progress(
                f"{len(held.files)} files for {len(held.modules)} modules; no package has {len(held.absent)} others"
            )
        image = OsieImage(
            architecture=architecture.name,
            version=__version__,
            kernel=kernel,
            files={name: describe(made / name) for name in names},
            packages={one.name: one.version for one in unpacked},
            firmware=held,
            https=True,
        )
        write(image, made)
        (made / sbom.NAME).write_text(bill(image, worker, executable, parts))
        _replace(output / architecture.name, made, Path(scratch, "before"))
    progress(f"{output / architecture.name}: {', '.join(_told(name, file) for name, file in image.files.items())}")
    return image


def bill(image: OsieImage, worker: Executable, executable: Path, parts: Sequence[Component]) -> str:
    """The OSIE's bill of materials: these parts, and the worker.  Raises Invalid where that of the worker is none."""
    inside = worker.bill()
    subject = Component(
        kind="operating-system",
        name="tinkbox-osie",
        version=image.version,
        purl=package_url("generic", "tinkbox-osie", image.version, arch=image.architecture),
        licences=("Apache-2.0",),
        parts=[Component(kind="file", name=name, sha256=file.sha256) for name, file in image.files.items()],
    )
    return written(subject, [*parts, sbom.worker(executable, inside)], inside.timestamp)


def add_firmware(
    made: Path, asked: Mapping[str, tuple[str, ...]], sources: Sequence[firmware.Unpacked], tools: Path
) -> tuple[Firmware, tuple[Path, ...]]:
    """Make the second ramdisk in the folder `made`, of what modules ask for; returns what is in it, and the files that hold it."""
    chosen = firmware.choose(asked, sources)
    tree, licences = firmware.compose(chosen, sources)
    compress(tree.archive(), made / FIRMWARE, tools, of_this_machine())
    (made / LICENCES).write_bytes(licences)
    files = tuple(sorted({*chosen.files, *chosen.links}))
    return Firmware(files=files, modules=chosen.modules, absent=chosen.absent), tree.sources


def kernel_version(packages: Path, architecture: Architecture) -> str:
    """The newest kernel that was unpacked."""
    found = sorted(path.name.removeprefix("vmlinuz-") for path in (packages / "boot").glob("vmlinuz-*"))
    if not found:
        raise Unavailable(f"the package {architecture.kernel} brought no kernel: remove the cache and try again")
    return found[-1]


def compose(packages: Path, kernel: str, worker: Executable, architecture: Architecture) -> Tree:
    """The OSIE's root file system: everything below /usr, with the old places as links to it."""
    tree = Tree()
    for name in ("bin", "lib", "lib64"):
        tree.folder(f"usr/{name}")
        tree.link(name, f"usr/{name}")
    for name in ("sbin", "usr/sbin"):
        tree.link(name, "/usr/bin")
    for name in ("dev", "proc", "sys", "run", "mnt", "var/lib/docker", "var/log"):
        tree.folder(name)
    tree.folder("tmp", 0o1777)
    tree.folder("root", 0o700)
    tree.link("var/run", "/run")
    tree.file("usr/bin/busybox", packages / "bin" / "busybox", 0o755)
    worker.lay(tree)
    for program in PROGRAMS:
        tree.file(f"usr/bin/{Path(program).name}", packages / program, 0o755)
    for name, path in sorted(libraries(packages, worker, architecture).items()):
        tree.file(f"usr/lib/{architecture.triplet}/{name}", path, 0o755)
    tree.file(f"usr/{architecture.loader}", packages / architecture.loader, 0o755)
    tree.files_below(packages / "lib" / "modules" / kernel, f"usr/lib/modules/{kernel}")
    tree.file("init", (FILES / "init").read_bytes(), 0o755)
    tree.file("osie/words", (FILES / "words").read_bytes())
    for script in SCRIPTS:
        tree.file(f"osie/{script}", (FILES / script).read_bytes(), 0o755)
    _settings(tree, packages)
    return tree


def _settings(tree: Tree, packages: Path) -> None:
    tree.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
    tree.file("etc/group", b"root:x:0:\ntty:x:5:\ndisk:x:6:\ndocker:x:999:\n")
    tree.file("etc/hostname", b"osie\n")
    tree.file("etc/hosts", b"127.0.0.1 localhost\n")
    tree.file("etc/resolv.conf", b"")
    tree.file("etc/nsswitch.conf", b"hosts: files dns\n")
    tree.file("etc/profile", b'PS1="OSIE $(hostname):\\w# "\nexport PATH=/bin PS1\n')
    name = f'ID=tinkbox-osie\nVERSION_ID={__version__}\nPRETTY_NAME="tinkbox OSIE {__version__}"\n'
    tree.file("usr/lib/os-release", name.encode())
    tree.link("etc/os-release", "../usr/lib/os-release")
    tree.file("etc/tinkbox/version", f"{__version__}\n".encode())
    content = b"".join(path.read_bytes() for path in authorities(packages))
    tree.file("etc/ssl/certs/ca-certificates.crt", content)


def authorities(packages: Path) -> list[Path]:
    """The certificates of all authorities that Debian trusts."""
    return sorted((packages / "usr/share/ca-certificates").rglob("*.crt"))


def libraries(packages: Path, worker: Executable, architecture: Architecture) -> dict[str, Path]:
    """Every shared library the programs need, by name, that the worker does not bring.  Raises Unavailable."""
    folders = [packages / folder for folder in architecture.library_folders]
    own = {path.name: path for path in worker.linked}
    own[Path(architecture.loader).name] = packages / architecture.loader
    return closure([*(packages / program for program in PROGRAMS), *worker.linked], folders, LIBRARIES, own)


def compress(pieces: Iterable[bytes], path: Path, tools: Path, here: Architecture) -> None:
    """Write them through zstd, and make the length a multiple of 512, so that another ramdisk can follow.

    `tools` is where packages for this machine, which is of the architecture `here`, were unpacked.
    """
    command: Sequence[str] = [
        str(tools / here.loader), "--library-path", ":".join(str(tools / folder) for folder in here.library_folders),
        str(tools / "usr" / "bin" / "zstd"), "-q", "-T0", COMPRESSION, "-o", str(path),
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(os.environ)
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # Its status and words say why it reads no more; closing sends what is buffered, and fails likewise.
        with suppress(BrokenPipeError), process.stdin:
            for piece in pieces:
                process.stdin.write(piece)
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        raise Unavailable(f"the ramdisk could not be compressed: {said or process.returncode}: is the disk full?")
    with path.open("ab") as file:
        file.write(b"\0" * (-file.tell() % 512))


def _replace(place: Path, made: Path, aside: Path) -> None:
    if place.exists():
        place.rename(aside)
    made.rename(place)


def _told(name: str, file: OsieFile) -> str:
    return f"{name} {file.size / (1 << 20):.1f} MiB"
