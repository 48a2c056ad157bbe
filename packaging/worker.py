"""Makes the worker for a processor that we only cross-build for: a file tree, as PyInstaller packs for its own one only.

    python packaging/worker.py --architecture aarch64 --output dist/tinkbox-aarch64 --cache build/debs

The tree is for `tinkbox osie build --architecture aarch64 --executable dist/tinkbox-aarch64`.  It has Debian's Python,
the pinned wheels of requirements.txt that tinkbox depends on, this project's sources, the helper (built by a cross
compiler) and busybox.  No program of the other processor is run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "packaging"), str(ROOT / "packaging" / "onefile")]

from bytecode import PYTHON, compiled  # noqa: E402  (the line above makes these importable)
from materials import Piece, bill, distribution  # noqa: E402

from tinkbox import __version__  # noqa: E402
from tinkbox.osie import sbom  # noqa: E402
from tinkbox.osie.architectures import Architecture, architecture  # noqa: E402
from tinkbox.osie.debian import Package, of_this_release, unpack  # noqa: E402
from tinkbox.wire.cyclonedx import Component  # noqa: E402

PACKAGES = (f"{PYTHON}-minimal", f"lib{PYTHON}-stdlib", "libstdc++6", "busybox-static")
# The OSIE has these itself, or no program of the worker's calls them.
LEFT_OUT = (
    "debconf", "dpkg", "libc6", "libdb5.3*", "libgcc-s1", "libncursesw6", "libreadline8*", "libselinux1", "libpcre2-8-0",
    "media-types", "perl-base", "readline-common", "tar", "libgssapi-krb5-2", "libk5crypto3", "libkeyutils1", "libkrb5-3",
    "libkrb5support0", "libcom-err2", "libnsl2", "libtirpc3*", "libtirpc-common", "libtinfo6", "netbase", "openssl-provider-legacy",
)  # fmt: skip
# What of Python no part of tinkbox imports.
PRUNED = (
    *(f"usr/lib/python3*/{name}" for name in (
        "ensurepip", "idlelib", "lib2to3", "distutils", "unittest", "pydoc*", "tkinter", "turtle*", "test", "curses", "dbm",
        "venv", "config-*", "xmlrpc", "wsgiref", "EXTERNALLY-MANAGED",
    )),
    *(f"usr/lib/python3*/lib-dynload/{name}.*" for name in (
        "readline", "_curses*", "_dbm", "_test*", "_xx*", "nis", "ossaudiodev", "_tkinter", "xxlimited*",
    )),
)  # fmt: skip
# As pip names what wheels for Debian's C library may be called.
PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_26", "manylinux_2_28", "manylinux_2_34", "manylinux_2_36")
PLACE = "usr/lib/tinkbox"
LAUNCHER = f"""#!/bin/sh
# tinkbox, by Python: what is here instead of the executable of one file.
export PYTHONPATH=/{PLACE} PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/{PYTHON} -s -P -m tinkbox "$@"
"""
_SONAME = re.compile(r".+\.so\.\d+")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--architecture", default="aarch64")
    parser.add_argument("--output", type=Path, required=True, help="the folder to make; one that is there is replaced")
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages and wheels are kept")
    arguments = parser.parse_args()
    made_for = architecture(arguments.architecture)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".worker-", dir=arguments.output.parent) as scratch:
        tree = Path(scratch, "tree")
        packages = debian(tree, Path(scratch, "packages"), arguments.cache, made_for)
        for wheel in wheels(arguments.cache / "wheels", made_for):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(tree / PLACE)
        ours(tree, Path(scratch, "packages"), made_for)
        parts = materials(tree, Path(scratch, "packages"), packages)
        for folder in (tree / "usr" / "lib" / PYTHON, tree / PLACE):
            compiled(folder, tree, sources=True)
        shutil.rmtree(arguments.output, ignore_errors=True)
        tree.rename(arguments.output)
    sbom.beside(arguments.output).write_text(bill(parts, os.environ.get("SOURCE_DATE_EPOCH", "")))
    size = sum(path.stat().st_size for path in arguments.output.rglob("*") if path.is_file())
    print(f"{arguments.output}: tinkbox {__version__} for {made_for.name}, {size / (1 << 20):.1f} MiB")


def debian(tree: Path, packages: Path, cache: Path, made_for: Architecture) -> Sequence[Package]:
    """Python and its libraries, of Debian's packages; returns those."""
    unpacked = unpack(PACKAGES, packages, cache=cache, exclude=LEFT_OUT, architecture=made_for.debian)
    for pattern in PRUNED:
        for path in packages.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    place = tree / "usr" / "bin" / PYTHON
    place.parent.mkdir(parents=True)
    shutil.copy2(packages / "usr" / "bin" / PYTHON, place)
    shutil.copytree(packages / "usr" / "lib" / PYTHON, tree / "usr" / "lib" / PYTHON, ignore_dangling_symlinks=True)
    libraries = tree / "usr" / "lib" / made_for.triplet
    libraries.mkdir()
    for folder in made_for.library_folders:
        for path in packages.glob(f"{folder}/*.so.*"):
            if path.is_symlink() or _SONAME.fullmatch(path.name):  # as programs call it
                shutil.copyfile(path, libraries / path.name)
    return unpacked


def materials(tree: Path, packages: Path, unpacked: Sequence[Package]) -> list[Component]:
    """What the tree is made of: Debian's packages of which a file is in it, and wheels."""
    files = [path for path in sorted(tree.rglob("*")) if path.is_file()]
    there = [place for path in files if (place := packages / path.relative_to(tree)).is_file()]
    parts = sbom.used(unpacked, packages, [*there, packages / "bin" / "busybox"], of_this_release())
    for each in metadata.distributions(path=[str(tree / PLACE)]):
        own = {tree / PLACE / str(file) for file in each.files or ()}
        pieces = [
            Piece(str(path.relative_to(tree)), path, path.read_bytes(), is_file=".so" in path.suffixes)
            for path in files
            if path in own
        ]
        parts.append(distribution(each, pieces))
    return parts


def wheels(folder: Path, made_for: Architecture) -> Iterator[Path]:
    """The wheels that tinkbox depends on, as pinned, for the other processor."""
    folder.mkdir(parents=True, exist_ok=True)
    direct = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = [match[0] for text in direct if (match := _NAME.match(text))]
    platforms = [word for name in PLATFORMS for word in ("--platform", f"{name}_{made_for.name}")]
    with tempfile.TemporaryDirectory(prefix=".wheels-", dir=folder) as arriving:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary=:all:",
        ]
        command += [*platforms, "--implementation", "cp", "--python-version", PYTHON.removeprefix("python")]
        command += ["--dest", arriving, "--find-links", str(folder)]
        subprocess.run([*command, "--constraint", ROOT / "packaging" / "requirements.txt", *names], check=True)
        for wheel in sorted(Path(arriving).glob("*.whl")):
            yield wheel.replace(folder / wheel.name)


def ours(tree: Path, packages: Path, made_for: Architecture) -> None:
    """The sources, what of them is made for the other processor, and what starts them."""
    left_out = shutil.ignore_patterns("__pycache__", "loaders", "tools")
    shutil.copytree(ROOT / "tinkbox", tree / PLACE / "tinkbox", ignore=left_out)
    tools = tree / PLACE / "tinkbox" / "worker" / "tools"
    tools.mkdir()
    for name in ("applets", "LICENCE.busybox"):  # those of this machine's busybox, which is of the same release
        shutil.copyfile(ROOT / "tinkbox" / "worker" / "tools" / name, tools / name)
    shutil.copy2(packages / "bin" / "busybox", tools / "busybox")
    helper(tools / "entrypoint", made_for)
    launcher = tree / "usr" / "bin" / "tinkbox"
    launcher.write_text(LAUNCHER)
    launcher.chmod(0o755)


def helper(output: Path, made_for: Architecture) -> None:
    """What becomes process 1 of an action's container, statically linked."""
    flags = os.environ.get("CFLAGS_HELPER", "-std=gnu11 -Os -Wall -Wextra -Werror -static -s").split()
    sources = sorted((ROOT / "packaging" / "helper").glob("*.c"))
    compiler = f"{made_for.triplet}-gcc"
    subprocess.run([compiler, *flags, f'-DVERSION="{__version__}"', "-o", output, *sources], check=True)


if __name__ == "__main__":
    main()
