"""Gathers the boot loaders of this machine's distribution: its signed shim and signed GRUB, and makes GRUB for BIOS.

    python packaging/loaders.py --output tinkbox/boot/loaders --cache build/debs

Nothing is installed.  The signed ones come from the same distribution as the OSIE's kernel, for a shim trusts its own distribution's
signatures only.  PINNED are the versions that the machine tests are run with.  A signature can be revoked, and then Debian
keeps only what is newer: that is taken instead, and said.  `signed.versions` beside the loaders tells which it is.

GRUB for BIOS is for disks that are made of root file systems.  It has in itself all modules that it needs, and loads none from the
disk, where those of another version may lie.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tinkbox.model.errors import Invalid, Unavailable  # noqa: E402  (the line above makes it importable)
from tinkbox.osie.debian import Apt, Package  # noqa: E402

VERSIONS = "signed.versions"
BIOS_MODULES = (
    *("biosdisk", "part_gpt", "ext2", "normal", "configfile", "linux", "search", "search_fs_uuid", "search_label"),
    *("serial", "terminal", "echo", "test", "true", "sleep", "loadenv", "minicmd", "gzio"),
)
# What the core image does first; the folder of its modules is one that is not there.
BIOS_PREFIX, BIOS_CONFIG = "(,gpt1)/boot/grub/none", "normal /boot/grub/grub.cfg\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """Which file of which package becomes which loader."""

    pinned: Package
    file: str
    loader: str


def signed(shim: str, grub: str) -> Sequence[Signed]:
    """Both in these versions."""
    return (
        Signed(
            pinned=Package(name="shim-signed", version=shim, architecture="amd64"),
            file="usr/lib/shim/shimx64.efi.signed",
            loader="shimx64.efi",
        ),
        Signed(
            pinned=Package(name="grub-efi-amd64-signed", version=grub, architecture="amd64"),
            file="usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed",
            loader="grubx64.efi",
        ),
    )


def unsigned(grub: str, devmapper: str) -> Sequence[Package]:
    """What GRUB for BIOS is made of, and by."""
    versions = {"grub-pc-bin": grub, "grub-common": grub, "libdevmapper1.02.1": devmapper}
    return [Package(name=name, version=version, architecture="amd64") for name, version in versions.items()]


# By what Debian calls its releases.
PINNED = {
    "bookworm": signed(shim="1.51~1+deb12u1+16.1-2~deb12u1", grub="1+2.06+13+deb12u2"),
    "trixie": signed(shim="1.51~1+deb13u1+16.1-2~deb13u1", grub="1+2.12+9+deb13u2"),
}
FOR_BIOS = {
    "bookworm": unsigned(grub="2.06-13+deb12u2", devmapper="2:1.02.185-2"),
    "trixie": unsigned(grub="2.12-9+deb13u2", devmapper="2:1.02.205-2"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, help="the folder of the loaders")
    parser.add_argument("--cache", type=Path, required=True, help="where downloaded packages are kept")
    arguments = parser.parse_args()
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    release = release if release in PINNED else "bookworm"
    wanted = PINNED[release]
    apt = Apt(arguments.cache.absolute() / "loaders")
    try:
        packages = downloaded(apt, [each.pinned for each in wanted])
        for_bios = downloaded(apt, FOR_BIOS[release])
    except (Invalid, Unavailable) as error:
        sys.exit(f"the signed boot loaders cannot be gathered: {error}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    make_bios_grub([apt.archives / package.file_name for package in for_bios], arguments.output)
    for each, package in zip(wanted, packages, strict=True):
        if package != each.pinned:
            print(
                f"{package.name} {each.pinned.version} is gone, taking {package.version}: run the tests of Secure Boot"
            )
        take(apt.archives / package.file_name, each, arguments.output)
    versions = "".join(f"{package.name} {package.version}\n" for package in (*packages, *for_bios))
    (arguments.output / VERSIONS).write_text(versions)


def downloaded(apt: Apt, pinned: Sequence[Package]) -> Sequence[Package]:
    """These packages, or of each that is gone what there is now; raises Invalid or Unavailable."""
    if not apt.missing(pinned):
        return pinned
    apt.update()
    try:
        apt.download(apt.missing(pinned))
    except Unavailable:
        names = [each.name for each in pinned]
        newest = {each.name: each for each in apt.resolve(names)}
        pinned = [newest[name] for name in names]
        apt.download(apt.missing(pinned))
    return pinned


def take(archive: Path, one: Signed, output: Path) -> None:
    """Lay the loader and its licence into a folder."""
    licence = f"usr/share/doc/{one.pinned.name}/copyright"
    with tempfile.TemporaryDirectory(prefix="tinkbox-loader-") as scratch:
        subprocess.run(["dpkg-deb", "--extract", archive, scratch], check=True)
        shutil.copyfile(Path(scratch, licence), output / f"LICENCE.{one.loader.removesuffix('.efi')}")
        shutil.copyfile(Path(scratch, one.file), output / one.loader)


def make_bios_grub(archives: Sequence[Path], output: Path) -> None:
    """Make GRUB's core image for BIOS, and lay it with the boot sector and the licence into a folder."""
    with tempfile.TemporaryDirectory(prefix="tinkbox-loader-") as scratch:
        for archive in archives:
            subprocess.run(["dpkg-deb", "--extract", archive, scratch], check=True)
        root, config = Path(scratch), Path(scratch, "first.cfg")
        config.write_text(BIOS_CONFIG)
        modules = root / "usr/lib/grub/i386-pc"
        libraries = ":".join(str(root / name / "x86_64-linux-gnu") for name in ("lib", "usr/lib"))
        making = [root / "usr/bin/grub-mkimage", "--directory", modules, "--format", "i386-pc", "--prefix", BIOS_PREFIX]
        making += ["--config", config, "--output", root / "core.img", *BIOS_MODULES]
        subprocess.run(making, check=True, env={**os.environ, "LD_LIBRARY_PATH": libraries})
        shutil.copyfile(root / "usr/share/doc/grub-common/copyright", output / "LICENCE.grub-bios")
        shutil.copyfile(modules / "boot.img", output / "grub-bios-boot.img")
        shutil.copyfile(root / "core.img", output / "grub-bios-core.img")


if __name__ == "__main__":
    main()
