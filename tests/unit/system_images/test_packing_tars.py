"""Tars of root file systems, packed as a whole: the disk is right, however the tar was compressed and whoever packs it."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import zstandard

from tests.everybodys_checkout import BEFORE, PYTHON
from tests.file_systems import check, debugfs, run
from tests.root_tars import KERNEL, VERSION, entry, system, tar
from tinkbox.model.errors import Invalid, Refusal, TooLarge
from tinkbox.model.images.system_image import About, Architecture, Compression, Firmware, Format, Source, SystemImage
from tinkbox.system_images import pack
from tinkbox.wire.disk.bootable_disk import Loaders

ABOUT: Final = About(id="lab-debian", version="20261101", source=Source(file="root.tar"))
LOADERS: Final = Loaders(boot=b"\xeb\x63\x90".ljust(512, b"B"), core=b"C" * 1500, efi={"EFI/BOOT/BOOTX64.EFI": b"shim"})
COMPRESSED: Final[Mapping[Compression, Callable[[bytes], bytes]]] = {
    Compression.NONE: bytes,
    Compression.GZIP: lambda content: gzip.compress(content, 1),
    Compression.XZ: lambda content: lzma.compress(content, preset=0),
    Compression.BZIP2: bz2.compress,
    Compression.ZSTD: zstandard.compress,
}
DAILY: Final = (Compression.NONE, Compression.ZSTD)


class Folder:
    """A tar that is packed in it, and what came of it."""

    def __init__(self, path: Path) -> None:
        self.source, self.output, self.scratch = path / "root.tar", path / "out" / "image.tar", path / "scratch"
        self.scratch.mkdir()
        self.output.parent.mkdir()

    def pack(self, content: bytes, about: About = ABOUT, **more: object) -> SystemImage:
        self.source.write_bytes(content)
        options = {"loaders": lambda: LOADERS, **more}
        return pack(self.source, about, self.output, scratch=self.scratch, said=lambda progress: None, **options)  # type: ignore[arg-type]

    def disk(self) -> Path:
        """The raw disk of the archive."""
        with tarfile.open(self.output) as archive:
            blobs = {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]
        path = self.source.with_name("disk.raw")
        disk = zstandard.ZstdDecompressor().stream_reader(max(blobs.values(), key=len), read_across_frames=True)
        with path.open("wb") as file:
            while piece := disk.read(1 << 20):
                file.seek(len(piece), os.SEEK_CUR) if not any(piece) else file.write(piece)
            file.truncate()
        return path

    def left(self) -> list[Path]:
        return [each for folder in (self.scratch, self.output.parent) for each in folder.iterdir()]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize(
    "kind", [each if each in DAILY else pytest.param(each, marks=pytest.mark.campaign) for each in COMPRESSED]
)
def test_a_tar_becomes_the_same_disk_however_it_was_compressed(folder: Folder, kind: Compression) -> None:
    content = tar(system())
    image = folder.pack(COMPRESSED[kind](content))
    about = image.config.about
    assert (about.source.format, about.source.compression) == (Format.TAR, kind)
    assert (about.firmware, about.least_disk) == ((Firmware.BIOS, Firmware.UEFI), image.config.raw.size)
    assert list(image.warnings) == []
    assert folder.left() == [folder.output]


def root_of(disk: Path) -> Path:
    """The root file system of a disk, as a file."""
    (first,) = (
        (each["start"] * 512, each["size"] * 512)
        for each in json.loads(run("sfdisk", "--json", disk))["partitiontable"]["partitions"]
        if each["node"].endswith("raw1")
    )
    path = disk.with_name("root.ext4")
    run("dd", f"if={disk}", f"of={path}", "bs=1M", f"skip={first[0] >> 20}", f"count={first[1] >> 20}", "conv=sparse")
    return path


def test_what_is_on_the_disk_is_what_was_in_the_tar(folder: Folder) -> None:
    sudo = entry("./usr/bin/sudo", content=b"sudo" * 9000, mode=0o4755, gid=27)
    null = entry("./dev/null", tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666)
    again = entry("./usr/bin/sudoedit", tarfile.LNKTYPE, linkname="./usr/bin/sudo")
    odd = entry("./etc/caf\udce9 $(halt)\n", content=b"odd")
    folder.pack(zstandard.compress(tar([*system(), sudo, null, again, odd], tarfile.GNU_FORMAT)))
    disk = folder.disk()
    assert "No errors detected" in run("sfdisk", "--verify", disk)
    run("mcopy", "-i", f"{disk}@@4M", "::/grub/grub.cfg", disk.with_name("grub.cfg"))
    root = root_of(disk)
    check(root)
    uuid = run("blkid", "-p", "-s", "UUID", "-o", "value", root).strip()
    on_esp = disk.with_name("grub.cfg").read_text()
    assert on_esp == f"search.fs_uuid {uuid} root\nset grub_platform=\nconfigfile ($root)/boot/grub/grub.cfg\n"
    assert f"--set=root {uuid}\n" in debugfs(root, "cat /boot/grub/grub.cfg").decode()
    assert debugfs(root, f"cat /boot/vmlinuz-{VERSION}") == KERNEL
    assert debugfs(root, "cat /usr/bin/sudoedit") == b"sudo" * 9000
    told = debugfs(root, "stat /usr/bin/sudo").decode()
    assert ("Mode:  04755" in told, "Group:    27" in told, "Links: 2" in told) == (True, True, True)
    assert "Device major/minor number: 01:03" in debugfs(root, "stat /dev/null").decode()
    assert b"caf\xe9 $(halt)" in debugfs(root, "ls -p /etc")


def test_the_same_tar_is_the_same_disk_and_another_one_is_another(folder: Folder) -> None:
    first, second = folder.pack(tar(system())), folder.pack(tar(system()))
    assert first.config.raw.digest == second.config.raw.digest
    other = folder.pack(tar(system(files={"etc/issue": b"x"})))
    assert other.config.raw.digest != first.config.raw.digest


def test_warnings_come_with_the_image(folder: Folder) -> None:
    image = folder.pack(tar(system(files={"usr/bin/cloud-init": None})))
    assert ["no cloud-init" in each for each in image.warnings] == [True]


def test_what_is_left_out_is_told_before_other_warnings(folder: Folder) -> None:
    info, content = entry("./etc/issue", content=b"x")
    info.pax_headers = {"SCHILY.acl.access": "user::rwx"}
    lines = "".join(f"LABEL=disk{number} /srv/{number} ext4 defaults 0 2\n" for number in range(30))
    image = folder.pack(tar([*system(files={"etc/fstab": lines.encode()}), (info, content)]))
    assert image.warnings[0] == "1 access control list left out: they are not kept"
    assert image.warnings[-1].startswith("there are 12 more warnings")


def test_a_file_of_the_far_future_is_no_concern_of_the_file_system(folder: Folder) -> None:
    future, content = entry("./etc/issue", content=b"x")
    future.pax_headers = {"mtime": "99999999999"}
    folder.pack(tar([*system(), (future, content)]))
    root = root_of(folder.disk())
    check(root)
    assert "in the future" not in run("e2fsck", "-fn", root)


GOOD: Final = tar(system())
LONG: Final = tar([*system(), entry("./large", content=os.urandom(3 << 20))])
REFUSED: Final[Mapping[str, tuple[bytes, Mapping[str, object], type[Refusal], str]]] = {
    "a container": (tar([entry("./etc/os-release", content=b"x")]), {}, Invalid, "root.tar: it has no kernel in /boot"),
    "half a tar": (LONG[: 2 << 20], {}, Invalid, r"root.tar: it is (damaged or )?truncated"),
    "half a stream": (zstandard.compress(LONG)[: 2 << 20], {}, Invalid, "it is truncated: its zstd stream"),
    "half a tar in a stream": (gzip.compress(LONG[: 2 << 20], 1), {}, Invalid, r"it is (damaged or )?truncated"),
    "a name that leads out": (tar([*system(), entry("../x")]), {}, Invalid, r"its entry '\.\./x' leads out of it"),
    "too large": (GOOD, {"max_disk": 256 << 20}, TooLarge, "more than 256MiB: `--max-size`"),
    "a bomb": (
        gzip.compress(tar([*system(), entry("./zeros", content=bytes(40 << 20))]), 1),
        {"max_disk": 32 << 20},
        TooLarge,
        "more than 32MiB",
    ),
    "arm64": (GOOD, {"about": replace(ABOUT, architecture=Architecture.AARCH64)}, Invalid, "of x86_64 systems only"),
    "no loaders": (GOOD, {"loaders": None}, Invalid, "`tinkbox image import` makes a disk"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_leaves_nothing(folder: Folder, name: str) -> None:
    content, more, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        folder.pack(content, **more)  # type: ignore[arg-type]
    assert folder.left() == []


PACKING: Final = """\
import sys, datetime
from pathlib import Path
from tests.unit.system_images.test_packing_tars import ABOUT, LOADERS
from tinkbox.system_images import pack
place = Path(sys.argv[1])
image = pack(place / "root.tar", ABOUT, place / "out" / "image.tar", scratch=place / "scratch", said=lambda progress: None, loaders=lambda: LOADERS)
print(image.config.raw.digest)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_who_is_not_root_gets_the_same_disk() -> None:
    sudo = entry("./sudo", mode=0o4755, uid=0, content=b"x")
    with tempfile.TemporaryDirectory() as place:  # pytest's own is closed to others
        folder = Folder(Path(place))
        known = folder.pack(tar([*system(), sudo, entry("./null", tarfile.CHRTYPE)]))
        for each in (Path(place), folder.source, folder.output.parent, folder.scratch):
            os.chown(each, 65534, 65534)
        become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = subprocess.run([*BEFORE, *become, PYTHON, "-c", PACKING, place], capture_output=True, text=True)
    assert done.stdout.strip() == known.config.raw.digest, done.stderr
