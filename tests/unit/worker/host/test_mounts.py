import os
from pathlib import Path

import pytest

from tinkbox.worker.host.mounts import mount_tmpfs, unmount

may_mount = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


@may_mount
def test_a_tmpfs_holds_as_much_as_its_options_say_and_goes_though_in_use(tmp_path: Path) -> None:
    mount_tmpfs(tmp_path, "size=64k")
    try:
        assert os.path.ismount(tmp_path)
        with (tmp_path / "file").open("wb", buffering=0) as file:
            assert file.write(bytes(100_000)) == 65_536
            unmount(tmp_path)
    finally:
        assert not os.path.ismount(tmp_path)


def test_what_cannot_be_mounted_or_unmounted_says_why(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="none"):
        mount_tmpfs(tmp_path / "none", "size=64k")
    with pytest.raises(OSError, match=str(tmp_path)):
        unmount(tmp_path)
