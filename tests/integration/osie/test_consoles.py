"""What the consoles of the OSIE offer, by its own script under busybox, in a file tree of its own."""

import subprocess
from pathlib import Path

import pytest


def table(root: Path, command_line: str, consoles: str = "tty0 ttyS0") -> list[str]:
    """The lines of busybox init's table, on a machine that was booted with this."""
    (root / "proc" / "cmdline").write_text(f"quiet {command_line}\n")
    (root / "sys" / "class" / "tty" / "console" / "active").write_text(f"{consoles}\n")
    command = ["chroot", str(root), "/bin/sh", "/osie/inittab"]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.splitlines()


@pytest.mark.parametrize("said", ["", "tinkbox.console=shell", "tinkbox.console=none tinkbox.console=shell"])
def test_every_console_offers_a_shell_by_default(osie: Path, said: str) -> None:
    offered = [line for line in table(osie, said) if "sh" in line]
    assert offered == ["tty1::askfirst:-/bin/sh", "ttyS0::askfirst:-/bin/sh"]


def test_no_console_offers_a_shell_where_the_appliance_says_so(osie: Path) -> None:
    assert table(osie, "tinkbox.console=none") == [line for line in table(osie, "") if "askfirst" not in line]
    assert not [line for line in table(osie, "tinkbox.console=none") if "/bin/sh" in line]


def test_worker_runs_whatever_the_consoles_offer(osie: Path) -> None:
    for said in ("", "tinkbox.console=none"):
        assert "::respawn:/osie/worker" in table(osie, said)
