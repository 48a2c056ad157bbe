"""Builds this commit twice, and says what differs: `make reproducible`.

    python packaging/reproducible.py --output build/reproducible --cache build/debs

Each build has a clone of its own, in a folder with a name of another length, its own Python packages, another umask, time zone,
language and order of hashes.  What is compared are the executable, the OSIE and the bills of materials of both.  Debian's
packages are those of the cache: what a mirror serves changes.  Only what is committed is built.
"""

import argparse
import hashlib
import marshal
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

ROOT = Path(__file__).resolve().parent.parent
PROGRAM, CARRIED = "dist/tinkbox", "build/pyinstaller/tinkbox/carried.bin"
OSIE = "build/osie/x86_64"
RAMDISKS = (f"{OSIE}/initramfs", f"{OSIE}/firmware")
MADE = (
    PROGRAM,
    f"{PROGRAM}.cdx.json",
    *RAMDISKS,
    *(f"{OSIE}/{name}" for name in ("vmlinuz", "osie.json", "osie.cdx.json")),
)
# What cpio's newc format has of a file's name and content in its header: 13 numbers of 8 digits behind a magic of 6.
CPIO_MAGIC, CPIO_HEADER = b"070701", 110
LONGEST_TOLD = 20


@dataclass(frozen=True, slots=True)
class Build:
    """Where one of them is made, and by whom."""

    folder: str
    umask: int
    environment: Mapping[str, str] = field(default_factory=dict)


BUILDS = (
    Build("one", 0o022, {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"}),
    Build("the/other/one", 0o077, {"PYTHONHASHSEED": "2", "TZ": "Pacific/Chatham", "LC_ALL": "C"}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--output", type=Path, required=True, help="the folder of the builds; what is there is replaced"
    )
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages are kept")
    arguments = parser.parse_args()
    output = arguments.output.absolute()
    shutil.rmtree(output, ignore_errors=True)
    arguments.cache.mkdir(parents=True, exist_ok=True)
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    commit = asked.stdout.strip()  # of both, whatever is committed meanwhile
    folders = [make(each, commit, output / each.folder, arguments.cache.absolute()) for each in BUILDS]
    lines = differences(*folders)
    for line in lines:
        print(line)
    if lines:
        sys.exit(f"two builds of one commit differ; both are in {output}")
    with (folders[0] / PROGRAM).open("rb") as program:
        digest = hashlib.file_digest(program, "sha256").hexdigest()
    print(f"two builds of {commit} are the same; {PROGRAM} has the SHA-256 {digest}")
    shutil.rmtree(output)


def make(build: Build, commit: str, folder: Path, cache: Path) -> Path:
    """Build a commit in a clone of its own; returns the clone."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", "--no-checkout", ROOT, folder], check=True)
    subprocess.run(["git", "-c", "advice.detachedHead=false", "checkout", "--quiet", commit], cwd=folder, check=True)
    (folder / "build").mkdir()
    (folder / "build" / "debs").symlink_to(cache)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))}
    print(f"building in {folder}", flush=True)
    subprocess.run(
        ["make", "--silent", "binary", "osie"],
        cwd=folder,
        check=True,
        umask=build.umask,
        env={**kept, **build.environment},
    )
    return folder


def differences(one: Path, other: Path) -> list[str]:
    """A line for each file that differs, and one for each part in which it does.  Empty where both builds are the same."""
    found = []
    for name in MADE:
        pair = [(folder / name).read_bytes() if (folder / name).is_file() else None for folder in (one, other)]
        if pair[0] == pair[1]:
            continue
        found.append(f"{name} differs")
        if name == PROGRAM:
            parts = [carried((folder / CARRIED).read_bytes()) for folder in (one, other)]
        elif name in RAMDISKS and None not in pair:
            parts = [entries(zstandard.ZstdDecompressor().decompressobj().decompress(each or b"")) for each in pair]
        else:
            continue
        names = sorted(part for part in {*parts[0], *parts[1]} if parts[0].get(part) != parts[1].get(part))
        found += [f"    {part}" for part in names[:LONGEST_TOLD]] or ["    all that it carries is the same"]
        if len(names) > LONGEST_TOLD:
            found.append(f"    and {len(names) - LONGEST_TOLD} others")
    return found


def carried(content: bytes) -> dict[str, bytes]:
    """What an executable carries, by name, as onefile/pack.py lays it."""
    behind = 8 + int.from_bytes(content[:8], "little")
    modules, libraries, _, data = marshal.loads(content[8:behind])
    places = {**{name: each[2:] for name, each in modules.items()}, **libraries, **data}
    return {name: content[behind + begin : behind + end] for name, (begin, end) in places.items()}


def entries(archive: bytes) -> dict[str, bytes]:
    """The files of a cpio archive, by their paths; each with its header but for the number that only counts."""
    found, place = {}, 0
    while archive[place : place + 6] == CPIO_MAGIC:
        header = archive[place : place + CPIO_HEADER]
        size, length = int(header[54:62], 16), int(header[94:102], 16)
        begin = -(-(place + CPIO_HEADER + length) // 4) * 4
        name = archive[place + CPIO_HEADER : place + CPIO_HEADER + length - 1].decode(errors="replace")
        found[name] = header[14:] + archive[begin : begin + size]
        place = -(-(begin + size) // 4) * 4
    return found


if __name__ == "__main__":
    main()
