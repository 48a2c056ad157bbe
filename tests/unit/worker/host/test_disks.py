"""Looking at disks where there are none; tests/integration/worker/host/test_disks.py has real ones."""

import errno
import os
import threading
from pathlib import Path

import pytest

from tinkbox.model.reasons import Reason
from tinkbox.worker.host.disks import look, look_at


@pytest.fixture
def sys_tree(tmp_path) -> Path:
    """A /sys of a machine with two disks."""
    for name in ("sda", "vda", "loop0", "ram0", "sr0", "dm-0"):
        (tmp_path / "sys" / "block" / name).mkdir(parents=True)
    return tmp_path / "sys"


def test_a_disk_that_is_not_there_is_told_with_those_that_are(sys_tree) -> None:
    disk = look_at("/dev/no-such-disk", sys_tree)
    assert (disk.reason, disk.contents, disk.name) == (Reason.NO_SUCH_DISK, (), "")
    assert disk.problem == "there is no /dev/no-such-disk on this machine: it has /dev/sda, /dev/vda"


@pytest.mark.parametrize("path", ["/dev/null", "/etc/passwd", "/dev"])
def test_what_is_no_block_device_is_no_disk(sys_tree, path) -> None:
    disk = look_at(path, sys_tree)
    assert disk.reason == Reason.NO_SUCH_DISK
    assert disk.problem.startswith(f"{path} is no disk: it has /dev/sda")


def test_a_machine_without_disks_says_so(tmp_path) -> None:
    assert look_at("/dev/no-such-disk", tmp_path).problem.endswith("it has none that the OSIE knows")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EIO, Reason.DISK_UNREADABLE),
        (errno.EPERM, Reason.DISK_UNREADABLE),
        (errno.ENXIO, Reason.NO_SUCH_DISK),
        (errno.ENOMEDIUM, Reason.DISK_UNREADABLE),
    ],
)
def test_a_disk_that_fails_is_told_apart_from_one_that_is_gone(sys_tree, monkeypatch, number, reason) -> None:
    def failing(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", failing)
    disk = look_at("/dev/sda", sys_tree)
    assert disk.reason == reason
    assert "/dev/sda" in disk.problem
    assert (os.strerror(number) in disk.problem) is (reason == Reason.DISK_UNREADABLE)


async def test_a_disk_that_never_answers_is_not_waited_for(monkeypatch) -> None:
    answers = threading.Event()

    def hung(*_: object) -> int:
        answers.wait(10)
        raise OSError(errno.EIO, "too late")

    monkeypatch.setattr(os, "open", hung)
    try:
        (disk,) = await look(["/dev/sda"], patience=0.05)
    finally:
        answers.set()
    assert disk.reason == Reason.DISK_UNREADABLE
    assert disk.problem == "/dev/sda did not answer within 0.05 seconds, so nobody knows what is on it"


async def test_each_disk_is_looked_at_in_its_turn() -> None:
    assert [each.path for each in await look(["/dev/b-none", "/dev/a-none"])] == ["/dev/b-none", "/dev/a-none"]
    assert await look([]) == ()
