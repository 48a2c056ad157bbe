"""The root of an OSIE as far as its scripts need one: they run in it under busybox, as on a machine."""

import shutil
import subprocess
from pathlib import Path

import pytest

FILES = Path(__file__).parents[3] / "tinkbox" / "osie" / "files"
FOLDERS = ("bin", "etc", "proc", "dev", "run/osie", "sys/class/tty/console")


@pytest.fixture
def osie(tmp_path: Path) -> Path:
    """Has the OSIE's scripts in /osie, busybox's commands in /bin, and what the kernel tells of a machine with a console."""
    root = tmp_path / "root"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    shutil.copytree(FILES, root / "osie")
    busybox = shutil.which("busybox")
    assert busybox
    shutil.copy(busybox, root / "bin")
    subprocess.run(["chroot", str(root), "/bin/busybox", "--install", "-s", "/bin"], check=True, timeout=30)
    (root / "proc" / "uptime").write_text("12.34 56.78\n")
    (root / "sys" / "class" / "tty" / "console" / "active").write_text("ttyS0\n")
    return root
