"""install-image on block devices, where this machine has any to lend."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from disk import Disk
from failure import Failure
from growth import grow
from layout import Area

from tests.integration.actions.system_images import GPT, MIB, ROOT_AT, raw_image


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    raw_image(tmp_path / "image", GPT)
    with (tmp_path / "image").open("r+b") as file:
        file.truncate(64 * MIB)
    made = subprocess.run(
        ["losetup", "--find", "--show", "--partscan", tmp_path / "image"], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no loop devices here: {made.stderr.strip()}")
    yield Path(made.stdout.strip())
    subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


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
