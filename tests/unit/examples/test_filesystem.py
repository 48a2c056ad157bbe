from pathlib import Path

import pytest
from failure import Failure
from filesystem import absent, devices, mounted, root_moved_to


def test_the_root_comes_back_whatever_happens(tmp_path: Path) -> None:
    before = Path("/").stat()
    with pytest.raises(ZeroDivisionError), root_moved_to(tmp_path):
        raise ZeroDivisionError
    after = Path("/").stat()
    assert (after.st_dev, after.st_ino) == (before.st_dev, before.st_ino)


def test_a_partition_that_is_not_there_is_named_beside_those_that_are(tmp_path: Path) -> None:
    there = devices(
        "major minor  #blocks  name\n\n   7        0       1024 loop0\n 254  0  4096 vda\n 254  1  2048 vda1\n"
    )
    assert there == ["/dev/vda", "/dev/vda1"]
    assert absent("/dev/vda3", there) == "this machine has no /dev/vda3; it has /dev/vda, /dev/vda1"
    assert absent("/dev/vda3", []).endswith("; it has no disk")
    assert 'volumes: ["/dev:/dev"]' in absent("/dev/vda1", there)
    missing = str(tmp_path / "vda3")
    with pytest.raises(Failure, match=f"this machine has no {missing}") as failure, mounted(missing, "ext4"):
        pass
    assert failure.value.reason == "DiskNotFound"
