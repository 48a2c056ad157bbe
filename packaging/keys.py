"""Gathers the OpenPGP keys that distributions sign their images with, out of Debian's packages of such keys.

    python packaging/keys.py --output tinkbox/catalogue/keys --cache build/debs

Each package is pinned by its digest, so it does not matter who serves it; nothing is installed.  Of each only the keys in
WANTED are taken, picked by their fingerprint, and its licence.  A key becomes the file FINGERPRINT.asc.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pinned import fetched
from pysequoia import Cert

# The second keeps what the first one drops when Debian moves on.
MIRRORS = ("http://deb.debian.org/debian", "https://snapshot.debian.org/archive/debian/20261101T000000Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package of keys in Debian 13; `keys` are files in it, each with the fingerprint that is taken from it."""

    name: str
    file: str
    sha256: str
    folder: str
    keys: Sequence[tuple[str, str]]

    @property
    def pool(self) -> str:
        return f"pool/main/{self.name[0]}/{self.name}/{self.file}"


WANTED = (
    Package(
        name="distribution-gpg-keys",
        file="distribution-gpg-keys_1.119+ds-1~deb13u1_all.deb",
        sha256="768f24cc1e64501de00b0fcfd1c43645042ea16abba489462cdc3ff061b4f21c",
        folder="usr/share/distribution-gpg-keys",
        keys=(
            ("fedora/RPM-GPG-KEY-fedora-43-primary", "C6E7F081CF80E13146676E88829B606631645531"),
            ("fedora/RPM-GPG-KEY-fedora-44-primary", "36F612DCF27F7D1A48A835E4DBFCF71C6D9F90A6"),
            ("fedora/RPM-GPG-KEY-fedora-45-primary", "4F50A6114CD5C6976A7F1179655A4B02F577861E"),
            ("fedora/RPM-GPG-KEY-fedora-46-primary", "D924B10D3E810DABDD8B56B596E7E91491211FCE"),
            ("alma/RPM-GPG-KEY-AlmaLinux-9", "BF18AC2876178908D6E71267D36CB86CB86B3716"),
            ("alma/RPM-GPG-KEY-AlmaLinux-10", "EE6DB7B98F5BF5EDD9DA0DE5DEE5C11CC2A1E572"),
        ),
    ),
    Package(
        name="ubuntu-keyring",
        file="ubuntu-keyring_2023.11.28.1-0.2_all.deb",
        sha256="b2e7ed48431bf9e7978ae810bbdaf253093570d6e3f864e575b7c13554b81174",
        folder="usr/share/keyrings",
        keys=(("ubuntu-cloudimage-keyring.gpg", "D2EB44626FDDC30B513D5BB71A5D6C4C7DB87C81"),),
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="the folder of the keys")
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages are kept")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    if arguments.output.is_dir():
        shutil.rmtree(arguments.output)  # a key that is wanted no more must not stay
    arguments.output.mkdir(parents=True)
    for package in WANTED:
        try:
            take(cached(package, arguments.cache), package, arguments.output)
        except LookupError as error:
            sys.exit(f"the keys of {package.name} cannot be gathered: {error}")


def cached(package: Package, cache: Path) -> Path:
    """The package's file, downloaded unless it is there; raises LookupError when no mirror has just it."""
    try:
        return fetched(cache / package.file, package.sha256, MIRRORS, package.pool)
    except LookupError as error:
        raise LookupError(f"{error}: is the package mirror reachable from here?") from None


def take(archive: Path, package: Package, output: Path) -> None:
    """Lay the wanted keys and the licence into a folder; raises LookupError for a key that is not there."""
    with tempfile.TemporaryDirectory(prefix="tinkbox-keys-") as scratch:
        subprocess.run(["dpkg-deb", "--extract", archive, scratch], check=True)
        shutil.copyfile(Path(scratch, f"usr/share/doc/{package.name}/copyright"), output / f"LICENCE.{package.name}")
        for file, fingerprint in package.keys:
            key = next((each for each in keys_in(Path(scratch, package.folder, file)) if each[0] == fingerprint), None)
            if key is None:
                raise LookupError(f"{file} has no key {fingerprint}")
            (output / f"{fingerprint}.asc").write_text(key[1])


def keys_in(path: Path) -> Iterator[tuple[str, str]]:
    """The keys of a file: fingerprint, and the key armoured."""
    for key in Cert.split_file(str(path)):
        yield key.fingerprint.upper(), str(key)


if __name__ == "__main__":
    main()
