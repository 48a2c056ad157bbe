"""qcow2 files: what is read of good ones, and what becomes of those that were made to harm."""

import random
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
import zstandard

from tests.system_disks import convert, raw_disk
from tests.unit.system_images.qcow2_files import CLUSTER, Qcow2File, compressed_entry
from tinkbox.model.errors import Invalid
from tinkbox.system_images.qcow2 import PIECE, Qcow2

DATA = 3 * CLUSTER


def disk(content: bytes) -> bytes:
    found = Qcow2(lambda offset, length: content[offset : offset + length], len(content))
    pieces = list(found.pieces())
    assert all(isinstance(each, int) or len(each) <= 2 * PIECE for each in pieces)
    whole = b"".join(bytes(each) if isinstance(each, int) else each for each in pieces)
    assert len(whole) == found.size
    return whole


def deflated(content: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -12)
    return packer.compress(content) + packer.flush()


def test_clusters_are_read_from_where_the_tables_say() -> None:
    one, two = b"1" * CLUSTER, b"2" * CLUSTER
    file = Qcow2File(l2={0: DATA + CLUSTER, 1: 1, 2: DATA}, data=one + two)
    assert disk(file.content()) == two + bytes(CLUSTER) + one + bytes(CLUSTER)


def test_the_last_cluster_may_be_a_part() -> None:
    file = Qcow2File(size=CLUSTER + 512, l2={1: DATA}, data=b"x" * 512)
    assert disk(file.content()) == bytes(CLUSTER) + b"x" * 512


@pytest.mark.parametrize("kind", ["zlib", "zstd"])
def test_compressed_clusters_are_read(kind: str) -> None:
    plain = b"some text " * 6553 + b"123456"
    packed = deflated(plain) if kind == "zlib" else zstandard.compress(plain)
    zstd = kind == "zstd"
    file = Qcow2File(
        features=8 if zstd else 0,
        compression=int(zstd),
        l2={0: compressed_entry(DATA + 3, len(packed)), 1: compressed_entry(DATA + 3, len(packed))},
        data=b"abc" + packed,
    )
    assert disk(file.content()) == plain * 2 + bytes(2 * CLUSTER)


REFUSED: Mapping[str, tuple[Qcow2File, str]] = {
    "a backing file": (
        Qcow2File(backing_at=256, backing=b"/etc/passwd"),
        r"a layer on top of another file, '/etc/passwd', which is not read: flatten it with `qemu-img convert",
    ),
    "a backing file nowhere": (Qcow2File(backing_at=1 << 60, backing=b"x"), "a layer on top of another file"),
    "a data file": (Qcow2File(features=4), "in another file, which is not read"),
    "encryption": (Qcow2File(encryption=2), "encrypted"),
    "an unknown feature": (Qcow2File(features=1 << 9), "not known here \\(0x200\\)"),
    "marked as corrupt": (Qcow2File(features=2), "marked as damaged: repair it"),
    "an unknown compression": (Qcow2File(features=8, compression=7), "not known here \\(7\\)"),
    "compression without its feature": (Qcow2File(compression=1), "not known here"),
    "version 1": (Qcow2File(version=1), "version 1"),
    "small clusters": (Qcow2File(bits=8), "clusters of 2\\^8"),
    "absurd clusters": (Qcow2File(bits=4_000_000_000), "clusters of 2\\^4000000000"),
    "no disk": (Qcow2File(size=0), "a disk of 0 bytes"),
    "an absurd disk": (Qcow2File(size=1 << 63), "a disk of"),
    "too small a first table": (Qcow2File(size=1 << 46), "1 tables for a disk of 64TiB"),
    "a huge first table": (Qcow2File(l1_size=1 << 31), "2147483648 tables"),
    "a first table out of the file": (Qcow2File(l1_at=1 << 40), "its first table lies at byte"),
    "a table out of the file": (Qcow2File(l1=[1 << 40]), "table 0 lies at byte"),
    "a cluster out of the file": (Qcow2File(l2={1: 1 << 40}), "near byte 0 of the disk lies at byte"),
    "a cluster askew": (Qcow2File(l2={1: DATA + 512}), "lies askew"),
    "a compressed cluster of nothing": (Qcow2File(l2={0: compressed_entry(DATA, 512)}), "ends early"),
    "a compressed cluster of noise": (
        Qcow2File(l2={0: compressed_entry(DATA, 512)}, data=b"\xff" * 512),
        "cannot be read",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_damaged_or_leads_elsewhere_is_refused(name: str) -> None:
    file, text = REFUSED[name]
    with pytest.raises(Invalid, match=text):
        disk(file.content())


def test_a_truncated_file_is_refused_wherever_it_ends() -> None:
    packed = deflated(random.Random(1).randbytes(CLUSTER))
    content = Qcow2File(
        l2={0: DATA, 1: compressed_entry(DATA + CLUSTER, len(packed))}, data=b"x" * CLUSTER + packed
    ).content()
    assert disk(content)
    for length in (
        0,
        50,
        104,
        200,
        CLUSTER,
        CLUSTER + 4,
        2 * CLUSTER + 8,
        DATA,
        DATA + CLUSTER - 1,
        len(content) - 100,
    ):
        with pytest.raises(Invalid, match=r"truncated|ends early"):
            disk(content[:length])


def test_tables_that_point_to_themselves_cost_no_more_than_the_disk_has() -> None:
    entries = CLUSTER // 8
    file = Qcow2File(size=4 * CLUSTER, l1=[2 * CLUSTER], l2=dict.fromkeys(range(entries), 2 * CLUSTER))
    table = file.content()[2 * CLUSTER : 3 * CLUSTER]
    assert disk(file.content()) == table * 4
    itself = Qcow2File(l1_at=CLUSTER, l1=[CLUSTER])
    assert len(disk(itself.content())) == 4 * CLUSTER


def test_a_cluster_that_would_become_many_becomes_a_cluster() -> None:
    for bomb, features in ((deflated(bytes(8 << 20)), 0), (zstandard.compress(bytes(8 << 20)), 8)):
        entry = compressed_entry(DATA, len(bomb))
        file = Qcow2File(features=features, compression=features // 8, l2={0: entry}, data=bomb)
        assert disk(file.content()) == bytes(4 * CLUSTER)


QEMUS = {
    "version 2": ["-o", "compat=0.10"],
    "version 3": [],
    "zlib": ["-c"],
    "zstd": ["-c", "-o", "compression_type=zstd"],
    "clusters of 512 bytes": ["-o", "cluster_size=512"],
    "compressed clusters of 2 MiB": ["-c", "-o", "cluster_size=2M"],
    "subclusters": ["-o", "extended_l2=on"],
    "compressed clusters beside subclusters": ["-c", "-o", "extended_l2=on"],
    "allocated before": ["-o", "preallocation=metadata,lazy_refcounts=on"],
}


@pytest.mark.parametrize("name", QEMUS)
def test_what_qemu_writes_is_read(tmp_path: Path, name: str) -> None:
    raw = raw_disk(tmp_path / "raw")
    assert disk(convert(tmp_path / "raw", tmp_path / "qcow2", *QEMUS[name]).read_bytes()) == raw


def test_snapshots_in_a_file_are_left_alone(tmp_path: Path) -> None:
    raw = raw_disk(tmp_path / "raw")
    file = convert(tmp_path / "raw", tmp_path / "qcow2")
    subprocess.run(["qemu-img", "snapshot", "-c", "before", str(file)], check=True)
    subprocess.run(["qemu-io", "-f", "qcow2", "-c", "write -P 0x61 1M 64k", str(file)], check=True, capture_output=True)
    assert disk(file.read_bytes()) == raw[: 1 << 20] + b"a" * (64 << 10) + raw[(1 << 20) + (64 << 10) :]


def wounded(seed: int) -> bytes:
    """A good file with some bytes changed, mostly where they mean something."""
    chance = random.Random(seed)
    packed = deflated(b"text" * 5000)
    file = Qcow2File(
        size=CLUSTER * 6 + 512,
        l2={0: DATA, 2: compressed_entry(DATA + CLUSTER, len(packed)), 6: DATA},
        data=chance.randbytes(CLUSTER) + packed,
    )
    content = bytearray(file.content())
    for _ in range(chance.randint(1, 4)):
        place = chance.choice((0, CLUSTER, 2 * CLUSTER, DATA + CLUSTER)) + chance.randrange(112)
        content[min(place, len(content) - 1)] = chance.choice((0, 1, 0x40, 0x80, 0xFF, chance.randrange(256)))
    return bytes(content[: chance.choice((len(content), chance.randrange(len(content))))])


@pytest.mark.parametrize("seeds", [range(100), pytest.param(range(100, 20_000), marks=pytest.mark.campaign)], ids=len)
def test_a_damaged_file_is_read_or_refused(seeds: range) -> None:
    for seed in seeds:
        content = wounded(seed)
        try:
            found = Qcow2(lambda offset, length, content=content: content[offset : offset + length], len(content))  # type: ignore[misc]
            for done, _ in zip(range(2000), found.pieces(), strict=False):
                assert done < 2000
        except Invalid:
            continue
