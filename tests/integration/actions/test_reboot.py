"""The program as it runs in its container, with folders for /worker and /dev given by a root of its own."""

import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[3] / "examples" / "actions" / "reboot" / "reboot.sh"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system with busybox and the program."""
    for folder in ("bin", "dev", "action"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin/busybox").write_bytes(Path("/bin/busybox").read_bytes())
    (tmp_path / "bin/busybox").chmod(0o755)
    (tmp_path / "action/reboot.sh").write_text(PROGRAM.read_text())
    return tmp_path


def reboot(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["chroot", root, "/bin/busybox", "sh", "/action/reboot.sh"], capture_output=True, text=True, timeout=60
    )


def test_the_worker_finds_the_wish(root: Path) -> None:
    (root / "worker").mkdir()
    assert reboot(root).returncode == 0
    assert (root / "worker/reboot").exists()


def test_without_the_volume_it_says_what_is_missing(root: Path) -> None:
    (root / "dev/reason").touch()
    (root / "dev/message").touch()
    done = reboot(root)
    assert done.returncode == 1
    assert "/worker:/worker" in done.stderr
    assert (root / "dev/reason").read_text() == "MissingVolume"
    assert "/worker:/worker" in (root / "dev/message").read_text()


def test_where_nobody_asks_for_a_reason_none_is_left(root: Path) -> None:
    assert reboot(root).returncode == 1
    assert list((root / "dev").iterdir()) == []
