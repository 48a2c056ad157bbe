"""Packing as a whole: files of every kind in, OCI archives out, and nothing left where it is refused."""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import shutil
import struct
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from tests.system_disks import SIZE, convert, raw_disk
from tests.unit.system_images.qcow2_files import Qcow2File
from tinkbox.model.errors import Invalid, NotFound, Refusal, TooLarge, Unavailable
from tinkbox.model.images.system_image import (
    About,
    Compression,
    Firmware,
    Format,
    Progress,
    Source,
    Stage,
    SystemImage,
    Verified,
)
from tinkbox.system_images import pack, room
from tinkbox.system_images.packing import described
from tinkbox.wire.system_images import decode_block_map, decode_config

ABOUT = About(id="lab-debian", version="20261101", source=Source(file="disk"))


class Folder:
    """A file that is packed in it, and what came of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = path / "disk"
        self.output = path / "out" / "image.tar"
        self.scratch = path / "scratch"
        self.scratch.mkdir()
        self.output.parent.mkdir()
        self.progress: list[Progress] = []

    def pack(self, about: About = ABOUT, **more: int) -> SystemImage:
        return pack(self.source, about, self.output, scratch=self.scratch, said=self.progress.append, **more)

    def blobs(self) -> dict[str, bytes]:
        with tarfile.open(self.output) as archive:
            return {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]

    def left(self) -> list[Path]:
        return [each for folder in (self.scratch, self.output.parent) for each in folder.iterdir()]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def disk_in(blobs: Mapping[str, bytes]) -> bytes:
    """The raw disk of an archive, by its documents alone."""
    index = json.loads(blobs["index.json"])
    named = {each["annotations"]["org.opencontainers.image.ref.name"] for each in index["manifests"]}
    assert named == {"lab-debian:20261101", "lab-debian:latest"}
    manifest = json.loads(blobs[_blob(index["manifests"][0]["digest"])])
    disk, block_map = (blobs[_blob(each["digest"])] for each in manifest["layers"])
    assert [len(disk), len(block_map)] == [each["size"] for each in manifest["layers"]]
    for name, content in blobs.items():
        assert not name.startswith("blobs/") or name.endswith(hashlib.sha256(content).hexdigest())
    raw = zstandard.ZstdDecompressor().stream_reader(disk, read_across_frames=True).read()
    decoded, config = decode_block_map(block_map), decode_config(blobs[_blob(manifest["config"]["digest"])])
    assert decoded.raw == config.raw
    assert (config.raw.size, config.raw.digest) == (len(raw), f"sha256:{hashlib.sha256(raw).hexdigest()}")
    return raw


def _blob(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


PACKERS: Mapping[Compression, Callable[[bytes], bytes]] = {
    Compression.NONE: bytes,
    Compression.GZIP: lambda content: gzip.compress(content, 1),
    Compression.XZ: lambda content: lzma.compress(content, preset=0),
    Compression.BZIP2: bz2.compress,
    Compression.ZSTD: zstandard.compress,
}


def test_the_same_file_is_the_same_archive_whenever_it_is_packed(folder: Folder) -> None:
    folder.source.write_bytes(raw_disk(folder.path / "raw"))
    first, archive = folder.pack(), folder.output.read_bytes()
    os.utime(folder.source, (0, 0))
    assert (folder.pack(), folder.output.read_bytes()) == (first, archive)


DAILY = (Compression.NONE, Compression.XZ)


@pytest.mark.parametrize(
    "kind", [each if each in DAILY else pytest.param(each, marks=pytest.mark.campaign) for each in PACKERS]
)
def test_a_raw_disk_is_the_same_however_it_was_compressed(folder: Folder, kind: Compression) -> None:
    raw = raw_disk(folder.path / "raw")
    folder.source.write_bytes(PACKERS[kind](raw))
    image = folder.pack()
    assert disk_in(folder.blobs()) == raw
    about = image.config.about
    assert (about.source.format, about.source.compression, about.source.size) == (
        Format.RAW,
        kind,
        folder.source.stat().st_size,
    )
    assert (about.firmware, about.title, about.least_disk) == ((Firmware.BIOS,), "lab-debian", SIZE)
    assert folder.left() == [folder.output]
    assert {each.stage for each in folder.progress} >= {Stage.CHECKING}


def test_disk_that_pzstd_compressed_is_read(folder: Folder) -> None:
    raw = raw_disk(folder.path / "raw", 1513)
    frames = [zstandard.compress(part) for part in (raw[:1000], raw[1000:])]
    # Before each frame pzstd puts one to be skipped, which says how long that is.
    folder.source.write_bytes(b"".join(struct.pack("<III", 0x184D2A50, 4, len(each)) + each for each in frames))
    assert folder.pack().config.about.source.compression is Compression.ZSTD
    assert disk_in(folder.blobs()) == raw


def test_a_qcow2_is_the_raw_disk_that_it_was_made_of(folder: Folder) -> None:
    raw = raw_disk(folder.path / "raw")
    convert(folder.path / "raw", folder.source, "-c")
    assert folder.pack().config.about.source.format is Format.QCOW2
    assert disk_in(folder.blobs()) == raw


def test_a_compressed_qcow2_lies_in_the_scratch_folder_meanwhile(folder: Folder) -> None:
    raw = raw_disk(folder.path / "raw")
    plain = convert(folder.path / "raw", folder.path / "plain")
    folder.source.write_bytes(lzma.compress(plain.read_bytes(), preset=0))
    source = folder.pack().config.about.source
    assert (source.format, source.compression) == (Format.QCOW2, Compression.XZ)
    assert disk_in(folder.blobs()) == raw
    assert folder.left() == [folder.output]


@pytest.mark.parametrize("size", [1513, pytest.param((8 << 20) + 777, marks=pytest.mark.campaign)])
def test_odd_sizes_stay_as_they_are(folder: Folder, size: int) -> None:
    raw = raw_disk(folder.source, size)
    image = folder.pack()
    assert disk_in(folder.blobs()) == raw
    assert image.config.about.least_disk == -(-size // 512) * 512


def test_a_digest_that_was_told_is_checked_and_kept(folder: Folder) -> None:
    raw = raw_disk(folder.source)
    for algorithm in ("sha256", "sha512"):
        digest = f"{algorithm}:{hashlib.new(algorithm, raw).hexdigest()}"
        about = replace(ABOUT, source=replace(ABOUT.source, digest=digest, verified=Verified.TYPED))
        assert folder.pack(about).config.about.source.digest == digest
    wrong = replace(ABOUT, source=replace(ABOUT.source, digest=f"sha256:{'0' * 64}"))
    with pytest.raises(Invalid, match="is not what it should be: its digest is sha256:"):
        folder.pack(wrong)
    with pytest.raises(Invalid, match="should have 5: download it again"):
        folder.pack(replace(ABOUT, source=replace(ABOUT.source, size=5)))


def bomb(path: Path) -> None:
    """Gigabytes of zeros, and a partition table before them."""
    with gzip.open(path, "wb", 1) as file:
        start = raw_disk(path.parent / "raw", 1 << 20)
        file.write(start)
        for _ in range(3):
            file.write(bytes(8 << 20))


REFUSED: Mapping[str, tuple[Callable[[Path], object], type[Refusal], str]] = {
    "a page named .zst": (lambda path: path.write_bytes(b"<html><body>gone"), Invalid, "web page"),
    "a compressed page": (lambda path: path.write_bytes(gzip.compress(b"<html><body>gone")), Invalid, "web page"),
    "nothing": (lambda path: path.write_bytes(b""), Invalid, "is empty"),
    "zeros": (lambda path: path.write_bytes(bytes(1 << 20)), Invalid, "neither a GPT nor an MBR"),
    "a bomb": (bomb, TooLarge, "more than 16MiB: `--max-size`"),
    "a sparse giant": (lambda path: raw_disk_of(path, 1 << 41), TooLarge, "more than 16MiB"),
    "a layer": (
        lambda path: path.write_bytes(Qcow2File(backing_at=256, backing=b"/etc/passwd").content()),
        Invalid,
        "on top of another file, '/etc/passwd'",
    ),
    "a qcow2 of terabytes": (
        lambda path: path.write_bytes(Qcow2File(size=1 << 44, l1_size=1 << 15).content()),
        TooLarge,
        "more than 16MiB",
    ),
    "a truncated stream": (
        lambda path: path.write_bytes(lzma.compress(raw_disk(path.parent / "raw"), preset=0)[:-20]),
        Invalid,
        "it is truncated: its xz stream",
    ),
    "a damaged qcow2 in a stream": (
        lambda path: path.write_bytes(gzip.compress(Qcow2File(features=4).content())),
        Invalid,
        "in another file",
    ),
    "a disk of GPT that ends before its table": (
        lambda path: path.write_bytes(
            (bytes(446) + struct.pack("<B3xB3xII", 0, 0xEE, 1, 40_959) + bytes(48) + b"\x55\xaa").ljust(1000, b"\0")
        ),
        Invalid,
        "is truncated: its partitions end at 20MiB, and it has 1000 bytes",
    ),
    "a file that cannot be read": (
        lambda path: path.symlink_to("/proc/self/mem"),
        Unavailable,
        "cannot be read: Input/output error: the disk that it lies on may be faulty",
    ),
    "a folder": (lambda path: path.mkdir(), NotFound, "no regular file"),
    "a pipe": (os.mkfifo, NotFound, "no regular file"),
    "no file": (lambda path: None, NotFound, "No such file"),
}


def raw_disk_of(path: Path, size: int) -> None:
    raw_disk(path, 1 << 20)
    os.truncate(path, size)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_leaves_nothing(folder: Folder, name: str) -> None:
    make, kind, text = REFUSED[name]
    make(folder.source)
    with pytest.raises(kind, match=text):
        folder.pack(max_disk=16 << 20)
    assert folder.left() == []


@pytest.mark.parametrize(
    "about",
    [
        replace(ABOUT, id="Lab/x"),
        replace(ABOUT, id=""),
        replace(ABOUT, version="latest"),
        replace(ABOUT, version="a b"),
    ],
    ids=lambda about: f"{about.id}:{about.version}",
)
def test_names_that_the_registry_cannot_keep_are_refused_first(folder: Folder, about: About) -> None:
    with pytest.raises(Invalid, match="such as"):
        folder.pack(about)


def test_room_is_asked_for_before_it_is_needed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    raw_disk(folder.source)
    usage = shutil.disk_usage(folder.path)._replace(free=1 << 20)
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(Unavailable, match=r"no room: .* has 1MiB left, and packing needs about \d+\.\dMiB: make room"):
        folder.pack()
    assert folder.left() == []


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_an_archive_is_readable_by_the_umask(folder: Folder, umask: int, mode: int) -> None:
    raw_disk(folder.source)
    before = os.umask(umask)
    try:
        folder.pack()
    finally:
        os.umask(before)
    assert folder.output.stat().st_mode & 0o777 == mode
    assert folder.left() == [folder.output]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, synced = tmp_path / "image.tar", list[tuple[int, bool]]()
    monkeypatch.setattr("os.fsync", lambda file: synced.append((os.fstat(file).st_size, path.exists())))
    with room.whole_file(path) as file:
        file.write(b"image")
    assert (synced, path.read_bytes()) == ([(5, False)], b"image")


def test_a_file_that_changes_meanwhile_is_refused(folder: Folder) -> None:
    raw_disk(folder.source)

    def touched(progress: Progress) -> None:
        if progress.stage is Stage.PACKING:
            os.utime(folder.source, ns=(0, len(folder.progress)))

    with pytest.raises(Invalid, match="changed while it was read"):
        pack(folder.source, ABOUT, folder.output, scratch=folder.scratch, said=touched)
    assert folder.left() == []


def test_an_image_is_told_in_one_line_and_so_are_its_texts(folder: Folder) -> None:
    raw_disk(folder.source)
    image = folder.pack(replace(ABOUT, title="Debian\x1b[2J\n13", source=replace(ABOUT.source, file="a\udc80\n.raw")))
    assert disk_in(folder.blobs())
    assert (image.config.about.title, image.config.about.source.file) == ("Debian [2J 13", "a  .raw")
    assert described(image).startswith(f"lab-debian:20261101 ({image.digest}, 10MiB in ")
