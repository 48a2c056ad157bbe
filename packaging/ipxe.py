"""Gathers iPXE for x86 and for arm64: Debian's own builds, of the release after the one that we build on.

    python packaging/ipxe.py --output tinkbox/boot/loaders --cache build/debs

Debian 12 has iPXE of 2019, for x86 only and without HTTPS.  The package of its successor is for all architectures.  It is
pinned by its digest, so it does not matter who serves it; only the loaders and their licence are taken out of it, and
nothing is installed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pinned import fetched

PACKAGE = "ipxe_1.21.1+git20250501.dad20602+dfsg-1_all.deb"
SHA256 = "eeaca79dbde0fb86c102bf1d362c6f6a67ed0ddab38b3dd12e1b332339f5dd99"
# The second keeps what the first one drops when Debian moves on.
POOLS = (
    "http://deb.debian.org/debian/pool/main/i/ipxe",
    "https://snapshot.debian.org/archive/debian/20250601T000000Z/pool/main/i/ipxe",
)
# What it is called here and in the package.  The last one is what make looks at.
LOADERS = {
    "LICENCE.ipxe": "usr/share/doc/ipxe/copyright",
    "snponly.efi": "usr/lib/ipxe/snponly.efi",
    "ipxe.efi": "usr/lib/ipxe/ipxe-amd64.efi",
    "ipxe-arm64.efi": "usr/lib/ipxe/ipxe-arm64.efi",
    "undionly.kpxe": "usr/lib/ipxe/undionly.kpxe",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="folder of the loaders and their licence")
    parser.add_argument("--cache", type=Path, required=True, help="where the downloaded package is kept")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    try:
        package = cached(arguments.cache / PACKAGE, POOLS)
    except LookupError as error:
        sys.exit(f"{PACKAGE} could not be downloaded: {error}: is the package mirror reachable from here?")
    with tempfile.TemporaryDirectory(prefix="tinkbox-ipxe-") as scratch:
        subprocess.run(["dpkg-deb", "--extract", package, scratch], check=True)
        for name, place in LOADERS.items():
            shutil.copyfile(Path(scratch, place), arguments.output / name)


def cached(path: Path, pools: Sequence[str]) -> Path:
    """The pinned package, downloaded unless it is there; raises LookupError when no pool has just it."""
    return fetched(path, SHA256, pools, path.name)


if __name__ == "__main__":
    main()
