"""Looking at real block devices: files that the kernel shows as disks."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.wire.disk_images import DISK_ID, Image
from tinkbox.model.reasons import Reason
from tinkbox.worker.host.disks import SYS, look_at


@contextmanager
def attached(path: Path) -> Iterator[str]:
    """The file as a disk, by its path."""
    command = ["losetup", "--find", "--show", "--read-only", str(path)]
    made = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    if made.returncode:
        pytest.skip(f"no loop devices here: {made.stderr.strip()}")
    try:
        yield made.stdout.strip()
    finally:
        subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True, timeout=30)


def test_a_disk_is_read_where_the_kernel_shows_it(tmp_path: Path) -> None:
    image = Image(8 << 20).gpt((256, 511)).write(256 * 512, b"XFSB").write(256 * 512 + 108, b"data")
    (tmp_path / "disk").write_bytes(image.content)
    with attached(tmp_path / "disk") as device:
        disk = look_at(device)
    assert (disk.path, disk.size, disk.problem) == (device, 8 << 20, "")
    assert disk.name == Path(device).name
    table, inside = disk.contents
    assert (table.kind, table.id, table.label, table.offset) == ("GPT", str(DISK_ID), "1 partition", 0)
    assert (inside.kind, inside.label, inside.offset) == ("XFS", "data", 256 * 512)


def test_a_disk_is_known_by_its_serial_and_else_by_where_it_is_plugged_in(tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(Image(1 << 20).content)
    with attached(tmp_path / "disk") as device:
        number = Path(device).stat().st_rdev
        sys = tmp_path / "sys"
        disk = sys / "devices" / "pci0000:00" / "0000:00:05.0" / "ata1" / "block" / "sdq"
        (disk / "sdq2").mkdir(parents=True)
        (sys / "dev" / "block").mkdir(parents=True)
        link = sys / "dev" / "block" / f"{os.major(number)}:{os.minor(number)}"
        link.symlink_to(disk)
        assert look_at(device, sys).name == "pci0000:00/0000:00:05.0/ata1"
        (disk / "device").mkdir()
        (disk / "device" / "serial").write_bytes(b" WD-WX11  A63\0\n")
        assert look_at(device, sys).name == "WD-WX11 A63"
        (disk / "wwid").write_text("naa.50014ee\n")
        assert look_at(device, sys).name == "naa.50014ee"
        link.unlink()
        link.symlink_to(disk / "sdq2")
        (disk / "sdq2" / "partition").write_text("2\n")
        assert look_at(device, sys).name == "naa.50014ee partition 2"


def test_a_device_of_no_size_is_not_taken_for_an_empty_disk(tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(b"")
    with attached(tmp_path / "disk") as device:
        disk = look_at(device, SYS)
    assert (disk.reason, disk.contents) == (Reason.DISK_UNREADABLE, ())
    assert "no size" in disk.problem
