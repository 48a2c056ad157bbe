"""install-image on block devices, where this machine has any to lend."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from disk import Disk
from failure import Failure
from growth import grow
from layout import Area

from tests.integration.actions.system_images import GPT, MBR, MIB, ROOT_AT, raw_image, registry

ACTION = Path(__file__).parents[3] / "examples" / "actions" / "install-image"


@contextmanager
def attached(file: Path, *options: str) -> Iterator[Path]:
    """A file as a block device."""
    made = subprocess.run(["losetup", "--find", "--show", *options, file], capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no loop devices here: {made.stderr.strip()}")
    try:
        yield Path(made.stdout.strip())
    finally:
        subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    raw_image(tmp_path / "image", GPT)
    with (tmp_path / "image").open("r+b") as file:
        file.truncate(64 * MIB)
    with attached(tmp_path / "image", "--partscan") as device:
        yield device


def test_file_system_grows_in_its_place_on_the_disk(device: Path) -> None:
    disk = Disk(device)
    said = grow(disk, Area(place=ROOT_AT, length=40 * MIB))
    assert "grew to 40.0 MiB" in said
    checked = subprocess.run(["e2fsck", "-f", "-n", f"{device}?offset={ROOT_AT}"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert "/10240 blocks" in checked.stdout or "/40960 blocks" in checked.stdout
    disk.close()


def test_zeroed_and_sparsely_written_ranges_read_back_from_the_device(device: Path) -> None:
    disk = Disk(device)
    content = b"\xaa" * MIB
    disk.write(content * 2, 50 * MIB)
    disk.write_sparsely(b"one".ljust(MIB // 2, b"\0") + b"\xbb" * (MIB // 2), 50 * MIB)
    disk.zero(51 * MIB, MIB // 2)
    with disk.read_back() as reader:
        assert reader.read(50 * MIB, MIB) == b"one".ljust(MIB // 2, b"\0") + b"\xbb" * (MIB // 2)
        assert reader.read(51 * MIB, MIB) == bytes(MIB // 2) + content[MIB // 2 :]
        disk.zero(52 * MIB - 100, 4196)
        disk.write(b"\xcc" * 300, 53 * MIB)
        disk.zero(53 * MIB + 100, 100)
        assert disk.read(53 * MIB, 300) == b"\xcc" * 100 + bytes(100) + b"\xcc" * 100
        assert not any(disk.read(52 * MIB - 100, 4196))
        assert len(reader.read(disk.capacity - 512, 4096)) == 512
    assert not disk.is_partition
    assert disk.sector == 512
    disk.close()


def test_disk_that_somebody_holds_is_busy(device: Path) -> None:
    disk = Disk(device)
    with pytest.raises(Failure) as failure:
        Disk(device)
    assert failure.value.reason == "DiskBusy"
    assert "it is mounted" in str(failure.value)
    disk.close()


@pytest.fixture
def large_sectors(tmp_path: Path) -> Iterator[Path]:
    """A block device with sectors of 4096 bytes, which held something before."""
    (tmp_path / "disk").write_bytes(b"\xaa" * (48 * MIB))
    with attached(tmp_path / "disk", "--sector-size=4096") as device:
        yield device


def put(program: str, device: Path, image: bytes, **environment: str) -> subprocess.CompletedProcess[str]:
    with registry() as server:
        server.contents["/disk.img"] = image
        return subprocess.run(
            [sys.executable, "-B", ACTION / program],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ACTION.parent),
                "IMG_URL": f"{server.url}/disk.img",
                "DEST_DISK": str(device),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )


@pytest.mark.parametrize("program", ["install_image.py", "image2disk.py"])
@pytest.mark.parametrize("table", [GPT, MBR], ids=["gpt", "mbr"])
def test_image_for_sectors_of_512_bytes_is_refused_by_a_disk_with_larger_ones(
    program: str, table: str, large_sectors: Path, tmp_path: Path
) -> None:
    done = put(program, large_sectors, raw_image(tmp_path / "raw", table))
    assert done.returncode == 1
    assert "WrongSectorSize" in done.stderr
    assert "sectors of 512 bytes, this one has 4096" in done.stderr
    assert large_sectors.read_bytes() == b"\xaa" * (48 * MIB)


def test_image_for_sectors_of_4096_bytes_is_installed_and_grown(large_sectors: Path, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(bytes(24 * MIB))
    with attached(tmp_path / "raw", "--sector-size=4096") as made:
        table = "label: gpt\nstart=256, size=512, type=U\nstart=1536, type=L\n"
        subprocess.run(["sfdisk", "-q", "--no-reread", made], input=table.encode(), check=True)
        root = ["-b", "4096", "-E", f"offset={ROOT_AT}", made, f"{16 * MIB // 4096}"]
        subprocess.run(["mkfs.ext4", "-q", "-F", *root], check=True)
        image = made.read_bytes()
    done = put("install_image.py", large_sectors, image)
    assert done.returncode == 0, done.stdout + done.stderr
    verified = subprocess.run(["sfdisk", "--verify", large_sectors], capture_output=True, text=True, check=True)
    assert "No errors detected" in verified.stdout, verified.stdout
    grown = subprocess.run(["sfdisk", "--dump", large_sectors], capture_output=True, text=True, check=True).stdout
    assert f"start=        1536, size=       {41 * MIB // 4096}" in grown
    place = f"{large_sectors}?offset={ROOT_AT}"
    checked = subprocess.run(["e2fsck", "-f", "-n", place], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert f"/{41 * MIB // 4096} blocks" in checked.stdout
